//! Each test calls HIP's functions from the provider's table, and compares what reaches the driver.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use hip_sys::rocm_7_2::*;

use super::stand_in::{calls, install, set_status};
use crate::status::{last_error, last_fault};

/// Calls a function of the table with these parameters.
macro_rules! call {
    ($name:ident($($arg:expr => $ty:ty),* $(,)?)) => {{
        let function = crate::functions::find(stringify!($name)).unwrap().address();
        // SAFETY: the function of this name has these parameters, which the table's macro compares with the bindings.
        let function = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> hipError_t>(function) };
        // SAFETY: the stand-in only notes addresses; places for results are valid.
        unsafe { function($($arg),*) }
    }};
}

fn address(number: usize) -> *mut c_void {
    ptr::without_provenance_mut(number)
}

/// Installs the stand-in, and makes the context of device 0 current.
fn start() {
    install();
    let mut device = 0;
    assert_eq!(call!(hipCtxGetCurrent((&raw mut device).cast() => *mut c_void)), hipSuccess);
    calls();
}

#[test]
fn the_context_of_the_threads_device_is_current_before_a_call() {
    install();
    let (mut free, mut total) = (0_usize, 0_usize);
    let mut info = || call!(hipMemGetInfo(&raw mut free => *mut usize, &raw mut total => *mut usize));
    assert_eq!(info(), hipSuccess);
    assert_eq!(call!(hipSetDevice(1 => c_int)), hipSuccess);
    assert_eq!((info(), info()), (hipSuccess, hipSuccess));
    assert_eq!(calls(), ["set context 0x1000", "info", "set context 0x1001", "info", "info"]);
    assert_eq!(call!(hipSetDevice(2 => c_int)), hipErrorInvalidDevice);
    let mut device = 0;
    assert_eq!(call!(hipGetDevice(&raw mut device => *mut c_int)), hipSuccess);
    assert_eq!(device, 1, "unchanged by the failure");
}

#[test]
fn a_fault_is_a_launch_failure_with_cudas_own_text() {
    start();
    set_status(716);
    assert_eq!(call!(hipStreamSynchronize(ptr::null_mut() => *mut c_void)), hipErrorLaunchFailure);
    assert_eq!(last_fault().unwrap(), "cuStreamSynchronize: CUDA_ERROR_MISALIGNED_ADDRESS (716), text of CUDA");
    assert_eq!((last_error(true), last_error(true)), (hipErrorLaunchFailure, hipSuccess));
    set_status(600);
    assert_eq!(call!(hipStreamQuery(ptr::null_mut() => *mut c_void)), hipErrorNotReady);
    assert_eq!(last_error(false), hipSuccess, "not ready is no error");
    set_status(700);
    assert_eq!(call!(hipStreamQuery(ptr::null_mut() => *mut c_void)), hipErrorIllegalAddress, "the same number");
    set_status(54321);
    assert_eq!(call!(hipStreamQuery(ptr::null_mut() => *mut c_void)), hipErrorUnknown);
}

#[test]
fn allocations_keep_the_flags_that_cuda_has() {
    start();
    let mut to = ptr::null_mut();
    assert_eq!(call!(hipMalloc(&raw mut to => *mut *mut c_void, 100 => usize)), hipSuccess);
    assert_eq!(to, address(0xd000));
    assert_eq!(call!(hipMalloc(&raw mut to => *mut *mut c_void, 0 => usize)), hipSuccess);
    assert!(to.is_null());
    assert_eq!(call!(hipFree(to => *mut c_void)), hipSuccess);
    let flags = hipHostMallocCoherent | hipHostMallocWriteCombined;
    assert_eq!(call!(hipHostMalloc(&raw mut to => *mut *mut c_void, 64 => usize, flags => c_uint)), hipSuccess);
    // 8 is AMD's for coarse-grained memory, and CUDA's for read-only memory.
    assert_eq!(call!(hipHostRegister(address(0x10) => *mut c_void, 64 => usize, 8 => c_uint)), hipSuccess);
    let flags = hipEventReleaseToSystem | hipEventDisableTiming;
    assert_eq!(call!(hipEventCreateWithFlags(&raw mut to => *mut *mut c_void, flags => c_uint)), hipSuccess);
    assert_eq!(calls(), ["alloc 100", "pinned 64 7", "register 0x10 64 3", "event 2"]);
    let fine = call!(hipExtMallocWithFlags(&raw mut to => *mut *mut c_void, 64 => usize, 1 => c_uint));
    assert_eq!(fine, hipErrorNotSupported);
}

