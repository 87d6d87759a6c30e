//! Arrays in device memory and in host memory.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use hip_sys::{
    hipDeviceSynchronize, hipError_t, hipFree, hipMalloc, hipMemcpy, hipMemcpyDeviceToDevice, hipMemcpyDeviceToHost,
    hipMemcpyHostToDevice, hipSuccess,
};
use hipgraph_sys::*;

use super::function::{at, functions, give, guard, run, take};
use crate::graph::{Failure, FailureKind, Result, invalid};

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    I32,
    I64,
    F32,
    F64,
    Size,
}

impl Kind {
    pub(super) fn of(id: hipgraph_data_type_id_t) -> Result<Kind> {
        match id {
            HIPGRAPH_INT32 => Ok(Kind::I32),
            HIPGRAPH_INT64 => Ok(Kind::I64),
            HIPGRAPH_FLOAT32 => Ok(Kind::F32),
            HIPGRAPH_FLOAT64 => Ok(Kind::F64),
            HIPGRAPH_SIZE_T => Ok(Kind::Size),
            other => Err(invalid(format!("{other:?} is not the type of an array"))),
        }
    }

    pub(super) fn id(self) -> hipgraph_data_type_id_t {
        match self {
            Kind::I32 => HIPGRAPH_INT32,
            Kind::I64 => HIPGRAPH_INT64,
            Kind::F32 => HIPGRAPH_FLOAT32,
            Kind::F64 => HIPGRAPH_FLOAT64,
            Kind::Size => HIPGRAPH_SIZE_T,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Kind::I32 | Kind::F32 => 4,
            Kind::I64 | Kind::F64 | Kind::Size => 8,
        }
    }

    fn is_integer(self) -> bool {
        matches!(self, Kind::I32 | Kind::I64 | Kind::Size)
    }

    /// The bytes of numbers of this type.
    fn of_integers(self, values: &[i64]) -> Vec<u8> {
        match self {
            Kind::I32 => values.iter().flat_map(|value| (*value as i32).to_ne_bytes()).collect(),
            Kind::F32 => values.iter().flat_map(|value| (*value as f32).to_ne_bytes()).collect(),
            Kind::F64 => values.iter().flat_map(|value| (*value as f64).to_ne_bytes()).collect(),
            Kind::I64 | Kind::Size => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        }
    }

    fn of_reals(self, values: &[f64]) -> Vec<u8> {
        match self {
            Kind::F32 => values.iter().flat_map(|value| (*value as f32).to_ne_bytes()).collect(),
            _ => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        }
    }

    fn integers(self, bytes: &[u8]) -> Vec<i64> {
        match self {
            Kind::I32 => bytes.as_chunks_of::<4>().map(|bytes| i64::from(i32::from_ne_bytes(bytes))).collect(),
            _ => bytes.as_chunks_of::<8>().map(i64::from_ne_bytes).collect(),
        }
    }

    fn reals(self, bytes: &[u8]) -> Vec<f64> {
        match self {
            Kind::F32 => bytes.as_chunks_of::<4>().map(|bytes| f64::from(f32::from_ne_bytes(bytes))).collect(),
            _ => bytes.as_chunks_of::<8>().map(f64::from_ne_bytes).collect(),
        }
    }
}

/// Groups of bytes.
trait Chunks {
    fn as_chunks_of<const N: usize>(&self) -> impl Iterator<Item = [u8; N]>;
}

impl Chunks for [u8] {
    fn as_chunks_of<const N: usize>(&self) -> impl Iterator<Item = [u8; N]> {
        self.chunks_exact(N).map(|chunk| {
            let mut bytes = [0; N];
            bytes.copy_from_slice(chunk);
            bytes
        })
    }
}

fn hip(status: hipError_t, what: impl FnOnce() -> String) -> Result<()> {
    if status == hipSuccess {
        return Ok(());
    }
    Err(Failure { kind: FailureKind::Memory, message: format!("{}: HIP returned {status:?}", what()) })
}

/// Device memory.
struct Memory(*mut c_void);

// SAFETY: HIP copies and frees memory from any thread.
unsafe impl Send for Memory {}
// SAFETY: as above; only HIP accesses the memory through a shared reference.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: allocated by `hipMalloc`, freed once.
            unsafe { hipFree(self.0) };
        }
    }
}

