//! The steps that fetch.

use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use rocm_sdk::install::debian::usable;

use crate::cargo::checked_cargo;
use crate::process::{capture, shown};
use crate::rocm::{self, Release};
use crate::steps::{Got, Step};
use crate::turn::Turn;

/// The way in which releases are fetched.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    /// Whether nothing is fetched.
    offline: bool,
    /// Whether the tests are skipped if the required tools are missing.
    optional: bool,
    get: fn(&'static Release, &[String]) -> Result<Got>,
    is_present: fn(&Release) -> bool,
}

/// Fetches with apt; everything is skipped on a machine without it.
pub(super) fn fetched_here(offline: bool) -> Source {
    Source { offline, optional: true, ..FETCHED }
}

/// Fetches with apt.
pub(crate) const FETCHED: Source = Source {
    offline: false,
    optional: false,
    get: |release, sets| rocm::fetch_what_is_there(release, sets, false),
    is_present: rocm::is_present,
};

impl Source {
    fn ready(self, release: &Release, sets: &[&str]) -> Result<(), String> {
        let missing = rocm::missing(release, sets);
        match (missing.is_empty() || !self.optional, self.offline) {
            (true, _) => Ok(()),
            (_, true) => Err(format!("told --offline, and not all is there yet: {} missing", missing.join(", "))),
            _ => usable().map_err(|error| error.to_string()),
        }
    }
}

