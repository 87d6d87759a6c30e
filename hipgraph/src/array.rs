//! Arrays: the inputs, and the columns of results.

use std::marker::PhantomData;
use std::ptr::{null, null_mut};
use std::rc::Rc;

use hip::bytemuck::Pod;
use hip::{Device, DeviceBuffer};
use hipgraph_sys::*;

use crate::error::{Error, Result, call, invalid, make};
use crate::handle::ResourceHandle;

mod sealed {
    pub trait Sealed {}
}

/// The type of an array's elements: `i32`, `i64`, `f32`, `f64`, `usize`.
pub trait Element: Pod + std::fmt::Debug + PartialEq + PartialOrd + sealed::Sealed {
    /// The library's code of the type.
    const ID: hipgraph_data_type_id_t;
}

macro_rules! elements {
    ($($ty:ty = $id:ident),*) => {$(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const ID: hipgraph_data_type_id_t = $id;
        }
    )*};
}
elements! { i32 = HIPGRAPH_INT32, i64 = HIPGRAPH_INT64, f32 = HIPGRAPH_FLOAT32, f64 = HIPGRAPH_FLOAT64, usize = HIPGRAPH_SIZE_T }

/// The type of vertices: `i32` or `i64`.
pub trait Vertex: Element + Copy + Eq + Ord + std::hash::Hash + std::fmt::Display {
    /// Returns the vertex as a number.
    fn to_i64(self) -> i64;
    /// Returns the vertex with this number, if it fits.
    fn from_i64(number: i64) -> Option<Self>;
    /// The distance of a vertex that a breadth-first search did not reach.
    const UNREACHED: Self;
    /// The value for a missing vertex, such as the predecessor of a source.
    const NONE: Self;
}

macro_rules! vertices {
    ($($ty:ty),*) => {$(
        impl Vertex for $ty {
            fn to_i64(self) -> i64 {
                i64::from(self)
            }
            fn from_i64(number: i64) -> Option<Self> {
                Self::try_from(number).ok()
            }
            const UNREACHED: Self = <$ty>::MAX;
            const NONE: Self = -1;
        }
    )*};
}
vertices! { i32, i64 }

/// The type of weights and scores: `f32` or `f64`.
pub trait Weight: Element + Copy {
    /// Returns the number as `f64`.
    fn to_f64(self) -> f64;
    /// Returns the nearest number of the type.
    fn from_f64(number: f64) -> Self;
    /// The distance of a vertex that a shortest path did not reach.
    const UNREACHED: Self;
}

impl Weight for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn from_f64(number: f64) -> f32 {
        number as f32
    }
    const UNREACHED: f32 = f32::MAX;
}

impl Weight for f64 {
    fn to_f64(self) -> f64 {
        self
    }
    fn from_f64(number: f64) -> f64 {
        number
    }
    const UNREACHED: f64 = f64::MAX;
}

/// A view that is freed when it is dropped.
pub(crate) struct View(*mut hipgraph_type_erased_device_array_view_t);

impl View {
    pub(crate) fn raw(&self) -> *mut hipgraph_type_erased_device_array_view_t {
        self.0
    }

    /// Creates a view of device memory.
    ///
    /// # Safety
    /// The memory must have `len` elements, and live as long as the view.
    unsafe fn of<T: Element>(pointer: *mut T, len: usize) -> Result<View> {
        // SAFETY: as the caller ensures.
        let view = unsafe { hipgraph_type_erased_device_array_view_create(pointer.cast(), len, T::ID) };
        if view.is_null() { Err(no_view("hipgraph_type_erased_device_array_view_create")) } else { Ok(View(view)) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the view is alive, and freed once.
            unsafe { hipgraph_type_erased_device_array_view_free(self.0) }
        }
    }
}

fn no_view(function: &'static str) -> Error {
    Error::Library {
        status: HIPGRAPH_UNKNOWN_ERROR,
        message: "it returned null".to_owned(),
        function,
        request: "a view of an array".to_owned(),
    }
}

/// An array that the library owns, filled from the host: the input of a call.
pub(crate) struct Input {
    view: View,
    array: *mut hipgraph_type_erased_device_array_t,
    _handle: ResourceHandle,
}

