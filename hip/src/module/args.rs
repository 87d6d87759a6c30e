//! Launch arguments: checked against the kernel's parameters, and laid out as the kernel reads them.

use std::ffi::c_void;
use std::ptr;

use bytemuck::{NoUninit, Pod};
use smallvec::SmallVec;

use super::KernelInfo;
use super::declared::{Given, Refused};
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::{
    Admission, DeviceBuffer, DevicePtr, DeviceSlice, DeviceSliceMut, ManagedBuffer, PitchedBuffer, PitchedSlice,
    PitchedSliceMut,
};
use crate::stream::usage::{Access, AccessKind};
use crate::texture::{Surface, Texture};

pub(super) const ARGUMENT: &str = "a launch argument";

use super::metadata::ParameterKind;

/// The arguments of a launch under construction: [`KernelArg::bind`] adds to it.
pub struct Arguments<'a> {
    packed: Packed<'a>,
    device: Device,
    accesses: SmallVec<[Access<'a>; 8]>,
    admission: Admission,
}

/// The bytes of the arguments so far, at the kernel's offsets.
struct Packed<'a> {
    kernel: &'a KernelInfo,
    /// The kernel's argument memory, in units of its alignment, if it fits.
    few: [u64; FEW],
    /// The argument memory if it does not fit in `few`.
    many: Vec<u64>,
    /// Number of arguments so far.
    count: usize,
}

/// Words of argument memory that need no allocation: enough for most kernels.
const FEW: usize = 16;

/// A pointer to each argument, in the form of `hipModuleLaunchKernel`.
pub(crate) type Pointers = SmallVec<[*mut c_void; 16]>;

impl<'a> Arguments<'a> {
    #[inline]
    pub(crate) fn new(kernel: &'a KernelInfo, device: Device) -> Self {
        Self { packed: Packed::new(kernel), device, accesses: SmallVec::new(), admission: Admission::OWN }
    }

    /// Checks the number of arguments, so that no parameter is left unset.
    #[inline]
    pub(crate) fn finish(&self) -> Result<()> {
        self.expect_count(self.packed.count)
    }

    #[inline]
    pub(crate) fn expect_count(&self, given: usize) -> Result<()> {
        self.packed.expect_count(given)
    }

