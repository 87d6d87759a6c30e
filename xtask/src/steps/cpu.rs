//! Processor time of this process and of the children that it has waited for.

use std::time::Duration;

/// Clock ticks per second in `/proc`: Linux reports 100 to programs on every machine.
const TICKS: u32 = 100;

/// Returns the processor time used so far, on all processors, in user and system mode. Zero without `/proc`.
pub(crate) fn used() -> Duration {
    let ticks = std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| ticks(&stat)).unwrap_or(0);
    Duration::from_secs(1) * ticks / TICKS
}

/// Returns the sum of `utime`, `stime`, `cutime` and `cstime` in a line of `/proc/PID/stat`.
fn ticks(stat: &str) -> Option<u32> {
    // The program's name, in parentheses, may contain spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|field| field.parse::<u32>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_and_that_of_children_add_up() {
        let line = "7 (a) b) S 1 7 7 0 -1 4194560 100 200 0 0 11 22 300 400 20 0 1 0 5 6 7";
        assert_eq!(ticks(line), Some(733));
        assert_eq!(ticks("7 (x) S 1"), None);
    }

    #[test]
    fn a_child_counts_when_it_has_ended() {
        let before = used();
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"]);
        assert!(child.status().unwrap().success());
        assert!(used() > before);
    }
}
