//! Exchange of tensors through DLPack, with an importer and an exporter that use only the C structures.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hip::dlpack::{
    DL_CUDA, DL_CUDA_HOST, DL_ROCM, DL_ROCM_HOST, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned,
    DLPackVersion, DLTensor, Element, FLAG_READ_ONLY, Tensor,
};
use hip::{Device, DeviceBuffer, Error, LaunchConfig, PinnedBuffer, Stream};

use crate::common::{device, eventually, kernel};

/// The types of the backend's memory: of a device, and pinned.
fn kinds() -> (i32, i32) {
    if hip::backend().unwrap() == hip::Backend::Cuda { (DL_CUDA, DL_CUDA_HOST) } else { (DL_ROCM, DL_ROCM_HOST) }
}

/// Like `hipMemcpy`, on a separate stream: HIP rejects `hipMemcpy` while other threads capture, and it invalidates
/// their captures.
///
/// # Safety
/// That of `hipMemcpy`.
unsafe fn copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: hip::sys::hipMemcpyKind,
) -> hip::sys::hipError_t {
    let stream = hip::Stream::new(&hip::Device::get(0).unwrap()).unwrap();
    // SAFETY: the caller ensures it; the stream is alive.
    unsafe { hip::sys::hipMemcpyWithStream(to, from, bytes, kind, stream.as_raw()) }
}

/// An importer like a C library: adds up a two-dimensional tensor of `float32`, by its strides, and releases it.
unsafe extern "C" fn sum_and_give_back(managed: *mut DLManagedTensor, sum: *mut f64) -> i32 {
    // SAFETY: the caller's tensor, whose shape and strides are valid.
    unsafe {
        let tensor = &(*managed).dl_tensor;
        if tensor.dtype != (DLDataType { code: 2, bits: 32, lanes: 1 }) || tensor.ndim != 2 {
            return 1;
        }
        let mut total = 0.0;
        for row in 0..*tensor.shape {
            for column in 0..*tensor.shape.add(1) {
                let at = row * *tensor.strides + column * *tensor.strides.add(1);
                let source = tensor.data.byte_add(tensor.byte_offset as usize).cast::<f32>().offset(at as isize);
                let mut value = 0.0f32;
                let kind = hip::sys::hipMemcpyDefault;
                if copy(ptr::from_mut(&mut value).cast(), source.cast(), 4, kind).0 != 0 {
                    return 2;
                }
                total += f64::from(value);
            }
        }
        *sum = total;
        if let Some(deleter) = (*managed).deleter {
            deleter(managed);
        }
        0
    }
}

#[test]
fn a_buffer_goes_out_and_is_freed_by_its_taker() {
    // Other tests allocate memory, too.
    #[cfg(target_os = "linux")]
    if crate::process::in_own_process("dlpack::a_buffer_goes_out_and_is_freed_by_its_taker", &[]) {
        return;
    }
    let Some(device) = device() else { return };
    let values: Vec<f32> = (0..12).map(|n| n as f32).collect();
    let before = device.memory_info().unwrap().free;
    let buffer = DeviceBuffer::from_slice(&device, &values).unwrap();
    let raw = Tensor::from_buffer(buffer, &[3, 4]).unwrap().into_raw().unwrap();
    // SAFETY: owned by this test until it is passed on.
    let tensor = unsafe { (*raw).dl_tensor };
    assert_eq!(tensor.device, DLDevice { device_type: kinds().0, device_id: device.index() as i32 });
    let mut sum = 0.0;
    // SAFETY: the tensor is valid, and this call takes ownership.
    assert_eq!(unsafe { sum_and_give_back(raw, &mut sum) }, 0);
    assert_eq!(sum, 66.0);
    let large = DeviceBuffer::<u8>::uninit(&device, 64 << 20).unwrap();
    let raw = Tensor::from_buffer(large, &[64 << 20]).unwrap().into_raw_versioned().unwrap();
    // SAFETY: valid, and released once.
    unsafe {
        assert_eq!(((*raw).version.major, (*raw).flags), (1, 0));
        (*raw).deleter.unwrap()(raw);
    }
    eventually("the memory comes back", || device.memory_info().unwrap().free + (32 << 20) > before);
}