    /// Keeps the admission of an argument's memory until the launch is queued.
    #[inline]
    fn hold(&mut self, admitted: Result<Admission>) -> Result<()> {
        let admission = admitted.map_err(|error| self.packed.named(self.packed.count, error))?;
        // The first admission covers all others while it is held.
        if self.admission.is_own() {
            self.admission = admission;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn touch(&mut self, access: Access<'a>) {
        self.accesses.push(access);
    }

    #[inline]
    pub(crate) fn accesses(&self) -> &[Access<'a>] {
        &self.accesses
    }

    /// Returns a pointer to each argument, in the form of `hipModuleLaunchKernel`. Valid until `self` is modified or
    /// moved.
    ///
    /// They are followed by pointers to zero, for hidden arguments that an old runtime expects from the caller: HIP 5.7
    /// reads a pointer past the end for them.
    pub(crate) fn pointers(&mut self) -> Pointers {
        let mut pointers = Pointers::new();
        self.point_to(&mut pointers);
        pointers
    }

    /// Like [`pointers`](Self::pointers), into an empty list.
    // Inlined: according to measurements, a call would be an eighth of the time that a launch takes until it returns.
    #[inline(always)]
    pub(crate) fn point_to(&mut self, pointers: &mut Pointers) {
        let base: *mut u8 = self.packed.words().as_mut_ptr().cast();
        let KernelInfo { parameters, late_hidden, .. } = self.packed.kernel;
        for parameter in parameters {
            pointers.push(base.wrapping_add(parameter.offset).cast());
        }
        point_to_hidden(pointers, *late_hidden);
    }

    /// Adds a buffer as an input of the kernel. For `&W`, where `W` is a type that contains the buffer.
    ///
    /// # Errors
    /// [`Error::WrongDevice`]; [`Error::Argument`] if the kernel does not take a pointer here.
    #[inline]
    pub fn read<T: Pod>(&mut self, buffer: &'a DeviceBuffer<T>) -> Result<()> {
        let memory = buffer.allocation();
        self.hold(memory.admit(self.device, AccessKind::Read, ARGUMENT))?;
        self.buffer(memory.pointer, Access::read(&memory.usage), Given::of::<T>())
    }

    /// Adds a buffer as an output of the kernel. For `&mut W`, where `W` is a type that contains the buffer.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Safety
    /// The argument that is bound must borrow the buffer mutably.
    #[inline]
    pub unsafe fn write<T: Pod>(&mut self, buffer: &'a DeviceBuffer<T>) -> Result<()> {
        let memory = buffer.allocation();
        self.hold(memory.admit(self.device, AccessKind::Write, ARGUMENT))?;
        self.buffer(memory.pointer, Access::write(&memory.usage), Given::of::<T>())
    }

    #[inline]
    fn buffer(&mut self, pointer: *mut c_void, access: Access<'a>, element: Given) -> Result<()> {
        self.packed.pointer(pointer as u64, "a buffer", element, Some(access.kind))?;
        self.touch(access);
        Ok(())
    }

    /// Adds the handle of a texture or surface, which points to data that the device reads.
    fn object(&mut self, device: Device, handle: u64, what: &'static str, touched: [Access<'a>; 2]) -> Result<()> {
        self.device.expect(device, ARGUMENT).map_err(|error| self.packed.named(self.packed.count, error))?;
        self.packed.pointer(handle, what, Given::texels("its texels"), None)?;
        touched.into_iter().for_each(|access| self.touch(access));
        Ok(())
    }
}

/// Adds pointers to zero for hidden arguments that an old runtime expects from the caller.
#[inline]
pub(crate) fn point_to_hidden<const N: usize>(pointers: &mut SmallVec<[*mut c_void; N]>, count: usize)
where
    [*mut c_void; N]: smallvec::Array<Item = *mut c_void>,
{
    static ZERO: u64 = 0;
    for _ in 0..count {
        pointers.push(ptr::from_ref(&ZERO).cast_mut().cast());
    }
}

/// Returns the error of an argument that is on another device, with its index and kernel.
#[cold]
pub(super) fn named(kernel: &KernelInfo, index: usize, error: Error) -> Error {
    match error {
        Error::WrongDevice { what, expected, found } if what == ARGUMENT => {
            Error::WrongDevice { what: format!("argument {} of {kernel}", index + 1).into(), expected, found }
        }
        other => other,
    }
}

impl<'a> Packed<'a> {
    #[inline]
    fn new(kernel: &'a KernelInfo) -> Self {
        let words = kernel.explicit_bytes.div_ceil(8);
        let many = if words > FEW { vec![0; words] } else { Vec::new() };
        Self { kernel, few: [0; FEW], many, count: 0 }
    }

    /// Returns the argument memory: gaps are zeros.
    #[inline]
    fn words(&mut self) -> &mut [u64] {
        if self.many.is_empty() { &mut self.few } else { &mut self.many }
    }

    #[inline]
    fn expect_count(&self, given: usize) -> Result<()> {
        let expected = self.kernel.parameters.len();
        if given == expected { Ok(()) } else { Err(self.another_count(given)) }
    }

    #[cold]
    fn another_count(&self, given: usize) -> Error {
        let expected = self.kernel.parameters.len();
        Error::ArgumentCount { signature: self.kernel.to_string(), expected, given }
    }

    /// Returns the error of an argument, with its index.
    #[cold]
    fn named(&self, index: usize, error: Error) -> Error {
        named(self.kernel, index, error)
    }

    #[cold]
    #[inline(never)]
    fn another_kind(&self, index: usize, given: impl FnOnce() -> String) -> Error {
        let expected = self.kernel.parameters[index].to_string();
        Error::Argument { signature: self.kernel.to_string(), index, expected, given: given() }
    }

    #[cold]
    #[inline(never)]
    fn another_type(&self, index: usize, refused: Refused, given: impl FnOnce() -> String) -> Error {
        let Refused { expected, advice } = refused;
        Error::Argument { signature: self.kernel.to_string(), index, expected, given: given() + &advice }
    }

    #[inline]
    fn value(&mut self, bytes: &[u8], given: Given) -> Result<()> {
        self.put(
            bytes,
            (given, None),
            |kind, size| kind.takes_value() && size == bytes.len(),
            || format!("a value of {} bytes ({})", bytes.len(), given.name),
        )
    }

    #[inline]
    fn pointer(&mut self, address: u64, what: &'static str, given: Given, access: Option<AccessKind>) -> Result<()> {
        self.put(
            &address.to_ne_bytes(),
            (given, access),
            |kind, _| kind.takes_pointer(),
            || format!("{what} of {}", given.name),
        )
    }

