//! Functions with addresses that no runtime on the software GPU can run: the arguments that reach HIP, and the results
//! that it returns.
//!
//! In these tests, HIP consists of functions of this test, in a separate process.

use std::ffi::{CStr, c_uint, c_void};
use std::ptr::{NonNull, null_mut};

use cuda_compat::driver::*;
use hip_sys::{hipDeviceptr_t, hipError_t, hipErrorInvalidValue, hipSuccess};

const CHILD: &str = "CUDA_COMPAT_TEST_RECORDED";
/// An address on a device, which uses all bytes.
const ADDRESS: CUdeviceptr = 0x7f12_3456_789a_bcde;

fn pointer(address: CUdeviceptr) -> *mut c_void {
    std::ptr::without_provenance_mut(address as usize)
}

fn handle<T>(number: usize) -> *mut T {
    std::ptr::without_provenance_mut(number)
}

/// Checks the recorded arguments; if they differ, HIP's status reports it.
fn status(is_right: bool) -> hipError_t {
    if is_right { hipSuccess } else { hipErrorInvalidValue }
}

/// Writes a result, and returns a status.
unsafe fn give<T>(is_right: bool, place: *mut T, value: T) -> hipError_t {
    // SAFETY: the functions under test pass a place.
    unsafe { place.write(value) };
    status(is_right)
}

unsafe extern "C" fn tex_ref_set_address(
    offset: *mut usize,
    texture: *mut c_void,
    address: hipDeviceptr_t,
    bytes: usize,
) -> hipError_t {
    // SAFETY: the caller's contract.
    unsafe { give((texture.addr(), address, bytes) == (3, pointer(ADDRESS), 4096), offset, 16) }
}

unsafe extern "C" fn tex_ref_set_address_2d(
    texture: *mut c_void,
    descriptor: *const CUDA_ARRAY_DESCRIPTOR,
    address: hipDeviceptr_t,
    pitch: usize,
) -> hipError_t {
    // SAFETY: the test passes a descriptor.
    let width = unsafe { (*descriptor).Width };
    status((texture.addr(), width, address, pitch) == (3, 8, pointer(ADDRESS), 256))
}

unsafe extern "C" fn tex_ref_get_address(place: *mut hipDeviceptr_t, texture: *const c_void) -> hipError_t {
    // SAFETY: the caller's contract.
    unsafe { give(texture.addr() == 3, place, pointer(ADDRESS)) }
}

unsafe extern "C" fn mapped_buffer(
    place: *mut *mut c_void,
    memory: *mut c_void,
    description: *const c_void,
) -> hipError_t {
    // SAFETY: the caller's contract.
    unsafe { give(memory.addr() == 5 && !description.is_null(), place, pointer(ADDRESS)) }
}

unsafe extern "C" fn mapped_pointer(place: *mut *mut c_void, size: *mut usize, resource: *mut c_void) -> hipError_t {
    // SAFETY: the caller's contract.
    unsafe {
        size.write(77);
        give(resource.addr() == 6, place, pointer(ADDRESS))
    }
}

unsafe extern "C" fn map(count: i32, resources: *mut *mut c_void, stream: *mut c_void) -> hipError_t {
    // SAFETY: the test passes two resources.
    status((count, unsafe { *resources.add(1) }.addr(), stream.addr()) == (2, 6, 8))
}

unsafe extern "C" fn ipc_open(place: *mut *mut c_void, handle: CUipcMemHandle, flags: c_uint) -> hipError_t {
    // SAFETY: the caller's contract.
    unsafe { give((handle.reserved[0], flags) == (9, 1), place, pointer(ADDRESS)) }
}

unsafe extern "C" fn address_alone(address: *mut c_void) -> hipError_t {
    status(address == pointer(ADDRESS))
}

unsafe extern "C" fn pool_import(
    place: *mut *mut c_void,
    shared: *mut c_void,
    ty: c_uint,
    flags: c_uint,
) -> hipError_t {
    // SAFETY: the caller's contract.
    unsafe {
        give((shared.addr(), ty, flags) == (4, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0, 0), place, pointer(11))
    }
}

unsafe extern "C" fn pool_import_pointer(
    place: *mut *mut c_void,
    pool: *mut c_void,
    data: *mut CUmemPoolPtrExportData,
) -> hipError_t {
    // SAFETY: the caller's contract, and the test passes the data.
    unsafe { give((pool.addr(), (*data).reserved[0]) == (11, 7), place, pointer(ADDRESS)) }
}

