//! The C structures of DLPack 1.x, as `dlpack.h` lays them out.

use std::ffi::c_void;

/// The version of the structures that this crate writes: major, minor. Whoever reads them refuses another major number.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

/// `DLDeviceType`: a ROCm device's memory (`kDLROCM`).
pub const DL_ROCM: i32 = 10;
/// `DLDeviceType`: host memory that ROCm has pinned (`kDLROCMHost`).
pub const DL_ROCM_HOST: i32 = 11;

/// `DLManagedTensorVersioned::flags`: nobody may write to the elements (`DLPACK_FLAG_BITMASK_READ_ONLY`).
pub const FLAG_READ_ONLY: u64 = 1;
/// `DLManagedTensorVersioned::flags`: the elements are a copy (`DLPACK_FLAG_BITMASK_IS_COPIED`).
pub const FLAG_IS_COPIED: u64 = 2;

/// A version of DLPack.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)]
pub struct DLPackVersion {
    /// Another one lays structures out differently.
    pub major: u32,
    /// Another one only adds numbers of types and devices.
    pub minor: u32,
}

/// Where a tensor is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// The kind of device: [`DL_ROCM`], [`DL_ROCM_HOST`], or one that is not ROCm's.
    pub device_type: i32,
    /// Which of them.
    pub device_id: i32,
}

/// What the elements are.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDataType {
    /// The kind of number (`DLDataTypeCode`).
    pub code: u8,
    /// Bits of each number; of a complex one both parts together.
    pub bits: u8,
    /// Numbers in an element: more than 1 for vectors.
    pub lanes: u16,
}

/// A tensor that somebody else owns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The memory's address, as the device sees it.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DLDevice,
    /// Dimensions.
    pub ndim: i32,
    /// What the elements are.
    pub dtype: DLDataType,
    /// The extent of each dimension, in elements.
    pub shape: *mut i64,
    /// How many elements apart neighbours in each dimension are; null for row after row with no gaps.
    pub strides: *mut i64,
    /// Where the first element is, in bytes from `data`.
    pub byte_offset: u64,
}

/// A tensor with the function that gives it back, as before DLPack 1.0.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Gives the tensor back, with this structure; called once. Null if there is nothing to do.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A tensor with the function that gives it back.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// How what follows the deleter is laid out.
    pub version: DLPackVersion,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Gives the tensor back, with this structure; called once. Null if there is nothing to do.
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
