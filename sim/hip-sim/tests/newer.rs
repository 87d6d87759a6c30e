//! Functions added in HIP 6.4 to 7.2, by name: batched copies, linking, stream attributes, function lookup. And device
//! limits.

mod common;

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use common::*;
use hip_sys::rocm_7_2::*;

const BAD: hipError_t = hipErrorInvalidValue;

type Batch = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut *mut c_void,
    *mut usize,
    usize,
    *mut c_void,
    *mut usize,
    usize,
    *mut usize,
    hipStream_t,
) -> hipError_t;

#[test]
fn a_batch_of_copies_is_done_as_a_whole_or_not_at_all() {
    let (data, s) = (upload(&[1_u64, 2, 3, 4, 5, 6]), stream(hipStreamNonBlocking));
    // SAFETY: the type of the function; lists are as long as is said, and the simulator checks the rest.
    unsafe {
        let queue: Batch = newer(c"hipMemcpyBatchAsync");
        let call = |to: [*mut c_void; 2], from: [*mut c_void; 2], sizes: [usize; 2], failed: *mut usize| {
            let (mut to, mut from, mut sizes) = (to, from, sizes);
            let (to, from, sizes) = (to.as_mut_ptr(), from.as_mut_ptr(), sizes.as_mut_ptr());
            queue(to, from, sizes, 2, null_mut(), null_mut(), 0, failed, s)
        };
        let at = |i: usize| data.byte_add(8 * i);
        let mut failed = 77;
        assert_eq!(call([at(0), at(1)], [at(4), at(5)], [8, 8], &mut failed), hipSuccess);
        assert_eq!(failed, usize::MAX);
        ok(hipStreamSynchronize(s));
        assert_eq!(download::<u64>(data, 6), [5, 6, 3, 4, 5, 6]);
        // Pageable memory is read before the call returns.
        let mut on_stack = 9_u64;
        ok(call([at(2), at(3)], [at(0), (&raw mut on_stack).cast()], [8, 8], &mut failed));
        on_stack = 0;
        assert_eq!((download::<u64>(data, 6)[2..4].to_vec(), on_stack), (vec![5, 9], 0));
        // An invalid copy is reported by its index, and no copy of the batch runs. As on AMD's runtime.
        for (to, from, size) in
            [(at(1), at(0), 0), (at(1), at(0), 1000), (null_mut(), at(0), 8), (at(1), null_mut(), 8)]
        {
            failed = 77;
            assert_eq!(call([at(0), to], [at(3), from], [8, size], &mut failed), BAD);
            assert_eq!(failed, 1);
        }
        assert_eq!(call([at(0); 2], [at(3); 2], [8; 2], null_mut()), BAD, "nowhere to say which");
        failed = 77;
        let (mut to, mut from, mut sizes, mut starts) = ([at(0)], [at(3)], [8], [0]);
        let (to, from, sizes) = (to.as_mut_ptr(), from.as_mut_ptr(), sizes.as_mut_ptr());
        assert_eq!(queue(to, from, sizes, 0, null_mut(), null_mut(), 0, &mut failed, s), BAD);
        assert_eq!(queue(null_mut(), from, sizes, 1, null_mut(), null_mut(), 0, &mut failed, s), BAD);
        let attributes = data;
        let status = queue(to, from, sizes, 1, attributes, starts.as_mut_ptr(), 1, &mut failed, s);
        assert_eq!(status, hipErrorNotSupported);
        let gone = stream(0);
        ok(hipStreamDestroy(gone));
        assert_eq!(queue(to, from, sizes, 1, null_mut(), null_mut(), 0, &mut failed, gone), hipErrorInvalidHandle);
        assert_eq!(failed, 77);
        ok(hipStreamSynchronize(s));
        assert_eq!(download::<u64>(data, 1), [5]);
        ok(hipStreamDestroy(s));
        hipGetLastError();
    }
    free(data);
}

/// `hipMemcpy3DOperand` of memory.
#[derive(Clone, Copy)]
#[repr(C)]
struct Operand {
    kind: u32,
    ptr: *mut c_void,
    row: usize,
    rows: usize,
    hint: [i32; 2],
}