impl Input {
    pub(crate) fn new<T: Element>(handle: &ResourceHandle, values: &[T]) -> Result<Input> {
        let request = || format!("an array of {} elements of {}", values.len(), std::any::type_name::<T>());
        // SAFETY: the handle is alive, and the places are valid for writes.
        let array = make("hipgraph_type_erased_device_array_create", request, |array, error| unsafe {
            hipgraph_type_erased_device_array_create(handle.raw(), values.len(), T::ID, array, error)
        })?;
        // SAFETY: the array was just made.
        let view = View(unsafe { hipgraph_type_erased_device_array_view(array) });
        let input = Input { view, array, _handle: handle.clone() };
        if input.view.raw().is_null() {
            return Err(no_view("hipgraph_type_erased_device_array_view"));
        }
        // An array without elements has no memory to copy to.
        if !values.is_empty() {
            // SAFETY: the view has as many elements of that type as the slice.
            call("hipgraph_type_erased_device_array_view_copy_from_host", request, |error| unsafe {
                let from = values.as_ptr().cast();
                hipgraph_type_erased_device_array_view_copy_from_host(handle.raw(), input.raw(), from, error)
            })?;
        }
        Ok(input)
    }

    pub(crate) fn raw(&self) -> *mut hipgraph_type_erased_device_array_view_t {
        self.view.raw()
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        // Frees the view first: it points into the array.
        drop(std::mem::replace(&mut self.view, View(null_mut())));
        // SAFETY: the array is alive, and freed once.
        unsafe { hipgraph_type_erased_device_array_free(self.array) }
    }
}

/// Returns the pointer of an optional array: null for `None`.
pub(crate) fn or_null(input: Option<&Input>) -> *const hipgraph_type_erased_device_array_view_t {
    input.map_or(null(), |input| input.raw().cast_const())
}

/// As [`of_buffer`], for a buffer whose content the library relies on while it reads it. `what` names the content, as a
/// plural.
///
/// # Errors
/// If a graph of `hip` can write to the buffer: another thread could launch it at any time.
pub(crate) fn of_input<T: Element>(what: &'static str, buffer: &DeviceBuffer<T>) -> Result<View> {
    buffer.as_slice().expect_unwritten(what)?;
    of_buffer(buffer)
}

/// Waits for the work queued on a `hip` buffer, and returns a view of it.
pub(crate) fn of_buffer<T: Element>(buffer: &DeviceBuffer<T>) -> Result<View> {
    buffer.synchronize()?;
    let pointer = buffer.as_device_ptr().address() as *mut T;
    // SAFETY: the buffer has as many elements, and the caller keeps it.
    unsafe { View::of(pointer, buffer.len()) }
}

/// An object of the library, freed when its last column is dropped.
pub(crate) struct Object<R> {
    pointer: *mut R,
    free: unsafe extern "C" fn(*mut R),
    handle: ResourceHandle,
}

impl<R> Object<R> {
    pub(crate) fn new(handle: &ResourceHandle, pointer: *mut R, free: unsafe extern "C" fn(*mut R)) -> Rc<Object<R>> {
        Rc::new(Object { pointer, free, handle: handle.clone() })
    }

    pub(crate) fn raw(&self) -> *mut R {
        self.pointer
    }

    pub(crate) fn handle(&self) -> &ResourceHandle {
        &self.handle
    }
}

impl<R> Drop for Object<R> {
    fn drop(&mut self) {
        // SAFETY: the object is alive, and freed once.
        unsafe { (self.free)(self.pointer) }
    }
}

type Getter<R> = unsafe extern "C" fn(*mut R) -> *mut hipgraph_type_erased_device_array_view_t;

/// A column of a result: an array in device memory that the result owns. The column keeps it alive.
pub struct Column<T> {
    view: View,
    len: usize,
    handle: ResourceHandle,
    _owner: Rc<dyn std::any::Any>,
    _type: PhantomData<T>,
}

