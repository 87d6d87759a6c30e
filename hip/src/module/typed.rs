//! Kernels with a signature in Rust: [`kernel!`](crate::kernel).

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use bytemuck::{NoUninit, Pod};
use smallvec::SmallVec;

use super::args::{ARGUMENT, point_to_hidden};
use super::{Kernel, KernelInfo, LaunchConfig, Module, ParameterKind};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::{Allocation, DevicePtr, DeviceSlice, DeviceSliceMut};
use crate::stream::Stream;
use crate::texture::{Surface, Texture};
use crate::usage::{Access, AccessKind, Accesses};

/// Declares the signature of a kernel, as a type that is checked once and then launched without looking at arguments again.
///
/// Parameters are `*const T` and `*mut T`, which take slices of device memory, or values: numbers, and structures that are
/// `#[repr(C)]` and [`NoUninit`]. `DevicePtr<T>` takes an address. `&Texture` is for a kernel's `hipTextureObject_t`; `&Surface`, which it
/// only reads, and `&mut Surface` are for a `hipSurfaceObject_t` (in these words, without a path). The name is the kernel's, in quotes if it is
/// mangled. The type has these methods, with the parameters `a`, `b`, ... of the declaration:
///
/// - `fn load(module: &Module) -> Result<Self>` finds the kernel and compares the signature with what the code object says: how many
///   parameters, which are pointers, the size of each, and that each lies where C puts it;
/// - `unsafe fn launch(&self, stream: &Stream, config: LaunchConfig, a, b, ...) -> Result<()>` is [`Kernel::launch`](crate::Kernel::launch).
///   A `*const T` is `impl Into<DeviceSlice<T>>` (so `&DeviceBuffer<T>`), a `*mut T` is `impl Into<DeviceSliceMut<T>>`
///   (so `&mut DeviceBuffer<T>`). It allocates nothing;
/// - `unsafe fn add_to(&self, graph: &mut Graph, after: &[Node], config: LaunchConfig, a, b, ...) -> Result<Node>` is
///   [`Graph::add_kernel`](crate::Graph::add_kernel);
/// - `fn kernel(&self) -> &Kernel` is the kernel.
///
/// ```
/// use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};
///
/// hip::kernel! {
///     /// `c = a + b`, of `n` elements each.
///     pub struct VectorAdd: fn vector_add(a: *const f32, b: *const f32, c: *mut f32, n: u32);
/// }
///
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// let device = Device::get(0)?;
/// # if device.properties()?.arch.name() != "gfx90a" { return Ok(()) }
/// let code = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/kernels.gfx90a.co"));
/// let add = VectorAdd::load(&Module::load(&device, code)?)?;
///
/// let stream = Stream::new(&device)?;
/// let a = DeviceBuffer::from_slice(&device, &[1.0f32, 2.0, 3.0])?;
/// let mut c = DeviceBuffer::<f32>::zeroed(&device, 3)?;
/// // SAFETY: the kernel reads a and b and writes c, each of 3 elements, and checks its index against n.
/// unsafe { add.launch(&stream, LaunchConfig::for_elements(3, 64), &a, &a, &mut c, 3)? };
/// assert_eq!(c.to_vec()?, [2.0, 4.0, 6.0]);
/// # Ok(()) }
/// ```
///
/// Input that is also output does not compile:
///
/// ```compile_fail
/// # hip::kernel! { struct VectorAdd: fn vector_add(a: *const f32, b: *const f32, c: *mut f32, n: u32); }
/// # fn f(add: VectorAdd, stream: hip::Stream, config: hip::LaunchConfig, a: hip::DeviceBuffer<f32>, mut c: hip::DeviceBuffer<f32>) -> hip::Result<()> {
/// unsafe { add.launch(&stream, config, &a, &c, &mut c, 3) }
/// # }
/// ```
#[macro_export]
macro_rules! kernel {
    ($($(#[$attribute:meta])* $visibility:vis struct $type:ident : fn $name:tt ($($parameters:tt)*);)*) => {
        $($crate::kernel!(@parse
            ($(#[$attribute])*) ($visibility) $type ($crate::kernel!(@name $name)) [] [] $($parameters)*
        );)*
    };

    (@count) => { 0 };
    (@count $first:ident $($rest:ident)*) => { 1 + $crate::kernel!(@count $($rest)*) };

    (@name $name:ident) => { ::core::stringify!($name) };
    (@name $name:literal) => { $name };

    // One parameter at a time: its name, the type of the argument, what holds it, and the type in the declaration.
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] $objects:tt $p:ident : *const $t:ty $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, impl ::core::convert::Into<$crate::DeviceSlice<'a, $t>>, $crate::typed::Const<$t>)] $objects $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] $objects:tt $p:ident : *mut $t:ty $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, impl ::core::convert::Into<$crate::DeviceSliceMut<'a, $t>>, $crate::typed::Mut<$t>)] $objects $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] $objects:tt $p:ident : DevicePtr<$t:ty> $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, $crate::DevicePtr<$t>, $crate::typed::Address<$t>)] $objects $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] [$($object:tt)*] $p:ident : &Texture $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, &'a $crate::Texture<'_>, $crate::typed::Sampled)] [$($object)* ($p, $crate::typed::Sampled)] $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] [$($object:tt)*] $p:ident : &Surface $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, &'a $crate::Surface<'_>, $crate::typed::Loaded)] [$($object)* ($p, $crate::typed::Loaded)] $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] [$($object:tt)*] $p:ident : &mut Surface $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, &'a mut $crate::Surface<'_>, $crate::typed::Stored)] [$($object)* ($p, $crate::typed::Stored)] $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] $objects:tt $p:ident : $t:ty $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, $t, $crate::typed::Value<$t>)] $objects $($($rest)*)?);
    };

    (@parse ($(#[$attribute:meta])*) ($visibility:vis) $type:ident ($name:expr)
        [$(($p:ident, $argument:ty, $kind:ty))*] [$(($object:ident, $object_kind:ty))*]
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug)]
        $visibility struct $type {
            kernel: $crate::typed::TypedKernel,
        }

        #[allow(dead_code, clippy::too_many_arguments)]
        impl $type {
            /// Finds the kernel in a module and compares this signature with what the code object says of it.
            ///
            /// # Errors
            /// `Error::KernelNotFound`; `Error::ArgumentCount` and `Error::Argument` if the signature is another.
            $visibility fn load(module: &$crate::Module) -> $crate::Result<Self> {
                let parameters = [$(<$kind as $crate::typed::Parameter>::SHAPE),*];
                ::core::result::Result::Ok(Self { kernel: $crate::typed::TypedKernel::load(module, $name, &parameters)? })
            }

            /// Queues a launch and returns at once: as `Kernel::launch`, without looking at the arguments again.
            ///
            /// # Errors
            /// As for `Kernel::launch`, before anything is queued.
            ///
            /// # Safety
            /// That of `Kernel::launch`.
            #[allow(clippy::extra_unused_lifetimes)]
            $visibility unsafe fn launch<'a>(
                &self,
                stream: &$crate::Stream,
                config: $crate::LaunchConfig,
                $($p: $argument),*
            ) -> $crate::Result<()> {
                $(let $p = <$kind>::convert($p);)*
                // SAFETY: the arguments are of the kinds that `load` has compared; the caller answers for the kernel.
                unsafe {
                    let objects = [$(<$object_kind>::object(&$object)),*];
                    self.kernel.launch(stream, config, [$(<$kind>::hold(&$p)),*], &objects)
                }
            }

            /// Adds a launch to a graph: as `Graph::add_kernel`.
            ///
            /// # Errors
            /// As for `Graph::add_kernel`.
            ///
            /// # Safety
            /// That of `Graph::add_kernel`.
            #[allow(clippy::extra_unused_lifetimes)]
            $visibility unsafe fn add_to<'a>(
                &self,
                graph: &mut $crate::Graph,
                after: &[$crate::Node],
                config: $crate::LaunchConfig,
                $($p: $argument),*
            ) -> $crate::Result<$crate::Node> {
                $(let $p = <$kind>::convert($p);)*
                let arguments: [&dyn $crate::KernelArg; $crate::kernel!(@count $($p)*)] = [$(&$p),*];
                // SAFETY: the caller answers for the kernel.
                unsafe { graph.add_kernel(after, self.kernel.kernel(), config, arguments) }
            }

            /// The kernel, with no signature.
            #[must_use]
            $visibility fn kernel(&self) -> &$crate::Kernel {
                self.kernel.kernel()
            }
        }
    };
}

