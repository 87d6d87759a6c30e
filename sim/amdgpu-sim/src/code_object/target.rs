//! Target IDs: a processor and its XNACK and SRAMECC settings (`gfx90a:sramecc+:xnack-`).

use std::fmt;

/// A code object's requirement for a feature that can be on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// The processor does not support it.
    Unsupported,
    /// The code runs with either setting.
    Any,
    /// The code requires it to be off.
    Off,
    /// The code requires it to be on.
    On,
}

impl Feature {
    fn from_field(field: u32) -> Self {
        [Self::Unsupported, Self::Any, Self::Off, Self::On][field as usize & 3]
    }

    /// Returns whether code with this setting runs on a device with the feature on or off.
    fn fits(self, on: bool) -> bool {
        match self {
            Self::Unsupported | Self::Any => true,
            Self::Off => !on,
            Self::On => on,
        }
    }

    /// Parses `+` or `-`.
    fn from_sign(text: &str) -> Option<Self> {
        match text {
            "+" => Some(Self::On),
            "-" => Some(Self::Off),
            _ => None,
        }
    }

    fn sign(self) -> Option<char> {
        match self {
            Self::On => Some('+'),
            Self::Off => Some('-'),
            Self::Unsupported | Self::Any => None,
        }
    }
}

/// A processor with the XNACK and SRAMECC settings that code requires or a device has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TargetId {
    /// The processor: `gfx90a`.
    pub processor: String,
    /// SRAMECC.
    pub sramecc: Feature,
    /// XNACK.
    pub xnack: Feature,
}

impl TargetId {
    /// The target in the ELF header's `e_flags`; `None` for an unknown processor.
    pub(crate) fn from_flags(flags: u32, abi_version: u8) -> Option<Self> {
        let processor = processor(flags & 0xff)?.to_owned();
        let (xnack, sramecc) = if abi_version == 1 {
            // Version 3 has one bit per feature, and no code that runs with either setting.
            let field = |supported: bool, bit: u32| match (supported, flags & bit != 0) {
                (false, _) => Feature::Unsupported,
                (true, false) => Feature::Off,
                (true, true) => Feature::On,
            };
            (field(has_xnack(&processor), 0x100), field(has_sramecc(&processor), 0x200))
        } else {
            (Feature::from_field(flags >> 8), Feature::from_field(flags >> 10))
        };
        Some(Self { processor, sramecc, xnack })
    }

    /// The target of the code object in `bytes`, from its ELF header alone; `None` if they are not a code object.
    pub fn of_elf(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; 64] = bytes.first_chunk()?;
        // 64-bit, little-endian, EM_AMDGPU, for HSA.
        let amdgpu = header.starts_with(b"\x7fELF\x02\x01") && header[18..20] == [224, 0] && header[7] == 64;
        let flags = u32::from_le_bytes([header[48], header[49], header[50], header[51]]);
        if amdgpu { Self::from_flags(flags, header[8]) } else { None }
    }

    /// Parses a target ID in the tools' forms: `gfx90a`, `gfx90a:sramecc+:xnack-`, with or without
    /// `amdgcn-amd-amdhsa--`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("amdgcn-amd-amdhsa").map_or(text, |rest| {
            // Newer tools include the environment.
            rest.trim_start_matches('-').trim_start_matches("unknown-")
        });
        let mut parts = text.split(':');
        let processor = parts.next().filter(|p| p.starts_with("gfx"))?.to_owned();
        let mut id = Self { processor, sramecc: Feature::Any, xnack: Feature::Any };
        for part in parts {
            let (feature, sign) = match part.strip_prefix("sramecc") {
                Some(sign) => (&mut id.sramecc, sign),
                None => (&mut id.xnack, part.strip_prefix("xnack")?),
            };
            if *feature != Feature::Any {
                return None;
            }
            *feature = Feature::from_sign(sign)?;
        }
        Some(id)
    }

    /// Returns whether code for this target runs on `device`, whose features are `On` or `Off`. The rules are those of
    /// ROCm's runtimes.
    ///
    /// The processor must be the same, or a generic one whose family includes the device's. A feature that the code
    /// specifies must have that setting.
    pub fn runs_on(&self, device: &Self) -> bool {
        (self.processor == device.processor || family(&device.processor) == Some(&*self.processor))
            && self.sramecc.fits(device.sramecc == Feature::On)
            && self.xnack.fits(device.xnack == Feature::On)
    }

    /// The number of specified features: of two targets that fit, the one with more is preferred.
    pub(crate) fn specific(&self) -> usize {
        [self.sramecc, self.xnack].into_iter().filter(|f| f.sign().is_some()).count()
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.processor)?;
        for (name, feature) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            if let Some(sign) = feature.sign() {
                write!(f, ":{name}{sign}")?;
            }
        }
        Ok(())
    }
}

