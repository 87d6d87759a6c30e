//! Kernels with a signature in Rust: [`kernel!`](crate::kernel).

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use bytemuck::{NoUninit, Pod};
use smallvec::SmallVec;

use super::args::{ARGUMENT, named, point_to_hidden};
use super::declared::{Given, Refused};
use super::{Kernel, KernelInfo, LaunchConfig, Module};
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::{Admission, Allocation, DevicePtr, DeviceSlice, DeviceSliceMut, IntoSlice, IntoSliceMut};
use crate::stream::Stream;
use crate::stream::usage::{Access, AccessKind, Accesses};
use crate::texture::{Surface, Texture};

/// A declared parameter: the shape that the code object must have for it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    size: usize,
    align: usize,
    pointer: bool,
    given: fn() -> Given,
    /// The kernel's access to the memory behind it, if the declaration specifies it.
    access: Option<AccessKind>,
}

/// A kind of parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a kernel",
    label = "not a parameter of a kernel",
    note = "a structure is passed by value if it is `#[repr(C)]` and implements `bytemuck::NoUninit`: `#[derive(Clone, Copy, NoUninit)]`, with `bytemuck`'s feature `derive`",
    note = "`half::f16` and `bf16` need the feature `half` of `hip`, `Complex` the feature `complex`",
    note = "memory of `T` is `*const T`, `*mut T` or `DevicePtr<T>`, where `T` is `bytemuck::Pod`"
)]
pub trait Parameter {
    /// The shape that the code object must have for it.
    const SHAPE: Shape;
}

const fn pointer(given: fn() -> Given, access: Option<AccessKind>) -> Shape {
    Shape { size: 8, align: 8, pointer: true, given, access }
}

/// An argument while it is passed: the place of its bytes, and its accesses.
pub struct Held<'a> {
    /// If it is null, the bytes are `address`.
    value: *const c_void,
    address: u64,
    touched: Option<(&'a Allocation, Access<'a>)>,
}

/// A texture or surface, and the memory that is accessed through it.
#[derive(Clone, Copy)]
pub struct Object<'a>(Device, [Access<'a>; 2]);

impl Held<'_> {
    /// Replaces a null address by another one, for a kernel that expects a non-null address for memory without
    /// elements.
    #[inline]
    #[must_use]
    pub fn not_null(mut self, dangling: u64) -> Self {
        if self.value.is_null() && self.address == 0 {
            self.address = dangling;
        }
        self
    }

    #[inline]
    fn pointer(&self) -> *mut c_void {
        // Only read.
        if self.value.is_null() { ptr::from_ref(&self.address).cast_mut().cast() } else { self.value.cast_mut() }
    }
}

/// A `*const T`.
pub struct Const<T>(PhantomData<T>);
/// A `*mut T`.
pub struct Mut<T>(PhantomData<T>);
/// A `DevicePtr<T>`.
pub struct Address<T>(PhantomData<T>);
/// A value.
pub struct Value<T>(PhantomData<T>);
/// A `&Texture`.
pub struct Sampled;
/// A `&Surface`.
pub struct Loaded;
/// A `&mut Surface`.
pub struct Stored;

impl<T: Pod> Parameter for Const<T> {
    const SHAPE: Shape = pointer(Given::of::<T>, Some(AccessKind::Read));
}

impl<T: Pod> Parameter for Mut<T> {
    const SHAPE: Shape = pointer(Given::of::<T>, Some(AccessKind::Write));
}

impl<T: Pod> Parameter for Address<T> {
    const SHAPE: Shape = pointer(Given::behind_pointer::<T>, None);
}