    #[inline]
    fn put(
        &mut self,
        bytes: &[u8],
        (given, access): (Given, Option<AccessKind>),
        fits: impl FnOnce(&ParameterKind, usize) -> bool,
        describe: impl FnOnce() -> String,
    ) -> Result<()> {
        let index = self.count;
        let Some(parameter) = self.kernel.parameters.get(index) else {
            return self.expect_count(index + 1);
        };
        if !fits(&parameter.kind, parameter.size) {
            return Err(self.another_kind(index, describe));
        }
        if let Some(declared) = parameter.declared.as_ref().filter(|declared| !declared.admits(given, access)) {
            return Err(self.another_type(index, declared.refusal(access), describe));
        }
        let memory: &mut [u8] = bytemuck::cast_slice_mut(self.words());
        // In bounds: `explicit_bytes` is the end of the last parameter, and the sizes agree.
        memory[parameter.offset..parameter.offset + bytes.len()].copy_from_slice(bytes);
        self.count += 1;
        Ok(())
    }
}

/// A type that can be passed to a kernel:
///
/// | Kernel's parameter | Argument |
/// |---|---|
/// | `int`, `float`, `double`, `bool`, ... | `i32`, `f32`, `f64`, `bool`, ... |
/// | a structure by value | a `#[repr(C)]` structure that is [`Pod`] (or [`NoUninit`]) |
/// | `const T*` | `&DeviceBuffer<T>`, `DeviceSlice<T>` or `&` one, `&ManagedBuffer<T>` |
/// | `T*` | `&mut DeviceBuffer<T>`, `DeviceSliceMut<T>` or `&mut` one, `&mut ManagedBuffer<T>` |
/// | `hipTextureObject_t` | [`&Texture`](crate::texture::Texture) |
/// | `hipSurfaceObject_t` | [`&mut Surface`](crate::texture::Surface), or `&Surface` if it is only read |
/// | any pointer | [`DevicePtr`] |
///
/// Values must have the size of the parameter, and types must be those of the source if it is known
/// ([`Module::load_declared`](crate::Module::load_declared)). A pointer parameter takes a buffer, a slice or a
/// [`DevicePtr`]; a plain `u64` is rejected.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel",
    label = "not a kernel argument",
    note = "a structure is passed by value if it is `#[repr(C)]` and implements `bytemuck::NoUninit` (or `Pod`): `#[derive(Clone, Copy, NoUninit)]`, with `bytemuck`'s feature `derive`",
    note = "`half::f16` and `bf16` need the feature `half` of `hip`, `Complex` the feature `complex`",
    note = "memory is passed as `&DeviceBuffer<T>`, `&mut DeviceBuffer<T>`, a slice of one, or a `DevicePtr<T>`; a plain address is rejected"
)]
pub trait KernelArg {
    /// Adds the argument. Types outside of this crate implement this by binding the arguments that they consist of, or
    /// with [`Arguments::read`] and [`Arguments::write`].
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()>;
}

// Otherwise the compiler would mention only `NoUninit`.
#[diagnostic::do_not_recommend]
impl<T: NoUninit> KernelArg for T {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.packed.value(bytemuck::bytes_of(self), Given::of::<T>())
    }
}

impl<T: Pod> KernelArg for DevicePtr<T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.packed.pointer(self.address(), "a pointer", Given::behind_pointer::<T>(), None)
    }
}

impl<T: Pod> KernelArg for &DeviceBuffer<T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.read(self)
    }
}

impl<T: Pod> KernelArg for &mut DeviceBuffer<T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        // SAFETY: the argument is the mutable borrow.
        unsafe { arguments.write(self) }
    }
}

impl<T: Pod> KernelArg for &ManagedBuffer<T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        self.as_device_slice()?.bind_to(arguments)
    }
}

impl<T: Pod> KernelArg for &mut ManagedBuffer<T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        let slice = self.as_device_slice()?;
        arguments.buffer(slice.pointer(), Access::write(slice.usage()), Given::of::<T>())
    }
}

impl<T: Pod> KernelArg for &PitchedBuffer<T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        let slice = self.as_slice();
        arguments.hold(slice.admit(arguments.device, ARGUMENT))?;
        arguments.buffer(slice.pointer(), slice.access(), Given::of::<T>())
    }
}

