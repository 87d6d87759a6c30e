//! Kernel metadata of a code object: the NT_AMDGPU_METADATA note, MessagePack as LLVM's AMDGPUUsage describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::core::arch::Arch;
use crate::core::error::{Error, Result};
use crate::module::declared::Declared;
use crate::module::msgpack::Value;

/// Arguments of a launch are far smaller than this; larger metadata is damaged.
const MAX_KERNARG_BYTES: u64 = 1 << 16;

/// The possible numbers of lanes in a wave.
const WAVES: [u64; 2] = [32, 64];

/// The metadata of a code object.
#[derive(Debug)]
pub(crate) struct Metadata {
    /// The target of the code. Code objects before version 4 do not contain it.
    pub(crate) target: Option<Arch>,
    pub(crate) kernels: BTreeMap<String, KernelInfo>,
    /// The symbols of the kernels' descriptors.
    pub(crate) symbols: Vec<String>,
    /// Kernels that the runtime runs when the code is loaded or unloaded, each with its kind.
    pub(crate) automatic: Vec<String>,
}

/// The kind of kernels that run when they are launched. The runtime runs kernels of other kinds (`init` and `fini`).
const NORMAL: &str = "normal";

/// A hidden argument that was added after version 5 of code objects: HIP 5.7 does not know it.
const LATE_HIDDEN: &str = "hidden_dynamic_lds_size";

/// The metadata of a kernel.
///
/// In code for NVIDIA's GPUs, the registers of a thread are `vgprs`. PTX contains parameters and limits on the block only:
/// other numbers are 0, and [`Kernel::attribute`](crate::Kernel::attribute) returns those of the loaded kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// The name, mangled unless the source declares it `extern "C"`.
    pub name: String,
    /// The parameters, without hidden arguments, which the compiler adds.
    pub parameters: Vec<Parameter>,
    /// Static shared memory (LDS) of a block, in bytes.
    pub static_shared_bytes: u32,
    /// Private (scratch) memory of a thread, in bytes.
    pub private_bytes: u32,
    /// Maximum threads per block (`__launch_bounds__`).
    pub max_threads_per_block: u32,
    /// The only block size that the kernel was compiled for, if there is one (`reqd_work_group_size`).
    pub required_block: Option<[u32; 3]>,
    /// Lanes of a wave for which the kernel was compiled.
    pub warp_size: u32,
    /// Vector registers of a lane.
    pub vgprs: u32,
    /// Accumulation registers of a lane, if the processor has separate ones.
    pub agprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers spilled to memory.
    pub vgpr_spills: u32,
    /// Scalar registers spilled.
    pub sgpr_spills: u32,
    /// End offset of the last parameter.
    pub(crate) explicit_bytes: usize,
    /// Hidden arguments that older runtimes do not know, and expect from the caller.
    pub(crate) late_hidden: usize,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name, if the compiler kept it.
    pub name: Option<String>,
    /// Its type, if the compiler kept it.
    pub type_name: Option<String>,
    /// Its offset in the kernel's argument memory, in bytes.
    pub offset: usize,
    /// Its size, in bytes.
    pub size: usize,
    /// Value or pointer.
    pub kind: ParameterKind,
    /// The source's declaration, if it is known.
    pub(crate) declared: Option<Declared>,
}

/// How an argument is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A number or structure, copied.
    Value,
    /// A pointer to device memory.
    Pointer,
    /// 8 bytes, a pointer or a number: NVIDIA's code does not tell them apart. Where the source is known
    /// ([`Module::load_declared`](crate::Module::load_declared)), this is one of the two above.
    PointerOrValue,
    /// An image, a sampler or a queue, which launches of this crate cannot pass. The kind's name in the metadata.
    Other(String),
}

impl ParameterKind {
    /// Returns whether a pointer can be passed.
    #[inline]
    pub(crate) fn takes_pointer(&self) -> bool {
        matches!(self, Self::Pointer | Self::PointerOrValue)
    }

