//! GPU architectures by name, and the rule which code runs on which architecture.

use std::fmt;

/// A GPU architecture: AMD's with its target features, `gfx90a:sramecc+:xnack-`, or NVIDIA's, `sm_90`.
///
/// The same names describe devices (what the GPU is) and code objects (what the code needs). Code that does not name a
/// feature runs with the feature on or off.
///
/// `sm_90` is machine code for NVIDIA's devices of compute capability 9.0 (a cubin), and the name of such a device.
/// `compute_90` is PTX, which the driver compiles for the device that it is loaded on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arch {
    pub(super) name: String,
    pub(super) features: Vec<ArchFeature>,
}

/// A target feature and whether it is on: `xnack-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArchFeature {
    /// `sramecc`, `xnack`
    pub name: String,
    /// `+` or `-`
    pub on: bool,
}

/// Generic processors (LLVM's "generic code object" targets) and the processors that each covers.
const GENERIC: &[(&str, &[&str])] = &[
    ("gfx9-generic", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    ("gfx10-3-generic", &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]),
    ("gfx11-generic", &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"]),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

impl Arch {
    /// Returns the processor, without features: `gfx90a`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the named features, sorted by name.
    #[must_use]
    pub fn features(&self) -> &[ArchFeature] {
        &self.features
    }

    /// Returns whether a feature is on (`Some(true)`), off (`Some(false)`) or not named (`None`).
    #[must_use]
    pub fn feature(&self, name: &str) -> Option<bool> {
        self.features.iter().find(|f| f.name == name).map(|f| f.on)
    }

    /// Returns whether this is an architecture of NVIDIA's: `sm_90`, `compute_90`, `sm_90a`.
    #[must_use]
    pub fn is_nvidia(&self) -> bool {
        Nvidia::of(self).is_some()
    }

    /// Returns whether code for `self` runs on `device`: the processor must be the same or a generic one that covers
    /// it, and no feature may conflict.
    ///
    /// On NVIDIA's devices, `sm_80` runs on later devices of the same major capability (`sm_86`), and `compute_80` on
    /// all later ones. What ends with `a` runs on that device only, and with `f`, on later ones of its major capability.
    #[must_use]
    pub fn runs_on(&self, device: &Self) -> bool {
        if let (Some(code), Some(device)) = (Nvidia::of(self), Nvidia::of(device)) {
            return code.runs_on(device);
        }
        let processor = self.name == device.name
            || GENERIC
                .iter()
                .any(|(generic, members)| *generic == self.name && members.contains(&device.name.as_str()));
        processor && self.features.iter().all(|f| device.feature(&f.name).is_none_or(|on| on == f.on))
    }

    /// Ranks how closely code that runs on `device` fits it; larger is closer. The exact processor comes before a generic
    /// one, then more features that the code was compiled for. NVIDIA's machine code comes before PTX, then later
    /// architectures before earlier ones.
    #[must_use]
    pub fn fit(&self, device: &Self) -> (bool, usize) {
        if let Some(code) = Nvidia::of(self) {
            return (!code.is_ptx, 2 * code.capability as usize + usize::from(code.suffix.is_some()));
        }
        (self.name == device.name, self.features.len())
    }
}

/// An architecture of NVIDIA's, by the parts of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Nvidia {
    /// Whether the name is that of PTX (`compute_90`).
    is_ptx: bool,
    /// The compute capability: 90 is 9.0, 103 is 10.3.
    capability: u32,
    /// `a`: features of one device; `f`: of a family of devices.
    suffix: Option<char>,
}

impl Nvidia {
    fn of(arch: &Arch) -> Option<Self> {
        let (is_ptx, number) = match arch.name.strip_prefix("sm_") {
            Some(number) => (false, number),
            None => (true, arch.name.strip_prefix("compute_")?),
        };
        let digits = number.trim_end_matches(['a', 'f']);
        let suffix = match &number[digits.len()..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return None,
        };
        let is_number = (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        let capability = digits.parse().ok().filter(|_| is_number && arch.features.is_empty())?;
        Some(Self { is_ptx, capability, suffix })
    }

    fn runs_on(self, device: Self) -> bool {
        let same_major = self.capability / 10 == device.capability / 10;
        match self.suffix {
            Some('a') => self.capability == device.capability,
            None if self.is_ptx => self.capability <= device.capability,
            _ => same_major && self.capability <= device.capability,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for feature in &self.features {
            write!(f, ":{}{}", feature.name, if feature.on { '+' } else { '-' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(text: &str) -> Arch {
        text.parse().unwrap()
    }

    #[test]
    fn parses_what_the_runtime_reports() {
        let a = arch("gfx90a:sramecc+:xnack-");
        assert_eq!(a.name(), "gfx90a");
        assert_eq!(a.feature("sramecc"), Some(true));
        assert_eq!(a.feature("xnack"), Some(false));
        assert_eq!(a.feature("wave64"), None);
        assert_eq!(a.to_string(), "gfx90a:sramecc+:xnack-");
        assert_eq!(arch("gfx1100").features(), []);
        assert_eq!(arch("gfx90a:xnack-:sramecc+"), a, "order of features does not matter");
    }

    #[test]
    fn refuses_what_is_no_architecture() {
        for text in ["", ":", "gfx90a:", "gfx90a:xnack", "gfx90a:xnack+:xnack-", "gfx 90a", "gfx90a:+", "gfx90a\0"] {
            assert!(text.parse::<Arch>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn code_runs_where_processor_and_features_agree() {
        let device = arch("gfx90a:sramecc+:xnack-");
        for yes in ["gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+", "gfx90a:sramecc+:xnack-"] {
            assert!(arch(yes).runs_on(&device), "{yes}");
        }
        for no in ["gfx90a:xnack+", "gfx90a:sramecc-", "gfx942", "gfx9-4-generic", "gfx90"] {
            assert!(!arch(no).runs_on(&device), "{no}");
        }
        assert!(arch("gfx9-4-generic").runs_on(&arch("gfx942:sramecc+:xnack-")));
        assert!(!arch("gfx9-4-generic:xnack+").runs_on(&arch("gfx942:sramecc+:xnack-")));
        assert!(arch("gfx90a:xnack-").fit(&device) > arch("gfx90a").fit(&device));
    }

    #[test]
    fn code_for_nvidia_runs_on_later_devices() {
        let runs = |code: &str, device: &str| arch(code).runs_on(&arch(device));
        for (code, device) in [
            ("sm_90", "sm_90"),
            ("sm_80", "sm_86"),
            ("sm_90a", "sm_90"),
            ("sm_100f", "sm_103"),
            ("compute_75", "sm_90"),
            ("compute_90", "sm_103"),
            ("compute_90a", "sm_90"),
        ] {
            assert!(runs(code, device), "{code} on {device}");
        }
        for (code, device) in [
            ("sm_86", "sm_80"),
            ("sm_80", "sm_90"),
            ("sm_90", "sm_103"),
            ("sm_100a", "sm_103"),
            ("sm_100f", "sm_120"),
            ("compute_100", "sm_90"),
            ("compute_90a", "sm_100"),
            ("gfx90a", "sm_90"),
            ("sm_90", "gfx90a:sramecc+:xnack-"),
        ] {
            assert!(!runs(code, device), "{code} on {device}");
        }
        let device = arch("sm_89");
        let by_fit = ["compute_75", "compute_80", "sm_80", "sm_86", "sm_89"].map(|code| arch(code).fit(&device));
        assert!(by_fit.is_sorted() && by_fit[1] != by_fit[2]);
        assert!(arch("sm_90a").fit(&arch("sm_90")) > arch("sm_90").fit(&arch("sm_90")));
        for yes in ["sm_75", "sm_103a", "compute_120f"] {
            assert!(arch(yes).is_nvidia(), "{yes}");
        }
        for no in ["gfx90a", "sm_", "sm_9", "sm_90b", "sm_90aa", "sm_90:xnack+", "compute_1000", "sm_+90", "sm90"] {
            assert!(!no.parse().is_ok_and(|arch: Arch| arch.is_nvidia()), "{no}");
        }
    }
}