impl<T: Pod> KernelArg for &mut PitchedBuffer<T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        let (slice, usage) = (self.as_slice(), self.as_slice().access().usage);
        arguments.hold(self.admit_write(arguments.device, ARGUMENT))?;
        arguments.buffer(slice.pointer(), Access::write(usage), Given::of::<T>())
    }
}

impl<T: Pod> KernelArg for PitchedSlice<'_, T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.hold(self.admit(arguments.device, ARGUMENT))?;
        arguments.buffer(self.pointer(), self.access(), Given::of::<T>())
    }
}

impl<T: Pod> KernelArg for PitchedSliceMut<'_, T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.hold(self.admit(arguments.device, ARGUMENT))?;
        arguments.buffer(self.pointer(), self.access(), Given::of::<T>())
    }
}

impl KernelArg for &Texture<'_> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.object(self.device(), self.as_raw() as u64, "a texture", self.accesses())
    }
}

impl KernelArg for &Surface<'_> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.object(self.device(), self.as_raw() as u64, "a surface", self.accesses(AccessKind::Read))
    }
}

impl KernelArg for &mut Surface<'_> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.object(self.device(), self.as_raw() as u64, "a surface", self.accesses(AccessKind::Write))
    }
}

impl<'s, T: Pod> DeviceSlice<'s, T> {
    fn bind_to<'a>(&self, arguments: &mut Arguments<'a>) -> Result<()>
    where
        's: 'a,
    {
        arguments.hold(self.admit(arguments.device, ARGUMENT))?;
        arguments.buffer(self.pointer(), self.access(), Given::of::<T>())
    }
}

impl<T: Pod> KernelArg for DeviceSlice<'_, T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        self.bind_to(arguments)
    }
}

impl<T: Pod> KernelArg for &DeviceSlice<'_, T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        self.bind_to(arguments)
    }
}

impl<T: Pod> KernelArg for DeviceSliceMut<'_, T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.hold(self.admit(arguments.device, ARGUMENT))?;
        arguments.buffer(self.pointer(), self.access(), Given::of::<T>())
    }
}

impl<T: Pod> KernelArg for &mut DeviceSliceMut<'_, T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        (**self).bind(arguments)
    }
}

/// All arguments of a launch: a tuple of up to 16 [`KernelArg`]s, or a slice of `&dyn KernelArg`.
pub trait KernelArgs {
    /// Returns the number of arguments.
    fn count(&self) -> usize;

    /// Adds them in order.
    fn bind_all<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()>;
}

impl KernelArgs for &[&dyn KernelArg] {
    fn count(&self) -> usize {
        self.len()
    }

    fn bind_all<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        self.iter().try_for_each(|argument| argument.bind(arguments))
    }
}

impl<const N: usize> KernelArgs for [&dyn KernelArg; N] {
    fn count(&self) -> usize {
        N
    }

    fn bind_all<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        self.iter().try_for_each(|argument| argument.bind(arguments))
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        #[allow(non_snake_case)]
        impl<$($name: KernelArg),*> KernelArgs for ($($name,)*) {
            fn count(&self) -> usize {
                0 $(+ { let _ = stringify!($name); 1 })*
            }

            #[allow(unused_variables)]
            fn bind_all<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
                let ($($name,)*) = self;
                $($name.bind(arguments)?;)*
                Ok(())
            }
        }
    };
}