    /// Returns whether a number or structure can be passed.
    #[inline]
    pub(crate) fn takes_value(&self) -> bool {
        matches!(self, Self::Value | Self::PointerOrValue)
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.size;
        if let Some(declared) = &self.declared {
            return write!(f, "{}, {bytes} bytes", declared.text);
        }
        match (&self.kind, &self.type_name) {
            (_, Some(name)) if !name.is_empty() => write!(f, "{name}, {bytes} bytes")?,
            (ParameterKind::Value, _) => write!(f, "a value of {bytes} bytes")?,
            (ParameterKind::Pointer, _) => write!(f, "a pointer")?,
            (ParameterKind::PointerOrValue, _) => write!(f, "a pointer or a value of {bytes} bytes")?,
            (ParameterKind::Other(kind), _) => write!(f, "{kind}, {bytes} bytes")?,
        }
        match &self.name {
            Some(name) if !name.is_empty() => write!(f, " ({name})"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for KernelInfo {
    /// Prints the kernel as a declaration: `saxpy(pointer, pointer, 4 bytes)`, or `saxpy(const float *x, float *y,
    /// unsigned n)` if its source is known ([`Module::load_declared`](crate::Module::load_declared)).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (index, parameter) in self.parameters.iter().enumerate() {
            if index != 0 {
                f.write_str(", ")?;
            }
            match (&parameter.declared, &parameter.kind) {
                (Some(declared), _) => f.write_str(&declared.text)?,
                (None, ParameterKind::Value) => write!(f, "{} bytes", parameter.size)?,
                (None, ParameterKind::Pointer) => f.write_str("pointer")?,
                (None, ParameterKind::PointerOrValue) => write!(f, "pointer or {} bytes", parameter.size)?,
                (None, ParameterKind::Other(kind)) => f.write_str(kind)?,
            }
        }
        f.write_str(")")
    }
}

fn bad(reason: impl fmt::Display) -> Error {
    Error::Image { reason: format!("its kernel metadata: {reason}") }
}

impl Metadata {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let root = Value::read(bytes).map_err(bad)?;
        let root = Map::of(&root)?;
        let target = match root.text("amdhsa.target") {
            // amdgcn-amd-amdhsa--gfx90a:xnack-
            Some(target) => Some(
                target
                    .splitn(5, '-')
                    .nth(4)
                    .ok_or_else(|| bad(format!("the target {target:?}")))?
                    .parse()
                    .map_err(bad)?,
            ),
            None => None,
        };
        let (mut kernels, mut symbols, mut automatic) = (BTreeMap::new(), Vec::new(), Vec::new());
        for kernel in root.list("amdhsa.kernels") {
            let map = Map::of(kernel)?;
            let kernel = KernelInfo::parse(&map)?;
            let symbol = map.text(".symbol").ok_or_else(|| bad(format!("kernel {}: no symbol", kernel.name)))?;
            symbols.push(symbol.to_owned());
            match map.get(".kind").map(Value::as_str) {
                None | Some(Some(NORMAL)) => {}
                // Any other kind is unknown, so the runtime may run it too.
                Some(kind) => automatic.push(format!("kernel {} of kind {:?}", kernel.name, kind.unwrap_or("?"))),
            }
            insert(&mut kernels, kernel)?;
        }
        Ok(Self { target, kernels, symbols, automatic })
    }

    /// Adds the metadata of another note of the code object. The linker leaves each object file its own note, and the
    /// runtime reads all.
    pub(crate) fn add(&mut self, other: Self) -> Result<()> {
        match (&self.target, &other.target) {
            (Some(own), Some(other)) if own != other => {
                return Err(bad(format!("it is for {own}, and for {other} in another note")));
            }
            (None, Some(_)) => self.target = other.target,
            _ => {}
        }
        self.symbols.extend(other.symbols);
        self.automatic.extend(other.automatic);
        other.kernels.into_values().try_for_each(|kernel| insert(&mut self.kernels, kernel))
    }
}

/// Each kernel must be described once: the runtime might otherwise read another description than this crate.
fn insert(kernels: &mut BTreeMap<String, KernelInfo>, kernel: KernelInfo) -> Result<()> {
    match kernels.insert(kernel.name.clone(), kernel) {
        Some(earlier) => Err(bad(format!("the kernel {} more than once", earlier.name))),
        None => Ok(()),
    }
}

impl KernelInfo {
    fn parse(map: &Map<'_>) -> Result<Self> {
        let name = map.text(".name").ok_or_else(|| bad("a kernel without a name"))?.to_owned();
        let wrong = |what: &str| bad(format!("kernel {name}: {what}"));
        let kernarg_bytes = map.number(".kernarg_segment_size").unwrap_or(0);
        if kernarg_bytes > MAX_KERNARG_BYTES {
            return Err(wrong(&format!("{kernarg_bytes} bytes of arguments")));
        }
        let mut parameters = Vec::new();
        let mut late_hidden = 0;
        let mut end = 0;
        for argument in map.list(".args") {
            let argument = Map::of(argument)?;
            let kind = argument.text(".value_kind").ok_or_else(|| wrong("an argument of no kind"))?;
            let (Some(offset), Some(size)) = (argument.number(".offset"), argument.number(".size")) else {
                return Err(wrong("an argument without offset or size"));
            };
            if kind.starts_with("hidden_") {
                late_hidden += usize::from(kind == LATE_HIDDEN);
                continue;
            }
            // In order and disjoint, as compilers lay them out; launches rely on it.
            if offset < end || offset.saturating_add(size) > kernarg_bytes {
                return Err(wrong(&format!(
                    "an argument of {size} bytes at {offset}, after {end} and of {kernarg_bytes}"
                )));
            }
            end = offset + size;
            let kind = match kind {
                "by_value" => ParameterKind::Value,
                "global_buffer" if size == 8 => ParameterKind::Pointer,
                other => ParameterKind::Other(other.to_owned()),
            };
            parameters.push(Parameter {
                name: argument.text(".name").map(str::to_owned),
                type_name: argument.text(".type_name").map(str::to_owned),
                offset: offset as usize,
                size: size as usize,
                kind,
                declared: None,
            });
        }
        let waves = map.number(".wavefront_size");
        if waves.is_some_and(|lanes| !WAVES.contains(&lanes)) {
            return Err(wrong(&format!("waves of {waves:?} lanes")));
        }
        let required_block = match map.list(".reqd_workgroup_size") {
            [x, y, z] => Some([small(x), small(y), small(z)]),
            _ => None,
        };
        let count = |key: &str| map.number(key).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        Ok(Self {
            static_shared_bytes: count(".group_segment_fixed_size"),
            private_bytes: count(".private_segment_fixed_size"),
            max_threads_per_block: count(".max_flat_workgroup_size"),
            required_block,
            warp_size: count(".wavefront_size"),
            vgprs: count(".vgpr_count"),
            agprs: count(".agpr_count"),
            sgprs: count(".sgpr_count"),
            vgpr_spills: count(".vgpr_spill_count"),
            sgpr_spills: count(".sgpr_spill_count"),
            explicit_bytes: end as usize,
            late_hidden,
            parameters,
            name,
        })
    }
}

fn small(value: &Value<'_>) -> u32 {
    value.as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
}

/// A MessagePack map by its text keys.
struct Map<'a>(&'a [(Value<'a>, Value<'a>)]);