#[test]
fn an_older_version_of_a_function_is_used_if_the_driver_lacks_the_newest() {
    start();
    let mut ms = 0_f32;
    let (from, to) = (address(1), address(2));
    let status = call!(hipEventElapsedTime(&raw mut ms => *mut f32, from => *mut c_void, to => *mut c_void));
    assert_eq!((status, ms, calls()), (hipSuccess, 2.5, vec!["elapsed 0x1 0x2".to_owned()]));
    let missing = call!(hipGraphDestroy(address(3) => *mut c_void));
    assert_eq!(missing, hipErrorNotSupported);
    assert!(last_fault().unwrap().contains("no cuGraphDestroy"), "{:?}", last_fault());
}

#[test]
fn copies_of_rows_name_the_memory_of_both_ends() {
    start();
    let copy = |kind| {
        call!(hipMemcpy2DAsync(
            address(0xd100) => *mut c_void, 256 => usize, address(0x20) => *mut c_void, 128 => usize, 100 => usize,
            3 => usize, kind => hipMemcpyKind, ptr::null_mut() => *mut c_void,
        ))
    };
    assert_eq!((copy(hipMemcpyHostToDevice), copy(hipMemcpyDefault)), (hipSuccess, hipSuccess));
    let call = "2D [0x20, 0x0] MemoryType(1) 128 to [0x0, 0xd100] MemoryType(2) 256, 100 x 3";
    assert_eq!(calls(), [call, call]);
    assert_eq!(copy(hipMemcpyKind(77)), hipErrorInvalidMemcpyDirection);
    assert_eq!(calls(), [""; 0]);
}

#[test]
fn copies_with_an_array_count_bytes() {
    start();
    let copy = hipMemcpy3DParms {
        srcPtr: hipPitchedPtr { ptr: address(0xd000), pitch: 512, xsize: 32, ysize: 7 },
        srcPos: hipPos { x: 16, y: 1, z: 2 },
        dstArray: ptr::without_provenance_mut(0x5),
        dstPos: hipPos { x: 2, y: 3, z: 4 },
        extent: hipExtent { width: 10, height: 6, depth: 5 },
        kind: hipMemcpyDeviceToDevice,
        ..Default::default()
    };
    let status = call!(hipMemcpy3DAsync(&raw const copy => *const hipMemcpy3DParms, ptr::null_mut() => *mut c_void));
    assert_eq!(status, hipSuccess);
    // An element has 16 bytes. The position in pitched memory is in bytes already.
    let call = "3D (16, 1, 2, MemoryType(2), 0x0, 0xd000, 0x0) to (32, 3, 4, MemoryType(3), 0x0, 0x0, 0x5), \
                size (160, 6, 5), rows (512, 7, 0, 0)";
    assert_eq!(calls(), [call]);
    let both = hipMemcpy3DParms { dstPtr: copy.srcPtr, ..copy };
    let status = call!(hipMemcpy3DAsync(&raw const both => *const hipMemcpy3DParms, ptr::null_mut() => *mut c_void));
    assert_eq!(status, hipErrorInvalidValue, "an array and an address");
}

#[test]
fn slices_with_gaps_are_filled_one_by_one() {
    start();
    let fill = |ysize| {
        let memory = hipPitchedPtr { ptr: address(0x10000), pitch: 256, xsize: 100, ysize };
        let extent = hipExtent { width: 100, height: 2, depth: 2 };
        let stream = ptr::null_mut();
        call!(hipMemset3DAsync(memory => hipPitchedPtr, 0x1ff => c_int, extent => hipExtent, stream => *mut c_void))
    };
    assert_eq!((fill(2), fill(3)), (hipSuccess, hipSuccess));
    assert_eq!(
        calls(),
        [
            "fill 0x10000 pitch 256 with 255, 100 x 4",
            "fill 0x10000 pitch 256 with 255, 100 x 2",
            "fill 0x10300 pitch 256 with 255, 100 x 2",
        ]
    );
}