tuples!();
tuples!(A0);
tuples!(A0 A1);
tuples!(A0 A1 A2);
tuples!(A0 A1 A2 A3);
tuples!(A0 A1 A2 A3 A4);
tuples!(A0 A1 A2 A3 A4 A5);
tuples!(A0 A1 A2 A3 A4 A5 A6);
tuples!(A0 A1 A2 A3 A4 A5 A6 A7);
tuples!(A0 A1 A2 A3 A4 A5 A6 A7 A8);
tuples!(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9);
tuples!(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10);
tuples!(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11);
tuples!(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12);
tuples!(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13);
tuples!(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14);
tuples!(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Parameter;
    use crate::module::metadata::tests::kernel_of;
    use proptest::prelude::*;

    /// Sizes and alignments of C types: `char`, `short`, `int`, `double`, `float3`-like and larger structures.
    const TYPES: &[(usize, usize)] = &[(1, 1), (2, 2), (4, 4), (8, 8), (12, 4), (6, 2), (3, 1), (24, 8), (40, 8)];

    /// Lays parameters out as a C compiler does: aligned to the type, not to its size.
    fn c_layout(types: &[(usize, usize)]) -> Vec<Parameter> {
        let mut end = 0usize;
        let place = |&(size, align): &(usize, usize)| {
            let offset = end.next_multiple_of(align);
            end = offset + size;
            Parameter { name: None, type_name: None, offset, size, kind: ParameterKind::Value, declared: None }
        };
        types.iter().map(place).collect()
    }

    #[test]
    fn int_struct_int_is_at_0_4_16() {
        let offsets: Vec<_> = c_layout(&[(4, 4), (12, 4), (4, 4)]).iter().map(|p| p.offset).collect();
        assert_eq!(offsets, [0, 4, 16]);
        let kernel = kernel_of(c_layout(&[(4, 4), (12, 4), (4, 4)]));
        let mut packed = Packed::new(&kernel);
        packed.value(bytemuck::bytes_of(&1i32), Given::of::<i32>()).unwrap();
        packed.value(bytemuck::bytes_of(&[2.0f32, 3.0, 4.0]), Given::of::<[f32; 3]>()).unwrap();
        packed.value(bytemuck::bytes_of(&5i32), Given::of::<i32>()).unwrap();
        packed.expect_count(packed.count).unwrap();
        let words: &[u32] = bytemuck::cast_slice(packed.words());
        assert_eq!(words[..6], [1, 2.0f32.to_bits(), 3.0f32.to_bits(), 4.0f32.to_bits(), 5, 0]);
    }

    proptest! {
        #[test]
        fn every_argument_is_where_the_kernel_reads_it(types in prop::collection::vec(0..TYPES.len(), 0..40)) {
            let types: Vec<_> = types.into_iter().map(|t| TYPES[t]).collect();
            let kernel = kernel_of(c_layout(&types));
            let mut packed = Packed::new(&kernel);
            for (index, &(size, _)) in types.iter().enumerate() {
                packed.value(&vec![index as u8 + 1; size], Given::of::<[u8; 0]>()).unwrap();
            }
            packed.expect_count(packed.count).unwrap();
            // Each byte belongs to the argument that covers it, and gaps are zeros.
            let end = kernel.explicit_bytes;
            let bytes: &[u8] = &bytemuck::cast_slice(packed.words())[..end];
            let mut expected = vec![0u8; end];
            for (index, p) in kernel.parameters.iter().enumerate() {
                expected[p.offset..p.offset + p.size].fill(index as u8 + 1);
            }
            prop_assert_eq!(bytes, expected);
            prop_assert!(packed.value(&[0], Given::of::<u8>()).is_err());
        }

        #[test]
        fn a_value_of_another_size_is_refused(declared in 0..TYPES.len(), given in 0usize..64) {
            let (size, _) = TYPES[declared];
            let kernel = kernel_of(c_layout(&[TYPES[declared]]));
            let mut packed = Packed::new(&kernel);
            prop_assert_eq!(packed.value(&vec![1; given], Given::of::<[u8; 0]>()).is_ok(), given == size);
            prop_assert_eq!(packed.count, usize::from(given == size));
        }
    }

    #[test]
    fn pointers_and_numbers_are_told_apart() {
        let mut parameters = c_layout(&[(8, 8), (8, 8)]);
        parameters[0].kind = ParameterKind::Pointer;
        let kernel = kernel_of(parameters);
        let mut packed = Packed::new(&kernel);
        let number = packed.value(bytemuck::bytes_of(&8u64), Given::of::<u64>()).unwrap_err().to_string();
        assert!(number.contains("argument 1 of k(pointer, 8 bytes): the kernel takes a pointer"), "{number}");
        packed.pointer(0x1234, "a pointer", Given::of::<f32>(), None).unwrap();
        let pointer = packed.pointer(0x1234, "a pointer", Given::of::<f32>(), None).unwrap_err().to_string();
        assert!(pointer.contains("given was a pointer of f32"), "{pointer}");
    }

    #[test]
    fn images_and_the_like_cannot_be_given() {
        let mut parameters = c_layout(&[(8, 8)]);
        parameters[0].kind = ParameterKind::Other("image".to_owned());
        let kernel = kernel_of(parameters);
        let mut packed = Packed::new(&kernel);
        assert!(packed.value(&[0; 8], Given::of::<u64>()).is_err());
        assert!(packed.pointer(0, "a pointer", Given::of::<u8>(), None).is_err());
    }
}
