//! The settings for checks, profile and schedule.

use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use super::{Checks, Profile};
use crate::config::{BeyondLds, Bounds, Config};
use crate::dispatch::Schedule;

/// An invalid value of a setting. Its `Display` names the setting and the expected values.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value:?}: {wanted}")]
pub struct SettingsError {
    name: &'static str,
    value: String,
    wanted: String,
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl SettingsError {
    /// The error for `value` of the variable `name`, which must be as `wanted` says.
    pub(crate) fn new(name: &'static str, value: &str, wanted: &str) -> Self {
        Self { name, value: value.to_owned(), wanted: format!("{} is wanted", wanted.replace('`', "")) }
    }
}

const CHECK: &str = "HIP_SIM_CHECK";
const PROFILE: &str = "HIP_SIM_PROFILE";
const SCHEDULE: &str = "HIP_SIM_SCHEDULE";
const SEED: &str = "HIP_SIM_SEED";

/// The values of `HIP_SIM_SCHEDULE`.
const ORDERS: &str =
    "parallel, in-order, interleaved, interleaved:N (a turn's instructions, from 1) or a number is wanted";
/// The default turn length for `interleaved`, in instructions.
const INTERLEAVED: NonZeroU32 = NonZeroU32::new(8).unwrap();

/// The file format of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProfileFormat {
    /// Text tables.
    Text,
    /// JSON (feature `profile`).
    Json,
    /// A flame graph.
    Svg,
}

impl ProfileFormat {
    /// The format for a file name: JSON for `.json`, a flame graph for `.svg`, otherwise text.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|e| e.to_str()) {
            Some("json") => Self::Json,
            Some("svg") => Self::Svg,
            _ => Self::Text,
        }
    }

    /// `profile` in this format; `None` for JSON without the feature `profile`.
    pub fn render(self, profile: &Profile) -> Option<String> {
        match self {
            Self::Text => Some(profile.to_string()),
            Self::Svg => Some(profile.to_svg()),
            #[cfg(feature = "profile")]
            Self::Json => Some(profile.to_json()),
            #[cfg(not(feature = "profile"))]
            Self::Json => None,
        }
    }
}