impl<'a> Map<'a> {
    /// Each key must be unique, and be text without zeros: otherwise the runtime might read another value than this
    /// crate.
    fn of(value: &'a Value<'a>) -> Result<Self> {
        let pairs = value.as_map().ok_or_else(|| bad("something else where a map belongs"))?;
        let mut keys = BTreeSet::new();
        for (key, _) in pairs {
            let key = key.as_str().filter(|key| !key.contains('\0')).ok_or_else(|| bad("a key that is not text"))?;
            if !keys.insert(key) {
                return Err(bad(format!("the key {key:?} more than once")));
            }
        }
        Ok(Self(pairs))
    }

    fn get(&self, key: &str) -> Option<&'a Value<'a>> {
        self.0.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, value)| value)
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(Value::as_u64)
    }

    fn list(&self, key: &str) -> &'a [Value<'a>] {
        self.get(key).and_then(Value::as_array).unwrap_or(&[])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::module::image;

    /// Creates a kernel `k` with these parameters.
    pub(crate) fn kernel_of(parameters: Vec<Parameter>) -> KernelInfo {
        KernelInfo {
            name: "k".to_owned(),
            explicit_bytes: parameters.last().map_or(0, |p| p.offset + p.size),
            late_hidden: 0,
            parameters,
            static_shared_bytes: 0,
            private_bytes: 0,
            max_threads_per_block: 0,
            required_block: None,
            warp_size: 64,
            vgprs: 0,
            agprs: 0,
            sgprs: 0,
            vgpr_spills: 0,
            sgpr_spills: 0,
        }
    }

    fn kernels() -> BTreeMap<String, KernelInfo> {
        let device = "gfx90a".parse().unwrap();
        image::select(image::tests::VECTOR_ADD, &device).unwrap().metadata.kernels
    }

    #[test]
    fn reads_what_the_compiler_wrote() {
        let kernels = kernels();
        let add = &kernels["vector_add"];
        let offsets: Vec<_> = add.parameters.iter().map(|p| (p.offset, p.size, p.kind.clone())).collect();
        let (pointer, value) = (ParameterKind::Pointer, ParameterKind::Value);
        assert_eq!(offsets, [(0, 8, pointer.clone()), (8, 8, pointer.clone()), (16, 8, pointer), (24, 4, value)]);
        assert_eq!(add.max_threads_per_block, 1024);
        assert_eq!(add.warp_size, 64);
        assert_eq!(add.static_shared_bytes, 0);
        assert!(add.vgprs > 0);
        assert_eq!(add.to_string(), "vector_add(pointer, pointer, pointer, 4 bytes)");
    }

    #[test]
    fn arguments_lie_where_c_puts_them() {
        // int, struct of three floats, int: aligned to the type, not to its size.
        let kernels = kernels();
        let mixed = &kernels["mixed_args"];
        let offsets: Vec<_> = mixed.parameters.iter().map(|p| (p.offset, p.size)).collect();
        assert_eq!(offsets, [(0, 8), (8, 4), (12, 12), (24, 4), (28, 1), (32, 8)]);
        assert_eq!(mixed.explicit_bytes, 40);
        let plain = &kernels["int_float3_int"];
        let offsets: Vec<_> = plain.parameters.iter().map(|p| (p.offset, p.size)).collect();
        assert_eq!(offsets[..3], [(0, 4), (4, 12), (16, 4)]);
    }

    #[test]
    fn limits_of_a_kernel_are_read() {
        let kernels = kernels();
        assert_eq!(kernels["bounded"].max_threads_per_block, 64);
        assert_eq!(kernels["reverse_in_lds"].static_shared_bytes, 1024);
    }

    /// Returns the code object of the tests' kernels with `from` in its metadata replaced by `to`, of the same length.
    fn patched(from: &[u8], to: &[u8]) -> Vec<u8> {
        assert_eq!(from.len(), to.len());
        let mut image = image::tests::VECTOR_ADD.to_vec();
        let at = image.windows(from.len()).position(|bytes| bytes == from).unwrap();
        image[at..at + to.len()].copy_from_slice(to);
        image
    }

    /// `.sgpr_spill_count: 0` as MessagePack. The tests replace it by other keys and values.
    const SPILLS: &[u8] = b"\xb1.sgpr_spill_count\0";

    #[test]
    fn kernels_that_the_runtime_runs_are_found() {
        let device = "gfx90a".parse().unwrap();
        // In the long forms of MessagePack, to fill the same bytes.
        for (kind, shown) in [
            (&b"\xdb\0\0\0\x05.kind\xdb\0\0\0\x04init"[..], "of kind \"init\""),
            (b"\xdb\0\0\0\x05.kind\xdb\0\0\0\x04fini", "of kind \"fini\""),
            (b"\xd9\x05.kind\xdb\0\0\0\x07another", "of kind \"another\""),
            (b"\xda\0\x05.kind\xc6\0\0\0\x06bytes!", "of kind \"?\""),
        ] {
            let image = patched(SPILLS, kind);
            let object = image::select(&image, &device).unwrap();
            assert_eq!(object.metadata.automatic.len(), 1, "{:?}", object.metadata.automatic);
            let error = image::select_inert(&image, &device).unwrap_err().to_string();
            assert!(error.contains(shown) && error.contains("without a launch"), "{error}");
        }
        let image = patched(SPILLS, b"\xdb\0\0\0\x05.kind\xda\0\x06normal");
        assert!(image::select_inert(&image, &device).is_ok());
        assert!(image::select_inert(image::tests::VECTOR_ADD, &device).is_ok());
    }

    #[test]
    fn what_two_readers_would_read_differently_is_refused() {
        let device = "gfx90a".parse().unwrap();
        let reason = |image: &[u8]| image::select(image, &device).unwrap_err().to_string();
        // Duplicate keys and keys that contain a zero, which readers interpret differently.
        assert!(reason(&patched(b"\xb1.sgpr_spill_count\0", b"\xb1.vgpr_spill_count\0")).contains("more than once"));
        assert!(reason(&patched(b".sgpr_spill_count", b".kind\0pill_count.")).contains("not text"));
        // A note that differs from others only in its owner.
        assert!(reason(&patched(b"AMDGPU\0", b"AMDGPUx")).contains("no kernel metadata"));
        let mut image = image::tests::VECTOR_ADD.to_vec();
        let segments = u64::from_le_bytes(image[32..40].try_into().unwrap()) as usize;
        let notes = (segments..).step_by(56).find(|&at| image[at..at + 4] == [4, 0, 0, 0]).unwrap();
        image[notes + 48] = 8;
        assert!(reason(&image).contains("aligned to 8"));
    }

    #[test]
    fn the_notes_of_all_object_files_count() {
        let device = "gfx90a".parse().unwrap();
        let whole = || image::select(image::tests::VECTOR_ADD, &device).unwrap().metadata;
        let only = |name: &str| {
            let mut metadata = whole();
            metadata.kernels.retain(|kernel, _| kernel == name);
            metadata
        };
        let mut all = only("vector_add");
        all.add(Metadata { target: None, ..only("bounded") }).unwrap();
        assert_eq!(all.kernels.keys().collect::<Vec<_>>(), ["bounded", "vector_add"]);
        assert_eq!((all.target.clone(), all.symbols.len()), (whole().target, 2 * whole().symbols.len()));

        let twice = all.add(only("bounded")).unwrap_err().to_string();
        assert!(twice.contains("the kernel bounded more than once"), "{twice}");
        let other = Metadata { target: Some("gfx942".parse().unwrap()), ..only("mixed_args") };
        let other = all.add(other).unwrap_err().to_string();
        assert!(other.contains("for gfx90a, and for gfx942"), "{other}");
    }

    #[test]
    fn deep_nesting_is_an_error_not_a_stack_overflow() {
        let bytes = vec![0x91u8; 100_000]; // an array of an array of ...
        assert!(Metadata::parse(&bytes).is_err());
    }

    #[test]
    fn huge_lengths_do_not_allocate() {
        let bytes = [0xdf, 0xff, 0xff, 0xff, 0xff]; // a map of 4,294,967,295 pairs, cut off
        assert!(Metadata::parse(&bytes).is_err());
    }
}
