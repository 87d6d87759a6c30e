//! Kernel metadata of NVIDIA's machine code (a cubin): an ELF file with a section `.nv.info.KERNEL` for each kernel.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::core::arch::Arch;
use crate::core::error::Result;
use crate::module::bundle::bad;
use crate::module::code_object::CodeObject;
use crate::module::elf::{Elf, Fields};
use crate::module::metadata::{KernelInfo, Metadata, ParameterKind};
use crate::module::nvidia::{MAX_ARGUMENT_BYTES, kernel, parameter};

/// ET_EXEC
const TYPE_EXECUTABLE: u16 = 2;
/// SHT_SYMTAB
const SYMBOLS: u32 = 2;
const SYMBOL_BYTES: usize = 24;
/// STT_FUNC
const FUNCTION: u8 = 2;
/// STO_CUDA_ENTRY, in `st_other`: the function is a kernel.
const ENTRY: u8 = 0x10;
/// The first layout of `e_flags` in which the capability is in the second byte.
const LATER_ABI: u8 = 8;
/// A block's first shared memory belongs to the driver if the code has this symbol, from compute capability 9.0 on.
const RESERVED: &str = "__nv_reservedSMEM_offset_0_alias";
const RESERVED_BYTES: u64 = 1024;

/// Attributes in `.nv.info` (EIATTR).
const MAX_THREADS: u8 = 0x05;
const COMPATIBILITY_ACCELERATED: u8 = 0x09;
const REQUIRED_BLOCK: u8 = 0x10;
const FRAME_BYTES: u8 = 0x11;
const STACK_BYTES: u8 = 0x12;
const PARAMETER: u8 = 0x17;
const REGISTERS: u8 = 0x2f;
const LARGE_PARAMETER: u8 = 0x45;

struct Section<'a> {
    name: &'a str,
    kind: u32,
    link: usize,
    size: u64,
    /// Empty if the file does not contain them.
    bytes: &'a [u8],
}

/// Checks that `bytes`, whose headers `elf` has checked, are a cubin, and reads its metadata.
pub(super) fn parse<'a>(bytes: &'a [u8], elf: &Elf<'a>) -> Result<CodeObject<'a>> {
    if elf.kind != TYPE_EXECUTABLE {
        return Err(bad("a cubin that is not linked: compile it without relocatable device code (-rdc)"));
    }
    let sections = sections(elf)?;
    let find = |name: &str| sections.iter().find(|section| section.name == name);
    let target = target(bytes, find(".nv.compat").map_or(&[], |section| section.bytes))?;
    let symbols = Symbols::of(&sections)?;
    let reserved = if symbols.all().any(|symbol| symbol.name == RESERVED) { RESERVED_BYTES } else { 0 };
    let of_all = attributes(find(".nv.info").map_or(&[], |section| section.bytes))?;
    let mut kernels = BTreeMap::new();
    for symbol in symbols.all().filter(|symbol| symbol.is_kernel) {
        let name = symbol.name;
        let own = find(&format!(".nv.info.{name}"))
            .ok_or_else(|| bad(format!("damaged: the kernel {name} has no section .nv.info.{name}")))?;
        let own = attributes(own.bytes).and_then(|own| of_attributes(name, &own))?;
        let shared = find(&format!(".nv.shared.{name}")).map_or(0, |section| section.size.saturating_sub(reserved));
        let number = |attribute| {
            let numbers = of_all.iter().filter(|(kind, _)| *kind == attribute).map(|(_, payload)| Fields(payload));
            numbers.filter(|fields| fields.u32(0) as usize == symbol.index).map(|fields| fields.u32(4)).next_back()
        };
        let info = KernelInfo {
            static_shared_bytes: u32::try_from(shared).unwrap_or(u32::MAX),
            private_bytes: number(STACK_BYTES).or_else(|| number(FRAME_BYTES)).unwrap_or(0),
            vgprs: number(REGISTERS).unwrap_or(0),
            ..own
        };
        if kernels.insert(name.to_owned(), info).is_some() {
            return Err(bad(format!("damaged: it has the kernel {name} more than once")));
        }
    }
    let metadata = Metadata { target: Some(target), kernels, symbols: Vec::new(), automatic: Vec::new() };
    Ok(CodeObject { bytes: Cow::Borrowed(bytes), metadata })
}

