//! What the environment says about the GPUs.

use std::env;
use std::path::PathBuf;

use amdgpu_sim::{Arch, BeyondLds, Config, Misaligned};

/// Most devices that `HIP_SIM_DEVICES` can ask for.
const MAX_DEVICES: u64 = 64;

/// The GPUs to make.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) devices: usize,
    pub(crate) gpu: Config,
    /// Where the profile of all kernels is to be written when the process ends.
    pub(crate) profile: Option<PathBuf>,
}

impl Settings {
    /// Reads the `HIP_SIM_*` variables.
    pub(crate) fn from_environment() -> Result<Self, String> {
        Self::read(|name| match env::var(name) {
            Ok(value) => Ok(Some(value)),
            Err(env::VarError::NotPresent) => Ok(None),
            Err(env::VarError::NotUnicode(value)) => Err(format!("{name}={value:?} is not text")),
        })
    }

    pub(crate) fn read(variable: impl Fn(&str) -> Result<Option<String>, String>) -> Result<Self, String> {
        let number = |name: &str, what: &str, max: u64, parse: fn(&str) -> Option<u64>| {
            let Some(value) = variable(name)? else { return Ok(None) };
            match parse(value.trim()) {
                Some(number) if (1..=max).contains(&number) => Ok(Some(number)),
                _ => Err(format!("{name}={value:?}: {what} is wanted")),
            }
        };
        let plain = |text: &str| text.parse().ok();
        let mut gpu = Config::default();
        let devices = number("HIP_SIM_DEVICES", "a number of devices from 1 to 64", MAX_DEVICES, plain)?;
        let devices = devices.map_or(1, |devices| devices as usize);
        gpu.arch = match variable("HIP_SIM_ARCH")?.as_deref().map(str::trim) {
            None => Arch::Gfx90a,
            Some(name) => [Arch::Gfx90a, Arch::Gfx942]
                .into_iter()
                .find(|arch| arch.name() == name)
                .ok_or_else(|| format!("HIP_SIM_ARCH={name:?}: gfx90a or gfx942 is wanted"))?,
        };
        let memory = "a number of bytes up to 64T, or one with K, M, G or T (KiB and so on),";
        if let Some(bytes) = number("HIP_SIM_MEMORY", memory, 64 << 40, bytes)? {
            gpu.memory_bytes = bytes;
        }
        let budget = "the most wave instructions a launch may run";
        gpu.instruction_budget = number("HIP_SIM_BUDGET", budget, u64::MAX, plain)?;
        if let Some(threads) = number("HIP_SIM_THREADS", "a number of threads up to 1024", 1024, plain)? {
            gpu.threads = Some(threads as usize);
        }
        gpu.misaligned = match variable("HIP_SIM_MISALIGNED")?.as_deref().map(str::trim) {
            // ROCm's own kernels read packed bytes by words, as the hardware lets them.
            None | Some("allow") => Misaligned::Allow,
            Some("words") => Misaligned::FaultWords,
            Some("fault") => Misaligned::Fault,
            Some(other) => return Err(format!("HIP_SIM_MISALIGNED={other:?}: allow, words or fault is wanted")),
        };
        gpu.beyond_lds = match variable("HIP_SIM_BEYOND_LDS")?.as_deref().map(str::trim) {
            // Tensile takes its zeros from there, rocFFT's idle lanes load there.
            None | Some("ignore") => BeyondLds::Ignore,
            Some("fault") => BeyondLds::Fault,
            Some(other) => return Err(format!("HIP_SIM_BEYOND_LDS={other:?}: ignore or fault is wanted")),
        };
        let mut common = Vec::new();
        for name in amdgpu_sim::SETTINGS {
            common.extend(variable(name)?.map(|value| (name, value)));
        }
        let common = |name: &str| common.iter().find(|(other, _)| *other == name).map(|(_, value)| value.clone());
        let profile = amdgpu_sim::apply_settings(&mut gpu, common).map_err(|error| error.to_string())?;
        Ok(Self { devices, gpu, profile })
    }
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
    use amdgpu_sim::Schedule;

    use super::*;

    pub(crate) fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(|name| Ok(variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())))
    }

    #[test]
    fn no_variable_gives_one_gfx90a() {
        let settings = read(&[]).unwrap();
        assert_eq!((settings.devices, settings.gpu.arch), (1, Arch::Gfx90a));
    }

    #[test]
    fn every_variable_is_used() {
        let settings = read(&[
            ("HIP_SIM_DEVICES", "4"),
            ("HIP_SIM_ARCH", "gfx942"),
            ("HIP_SIM_MEMORY", "512M"),
            ("HIP_SIM_BUDGET", "1000000"),
            ("HIP_SIM_THREADS", "3"),
            ("HIP_SIM_MISALIGNED", "fault"),
            ("HIP_SIM_BEYOND_LDS", "fault"),
            ("HIP_SIM_SCHEDULE", "7"),
            ("HIP_SIM_CHECK", "race"),
            ("HIP_SIM_PROFILE", "profile.txt"),
        ])
        .unwrap();
        assert_eq!(settings.devices, 4);
        assert_eq!(settings.gpu.arch, Arch::Gfx942);
        assert_eq!(settings.gpu.memory_bytes, 512 << 20);
        assert_eq!(settings.gpu.instruction_budget, Some(1_000_000));
        assert_eq!(settings.gpu.threads, Some(3));
        assert_eq!(settings.gpu.misaligned, Misaligned::Fault);
        assert_eq!(settings.gpu.beyond_lds, BeyondLds::Fault);
        assert_eq!(settings.gpu.schedule, Schedule::Shuffled(7));
        assert!(settings.gpu.checks.race && settings.gpu.profile);
        assert_eq!(settings.profile.unwrap(), PathBuf::from("profile.txt"));
    }

    #[test]
    fn nonsense_is_refused_by_name_and_value() {
        for (name, value) in [
            ("HIP_SIM_DEVICES", "0"),
            ("HIP_SIM_DEVICES", "65"),
            ("HIP_SIM_ARCH", "gfx1100"),
            ("HIP_SIM_MEMORY", "12Q"),
            ("HIP_SIM_MEMORY", "99999999999T"),
            ("HIP_SIM_BUDGET", "-1"),
            ("HIP_SIM_THREADS", "0"),
            ("HIP_SIM_MISALIGNED", "maybe"),
            ("HIP_SIM_BEYOND_LDS", "maybe"),
            ("HIP_SIM_SCHEDULE", "random"),
            ("HIP_SIM_CHECK", "speed"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }
}
