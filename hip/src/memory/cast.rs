//! Casts of device memory to another element type.

use bytemuck::Pod;

use super::{DeviceSlice, DeviceSliceMut};
use crate::core::error::{Error, Result};

/// Returns the number of `U` in the `bytes` bytes at `address`.
fn fits<T, U>(address: usize, bytes: usize) -> Result<usize> {
    let (size, align) = (size_of::<U>(), align_of::<U>());
    if size == 0 {
        return Err(Error::ZeroSizedType { type_name: std::any::type_name::<U>() });
    }
    let refused = |value: String, allowed: String| Error::InvalidValue {
        what: "device memory to be seen as elements of another type",
        value: format!("{value}, a slice of {}", std::any::type_name::<T>()),
        allowed: format!("{allowed}, for {}", std::any::type_name::<U>()),
    };
    if bytes % size != 0 {
        return Err(refused(format!("{bytes} bytes long"), format!("a multiple of {size} bytes long")));
    }
    if address % align != 0 {
        return Err(refused(format!("at {address:#x}"), format!("at a multiple of {align}")));
    }
    Ok(bytes / size)
}

impl<'a, T: Pod> DeviceSlice<'a, T> {
    /// Returns the same bytes as elements of another type. Any bytes are a valid value of a [`Pod`] type.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer};
    ///
    /// let numbers = DeviceBuffer::from_slice(&Device::get(0)?, &[1.0f32, -2.0])?;
    /// assert_eq!(numbers.as_slice().cast::<u32>()?.to_vec()?, [0x3f80_0000, 0xc000_0000]);
    /// assert!(numbers.as_slice().cast::<[f32; 3]>().is_err());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the size is not a multiple of `U`'s, or if they are not aligned for it;
    /// [`Error::ZeroSizedType`].
    pub fn cast<U: Pod>(self) -> Result<DeviceSlice<'a, U>> {
        let len = fits::<T, U>(self.pointer() as usize, self.byte_len())?;
        Ok(DeviceSlice::new(self.memory(), self.byte_offset(), len))
    }
}

impl<'a, T: Pod> DeviceSliceMut<'a, T> {
    /// Converts this slice to a mutable slice of the same bytes as elements of another type.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the size is not a multiple of `U`'s, or if they are not aligned for it;
    /// [`Error::ZeroSizedType`].
    pub fn cast<U: Pod>(self) -> Result<DeviceSliceMut<'a, U>> {
        let len = fits::<T, U>(self.pointer() as usize, self.byte_len())?;
        Ok(DeviceSliceMut::new(self.memory(), self.byte_offset(), len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_and_alignment_must_fit() {
        assert_eq!(fits::<u8, u32>(64, 12).unwrap(), 3);
        assert_eq!(fits::<u8, [u8; 3]>(65, 12).unwrap(), 4);
        assert_eq!(fits::<u8, u64>(0, 0).unwrap(), 0, "nothing is anything");
        let size = fits::<u8, u32>(64, 10).unwrap_err().to_string();
        assert!(size.contains("10 bytes long, a slice of u8") && size.contains("a multiple of 4 bytes long"), "{size}");
        let align = fits::<u8, u32>(66, 12).unwrap_err().to_string();
        assert!(align.contains("at 0x42") && align.contains("at a multiple of 4"), "{align}");
        assert!(matches!(fits::<u8, ()>(64, 12), Err(Error::ZeroSizedType { .. })));
    }
}