#[test]
fn work_is_waited_for_by_the_host_or_by_the_stream_that_is_named() {
    let (Some(store), Some(slow)) = (kernel("store_index"), kernel("slow_store")) else { return };
    let device = store.device();
    let mut busy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    for ordered in [false, true] {
        let mut buffer = DeviceBuffer::<i32>::zeroed(&device, 4096).unwrap();
        // SAFETY: a thread for each element.
        unsafe {
            slow.launch(&first, LaunchConfig::new(1, 64), (&mut busy, 2_000_000u32, 1u32)).unwrap();
            store.launch(&first, LaunchConfig::for_elements(4096, 64), (&mut buffer,)).unwrap();
        }
        let mut tensor = Tensor::from_buffer(buffer, &[64, 64]).unwrap();
        if ordered {
            tensor.order_before(&second).unwrap();
        }
        let raw = tensor.into_raw().unwrap();
        assert!(ordered || first.is_idle().unwrap(), "the host has waited");
        // The importer copies on the second stream, by raw calls, and releases the tensor at once.
        let mut target = PinnedBuffer::<i32>::zeroed(&device, 4096).unwrap();
        let to = target.as_mut_slice().unwrap().as_mut_ptr();
        // SAFETY: both sides have this size, and live until the copy is done: the deleter waits for it.
        unsafe {
            let from = (*raw).dl_tensor.data;
            let kind = hip::sys::hipMemcpyDeviceToHost;
            assert_eq!(hip::sys::hipMemcpyAsync(to.cast(), from, 4096 * 4, kind, second.as_raw()).0, 0);
            (*raw).deleter.unwrap()(raw);
        }
        let expected: Vec<i32> = (0..4096).collect();
        assert_eq!(target.as_slice().unwrap(), expected, "ordered: {ordered}");
    }
}

/// Data of the exporter: memory from raw calls, and the number of deleter calls.
struct Giver {
    memory: *mut c_void,
    shape: [i64; 2],
    strides: [i64; 2],
    calls: Arc<AtomicU32>,
}

unsafe extern "C" fn take_back(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: created by `give`, released once.
    unsafe {
        let giver = Box::from_raw((*managed).manager_ctx.cast::<Giver>());
        assert_eq!(hip::sys::hipFree(giver.memory).0, 0);
        giver.calls.fetch_add(1, Ordering::Relaxed);
        drop(Box::from_raw(managed));
    }
}

/// Exports a tensor of `float32`, with rows of 3 elements that are 4 elements apart.
fn give(values: &[f32; 8], calls: &Arc<AtomicU32>) -> *mut DLManagedTensorVersioned {
    let mut memory = ptr::null_mut();
    // SAFETY: 32 bytes, written from as many.
    unsafe {
        assert_eq!(hip::sys::hipMalloc(&mut memory, 32).0, 0);
        let kind = hip::sys::hipMemcpyHostToDevice;
        assert_eq!(copy(memory, values.as_ptr().cast(), 32, kind).0, 0);
    }
    let giver = Box::new(Giver { memory, shape: [2, 3], strides: [4, 1], calls: Arc::clone(calls) });
    let giver = Box::into_raw(giver);
    // SAFETY: just made.
    let (shape, strides) = unsafe { ((&raw mut (*giver).shape).cast(), (&raw mut (*giver).strides).cast()) };
    Box::into_raw(Box::new(DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 0 },
        manager_ctx: giver.cast(),
        deleter: Some(take_back),
        flags: 0,
        dl_tensor: DLTensor {
            data: memory,
            device: DLDevice { device_type: kinds().0, device_id: 0 },
            ndim: 2,
            dtype: f32::DATA_TYPE,
            shape,
            strides,
            byte_offset: 4,
        },
    }))
}

