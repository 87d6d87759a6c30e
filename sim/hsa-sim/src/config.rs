//! Settings from the environment.

use amdgpu_sim::{BeyondLds, Bounds, Config, Misaligned, Settings};

/// The defaults for ROCm's own libraries. They read packed bytes as whole words, Tensile reads zeros from beyond the
/// LDS, and idle lanes of rocFFT load there. RCCL reads whole words of which only some bytes belong to it.
fn defaults() -> Config {
    let mut config = Config::default();
    (config.misaligned, config.beyond_lds, config.bounds) = (Misaligned::Allow, BeyondLds::Ignore, Bounds::Pages);
    // In rocBLAS and hipBLASLt kernels, Tensile reads the zeros at matrix edges there, and idle lanes of rocFFT load values that they
    // discard. Neither stores there, and no other library was seen to do either.
    config.zeros_beyond_lds = &["Cijk_", "fft_rtc_", "bluestein_single"];
    // HIP's copy kernels. Copied rows may have gaps between them.
    config.copy_kernels = &["__amd_rocclr_copy"];
    config
}

/// Reads the `HIP_SIM_*` variables.
pub(crate) fn from_environment() -> Result<Settings, String> {
    Settings::from_environment(defaults()).map_err(|error| error.to_string())
}

/// Reads the variables through `variable`.
pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
    Settings::read(defaults(), |name| variable(name).map(Into::into)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rocms_kernels_have_what_they_rely_on() {
        let gpu = read(|_| None).unwrap().gpu;
        assert_eq!((gpu.misaligned, gpu.beyond_lds, gpu.bounds), (Misaligned::Allow, BeyondLds::Ignore, Bounds::Pages));
        for (checks, bounds) in [("memory", Bounds::Exact), ("race, all", Bounds::Exact), ("race", Bounds::Pages)] {
            let asked = read(|name| (name == "HIP_SIM_CHECK").then(|| checks.to_owned())).unwrap();
            assert_eq!(asked.gpu.bounds, bounds, "{checks}");
        }
        // The memory check includes accesses beyond LDS, unless the setting says otherwise.
        let of = |checks: &str, beyond: Option<&str>| {
            let value = |name: &str| match name {
                "HIP_SIM_CHECK" => Some(checks.to_owned()),
                "HIP_SIM_BEYOND_LDS" => beyond.map(str::to_owned),
                _ => None,
            };
            read(value).unwrap().gpu.beyond_lds
        };
        for (checks, beyond, expected) in [
            ("memory", None, BeyondLds::FaultUnlessKnown),
            ("race,all", None, BeyondLds::FaultUnlessKnown),
            ("race,init,barrier,warn", None, BeyondLds::Ignore),
            ("all", Some("ignore"), BeyondLds::Ignore),
            ("all", Some("fault"), BeyondLds::Fault),
        ] {
            assert_eq!(of(checks, beyond), expected, "{checks} {beyond:?}");
        }
        let asked = read(|name| (name == "HIP_SIM_BEYOND_LDS").then(|| "fault".to_owned())).unwrap();
        assert_eq!(asked.gpu.beyond_lds, BeyondLds::Fault);
    }

    /// The README's table lists every setting.
    #[test]
    fn the_readme_has_every_setting() {
        let rows: Vec<_> =
            include_str!("../README.md").lines().filter(|line| line.starts_with("| `HIP_SIM_")).collect();
        assert_eq!(rows, amdgpu_sim::SETTINGS.map(|setting| setting.row()));
    }
}
