//! The settings in environment variables: one table and one parser for every runtime built on this crate.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::observe::{SettingsError, apply_settings};
use crate::{Arch, BeyondLds, Config, Delay, Misaligned, TargetId};

/// Maximum number of GPUs.
const MAX_DEVICES: u64 = 64;
/// Maximum memory of each, in bytes.
const MAX_MEMORY: u64 = 64 << 40;
/// Longest delay in microseconds: ten seconds.
const MAX_DELAY: u64 = 10_000_000;
/// Maximum number of threads.
const MAX_THREADS: u64 = 1024;

/// An environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its allowed values.
    pub values: &'static str,
    /// What it sets, and the default.
    pub about: &'static str,
}

impl Setting {
    /// Returns a row of a Markdown table.
    pub fn row(&self) -> String {
        format!("| `{}` | {} | {} |", self.name, self.values, self.about)
    }
}

const fn setting(name: &'static str, values: &'static str, about: &'static str) -> Setting {
    Setting { name, values, about }
}

const DEVICES: Setting = setting("HIP_SIM_DEVICES", "a number from 1 to 64", "number of GPUs (1)");
const ARCH: Setting = setting(
    "HIP_SIM_ARCH",
    "`gfx90a` or `gfx942`",
    "processor of the GPUs: MI200 or MI300; `HIP_SIM_TARGET` without features",
);
const TARGET: Setting = setting(
    "HIP_SIM_TARGET",
    "`gfx90a` or `gfx942`, followed by `:sramecc+` or `-` and `:xnack+` or `-`",
    "processor of the GPUs, with features (`gfx90a:sramecc+:xnack-`)",
);
const MEMORY: Setting = setting(
    "HIP_SIM_MEMORY",
    "a number of bytes up to 64T, with an optional suffix K, M, G or T",
    "memory of each GPU (64G, or three quarters of the host's if that is less; host memory is used only as the program uses it)",
);
const BUDGET: Setting =
    setting("HIP_SIM_BUDGET", "a number from 1", "wave instructions after which a kernel is terminated (none)");
const LOSE: Setting = setting(
    "HIP_SIM_LOSE",
    "a number from 1",
    "dispatches of a GPU after which it is lost, to test how a program reacts (never)",
);
const THREADS: Setting =
    setting("HIP_SIM_THREADS", "a number from 1 to 1024", "threads that run workgroups (one per core)");
const MISALIGNED: Setting = setting(
    "HIP_SIM_MISALIGNED",
    "`allow`, `words` or `fault`",
    "misaligned loads and stores: allowed; `words`: a fault for 4 bytes or more at an address that is not a multiple of 4; `fault`: also for 2 bytes at an odd address (hsa-sim: `allow`, embedded runtime: `words`)",
);
const BEYOND_LDS: Setting = setting(
    "HIP_SIM_BEYOND_LDS",
    "`ignore` or `fault`",
    "loads and stores beyond a workgroup's LDS: ignored, and loads return zeros, as on the chip (Tensile and rocFFT rely on this), or a fault of every kernel (hsa-sim: `ignore`, with `HIP_SIM_CHECK=memory` as said there; embedded runtime: `fault`)",
);
const SCHEDULE: Setting = setting(
    "HIP_SIM_SCHEDULE",
    "`parallel`, `in-order`, `interleaved`, `interleaved:N` or a number",
    "order of workgroups and waves (`parallel`). Repeatable orders: `in-order` (one thread), `interleaved` (waves take turns of 8 or N instructions), and a number, the seed of a shuffled order",
);
const SEED: Setting = setting("HIP_SIM_SEED", "a number", "the same as `HIP_SIM_SCHEDULE` with a number");
const DELAY: Setting = setting(
    "HIP_SIM_DELAY",
    "`MICROSECONDS` up to 10000000, or `MICROSECONDS:SEED`",
    "random delays up to this length, by a seed (0), before and after each kernel and copy of a queue; a program that does not wait for its work then fails (none)",
);
const CHECK: Setting = setting(
    "HIP_SIM_CHECK",
    "`memory`, `init`, `race`, `barrier`, `all` and `warn`, separated by commas",
    "additional checks; `memory`: a kernel's reads of an allocation end with its last byte, not with its 4 KiB, and an access beyond a workgroup's LDS is a fault, except for loads by kernels of Tensile and rocFFT (in the embedded runtime both always, for all kernels); `init` finds reads of uninitialised memory; `race` finds races between lanes, waves and workgroups. A kernel with findings fails; with `warn` they are only reported (none)",
);
const CHECK_MEMORY: Setting = setting(
    "HIP_SIM_CHECK_MEMORY",
    "a number of bytes up to 64T, with an optional suffix K, M, G or T",
    "memory that the checks may use; a check that needs more reports it (a quarter of the host's)",
);
const PROFILE: Setting = setting(
    "HIP_SIM_PROFILE",
    "a file name",
    "file for a profile: `.svg` (flame graph), `.json` (feature `profile`), otherwise text; `%p` is replaced by the process ID (none)",
);
const LOG: Setting = setting(
    "HIP_SIM_LOG",
    "`errors`, `kernels` or `calls`",
    "hsa-sim only, on stderr: failed HSA calls (also those that are not supported), each kernel, or all calls (none)",
);

