//! The C structures of DLPack 1.x, as `dlpack.h` lays them out.

use std::ffi::c_void;

use crate::core::error::{Error, Result};
use crate::core::nvidia;

/// The version of the structures that this crate writes: major, minor. Readers reject other major versions.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

/// `DLDeviceType`: a ROCm device's memory (`kDLROCM`).
pub const DL_ROCM: i32 = 10;
/// `DLDeviceType`: host memory that ROCm has pinned (`kDLROCMHost`).
pub const DL_ROCM_HOST: i32 = 11;

/// `DLDeviceType`: a CUDA device's memory (`kDLCUDA`), with [`Backend::Cuda`](crate::Backend::Cuda).
pub const DL_CUDA: i32 = 2;
/// `DLDeviceType`: host memory that CUDA has pinned (`kDLCUDAHost`).
pub const DL_CUDA_HOST: i32 = 3;
/// `DLDeviceType`: CUDA's managed memory (`kDLCUDAManaged`). Imported as memory of the device.
pub const DL_CUDA_MANAGED: i32 = 13;

/// The kinds of memory of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    /// The name for messages.
    pub(super) name: &'static str,
    pub(super) device: i32,
    pub(super) pinned: i32,
    pub(super) managed: Option<i32>,
}

impl Kinds {
    /// Returns those of the backend in use.
    pub(super) fn in_use() -> Self {
        Self::of(nvidia::is_in_use())
    }

    const fn of(is_nvidia: bool) -> Self {
        if is_nvidia {
            Self { name: "CUDA", device: DL_CUDA, pinned: DL_CUDA_HOST, managed: Some(DL_CUDA_MANAGED) }
        } else {
            Self { name: "ROCm", device: DL_ROCM, pinned: DL_ROCM_HOST, managed: None }
        }
    }

    /// Returns whether a tensor of this type is in pinned host memory.
    pub(super) fn is_pinned(self, device_type: i32) -> Result<bool> {
        let Self { name, device, pinned, managed } = self;
        if device_type == pinned {
            return Ok(true);
        }
        if device_type == device || Some(device_type) == managed {
            return Ok(false);
        }
        let allowed = format!("{device} ({name}) or {pinned} (memory pinned by {name})");
        Err(Error::InvalidValue {
            what: "a DLPack tensor",
            value: format!("on a device of type {device_type}"),
            allowed,
        })
    }
}

/// `DLManagedTensorVersioned::flags`: the elements are read-only (`DLPACK_FLAG_BITMASK_READ_ONLY`).
pub const FLAG_READ_ONLY: u64 = 1;
/// `DLManagedTensorVersioned::flags`: the elements are a copy (`DLPACK_FLAG_BITMASK_IS_COPIED`).
pub const FLAG_IS_COPIED: u64 = 2;

/// A version of DLPack.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)]
pub struct DLPackVersion {
    /// Major version: changes of it change the layout.
    pub major: u32,
    /// Minor version: changes of it only add types and devices.
    pub minor: u32,
}

/// The device of a tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// The kind of device: [`DL_ROCM`], [`DL_ROCM_HOST`], [`DL_CUDA`], [`DL_CUDA_HOST`], or another.
    pub device_type: i32,
    /// The index of the device.
    pub device_id: i32,
}

/// The type of the elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDataType {
    /// The kind of number (`DLDataTypeCode`).
    pub code: u8,
    /// Bits of each number; for a complex number, of both parts together.
    pub bits: u8,
    /// Numbers per element: more than 1 for vectors.
    pub lanes: u16,
}

/// A tensor, without ownership.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The address of the memory, for the device.
    pub data: *mut c_void,
    /// The device.
    pub device: DLDevice,
    /// Number of dimensions.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// The extent of each dimension, in elements. `ndim` entries.
    pub shape: *mut i64,
    /// The stride of each dimension, in elements; null for row-major order without gaps.
    pub strides: *mut i64,
    /// Offset of the first element from `data`, in bytes.
    pub byte_offset: u64,
}

/// A tensor with the function that releases it, as before DLPack 1.0.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// Data of the owner.
    pub manager_ctx: *mut c_void,
    /// Releases the tensor and this structure; called once. Null if there is nothing to release.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A tensor with the function that releases it.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version of the structure.
    pub version: DLPackVersion,
    /// Data of the owner.
    pub manager_ctx: *mut c_void,
    /// Releases the tensor and this structure; called once. Null if there is nothing to release.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`FLAG_READ_ONLY`], [`FLAG_IS_COPIED`].
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn each_backend_has_its_kinds_of_memory() {
        let (amd, nvidia) = (Kinds::of(false), Kinds::of(true));
        assert_eq!([10, 11].map(|kind| amd.is_pinned(kind).unwrap()), [false, true]);
        assert_eq!([2, 3, 13].map(|kind| nvidia.is_pinned(kind).unwrap()), [false, true, false]);
        for (kinds, others) in [(amd, [2, 3, 13, 1]), (nvidia, [10, 11, 1, 14])] {
            for other in others {
                let text = kinds.is_pinned(other).unwrap_err().to_string();
                assert!(
                    text.contains(&format!("of type {other}, but must be {} ({})", kinds.device, kinds.name)),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn structures_lie_as_in_c() {
        assert_eq!((size_of::<DLDataType>(), size_of::<DLDevice>(), size_of::<DLTensor>()), (4, 8, 48));
        assert_eq!((offset_of!(DLTensor, ndim), offset_of!(DLTensor, dtype)), (16, 20));
        assert_eq!((offset_of!(DLTensor, shape), offset_of!(DLTensor, byte_offset)), (24, 40));
        assert_eq!((size_of::<DLManagedTensor>(), offset_of!(DLManagedTensor, deleter)), (64, 56));
        assert_eq!(size_of::<DLManagedTensorVersioned>(), 80);
        assert_eq!(offset_of!(DLManagedTensorVersioned, deleter), 16);
        assert_eq!(offset_of!(DLManagedTensorVersioned, dl_tensor), 32);
    }
}