#[test]
fn nodes_of_graphs_are_translated() {
    start();
    let (mut node, graph) = (ptr::null_mut::<c_void>(), address(0x60));
    let fill = hipMemsetParams { dst: address(0xd000), elementSize: 2, height: 3, pitch: 64, value: 9, width: 5 };
    let status = call!(hipGraphAddMemsetNode(
        &raw mut node => *mut *mut c_void, graph => *mut c_void, ptr::null() => *const c_void, 0 => usize,
        &raw const fill => *const hipMemsetParams,
    ));
    assert_eq!(status, hipSuccess);
    let status = call!(hipGraphAddMemcpyNode1D(
        &raw mut node => *mut *mut c_void, graph => *mut c_void, ptr::null() => *const c_void, 1 => usize,
        address(0xd000) => *mut c_void, address(0x30) => *mut c_void, 40 => usize, hipMemcpyDefault => hipMemcpyKind,
    ));
    assert_eq!(status, hipSuccess);
    // HIP ends the list with 3, CUDA with 0.
    let mut extra = [address(1), address(0x51), address(2), address(0x52), address(3)];
    let kernel = hipKernelNodeParams {
        blockDim: dim3 { x: 4, y: 5, z: 6 },
        extra: extra.as_mut_ptr(),
        func: address(0x70),
        gridDim: dim3 { x: 1, y: 2, z: 3 },
        kernelParams: ptr::null_mut(),
        sharedMemBytes: 100_000,
    };
    let status = call!(hipGraphAddKernelNode(
        &raw mut node => *mut *mut c_void, graph => *mut c_void, ptr::null() => *const c_void, 0 => usize,
        &raw const kernel => *const hipKernelNodeParams,
    ));
    assert_eq!(status, hipSuccess);
    assert_eq!(
        calls(),
        [
            "fill node in 0x1000: 0xd000 pitch 64 with 9 of 2, 5 x 3",
            "node after 1 in 0x1000: 3D (0, 0, 0, MemoryType(1), 0x30, 0x0, 0x0) to (0, 0, 0, MemoryType(2), 0x0, 0xd000, 0x0), \
         size (40, 1, 1), rows (40, 1, 40, 1)",
            "attribute 8 of 0x70: 100000",
            "kernel node 0x70 [1, 2, 3] [4, 5, 6] 100000 [1, 51, 2, 52, 0]",
        ]
    );
    let mut kind = hipGraphNodeType(0);
    for (cuda, hip) in [(0, hipGraphNodeTypeKernel), (11, hipGraphNodeTypeMemFree), (12, hipGraphNodeTypeBatchMemOp)] {
        let status = call!(hipGraphNodeGetType(address(cuda) => *mut c_void, &raw mut kind => *mut hipGraphNodeType));
        assert_eq!((status, kind), (hipSuccess, hip));
    }
}

#[test]
fn launches_opt_in_to_large_shared_memory() {
    start();
    let launch = |shared, extra: *mut *mut c_void| {
        call!(hipModuleLaunchKernel(
            address(0x70) => *mut c_void, 1 => c_uint, 2 => c_uint, 3 => c_uint, 4 => c_uint, 5 => c_uint, 6 => c_uint,
            shared => c_uint, address(0x80) => *mut c_void, address(0x90) => *mut c_void, extra => *mut *mut c_void,
        ))
    };
    let none = ptr::null_mut();
    assert_eq!((launch(48 << 10, none), launch(64 << 10, none)), (hipSuccess, hipSuccess));
    assert_eq!(
        calls(),
        [
            "launch 0x70 1 2 3 4 5 6 49152 0x80 0x90 0x0",
            "attribute 8 of 0x70: 65536",
            "launch 0x70 1 2 3 4 5 6 65536 0x80 0x90 0x0",
        ]
    );
    let mut unknown = [address(9), address(9)];
    assert_eq!(launch(0, unknown.as_mut_ptr()), hipErrorInvalidValue);
}

#[test]
fn attributes_have_cudas_numbers() {
    start();
    let mut value = 0;
    let mut get = |attribute: hipDeviceAttribute_t| {
        let to = &raw mut value;
        let status = call!(hipDeviceGetAttribute(to => *mut c_int, attribute => hipDeviceAttribute_t, 1 => c_int));
        (status, value)
    };
    assert_eq!(get(hipDeviceAttributeWarpSize), (hipSuccess, 101));
    assert_eq!(get(hipDeviceAttributeAsyncEngineCount), (hipSuccess, 401));
    assert_eq!(get(hipDeviceAttributeSharedMemPerBlockOptin), (hipSuccess, 971));
    assert_eq!(get(hipDeviceAttributeWallClockRate), (hipSuccess, 1_000_000));
    assert_eq!(get(hipDeviceAttributeHdpMemFlushCntl).0, hipErrorInvalidValue);
    let mut link = 0;
    let rank = call!(hipDeviceGetP2PAttribute(
        &raw mut link => *mut c_int, hipDevP2PAttrPerformanceRank => hipDeviceP2PAttr, 0 => c_int, 1 => c_int,
    ));
    assert_eq!((rank, link), (hipSuccess, 1));
    let mut version = 0;
    assert_eq!(call!(hipDriverGetVersion(&raw mut version => *mut c_int)), hipSuccess);
    assert_eq!(version, 130_100_000);
}

