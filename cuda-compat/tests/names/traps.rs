//! Pitfalls of ports.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use cuda_compat::driver::*;
use cuda_compat::{CudaName, nvrtc, runtime::*};

use crate::{download, free, ok, start, stream, upload, vector_add};

#[test]
fn names_with_and_without_their_version_are_one_function() {
    start();
    let (mut a, mut b): (CUdeviceptr, CUdeviceptr) = (0, 0);
    // SAFETY: places for the results; freed once each.
    unsafe {
        ok(cuMemAlloc(&mut a, 16));
        ok(cuMemAlloc_v2(&mut b, 16));
        ok(cuMemsetD32(a, 7, 4));
        ok(cuMemsetD32_v2(b, 8, 4));
        ok(cuMemcpyDtoD(a, b, 8));
        ok(cuMemcpyDtoD_v2(a + 8, b, 4));
        assert_eq!(download(a, 4), [8, 8, 8, 7]);
        ok(cuMemFree_v2(a)); // from cuMemAlloc
        ok(cuMemFree(b));
    }
}

#[test]
fn an_address_on_a_device_is_an_integer() {
    start();
    let words: Vec<u32> = (0..64).collect();
    let pointer: CUdeviceptr = upload(&words);
    assert_eq!(size_of::<CUdeviceptr>(), 8);
    let third = pointer + 3 * size_of::<u32>() as CUdeviceptr;
    assert_eq!(download(third, 2), [3, 4]);
    free(pointer);
    // SAFETY: no memory is mapped at the address, which is an error.
    assert_ne!(unsafe { cuMemsetD8(0, 1, 1) }, CUDA_SUCCESS);
}

#[test]
fn kinds_of_copies_have_cudas_numbers() {
    start();
    let kinds = [
        cudaMemcpyHostToHost,
        cudaMemcpyHostToDevice,
        cudaMemcpyDeviceToHost,
        cudaMemcpyDeviceToDevice,
        cudaMemcpyDefault,
    ];
    assert_eq!(kinds.map(|kind: cudaMemcpyKind| kind.0), [0, 1, 2, 3, 4]);
    let (source, mut back) = ([1_u32, 2, 3, 4], [0_u32; 4]);
    let mut pointer = null_mut();
    // SAFETY: all have 16 bytes.
    unsafe {
        ok(cudaMalloc(&mut pointer, 16));
        ok(cudaMemcpy(pointer, source.as_ptr().cast(), 16, cudaMemcpyHostToDevice));
        ok(cudaMemcpy(back.as_mut_ptr().cast(), pointer, 16, cudaMemcpyDeviceToHost));
        assert_eq!(back, source);
        back = [0; 4];
        ok(cudaMemcpy(back.as_mut_ptr().cast(), pointer, 16, cudaMemcpyDefault));
        assert_eq!(back, source);
        ok(cudaFree(pointer));
    }
}