/// A parameter of a declaration: what the code object must say of it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    size: usize,
    align: usize,
    pointer: bool,
    type_name: fn() -> &'static str,
}

/// A kind of parameter.
pub trait Parameter {
    /// What the code object must say of it.
    const SHAPE: Shape;
}

const fn pointer<T>() -> Shape {
    Shape { size: 8, align: 8, pointer: true, type_name: std::any::type_name::<T> }
}

/// An argument while it is passed: where its bytes are, and what memory it touches.
pub struct Held<'a> {
    /// Null: the bytes are `address`.
    value: *const c_void,
    address: u64,
    touched: Option<(&'a Allocation, Access<'a>)>,
}

/// A texture or surface, what is read or written through it.
#[derive(Clone, Copy)]
pub struct Object<'a>(Device, [Access<'a>; 2]);

impl Held<'_> {
    #[inline]
    fn pointer(&self) -> *mut c_void {
        // It is read only.
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
    const SHAPE: Shape = pointer::<T>();
}

impl<T: Pod> Parameter for Mut<T> {
    const SHAPE: Shape = pointer::<T>();
}

impl<T: Pod> Parameter for Address<T> {
    const SHAPE: Shape = pointer::<T>();
}

impl Parameter for Sampled {
    const SHAPE: Shape = pointer::<Texture<'_>>();
}