/// Returns the architecture that the headers name.
fn target(bytes: &[u8], compatibility: &[u8]) -> Result<Arch> {
    let (abi, flags) = (bytes[8], Fields(bytes).u32(48));
    let (capability, accelerated) = if abi < LATER_ABI {
        (flags & 0xff, flags & 0x800 != 0)
    } else {
        // Since CUDA 13 it is an attribute, in whose entry the value is a byte.
        let attributes = attributes(compatibility)?;
        let named = attributes.iter().any(|(kind, value)| *kind == COMPATIBILITY_ACCELERATED && value[..] == [1, 0]);
        (flags >> 8 & 0xff, flags & 8 != 0 || named)
    };
    format!("sm_{capability}{}", if accelerated { "a" } else { "" })
        .parse()
        .ok()
        .filter(Arch::is_nvidia)
        .ok_or_else(|| bad(format!("damaged: a cubin for compute capability {capability}")))
}

fn sections<'a>(elf: &Elf<'a>) -> Result<Vec<Section<'a>>> {
    let part = |header: Fields<'_>| elf.part("a section", header.u64(24), header.u64(32)).unwrap_or_default();
    let names = elf.sections().map_err(bad)?.nth(elf.names_section()).map_or(&[][..], part);
    let section = |header: Fields<'a>| {
        Some(Section {
            name: text(names, header.u32(0))?,
            kind: header.u32(4),
            link: header.u32(40) as usize,
            size: header.u64(32),
            bytes: if Elf::has_bytes(header) { part(header) } else { &[] },
        })
    };
    let all: Option<Vec<_>> = elf.sections().map_err(bad)?.map(section).collect();
    all.ok_or_else(|| bad("damaged: a section without a name"))
}

/// Returns the terminated text at an offset.
fn text(bytes: &[u8], at: u32) -> Option<&str> {
    let rest = bytes.get(at as usize..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

struct Symbols<'a> {
    table: &'a [u8],
    names: &'a [u8],
}

struct Symbol<'a> {
    index: usize,
    name: &'a str,
    is_kernel: bool,
}

impl<'a> Symbols<'a> {
    fn of(sections: &[Section<'a>]) -> Result<Self> {
        let mut tables = sections.iter().filter(|section| section.kind == SYMBOLS);
        let table = tables.next().ok_or_else(|| bad("damaged: a cubin without symbols"))?;
        let names = sections.get(table.link).map_or(&[][..], |names| names.bytes);
        match tables.next() {
            Some(_) => Err(bad("damaged: a cubin with several tables of symbols")),
            None => Ok(Self { table: table.bytes, names }),
        }
    }

    /// Returns the symbols that have a name.
    fn all(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let names = self.names;
        self.table.chunks_exact(SYMBOL_BYTES).enumerate().filter_map(move |(index, bytes)| {
            let fields = Fields(bytes);
            let (info, other, section) = (bytes[4], bytes[5], fields.u16(6));
            let is_kernel = info & 0xf == FUNCTION && other & ENTRY != 0 && section != 0;
            Some(Symbol { index, name: text(names, fields.u32(0))?, is_kernel })
        })
    }
}

/// Returns the attributes in a section, each with its value.
fn attributes(mut rest: &[u8]) -> Result<Vec<(u8, &[u8])>> {
    let cut_off = || bad("damaged: its section .nv.info is cut off");
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (head, after) = rest.split_at_checked(4).ok_or_else(cut_off)?;
        // Only the last format has its value after the head, where the others have it in its last two bytes.
        let (value, after) = match head[0] {
            1..=3 => (&head[2..], after),
            4 => after.split_at_checked(Fields(head).u16(2).into()).ok_or_else(cut_off)?,
            other => {
                return Err(bad(format!("an attribute of format {other} in a section .nv.info: 1 to 4 are known")));
            }
        };
        found.push((head[1], value));
        rest = after;
    }
    Ok(found)
}