#[test]
fn attributes_have_hips_numbers() {
    start();
    let get = |attribute| {
        let mut value = 0;
        // SAFETY: room for the result.
        unsafe { ok(cuDeviceGetAttribute(&mut value, attribute, 0)) };
        value
    };
    assert_eq!(get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
    assert_ne!(CU_DEVICE_ATTRIBUTE_WARP_SIZE as u32, 10, "CUDA's number");
    assert_eq!(cudaDeviceAttr::from(CU_DEVICE_ATTRIBUTE_WARP_SIZE), cudaDevAttrWarpSize);
    let mut value = 0;
    // SAFETY: room for the result.
    let status = unsafe { cuDeviceGetAttribute(&mut value, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0) };
    assert_eq!(status, CUDA_ERROR_INVALID_VALUE, "an attribute that HIP lacks");
    // SAFETY: room for the result.
    let status = unsafe { cudaDeviceGetAttribute(&mut value, cudaDevAttrMaxTexture2DLayeredLayers, 0) };
    assert_eq!(status, cudaErrorInvalidValue, "the same for the runtime");
    assert_eq!(
        cudaDevAttrMaxTexture2DLayeredLayers.cuda_name().unwrap().to_str().unwrap(),
        "cudaDevAttrMaxTexture2DLayeredLayers"
    );
}

#[test]
fn constants_of_attributes_can_be_imported_from_their_type() {
    use cuda_compat::driver::sys::CUdevice_attribute::*;
    start();
    let mut values = [0; 2];
    for (value, attribute) in
        values.iter_mut().zip([CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT])
    {
        // SAFETY: room for the result.
        unsafe { ok(cuDeviceGetAttribute(value, attribute, 0)) };
    }
    assert!(values[0] == 1024 && values[1] > 0, "{values:?}");
}

#[test]
fn statuses_can_be_imported_from_their_enum() {
    use cuda_compat::driver::sys::cudaError_enum::{CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS};
    use cuda_compat::driver::sys::{CUresult, cudaError_enum};
    start();
    // SAFETY: a place for the result, and none.
    let statuses = unsafe { [cuDeviceGetCount(&mut 0), cuDeviceGetCount(std::ptr::null_mut())] };
    let name = |status: CUresult| match status {
        CUDA_SUCCESS => "success",
        cudaError_enum::CUDA_ERROR_INVALID_VALUE => "invalid",
        _ => "other",
    };
    assert_eq!(statuses.map(name), ["success", "invalid"]);
    assert_eq!(CUDA_ERROR_INVALID_VALUE, CUresult::CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn descriptors_of_tensors_are_not_supported() {
    let mut map = CUtensorMap { opaque: [7; 16] };
    // SAFETY: it reads nothing.
    let status = unsafe {
        cuTensorMapEncodeTiled(
            &mut map,
            CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            2,
            null_mut(),
            null(),
            null(),
            null(),
            null(),
            CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    assert_eq!((status, map.opaque), (CUDA_ERROR_NOT_SUPPORTED, [7; 16]));
}

#[test]
fn flags_of_streams_and_events_have_cudas_numbers() {
    start();
    assert_eq!((CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING), (0, 1));
    assert_eq!(
        (CU_EVENT_DEFAULT, CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING, CU_EVENT_INTERPROCESS),
        (0, 1, 2, 4)
    );
    assert_ne!(CU_STREAM_LEGACY, CU_STREAM_PER_THREAD);
    let pointer = upload(&[0; 4]);
    for stream in [null_mut(), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, stream()] {
        // SAFETY: the memory has 16 bytes, and the stream is alive.
        unsafe {
            ok(cuMemsetD32Async(pointer, 5, 4, stream));
            ok(cuStreamSynchronize(stream));
            assert_eq!(download(pointer, 4), [5; 4]);
            ok(cuMemsetD32(pointer, 0, 4));
            ok(cuStreamSynchronize(null_mut())); // the next stream does not wait for it
        }
    }
    free(pointer);
}

#[test]
fn a_constant_that_hip_lacks_has_a_value_and_a_name_of_its_own() {
    start();
    let lacking = [
        CUDA_ERROR_STUB_LIBRARY,
        CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        CUDA_ERROR_MPS_CONNECTION_FAILED,
        cudaErrorSyncDepthExceeded,
    ];
    for (index, status) in lacking.iter().enumerate() {
        assert_eq!(status.0 >> 16, 0x4355);
        assert!(!lacking[..index].contains(status));
        // HIP has no such status.
        // SAFETY: it returns the name of any status.
        let theirs = unsafe { CStr::from_ptr(cudaGetErrorName(CUDA_ERROR_UNKNOWN)) };
        let mut name = null();
        // SAFETY: room for the result.
        unsafe { ok(cuGetErrorName(*status, &mut name)) };
        // SAFETY: a C string that lives for ever.
        let name = unsafe { CStr::from_ptr(name) };
        assert_ne!(name, theirs);
        assert_eq!(Some(name), status.cuda_name());
        // SAFETY: any status has a name.
        assert_eq!(unsafe { CStr::from_ptr(cudaGetErrorName(*status)) }, name);
        // SAFETY: any status has a description.
        let text = unsafe { CStr::from_ptr(cudaGetErrorString(*status)) };
        let mut other = null();
        // SAFETY: room for the result.
        unsafe { ok(cuGetErrorString(*status, &mut other)) };
        // SAFETY: a C string that lives for ever.
        assert_eq!(unsafe { CStr::from_ptr(other) }, text);
        assert!(text.to_str().unwrap().contains("no function of HIP returns"));
    }
    assert_eq!(CUDA_ERROR_OUT_OF_MEMORY.cuda_name(), None);
    let mut name = null();
    // SAFETY: room for the result, or none, which is an error.
    unsafe {
        ok(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &mut name));
        assert_eq!(CStr::from_ptr(name), c"hipErrorOutOfMemory");
        assert_eq!(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, null_mut()), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, null_mut()), CUDA_ERROR_INVALID_VALUE);
    }
    assert_eq!(cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY);
}

#[test]
fn ptx_is_no_code() {
    start();
    let ptx = c".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    let mut module = null_mut();
    // SAFETY: a C string and a place for the result.
    assert_ne!(unsafe { cuModuleLoadData(&mut module, ptx.as_ptr().cast::<c_void>()) }, CUDA_SUCCESS);
    // NVRTC's PTX and cubin are the same code object.
    let ptx: unsafe extern "C" fn(_, _) -> _ = nvrtc::nvrtcGetPTX;
    let cubin: unsafe extern "C" fn(_, _) -> _ = nvrtc::nvrtcGetCUBIN;
    assert!(std::ptr::fn_addr_eq(ptx, cubin));
}

#[test]
fn vector_add_runs_under_cudas_names() {
    start();
    let (module, function) = vector_add();
    let floats = |by: f32| (0..1000).map(|i| (i as f32 * by).to_bits()).collect::<Vec<u32>>();
    let (mut a, mut b, mut c, mut n) = (upload(&floats(1.0)), upload(&floats(2.0)), upload(&[0; 1000]), 1000_u32);
    let mut parameters: [*mut c_void; 4] =
        [(&raw mut a).cast(), (&raw mut b).cast(), (&raw mut c).cast(), (&raw mut n).cast()];
    // SAFETY: the kernel's parameters are three addresses of 1000 floats and their number.
    unsafe {
        ok(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, null_mut(), parameters.as_mut_ptr(), null_mut()));
        ok(cuCtxSynchronize());
    }
    assert_eq!(download(c, 1000), floats(3.0));
    [a, b, c].into_iter().for_each(free);
    // SAFETY: nothing uses it.
    unsafe { ok(cuModuleUnload(module)) };
}