impl Parameter for Loaded {
    const SHAPE: Shape = pointer::<Surface<'_>>();
}

impl Parameter for Stored {
    const SHAPE: Shape = pointer::<Surface<'_>>();
}

impl<T: NoUninit> Parameter for Value<T> {
    const SHAPE: Shape =
        Shape { size: size_of::<T>(), align: align_of::<T>(), pointer: false, type_name: std::any::type_name::<T> };
}

impl<T: Pod> Const<T> {
    /// The argument as the slice that it is.
    #[inline]
    pub fn convert<'a>(argument: impl Into<DeviceSlice<'a, T>>) -> DeviceSlice<'a, T> {
        argument.into()
    }

    /// The argument on its way.
    #[inline]
    pub fn hold<'a>(slice: &DeviceSlice<'a, T>) -> Held<'a> {
        let touched = Some((slice.memory(), slice.access()));
        Held { value: ptr::null(), address: slice.pointer() as u64, touched }
    }
}

impl<T: Pod> Mut<T> {
    /// The argument as the slice that it is.
    #[inline]
    pub fn convert<'a>(argument: impl Into<DeviceSliceMut<'a, T>>) -> DeviceSliceMut<'a, T> {
        argument.into()
    }

    /// The argument on its way.
    #[inline]
    pub fn hold<'a>(slice: &DeviceSliceMut<'a, T>) -> Held<'a> {
        let touched = Some((slice.memory(), slice.access()));
        Held { value: ptr::null(), address: slice.pointer() as u64, touched }
    }
}

impl<T: Pod> Address<T> {
    /// The argument as it is.
    #[inline]
    pub fn convert(argument: DevicePtr<T>) -> DevicePtr<T> {
        argument
    }

    /// The argument on its way.
    #[inline]
    pub fn hold(argument: &DevicePtr<T>) -> Held<'static> {
        Held { value: ptr::null(), address: argument.address(), touched: None }
    }
}

impl<T: NoUninit> Value<T> {
    /// The argument as it is.
    #[inline]
    pub fn convert(argument: T) -> T {
        argument
    }

