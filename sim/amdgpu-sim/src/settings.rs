//! The settings that a program's environment makes: one table of them, and one reader, for every runtime on top of this crate.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::observe::{SettingsError, apply_settings};
use crate::{Arch, BeyondLds, Config, Delay, Misaligned, TargetId};

/// Most GPUs that can be asked for.
const MAX_DEVICES: u64 = 64;
/// Most bytes of memory of each.
const MAX_MEMORY: u64 = 64 << 40;
/// Longest wait in microseconds: ten seconds.
const MAX_DELAY: u64 = 10_000_000;
/// Most threads.
const MAX_THREADS: u64 = 1024;

/// A variable of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// The values that it may have.
    pub values: &'static str,
    /// What it sets, and what goes without it.
    pub about: &'static str,
}

impl Setting {
    /// A row of a table in Markdown.
    pub fn row(&self) -> String {
        format!("| `{}` | {} | {} |", self.name, self.values, self.about)
    }
}

const fn setting(name: &'static str, values: &'static str, about: &'static str) -> Setting {
    Setting { name, values, about }
}

const DEVICES: Setting = setting("HIP_SIM_DEVICES", "a number from 1 to 64", "how many GPUs (1)");
const ARCH: Setting = setting(
    "HIP_SIM_ARCH",
    "`gfx90a` or `gfx942`",
    "what they are: MI200 or MI300, as `HIP_SIM_TARGET` without features",
);
const TARGET: Setting = setting(
    "HIP_SIM_TARGET",
    "`gfx90a` or `gfx942`, with `:sramecc+` or `-` and `:xnack+` or `-` behind it",
    "what they are, with features (`gfx90a:sramecc+:xnack-`)",
);
const MEMORY: Setting = setting(
    "HIP_SIM_MEMORY",
    "a number of bytes up to 64T, or one with K, M, G or T",
    "memory of each (64G, taken as it is used)",
);
const BUDGET: Setting =
    setting("HIP_SIM_BUDGET", "a number from 1", "wave instructions after which a kernel is cut off (none)");
const LOSE: Setting = setting(
    "HIP_SIM_LOSE",
    "a number from 1",
    "dispatches of a GPU after which it is lost, to see what a program does then (never)",
);
const THREADS: Setting =
    setting("HIP_SIM_THREADS", "a number from 1 to 1024", "threads that run workgroups (one a core)");
const MISALIGNED: Setting = setting(
    "HIP_SIM_MISALIGNED",
    "`allow`, `words` or `fault`",
    "loads and stores at addresses that are no multiple of their size, or of 4 (hsa-sim: `allow`, hip-sim: `words`)",
);
const BEYOND_LDS: Setting = setting(
    "HIP_SIM_BEYOND_LDS",
    "`ignore` or `fault`",
    "loads and stores beyond a workgroup's LDS: zeros, as the chip, on which Tensile and rocFFT rely, or a fault (hsa-sim: `ignore`, hip-sim: `fault`)",
);
const SCHEDULE: Setting = setting(
    "HIP_SIM_SCHEDULE",
    "`parallel`, `in-order`, `interleaved`, `interleaved:N` or a number",
    "order of workgroups and waves; `in-order` (one thread), `interleaved` (waves take turns of 8 instructions, or N) and a number, by which it is shuffled, are the same every time (`parallel`)",
);
const SEED: Setting = setting("HIP_SIM_SEED", "a number", "as `HIP_SIM_SCHEDULE` with a number");
const DELAY: Setting = setting(
    "HIP_SIM_DELAY",
    "`MICROSECONDS` up to 10000000, or `MICROSECONDS:SEED`",
    "random waits of up to so long, by a seed (0), before and after each kernel and copy of a queue, so that a program which doesn't wait for them fails (none)",
);
const CHECK: Setting = setting(
    "HIP_SIM_CHECK",
    "`memory`, `init`, `race`, `barrier`, `all` and `warn`, with commas between",
    "more checks: `init` is uninitialised memory; a kernel with findings fails, with `warn` it is told of (`memory`, which is always on)",
);
const CHECK_MEMORY: Setting = setting(
    "HIP_SIM_CHECK_MEMORY",
    "a number of bytes up to 64T, or one with K, M, G or T",
    "memory that the checks may take; one that needs more says so (a quarter of the host's)",
);
const PROFILE: Setting = setting(
    "HIP_SIM_PROFILE",
    "the name of a file",
    "where a profile goes: `.svg` (flame graph), `.json` (feature `profile`), else text; `%p` is the process (none)",
);
const LOG: Setting = setting(
    "HIP_SIM_LOG",
    "`errors`, `kernels` or `calls`",
    "of hsa-sim, on stderr: HSA calls that fail, each kernel that runs, all calls (none)",
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

/// What the environment asks for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many GPUs.
    pub devices: usize,
    /// What each is.
    pub gpu: Config,
    /// Where the profile is to be written when the process ends.
    pub profile: Option<PathBuf>,
    /// Waits that the queues of the runtime are to have.
    pub delay: Option<Delay>,
}

impl Settings {
    /// Reads the process's environment. What is not set stays as it is in `defaults`.
    ///
    /// # Errors
    /// [`SettingsError`] for the first variable whose value makes no sense.
    pub fn from_environment(defaults: Config) -> Result<Self, SettingsError> {
        Self::read(defaults, |name| std::env::var_os(name))
    }

    /// The same, of variables whose values `variable` gives.
    ///
    /// # Errors
    /// As of [`from_environment`](Self::from_environment).
    pub fn read(defaults: Config, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingsError> {
        let text = |setting: &Setting| match variable(setting.name).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(value)) => Err(refuse(setting, &value.to_string_lossy())),
        };
        // What is no text must not be taken for what is not there.
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

/// "200" and "200:7": the longest wait in microseconds, and a seed.
fn delay(text: &str) -> Option<Delay> {
    let (longest, seed) = text.split_once(':').unwrap_or((text, "0"));
    let longest = longest.parse().ok().filter(|longest| (1..=MAX_DELAY).contains(longest))?;
    Some(Delay::new(Duration::from_micros(longest), seed.parse().ok()?))
}

/// "512M" and the like in bytes.
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
                // The words that name the values are in what is said.
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
