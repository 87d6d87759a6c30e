//! Settings from the environment.

use amdgpu_sim::{Config, Settings};

/// Reads the `HIP_SIM_*` variables.
pub(crate) fn from_environment() -> Result<Settings, String> {
    Settings::from_environment(Config::default()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    /// The README's table lists every setting.
    #[test]
    fn the_readme_has_every_setting() {
        let rows: Vec<_> =
            include_str!("../README.md").lines().filter(|line| line.starts_with("| `HIP_SIM_")).collect();
        assert_eq!(rows, amdgpu_sim::SETTINGS.map(|setting| setting.row()));
    }
}
