//! Findings of the software GPU's checks in a program: each finding once, with the first case that had it.

use std::collections::BTreeMap;

/// Start of the lines of findings.
const MARK: &str = "hsa-sim: kernel ";
/// Names of the kinds of findings.
const KINDS: [&str; 3] = ["uninitialised memory", "race at ", "barrier divergence"];

/// Findings by kernel, kind and instruction.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings(BTreeMap<String, Found>);

#[derive(Debug, PartialEq, Eq)]
struct Found {
    line: String,
    case: String,
    count: usize,
}

impl Findings {
    /// Adds a line of a case's output if it is a finding.
    pub(crate) fn read(&mut self, line: &str, case: &str) {
        let Some((_, text)) = line.split_once(MARK) else { return };
        let Some((kernel, what)) = KINDS.iter().find_map(|kind| {
            let at = text.find(&format!(": {kind}"))?;
            Some((&text[..at], &text[at + 2..]))
        }) else {
            return;
        };
        // Addresses and workgroups differ between runs, instructions do not.
        let instructions: Vec<&str> = what.split('`').skip(1).step_by(2).collect();
        let kind = what.split([';', ':']).next().unwrap_or_default().split(" 0x").next().unwrap_or_default();
        let key = format!("{kernel}: {kind} {}", instructions.join(" "));
        let new = || Found { line: text.to_owned(), case: case.to_owned(), count: 0 };
        self.0.entry(key).or_insert_with(new).count += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns one line per finding.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.0.values().map(|found| {
            let times = if found.count == 1 { String::new() } else { format!(", reported {} times", found.count) };
            format!("{} (first in {}{times})", found.line, found.case)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_of_many_launches_is_one() {
        let mut findings = Findings::default();
        let line = |address: u32| {
            format!(
                "noise hsa-sim: kernel void scan<int>: uninitialised memory: read of 4 bytes takes bytes at address \
                 {address:#x} that nothing has written; in `global_load_dword v1, v[2:3], off` at {address:#x}"
            )
        };
        findings.read(&line(0x1000), "A.a");
        findings.read(&line(0x2000), "A.b");
        findings
            .read("hsa-sim: kernel void scan<int>: race at LDS 0x10: write in `ds_write_b32 v0, v1` at 0x10", "A.b");
        findings.read("hsa-sim: kernel scan on GPU 0 (gfx90a): grid 256x1x1", "A.b");
        let lines: Vec<String> = findings.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].ends_with("(first in A.a, reported 2 times)"), "{lines:?}");
        assert!(lines[0].ends_with("at 0x10 (first in A.b)"), "{lines:?}");
    }
}
