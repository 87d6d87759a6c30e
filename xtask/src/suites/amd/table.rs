//! The committed table: the runs, and the reasons for failures.
//!
//! `amd-tests.tsv` has the runs and the cases that did not pass, `amd-tests-reasons.tsv` a reason for cases by pattern.
//! `AMD_TESTS.md` is written from both.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::paths;
use crate::suites::reasons::Reasons;

/// The cases of a run, and the settings that they ran with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) subject: String,
    pub(crate) architecture: String,
    pub(crate) threads: u32,
    /// Such as `200 of 9000, seed 7`.
    pub(crate) selection: String,
}

/// The totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) version: String,
    pub(crate) run: usize,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) timed_out: usize,
    pub(crate) skipped: usize,
    pub(crate) seconds: u64,
}

/// A case that did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) program: String,
    pub(crate) case: String,
    /// `failed` or `timed out`.
    pub(crate) outcome: String,
}

/// All committed runs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    runs: BTreeMap<Key, (Totals, Vec<Failure>)>,
}

const RUNS: &str = "amd-tests.tsv";
const REASONS: &str = "amd-tests-reasons.tsv";
const PAGE: &str = "AMD_TESTS.md";

fn folder() -> PathBuf {
    paths::root().join("sim/hsa-sim")
}

/// Reads the committed reasons.
pub(crate) fn reasons() -> Result<Reasons> {
    Reasons::read(&folder().join(REASONS))
}

/// Writes a run to the committed files, in place of an earlier one of the same cases.
pub(crate) fn record(key: Key, totals: Totals, failures: Vec<Failure>) -> Result<PathBuf> {
    let mut table = Table::read()?;
    table.runs.insert(key, (totals, failures));
    fs::write(folder().join(RUNS), table.text())?;
    render()
}

/// Writes the page from the runs and reasons.
pub(crate) fn render() -> Result<PathBuf> {
    let page = folder().join(PAGE);
    fs::write(&page, Table::read()?.page(&reasons()?))?;
    Ok(page)
}

impl Table {
    /// Reads the committed runs.
    fn read() -> Result<Self> {
        let path = folder().join(RUNS);
        Self::parse(&fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut table = Self::default();
        let mut last = None;
        for line in text.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| words[at].parse::<u64>().with_context(|| format!("not a number: {line}"));
            let count = |at: usize| number(at).and_then(|number| Ok(usize::try_from(number)?));
            match (words.first(), words.len()) {
                (Some(&"run"), 12) => {
                    let key = Key {
                        subject: words[1].to_owned(),
                        architecture: words[2].to_owned(),
                        threads: u32::try_from(number(3)?)?,
                        selection: words[4].to_owned(),
                    };
                    let totals = Totals {
                        version: words[5].to_owned(),
                        run: count(6)?,
                        passed: count(7)?,
                        failed: count(8)?,
                        timed_out: count(9)?,
                        skipped: count(10)?,
                        seconds: number(11)?,
                    };
                    table.runs.insert(key.clone(), (totals, Vec::new()));
                    last = Some(key);
                }
                (Some(&"case"), 4) => {
                    let run = last.as_ref().and_then(|key| table.runs.get_mut(key));
                    let (_, failures) = run.with_context(|| format!("a case before any run: {line}"))?;
                    let [program, case, outcome] = [1, 2, 3].map(|at| words[at].to_owned());
                    failures.push(Failure { program, case, outcome });
                }
                _ => bail!("{RUNS} has a line that is neither a run nor a case: {line}"),
            }
        }
        Ok(table)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (key, (totals, failures)) in &self.runs {
            let Key { subject, architecture, threads, selection } = key;
            let Totals { version, run, passed, failed, timed_out, skipped, seconds } = totals;
            let _ = writeln!(
                text,
                "run\t{subject}\t{architecture}\t{threads}\t{selection}\t{version}\t{run}\t{passed}\t{failed}\t\
                 {timed_out}\t{skipped}\t{seconds}"
            );
            for Failure { program, case, outcome } in failures {
                let _ = writeln!(text, "case\t{program}\t{case}\t{outcome}");
            }
        }
        text
    }