const VALUES: [f32; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

#[test]
fn a_tensor_comes_in_and_its_deleter_is_called_after_the_last_use() {
    let Some(device) = device() else { return };
    let calls: Arc<AtomicU32> = Arc::default();
    // SAFETY: the tensor is valid, and has no other user.
    let tensor = unsafe { Tensor::from_raw_versioned(give(&VALUES, &calls)) }.unwrap();
    assert_eq!((tensor.layout().shape(), tensor.layout().strides()), (&[2, 3][..], &[4, 1][..]));
    assert_eq!(tensor.device(), device);
    let (mut span, layout) = tensor.into_span::<f32>().unwrap();
    assert_eq!(layout.span(), Some(7));
    assert_eq!(span.to_vec().unwrap(), VALUES[1..]);
    let stream = Stream::new(&device).unwrap();
    span.fill_async(&stream, 9.0).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    drop(span);
    eventually("the deleter is called", || calls.load(Ordering::Relaxed) == 1);
    assert!(stream.is_idle().unwrap(), "after the fill");
}

#[test]
fn what_is_no_buffer_is_refused_and_given_back() {
    let Some(_) = device() else { return };
    let calls: Arc<AtomicU32> = Arc::default();
    let tensor = |change: &dyn Fn(&mut DLManagedTensorVersioned)| {
        let raw = give(&VALUES, &calls);
        // SAFETY: owned by this test.
        change(unsafe { &mut *raw });
        // SAFETY: the tensor is valid, and has no other user.
        unsafe { Tensor::from_raw_versioned(raw) }.unwrap()
    };
    let refused = |result: hip::Result<DeviceBuffer<f32>>, words: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    refused(tensor(&|_| ()).into_buffer(), "strides [4, 1]");
    let flat = |raw: &mut DLManagedTensorVersioned| raw.dl_tensor.ndim = 0;
    refused(tensor(&|raw| (flat(raw), raw.flags = FLAG_READ_ONLY).1).into_buffer(), "read-only");
    refused(tensor(&|raw| (flat(raw), raw.dl_tensor.byte_offset = 2).1).into_buffer(), "a multiple of 4");
    let integers = |raw: &mut DLManagedTensorVersioned| (flat(raw), raw.dl_tensor.dtype = i32::DATA_TYPE).1;
    refused(tensor(&integers).into_buffer(), "of int32, but must be float32");
    let text = tensor(&flat).into_pinned::<f32>().unwrap_err().to_string();
    assert!(text.contains("in a device's memory"), "{text}");
    assert_eq!(calls.load(Ordering::Relaxed), 5, "each was given back");
    // Read-only memory can be read.
    let read = tensor(&|raw| (flat(raw), raw.flags = FLAG_READ_ONLY).1).into_read_only_buffer::<f32>().unwrap();
    assert_eq!(read.to_vec().unwrap(), [1.0]);
    // A byte that is a bool.
    let bools = |raw: &mut DLManagedTensorVersioned| (flat(raw), raw.dl_tensor.dtype = DLDataType::BOOL).1;
    assert_eq!(tensor(&bools).into_buffer::<u8>().unwrap().len(), 1);
}

#[test]
fn bad_structures_are_errors_and_stay_the_callers() {
    let Some(device) = device() else { return };
    // SAFETY: null is an error.
    assert!(unsafe { Tensor::from_raw(ptr::null_mut()) }.is_err());
    // SAFETY: as above.
    assert!(unsafe { Tensor::from_raw_versioned(ptr::null_mut()) }.is_err());
    let calls: Arc<AtomicU32> = Arc::default();
    let raw = give(&VALUES, &calls);
    let bad = |words: &str, change: &dyn Fn(&mut DLManagedTensorVersioned)| {
        // SAFETY: owned by this test, with copies of its plain fields.
        let managed = unsafe { &mut *raw };
        let (version, tensor) = (managed.version, managed.dl_tensor);
        change(managed);
        // SAFETY: the defect is found before any pointer is dereferenced.
        let error = unsafe { Tensor::from_raw_versioned(raw) }.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        // SAFETY: as above.
        let managed = unsafe { &mut *raw };
        (managed.version, managed.dl_tensor) = (version, tensor);
        error
    };
    let (mut huge, mut negative, mut far) = ([i64::MAX, 3], [-1, 3], [i64::MAX, i64::MAX]);
    let (huge, negative, far) = (huge.as_mut_ptr(), negative.as_mut_ptr(), far.as_mut_ptr());
    bad("version 2.0", &|raw| raw.version.major = 2);
    bad("device of type 1", &|raw| raw.dl_tensor.device.device_type = 1);
    let other = if kinds().0 == DL_CUDA { DL_ROCM } else { DL_CUDA };
    bad(&format!("device of type {other}"), &|raw| raw.dl_tensor.device.device_type = other);
    bad("kind Device", &|raw| raw.dl_tensor.device.device_type = kinds().1);
    let index = bad("there is no device", &|raw| raw.dl_tensor.device.device_id = -1);
    assert!(matches!(index, Error::DeviceIndex { .. }));
    bad("-1 dimensions", &|raw| raw.dl_tensor.ndim = -1);
    bad("1000000 dimensions", &|raw| raw.dl_tensor.ndim = 1_000_000);
    bad("no good address", &|raw| raw.dl_tensor.shape = ptr::null_mut());
    bad("no good address", &|raw| raw.dl_tensor.shape = raw.dl_tensor.shape.wrapping_byte_add(1));
    bad("the shape of a tensor", &|raw| raw.dl_tensor.shape = huge);
    bad("no negative extents", &|raw| raw.dl_tensor.shape = negative);
    bad("the strides of a tensor", &|raw| raw.dl_tensor.strides = far);
    bad("float4_e2m1fn", &|raw| raw.dl_tensor.dtype = DLDataType { code: 17, bits: 4, lanes: 1 });
    bad("of 28 bytes", &|raw| raw.dl_tensor.data = ptr::null_mut());
    bad("of 28 bytes", &|raw| raw.dl_tensor.byte_offset = u64::MAX - 8);
    bad("no memory", &|raw| raw.dl_tensor.data = ptr::without_provenance_mut(0x1000));
    if Device::count().unwrap() > 1 {
        bad("is on device 0", &|raw| raw.dl_tensor.device.device_id = 1);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    // SAFETY: still owned by this test.
    unsafe { (*raw).deleter.unwrap()(raw) };
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    // Exported tensors.
    let buffer = || DeviceBuffer::<f32>::zeroed(&device, 6).unwrap();
    assert!(matches!(Tensor::from_buffer(buffer(), &[2, 4]), Err(Error::Length { destination: 8, source_len: 6, .. })));
    assert!(Tensor::from_buffer(buffer(), &[usize::MAX, usize::MAX]).is_err());
    assert!(Tensor::from_buffer(buffer(), &[6]).unwrap().with_data_type(DLDataType::BOOL).is_err());
}

#[test]
fn pinned_and_empty_memory_goes_and_comes() {
    let Some(device) = device() else { return };
    let pinned = PinnedBuffer::from_slice(&device, &[1u16, 2, 3]).unwrap();
    let raw = Tensor::from_pinned(pinned, &[3, 1]).unwrap().into_raw().unwrap();
    // SAFETY: owned by this test, and valid.
    let tensor = unsafe { Tensor::from_raw(raw) }.unwrap();
    assert_eq!(tensor.device_type(), kinds().1);
    let mut pinned = tensor.into_pinned::<u16>().unwrap();
    assert_eq!(pinned.as_mut_slice().unwrap(), [1, 2, 3]);
    let empty = DeviceBuffer::<f64>::zeroed(&device, 0).unwrap();
    let raw = Tensor::from_buffer(empty, &[0, 7]).unwrap().into_raw().unwrap();
    // SAFETY: owned by this test, and valid.
    let tensor = unsafe { Tensor::from_raw(raw) }.unwrap();
    assert!(tensor.into_buffer::<f64>().unwrap().is_empty());
    // A read-only tensor stays read-only, in the form that can represent it.
    let calls = Arc::default();
    let raw = give(&VALUES, &calls);
    // SAFETY: owned by this test, and valid.
    let tensor = unsafe {
        (*raw).flags = FLAG_READ_ONLY;
        Tensor::from_raw_versioned(raw).unwrap()
    };
    let raw = tensor.into_raw_versioned().unwrap();
    // SAFETY: owned by this test, and valid.
    let tensor = unsafe {
        assert_eq!((*raw).flags, FLAG_READ_ONLY);
        Tensor::from_raw_versioned(raw).unwrap()
    };
    assert!(tensor.is_read_only());
    assert!(tensor.into_raw().is_err());
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// An importer may write to the memory, so exporting also waits for work that only reads it.
#[test]
fn what_reads_a_tensor_is_waited_for() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let buffer = DeviceBuffer::from_slice(&device, &[1.0f32; 8]).unwrap();
    let mut busy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut copy = DeviceBuffer::<f32>::zeroed(&device, 8).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut busy, 100_000u32, 1u32)) }.unwrap();
    copy.copy_from_device_async(&stream, &buffer).unwrap();
    let raw = Tensor::from_buffer(buffer, &[8]).unwrap().into_raw().unwrap();
    assert!(stream.is_idle().unwrap());
    // SAFETY: owned by this test, without another user.
    drop(unsafe { Tensor::from_raw(raw) }.unwrap());
}
