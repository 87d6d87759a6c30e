//! Parameter types from a kernel's source: number types and `const`, which a code object of HIP does not contain.

use std::any::TypeId;

use crate::stream::usage::AccessKind;

/// A number type of C++, identified by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Number {
    /// `bool`
    Bool,
    /// `signed char`, `int8_t`
    I8,
    /// `uint8_t`
    U8,
    /// `short`
    I16,
    /// `unsigned short`
    U16,
    /// `int`
    I32,
    /// `unsigned`
    U32,
    /// `long long`, and `long` where it has 8 bytes
    I64,
    /// `unsigned long long`, `size_t`
    U64,
    /// `_Float16`, `__half`
    F16,
    /// `__hip_bfloat16`
    Bf16,
    /// `float`
    F32,
    /// `double`
    F64,
}

use Number::{Bf16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

/// A set of [`Number`]s, and [`TEXELS`].
type Numbers = u16;

/// The content of a texture or surface, which is not a number.
const TEXELS: Numbers = 1 << 15;
/// All numbers.
const ANY: Numbers = Numbers::MAX;

const fn set<const N: usize>(numbers: [Number; N]) -> Numbers {
    let (mut set, mut n) = (0, 0);
    while n < N {
        set |= 1 << numbers[n] as Numbers;
        n += 1;
    }
    set
}

impl Number {
    /// Returns its size in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Bool | I8 | U8 => 1,
            I16 | U16 | F16 | Bf16 => 2,
            I32 | U32 | F32 => 4,
            I64 | U64 | F64 => 8,
        }
    }

    /// Returns the Rust type.
    const fn in_rust(self) -> &'static str {
        match self {
            Bool => "bool",
            I8 => "i8",
            U8 => "u8",
            I16 => "i16",
            U16 => "u16",
            I32 => "i32",
            U32 => "u32",
            I64 => "i64",
            U64 => "u64",
            F16 => "half::f16",
            Bf16 => "half::bf16",
            F32 => "f32",
            F64 => "f64",
        }
    }

    /// Returns the Rust numbers that C++ would convert to this one without changing bits: integers of the same size.
    const fn as_value(self) -> Numbers {
        match self {
            Bool | I8 | U8 => set([Bool, I8, U8]),
            I16 | U16 => set([I16, U16]),
            I32 | U32 => set([I32, U32]),
            I64 | U64 => set([I64, U64]),
            F16 => set([F16, U16, I16]),
            Bf16 => set([Bf16, U16, I16]),
            F32 | F64 => set([self]),
        }
    }

    /// Returns the Rust element types for memory of this number: those for values, and integers that hold the bits of
    /// short floats.
    const fn as_element(self) -> Numbers {
        match self {
            I16 | U16 => self.as_value() | set([F16, Bf16]),
            _ => self.as_value(),
        }
    }
}

/// The declaration of one kernel parameter in a source, for [`Module::load_declared`](crate::Module::load_declared).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The source text.
    text: String,
    pub(super) form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Unknown,
    Value { number: Number, size: usize },
    Pointer { element: Option<Number>, writes: bool },
}

impl Declaration {
    /// Creates the declaration of a parameter for which only the text is known. Arguments are not compared with it.
    #[must_use]
    pub fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), form: Form::Unknown }
    }

    /// Creates the declaration of a number, or a vector of this number, of `size` bytes in all.
    #[must_use]
    pub fn value(text: impl Into<String>, number: Number, size: usize) -> Self {
        Self { text: text.into(), form: Form::Value { number, size } }
    }

    /// Creates the declaration of a pointer to numbers, or to vectors of them; `None` for bytes and structures.
    /// `writes` is `false` for a pointer to `const`.
    #[must_use]
    pub fn pointer(text: impl Into<String>, element: Option<Number>, writes: bool) -> Self {
        Self { text: text.into(), form: Form::Pointer { element, writes } }
    }

    /// Returns the source text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether both declare the same, although the texts may differ.
    #[must_use]
    pub fn same_type(&self, other: &Self) -> bool {
        self.form == other.form
    }

    pub(super) fn checked(self) -> Declared {
        let (accepts, writes, number) = match self.form {
            Form::Unknown => (ANY, false, None),
            Form::Value { number, .. } => (number.as_value(), false, Some(number)),
            Form::Pointer { element, writes } => (element.map_or(ANY, Number::as_element), writes, element),
        };
        Declared { text: self.text, accepts, writes, number }
    }
}