/// All settings.
pub const SETTINGS: [Setting; 16] = [
    DEVICES,
    ARCH,
    TARGET,
    MEMORY,
    BUDGET,
    LOSE,
    THREADS,
    MISALIGNED,
    BEYOND_LDS,
    SCHEDULE,
    SEED,
    DELAY,
    CHECK,
    CHECK_MEMORY,
    PROFILE,
    LOG,
];

/// The values read from the environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of GPUs.
    pub devices: usize,
    /// Configuration of each GPU.
    pub gpu: Config,
    /// File that the profile is written to when the process ends.
    pub profile: Option<PathBuf>,
    /// Delays of the runtime's queues.
    pub delay: Option<Delay>,
}

impl Settings {
    /// Reads the process's environment. Variables that are not set leave `defaults` unchanged.
    ///
    /// # Errors
    /// [`SettingsError`] for the first variable with an invalid value.
    pub fn from_environment(defaults: Config) -> Result<Self, SettingsError> {
        Self::read(defaults, |name| std::env::var_os(name))
    }

    /// Like [`from_environment`](Self::from_environment), with the values that `variable` returns.
    ///
    /// # Errors
    /// The same as [`from_environment`](Self::from_environment).
    pub fn read(defaults: Config, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingsError> {
        let text = |setting: &Setting| match variable(setting.name).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(value)) => Err(refuse(setting, &value.to_string_lossy())),
        };
        // A value that is not valid text must not be treated as unset.
        for setting in &SETTINGS {
            text(setting)?;
        }
        let number = |setting: &Setting, max: u64, parse: fn(&str) -> Option<u64>| {
            let Some(value) = text(setting)? else { return Ok(None) };
            match parse(value.trim()) {
                Some(number) if (1..=max).contains(&number) => Ok(Some(number)),
                _ => Err(refuse(setting, &value)),
            }
        };
        let plain = |text: &str| text.parse().ok();
        let mut gpu = defaults;
        let arch = text(&ARCH)?;
        if let Some(name) = &arch {
            let known = Arch::ALL.into_iter().find(|arch| arch.name() == name.trim());
            gpu.arch = known.ok_or_else(|| refuse(&ARCH, name))?;
        }
        if let Some(id) = text(&TARGET)? {
            let known = TargetId::parse(id.trim()).and_then(|target| Config::for_target(&target));
            let known = known.ok_or_else(|| refuse(&TARGET, &id))?;
            if arch.is_some() && gpu.arch != known.arch {
                let wanted = format!("the processor that {} names", ARCH.name);
                return Err(SettingsError::new(TARGET.name, &id, &wanted));
            }
            (gpu.arch, gpu.sramecc, gpu.xnack) = (known.arch, known.sramecc, known.xnack);
        }
        let devices = number(&DEVICES, MAX_DEVICES, plain)?.map_or(1, |devices| devices as usize);
        if let Some(bytes) = number(&MEMORY, MAX_MEMORY, bytes)? {
            gpu.memory_bytes = bytes;
        }
        gpu.instruction_budget = number(&BUDGET, u64::MAX, plain)?.or(gpu.instruction_budget);
        gpu.lose_after = number(&LOSE, u64::MAX, plain)?.or(gpu.lose_after);
        gpu.check_memory = number(&CHECK_MEMORY, MAX_MEMORY, bytes)?.or(gpu.check_memory);
        if let Some(threads) = number(&THREADS, MAX_THREADS, plain)? {
            gpu.threads = Some(threads as usize);
        }
        let word = |setting: &Setting| Ok(text(setting)?.map(|word| word.trim().to_owned()));
        match word(&MISALIGNED)?.as_deref() {
            None => {}
            Some("allow") => gpu.misaligned = Misaligned::Allow,
            Some("words") => gpu.misaligned = Misaligned::FaultWords,
            Some("fault") => gpu.misaligned = Misaligned::Fault,
            Some(other) => return Err(refuse(&MISALIGNED, other)),
        }
        match word(&BEYOND_LDS)?.as_deref() {
            None => {}
            Some("ignore") => gpu.beyond_lds = BeyondLds::Ignore,
            Some("fault") => gpu.beyond_lds = BeyondLds::Fault,
            Some(other) => return Err(refuse(&BEYOND_LDS, other)),
        }
        match word(&LOG)?.as_deref() {
            None | Some("errors" | "kernels" | "calls") => {}
            Some(other) => return Err(refuse(&LOG, other)),
        }
        let delay = match word(&DELAY)? {
            None => None,
            Some(word) => Some(delay(&word).ok_or_else(|| refuse(&DELAY, &word))?),
        };
        let find = |name: &str| variable(name).and_then(|value| value.into_string().ok());
        let profile = apply_settings(&mut gpu, find)?;
        Ok(Self { devices, gpu, profile, delay })
    }
}