impl Parameter for Sampled {
    const SHAPE: Shape = pointer(|| Given::texels(std::any::type_name::<Texture<'_>>()), None);
}

impl Parameter for Loaded {
    const SHAPE: Shape = pointer(|| Given::texels(std::any::type_name::<Surface<'_>>()), None);
}

impl Parameter for Stored {
    const SHAPE: Shape = pointer(|| Given::texels(std::any::type_name::<Surface<'_>>()), None);
}

// Otherwise the compiler would mention only `NoUninit`.
#[diagnostic::do_not_recommend]
impl<T: NoUninit> Parameter for Value<T> {
    const SHAPE: Shape =
        Shape { size: size_of::<T>(), align: align_of::<T>(), pointer: false, given: Given::of::<T>, access: None };
}

impl<T: Pod> Const<T> {
    /// Converts the argument to a slice.
    #[inline]
    pub fn convert<'a>(argument: impl IntoSlice<'a, T>) -> DeviceSlice<'a, T> {
        argument.into()
    }

    /// Prepares the argument for passing.
    #[inline]
    pub fn hold<'a>(slice: &DeviceSlice<'a, T>) -> Held<'a> {
        let touched = Some((slice.memory(), slice.access()));
        Held { value: ptr::null(), address: slice.pointer() as u64, touched }
    }
}

impl<T: Pod> Mut<T> {
    /// Converts the argument to a slice.
    #[inline]
    pub fn convert<'a>(argument: impl IntoSliceMut<'a, T>) -> DeviceSliceMut<'a, T> {
        argument.into()
    }

    /// Prepares the argument for passing.
    #[inline]
    pub fn hold<'a>(slice: &DeviceSliceMut<'a, T>) -> Held<'a> {
        let touched = Some((slice.memory(), slice.access()));
        Held { value: ptr::null(), address: slice.pointer() as u64, touched }
    }
}

impl<T: Pod> Address<T> {
    /// Returns the argument unchanged.
    #[inline]
    pub fn convert(argument: DevicePtr<T>) -> DevicePtr<T> {
        argument
    }

    /// Prepares the argument for passing.
    #[inline]
    pub fn hold(argument: &DevicePtr<T>) -> Held<'static> {
        Held { value: ptr::null(), address: argument.address(), touched: None }
    }
}

// `Parameter` requires that `T` can be passed; repeating the bound here would repeat the compiler's error.
impl<T> Value<T> {
    /// Returns the argument unchanged.
    #[inline]
    pub fn convert(argument: T) -> T {
        argument
    }

    /// Prepares the argument for passing.
    #[inline]
    pub fn hold(argument: &T) -> Held<'_> {
        Held { value: ptr::from_ref(argument).cast(), address: 0, touched: None }
    }
}

macro_rules! objects {
    ($($kind:ty, $argument:ty, $given:ident => $accesses:expr;)*) => {$(
        impl $kind {
            /// Returns the argument unchanged.
            #[inline]
            pub fn convert<'a, 't>($given: $argument) -> $argument {
                $given
            }

            /// Prepares the argument for passing.
            #[inline]
            pub fn hold<'a, 't>($given: &$argument) -> Held<'static> {
                Held { value: ptr::null(), address: $given.as_raw() as u64, touched: None }
            }

            /// Returns its accesses.
            #[inline]
            pub fn object<'a, 't, 'h>($given: &'h $argument) -> Object<'h> {
                Object($given.device(), $accesses)
            }
        }
    )*};
}

objects! {
    Sampled, &'a Texture<'t>, texture => texture.accesses();
    Loaded, &'a Surface<'t>, surface => surface.accesses(AccessKind::Read);
    Stored, &'a mut Surface<'t>, surface => surface.accesses(AccessKind::Write);
}

/// Ensures that each kernel thread on the device has at least this stack, for the life of the program.
///
/// # Errors
/// Those of [`Device::set_limit`].
pub fn require_stack(device: &Device, bytes: u32) -> Result<()> {
    device.require_stack(bytes as usize)
}

/// Returns the address of the record to which a Rust kernel launched on the stream writes a panic.
///
/// # Errors
/// `hipErrorOutOfMemory`; [`Error::Capture`] if another thread captures the stream.
#[inline]
pub fn panics(stream: &Stream) -> Result<u64> {
    stream.inner.panic_record()
}

/// A kernel whose parameters match a signature.
#[derive(Clone)]
pub struct TypedKernel {
    kernel: Kernel,
}

impl TypedKernel {
    /// Finds the kernel and compares its parameters with the signature.
    ///
    /// # Errors
    /// [`Error::KernelNotFound`], [`Error::ArgumentCount`], [`Error::Argument`].
    pub fn load(module: &Module, name: &str, parameters: &[Shape]) -> Result<Self> {
        let kernel = module.kernel(name)?;
        compare(kernel.info(), parameters)?;
        Ok(Self { kernel })
    }