/// `hipMemcpy3DBatchOp`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Copy {
    from: Operand,
    to: Operand,
    extent: hipExtent,
    order: u32,
    flags: u32,
}

#[test]
fn a_batch_of_boxes_is_checked_as_amds_runtime_does() {
    type Batch3 = unsafe extern "C" fn(usize, *mut Copy, *mut usize, u64, hipStream_t) -> hipError_t;
    let (data, s) = (upload(&std::array::from_fn::<u8, 64, _>(|i| i as u8)), stream(hipStreamNonBlocking));
    // SAFETY: the type of the function; lists are as long as is said, and the simulator checks the rest.
    unsafe {
        let queue: Batch3 = newer(c"hipMemcpy3DBatchAsync");
        let side = |ptr| Operand { kind: 1, ptr, row: 8, rows: 2, hint: [1, 0] };
        let extent = hipExtent { width: 4, height: 2, depth: 1 };
        let good = Copy { from: side(data), to: side(data.byte_add(32)), extent, order: 1, flags: 0 };
        let call = |change: &dyn Fn(&mut Copy)| {
            let (mut list, mut failed) = ([good, good], 77);
            change(&mut list[1]);
            (queue(2, list.as_mut_ptr(), &mut failed, 0, s), failed)
        };
        assert_eq!(call(&|_| {}), (hipSuccess, usize::MAX));
        ok(hipStreamSynchronize(s));
        assert_eq!(download::<u8>(data, 64)[30..46], [30, 31, 0, 1, 2, 3, 36, 37, 38, 39, 8, 9, 10, 11, 44, 45]);
        for change in [
            &(|copy: &mut Copy| copy.extent.width = 0) as &dyn Fn(&mut Copy),
            &|copy| copy.from.row = 0,
            &|copy| copy.from.rows = 0,
            &|copy| copy.order = 0,
            &|copy| copy.flags = 77 & !64,
        ] {
            assert_eq!(call(change).0, hipSuccess);
        }
        for change in [
            &(|copy: &mut Copy| copy.extent.width = 9) as &dyn Fn(&mut Copy),
            &|copy| copy.extent.height = 20,
            &|copy| copy.from.kind = 9,
            &|copy| copy.from.ptr = null_mut(),
            &|copy| copy.to.row = usize::MAX,
        ] {
            assert_eq!(call(change), (BAD, 1));
        }
        assert_eq!(call(&|copy| copy.flags = 512), (hipErrorNotSupported, 1), "another copy than asked for");
        let (mut list, mut failed) = ([good], 77);
        assert_eq!(queue(1, list.as_mut_ptr(), &mut failed, 1, s), BAD);
        assert_eq!(queue(0, list.as_mut_ptr(), &mut failed, 0, s), BAD);
        assert_eq!(queue(1, null_mut(), &mut failed, 0, s), BAD);
        assert_eq!(failed, 77);
        ok(hipStreamDestroy(s));
        hipGetLastError();
    }
    free(data);
}

type LinkCreate = unsafe extern "C" fn(u32, *mut u32, *mut *mut c_void, *mut *mut c_void) -> hipError_t;
type LinkAdd = unsafe extern "C" fn(
    *mut c_void,
    u32,
    *const c_void,
    usize,
    *const c_char,
    u32,
    *mut u32,
    *mut *mut c_void,
) -> hipError_t;
type LinkAddFile = unsafe extern "C" fn(*mut c_void, u32, *const c_char, u32, *mut u32, *mut *mut c_void) -> hipError_t;
type LinkComplete = unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut usize) -> hipError_t;
type LinkDestroy = unsafe extern "C" fn(*mut c_void) -> hipError_t;

