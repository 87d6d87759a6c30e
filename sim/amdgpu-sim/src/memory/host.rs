//! The host's available memory. Requests that the host cannot back are refused: the system would grant the addresses
//! and kill the process when it uses them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes that may be allocated before the system is queried again.
const UNASKED: u64 = 16 << 20;

/// Queries the host's available memory from time to time.
#[derive(Default)]
pub(super) struct Host {
    /// The bytes allocated since the last query.
    since: AtomicU64,
}

impl Host {
    /// Returns whether the host has `size` bytes more. Allocated but unused memory does not count, since programs keep
    /// much of it.
    pub(super) fn has(&self, size: u64) -> bool {
        let since = self.since.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        if since < UNASKED {
            return true;
        }
        self.since.store(0, Ordering::Relaxed);
        available().is_none_or(|available| size <= available)
    }
}

/// The memory of the host in bytes, or the limit of this process.
pub(crate) fn total() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let of_system = read("/proc/meminfo").and_then(|text| field(&text, "MemTotal:"));
        let of_groups = GROUPS.iter().filter_map(|group| number(group[LIMIT]));
        // If the system does not tell: enough for kernels of moderate size.
        of_groups.chain([of_system.map_or(8 << 30, |kilobytes| kilobytes << 10)]).min().unwrap_or(0).max(1 << 30)
    })
}

/// The files of a control group: limit, usage, and usage details.
const GROUPS: [[&str; 3]; 2] = [
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"],
    [
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ],
];
const LIMIT: usize = 0;

/// The bytes that this process can still use: free or reclaimable memory, within the limit of its control group. `None`
/// if the system does not tell.
fn available() -> Option<u64> {
    let of_system = from_meminfo(&read("/proc/meminfo")?)?;
    let of_group = |[limit, used, stat]: &[&str; 3]| {
        // The group's file cache can be reclaimed.
        let cache = read(stat).and_then(|stat| field(&stat, "inactive_file ")).unwrap_or(0);
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(cache)))
    };
    GROUPS.iter().filter_map(of_group).chain([of_system]).min()
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The number in a file; `None` also for `max`.
fn number(path: &str) -> Option<u64> {
    read(path)?.trim().parse().ok()
}

/// The available bytes according to `/proc/meminfo`, including swap.
fn from_meminfo(text: &str) -> Option<u64> {
    let bytes = |name: &str| Some(field(text, name)?.saturating_mul(1024));
    Some(bytes("MemAvailable:")?.saturating_add(bytes("SwapFree:").unwrap_or(0)))
}

/// The number on the line with this prefix.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_read_from_the_system() {
        let text = "MemTotal:       24684084 kB\nMemFree:  100 kB\nMemAvailable:   20000000 kB\nSwapFree:  4 kB\n";
        assert_eq!(from_meminfo(text), Some(20_000_004 << 10));
        assert_eq!(from_meminfo("MemAvailable: 3 kB\n"), Some(3 << 10));
        assert_eq!(from_meminfo("MemTotal: 3 kB\n"), None);
        assert_eq!(field("cache 1\ninactive_file 5\n", "inactive_file "), Some(5));
    }

    #[test]
    fn more_than_there_is_is_refused_and_small_requests_ask_nobody() {
        let host = Host::default();
        assert!(total() >= 1 << 30);
        assert!((0..100).all(|_| host.has(1 << 10)));
        if cfg!(target_os = "linux") {
            assert!(!host.has(1 << 60));
            assert!(host.has(4096), "which takes nothing from others");
        }
    }
}
