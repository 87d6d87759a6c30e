//! Usual names of thread indices, lanes and warps, and the functions of warps.

/// Returns whether a name is usual for the index of a thread or of a lane.
pub(super) fn is_index(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let exact = ["tid", "tx", "tidx", "lane", "laneid", "lane_id", "lane_idx", "thread_id", "threadid", "thread_idx"];
    exact.contains(&name.as_str()) || name.contains("thread_rank")
}

/// Returns whether a name is usual for the number of lanes.
pub(super) fn is_lanes(name: &str) -> bool {
    let name: String = name.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
    ["warpsize", "warpthreads", "threadsperwarp", "warplanes", "lanesperwarp", "warpwidth", "numlanes"]
        .iter()
        .any(|usual| name.contains(usual))
}

/// Returns whether a name is usual for the number of a warp in its block.
pub(super) fn is_warp_id(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    (name.contains("warp") && !is_lanes(&name)) || name == "wid" || name == "wave"
}

/// Returns whether the first parameter of a function is a lane mask.
pub(super) fn is_sync(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("_sync")
}

/// Returns whether a function returns a lane mask.
pub(super) fn is_mask(name: &str) -> bool {
    matches!(name, "__ballot_sync" | "__ballot" | "__activemask" | "__match_any_sync" | "__match_all_sync")
}
