//! A compiler's description of a kernel. The device's compiler writes it into the code object, the host's into the
//! stub, and `load` compares the two: a safe launch runs the code that belongs to the stub.

/// The version of how the macros and the device library pass arguments. Increase it with each change that makes a stub
/// and older code incompatible.
pub const ABI: u32 = 2;

/// The first bytes of a record.
pub const MAGIC: [u8; 8] = *b"hip-krnl";

/// Size, alignment and structure of a type, as a compiler sees it.
///
/// If two compilers compute the same layout for a name, they see the same type: the layout contains the names, offsets
/// and types of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Layout {
    size: u64,
    align: u64,
    /// A hash (FNV-1a, 128 bits): the lower half, then the upper.
    structure: [u64; 2],
}

/// A type whose values are their bytes: every bit pattern is a value, and none of its bytes is padding. Memory that a
/// kernel reads and writes has elements of such a type, and so have fields of structures that are passed to it.
///
/// Integers of up to 64 bits, floats, [`f16`](crate::half::f16), [`bf16`](crate::half::bf16), the vectors of
/// [`vector`](crate::vector), arrays of these, and structures with `#[derive(DeviceCopy)]` are plain. References,
/// `bool`, `char` and integers of 128 bits, which the device aligns differently, are not:
///
/// ```compile_fail,E0277
/// use hip_kernel::prelude::*;
///
/// #[kernel]
/// pub fn read(words: &[&'static u32], mut y: DisjointSlice<u32>) {
///     y.set(|i| *words[i]);
/// }
/// ```
///
/// # Safety
/// Every bit pattern of the type's size must be a value of it. It must have no padding, no references and no interior
/// mutability. `LAYOUT` must be made from the type and from the layouts of all its parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data: memory of it cannot be shared with a kernel",
    label = "not plain data",
    note = "a structure is plain data with `#[derive(Clone, Copy, DeviceCopy)]` and `#[repr(C)]`, if its fields are and it has no padding"
)]
pub unsafe trait Plain: Copy + 'static {
    /// The type as this compiler sees it.
    const LAYOUT: Layout;
}

/// A parameter through which a kernel writes.
///
/// # Safety
/// The type must belong to this crate.
#[doc(hidden)]
pub unsafe trait Writes {
    /// The type as this compiler sees it.
    const LAYOUT: Layout;
}

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

const fn hash(mut state: u128, bytes: &[u8]) -> u128 {
    let mut index = 0;
    while index < bytes.len() {
        state = (state ^ bytes[index] as u128).wrapping_mul(PRIME);
        index += 1;
    }
    state
}

impl Layout {
    /// The layout of a parameter without bytes of the caller.
    #[doc(hidden)]
    pub const NONE: Self = Self { size: 0, align: 0, structure: [0; 2] };

    /// Returns the layout of a type without parts, or before its parts are added.
    #[must_use]
    pub const fn of<T>(name: &str) -> Self {
        let state = hash(OFFSET, name.as_bytes());
        Self {
            size: size_of::<T>() as u64,
            align: align_of::<T>() as u64,
            structure: [state as u64, (state >> 64) as u64],
        }
    }

    /// Adds a number, such as the value of a variant or the length of an array.
    #[must_use]
    pub const fn number(mut self, number: u64) -> Self {
        let state = (self.structure[1] as u128) << 64 | self.structure[0] as u128;
        let state = hash(state, &number.to_le_bytes());
        self.structure = [state as u64, (state >> 64) as u64];
        self
    }

    /// Adds a field at `offset`.
    #[must_use]
    pub const fn field(self, offset: usize, field: Self) -> Self {
        let Self { size, align, structure: [low, high] } = field;
        self.number(offset as u64).number(size).number(align).number(low).number(high)
    }

    /// Returns the size in bytes.
    #[must_use]
    pub const fn size(self) -> u64 {
        self.size
    }

    /// Returns the alignment in bytes.
    #[must_use]
    pub const fn align(self) -> u64 {
        self.align
    }

    /// Creates it from the words of a record.
    #[cfg(not(target_arch = "amdgpu"))]
    pub(crate) fn from_words(words: [u64; 4]) -> Self {
        let [size, align, low, high] = words;
        Self { size, align, structure: [low, high] }
    }
}

macro_rules! numbers {
    ($($type:ident)*) => {$(
        // SAFETY: a number.
        unsafe impl Plain for $type {
            const LAYOUT: Layout = Layout::of::<Self>(stringify!($type));
        }
    )*};
}

// Not those of 128 bits: the device aligns them to 8 bytes, the host to 16.
numbers!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f32 f64);

// SAFETY: the elements are plain, and have no gaps between them.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const LAYOUT: Layout = Layout::of::<Self>("array").number(N as u64).field(0, T::LAYOUT);
}

/// A code object's description of a kernel: one record of its section `.hip_kernel`.
///
/// The text consists of lines: the module's path, the kernel's name, the attribute's settings, the hash of its source,
/// and a line for each parameter.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Record<const PARAMETERS: usize, const TEXT: usize> {
    magic: [u8; 8],
    abi: u32,
    parameters: u32,
    text_bytes: u32,
    unused: [u32; 3],
    layouts: [Layout; PARAMETERS],
    text: [u8; TEXT],
}

impl<const PARAMETERS: usize, const TEXT: usize> Record<PARAMETERS, TEXT> {
    /// Creates the record of a kernel.
    #[must_use]
    pub const fn new(text: &str, layouts: [Layout; PARAMETERS]) -> Self {
        let mut bytes = [0; TEXT];
        let mut index = 0;
        while index < TEXT {
            bytes[index] = text.as_bytes()[index];
            index += 1;
        }
        Self {
            magic: MAGIC,
            abi: ABI,
            parameters: PARAMETERS as u32,
            text_bytes: TEXT as u32,
            unused: [0; 3],
            layouts,
            text: bytes,
        }
    }
}
