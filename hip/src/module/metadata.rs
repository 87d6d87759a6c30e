//! What a code object says of its kernels: the NT_AMDGPU_METADATA note, MessagePack as LLVM's AMDGPUUsage describes it.

use std::collections::BTreeMap;
use std::fmt;

use crate::core::arch::Arch;
use crate::core::error::{Error, Result};
use crate::module::msgpack::Value;

/// Kernel arguments of one launch are far below this; more is damaged metadata.
const MAX_KERNARG_BYTES: u64 = 1 << 20;

/// The metadata of a code object.
#[derive(Debug)]
pub(crate) struct Metadata {
    /// What the code runs on. Code objects before version 4 do not say.
    pub(crate) target: Option<Arch>,
    pub(crate) kernels: BTreeMap<String, KernelInfo>,
}

/// The hidden argument that came after version 5 of code objects did: HIP 5.7 does not know it.
const LATE_HIDDEN: &str = "hidden_dynamic_lds_size";

/// What a code object says of one of its kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// The name, mangled if the source's was.
    pub name: String,
    /// The parameters, without the ones that the compiler adds (hidden arguments).
    pub parameters: Vec<Parameter>,
    /// Shared memory (LDS) that every block has, in bytes, before what a launch adds.
    pub static_shared_bytes: u32,
    /// Private (scratch) memory of a thread, in bytes.
    pub private_bytes: u32,
    /// Threads that a block may have (`__launch_bounds__`).
    pub max_threads_per_block: u32,
    /// The block that the kernel was compiled for, if it was for one only (`reqd_work_group_size`).
    pub required_block: Option<[u32; 3]>,
    /// Lanes of a wave that the kernel was compiled for.
    pub warp_size: u32,
    /// Vector registers of a lane.
    pub vgprs: u32,
    /// Accumulation registers of a lane, where the processor has them apart.
    pub agprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers spilled to memory.
    pub vgpr_spills: u32,
    /// Scalar registers spilled.
    pub sgpr_spills: u32,
    /// Bytes up to the end of the last parameter.
    pub(crate) explicit_bytes: usize,
    /// Hidden arguments that older runtimes do not know, and take for parameters of the caller's.
    pub(crate) late_hidden: usize,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name, where the compiler kept it.
    pub name: Option<String>,
    /// Its type, where the compiler kept it.
    pub type_name: Option<String>,
    /// Where it is in the kernel's argument memory, in bytes.
    pub offset: usize,
    /// Its size, in bytes.
    pub size: usize,
    /// Value or pointer.
    pub kind: ParameterKind,
}

/// How an argument is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A number or structure, copied.
    Value,
    /// A pointer to device memory.
    Pointer,
    /// Something that a launch from here cannot give: an image, a sampler, a queue. The name in the metadata.
    Other(String),
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.size;
        match (&self.kind, &self.type_name) {
            (_, Some(name)) if !name.is_empty() => write!(f, "{name}, {bytes} bytes")?,
            (ParameterKind::Value, _) => write!(f, "a value of {bytes} bytes")?,
            (ParameterKind::Pointer, _) => write!(f, "a pointer")?,
            (ParameterKind::Other(kind), _) => write!(f, "{kind}, {bytes} bytes")?,
        }
        match &self.name {
            Some(name) if !name.is_empty() => write!(f, " ({name})"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for KernelInfo {
    /// The kernel as a declaration: `saxpy(pointer, pointer, 4 bytes)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (index, parameter) in self.parameters.iter().enumerate() {
            if index != 0 {
                f.write_str(", ")?;
            }
            match &parameter.kind {
                ParameterKind::Value => write!(f, "{} bytes", parameter.size)?,
                ParameterKind::Pointer => f.write_str("pointer")?,
                ParameterKind::Other(kind) => f.write_str(kind)?,
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
        let mut kernels = BTreeMap::new();
        for kernel in root.list("amdhsa.kernels") {
            let kernel = KernelInfo::parse(&Map::of(kernel)?)?;
            kernels.insert(kernel.name.clone(), kernel);
        }
        Ok(Self { target, kernels })
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
            if kind.starts_with("hidden_") {
                late_hidden += usize::from(kind == LATE_HIDDEN);
                continue;
            }
            let (Some(offset), Some(size)) = (argument.number(".offset"), argument.number(".size")) else {
                return Err(wrong("an argument without offset or size"));
            };
            // In order and apart, as compilers lay them out; the launch relies on it.
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
            });
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
    fn of(value: &'a Value<'a>) -> Result<Self> {
        value.as_map().map(Self).ok_or_else(|| bad("something else where a map belongs"))
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

    /// A kernel `k` of these parameters.
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