/// A declaration of a parameter, in the form that launches check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(super) text: String,
    accepts: Numbers,
    /// Whether the kernel may write through it.
    writes: bool,
    number: Option<Number>,
}

/// The difference between an argument and the declaration.
pub(super) struct Refused {
    /// The type that the kernel takes.
    pub(super) expected: String,
    /// The argument to write instead.
    pub(super) advice: String,
}

impl Declared {
    /// Returns whether an argument fits. `access` is the access to memory that it allows the kernel, if it is known.
    #[inline]
    pub(super) fn admits(&self, given: Given, access: Option<AccessKind>) -> bool {
        self.admits_access(access) && (self.accepts & given.numbers != 0 || self.admits_parts(given))
    }

    #[inline]
    fn admits_access(&self, access: Option<AccessKind>) -> bool {
        !self.writes || !matches!(access, Some(AccessKind::Read))
    }

    /// Returns the mismatch for a type that is not a number.
    #[cold]
    fn admits_parts(&self, given: Given) -> bool {
        given.numbers == 0
            && (self.accepts == ANY || part(given.name).is_none_or(|part| self.accepts & set([part]) != 0))
    }

    /// Returns the mismatch of an argument that is not [admitted](Self::admits).
    #[cold]
    pub(super) fn refusal(&self, access: Option<AccessKind>) -> Refused {
        let text = &self.text;
        if !self.admits_access(access) {
            return Refused {
                expected: format!("{text}, through which it may write"),
                advice: format!(
                    " for reading only (&): pass &mut, or declare `const {text}` in the source if the kernel only reads it"
                ),
            };
        }
        let rust = self.number.map_or("bytes", Number::in_rust);
        match access {
            None => Refused { expected: format!("{text}, in Rust {rust}"), advice: String::new() },
            Some(_) => Refused {
                expected: format!("{text}, memory of {rust}"),
                advice: format!(
                    ": pass a buffer of {rust}, or a slice of these bytes as {rust} (DeviceSlice::cast, DeviceSliceMut::cast)"
                ),
            },
        }
    }
}

/// The Rust type of an argument: of a value, or of the elements of memory.
#[derive(Clone, Copy)]
pub(super) struct Given {
    pub(super) name: &'static str,
    /// The number that it is; empty for an array or a structure.
    numbers: Numbers,
}

impl Given {
    /// Constant folded: the type is known at compile time.
    #[inline]
    pub(super) fn of<T: 'static>() -> Self {
        Self { name: std::any::type_name::<T>(), numbers: numbers::<T>() }
    }

    /// Memory behind a bare pointer. `u8` stands for unknown elements.
    #[inline]
    pub(super) fn behind_pointer<T: 'static>() -> Self {
        let given = Self::of::<T>();
        if given.numbers == set([U8]) { Self { numbers: ANY, ..given } } else { given }
    }

    /// Creates the type of a texture or surface.
    #[inline]
    pub(super) const fn texels(name: &'static str) -> Self {
        Self { name, numbers: TEXELS }
    }
}

#[inline]
fn numbers<T: 'static>() -> Numbers {
    let id = TypeId::of::<T>();
    macro_rules! is {
        ($($type:ty => $number:expr,)*) => {
            $(if id == TypeId::of::<$type>() { return const { set([$number]) }; })*
        };
    }
    is! {
        f32 => F32, f64 => F64, i32 => I32, u32 => U32, u8 => U8, i8 => I8, i64 => I64, u64 => U64, i16 => I16, u16 => U16, bool => Bool,
        usize => if size_of::<usize>() == 8 { U64 } else { U32 },
        isize => if size_of::<isize>() == 8 { I64 } else { I32 },
    }
    #[cfg(feature = "half")]
    is! { half::f16 => F16, half::bf16 => Bf16, }
    0
}

