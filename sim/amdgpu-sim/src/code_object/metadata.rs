//! The metadata note: MessagePack that describes the kernels.

use serde::Deserialize;

use super::descriptor::{self, KernelDescriptor};
use super::elf::File;
use super::error::LoadError;
use super::kernel::{Arg, Hidden, KernelInfo, KernelKind, ValueKind};

impl ValueKind {
    fn parse(text: &str) -> Self {
        let Some(hidden) = text.strip_prefix("hidden_") else {
            return match text {
                "by_value" => Self::ByValue,
                "global_buffer" => Self::GlobalBuffer,
                "dynamic_shared_pointer" => Self::DynamicSharedPointer,
                "image" | "sampler" | "pipe" | "queue" => Self::Opaque,
                _ => Self::Unknown,
            };
        };
        let dimension = |prefix: &str| {
            let rest = hidden.strip_prefix(prefix)?;
            ["x", "y", "z"].iter().position(|d| *d == rest).map(|d| d as u8)
        };
        Self::Hidden(if let Some(d) = dimension("block_count_") {
            Hidden::BlockCount(d)
        } else if let Some(d) = dimension("group_size_") {
            Hidden::GroupSize(d)
        } else if let Some(d) = dimension("remainder_") {
            Hidden::Remainder(d)
        } else if let Some(d) = dimension("global_offset_") {
            Hidden::GlobalOffset(d)
        } else {
            match hidden {
                "grid_dims" => Hidden::GridDims,
                "dynamic_lds_size" => Hidden::DynamicLdsSize,
                "private_base" => Hidden::PrivateBase,
                "shared_base" => Hidden::SharedBase,
                "queue_ptr" => Hidden::QueuePtr,
                "hostcall_buffer" => Hidden::HostcallBuffer,
                "heap_v1" => Hidden::Heap,
                _ => Hidden::Absent,
            }
        })
    }
}

#[derive(Deserialize)]
pub(super) struct Metadata {
    #[serde(rename = "amdhsa.kernels", default)]
    pub(super) kernels: Vec<RawKernel>,
}

#[derive(Deserialize)]
pub(super) struct RawKernel {
    #[serde(rename = ".name")]
    name: String,
    #[serde(rename = ".symbol")]
    symbol: String,
    #[serde(rename = ".kind", default)]
    kind: Option<String>,
    #[serde(rename = ".args", default)]
    args: Vec<RawArg>,
    #[serde(rename = ".kernarg_segment_size", default)]
    kernarg_size: u32,
    #[serde(rename = ".kernarg_segment_align", default)]
    kernarg_align: u32,
    #[serde(rename = ".group_segment_fixed_size", default)]
    lds_size: u32,
    #[serde(rename = ".private_segment_fixed_size", default)]
    private_size: u32,
    #[serde(rename = ".uses_dynamic_stack", default)]
    dynamic_stack: bool,
    #[serde(rename = ".vgpr_count", default)]
    vgpr_count: u32,
    #[serde(rename = ".agpr_count", default)]
    agpr_count: u32,
    #[serde(rename = ".sgpr_count", default)]
    sgpr_count: u32,
    #[serde(rename = ".max_flat_workgroup_size", default)]
    max_workgroup_size: u32,
    #[serde(rename = ".reqd_workgroup_size", default)]
    required_workgroup_size: Option<[u32; 3]>,
    #[serde(rename = ".wavefront_size", default)]
    wavefront_size: u32,
}

#[derive(Deserialize)]
struct RawArg {
    #[serde(rename = ".name", default)]
    name: Option<String>,
    #[serde(rename = ".offset")]
    offset: u32,
    #[serde(rename = ".size")]
    size: u32,
    #[serde(rename = ".value_kind")]
    value_kind: String,
}

/// The maximum size of a kernarg segment, far above a compiler's limit (4 KiB and the hidden arguments).
const MAX_KERNARG: u32 = 1 << 16;