    /// The argument on its way.
    #[inline]
    pub fn hold(argument: &T) -> Held<'_> {
        Held { value: ptr::from_ref(argument).cast(), address: 0, touched: None }
    }
}

macro_rules! objects {
    ($($kind:ty, $argument:ty, $given:ident => $accesses:expr;)*) => {$(
        impl $kind {
            /// The argument as it is.
            #[inline]
            pub fn convert<'a, 't>($given: $argument) -> $argument {
                $given
            }

            /// The argument on its way.
            #[inline]
            pub fn hold<'a, 't>($given: &$argument) -> Held<'static> {
                Held { value: ptr::null(), address: $given.as_raw() as u64, touched: None }
            }

            /// What it touches.
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

/// A kernel whose parameters were compared with a signature.
#[derive(Clone)]
pub struct TypedKernel {
    kernel: Kernel,
}

impl TypedKernel {
    /// Finds the kernel and compares.
    ///
    /// # Errors
    /// [`Error::KernelNotFound`], [`Error::ArgumentCount`], [`Error::Argument`].
    pub fn load(module: &Module, name: &str, parameters: &[Shape]) -> Result<Self> {
        let kernel = module.kernel(name)?;
        compare(kernel.info(), parameters)?;
        Ok(Self { kernel })
    }

    /// The kernel.
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
    /// That of [`Kernel::launch`]; and the arguments are of the kinds and sizes that `load` compared, `objects` all textures and surfaces
    /// among them.
    pub unsafe fn launch<const N: usize>(
        &self,
        stream: &Stream,
        config: LaunchConfig,
        arguments: [Held<'_>; N],
        objects: &[Object<'_>],
    ) -> Result<()> {
        let kernel = &self.kernel;
        let device = kernel.device();
        device.expect(stream.device(), "the stream")?;
        for argument in &arguments {
            if let Some((memory, access)) = &argument.touched {
                memory.admit(device, access.kind, ARGUMENT)?;
            }
        }
        for object in objects {
            device.expect(object.0, ARGUMENT)?;
        }
        let mut pointers = arguments.each_ref().map(Held::pointer);
        let late_hidden = kernel.info().late_hidden;
        let accesses = Touched { arguments: &arguments, objects, module: kernel.access() };
        if late_hidden == 0 {
            // SAFETY: there is a pointer a parameter, to as many bytes as it has, which `load` has compared; the list of what is
            // touched has all buffers and the module. The caller answers for the kernel.
            return unsafe { kernel.queue(stream, config, &mut pointers, accesses) };
        }
        let mut pointers: SmallVec<[*mut c_void; 16]> = pointers.into_iter().collect();
        point_to_hidden(&mut pointers, late_hidden);
        // SAFETY: as above; what is behind the parameters is for hidden arguments.
        unsafe { kernel.queue(stream, config, &mut pointers, accesses) }
    }
}

/// What a launch touches: the memory behind its arguments, and its module.
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

/// Apart, so that what is done for buffers stays in line.
#[cold]
fn all_of<'a>(objects: &[Object<'a>], test: &mut dyn FnMut(Access<'a>) -> bool) -> bool {
    objects.iter().flat_map(|object| object.1).all(test)
}

impl fmt::Debug for TypedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kernel.fmt(f)
    }
}

/// `Ok` if the kernel has these parameters, each where C puts it.
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
        let kind = if shape.pointer { ParameterKind::Pointer } else { ParameterKind::Value };
        if parameter.kind == kind && parameter.size == shape.size && parameter.offset == offset {
            continue;
        }
        let type_name = (shape.type_name)();
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
    use crate::module::Parameter as Described;
    use crate::module::metadata::tests::kernel_of;

    fn described(offset: usize, size: usize, kind: ParameterKind) -> Described {
        Described { name: None, type_name: None, offset, size, kind }
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
        // Aligned to its size, as it is not in C.
        let error = compare(&good(24), &shapes).unwrap_err().to_string();
        assert!(error.contains("argument 2") && error.contains("offset 24") && error.contains("offset 16"), "{error}");
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
