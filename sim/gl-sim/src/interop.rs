//! Mesa's interop with other drivers (`GL/mesa_glinterop.h`): the location of the GPU, and the memory of an object.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, PoisonError};

use crate::state::{Buffer, Context, Gpu, Group, Image, lock};
use crate::x11::Display;

const SUCCESS: c_int = 0;
const OUT_OF_RESOURCES: c_int = 1;
const INVALID_VERSION: c_int = 4;
const INVALID_CONTEXT: c_int = 6;
const INVALID_TARGET: c_int = 7;
const INVALID_OBJECT: c_int = 8;
const INVALID_MIP_LEVEL: c_int = 9;

const ARRAY_BUFFER: u32 = 0x8892;

/// The PCI domain of the software GPUs.
const DOMAIN: u32 = 0x5349;

/// `struct mesa_glinterop_device_info`, version 1.
#[repr(C)]
pub(crate) struct DeviceInfo {
    version: u32,
    pci_segment_group: u32,
    pci_bus: u32,
    pci_device: u32,
    pci_function: u32,
    vendor_id: u32,
    device_id: u32,
}

/// `struct mesa_glinterop_export_in`, version 1.
#[repr(C)]
pub(crate) struct ExportIn {
    version: u32,
    target: u32,
    object: u32,
    level: u32,
    access: u32,
    driver_data_size: u32,
    driver_data: *mut c_void,
}

/// `struct mesa_glinterop_export_out`, version 1.
#[repr(C)]
pub(crate) struct ExportOut {
    version: u32,
    descriptor: c_int,
    internal_format: u32,
    offset: isize,
    size: isize,
    view_first_level: u32,
    view_levels: u32,
    view_first_layer: u32,
    view_layers: u32,
    driver_data_written: u32,
}

const _: () = assert!(size_of::<DeviceInfo>() == 28 && size_of::<ExportIn>() == 32 && size_of::<ExportOut>() == 56);

/// The device ID that the software GPU reports.
fn chip() -> u32 {
    match std::env::var("HIP_SIM_ARCH").as_deref() {
        Ok("gfx942") => 0x74a1,
        _ => 0x7408,
    }
}

/// Returns the GPU of a context.
///
/// # Safety
/// `out` is null or points to one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn MesaGLInteropGLXQueryDeviceInfo(
    _: *mut Display,
    context: *mut c_void,
    out: *mut DeviceInfo,
) -> c_int {
    // SAFETY: the caller vouches for it.
    let Some(out) = (unsafe { out.as_mut() }) else { return INVALID_VERSION };
    if out.version == 0 {
        return INVALID_VERSION;
    }
    let Some(gpu) = lock().contexts.get(&context.addr()).map(|context| context.gpu) else { return INVALID_CONTEXT };
    let (pci_segment_group, pci_bus, vendor_id, device_id) = match gpu {
        Gpu::Software(number) => (DOMAIN, number + 1, 0x1002, chip()),
        Gpu::Other => (0, 0, 0x8086, 1),
    };
    *out = DeviceInfo { version: 1, pci_segment_group, pci_bus, pci_device: 0, pci_function: 0, vendor_id, device_id };
    SUCCESS
}

/// Exports the memory of a buffer, or of a texture with its image descriptor.
///
/// # Safety
/// `input` and `out` are null or point to one each, and `driver_data` to as many bytes as it says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn MesaGLInteropGLXExportObject(
    _: *mut Display,
    context: *mut c_void,
    input: *mut ExportIn,
    out: *mut ExportOut,
) -> c_int {
    // SAFETY: the caller vouches for both.
    let (Some(input), Some(out)) = (unsafe { (input.as_mut(), out.as_mut()) }) else { return INVALID_VERSION };
    if input.version == 0 || out.version == 0 {
        return INVALID_VERSION;
    }
    let state = lock();
    let Some(Context { group, .. }) = state.contexts.get(&context.addr()) else { return INVALID_CONTEXT };
    let group = Arc::clone(group);
    let group = group.lock().unwrap_or_else(PoisonError::into_inner);
    (input.version, out.version) = (1, 1);
    let exported = if input.target == ARRAY_BUFFER { buffer(&group, input) } else { texture(&group, input) };
    match exported {
        Ok(exported) if exported.descriptor < 0 => OUT_OF_RESOURCES,
        Ok(exported) => {
            *out = exported;
            SUCCESS
        }
        Err(status) => status,
    }
}

/// Describes an object's memory.
fn exported(descriptor: c_int, internal_format: u32, offset: usize, size: usize, written: usize) -> ExportOut {
    ExportOut {
        version: 1,
        descriptor,
        internal_format,
        offset: offset as isize,
        size: size as isize,
        view_first_level: 0,
        view_levels: 1,
        view_first_layer: 0,
        view_layers: 1,
        driver_data_written: written as u32,
    }
}

fn buffer(group: &Group, input: &ExportIn) -> Result<ExportOut, c_int> {
    match group.buffers.get(&input.object) {
        Some(Some(Buffer { store: Some(store) })) => Ok(exported(store.export(), 0, store.offset, store.bytes, 0)),
        _ => Err(INVALID_OBJECT),
    }
}

fn texture(group: &Group, input: &mut ExportIn) -> Result<ExportOut, c_int> {
    let texture = group.textures.get(&input.object).and_then(Option::as_ref).ok_or(INVALID_OBJECT)?;
    if texture.target != input.target {
        return Err(INVALID_TARGET);
    }
    if input.level != 0 {
        return Err(INVALID_MIP_LEVEL);
    }
    let image = texture.image.as_ref().ok_or(INVALID_OBJECT)?;
    let words = descriptor(image);
    let written = if input.driver_data.is_null() || (input.driver_data_size as usize) < size_of_val(&words) {
        0
    } else {
        // SAFETY: the caller vouches for that many bytes.
        unsafe { input.driver_data.cast::<[u32; 8]>().write_unaligned(words) };
        size_of_val(&words)
    };
    let Image { format, store, .. } = image;
    Ok(exported(store.export(), format.internal, store.offset, store.bytes, written))
}

/// The image descriptor according to AMD's CDNA2 ISA manual. The importer fills in the address.
fn descriptor(image: &Image) -> [u32; 8] {
    let Image { format, size, pitch, .. } = image;
    let [width, height, depth] = size.map(|size| size as u32);
    let select = format.select.iter().rev().fold(0, |bits, select| bits << 3 | select);
    let shape = if depth > 1 { 10 } else { 9 };
    let pitch = (pitch / format.bytes) as u32;
    let mut words = [0; 8];
    words[1] = format.data << 20 | format.number << 26;
    words[2] = (width - 1) | (height - 1) << 14;
    words[3] = select | shape << 28;
    words[4] = (depth - 1) | (pitch - 1) << 13;
    words
}