#[test]
fn what_is_compiled_already_is_linked_as_it_is() {
    start();
    let (mut state, mut code, mut size) = (null_mut(), null_mut(), 0);
    // SAFETY: the types of the functions; the simulator checks the rest.
    unsafe {
        let create: LinkCreate = newer(c"hipLinkCreate");
        let add: LinkAdd = newer(c"hipLinkAddData");
        let add_file: LinkAddFile = newer(c"hipLinkAddFile");
        let complete: LinkComplete = newer(c"hipLinkComplete");
        let destroy: LinkDestroy = newer(c"hipLinkDestroy");
        let add = |state, kind, data: &[u8]| {
            add(state, kind, data.as_ptr().cast(), data.len(), c"it".as_ptr(), 0, null_mut(), null_mut())
        };
        for (kind, image) in [(3, GFX90A), (0, GFX90A), (2, COMPRESSED)] {
            ok(create(0, null_mut(), null_mut(), &mut state));
            ok(complete(state, &mut code, &mut size));
            assert_eq!((code, size), (null_mut(), 0), "of nothing comes nothing");
            ok(add(state, kind, image));
            ok(complete(state, &mut code, &mut size));
            assert_eq!(std::slice::from_raw_parts(code.cast::<u8>(), size), image);
            let mut module = null_mut();
            ok(hipModuleLoadData(&mut module, code));
            kernel(module, "store_at");
            ok(hipModuleUnload(module));
            assert_eq!(add(state, kind, image), hipErrorNotSupported, "two");
            ok(destroy(state));
            assert_eq!(destroy(state), BAD);
            assert_eq!((add(state, kind, image), complete(state, &mut code, &mut size)), (BAD, BAD));
        }
        ok(create(0, null_mut(), null_mut(), &mut state));
        for bitcode in 100..=103 {
            assert_eq!(add(state, bitcode, b"BC\xc0\xde1234"), hipErrorNotSupported);
            assert!(hip_sim::last_fault().unwrap().contains("Comgr"));
        }
        assert_eq!(add(state, 3, b"nothing"), hipErrorInvalidImage);
        assert_eq!(add(state, 3, b""), hipErrorInvalidImage);
        // PTX, a library, NVVM, and an unknown kind.
        for (kind, status) in [(1, BAD), (4, BAD), (5, BAD), (99, hipErrorInvalidConfiguration)] {
            assert_eq!(add(state, kind, GFX90A), status);
        }
        assert_eq!(add_file(state, 3, c"/nowhere.co".as_ptr(), 0, null_mut(), null_mut()), BAD);
        assert_eq!(add_file(state, 3, null(), 0, null_mut(), null_mut()), BAD);
        assert_eq!(complete(state, null_mut(), &mut size), BAD);
        assert_eq!(create(0, null_mut(), null_mut(), null_mut()), BAD);
        assert_eq!(destroy(null_mut()), BAD);
        ok(destroy(state));
        hipGetLastError();
    }
}

#[test]
fn streams_keep_their_wait_policy() {
    type Get = unsafe extern "C" fn(hipStream_t, u32, *mut [u32; 16]) -> hipError_t;
    type Copy = unsafe extern "C" fn(hipStream_t, hipStream_t) -> hipError_t;
    const POLICY: u32 = 3;
    let (first, second) = (stream(0), stream(0));
    // SAFETY: the types of the functions, places for results and a value for each setting.
    unsafe {
        let (get, set): (Get, Get) = (newer(c"hipStreamGetAttribute"), newer(c"hipStreamSetAttribute"));
        let copy: Copy = newer(c"hipStreamCopyAttributes");
        let policy = |stream| {
            let mut value = [0; 16];
            ok(get(stream, POLICY, &mut value));
            value[0]
        };
        let set_policy = |stream, policy| set(stream, POLICY, &mut [policy; 16]);
        assert_eq!([first, second, null_mut()].map(policy), [1; 3]);
        ok(set_policy(first, 3));
        assert_eq!([first, second, null_mut()].map(policy), [3, 1, 1]);
        ok(copy(second, first));
        ok(set_policy(null_mut(), 2));
        ok(copy(first, null_mut()));
        assert_eq!([first, second, null_mut()].map(policy), [2, 3, 2]);
        ok(set_policy(null_mut(), 1));
        let mut value = [7; 16];
        ok(get(first, 8, &mut value));
        assert_eq!(value[0], 0, "the priority");
        assert_eq!((set_policy(first, 0), set_policy(first, 5), set(first, POLICY, null_mut())), (BAD, BAD, BAD));
        for attribute in [0, 1, 2, 4, 8, 9, 99] {
            assert_eq!(set(first, attribute, &mut value), BAD, "{attribute}");
        }
        assert_eq!((get(first, 2, &mut value), get(first, POLICY, null_mut())), (BAD, BAD));
        ok(hipStreamDestroy(first));
        assert_eq!(get(first, POLICY, &mut value), hipErrorContextIsDestroyed);
        assert_eq!(copy(second, first), hipErrorContextIsDestroyed);
        ok(hipStreamDestroy(second));
        hipGetLastError();
    }
}