#[test]
fn addresses_have_hips_memory_types() {
    start();
    let of = |number| {
        let mut about = hipPointerAttribute_t::default();
        let to = &raw mut about;
        let status = call!(hipPointerGetAttributes(to => *mut hipPointerAttribute_t, address(number) => *mut c_void));
        assert_eq!(status, hipSuccess);
        (about.type_, about.device, about.isManaged, about.devicePointer)
    };
    assert_eq!(of(0xd010), (hipMemoryTypeDevice, 1, 0, address(0xd010)));
    assert_eq!(of(0xf010), (hipMemoryTypeManaged, 1, 1, address(0xf010)));
    assert_eq!(of(0x10), (hipMemoryTypeUnregistered, -1, 0, ptr::null_mut()));
}

#[test]
fn the_compilers_messages_are_part_of_the_failure() {
    start();
    let (mut module, mut options, mut values) = (ptr::null_mut::<c_void>(), [hipJitOption(27)], [address(512)]);
    let status = call!(hipModuleLoadDataEx(
        &raw mut module => *mut *mut c_void, address(0x40) => *mut c_void, 1 => c_uint,
        options.as_mut_ptr() => *mut hipJitOption, values.as_mut_ptr() => *mut *mut c_void,
    ));
    assert_eq!((status, calls()), (hipErrorInvalidKernelFile, vec!["load [32, 5, 6]".to_owned()]));
    assert!(last_fault().unwrap().ends_with("\nline 3: unknown instruction"), "{:?}", last_fault());
    options[0] = hipJitOptionIRtoISAOptExt;
    let status = call!(hipModuleLoadDataEx(
        &raw mut module => *mut *mut c_void, address(0x40) => *mut c_void, 1 => c_uint,
        options.as_mut_ptr() => *mut hipJitOption, values.as_mut_ptr() => *mut *mut c_void,
    ));
    assert_eq!((status, calls().len()), (hipErrorNotSupported, 0), "an option of AMD's compiler");
}

#[test]
fn textures_of_plain_memory_are_translated() {
    start();
    let mut from = hipResourceDesc { resType: hipResourceTypeLinear, ..Default::default() };
    from.res.linear = hipResourceDesc_res_linear {
        devPtr: address(0xd000),
        desc: hipChannelFormatDesc { x: 16, y: 16, z: 0, w: 0, f: hipChannelFormatKindSigned },
        sizeInBytes: 400,
    };
    let how = hipTextureDesc {
        addressMode: [hipAddressModeWrap, hipAddressModeBorder, hipAddressModeWrap],
        normalizedCoords: 1,
        sRGB: 1,
        readMode: hipReadModeElementType,
        ..Default::default()
    };
    let mut texture = ptr::null_mut::<c_void>();
    let status = call!(hipCreateTextureObject(
        &raw mut texture => *mut *mut c_void, &raw const from => *const hipResourceDesc,
        &raw const how => *const hipTextureDesc, ptr::null() => *const c_void,
    ));
    assert_eq!(status, hipSuccess);
    assert_eq!(calls(), ["texture of 0xd000 400 bytes, format 9 of 2, flags 0x13, address mode 3, view 0"]);
}

#[test]
fn access_to_a_peer_names_its_context() {
    start();
    assert_eq!(call!(hipDeviceEnablePeerAccess(1 => c_int, 0 => c_uint)), hipSuccess);
    assert_eq!(call!(hipDeviceEnablePeerAccess(5 => c_int, 0 => c_uint)), hipErrorInvalidDevice);
    assert_eq!(calls(), ["peer 0x1001 0"]);
}

#[test]
fn every_name_of_the_table_is_one_of_hips() {
    for &(name, _) in crate::functions::all() {
        let known = hip_sys::coverage::FUNCTIONS.binary_search_by(|f| f.0.cmp(name)).is_ok();
        assert!(known, "{name}");
    }
    assert!(crate::functions::all().count() > 220);
}
