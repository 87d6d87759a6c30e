//! A stand-in of the driver with two devices. Each function notes its call in the calling thread.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;

use hip_sys::rocm_7_2::{HIP_ARRAY3D_DESCRIPTOR, HIP_RESOURCE_DESC, HIP_TEXTURE_DESC, hipArray_Format};

use crate::structures::{Copy2D, Copy3D, KernelNode, MemsetNode};

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    static STATUS: Cell<c_uint> = const { Cell::new(0) };
}

/// Installs the stand-in.
pub(super) fn install() {
    crate::driver::stand_in(lookup);
    calls();
}

/// Returns the calls of this thread since the last time, without those that find the context.
pub(super) fn calls() -> Vec<String> {
    CALLS.with_borrow_mut(std::mem::take)
}

/// Sets what `cuStreamSynchronize` and `cuStreamQuery` of this thread return.
pub(super) fn set_status(status: c_uint) {
    STATUS.set(status);
}

fn note(call: String) -> c_uint {
    CALLS.with_borrow_mut(|calls| calls.push(call));
    0
}

/// Defines functions that note their name and parameters, and the lookup by name.
macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $body:block)*) => {
        $(
            #[allow(non_snake_case, clippy::too_many_arguments)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> c_uint {
                // SAFETY: pointers come from this crate's calls, whose tests state what they are.
                #[allow(unused_unsafe)]
                unsafe { $body }
            }
        )*

        fn lookup(name: &CStr) -> Option<NonNull<c_void>> {
            let address: *const () = match name.to_str().ok()? {
                $(stringify!($name) => $name as *const (),)*
                _ => return None,
            };
            NonNull::new(address.cast_mut().cast())
        }
    };
}