    /// Returns the kernel.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Queues a launch.
    ///
    /// # Errors
    /// Those of [`Kernel::launch`].
    ///
    /// # Safety
    /// That of [`Kernel::launch`]; and the arguments must be of the kinds and sizes that `load` compared, and `objects`
    /// must list all textures and surfaces among them.
    pub unsafe fn launch<const N: usize>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        arguments: [Held<'_>; N],
        objects: &[Object<'_>],
    ) -> Result<()> {
        // SAFETY: the caller ensures it.
        unsafe { self.queue::<N, false>(stream, config, arguments, objects) }
    }

    /// Queues a cooperative launch.
    ///
    /// # Errors
    /// Those of [`Kernel::launch_cooperative`].
    ///
    /// # Safety
    /// That of [`launch`](Self::launch).
    pub unsafe fn launch_cooperative<const N: usize>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        arguments: [Held<'_>; N],
        objects: &[Object<'_>],
    ) -> Result<()> {
        // SAFETY: the caller ensures it.
        unsafe { self.queue::<N, true>(stream, config, arguments, objects) }
    }

    #[inline]
    unsafe fn queue<const N: usize, const COOPERATIVE: bool>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        arguments: [Held<'_>; N],
        objects: &[Object<'_>],
    ) -> Result<()> {
        let kernel = &self.kernel;
        let device = kernel.device();
        device.expect(stream.device(), "the stream")?;
        let mut admitted = Admission::OWN;
        for (index, argument) in arguments.iter().enumerate() {
            if let Some((memory, access)) = &argument.touched {
                let admission = memory.admit(device, access.kind, ARGUMENT);
                let admission = admission.map_err(|error| named(kernel.info(), index, error))?;
                // The first admission covers all others while it is held.
                if admitted.is_own() {
                    admitted = admission;
                }
            }
        }
        for object in objects {
            device.expect(object.0, ARGUMENT)?;
        }
        let mut pointers = arguments.each_ref().map(Held::pointer);
        let late_hidden = kernel.info().late_hidden;
        let accesses = Touched { arguments: &arguments, objects, module: kernel.access() };
        if late_hidden == 0 && !COOPERATIVE {
            // SAFETY: there is one pointer per parameter, to as many bytes as it has, which `load` has compared; the list of accesses has
            // all buffers and the module. The caller ensures that the kernel is sound.
            return unsafe { kernel.queue(stream, config, &mut pointers, accesses) };
        }
        let mut pointers: SmallVec<[*mut c_void; 16]> = pointers.into_iter().collect();
        if late_hidden != 0 {
            point_to_hidden(&mut pointers, late_hidden);
        }
        // SAFETY: as above; the pointers after the parameters are for hidden arguments.
        unsafe {
            if COOPERATIVE {
                kernel.queue_cooperative(stream, config, &mut pointers, accesses)
            } else {
                kernel.queue(stream, config, &mut pointers, accesses)
            }
        }
    }
}

/// The accesses of a launch: the memory behind its arguments, and its module.
#[derive(Clone, Copy)]
struct Touched<'a, const N: usize> {
    arguments: &'a [Held<'a>; N],
    objects: &'a [Object<'a>],
    module: Access<'a>,
}

impl<'a, const N: usize> Accesses<'a> for Touched<'a, N> {
    #[inline]
    fn all(self, mut test: impl FnMut(Access<'a>) -> bool) -> bool {
        self.arguments.iter().all(|argument| argument.touched.is_none_or(|(_, access)| test(access)))
            && (self.objects.is_empty() || all_of(self.objects, &mut test))
            && test(self.module)
    }
}

/// Not inlined, so that the code for buffers is.
#[cold]
fn all_of<'a>(objects: &[Object<'a>], test: &mut dyn FnMut(Access<'a>) -> bool) -> bool {
    objects.iter().flat_map(|object| object.1).all(test)
}

impl fmt::Debug for TypedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kernel.fmt(f)
    }
}