    fn page(&self, reasons: &Reasons) -> String {
        let mut page = HEADER.to_owned();
        page.push_str(
            "| programs | version | GPU | threads | cases | run | passed | failed | timed out | skipped | seconds |\n",
        );
        page.push_str("|---|---|---|---|---|---|---|---|---|---|---|\n");
        for (key, (totals, _)) in &self.runs {
            let Totals { version, run, passed, failed, timed_out, skipped, seconds } = totals;
            let _ = writeln!(
                page,
                "| {} | {version} | {} | {} | {} | {run} | {passed} | {failed} | {timed_out} | {skipped} | {seconds} |",
                key.subject,
                key.architecture,
                key.threads,
                key.selection.replace('|', "\\|"),
            );
        }
        page.push_str("\n## Cases that do not pass\n\n");
        let mut by_reason: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for (key, (_, failures)) in &self.runs {
            for failure in failures {
                let why = reasons.of(&key.subject, &failure.case).unwrap_or(UNKNOWN);
                let on = format!("{}, {} threads", key.architecture, key.threads);
                let line = format!("`{}` `{}` ({on}): {}", failure.program, failure.case, failure.outcome);
                by_reason.entry((&key.subject, why)).or_default().push(line);
            }
        }
        if by_reason.is_empty() {
            page.push_str("None.\n");
        }
        for ((subject, why), cases) in by_reason {
            let _ = writeln!(page, "**{subject}**: {why}\n");
            cases.iter().for_each(|case| {
                let _ = writeln!(page, "- {case}");
            });
            page.push('\n');
        }
        page.truncate(page.trim_end().len());
        page.push('\n');
        page
    }
}

pub(crate) const UNKNOWN: &str = "no reason is stated";

const HEADER: &str = "\
# AMD's test programs

AMD's own test programs of ROCm's libraries, as Debian packages them, on the software GPU. `cargo xtask amd-tests` fetches
and runs them; `--record` writes this page.

A sample is chosen by a seed: the same command runs the same cases. *Skipped* cases say themselves that they do not apply.
Each case has a limit of time. The seconds are those of a shared machine with two cores.

";

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let key = Key {
            subject: "rocprim".into(),
            architecture: "gfx90a".into(),
            threads: 2,
            selection: "2 of 9, seed 7".into(),
        };
        let totals =
            Totals { version: "7.2.4-1".into(), run: 2, passed: 1, failed: 1, seconds: 3, ..Totals::default() };
        let failures = vec![Failure { program: "test_a".into(), case: "A/0.b".into(), outcome: "failed".into() }];
        Table { runs: [(key, (totals, failures))].into() }
    }

    #[test]
    fn a_table_reads_back() {
        let table = table();
        assert_eq!(Table::parse(&table.text()).unwrap(), table);
        for bad in ["case\ta\tb\tc\n", "run\tx\n", "other\n"] {
            assert!(Table::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_page_says_why_a_case_fails() {
        let table = table();
        assert!(table.page(&Reasons::default()).contains(UNKNOWN));
        let reasons = Reasons::parse("# comment\nother\t*\tno\nrocprim\tA/*.b\tof a cause\n").unwrap();
        let page = table.page(&reasons);
        assert!(page.contains("**rocprim**: of a cause\n\n- `test_a` `A/0.b` (gfx90a, 2 threads): failed"), "{page}");
    }

    /// The committed page is that of the committed runs, and each of their failures has a reason.
    #[test]
    fn the_committed_table_is_complete() {
        let (table, reasons) = (Table::read().unwrap(), reasons().unwrap());
        assert_eq!(fs::read_to_string(folder().join(PAGE)).unwrap(), table.page(&reasons));
        for (key, (_, failures)) in &table.runs {
            for failure in failures {
                assert!(reasons.of(&key.subject, &failure.case).is_some(), "{key:?} {failure:?}");
            }
        }
    }
}