unsafe extern "C" fn address_range(
    place: *mut c_void,
    address: hipDeviceptr_t,
    size: usize,
    ty: c_uint,
    flags: u64,
) -> hipError_t {
    // SAFETY: the test passes a place for a file's number.
    unsafe { give((address, size, ty, flags) == (pointer(ADDRESS), 64, 1, 1 << 40), place.cast::<i32>(), 12) }
}

unsafe extern "C" fn set_attribute(value: *const c_void, attribute: c_uint, address: hipDeviceptr_t) -> hipError_t {
    // SAFETY: the test passes a number.
    status(
        (unsafe { *value.cast::<i32>() }, attribute, address)
            == (1, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS.0, pointer(ADDRESS)),
    )
}

struct Recorded;

impl hip_sys::Provider for Recorded {
    fn name(&self) -> &str {
        "the test's HIP"
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let function = match name.to_str().ok()? {
            "hipTexRefSetAddress" => tex_ref_set_address as *const c_void,
            "hipTexRefSetAddress2D" => tex_ref_set_address_2d as *const c_void,
            "hipTexRefGetAddress" => tex_ref_get_address as *const c_void,
            "hipExternalMemoryGetMappedBuffer" => mapped_buffer as *const c_void,
            "hipGraphicsResourceGetMappedPointer" => mapped_pointer as *const c_void,
            "hipGraphicsMapResources" | "hipGraphicsUnmapResources" => map as *const c_void,
            "hipIpcOpenMemHandle" => ipc_open as *const c_void,
            "hipIpcCloseMemHandle" => address_alone as *const c_void,
            "hipMemPoolImportFromShareableHandle" => pool_import as *const c_void,
            "hipMemPoolImportPointer" => pool_import_pointer as *const c_void,
            "hipMemGetHandleForAddressRange" => address_range as *const c_void,
            "hipPointerSetAttribute" => set_attribute as *const c_void,
            _ => return None,
        };
        NonNull::new(function.cast_mut())
    }
}

#[track_caller]
fn ok(status: CUresult) {
    assert_eq!(status, CUDA_SUCCESS);
}