impl<T: Element> Column<T> {
    /// Returns the column of a getter; `None` if the result lacks it.
    pub(crate) fn optional<R: 'static>(
        object: &Rc<Object<R>>,
        name: &'static str,
        getter: Getter<R>,
    ) -> Result<Option<Column<T>>> {
        // SAFETY: the object is alive.
        let view = View(unsafe { getter(object.raw()) });
        if view.raw().is_null() {
            return Ok(None);
        }
        // SAFETY: the view is alive.
        let (found, len) = unsafe {
            (
                hipgraph_type_erased_device_array_view_type(view.raw()),
                hipgraph_type_erased_device_array_view_size(view.raw()),
            )
        };
        if found != T::ID {
            let allowed = format!("{:?}, as the types of the graph say", T::ID);
            return Err(invalid(name, format!("of the type {found:?}"), allowed));
        }
        Ok(Some(Column { view, len, handle: object.handle().clone(), _owner: object.clone(), _type: PhantomData }))
    }

    /// Returns the column of a getter.
    pub(crate) fn new<R: 'static>(object: &Rc<Object<R>>, name: &'static str, getter: Getter<R>) -> Result<Column<T>> {
        Column::optional(object, name, getter)?.ok_or_else(|| no_view(name))
    }

    /// Makes a column of values on the host.
    pub(crate) fn of_values(handle: &ResourceHandle, values: &[T]) -> Result<Column<T>> {
        let input = Input::new(handle, values)?;
        // SAFETY: the array is alive: the column owns it, and drops its view first.
        let view = View(unsafe { hipgraph_type_erased_device_array_view(input.array) });
        if view.raw().is_null() {
            return Err(no_view("hipgraph_type_erased_device_array_view"));
        }
        Ok(Column { view, len: values.len(), handle: handle.clone(), _owner: Rc::new(input), _type: PhantomData })
    }

    /// Copies the elements to the host, and waits until they are computed.
    ///
    /// # Errors
    /// If the library returns one.
    #[doc(alias = "hipgraph_type_erased_device_array_view_copy_to_host")]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.len];
        if self.len > 0 {
            let request = || format!("{} elements of {}", self.len, std::any::type_name::<T>());
            // SAFETY: the slice has as many elements of that type as the view.
            call("hipgraph_type_erased_device_array_view_copy_to_host", request, |error| unsafe {
                let to = values.as_mut_ptr().cast();
                hipgraph_type_erased_device_array_view_copy_to_host(self.handle.raw(), to, self.view.raw(), error)
            })?;
        }
        Ok(values)
    }

    /// Copies the elements to a `hip` buffer on the same device, and waits for the copy.
    ///
    /// # Errors
    /// If memory cannot be allocated or the library returns an error.
    #[doc(alias = "hipgraph_type_erased_device_array_view_copy")]
    pub fn to_buffer(&self, device: &Device) -> Result<DeviceBuffer<T>> {
        let buffer = DeviceBuffer::uninit(device, self.len)?;
        if self.len > 0 {
            let to = of_buffer(&buffer)?;
            // SAFETY: both views have as many elements of one type; the buffer is alive.
            call(
                "hipgraph_type_erased_device_array_view_copy",
                || format!("{} elements", self.len),
                // SAFETY: as above.
                |error| unsafe {
                    hipgraph_type_erased_device_array_view_copy(self.handle.raw(), to.raw(), self.view.raw(), error)
                },
            )?;
            device.synchronize()?;
        }
        Ok(buffer)
    }

    /// Returns the device address of the elements. They live as long as the column, and are complete after
    /// [`to_vec`](Self::to_vec) or a wait for the device.
    #[doc(alias = "hipgraph_type_erased_device_array_view_pointer")]
    pub fn as_ptr(&self) -> *const T {
        // SAFETY: the view is alive.
        unsafe { hipgraph_type_erased_device_array_view_pointer(self.view.raw()).cast() }
    }
}

#[cfg(feature = "ndarray")]
impl<T: Element> Column<T> {
    /// Copies the elements to an `ndarray` array on the host.
    ///
    /// # Errors
    /// If the library returns one.
    pub fn to_array(&self) -> Result<ndarray::Array1<T>> {
        Ok(ndarray::Array1::from_vec(self.to_vec()?))
    }
}

impl<T> Column<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the column has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T> std::fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Column<{}>({} elements)", std::any::type_name::<T>(), self.len)
    }
}