/// Fetches releases; at least one must be available at the end. A release that the mirror no longer has is skipped,
/// with its tests, unless it is `named`. For a release that is not in the turn, only the inputs of the generator are
/// fetched.
pub(crate) fn fetches(
    releases: &[&'static Release],
    named: &[&'static Release],
    turn: Option<Turn>,
    source: Source,
) -> Vec<Step> {
    let tested = tested(releases, named, turn);
    let fetch = |release: &&'static Release| {
        let sets: &[&str] = if tested.contains(release) { &rocm::FOR_TESTS } else { &rocm::FOR_BINDINGS };
        fetch(release, sets, named.contains(release), source)
    };
    let mut steps: Vec<Step> = releases.iter().map(fetch).collect();
    let (all, any) = (releases.to_vec(), releases.to_vec());
    let check = move || match all.iter().any(|release| (source.is_present)(release)) {
        true => Ok(()),
        false => bail!("{}", rocm::none_of(&all)),
    };
    let about = "there is a release to test on";
    let any = Step::call("fetch any", about, check).when(move || {
        let ready = any.iter().map(|release| source.ready(release, &[]));
        ready.reduce(Result::or).unwrap_or(Ok(()))
    });
    steps.push(any.in_both_lanes());
    steps
}

/// Returns the releases that are tested in a turn: always the newest, every second of the older ones, and those that
/// are `named`.
pub(super) fn tested(
    releases: &[&'static Release],
    named: &[&'static Release],
    turn: Option<Turn>,
) -> Vec<&'static Release> {
    match turn {
        Some(turn) => turn.select(releases.to_vec(), 2, |release| release.name == "7.2" || named.contains(release)),
        None => releases.to_vec(),
    }
}

/// Fetches the crates in the lock file, which is all that most steps need from the network besides releases.
pub(crate) fn crates(offline: bool) -> Step {
    let fetch = move || {
        let version = capture(Command::new("rustc").arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
        let mut command = checked_cargo("fetch", offline);
        command.args(["--locked", "--target", host]);
        ensure!(command.status().context("starting cargo")?.success(), "`{}` failed", shown(&command));
        Ok(Got::All)
    };
    Step::fetch("fetch crates", "crates of the registry, of the versions in Cargo.lock", fetch)
}

/// Fetches a release. Parts that the mirror lacks are skipped, and the tests that need them report that.
pub(super) fn fetch(release: &'static Release, sets: &'static [&'static str], named: bool, source: Source) -> Step {
    let about = format!("real libraries and headers, under {}", rocm::tree(release).folder().display());
    let names: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let hint = if source.optional {
        "not all can be fetched; --offline skips what is missing"
    } else {
        "not all can be fetched"
    };
    let call = move || match (source.get)(release, &names).context(hint)? {
        Got::Nothing(why) if named => bail!("{why}"),
        Got::Nothing(why) => Ok(Got::Nothing(format!("{why}; its tests are skipped"))),
        got => Ok(got),
    };
    Step::fetch(format!("fetch {}", release.name), about, call).when(move || source.ready(release, sets))
}

#[cfg(test)]
mod tests {
    use super::super::named_in;
    use super::*;
    use crate::steps;

    /// Returns the results of the steps that fetch, if the mirror has ROCm 6.4 and another release in place of 7.2.
    fn fetched_from(
        get: fn(&'static Release, &[String]) -> Result<Got>,
        is_present: fn(&Release) -> bool,
        named: &[&str],
    ) -> steps::Summary {
        let source = Source { get, is_present, ..FETCHED };
        let releases = ["6.4", "7.2"].map(|name| rocm::release(name).unwrap());
        let named: Vec<_> = named.iter().map(|name| rocm::release(name).unwrap()).collect();
        steps::run(fetches(&releases, &named, None, source))
    }

    fn moved_on(release: &'static Release, _: &[String]) -> Result<Got> {
        match release.name {
            "7.2" => Ok(Got::Nothing("ROCm 7.2: the mirror has 7.3.0-1".into())),
            _ => Ok(Got::All),
        }
    }

    #[test]
    fn a_release_that_the_mirror_no_longer_has_is_skipped_while_there_is_another() {
        let summary = fetched_from(moved_on, |release| release.name == "6.4", &["6.4"]);
        assert_eq!((summary.totals(), summary.passed()), ((2, 0, 1), true));
        let text = summary.to_string();
        let line = "ROCm 7.2: the mirror has 7.3.0-1; its tests are skipped";
        assert_eq!(text.matches(line).count(), 2, "in the table, and again at the end: {text}");

        let nothing = |_: &'static Release, _: &[String]| Ok(Got::Nothing("gone".into()));
        let summary = fetched_from(nothing, |_| false, &[]);
        assert_eq!(summary.totals(), (0, 1, 2));
        assert!(summary.to_string().contains("the mirror has none of ROCm 6.4, 7.2; set ROCM_SDK_DEBIAN_MIRROR"));
    }

    #[test]
    fn a_release_that_is_named_must_be_had() {
        let summary = fetched_from(moved_on, |release| release.name == "6.4", &["7.2"]);
        assert_eq!(summary.totals(), (2, 1, 0));
        let named = |words: &[&str]| -> Vec<&str> {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            named_in(&words).iter().map(|release| release.name).collect()
        };
        assert_eq!(named(&["hsa 7.2", "real"]), ["7.2"]);
        assert!(named(&["fetch"]).is_empty());
    }

    #[test]
    fn of_a_release_that_is_not_tested_only_bindings_are_fetched() {
        let whole = |release: &'static Release, sets: &[String]| {
            let expected: &[&str] = if release.name == "5.7" { &rocm::FOR_BINDINGS } else { &rocm::FOR_TESTS };
            ensure!(sets == expected, "ROCm {}: {sets:?}", release.name);
            Ok(Got::All)
        };
        let releases: Vec<_> = rocm::RELEASES.iter().collect();
        // 6.4 is the second of three, and 1 is odd.
        let turn = |turn| fetches(&releases, &[], Some(turn), Source { get: whole, is_present: |_| true, ..FETCHED });
        assert!(steps::run(turn(Turn::new(1))).passed());
        assert!(!steps::run(turn(Turn::new(2))).passed());
    }

    #[test]
    fn a_mirror_that_cannot_be_reached_is_a_failure() {
        let broken = |_: &'static Release, _: &[String]| bail!("could not resolve the mirror");
        let summary = fetched_from(broken, |_| true, &[]);
        assert_eq!(summary.totals(), (1, 2, 0));
        assert!(summary.to_string().contains("could not resolve the mirror"), "{summary}");
    }
}