#[test]
fn addresses_arrive_at_hip_and_come_back() {
    if std::env::var_os(CHILD).is_none() {
        return crate::alone("recorded::addresses_arrive_at_hip_and_come_back", CHILD, "1");
    }
    hip_sys::set_provider(&Recorded).unwrap();
    let texture = handle::<hip_sys::textureReference>(3);
    let descriptor = CUDA_ARRAY_DESCRIPTOR { Width: 8, Height: 1, NumChannels: 1, ..Default::default() };
    let back = |call: &dyn Fn(*mut CUdeviceptr) -> CUresult| {
        let mut address: CUdeviceptr = 0;
        ok(call(&mut address));
        assert_eq!(address, ADDRESS);
    };
    // SAFETY: HIP is this test's functions, which read no handle, and there are places for the results.
    unsafe {
        for set in [cuTexRefSetAddress as unsafe extern "C" fn(_, _, _, _) -> _, cuTexRefSetAddress_v2] {
            let mut offset = 0;
            ok(set(&mut offset, texture, ADDRESS, 4096));
            assert_eq!(offset, 16);
            assert_ne!(set(&mut offset, texture, ADDRESS + 1, 4096), CUDA_SUCCESS, "the test can fail");
        }
        ok(cuTexRefSetAddress2D(texture, &descriptor, ADDRESS, 256));
        ok(cuTexRefSetAddress2D_v2(texture, &descriptor, ADDRESS, 256));
        back(&|place| cuTexRefGetAddress(place, texture));
        back(&|place| cuTexRefGetAddress_v2(place, texture));
        let description = Default::default();
        back(&|place| cuExternalMemoryGetMappedBuffer(place, handle(5), &description));
        for get in [
            cuGraphicsResourceGetMappedPointer as unsafe extern "C" fn(_, _, _) -> _,
            cuGraphicsResourceGetMappedPointer_v2,
        ] {
            let mut size = 0;
            let size: *mut usize = &mut size;
            back(&|place| get(place, size, handle(6)));
            assert_eq!(*size, 77);
        }
        let mut resources = [handle(1), handle(6)];
        ok(cuGraphicsMapResources(2, resources.as_mut_ptr(), handle(8)));
        ok(cuGraphicsUnmapResources(2, resources.as_mut_ptr(), handle(8)));
        let mut memory = CUipcMemHandle::default();
        memory.reserved[0] = 9;
        back(&|place| cuIpcOpenMemHandle(place, memory, 1));
        back(&|place| cuIpcOpenMemHandle_v2(place, memory, 1));
        ok(cuIpcCloseMemHandle(ADDRESS));
        let mut pool = null_mut();
        ok(cuMemPoolImportFromShareableHandle(&mut pool, handle(4), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        assert_eq!(pool.addr(), 11);
        // Flags of 64 bits that HIP's 32 cannot have are not dropped.
        let flags = 1 << 32;
        let status =
            cuMemPoolImportFromShareableHandle(&mut pool, handle(4), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, flags);
        assert_ne!(status, CUDA_SUCCESS);
        let mut exported = CUmemPoolPtrExportData::default();
        exported.reserved[0] = 7;
        let exported: *mut CUmemPoolPtrExportData = &mut exported;
        back(&|place| cuMemPoolImportPointer(place, pool, exported));
        let mut file = 0_i32;
        ok(cuMemGetHandleForAddressRange(
            (&raw mut file).cast(),
            ADDRESS,
            64,
            CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
            1 << 40,
        ));
        assert_eq!(file, 12);
        ok(cuPointerSetAttribute((&raw const ONE).cast(), CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, ADDRESS));
    }
}

static ONE: i32 = 1;

#[test]
fn a_runtime_refuses_what_is_not_there() {
    crate::start();
    let mut address: CUdeviceptr = 0;
    // SAFETY: room for the results; rejected arguments are not used.
    unsafe {
        assert_ne!(cuIpcOpenMemHandle(&mut address, CUipcMemHandle::default(), 1), CUDA_SUCCESS);
        assert_ne!(cuIpcCloseMemHandle(0), CUDA_SUCCESS);
        assert_ne!(cuExternalMemoryGetMappedBuffer(&mut address, null_mut(), &Default::default()), CUDA_SUCCESS);
        assert_ne!(cuGraphicsResourceGetMappedPointer(&mut address, &mut 0, null_mut()), CUDA_SUCCESS);
        assert_ne!(cuMemPoolImportPointer(&mut address, null_mut(), &mut Default::default()), CUDA_SUCCESS);
        assert_ne!(cuTexRefSetAddress(&mut 0, null_mut(), 0, 16), CUDA_SUCCESS);
        assert_ne!(cuTexRefGetAddress(&mut address, null_mut()), CUDA_SUCCESS);
        assert_ne!(cuPointerSetAttribute((&raw const ONE).cast(), CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0), CUDA_SUCCESS);
        assert_ne!(
            cuMemGetHandleForAddressRange((&raw mut address).cast(), 0, 64, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
            CUDA_SUCCESS
        );
    }
    assert_eq!(address, 0);
}

#[test]
fn memory_of_this_process_is_not_opened_again() {
    crate::start();
    let pointer = crate::upload(&[1, 2]);
    let mut handle = CUipcMemHandle::default();
    let mut address: CUdeviceptr = 0;
    // SAFETY: places for the results.
    unsafe {
        ok(cuIpcGetMemHandle(&mut handle, pointer));
        // As in CUDA, a handle is for other processes.
        assert_ne!(cuIpcOpenMemHandle(&mut address, handle, 1), CUDA_SUCCESS);
    }
    crate::free(pointer);
}

#[cfg(all(feature = "cufile", feature = "rocm-10-0"))]
#[test]
fn the_version_of_cufile_is_one_number() {
    use cuda_compat::cufile::*;
    const CUFILE: &str = "CUDA_COMPAT_TEST_CUFILE";

    unsafe extern "C" fn version(major: *mut u32, minor: *mut u32, patch: *mut u32) -> hipfile_sys::hipFileError_t {
        // SAFETY: the function under test passes places.
        unsafe {
            major.write(1);
            minor.write(13);
            patch.write(5);
        }
        hipfile_sys::hipFileError_t::default()
    }
    struct Library;
    impl hipfile_sys::Provider for Library {
        fn name(&self) -> &str {
            "the test's hipFile"
        }
        fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
            (name == c"hipFileGetVersion").then(|| NonNull::new(version as *mut c_void)).flatten()
        }
    }
    if std::env::var_os(CUFILE).is_none() {
        return crate::alone("recorded::the_version_of_cufile_is_one_number", CUFILE, "1");
    }
    hipfile_sys::set_provider(&Library).unwrap();
    let mut number = 0;
    // SAFETY: room for the result, or none, which is an error.
    unsafe {
        assert_eq!(cuFileGetVersion(&mut number).err, hipfile_sys::hipFileSuccess);
        assert_eq!(number, 1130);
        assert_ne!(cuFileGetVersion(null_mut()).err, hipfile_sys::hipFileSuccess);
    }
}
