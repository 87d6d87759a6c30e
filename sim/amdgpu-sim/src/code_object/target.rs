//! Target ids: a processor and what its XNACK and SRAMECC are set to (`gfx90a:sramecc+:xnack-`).

use std::fmt;

/// What a code object says of a feature that a device has on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// The processor does not have it.
    Unsupported,
    /// The code runs either way.
    Any,
    /// The code needs it off.
    Off,
    /// The code needs it on.
    On,
}

impl Feature {
    fn from_field(field: u32) -> Self {
        [Self::Unsupported, Self::Any, Self::Off, Self::On][field as usize & 3]
    }

    /// Whether code with this setting runs on a device with the feature on or off.
    fn fits(self, on: bool) -> bool {
        match self {
            Self::Unsupported | Self::Any => true,
            Self::Off => !on,
            Self::On => on,
        }
    }

    /// `text` is `+` or `-`.
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

/// A processor, and the XNACK and SRAMECC settings that code needs or a device has.
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
    /// The target that the ELF header's `e_flags` name; `None` for a processor that is not known.
    pub(crate) fn from_flags(flags: u32, abi_version: u8) -> Option<Self> {
        let processor = processor(flags & 0xff)?.to_owned();
        let (xnack, sramecc) = if abi_version == 1 {
            // Version 3 has a bit each.
            let field = |on: bool| if on { Feature::On } else { Feature::Unsupported };
            (field(flags & 0x100 != 0), field(flags & 0x200 != 0))
        } else {
            (Feature::from_field(flags >> 8), Feature::from_field(flags >> 10))
        };
        Some(Self { processor, sramecc, xnack })
    }

    /// Reads a target id as the tools write it: `gfx90a`, `gfx90a:sramecc+:xnack-`, with or without `amdgcn-amd-amdhsa--`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("amdgcn-amd-amdhsa").map_or(text, |t| t.trim_start_matches('-'));
        let mut parts = text.split(':');
        let processor = parts.next().filter(|p| p.starts_with("gfx"))?.to_owned();
        let mut id = Self { processor, sramecc: Feature::Any, xnack: Feature::Any };
        for part in parts {
            if let Some(sign) = part.strip_prefix("sramecc") {
                id.sramecc = Feature::from_sign(sign)?;
            } else {
                id.xnack = Feature::from_sign(part.strip_prefix("xnack")?)?;
            }
        }
        Some(id)
    }

    /// Whether code for this target runs on `device`, whose features are `On` or `Off`.
    pub fn runs_on(&self, device: &Self) -> bool {
        self.processor == device.processor
            && self.sramecc.fits(device.sramecc == Feature::On)
            && self.xnack.fits(device.xnack == Feature::On)
    }

    /// How many features are fixed: of two targets that fit, the one with more is the better.
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
        assert_eq!(TargetId::from_flags(0x13f, 1).unwrap().to_string(), "gfx90a:xnack+");
        assert_eq!(TargetId::from_flags(0x4c, 4).unwrap().to_string(), "gfx942");
        assert_eq!(TargetId::from_flags(0x27, 4), None);
    }

    #[test]
    fn features_decide_what_fits() {
        let device = TargetId::parse("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-").unwrap();
        for (id, fits) in [
            ("gfx90a", true),
            ("gfx90a:xnack-", true),
            ("gfx90a:sramecc+", true),
            ("gfx90a:sramecc+:xnack-", true),
            ("gfx90a:xnack+", false),
            ("gfx90a:sramecc-", false),
            ("gfx942", false),
        ] {
            assert_eq!(TargetId::parse(id).unwrap().runs_on(&device), fits, "{id}");
        }
        for bad in ["", "sm_90", "gfx90a:", "gfx90a:xnack", "gfx90a:ecc+"] {
            assert_eq!(TargetId::parse(bad), None, "{bad}");
        }
    }
}