/// An array in device memory.
#[derive(Clone)]
pub(super) struct DeviceArray {
    memory: Arc<Memory>,
    len: usize,
    kind: Kind,
}

impl DeviceArray {
    fn new(len: usize, kind: Kind) -> Result<DeviceArray> {
        let bytes = len.checked_mul(kind.bytes()).ok_or_else(|| invalid(format!("{len} elements are too many")))?;
        let mut pointer = null_mut();
        if bytes > 0 {
            // SAFETY: `pointer` is valid for the write.
            hip(unsafe { hipMalloc(&mut pointer, bytes) }, || format!("allocating {bytes} bytes on the device"))?;
        }
        Ok(DeviceArray { memory: Arc::new(Memory(pointer)), len, kind })
    }

    fn from_bytes(bytes: &[u8], kind: Kind) -> Result<DeviceArray> {
        let array = DeviceArray::new(bytes.len() / kind.bytes(), kind)?;
        array.view().write(bytes)?;
        Ok(array)
    }

    pub(super) fn integers(values: &[i64], kind: Kind) -> Result<DeviceArray> {
        DeviceArray::from_bytes(&kind.of_integers(values), kind)
    }

    pub(super) fn reals(values: &[f64], kind: Kind) -> Result<DeviceArray> {
        DeviceArray::from_bytes(&kind.of_reals(values), kind)
    }

    pub(super) fn view(&self) -> View {
        View { pointer: self.memory.0, len: self.len, kind: self.kind }
    }
}

/// A borrowed part of device memory.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) pointer: *mut c_void,
    pub(super) len: usize,
    pub(super) kind: Kind,
}

impl View {
    fn size(&self) -> usize {
        self.len * self.kind.bytes()
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the view has as many bytes, and its memory is alive, as C's interface demands.
        let status = unsafe { hipMemcpy(self.pointer, bytes.as_ptr().cast(), bytes.len(), hipMemcpyHostToDevice) };
        hip(status, || format!("copying {} bytes to the device", bytes.len()))
    }

    fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.size()];
        if !bytes.is_empty() {
            // Work that writes the array may still be queued.
            // SAFETY: has no arguments.
            hip(unsafe { hipDeviceSynchronize() }, || "waiting for the device".to_owned())?;
            // SAFETY: as in `write`.
            let status =
                unsafe { hipMemcpy(bytes.as_mut_ptr().cast(), self.pointer, bytes.len(), hipMemcpyDeviceToHost) };
            hip(status, || format!("copying {} bytes from the device", bytes.len()))?;
        }
        Ok(bytes)
    }

    /// Its elements, which must be integers.
    pub(super) fn integers(&self, what: &str) -> Result<Vec<i64>> {
        if !self.kind.is_integer() {
            return Err(invalid(format!("the {what} are {:?}, and must be integers", self.kind)));
        }
        Ok(self.kind.integers(&self.read()?))
    }

    /// Its elements, which must be floating-point numbers.
    pub(super) fn reals(&self, what: &str) -> Result<Vec<f64>> {
        if self.kind.is_integer() {
            return Err(invalid(format!("the {what} are {:?}, and must be f32 or f64", self.kind)));
        }
        Ok(self.kind.reals(&self.read()?))
    }
}

/// An array in host memory.
pub(super) struct HostArray {
    bytes: Box<[u64]>,
    len: usize,
    kind: Kind,
}

/// A borrowed part of host memory.
#[derive(Clone, Copy)]
pub(super) struct HostView {
    pointer: *mut c_void,
    len: usize,
    kind: Kind,
}

impl HostView {
    /// Its elements, which must be integers.
    ///
    /// # Safety
    /// The memory must be alive.
    pub(super) unsafe fn integers(&self, what: &str) -> Result<Vec<i64>> {
        if !self.kind.is_integer() {
            return Err(invalid(format!("the {what} are {:?}, and must be integers", self.kind)));
        }
        if self.len == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: as the caller ensures.
        let bytes = unsafe { std::slice::from_raw_parts(self.pointer.cast::<u8>(), self.len * self.kind.bytes()) };
        Ok(self.kind.integers(bytes))
    }
}

