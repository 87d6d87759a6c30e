//! What the environment says about the GPUs.

use amdgpu_sim::{BeyondLds, Bounds, Config, Misaligned, Settings};

/// The GPUs that ROCm's own libraries run on: they read packed bytes by words, Tensile takes its zeros from beyond the LDS, and idle
/// lanes of rocFFT load there; RCCL reads whole words where only some bytes are its own.
fn defaults() -> Config {
    let mut config = Config::default();
    (config.misaligned, config.beyond_lds, config.bounds) = (Misaligned::Allow, BeyondLds::Ignore, Bounds::Pages);
    // Tensile reads the zeros of its edges there, in kernels of rocBLAS and hipBLASLt, and rocFFT's idle lanes load what they drop. Neither
    // stores there, nor was any other library seen to do either.
    config.zeros_beyond_lds = &["Cijk_", "fft_rtc_", "bluestein_single"];
    // HIP's copies. What is copied may have gaps between rows.
    config.copy_kernels = &["__amd_rocclr_copy"];
    config
}

/// Reads the `HIP_SIM_*` variables.
pub(crate) fn from_environment() -> Result<Settings, String> {
    Settings::from_environment(defaults()).map_err(|error| error.to_string())
}

/// The same, of variables whose values `variable` gives.
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
        // Checks of memory look for accesses beyond LDS, unless something else was asked for.
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

    /// The README's table is the one of the settings.
    #[test]
    fn the_readme_has_every_setting() {
        let rows: Vec<_> =
            include_str!("../README.md").lines().filter(|line| line.starts_with("| `HIP_SIM_")).collect();
        assert_eq!(rows, amdgpu_sim::SETTINGS.map(|setting| setting.row()));
    }
}
