//! The metadata of kernels in a code object.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};
use rmpv::Value;
use serde::Serialize;

use super::occupancy::{Needs, Occupancy};
use super::output::Result;

/// NT_AMDGPU_METADATA, and its predecessor in code objects of version 2.
const METADATA: u32 = 32;
const OLD_METADATA: u32 = 10;

/// A code object.
pub(crate) struct Code {
    /// The architecture, such as `gfx90a:xnack-`.
    pub(crate) target: String,
    /// The version of the code object format, 2 to 6.
    pub(crate) version: Option<u32>,
    pub(crate) kernels: Vec<Kernel>,
}

/// A kernel.
#[derive(Serialize)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// The C++ declaration, if the name is mangled.
    pub(crate) demangled: Option<String>,
    pub(crate) arguments: Vec<Argument>,
    /// Size of all arguments in bytes.
    pub(crate) argument_bytes: u64,
    pub(crate) vgprs: u64,
    /// Accumulation registers; if they share a register file with the vector registers, they are part of `vgprs`.
    pub(crate) agprs: Option<u64>,
    pub(crate) sgprs: u64,
    pub(crate) vgpr_spills: u64,
    pub(crate) sgpr_spills: u64,
    pub(crate) lds_bytes: u64,
    pub(crate) scratch_bytes: u64,
    pub(crate) wavefront_size: u64,
    pub(crate) max_workgroup_size: u64,
    pub(crate) required_workgroup_size: Option<Vec<u64>>,
    pub(crate) uses_dynamic_stack: bool,
    #[serde(skip)]
    pub(crate) workgroup_processor_mode: bool,
    pub(crate) occupancy: Option<Occupancy>,
}

/// An argument of a kernel.
#[derive(Serialize)]
pub(crate) struct Argument {
    pub(crate) name: Option<String>,
    #[serde(rename = "type")]
    pub(crate) type_name: Option<String>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// The kind in the metadata: `by_value`, `global_buffer`, `hidden_block_count_x` and others.
    pub(crate) kind: String,
    pub(crate) address_space: Option<String>,
}

impl Argument {
    /// Returns whether the compiler added it.
    pub(crate) fn is_hidden(&self) -> bool {
        self.kind.starts_with("hidden_")
    }
}

impl Code {
    /// Reads the metadata of a code object or an object file.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let damaged = |error: object::Error| format!("the code object is damaged: {error}");
        let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(damaged)?;
        let endian = header.endian().map_err(damaged)?;
        // A linked code object has the note of each object file that it was linked from.
        let mut payloads = Vec::new();
        let mut old = false;
        let mut look = |owner: &[u8], kind: u32, bytes: &[u8]| match kind {
            METADATA if owner.starts_with(b"AMDGPU") => payloads.push(bytes.to_vec()),
            OLD_METADATA if owner.starts_with(b"AMD") => old = true,
            _ => {}
        };
        for segment in header.program_headers(endian, bytes).map_err(damaged)? {
            let Some(mut notes) = segment.notes(endian, bytes).map_err(damaged)? else { continue };
            while let Some(note) = notes.next().map_err(damaged)? {
                look(note.name(), note.n_type(endian).0, note.desc());
            }
        }
        // Object files have only sections; in a code object, sections repeat the notes of the segments.
        let segments = header.program_headers(endian, bytes).map_err(damaged)?;
        let sections = header.sections(endian, bytes).map_err(damaged)?;
        for section in sections.iter().filter(|_| segments.is_empty()) {
            let Some(mut notes) = section.notes(endian, bytes).map_err(damaged)? else { continue };
            while let Some(note) = notes.next().map_err(damaged)? {
                look(note.name(), note.n_type(endian).0, note.desc());
            }
        }
        // EI_ABIVERSION: 0 is version 2, and so on.
        let version = (header.e_ident().os_abi.0 == 64).then(|| u32::from(header.e_ident().abi_version) + 2);
        if payloads.is_empty() {
            return Err(match old {
                true => "its metadata is of code objects of version 2, which are not read".to_owned(),
                false => "it has no kernel metadata (a note NT_AMDGPU_METADATA)".to_owned(),
            });
        }
        let read = |payload: &Vec<u8>| rmpv::decode::read_value(&mut &payload[..]);
        let roots: std::result::Result<Vec<Value>, _> = payloads.iter().map(read).collect();
        let roots = roots.map_err(|error| format!("its kernel metadata is damaged: {error}"))?;
        let named = |root: &Value| {
            text(root, "amdhsa.target").map(|target| target.splitn(5, '-').nth(4).unwrap_or(&target).to_owned())
        };
        let target = roots.iter().find_map(named);
        let target =
            target.or_else(|| target_of(header.e_flags(endian).0, version)).unwrap_or_else(|| "unknown".to_owned());
        let kernels = roots.iter().flat_map(|root| list(root, "amdhsa.kernels"));
        let kernels = kernels.map(|kernel| Kernel::read(kernel, &target)).collect();
        Ok(Self { target, version, kernels })
    }
}