#[test]
fn functions_are_found_by_name() {
    type Find = unsafe extern "C" fn(*const c_char, *mut *mut c_void, i32, u64, *mut u32) -> hipError_t;
    start();
    let (mut address, mut found) = (null_mut(), 9);
    // SAFETY: the types of the functions, and places for results.
    unsafe {
        let find: Find = newer(c"hipGetProcAddress");
        ok(find(c"hipGetDeviceCount".as_ptr(), &mut address, 70_200_000, 0, &mut found));
        assert_eq!(found, 0);
        let count: unsafe extern "C" fn(*mut i32) -> hipError_t = std::mem::transmute(address);
        let mut devices = 0;
        ok(count(&mut devices));
        assert!(devices > 0);
        ok(find(c"hipFree".as_ptr(), &mut address, 0, 77, null_mut()));
        // Names that are not HIP's, and one that the simulator does not support.
        for name in [c"hipNoSuchFunction", c"", c"hipTexObjectCreate"] {
            (address, found) = (std::ptr::dangling_mut(), 9);
            assert_eq!(find(name.as_ptr(), &mut address, 70_200_000, 0, &mut found), BAD, "{name:?}");
            assert_eq!((address, found), (null_mut(), 1));
        }
        assert_eq!(find(null(), &mut address, 0, 0, &mut found), BAD);
        assert_eq!(find(c"hipFree".as_ptr(), null_mut(), 0, 0, &mut found), BAD);
        hipGetLastError();
    }
}

#[test]
fn limits_and_preferences_are_kept_or_refused() {
    start();
    let mut value = 0;
    // SAFETY: places for results; the rest are numbers.
    unsafe {
        ok(hipDeviceGetLimit(&mut value, hipLimitStackSize));
        assert_eq!(value, 1024);
        for (asked, kept) in [(0, 0), (1000, 1008), (131_056, 131_056), (1024, 1024)] {
            ok(hipDeviceSetLimit(hipLimitStackSize, asked));
            ok(hipDeviceGetLimit(&mut value, hipLimitStackSize));
            assert_eq!(value, kept);
        }
        assert_eq!(
            (hipDeviceSetLimit(hipLimitStackSize, 131_057), hipDeviceSetLimit(hipLimitStackSize, usize::MAX)),
            (BAD, BAD)
        );
        assert_eq!(hipDeviceGetLimit(null_mut(), hipLimitStackSize), BAD);
        for limit in [hipLimitPrintfFifoSize, hipLimitMallocHeapSize, hipLimit_t(77)] {
            assert_eq!(hipDeviceGetLimit(&mut value, limit), hipErrorUnsupportedLimit);
            assert_eq!(hipDeviceSetLimit(limit, 1), hipErrorUnsupportedLimit);
        }
        let (mut cache, mut bank) = (hipFuncCachePreferL1, hipSharedMemBankSizeDefault);
        ok(hipDeviceSetCacheConfig(hipFuncCachePreferL1));
        ok(hipDeviceGetCacheConfig(&mut cache));
        assert_eq!(cache, hipFuncCachePreferNone, "a hint that nothing comes of");
        ok(hipDeviceSetSharedMemConfig(hipSharedMemBankSizeEightByte));
        ok(hipDeviceGetSharedMemConfig(&mut bank));
        assert_eq!(bank, hipSharedMemBankSizeFourByte);
        assert_eq!((hipDeviceSetCacheConfig(hipFuncCache_t(9)), hipDeviceGetCacheConfig(null_mut())), (BAD, BAD));
        let bad = hipSharedMemConfig(9);
        assert_eq!((hipDeviceSetSharedMemConfig(bad), hipDeviceGetSharedMemConfig(null_mut())), (BAD, BAD));
        hipGetLastError();
    }
}