functions! {
    fn cuInit(_flags: c_uint) { 0 }
    fn cuDeviceGetCount(count: *mut c_int) { count.write(2); 0 }
    fn cuCtxGetCurrent(to: *mut usize) { to.write(CURRENT.get()); 0 }
    fn cuCtxSetCurrent(context: usize) { CURRENT.set(context); note(format!("set context {context:#x}")) }
    fn cuDevicePrimaryCtxRetain(to: *mut usize, device: c_int) { to.write(0x1000 + device as usize); 0 }
    fn cuGetErrorName(code: c_uint, to: *mut *const c_char) {
        to.write(if code == 716 { c"CUDA_ERROR_MISALIGNED_ADDRESS".as_ptr() } else { c"CUDA_ERROR_OTHER".as_ptr() });
        0
    }
    fn cuGetErrorString(_code: c_uint, to: *mut *const c_char) { to.write(c"text of CUDA".as_ptr()); 0 }
    fn cuStreamSynchronize(stream: usize) { note(format!("synchronize {stream:#x}")); STATUS.get() }
    fn cuStreamQuery(_stream: usize) { STATUS.get() }
    fn cuMemAlloc_v2(to: *mut usize, bytes: usize) { to.write(0xd000); note(format!("alloc {bytes}")) }
    fn cuMemFree_v2(address: usize) { note(format!("free {address:#x}")) }
    fn cuMemHostAlloc(to: *mut usize, bytes: usize, flags: c_uint) { to.write(0xa000); note(format!("pinned {bytes} {flags}")) }
    fn cuMemHostRegister_v2(address: usize, bytes: usize, flags: c_uint) { note(format!("register {address:#x} {bytes} {flags}")) }
    fn cuEventCreate(to: *mut usize, flags: c_uint) { to.write(0xe0); note(format!("event {flags}")) }
    // Without `_v2`, as in older drivers.
    fn cuEventElapsedTime(ms: *mut f32, from: usize, to: usize) { ms.write(2.5); note(format!("elapsed {from:#x} {to:#x}")) }
    fn cuMemcpyAsync(dst: usize, src: usize, bytes: usize, stream: usize) { note(format!("copy {dst:#x} {src:#x} {bytes} {stream:#x}")) }
    fn cuMemsetD2D8Async(dst: usize, pitch: usize, value: u8, width: usize, height: usize, _stream: usize) {
        note(format!("fill {dst:#x} pitch {pitch} with {value}, {width} x {height}"))
    }
    fn cuMemcpy2DAsync_v2(copy: *const Copy2D, _stream: usize) {
        let copy = &*copy;
        let (src, dst) = ([copy.src_host, copy.src_device], [copy.dst_host, copy.dst_device]);
        note(format!(
            "2D {src:?} {:?} {} to {dst:?} {:?} {}, {} x {}", copy.src_type, copy.src_pitch, copy.dst_type,
            copy.dst_pitch, copy.width, copy.height,
        ))
    }
    fn cuMemcpy3DAsync_v2(copy: *const Copy3D, _stream: usize) { note(three(&*copy)) }
    fn cuGraphAddMemcpyNode(node: *mut usize, _graph: usize, _after: usize, count: usize, copy: *const Copy3D, context: usize) {
        node.write(0x9);
        note(format!("node after {count} in {context:#x}: {}", three(&*copy)))
    }
    fn cuGraphAddMemsetNode(_node: *mut usize, _graph: usize, _after: usize, _count: usize, fill: *const MemsetNode, context: usize) {
        let MemsetNode { dst, pitch, value, element, width, height } = *fill;
        note(format!("fill node in {context:#x}: {dst:?} pitch {pitch} with {value} of {element}, {width} x {height}"))
    }
    fn cuGraphAddKernelNode(_node: *mut usize, _graph: usize, _after: usize, _count: usize, kernel: *const KernelNode) {
        let kernel = &*kernel;
        let extra = std::slice::from_raw_parts(kernel.extra.cast::<usize>(), 5);
        note(format!("kernel node {:?} {:?} {:?} {} {extra:x?}", kernel.function, kernel.grid, kernel.block, kernel.shared))
    }
    fn cuGraphNodeGetType(node: usize, to: *mut c_uint) { to.write(node as c_uint); 0 }
    fn cuPointerGetAttributes(count: c_uint, attributes: *const c_uint, values: *const *mut c_void, address: usize) {
        // Device memory of device 1 from 0xd000 on, managed memory from 0xf000 on; other addresses are unknown.
        for index in 0..count as usize {
            let to = *values.add(index);
            let known = (0xd000..0x10000).contains(&address);
            match *attributes.add(index) {
                2 => to.cast::<c_uint>().write(if known { 2 } else { 0 }),
                3 => to.cast::<usize>().write(if known { address } else { 0 }),
                4 => to.cast::<usize>().write(0),
                8 => to.cast::<c_uint>().write(u32::from(address >= 0xf000 && known)),
                9 => to.cast::<c_int>().write(if known { 1 } else { -2 }),
                _ => return 1,
            }
        }
        0
    }
    fn cuArray3DGetDescriptor_v2(to: *mut HIP_ARRAY3D_DESCRIPTOR, _array: usize) {
        to.write(HIP_ARRAY3D_DESCRIPTOR { Format: hipArray_Format(32), NumChannels: 4, ..Default::default() });
        0
    }
    fn cuDeviceGetAttribute(to: *mut c_int, attribute: c_uint, device: c_int) { to.write(attribute as c_int * 10 + device); 0 }
    fn cuDeviceGetP2PAttribute(to: *mut c_int, attribute: c_uint, _from: c_int, _peer: c_int) { to.write(attribute as c_int); 0 }
    fn cuDriverGetVersion(to: *mut c_int) { to.write(13010); 0 }
    fn cuModuleLoadDataEx(_to: *mut usize, _image: usize, count: c_uint, options: *const c_uint, values: *const *mut c_void) {
        let options = std::slice::from_raw_parts(options, count as usize);
        let log = options.iter().position(|&option| option == 5).unwrap();
        let text = b"line 3: unknown instruction\0";
        (*values.add(log)).cast::<u8>().copy_from(text.as_ptr(), text.len());
        note(format!("load {options:?}"));
        218
    }
    fn cuFuncGetAttribute(to: *mut c_int, attribute: c_uint, _kernel: usize) { to.write(attribute as c_int); 0 }
    fn cuFuncSetAttribute(kernel: usize, attribute: c_uint, value: c_int) { note(format!("attribute {attribute} of {kernel:#x}: {value}")) }
    fn cuLaunchKernel(
        kernel: usize, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: usize,
        parameters: usize, extra: usize
    ) {
        note(format!("launch {kernel:#x} {gx} {gy} {gz} {bx} {by} {bz} {shared} {stream:#x} {parameters:#x} {extra:#x}"))
    }
    fn cuTexObjectCreate(to: *mut usize, from: *const HIP_RESOURCE_DESC, how: *const HIP_TEXTURE_DESC, view: usize) {
        to.write(0x7);
        let (from, how) = (&*from, &*how);
        let linear = from.res.linear;
        note(format!(
            "texture of {:?} {} bytes, format {} of {}, flags {:#x}, address mode {}, view {view}", linear.devPtr,
            linear.sizeInBytes, linear.format.0, linear.numChannels, how.flags, how.addressMode[1].0,
        ))
    }
    fn cuCtxEnablePeerAccess(peer: usize, flags: c_uint) { note(format!("peer {peer:#x} {flags}")) }
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { free.write(1); total.write(2); note("info".to_owned()) }
}

/// Describes a copy.
fn three(copy: &Copy3D) -> String {
    let src = (copy.src_x, copy.src_y, copy.src_z, copy.src_type, copy.src_host, copy.src_device, copy.src_array);
    let dst = (copy.dst_x, copy.dst_y, copy.dst_z, copy.dst_type, copy.dst_host, copy.dst_device, copy.dst_array);
    let size = (copy.width, copy.height, copy.depth);
    let rows = (copy.src_pitch, copy.src_height, copy.dst_pitch, copy.dst_height);
    format!("3D {src:?} to {dst:?}, size {size:?}, rows {rows:?}")
}