/// The view behind a pointer.
///
/// # Safety
/// As for [`at`].
pub(super) unsafe fn view<'a>(
    pointer: *const hipgraph_type_erased_device_array_view_t,
    what: &str,
) -> Result<&'a View> {
    // SAFETY: as the caller ensures.
    unsafe { at(pointer, what) }
}

type DeviceView = hipgraph_type_erased_device_array_view_t;
type Handle = hipgraph_resource_handle_t;
type Errors = *mut *mut hipgraph_error_t;

/// A pointer to a view of an array, as a getter returns it: null if there is no array. The caller frees it.
pub(super) fn view_of(array: Option<&DeviceArray>) -> *mut DeviceView {
    array.map_or(null_mut(), |array| give(array.view()))
}

unsafe extern "C" fn hipgraph_type_erased_device_array_create(
    _handle: *const Handle,
    n_elems: usize,
    dtype: hipgraph_data_type_id_t,
    array: *mut *mut hipgraph_type_erased_device_array_t,
    error: Errors,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe { run(array, error, || DeviceArray::new(n_elems, Kind::of(dtype)?)) }
}

unsafe extern "C" fn hipgraph_type_erased_device_array_create_from_view(
    _handle: *const Handle,
    from: *const DeviceView,
    array: *mut *mut hipgraph_type_erased_device_array_t,
    error: Errors,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe {
        run(array, error, || {
            let view = view(from, "view")?;
            DeviceArray::from_bytes(&view.read()?, view.kind)
        })
    }
}