#[test]
fn streams_have_the_compute_units_of_their_mask() {
    start();
    let (mut masked, mut words) = (null_mut(), [7_u32; 20]);
    // SAFETY: as many words as are said, and places for results.
    unsafe {
        ok(hipExtStreamGetCUMask(null_mut(), 20, words.as_mut_ptr()));
        let all = words;
        // A mask with one valid and one missing unit; then an empty one, which is ignored.
        let mut mask = [0_u32; 20];
        (mask[0], mask[19]) = (1, 1 << 31);
        for (mask, expected) in [(mask, 1), ([0; 20], all[0])] {
            ok(hipExtStreamCreateWithCUMask(&mut masked, 20, mask.as_ptr()));
            ok(hipExtStreamGetCUMask(masked, 20, words.as_mut_ptr()));
            assert_eq!((words[0], words[19]), (expected, all[19]));
            let mut flags = 7;
            ok(hipStreamGetFlags(masked, &mut flags));
            assert_eq!(flags, hipStreamDefault);
            ok(hipStreamDestroy(masked));
        }
        assert_eq!(hipExtStreamCreateWithCUMask(null_mut(), 1, mask.as_ptr()), hipErrorInvalidHandle);
        assert_eq!(hipExtStreamCreateWithCUMask(&mut masked, 0, mask.as_ptr()), BAD);
        assert_eq!(hipExtStreamCreateWithCUMask(&mut masked, 1, null()), BAD);
        hipGetLastError();
    }
}

#[test]
fn launches_on_several_devices_are_checked_as_amds_runtime_does() {
    let (function, s) = (kernel(load(GFX90A), "store_at"), stream(hipStreamNonBlocking));
    let data = malloc(16);
    let (index, value) = (1_i64, 6_i32);
    let mut arguments: [*mut c_void; 3] = [
        (&raw const data).cast_mut().cast(),
        (&raw const index).cast_mut().cast(),
        (&raw const value).cast_mut().cast(),
    ];
    let good = hipFunctionLaunchParams {
        function,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: s,
        kernelParams: arguments.as_mut_ptr(),
    };
    let launch = |part: hipFunctionLaunchParams, count, flags| {
        let mut parts = [part; 9];
        // SAFETY: as many parts as are said, with a pointer to each argument.
        unsafe { hipModuleLaunchCooperativeKernelMultiDevice(parts.as_mut_ptr(), count, flags) }
    };
    for flags in [0, 1, 2, 3] {
        // SAFETY: ours.
        unsafe {
            ok(hipMemset(data, 0, 16));
            ok(hipDeviceSynchronize());
            ok(launch(good, 1, flags));
            ok(hipStreamSynchronize(s));
        }
        assert_eq!(download::<i32>(data, 2), [0, 6]);
    }
    assert_eq!((launch(good, 0, 0), launch(good, 9, 0), launch(good, 1, 4)), (BAD, BAD, BAD));
    let no_stream = hipFunctionLaunchParams { hStream: null_mut(), ..good };
    assert_eq!(launch(no_stream, 1, 0), hipErrorInvalidHandle);
    let no_size = hipFunctionLaunchParams { gridDimY: 0, ..good };
    assert_eq!(launch(no_size, 1, 0), hipErrorInvalidConfiguration);
    let too_many = hipFunctionLaunchParams { gridDimX: 1 << 20, ..good };
    assert_eq!(launch(too_many, 1, 0), hipErrorCooperativeLaunchTooLarge);
    // SAFETY: null pointers are found; the stream is ours.
    unsafe {
        assert_eq!(hipModuleLaunchCooperativeKernelMultiDevice(null_mut(), 1, 0), BAD);
        ok(hipStreamDestroy(s));
        hipGetLastError();
    }
    free(data);
}