/// The maximum nesting depth of the note's maps and lists: far above that of a compiler's output, and small on the
/// stack.
const MAX_DEPTH: usize = 64;

impl Metadata {
    /// Parses the contents of the notes.
    pub(super) fn read(notes: &[Vec<u8>]) -> Result<Self, LoadError> {
        if notes.is_empty() {
            return Err(LoadError::Metadata("there is no NT_AMDGPU_METADATA note".into()));
        }
        let mut kernels = Vec::new();
        for note in notes {
            let mut reader = rmp_serde::Deserializer::from_read_ref(note);
            reader.set_max_depth(MAX_DEPTH);
            let one = Self::deserialize(&mut reader).map_err(|e| LoadError::Metadata(e.to_string()))?;
            kernels.extend(one.kernels);
        }
        Ok(Self { kernels })
    }
}

impl RawKernel {
    /// Combines the metadata with the kernel's descriptor, and validates both.
    pub(super) fn resolve(self, file: &File) -> Result<KernelInfo, LoadError> {
        let error = |reason: String| LoadError::Kernel { kernel: self.name.clone(), reason };
        let address = file
            .symbol_address(&self.symbol)
            .ok_or_else(|| error(format!("its descriptor, symbol {:?}, is not defined", self.symbol)))?;
        let mut bytes = [0; descriptor::SIZE];
        if !file.image.read(address, &mut bytes) {
            return Err(error(format!("its descriptor at {address:#x} is outside the image")));
        }
        let descriptor = KernelDescriptor::read(&bytes);
        let entry = address.wrapping_add_signed(descriptor.kernel_code_entry_byte_offset);
        if entry % 4 != 0 || !file.image.executable(entry) {
            return Err(error(format!("its entry point {entry:#x} is not in an executable segment")));
        }
        let kernarg_size = self.kernarg_size.max(descriptor.kernarg_size);
        if kernarg_size > MAX_KERNARG {
            return Err(error(format!("its kernarg segment has {kernarg_size} bytes, the limit is {MAX_KERNARG}")));
        }
        let mut args = Vec::with_capacity(self.args.len());
        for (i, raw) in self.args.iter().enumerate() {
            let end = raw.offset.checked_add(raw.size).filter(|end| *end <= kernarg_size);
            if end.is_none() {
                let (offset, size) = (raw.offset, raw.size);
                return Err(error(format!(
                    "argument {i} ({size} bytes at {offset}) is outside the {kernarg_size} bytes of its kernarg segment"
                )));
            }
            let kind = ValueKind::parse(&raw.value_kind);
            args.push(Arg { name: raw.name.clone(), offset: raw.offset, size: raw.size, kind });
        }
        let wavefront_size = match self.wavefront_size {
            0 if descriptor.wave32() => 32,
            0 => 64,
            size @ (32 | 64) => size,
            size => return Err(error(format!("wavefront size {size}"))),
        };
        let kind = match self.kind.as_deref() {
            Some("init") => KernelKind::Init,
            Some("fini") => KernelKind::Fini,
            _ => KernelKind::Normal,
        };
        Ok(KernelInfo {
            kind,
            args,
            kernarg_size,
            kernarg_align: self.kernarg_align.clamp(1, 4096),
            lds_size: self.lds_size.max(descriptor.group_segment_fixed_size),
            private_size: self.private_size.max(descriptor.private_segment_fixed_size),
            dynamic_stack: self.dynamic_stack || descriptor.dynamic_stack(),
            vgpr_count: self.vgpr_count,
            agpr_count: self.agpr_count,
            sgpr_count: self.sgpr_count,
            max_workgroup_size: if self.max_workgroup_size == 0 { 1024 } else { self.max_workgroup_size },
            required_workgroup_size: self.required_workgroup_size.filter(|s| s.iter().all(|&n| n > 0)),
            wavefront_size,
            descriptor,
            entry,
            descriptor_address: address,
            name: self.name,
            symbol: self.symbol,
        })
    }
}