fn refuse(setting: &Setting, value: &str) -> SettingsError {
    SettingsError::new(setting.name, value, setting.values)
}

/// Parses "200" or "200:7": the longest delay in microseconds, and a seed.
fn delay(text: &str) -> Option<Delay> {
    let (longest, seed) = text.split_once(':').unwrap_or((text, "0"));
    let longest = longest.parse().ok().filter(|longest| (1..=MAX_DELAY).contains(longest))?;
    Some(Delay::new(Duration::from_micros(longest), seed.parse().ok()?))
}

/// Parses "512M" and similar into bytes.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        Settings::read(Config::default(), find).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_said_changes_nothing() {
        let settings = read(&[]).unwrap();
        assert_eq!((settings.devices, settings.delay), (1, None));
        assert_eq!(format!("{:?}", settings.gpu), format!("{:?}", Config::default()));
    }

    #[test]
    fn every_variable_is_used() {
        let settings = read(&[
            ("HIP_SIM_DEVICES", "4"),
            ("HIP_SIM_ARCH", "gfx942"),
            ("HIP_SIM_TARGET", "gfx942:sramecc-:xnack+"),
            ("HIP_SIM_MEMORY", "512M"),
            ("HIP_SIM_BUDGET", "1000000"),
            ("HIP_SIM_LOSE", "12"),
            ("HIP_SIM_THREADS", "3"),
            ("HIP_SIM_MISALIGNED", "fault"),
            ("HIP_SIM_BEYOND_LDS", "fault"),
            ("HIP_SIM_SCHEDULE", "in-order"),
            ("HIP_SIM_SEED", "7"),
            ("HIP_SIM_DELAY", "250:3"),
            ("HIP_SIM_CHECK", "race,init"),
            ("HIP_SIM_CHECK_MEMORY", "2G"),
            ("HIP_SIM_PROFILE", "profile.txt"),
            ("HIP_SIM_LOG", "kernels"),
        ])
        .unwrap();
        assert_eq!(settings.delay, Some(Delay::new(Duration::from_micros(250), 3)));
        let gpu = settings.gpu;
        assert_eq!((settings.devices, gpu.memory_bytes, gpu.threads), (4, 512 << 20, Some(3)));
        assert_eq!(gpu.target().to_string(), "gfx942:sramecc-:xnack+");
        assert_eq!(
            (gpu.instruction_budget, gpu.lose_after, gpu.check_memory),
            (Some(1_000_000), Some(12), Some(2 << 30))
        );
        assert_eq!((gpu.misaligned, gpu.beyond_lds), (Misaligned::Fault, BeyondLds::Fault));
        assert_eq!(gpu.schedule, Schedule::Shuffled(7));
        assert!(gpu.checks.race && gpu.checks.init && gpu.checks.fail && !gpu.checks.barrier && gpu.profile);
        assert_eq!(settings.profile.unwrap(), PathBuf::from("profile.txt"));
    }

    #[test]
    fn nonsense_is_refused_by_name_and_value_and_what_is_allowed() {
        let bad: [(&Setting, &[&str]); 16] = [
            (&DEVICES, &["0", "65", "two", ""]),
            (&ARCH, &["gfx1100", ""]),
            (&TARGET, &["gfx1100", "gfx90a:ecc+"]),
            (&MEMORY, &["12Q", "", "99999999999T", "65T"]),
            (&BUDGET, &["-1", "0"]),
            (&LOSE, &["0", "soon"]),
            (&THREADS, &["0", "1025"]),
            (&MISALIGNED, &["maybe"]),
            (&BEYOND_LDS, &["maybe"]),
            (&SCHEDULE, &["random"]),
            (&SEED, &["0x5"]),
            (&DELAY, &["0", "10000001", "-1", "5:", "5:x", ":5", "1ms"]),
            (&CHECK, &["speed", ""]),
            (&CHECK_MEMORY, &["0", "", "65T"]),
            (&PROFILE, &["/", ""]),
            (&LOG, &["everything"]),
        ];
        assert_eq!(bad.map(|(setting, _)| setting.name), SETTINGS.map(|setting| setting.name));
        for (setting, values) in bad {
            for value in values {
                let error = read(&[(setting.name, value)]).unwrap_err();
                assert!(error.contains(setting.name) && error.contains(&format!("{value:?}")), "{error}");
                // The text contains every value name.
                let words = setting.values.split('`').skip(1).step_by(2).filter(|word| word.len() > 1);
                for word in words.filter(|word| !word.starts_with(':')) {
                    assert!(error.contains(word), "{error}: {word}");
                }
            }
        }
    }

    #[test]
    fn a_delay_needs_no_seed() {
        let delay = read(&[("HIP_SIM_DELAY", " 10000000 ")]).unwrap().delay;
        assert_eq!(delay, Some(Delay::new(Duration::from_secs(10), 0)));
    }

    #[test]
    fn two_names_of_the_processor_agree() {
        let error = read(&[("HIP_SIM_ARCH", "gfx942"), ("HIP_SIM_TARGET", "gfx90a")]).unwrap_err();
        assert!(error.contains("HIP_SIM_TARGET") && error.contains("HIP_SIM_ARCH"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_text_is_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        for setting in SETTINGS {
            let find = |name: &str| (name == setting.name).then(|| OsString::from_vec(vec![0xff, b'1']));
            let error = Settings::read(Config::default(), find).unwrap_err().to_string();
            assert!(error.contains(setting.name), "{error}");
        }
    }
}
