//! What the host has left, so that memory that it cannot back is refused when it is asked for: the system gives addresses for more, and
//! ends a process that then uses them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that may be asked for before the system is asked again what is left.
const UNASKED: u64 = 16 << 20;

/// Asks now and then what the host has left.
#[derive(Default)]
pub(super) struct Host {
    /// Bytes that were given since it was last asked.
    since: AtomicU64,
}

impl Host {
    /// Whether the host has `size` bytes more. What was given and is not used yet does not count, as programs keep much of that.
    pub(super) fn has(&self, size: u64) -> bool {
        let since = self.since.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        if since < UNASKED {
            return true;
        }
        self.since.store(0, Ordering::Relaxed);
        available().is_none_or(|available| size <= available)
    }
}

/// Bytes that this process can still use: what the system has free or can free, within the limit of its control group. `None` where the
/// system does not tell.
fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let of_system = from_meminfo(&read("/proc/meminfo")?)?;
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let within = |limit: &str, used: &str, stat: &str| {
        let cache = read(stat).and_then(|stat| field(&stat, "inactive_file ")).unwrap_or(0);
        // What the group keeps of files only can be freed.
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(cache)))
    };
    let of_group = within("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat");
    let of_old_group = within(
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    );
    [of_group, of_old_group].into_iter().flatten().chain([of_system]).min()
}

/// The bytes of a system whose `/proc/meminfo` this is, swap included.
fn from_meminfo(text: &str) -> Option<u64> {
    let bytes = |name: &str| Some(field(text, name)?.saturating_mul(1024));
    Some(bytes("MemAvailable:")?.saturating_add(bytes("SwapFree:").unwrap_or(0)))
}

/// The number of the line that begins so.
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
        assert!((0..100).all(|_| host.has(1 << 10)));
        if cfg!(target_os = "linux") {
            assert!(!host.has(1 << 60));
            assert!(host.has(4096), "which takes nothing from others");
        }
    }
}
