//! Reports to `tracing` (feature `tracing`); the crate's page lists names and fields. Without the feature, these
//! functions are empty.

#[cfg(feature = "tracing")]
mod on {
    use tracing::span::EnteredSpan;

    use crate::core::device_table::Device;
    use crate::core::geometry::LaunchConfig;

    pub(crate) fn newer_release(release: &rocm_loader::Release) {
        let (major, minor) = rocm_loader::NEWEST_RELEASE;
        let known = format!("{major}.{minor}");
        tracing::warn!(name: "newer_release", target: "hip", %release, %known, "ROCm is newer than this crate knows");
    }

    #[inline]
    pub(crate) fn launch(device: Device, stream: u64, kernel: &str, config: Option<LaunchConfig>) {
        let device = device.index();
        match config {
            Some(LaunchConfig { grid, block, shared_bytes }) => {
                tracing::trace!(name: "launch", target: "hip", device, stream, kernel, %grid, %block, shared_bytes);
            }
            None => tracing::trace!(name: "launch", target: "hip", device, stream, graph = kernel),
        }
    }

    #[inline]
    pub(crate) fn copy(device: Option<Device>, stream: Option<u64>, kind: &'static str, bytes: usize) {
        let device = device.map(|device| device.index());
        tracing::trace!(name: "copy", target: "hip", device, stream, kind, bytes);
    }

    #[inline]
    pub(crate) fn fill(device: Device, stream: u64, bytes: usize) {
        tracing::trace!(name: "fill", target: "hip", device = device.index(), stream, bytes);
    }

    #[inline]
    pub(crate) fn allocation(device: Device, kind: &'static str, bytes: usize, address: usize) {
        let device = device.index();
        tracing::trace!(name: "allocation", target: "hip", device, kind, bytes, address = %format_args!("{address:#x}"));
    }

    #[inline]
    pub(crate) fn free(device: Device, address: usize) {
        tracing::trace!(name: "free", target: "hip", device = device.index(), address = %format_args!("{address:#x}"));
    }

    #[inline]
    pub(crate) fn wait(device: Device, stream: u64) -> EnteredSpan {
        tracing::trace_span!(target: "hip", "wait", device = device.index(), stream).entered()
    }

    #[inline]
    pub(crate) fn module_load(device: Device, bytes: usize) -> EnteredSpan {
        tracing::debug_span!(target: "hip", "module_load", device = device.index(), bytes).entered()
    }
}

#[cfg(not(feature = "tracing"))]
mod off {
    use crate::core::device_table::Device;
    use crate::core::geometry::LaunchConfig;

    pub(crate) fn newer_release(_: &rocm_loader::Release) {}

    #[inline(always)]
    pub(crate) fn launch(_: Device, _: u64, _: &str, _: Option<LaunchConfig>) {}

    #[inline(always)]
    pub(crate) fn copy(_: Option<Device>, _: Option<u64>, _: &'static str, _: usize) {}

    #[inline(always)]
    pub(crate) fn fill(_: Device, _: u64, _: usize) {}

    #[inline(always)]
    pub(crate) fn allocation(_: Device, _: &'static str, _: usize, _: usize) {}

    #[inline(always)]
    pub(crate) fn free(_: Device, _: usize) {}

    /// Stands for a span without the feature `tracing`.
    pub(crate) struct Nothing;

    #[inline(always)]
    pub(crate) fn wait(_: Device, _: u64) -> Nothing {
        Nothing
    }

    #[inline(always)]
    pub(crate) fn module_load(_: Device, _: usize) -> Nothing {
        Nothing
    }
}

#[cfg(not(feature = "tracing"))]
pub(crate) use off::*;
#[cfg(feature = "tracing")]
pub(crate) use on::*;
