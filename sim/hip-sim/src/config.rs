//! What the environment says about the devices.

use std::env;
use std::path::PathBuf;

use amdgpu_sim::{Config, Misaligned, TargetId, apply_settings};

/// Most devices that `HIP_SIM_DEVICES` can ask for.
const MAX_DEVICES: usize = 64;

/// The devices to make.
pub(crate) struct Settings {
    pub(crate) devices: usize,
    pub(crate) gpu: Config,
    /// Where the profile goes.
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

    fn read(variable: impl Fn(&str) -> Result<Option<String>, String>) -> Result<Self, String> {
        let number = |name: &str, what: &str, parse: fn(&str) -> Option<u64>| {
            let Some(value) = variable(name)? else { return Ok(None) };
            match parse(value.trim()) {
                Some(number) if number > 0 => Ok(Some(number)),
                _ => Err(format!("{name}={value:?}: {what} is wanted")),
            }
        };
        let plain = |text: &str| text.parse().ok();
        let mut gpu = Config::default();
        if let Some(id) = variable("HIP_SIM_TARGET")? {
            let known = TargetId::parse(id.trim()).and_then(|target| Config::for_target(&target));
            let wanted = "gfx90a or gfx942 is wanted, with :sramecc+ or - and :xnack+ or - behind it if need be";
            gpu = known.ok_or_else(|| format!("HIP_SIM_TARGET={id:?}: {wanted}"))?;
        }
        let devices = match number("HIP_SIM_DEVICES", "a number of devices from 1 to 64", plain)? {
            Some(devices) if devices <= MAX_DEVICES as u64 => devices as usize,
            Some(devices) => {
                return Err(format!("HIP_SIM_DEVICES={devices}: a number from 1 to 64 is wanted"));
            }
            None => 1,
        };
        let memory = "a number of bytes, or one with K, M, G or T (KiB and so on),";
        if let Some(bytes) = number("HIP_SIM_MEMORY", memory, bytes)? {
            gpu.memory_bytes = bytes;
        }
        let budget = "the most wave instructions a launch may run";
        if let Some(budget) = number("HIP_SIM_BUDGET", budget, plain)? {
            gpu.instruction_budget = Some(budget);
        }
        if let Some(threads) = number("HIP_SIM_THREADS", "a number of threads", plain)? {
            gpu.threads = Some(usize::try_from(threads).unwrap_or(usize::MAX).min(1024));
        }
        match variable("HIP_SIM_MISALIGNED")?.as_deref().map(str::trim) {
            None => {}
            Some("allow") => gpu.misaligned = Misaligned::Allow,
            Some("words") => gpu.misaligned = Misaligned::FaultWords,
            Some("fault") => gpu.misaligned = Misaligned::Fault,
            Some(other) => return Err(format!("HIP_SIM_MISALIGNED={other:?}: allow, words or fault is wanted")),
        }
        // What is no text must not be taken for what is not there.
        for name in amdgpu_sim::SETTINGS {
            variable(name)?;
        }
        let profile = apply_settings(&mut gpu, |name| variable(name).ok().flatten()).map_err(|e| e.to_string())?;
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
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(|name| Ok(variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())))
    }

    #[test]
    fn no_variable_gives_one_device() {
        assert_eq!(read(&[]).unwrap().devices, 1);
    }

    #[test]
    fn every_variable_is_used() {
        let settings = read(&[
            ("HIP_SIM_DEVICES", "4"),
            ("HIP_SIM_MEMORY", "512M"),
            ("HIP_SIM_BUDGET", "1000000"),
            ("HIP_SIM_THREADS", "3"),
            ("HIP_SIM_MISALIGNED", "allow"),
            ("HIP_SIM_CHECK", "race,init"),
            ("HIP_SIM_PROFILE", "profile.txt"),
            ("HIP_SIM_SEED", "5"),
            ("HIP_SIM_TARGET", "gfx942:sramecc-:xnack+"),
        ])
        .unwrap();
        assert_eq!(settings.devices, 4);
        assert_eq!(settings.gpu.target().to_string(), "gfx942:sramecc-:xnack+");
        assert_eq!(settings.gpu.memory_bytes, 512 << 20);
        assert_eq!(settings.gpu.instruction_budget, Some(1_000_000));
        assert_eq!(settings.gpu.threads, Some(3));
        assert_eq!(settings.gpu.misaligned, Misaligned::Allow);
        let checks = settings.gpu.checks;
        assert!(checks.race && checks.init && checks.fail && !checks.barrier && settings.gpu.profile);
        assert_eq!(settings.gpu.schedule, amdgpu_sim::Schedule::Shuffled(5));
        assert_eq!(settings.profile.unwrap(), PathBuf::from("profile.txt"));
    }

    #[test]
    fn nonsense_is_refused_by_name_and_value() {
        for (name, value) in [
            ("HIP_SIM_DEVICES", "0"),
            ("HIP_SIM_DEVICES", "65"),
            ("HIP_SIM_DEVICES", "two"),
            ("HIP_SIM_MEMORY", "12Q"),
            ("HIP_SIM_MEMORY", ""),
            ("HIP_SIM_MEMORY", "99999999999T"),
            ("HIP_SIM_BUDGET", "-1"),
            ("HIP_SIM_THREADS", "0"),
            ("HIP_SIM_MISALIGNED", "maybe"),
            ("HIP_SIM_CHECK", "speed"),
            ("HIP_SIM_PROFILE", "/"),
            ("HIP_SIM_SEED", "0x5"),
            ("HIP_SIM_TARGET", "gfx1100"),
            ("HIP_SIM_TARGET", "gfx90a:ecc+"),
        ] {
            let error = read(&[(name, value)]).err().unwrap();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }
}