/// Returns the number that an array or a complex number consists of, by its name; `None` for bytes and for unknown
/// types.
fn part(name: &str) -> Option<Number> {
    let inner = name.trim();
    if let Some(array) = inner.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return part(array.rsplit_once(';')?.0);
    }
    if let Some(complex) = inner.strip_prefix("num_complex::Complex<").and_then(|rest| rest.strip_suffix('>')) {
        return part(complex);
    }
    let is = |number: &Number| number.in_rust() == inner;
    [F32, F64, I16, U16, I32, U32, I64, U64].into_iter().find(is).or(match inner {
        "half::binary16::f16" => Some(F16),
        "half::bfloat::bf16" => Some(Bf16),
        "usize" if size_of::<usize>() == 8 => Some(U64),
        "isize" if size_of::<isize>() == 8 => Some(I64),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    #[expect(dead_code, reason = "only its type is looked at")]
    struct Particle(f64, u32);

    fn admits<T: 'static>(declaration: Declaration) -> bool {
        declaration.checked().admits(Given::of::<T>(), Some(AccessKind::Write))
    }

    #[test]
    fn elements_are_what_the_source_says() {
        let memory = |number| Declaration::pointer("x", Some(number), true);
        assert!(admits::<f32>(memory(F32)) && admits::<[f32; 4]>(memory(F32)) && admits::<[[f32; 2]; 3]>(memory(F32)));
        for refused in [
            admits::<f64>(memory(F32)),
            admits::<u32>(memory(F32)),
            admits::<u8>(memory(F32)),
            admits::<[f64; 4]>(memory(F32)),
            admits::<[[f64; 4]; 2]>(memory(F32)),
            admits::<f32>(memory(F64)),
            admits::<f32>(memory(U32)),
            admits::<u64>(memory(U32)),
            admits::<f32>(memory(F16)),
            admits::<f32>(memory(U8)),
            admits::<usize>(memory(U32)),
        ] {
            assert!(!refused);
        }
        // Integers of the same size, bits, bytes, and structures, whose fields are not known here.
        assert!(admits::<i32>(memory(U32)) && admits::<u64>(memory(I64)) && admits::<i16>(memory(U16)));
        assert!(admits::<u8>(memory(Bool)) && admits::<u8>(memory(I8)) && admits::<u16>(memory(F16)));
        assert!(admits::<[u8; 4]>(memory(U32)) && admits::<Particle>(memory(F32)) && admits::<usize>(memory(U64)));
        for any in [Declaration::pointer("x", None, true), Declaration::unknown("x")] {
            assert!(admits::<f64>(any.clone()) && admits::<[u8; 3]>(any.clone()) && admits::<Particle>(any));
        }
        assert!(!memory(F32).checked().admits(Given::texels("texels"), None));
        assert!(Declaration::unknown("x").checked().admits(Given::texels("texels"), None));
        assert!(memory(F32).checked().admits(Given::behind_pointer::<u8>(), None));
        assert!(!memory(F32).checked().admits(Given::behind_pointer::<f64>(), None));
    }

    #[test]
    fn integers_of_one_size_are_one_as_values() {
        let value = |number: Number| Declaration::value("x", number, number.size());
        assert!(admits::<i32>(value(U32)) && admits::<u32>(value(I32)) && admits::<bool>(value(U8)));
        assert!(!admits::<f32>(value(U32)) && !admits::<u32>(value(F32)) && !admits::<i64>(value(F64)));
        assert!(
            admits::<[f32; 2]>(Declaration::value("v", F32, 8)) && !admits::<[u32; 2]>(Declaration::value("v", F32, 8))
        );
        assert!(!admits::<f64>(Declaration::value("v", F32, 8)));
    }

    #[cfg(feature = "complex")]
    #[test]
    fn complex_numbers_are_two() {
        use num_complex::Complex;
        let memory = |number| Declaration::pointer("x", Some(number), true);
        assert!(admits::<Complex<f32>>(memory(F32)) && !admits::<Complex<f64>>(memory(F32)));
    }

    #[cfg(feature = "half")]
    #[test]
    fn short_floats_are_told_apart() {
        let memory = |number| Declaration::pointer("x", Some(number), true);
        assert!(admits::<half::f16>(memory(F16)) && admits::<half::bf16>(memory(U16)));
        assert!(!admits::<half::bf16>(memory(F16)) && !admits::<[half::f16; 2]>(memory(Bf16)));
        assert!(admits::<[half::f16; 2]>(memory(F16)));
    }

    #[test]
    fn what_is_written_must_not_be_shared() {
        let written = Declaration::pointer("float *x", Some(F32), true).checked();
        let read = Declaration::pointer("const float *x", Some(F32), false).checked();
        let f32 = Given::of::<f32>();
        for (access, of_written) in [(Some(AccessKind::Read), false), (Some(AccessKind::Write), true), (None, true)] {
            assert_eq!((written.admits(f32, access), read.admits(f32, access)), (of_written, true));
        }
        let structure = Declaration::pointer("P *x", None, true).checked();
        assert!(!structure.admits(Given::of::<Particle>(), Some(AccessKind::Read)));
        let Refused { expected, advice } = written.refusal(Some(AccessKind::Read));
        assert!(expected.contains("may write") && advice.contains("&mut") && advice.contains("`const float *x`"));
    }
}