/// The generic processor whose code also runs on `processor`, for supported processors.
fn family(processor: &str) -> Option<&'static str> {
    matches!(processor, "gfx942" | "gfx950").then_some("gfx9-4-generic")
}

/// Whether the processor supports XNACK.
fn has_xnack(processor: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "gfx801",
        "gfx810",
        "gfx1010",
        "gfx1011",
        "gfx1012",
        "gfx1013",
        "gfx9-generic",
        "gfx9-4-generic",
        "gfx10-1-generic",
    ];
    processor.strip_prefix("gfx9").is_some_and(|rest| rest.len() == 2) || OTHERS.contains(&processor)
}

/// Whether the processor supports SRAMECC.
fn has_sramecc(processor: &str) -> bool {
    matches!(processor, "gfx906" | "gfx908" | "gfx90a" | "gfx940" | "gfx941" | "gfx942" | "gfx950" | "gfx9-4-generic")
}

/// `EF_AMDGPU_MACH` values.
fn processor(mach: u32) -> Option<&'static str> {
    Some(match mach {
        0x20 => "gfx600",
        0x21 => "gfx601",
        0x22 => "gfx700",
        0x23 => "gfx701",
        0x24 => "gfx702",
        0x25 => "gfx703",
        0x26 => "gfx704",
        0x28 => "gfx801",
        0x29 => "gfx802",
        0x2a => "gfx803",
        0x2b => "gfx810",
        0x2c => "gfx900",
        0x2d => "gfx902",
        0x2e => "gfx904",
        0x2f => "gfx906",
        0x30 => "gfx908",
        0x31 => "gfx909",
        0x32 => "gfx90c",
        0x33 => "gfx1010",
        0x34 => "gfx1011",
        0x35 => "gfx1012",
        0x36 => "gfx1030",
        0x37 => "gfx1031",
        0x38 => "gfx1032",
        0x39 => "gfx1033",
        0x3a => "gfx602",
        0x3b => "gfx705",
        0x3c => "gfx805",
        0x3d => "gfx1035",
        0x3e => "gfx1034",
        0x3f => "gfx90a",
        0x40 => "gfx940",
        0x41 => "gfx1100",
        0x42 => "gfx1013",
        0x43 => "gfx1150",
        0x44 => "gfx1103",
        0x45 => "gfx1036",
        0x46 => "gfx1101",
        0x47 => "gfx1102",
        0x48 => "gfx1200",
        0x4a => "gfx1151",
        0x4b => "gfx941",
        0x4c => "gfx942",
        0x4e => "gfx1201",
        0x4f => "gfx950",
        0x51 => "gfx9-generic",
        0x52 => "gfx10-1-generic",
        0x53 => "gfx10-3-generic",
        0x54 => "gfx11-generic",
        0x55 => "gfx1152",
        0x58 => "gfx1153",
        0x59 => "gfx12-generic",
        0x5f => "gfx9-4-generic",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_real_code_objects() {
        let any = TargetId::from_flags(0x53f, 3).unwrap();
        assert_eq!((any.to_string().as_str(), any.sramecc, any.xnack), ("gfx90a", Feature::Any, Feature::Any));
        assert_eq!(TargetId::from_flags(0xe3f, 4).unwrap().to_string(), "gfx90a:sramecc+:xnack-");
        assert_eq!(TargetId::from_flags(0x4c, 4).unwrap().to_string(), "gfx942");
        assert_eq!(TargetId::from_flags(0x27, 4), None);
    }

    #[test]
    fn version_3_says_on_or_off() {
        for (flags, id) in [
            (0x03f, "gfx90a:sramecc-:xnack-"),
            (0x13f, "gfx90a:sramecc-:xnack+"),
            (0x23f, "gfx90a:sramecc+:xnack-"),
            (0x33f, "gfx90a:sramecc+:xnack+"),
            // The processor does not support SRAMECC.
            (0x12c, "gfx900:xnack+"),
            (0x036, "gfx1030"),
        ] {
            assert_eq!(TargetId::from_flags(flags, 1).unwrap().to_string(), id);
        }
    }

    /// Every setting of the two features in `e_flags` of versions 4 to 6, on every device.
    #[test]
    fn each_feature_that_is_said_has_to_agree() {
        // The field's value, the text of the ID, and whether it runs on a device with the feature off and on.
        let settings = [(0, "", [true, true]), (1, "", [true, true]), (2, "-", [true, false]), (3, "+", [false, true])];
        for (processor, mach) in [("gfx90a", 0x3f), ("gfx942", 0x4c)] {
            for ((sramecc, ecc_sign, ecc_fits), (xnack, xnack_sign, xnack_fits)) in
                settings.iter().flat_map(|ecc| settings.iter().map(move |xnack| (*ecc, *xnack)))
            {
                let name = |feature: &str, sign: &str| {
                    if sign.is_empty() { String::new() } else { format!(":{feature}{sign}") }
                };
                let id = format!("{processor}{}{}", name("sramecc", ecc_sign), name("xnack", xnack_sign));
                for abi_version in 2..=4 {
                    let code = TargetId::from_flags(mach | xnack << 8 | sramecc << 10, abi_version).unwrap();
                    assert_eq!(code.to_string(), id);
                    for (ecc_on, xnack_on) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                        let sign = ["-", "+"];
                        let device = format!("{processor}:sramecc{}:xnack{}", sign[ecc_on], sign[xnack_on]);
                        let device = TargetId::parse(&device).unwrap();
                        assert_eq!(code.runs_on(&device), ecc_fits[ecc_on] && xnack_fits[xnack_on], "{id} on {device}");
                        assert_eq!(TargetId::parse(&id).unwrap().runs_on(&device), code.runs_on(&device), "{id}");
                    }
                }
            }
        }
    }

    #[test]
    fn processors_have_to_agree_or_be_of_the_family() {
        let device = |id| TargetId::parse(id).unwrap();
        let mi300 = device("gfx942:sramecc+:xnack-");
        for (id, fits) in [
            ("gfx942", true),
            ("gfx9-4-generic", true),
            ("gfx9-4-generic:sramecc+:xnack-", true),
            ("gfx9-4-generic:xnack+", false),
            ("gfx90a", false),
            ("gfx9-generic", false),
        ] {
            assert_eq!(TargetId::parse(id).unwrap().runs_on(&mi300), fits, "{id}");
        }
        let mi200 = device("gfx90a:sramecc+:xnack-");
        for id in ["gfx942", "gfx9-4-generic", "gfx9-generic", "gfx908"] {
            assert!(!TargetId::parse(id).unwrap().runs_on(&mi200), "{id}");
        }
    }

    #[test]
    fn ids_are_read_as_the_tools_write_them() {
        for id in [
            "amdgcn-amd-amdhsa--gfx90a:xnack+",
            "amdgcn-amd-amdhsa-gfx90a:xnack+",
            "amdgcn-amd-amdhsa-unknown-gfx90a:xnack+",
        ] {
            assert_eq!(TargetId::parse(id).map(|id| id.to_string()).as_deref(), Some("gfx90a:xnack+"), "{id}");
        }
        for bad in
            ["", "sm_90", "gfx90a:", "gfx90a:xnack", "gfx90a:ecc+", "gfx90a:xnack+:xnack-", "amdgcn-amd-amdhsa--"]
        {
            assert_eq!(TargetId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_no_code_object_has_no_target() {
        let mut elf = [0; 64];
        elf[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x40");
        (elf[8], elf[18], elf[48], elf[49]) = (3, 224, 0x3f, 0x05);
        assert_eq!(TargetId::of_elf(&elf), TargetId::from_flags(0x53f, 3));
        for at in [0, 4, 5, 7, 18, 19] {
            let mut other = elf;
            other[at] ^= 1;
            assert_eq!(TargetId::of_elf(&other), None, "{at}");
        }
        assert_eq!(TargetId::of_elf(&elf[..63]), None);
    }
}