/// Returns `Ok` if the kernel has these parameters, each at its offset in C.
fn compare(info: &KernelInfo, declared: &[Shape]) -> Result<()> {
    if info.parameters.len() != declared.len() {
        return Err(Error::ArgumentCount {
            signature: info.to_string(),
            expected: info.parameters.len(),
            given: declared.len(),
        });
    }
    let mut end = 0usize;
    for (index, (parameter, shape)) in info.parameters.iter().zip(declared).enumerate() {
        let offset = end.next_multiple_of(shape.align);
        end = offset + shape.size;
        let is_kind = if shape.pointer { parameter.kind.takes_pointer() } else { parameter.kind.takes_value() };
        let given = (shape.given)();
        let type_name = given.name;
        if is_kind && parameter.size == shape.size && parameter.offset == offset {
            let Some(declared) = parameter.declared.as_ref().filter(|it| !it.admits(given, shape.access)) else {
                continue;
            };
            let given = match shape.access {
                Some(AccessKind::Read) => format!("*const {type_name}"),
                Some(AccessKind::Write) => format!("*mut {type_name}"),
                None => type_name.to_owned(),
            };
            let Refused { expected, .. } = declared.refusal(shape.access);
            return Err(Error::Argument { signature: info.to_string(), index, expected, given });
        }
        return Err(Error::Argument {
            signature: info.to_string(),
            index,
            expected: format!("{parameter} at offset {}", parameter.offset),
            given: if shape.pointer {
                format!("a pointer to {type_name} at offset {offset}")
            } else {
                format!("a value of {} bytes ({type_name}) at offset {offset}", shape.size)
            },
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::metadata::tests::kernel_of;
    use crate::module::{Parameter as Described, ParameterKind};

    fn described(offset: usize, size: usize, kind: ParameterKind) -> Described {
        Described { name: None, type_name: None, offset, size, kind, declared: None }
    }

    #[test]
    fn a_signature_lies_where_c_puts_it() {
        // k(u8, f64, [f32; 3] in a structure, u8, const int*)
        let shapes = [
            Value::<u8>::SHAPE,
            Value::<f64>::SHAPE,
            Value::<[f32; 3]>::SHAPE,
            Value::<u8>::SHAPE,
            Const::<i32>::SHAPE,
        ];
        let value = ParameterKind::Value;
        let good = |third: usize| {
            kernel_of(vec![
                described(0, 1, value.clone()),
                described(8, 8, value.clone()),
                described(third, 12, value.clone()),
                described(third + 12, 1, value.clone()),
                described((third + 13).next_multiple_of(8), 8, ParameterKind::Pointer),
            ])
        };
        compare(&good(16), &shapes).unwrap();
        // Aligned to its size, unlike in C.
        let error = compare(&good(24), &shapes).unwrap_err().to_string();
        assert!(error.contains("argument 3") && error.contains("offset 24") && error.contains("offset 16"), "{error}");
    }

    #[test]
    fn pointers_sizes_and_counts_are_compared() {
        let kernel = kernel_of(vec![described(0, 8, ParameterKind::Pointer), described(8, 4, ParameterKind::Value)]);
        compare(&kernel, &[Mut::<f32>::SHAPE, Value::<u32>::SHAPE]).unwrap();
        compare(&kernel, &[Address::<f32>::SHAPE, Value::<f32>::SHAPE]).unwrap();
        assert!(matches!(
            compare(&kernel, &[Mut::<f32>::SHAPE]),
            Err(Error::ArgumentCount { expected: 2, given: 1, .. })
        ));
        let number = compare(&kernel, &[Value::<u64>::SHAPE, Value::<u32>::SHAPE]).unwrap_err();
        assert!(matches!(number, Error::Argument { index: 0, .. }), "{number}");
        let wide = compare(&kernel, &[Const::<f32>::SHAPE, Value::<f64>::SHAPE]).unwrap_err();
        assert!(matches!(wide, Error::Argument { index: 1, .. }), "{wide}");
        let value = kernel_of(vec![described(0, 8, ParameterKind::Value)]);
        for shape in [Sampled::SHAPE, Loaded::SHAPE, Stored::SHAPE] {
            let image = compare(&value, &[shape]).unwrap_err();
            assert!(matches!(image, Error::Argument { index: 0, .. }), "{image}");
        }
    }
}