/// Changes `config` according to the environment, and returns the path of the profile, if one is requested. `variable`
/// returns a variable's value.
///
/// - `HIP_SIM_CHECK`: words separated by commas: `memory` ([exact bounds](Bounds), and [faults beyond
///   LDS](BeyondLds::FaultUnlessKnown) where such accesses are otherwise ignored), `init`, `race`, `barrier`, `all`;
///   and `warn`, which keeps findings from making dispatches fail ([`Checks::fail`]).
/// - `HIP_SIM_PROFILE`: a file for the [profile](Config::profile). The extension selects the format: `.json`, `.svg` (a
///   flame graph), otherwise text.
/// - `HIP_SIM_SCHEDULE`: `parallel`, `in-order`, `interleaved` or `interleaved:N` ([`Schedule::Interleaved`] with turns
///   of 8 or N instructions), or a number for [`Schedule::Shuffled`].
/// - `HIP_SIM_SEED`: a number for [`Schedule::Shuffled`], which overrides the schedule.
///
/// # Errors
/// [`SettingsError`] for an invalid value. `config` may have been changed partly.
pub(crate) fn apply_settings(
    config: &mut Config,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<PathBuf>, SettingsError> {
    if let Some(value) = variable(CHECK) {
        config.checks = checks(&value)?;
        if value.split(',').any(|word| matches!(word.trim(), "memory" | "all")) {
            config.bounds = Bounds::Exact;
            // An explicit setting for this takes precedence.
            if config.beyond_lds == BeyondLds::Ignore && variable("HIP_SIM_BEYOND_LDS").is_none() {
                config.beyond_lds = BeyondLds::FaultUnlessKnown;
            }
        }
    }
    if let Some(value) = variable(SCHEDULE) {
        config.schedule = match value.trim() {
            "parallel" => Schedule::Parallel,
            "in-order" => Schedule::InOrder,
            "interleaved" => Schedule::Interleaved(INTERLEAVED),
            word => match word.strip_prefix("interleaved:").map(str::parse) {
                Some(Ok(instructions)) => Schedule::Interleaved(instructions),
                Some(Err(_)) => return Err(refused(SCHEDULE, &value, ORDERS)),
                None => seed(SCHEDULE, &value, ORDERS)?,
            },
        };
    }
    if let Some(value) = variable(SEED) {
        config.schedule = seed(SEED, &value, "a number from 0 to 18446744073709551615 is wanted")?;
    }
    let Some(value) = variable(PROFILE) else { return Ok(None) };
    let refuse = |wanted: &str| SettingsError { name: PROFILE, value: value.clone(), wanted: wanted.into() };
    let path = PathBuf::from(&value);
    if path.file_name().is_none() {
        return Err(refuse("the name of a file is wanted: FILE.txt, FILE.json or FILE.svg"));
    }
    if ProfileFormat::of(&path).render(&Profile::default()).is_none() {
        return Err(refuse("JSON needs the feature `profile`, which this program was compiled without"));
    }
    config.profile = true;
    Ok(Some(path))
}

fn seed(name: &'static str, value: &str, wanted: &str) -> Result<Schedule, SettingsError> {
    value.trim().parse().map(Schedule::Shuffled).map_err(|_| refused(name, value, wanted))
}

fn refused(name: &'static str, value: &str, wanted: &str) -> SettingsError {
    SettingsError { name, value: value.to_owned(), wanted: wanted.to_owned() }
}

fn checks(value: &str) -> Result<Checks, SettingsError> {
    let mut checks = Checks { fail: true, ..Checks::default() };
    for word in value.split(',').map(str::trim) {
        match word {
            "memory" => {}
            "init" => checks.init = true,
            "race" => checks.race = true,
            "barrier" => checks.barrier = true,
            "all" => (checks.init, checks.race, checks.barrier) = (true, true, true),
            "warn" => checks.fail = false,
            _ => {
                let wanted = "memory, init, race, barrier, all and warn are wanted, with commas between".to_owned();
                return Err(SettingsError { name: CHECK, value: value.to_owned(), wanted });
            }
        }
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(variables: &[(&str, &str)]) -> Result<(Config, Option<PathBuf>), String> {
        let mut config = Config::default();
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        let path = apply_settings(&mut config, find).map_err(|e| e.to_string())?;
        Ok((config, path))
    }

    #[test]
    fn what_makes_sense() {
        let (config, path) = apply(&[]).unwrap();
        assert_eq!((config.checks, config.profile, path), (Checks::default(), false, None));
        let checks = |value| apply(&[(CHECK, value)]).unwrap().0.checks;
        assert_eq!(checks("memory"), Checks { fail: true, ..Checks::default() });
        assert_eq!(checks("memory, race"), Checks { race: true, fail: true, ..Checks::default() });
        assert_eq!(checks("all"), Checks::ALL);
        assert_eq!(checks("init,barrier,warn"), Checks { init: true, barrier: true, ..Checks::default() });
        // In the embedded runtime, it is a fault by default, without any check.
        assert_eq!(apply(&[(CHECK, "memory")]).unwrap().0.beyond_lds, BeyondLds::Fault);
        let (config, path) = apply(&[(PROFILE, "out/x.svg"), (SEED, "17")]).unwrap();
        assert!(config.profile && path.is_some_and(|p| p.ends_with("x.svg")));
        assert_eq!(config.schedule, Schedule::Shuffled(17));
        let schedule = |value| apply(&[(SCHEDULE, value)]).unwrap().0.schedule;
        assert_eq!(schedule("in-order"), Schedule::InOrder);
        assert_eq!(schedule("parallel"), Schedule::Parallel);
        assert_eq!(schedule("4"), Schedule::Shuffled(4));
        assert_eq!(schedule("interleaved"), Schedule::Interleaved(INTERLEAVED));
        assert_eq!(schedule("interleaved:3"), Schedule::Interleaved(NonZeroU32::new(3).unwrap()));
    }

    #[test]
    fn what_does_not() {
        for (name, value, says) in [
            (CHECK, "races", "memory, init, race, barrier"),
            (CHECK, "", "HIP_SIM_CHECK=\"\""),
            (SEED, "-1", "a number from 0"),
            (SCHEDULE, "random", "parallel, in-order"),
            (SCHEDULE, "interleaved:0", "interleaved:N"),
            (SCHEDULE, "interleaved:", "interleaved:N"),
            (PROFILE, "", "the name of a file"),
            (PROFILE, "..", "the name of a file"),
        ] {
            let error = apply(&[(name, value)]).unwrap_err();
            assert!(error.contains(says), "{name}={value}: {error}");
        }
        assert_eq!(apply(&[(PROFILE, "a.json")]).is_ok(), cfg!(feature = "profile"));
    }
}
