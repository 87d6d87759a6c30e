//! Code that the runtime has loaded: the copy that it reads, and the variables that buffers have.

use std::ops::Range;
use std::sync::Arc;

#[cfg(feature = "rocm-7-1")]
use super::image::select_inert;
#[cfg(feature = "rocm-7-1")]
use super::metadata::KernelInfo;
#[cfg(feature = "rocm-7-1")]
use crate::core::arch::Arch;
#[cfg(feature = "rocm-7-1")]
use crate::core::error::Result;
use crate::core::lock::Mutex;

/// The bytes of variables that buffers have, so that no two buffers overlap.
pub(crate) type Variables = Arc<Mutex<Vec<Range<usize>>>>;

/// A copy of a code object, aligned as a loader maps it.
#[derive(Default)]
pub(crate) struct Image {
    storage: Vec<u8>,
    start: usize,
}

impl Image {
    const ALIGN: usize = 4096;

    pub(super) fn copy(bytes: &[u8]) -> Self {
        let mut storage = Vec::with_capacity(bytes.len() + Self::ALIGN);
        let misaligned = storage.as_ptr() as usize % Self::ALIGN;
        let start = if misaligned == 0 { 0 } else { Self::ALIGN - misaligned };
        storage.resize(start, 0);
        storage.extend_from_slice(bytes);
        Self { storage, start }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.storage[self.start..]
    }
}

/// Returns the checked code object in `image` for an architecture, with its metadata.
#[cfg(feature = "rocm-7-1")]
pub(crate) fn image_for(image: &[u8], arch: &Arch) -> Result<(Image, Vec<Arc<KernelInfo>>)> {
    let object = select_inert(image, arch)?;
    Ok((Image::copy(&object.bytes), object.metadata.kernels.into_values().map(Arc::new).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_copied_to_a_page_of_its_own() {
        for len in [1, 4095, 4096, 10_000] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let image = Image::copy(&bytes);
            assert_eq!(image.bytes(), bytes);
            assert_eq!(image.bytes().as_ptr() as usize % Image::ALIGN, 0);
        }
    }
}