unsafe extern "C" fn hipgraph_type_erased_device_array_free(p: *mut hipgraph_type_erased_device_array_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(p) }
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view(
    array: *mut hipgraph_type_erased_device_array_t,
) -> *mut DeviceView {
    // SAFETY: the pointer is C's.
    view_of(unsafe { at::<DeviceArray, _>(array, "array") }.ok())
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view_as_type(
    array: *mut hipgraph_type_erased_device_array_t,
    dtype: hipgraph_data_type_id_t,
    result_view: *mut *mut DeviceView,
    error: Errors,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe {
        run(result_view, error, || {
            let view = at::<DeviceArray, _>(array, "array")?.view();
            let kind = Kind::of(dtype)?;
            if kind.bytes() != view.kind.bytes() {
                return Err(invalid(format!("an array of {:?} cannot be viewed as {kind:?}", view.kind)));
            }
            Ok(View { kind, ..view })
        })
    }
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view_create(
    pointer: *mut c_void,
    n_elems: usize,
    dtype: hipgraph_data_type_id_t,
) -> *mut DeviceView {
    Kind::of(dtype).map_or(null_mut(), |kind| give(View { pointer, len: n_elems, kind }))
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view_free(p: *mut DeviceView) {
    // SAFETY: the pointer is C's.
    unsafe { take(p) }
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view_size(p: *const DeviceView) -> usize {
    // SAFETY: the pointer is C's.
    unsafe { view(p, "view") }.map_or(0, |view| view.len)
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view_type(p: *const DeviceView) -> hipgraph_data_type_id_t {
    // SAFETY: the pointer is C's.
    unsafe { view(p, "view") }.map_or(HIPGRAPH_NTYPES, |view| view.kind.id())
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view_pointer(p: *const DeviceView) -> *const c_void {
    // SAFETY: the pointer is C's.
    unsafe { view(p, "view") }.map_or(std::ptr::null(), |view| view.pointer)
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view_copy_from_host(
    _handle: *const Handle,
    dst: *mut DeviceView,
    h_src: *const hipgraph_byte_t,
    error: Errors,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's, and `h_src` has as many bytes as the view.
    unsafe {
        guard(error, || {
            let view = view(dst, "destination")?;
            match view.size() {
                0 => Ok(()),
                _ if h_src.is_null() => Err(invalid("the source is null")),
                size => view.write(std::slice::from_raw_parts(h_src.cast(), size)),
            }
        })
    }
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view_copy_to_host(
    _handle: *const Handle,
    h_dst: *mut hipgraph_byte_t,
    src: *const DeviceView,
    error: Errors,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's, and `h_dst` has as many bytes as the view.
    unsafe {
        guard(error, || {
            let bytes = view(src, "source")?.read()?;
            if h_dst.is_null() && !bytes.is_empty() {
                return Err(invalid("the destination is null"));
            }
            if !bytes.is_empty() {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), h_dst.cast(), bytes.len());
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn hipgraph_type_erased_device_array_view_copy(
    _handle: *const Handle,
    dst: *mut DeviceView,
    src: *const DeviceView,
    error: Errors,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe {
        guard(error, || {
            let (to, from) = (view(dst, "destination")?, view(src, "source")?);
            if (to.len, to.kind) != (from.len, from.kind) {
                return Err(invalid("the views differ in length or type"));
            }
            if to.len == 0 {
                return Ok(());
            }
            hip(hipDeviceSynchronize(), || "waiting for the device".to_owned())?;
            let status = hipMemcpy(to.pointer, from.pointer, to.size(), hipMemcpyDeviceToDevice);
            hip(status, || format!("copying {} bytes on the device", to.size()))
        })
    }
}

unsafe extern "C" fn hipgraph_type_erased_host_array_create(
    _handle: *const Handle,
    n_elems: usize,
    dtype: hipgraph_data_type_id_t,
    array: *mut *mut hipgraph_type_erased_host_array_t,
    error: Errors,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe {
        run(array, error, || {
            let kind = Kind::of(dtype)?;
            Ok(HostArray { bytes: vec![0; n_elems].into(), len: n_elems, kind })
        })
    }
}

unsafe extern "C" fn hipgraph_type_erased_host_array_free(p: *mut hipgraph_type_erased_host_array_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(p) }
}

unsafe extern "C" fn hipgraph_type_erased_host_array_view(
    array: *mut hipgraph_type_erased_host_array_t,
) -> *mut hipgraph_type_erased_host_array_view_t {
    // SAFETY: the pointer is C's.
    let Ok(array) = (unsafe { at::<HostArray, _>(array, "array") }) else { return null_mut() };
    give(HostView { pointer: array.bytes.as_ptr().cast_mut().cast(), len: array.len, kind: array.kind })
}

unsafe extern "C" fn hipgraph_type_erased_host_array_view_create(
    pointer: *mut c_void,
    n_elems: usize,
    dtype: hipgraph_data_type_id_t,
) -> *mut hipgraph_type_erased_host_array_view_t {
    Kind::of(dtype).map_or(null_mut(), |kind| give(HostView { pointer, len: n_elems, kind }))
}

unsafe extern "C" fn hipgraph_type_erased_host_array_view_free(p: *mut hipgraph_type_erased_host_array_view_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(p) }
}

unsafe extern "C" fn hipgraph_type_erased_host_array_size(p: *const hipgraph_type_erased_host_array_view_t) -> usize {
    // SAFETY: the pointer is C's.
    unsafe { at::<HostView, _>(p, "view") }.map_or(0, |view| view.len)
}

unsafe extern "C" fn hipgraph_type_erased_host_array_pointer(
    p: *const hipgraph_type_erased_host_array_view_t,
) -> *mut c_void {
    // SAFETY: the pointer is C's.
    unsafe { at::<HostView, _>(p, "view") }.map_or(null_mut(), |view| view.pointer)
}

functions! {
    hipgraph_type_erased_device_array_create, hipgraph_type_erased_device_array_create_from_view,
    hipgraph_type_erased_device_array_free, hipgraph_type_erased_device_array_view,
    hipgraph_type_erased_device_array_view_as_type, hipgraph_type_erased_device_array_view_create,
    hipgraph_type_erased_device_array_view_free, hipgraph_type_erased_device_array_view_size,
    hipgraph_type_erased_device_array_view_type, hipgraph_type_erased_device_array_view_pointer,
    hipgraph_type_erased_device_array_view_copy_from_host, hipgraph_type_erased_device_array_view_copy_to_host,
    hipgraph_type_erased_device_array_view_copy, hipgraph_type_erased_host_array_create,
    hipgraph_type_erased_host_array_free, hipgraph_type_erased_host_array_view,
    hipgraph_type_erased_host_array_view_create, hipgraph_type_erased_host_array_view_free,
    hipgraph_type_erased_host_array_size, hipgraph_type_erased_host_array_pointer,
}
