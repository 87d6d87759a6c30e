//! The metadata of kernels in a code object.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};
use rmpv::Value;
use serde::Serialize;

use super::Result;
use super::occupancy::Occupancy;

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
        let mut payload = None;
        let mut old = false;
        let mut look = |owner: &[u8], kind: u32, bytes: &[u8]| match kind {
            METADATA if owner.starts_with(b"AMDGPU") => payload = payload.take().or_else(|| Some(bytes.to_vec())),
            OLD_METADATA if owner.starts_with(b"AMD") => old = true,
            _ => {}
        };
        for segment in header.program_headers(endian, bytes).map_err(damaged)? {
            let Some(mut notes) = segment.notes(endian, bytes).map_err(damaged)? else { continue };
            while let Some(note) = notes.next().map_err(damaged)? {
                look(note.name(), note.n_type(endian).0, note.desc());
            }
        }
        // Object files have only sections.
        for section in header.sections(endian, bytes).map_err(damaged)?.iter() {
            let Some(mut notes) = section.notes(endian, bytes).map_err(damaged)? else { continue };
            while let Some(note) = notes.next().map_err(damaged)? {
                look(note.name(), note.n_type(endian).0, note.desc());
            }
        }
        // EI_ABIVERSION: 0 is version 2, and so on.
        let version = (header.e_ident().os_abi.0 == 64).then(|| u32::from(header.e_ident().abi_version) + 2);
        let Some(payload) = payload else {
            return Err(match old {
                true => "its metadata is of code objects of version 2, which are not read".to_owned(),
                false => "it has no kernel metadata (a note NT_AMDGPU_METADATA)".to_owned(),
            });
        };
        let root = rmpv::decode::read_value(&mut &payload[..])
            .map_err(|error| format!("its kernel metadata is damaged: {error}"))?;
        let target =
            text(&root, "amdhsa.target").map(|target| target.splitn(5, '-').nth(4).unwrap_or(&target).to_owned());
        let target = target.unwrap_or_else(|| "unknown".to_owned());
        let kernels = list(&root, "amdhsa.kernels").iter().map(|kernel| Kernel::read(kernel, &target)).collect();
        Ok(Self { target, version, kernels })
    }
}

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
        kernel.occupancy = Occupancy::of(&kernel, target);
        kernel
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