/// Returns the metadata that a kernel's own attributes contain.
fn of_attributes(name: &str, attributes: &[(u8, &[u8])]) -> Result<KernelInfo> {
    let wrong = |what: &str| bad(format!("damaged: kernel {name}: {what}"));
    let mut places = Vec::new();
    let (mut max_threads_per_block, mut required_block) = (0, None);
    for &(attribute, value) in attributes {
        let fields = Fields(value);
        match attribute {
            PARAMETER | LARGE_PARAMETER if value.len() < 12 => return Err(wrong("a parameter without a size")),
            // The size is in the upper 14 bits of the last word, or in the lower 24.
            PARAMETER => places.push((fields.u16(4), fields.u16(6), fields.u32(8) >> 18)),
            LARGE_PARAMETER => places.push((fields.u16(4), fields.u16(6), fields.u32(8) & 0x00ff_ffff)),
            MAX_THREADS | REQUIRED_BLOCK => {
                let block = [fields.u32(0), fields.u32(4), fields.u32(8)];
                max_threads_per_block = block.iter().fold(1, |threads: u32, extent| threads.saturating_mul(*extent));
                required_block = (attribute == REQUIRED_BLOCK).then_some(block).or(required_block);
            }
            _ => {}
        }
    }
    places.sort_unstable();
    let mut end = 0;
    let mut parameters = Vec::new();
    for (index, (ordinal, offset, size)) in places.into_iter().enumerate() {
        let (offset, size) = (usize::from(offset), size as usize);
        // In order and disjoint; launches rely on it.
        if usize::from(ordinal) != index || offset < end || offset.saturating_add(size) > MAX_ARGUMENT_BYTES {
            return Err(wrong(&format!("parameter {ordinal} of {size} bytes at {offset}, after {end}")));
        }
        end = offset + size;
        let kind = if size == 8 { ParameterKind::PointerOrValue } else { ParameterKind::Value };
        parameters.push(parameter(offset, size, kind));
    }
    Ok(KernelInfo { max_threads_per_block, required_block, ..kernel(name, parameters) })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::module::bundle::bundle_entries;
    use crate::module::image;

    /// Kernels of the tests, and of parameters of all sizes, for `sm_90` and `compute_75`.
    pub(crate) const KERNELS: &[u8] = include_bytes!("../../tests/kernels/kernels.nvidia.hipfb");
    pub(crate) const ARGUMENTS: &[u8] = include_bytes!("../../tests/kernels/arguments.nvidia.hipfb");

    /// Returns the code for one architecture in a bundle.
    pub(crate) fn entry<'a>(bundle: &'a [u8], arch: &str) -> &'a [u8] {
        let entries = bundle_entries(bundle).unwrap();
        entries.into_iter().find(|(id, _)| id.strip_prefix("cuda-nvptx64-nvidia-cuda--") == Some(arch)).unwrap().1
    }

    fn select<'a>(image: &'a [u8], device: &str) -> Result<CodeObject<'a>> {
        image::select(image, &device.parse().unwrap())
    }

    #[test]
    fn kernels_are_read_from_both_forms_and_lie_as_on_amds_devices() {
        let cubin = select(KERNELS, "sm_90").unwrap().metadata;
        assert_eq!(cubin.target.unwrap().to_string(), "sm_90");
        let ptx = select(KERNELS, "sm_86").unwrap().metadata;
        assert_eq!(ptx.target.unwrap().to_string(), "compute_75");
        let amds = image::select(image::tests::VECTOR_ADD, &"gfx90a".parse().unwrap()).unwrap().metadata.kernels;
        for kernels in [&cubin.kernels, &ptx.kernels] {
            assert!(kernels.keys().eq(amds.keys()));
            for (name, amds) in &amds {
                let places = |kernel: &KernelInfo| {
                    kernel.parameters.iter().map(|parameter| (parameter.offset, parameter.size)).collect::<Vec<_>>()
                };
                assert_eq!(places(&kernels[name]), places(amds), "{name}");
                assert_eq!(kernels[name].explicit_bytes, amds.explicit_bytes, "{name}");
                let kinds = kernels[name].parameters.iter().map(|parameter| &parameter.kind);
                assert!(kinds.zip(&amds.parameters).all(|(kind, amds)| match amds.kind {
                    ParameterKind::Pointer => *kind == ParameterKind::PointerOrValue,
                    _ => kind.takes_value(),
                }));
            }
            assert_eq!((kernels["bounded"].max_threads_per_block, kernels["bounded"].required_block), (64, None));
            assert_eq!((kernels["empty"].max_threads_per_block, kernels["empty"].warp_size), (0, 32));
            assert_eq!(
                kernels["vector_add"].to_string(),
                "vector_add(pointer or 8 bytes, pointer or 8 bytes, pointer or 8 bytes, 4 bytes)"
            );
        }
        // Without the memory that belongs to the driver.
        let shared =
            ["reverse_in_lds", "reverse_in_dynamic_lds", "empty"].map(|name| cubin.kernels[name].static_shared_bytes);
        assert_eq!(shared, [1024, 0, 0]);
        assert!(cubin.kernels["vector_add"].vgprs > 4);
    }

    #[test]
    fn parameters_of_all_sizes_are_read() {
        for device in ["sm_90", "sm_75"] {
            let kernels = select(ARGUMENTS, device).unwrap().metadata.kernels;
            let places = |name: &str| {
                let places = kernels[name].parameters.iter().map(|it| (it.offset, it.size, it.kind.clone()));
                places.collect::<Vec<_>>()
            };
            let (value, either) = (ParameterKind::Value, ParameterKind::PointerOrValue);
            // More than 4 KiB, for which NVIDIA's compilers have another attribute.
            let large = [(0, 5000, value.clone()), (5000, 1, value.clone()), (5008, 8, either.clone())];
            assert_eq!(places("large"), large, "{device}");
            let small = [(0, 1, value.clone()), (2, 2, value.clone()), (8, 16, value.clone()), (24, 8, either)];
            assert_eq!(places("small"), small, "{device}");
            assert_eq!(kernels["uses_stack"].private_bytes >= 400, device == "sm_90");
        }
    }

    #[test]
    fn code_for_other_devices_is_named() {
        for (image, device, part) in [
            (KERNELS, "sm_70", "no code for sm_70: the image has code for sm_90, compute_75"),
            (KERNELS, "gfx90a", "no code for gfx90a: the image has code for sm_90, compute_75"),
            (image::tests::VECTOR_ADD, "sm_90", "no code for sm_90: the image has code for gfx90a"),
            (entry(KERNELS, "sm_90"), "sm_100", "no code for sm_100: the image has code for sm_90"),
        ] {
            let text = select(image, device).unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn headers_of_each_release_name_the_architecture() {
        let cubin = entry(KERNELS, "sm_90");
        // The ABI, e_version and e_flags that NVRTC 12.9 and 13.0 write.
        for (abi, version, flags, name) in [
            (7, 129, 0x005a_055a, "sm_90"),
            (7, 129, 0x005a_0d5a, "sm_90a"),
            (7, 129, 0x004b_054b, "sm_75"),
            (8, 1, 0x0600_6402, "sm_100"),
            (8, 1, 0x0600_640a, "sm_100a"),
            (8, 1, 0x0600_7902, "sm_121"),
        ] {
            let mut bytes = cubin.to_vec();
            bytes[8] = abi;
            bytes[20..24].copy_from_slice(&u32::to_le_bytes(version));
            bytes[48..52].copy_from_slice(&u32::to_le_bytes(flags));
            let targets: Vec<_> = image::targets(&bytes).unwrap().iter().map(Arch::to_string).collect();
            assert_eq!(targets, [name]);
        }
        let compatibility = [2, 9, 1, 0, 2, 2, 1, 0];
        assert_eq!(target(cubin, &compatibility).unwrap().to_string(), "sm_90a");
        let mut other = cubin.to_vec();
        other[49] = 5;
        assert!(image::targets(&other).unwrap_err().to_string().contains("capability 5"));
    }

    #[test]
    fn no_cut_of_a_good_cubin_is_taken() {
        let cubin = entry(ARGUMENTS, "sm_90");
        for len in (0..256).chain((256..cubin.len()).step_by(97)).chain([cubin.len() - 1]) {
            assert!(select(&cubin[..len], "sm_90").is_err(), "{len}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(300))]
        #[test]
        fn damaged_cubins_never_panic(flips in proptest::collection::vec((0..1_000_000_usize, proptest::num::u8::ANY), 1..40)) {
            let mut cubin = entry(ARGUMENTS, "sm_90").to_vec();
            for (at, byte) in flips {
                let at = at % cubin.len();
                cubin[at] ^= byte;
            }
            let _ = select(&cubin, "sm_90");
        }

        #[test]
        fn damaged_attributes_never_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
            if let Ok(found) = attributes(&bytes) {
                let _ = of_attributes("k", &found);
            }
        }
    }
}