/// Returns the architecture in the ELF header, which metadata before version 4 of code objects does not name: the
/// processor (EF_AMDGPU_MACH) and the settings of its features, as listed in LLVM's AMDGPUUsage.
fn target_of(flags: u32, version: Option<u32>) -> Option<String> {
    let (_, name) = PROCESSORS.iter().find(|(number, _)| *number == flags & 0xff)?;
    let setting = |name: &str, on: bool| format!(":{name}{}", if on { '+' } else { '-' });
    let features = match version {
        // One bit per feature: a processor without the feature looks the same as one with the feature off.
        Some(3) => match flags & 0x100 {
            0 => String::new(),
            _ => setting("xnack", true),
        },
        // Two bits per feature: unsupported, any, off, on.
        _ => {
            let of = |feature: &str, bits: u32| (bits & 2 != 0).then(|| setting(feature, bits & 1 != 0));
            let features = [of("sramecc", flags >> 10 & 3), of("xnack", flags >> 8 & 3)];
            features.into_iter().flatten().collect()
        }
    };
    Some(format!("{name}{features}"))
}

/// The processors by their numbers in ELF headers.
#[rustfmt::skip]
const PROCESSORS: &[(u32, &str)] = &[
    (0x20, "gfx600"), (0x21, "gfx601"), (0x22, "gfx700"), (0x23, "gfx701"), (0x24, "gfx702"), (0x25, "gfx703"), (0x26, "gfx704"),
    (0x28, "gfx801"), (0x29, "gfx802"), (0x2a, "gfx803"), (0x2b, "gfx810"), (0x2c, "gfx900"), (0x2d, "gfx902"), (0x2e, "gfx904"),
    (0x2f, "gfx906"), (0x30, "gfx908"), (0x31, "gfx909"), (0x32, "gfx90c"), (0x33, "gfx1010"), (0x34, "gfx1011"), (0x35, "gfx1012"),
    (0x36, "gfx1030"), (0x37, "gfx1031"), (0x38, "gfx1032"), (0x39, "gfx1033"), (0x3a, "gfx602"), (0x3b, "gfx705"), (0x3c, "gfx805"),
    (0x3d, "gfx1035"), (0x3e, "gfx1034"), (0x3f, "gfx90a"), (0x40, "gfx940"), (0x41, "gfx1100"), (0x42, "gfx1013"), (0x43, "gfx1150"),
    (0x44, "gfx1103"), (0x45, "gfx1036"), (0x46, "gfx1101"), (0x47, "gfx1102"), (0x48, "gfx1200"), (0x49, "gfx1250"), (0x4a, "gfx1151"),
    (0x4b, "gfx941"), (0x4c, "gfx942"), (0x4e, "gfx1201"), (0x4f, "gfx950"), (0x51, "gfx9-generic"), (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"), (0x54, "gfx11-generic"), (0x55, "gfx1152"), (0x58, "gfx1153"), (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"), (0x5f, "gfx9-4-generic"),
];

impl Kernel {
    pub(super) fn read(map: &Value, target: &str) -> Self {
        let name = text(map, ".name").or_else(|| text(map, ".symbol")).unwrap_or_default();
        let demangled = addr2line::demangle_auto(name.as_str().into(), None).into_owned();
        let argument = |map: &Value| Argument {
            name: text(map, ".name"),
            type_name: text(map, ".type_name"),
            offset: number(map, ".offset"),
            size: number(map, ".size"),
            kind: text(map, ".value_kind").unwrap_or_default(),
            address_space: text(map, ".address_space"),
        };
        let required = list(map, ".reqd_workgroup_size");
        let mut kernel = Self {
            demangled: (demangled != name).then_some(demangled),
            name,
            arguments: list(map, ".args").iter().map(argument).collect(),
            argument_bytes: number(map, ".kernarg_segment_size"),
            vgprs: number(map, ".vgpr_count"),
            agprs: get(map, ".agpr_count").and_then(Value::as_u64),
            sgprs: number(map, ".sgpr_count"),
            vgpr_spills: number(map, ".vgpr_spill_count"),
            sgpr_spills: number(map, ".sgpr_spill_count"),
            lds_bytes: number(map, ".group_segment_fixed_size"),
            scratch_bytes: number(map, ".private_segment_fixed_size"),
            wavefront_size: number(map, ".wavefront_size"),
            max_workgroup_size: number(map, ".max_flat_workgroup_size"),
            required_workgroup_size: (!required.is_empty())
                .then(|| required.iter().map(|size| size.as_u64().unwrap_or(0)).collect()),
            uses_dynamic_stack: flag(map, ".uses_dynamic_stack"),
            // The compiler's default, unless the metadata says otherwise.
            workgroup_processor_mode: get(map, ".workgroup_processor_mode").is_none_or(truth),
            occupancy: None,
        };
        kernel.occupancy = Occupancy::of(&kernel.needs(), target);
        kernel
    }

    fn needs(&self) -> Needs {
        Needs {
            vgprs: self.vgprs,
            sgprs: self.sgprs,
            lds_bytes: self.lds_bytes,
            wavefront_size: self.wavefront_size,
            max_workgroup_size: self.max_workgroup_size,
            workgroup_processor_mode: self.workgroup_processor_mode,
        }
    }
}

fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
}

fn text(map: &Value, key: &str) -> Option<String> {
    Some(get(map, key)?.as_str()?.to_owned())
}

fn number(map: &Value, key: &str) -> u64 {
    get(map, key).and_then(Value::as_u64).unwrap_or(0)
}

fn truth(value: &Value) -> bool {
    value.as_bool().or_else(|| value.as_u64().map(|number| number != 0)).unwrap_or(false)
}

fn flag(map: &Value, key: &str) -> bool {
    get(map, key).is_some_and(truth)
}

fn list<'a>(map: &'a Value, key: &str) -> &'a [Value] {
    get(map, key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
