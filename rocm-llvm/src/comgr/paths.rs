//! Paths in the compiler's messages.

/// Removes Comgr's temporary directories from messages: `/tmp/comgr-1a2b/input/a.hip:1:2: error: ..` is about `a.hip`.
pub(crate) fn without_directories(log: &str) -> String {
    const FOLDERS: [&str; 3] = ["input/", "include/", "output/"];
    let mut kept = String::with_capacity(log.len());
    let mut rest = log;
    while let Some(at) = rest.find("/comgr-") {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let folder = after.find('/').map(|slash| &after[slash + 1..]);
        match folder.and_then(|folder| FOLDERS.iter().find_map(|name| folder.strip_prefix(name))) {
            Some(file) => {
                // The path starts after the last space, quote or bracket.
                let start = before.rfind(|c: char| c.is_whitespace() || "'\"([".contains(c)).map_or(0, |at| at + 1);
                kept.push_str(&before[..start]);
                rest = file;
            }
            None => {
                kept.push_str(&rest[..at + 1]);
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_callers_files() {
        let log =
            "/tmp/comgr-12-1-ab/input/a.hip:1:2: error: x\nIn file from '/var/t/comgr-1/include/b.h':3:\n a/comgr-x";
        assert_eq!(without_directories(log), "a.hip:1:2: error: x\nIn file from 'b.h':3:\n a/comgr-x");
        assert_eq!(without_directories(""), "");
    }
}
