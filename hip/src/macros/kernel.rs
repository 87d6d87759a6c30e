//! `kernel!`: kernels with a signature in Rust.

/// Declares the signature of a kernel, as a type that is checked once and then launched without checking arguments
/// again.
///
/// Parameters are `*const T` and `*mut T`, which take slices of device memory, or values: numbers, and structures that
/// are `#[repr(C)]` and [`NoUninit`](bytemuck::NoUninit). `DevicePtr<T>` takes an address. `&Texture` is for a kernel's
/// `hipTextureObject_t`; `&Surface`, for reading only, and `&mut Surface` are for a `hipSurfaceObject_t` (write these
/// types without a path). The name is the kernel's, in quotes if it is mangled. The type has these methods, with the
/// parameters `a`, `b`, ... of the declaration:
///
/// - `fn load(module: &impl AsRef<Module>) -> Result<Self>` finds the kernel in a module, or in the `Loaded` of
///   `hiprtc`, and compares the signature with the code object: the
///   number of parameters, which are pointers, and the size and the offset of each. If `hiprtc` compiled the kernel, it
///   compares with the source too: `*const T` for a `float *`, another `T` and another number are errors;
/// - `unsafe fn launch(&self, stream: &Stream, config: LaunchConfig, a, b, ...) -> Result<()>` is
///   [`Kernel::launch`](crate::Kernel::launch).
///   A `*const T` is `impl IntoSlice<T>` (so `&DeviceBuffer<T>`), a `*mut T` is `impl IntoSliceMut<T>`
///   (so `&mut DeviceBuffer<T>`). It allocates nothing;
/// - `unsafe fn add_to(&self, graph: &mut Graph, after: &[Node], config: LaunchConfig, a, b, ...) -> Result<Node>` is
///   [`Graph::add_kernel`](crate::Graph::add_kernel);
/// - `fn kernel(&self) -> &Kernel` returns the kernel.
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
/// An argument that is both input and output does not compile:
///
/// ```compile_fail
/// # hip::kernel! { struct VectorAdd: fn vector_add(a: *const f32, b: *const f32, c: *mut f32, n: u32); }
/// # use hip::{DeviceBuffer, LaunchConfig, Stream};
/// # fn f(add: VectorAdd, stream: Stream, config: LaunchConfig, a: DeviceBuffer<f32>, mut c: DeviceBuffer<f32>)
/// # -> hip::Result<()> {
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

    // Parses one parameter at a time: its name, the argument type, the holder type, and the type in the declaration.
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] $objects:tt $p:ident : *const $t:ty $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, impl $crate::IntoSlice<'a, $t>, $crate::typed::Const<$t>)] $objects $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] $objects:tt $p:ident : *mut $t:ty $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, impl $crate::IntoSliceMut<'a, $t>, $crate::typed::Mut<$t>)] $objects $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] $objects:tt $p:ident : DevicePtr<$t:ty> $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, $crate::DevicePtr<$t>, $crate::typed::Address<$t>)] $objects $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] [$($object:tt)*] $p:ident : &Texture $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, &'a $crate::texture::Texture<'_>, $crate::typed::Sampled)] [$($object)* ($p, $crate::typed::Sampled)] $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] [$($object:tt)*] $p:ident : &Surface $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, &'a $crate::texture::Surface<'_>, $crate::typed::Loaded)] [$($object)* ($p, $crate::typed::Loaded)] $($($rest)*)?);
    };
    (@parse $attributes:tt $visibility:tt $type:ident $name:tt [$($done:tt)*] [$($object:tt)*] $p:ident : &mut Surface $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parse $attributes $visibility $type $name
            [$($done)* ($p, &'a mut $crate::texture::Surface<'_>, $crate::typed::Stored)] [$($object)* ($p, $crate::typed::Stored)] $($($rest)*)?);
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
            /// Finds the kernel in a module and compares this signature with the code object.
            ///
            /// # Errors
            /// `Error::KernelNotFound`; `Error::ArgumentCount` and `Error::Argument` if the signatures differ.
            $visibility fn load(module: &(impl ::core::convert::AsRef<$crate::Module> + ?::core::marker::Sized)) -> $crate::Result<Self> {
                let parameters = [$(<$kind as $crate::typed::Parameter>::SHAPE),*];
                ::core::result::Result::Ok(Self { kernel: $crate::typed::TypedKernel::load(::core::convert::AsRef::as_ref(module), $name, &parameters)? })
            }

            /// Queues a launch and returns at once: like `Kernel::launch`, without checking the arguments again.
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
                // SAFETY: the arguments are of the kinds that `load` has compared; the caller ensures that the kernel is sound.
                unsafe {
                    let objects = [$(<$object_kind>::object(&$object)),*];
                    self.kernel.launch(stream, config, [$(<$kind>::hold(&$p)),*], &objects)
                }
            }

            /// Adds a launch to a graph: like `Graph::add_kernel`.
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
                after: &[$crate::graph::Node],
                config: $crate::LaunchConfig,
                $($p: $argument),*
            ) -> $crate::Result<$crate::graph::Node> {
                $(let $p = <$kind>::convert($p);)*
                let arguments: [&dyn $crate::module::KernelArg; $crate::kernel!(@count $($p)*)] = [$(&$p),*];
                // SAFETY: the caller ensures that the kernel is sound.
                unsafe { graph.add_kernel(after, self.kernel.kernel(), config, arguments) }
            }

            /// Returns the kernel, without its signature.
            #[must_use]
            $visibility fn kernel(&self) -> &$crate::Kernel {
                self.kernel.kernel()
            }
        }
    };
}
