//! Output of kernels: [`printf!`](crate::printf), with a small formatter, since `core::fmt` would be 200 KB of code.
//!
//! A kernel takes a [`Printer`]; the host passes a `Printed` and reads it after the launch. It needs no service of the
//! runtime. Text that does not fit is dropped and counted.
//!
//! ```ignore
//! #[kernel]
//! fn hello(n: u32, out: Printer) {
//!     printf!(out, "thread {} of {n}: {:.2}\n", thread_idx().x, 0.5);
//! }
//! ```

use core::marker::PhantomData;

use crate::raw;

/// Maximum number of bytes of a call's text.
const LINE: usize = 252;

/// The output of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Printer<'a> {
    words: *mut u32,
    len: usize,
    marker: PhantomData<&'a ()>,
}

impl Printer<'_> {
    /// # Safety
    /// The memory must have `len` words, and be used by printers only.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn from_launch(words: *mut u32, len: usize) -> Self {
        Self { words, len, marker: PhantomData }
    }

    /// Writes a line as a whole: the text of other threads is before it or after it.
    #[inline(never)]
    pub fn write(self, line: &Line) {
        let words = line.len.div_ceil(4);
        // SAFETY: the first word counts the requested words; only this thread uses the words from there on.
        unsafe {
            let start = raw::device::add_u32(self.words, words as u32 + 1) as usize + 1;
            if start + words + 1 > self.len {
                return;
            }
            self.words.add(start).write(line.len as u32);
            for word in 0..words {
                let at = |byte: usize| u32::from(line.bytes[word * 4 + byte]) << (8 * byte);
                self.words.add(start + 1 + word).write(at(0) | at(1) | at(2) | at(3));
            }
        }
    }
}

/// The text of one call while it is built.
#[doc(hidden)]
#[derive(Debug)]
pub struct Line {
    bytes: [u8; LINE],
    len: usize,
}

/// A number or text that can be printed.
#[doc(hidden)]
pub trait Print {
    /// Appends it to the line.
    fn print(self, line: &mut Line);
}

/// A number whose bits can be printed.
#[doc(hidden)]
pub trait Bits {
    /// Returns the bits.
    fn bits(self) -> u64;
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

impl Line {
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self { bytes: [0; LINE], len: 0 }
    }

    #[cfg(not(target_arch = "amdgpu"))]
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or("?")
    }

    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    /// Appends text.
    #[inline(never)]
    pub fn text(&mut self, text: &str) {
        for &byte in text.as_bytes() {
            self.byte(byte);
        }
    }

    /// Appends a value for `{}`.
    #[inline]
    pub fn value(&mut self, value: impl Print) {
        value.print(self);
    }

    /// Appends a number for `{:x}`.
    #[inline]
    pub fn hex(&mut self, value: impl Bits) {
        self.hex_digits(value.bits());
    }

    /// Appends a float for `{:.3}`.
    #[inline]
    pub fn fixed(&mut self, value: impl Into<f64>, digits: u32) {
        self.fixed_digits(value.into(), digits);
    }

    #[inline(never)]
    fn hex_digits(&mut self, bits: u64) {
        let digits = (u64::BITS - bits.leading_zeros()).div_ceil(4).max(1);
        for digit in (0..digits).rev() {
            self.byte(b"0123456789abcdef"[(bits >> (4 * digit) & 15) as usize]);
        }
    }

    #[inline(never)]
    fn unsigned(&mut self, value: u64) {
        let mut power = 1;
        while value / power >= 10 {
            power *= 10;
        }
        while power > 0 {
            self.byte(b'0' + (value / power % 10) as u8);
            power /= 10;
        }
    }

    /// Appends a float with this many digits after the point, rounded; in scientific form from 2^63 on.
    #[inline(never)]
    fn fixed_digits(&mut self, value: f64, digits: u32) {
        if value.is_nan() {
            return self.text("NaN");
        }
        if value.is_sign_negative() {
            self.byte(b'-');
        }
        let mut value = value.abs();
        if value == f64::INFINITY {
            return self.text("inf");
        }
        let (mut exponent, digits) = (0, digits.min(17));
        if value >= 9.2e18 {
            while value >= 10.0 {
                value /= 10.0;
                exponent += 1;
            }
        }
        let mut scale = 1u64;
        for _ in 0..digits {
            scale *= 10;
        }
        let whole = value as u64;
        let mut whole = whole;
        let mut fraction = ((value - whole as f64) * scale as f64 + 0.5) as u64;
        if fraction >= scale {
            whole += 1;
            fraction -= scale;
        }
        self.unsigned(whole);
        if digits > 0 {
            self.byte(b'.');
            let mut power = scale / 10;
            while power > 0 {
                self.byte(b'0' + (fraction / power % 10) as u8);
                power /= 10;
            }
        }
        if exponent > 0 {
            self.byte(b'e');
            self.unsigned(exponent);
        }
    }
}

impl Print for &str {
    #[inline]
    fn print(self, line: &mut Line) {
        line.text(self);
    }
}

impl Print for bool {
    #[inline]
    fn print(self, line: &mut Line) {
        line.text(if self { "true" } else { "false" });
    }
}

impl Print for char {
    #[inline]
    fn print(self, line: &mut Line) {
        let mut bytes = [0; 4];
        line.text(self.encode_utf8(&mut bytes));
    }
}

macro_rules! numbers {
    ([$($unsigned:ty)*] [$($signed:ident as $bits:ident)*] [$($float:ident: $digits:literal)*]) => {
        $(
            impl Print for $unsigned {
                #[inline]
                fn print(self, line: &mut Line) {
                    line.unsigned(self as u64);
                }
            }
            impl Bits for $unsigned {
                #[inline]
                fn bits(self) -> u64 {
                    self as u64
                }
            }
        )*
        $(
            impl Print for $signed {
                #[inline]
                fn print(self, line: &mut Line) {
                    if self < 0 {
                        line.byte(b'-');
                    }
                    line.unsigned(self.unsigned_abs() as u64);
                }
            }
            impl Bits for $signed {
                #[inline]
                fn bits(self) -> u64 {
                    self as $bits as u64
                }
            }
        )*
        $(
            impl Print for $float {
                #[inline]
                fn print(self, line: &mut Line) {
                    line.fixed_digits(self as f64, $digits);
                }
            }
            impl Bits for $float {
                #[inline]
                fn bits(self) -> u64 {
                    self.to_bits() as u64
                }
            }
        )*
    };
}

numbers! {
    [u8 u16 u32 u64 usize]
    [i8 as u8 i16 as u16 i32 as u32 i64 as u64 isize as usize]
    [f32: 6 f64: 6]
}

#[cfg(all(test, not(target_arch = "amdgpu")))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_std() {
        let show = |fill: &dyn Fn(&mut Line)| {
            let mut line = Line::new();
            fill(&mut line);
            line.as_str().to_owned()
        };
        for value in [0u64, 1, 9, 10, 99, 100, 12345, u64::MAX] {
            assert_eq!(show(&|line| line.value(value)), format!("{value}"));
            assert_eq!(show(&|line| line.hex(value)), format!("{value:x}"));
        }
        for value in [0i32, -1, 7, i32::MIN, i32::MAX] {
            assert_eq!(show(&|line| line.value(value)), format!("{value}"));
            assert_eq!(show(&|line| line.hex(value)), format!("{value:x}"));
        }
        for value in [0.0, -0.0, 1.0, 0.5, -2.25, 1234.5678, 0.999_999_9, 1e15, f64::NAN, f64::INFINITY, -f64::INFINITY]
        {
            assert_eq!(show(&|line| line.fixed(value, 3)), format!("{value:.3}"));
            assert_eq!(
                show(&|line| line.fixed(value, 0)),
                if value == 0.5 { "1".to_owned() } else { format!("{value:.0}") }
            );
        }
        assert_eq!(show(&|line| line.fixed(1.25e20, 2)), "1.25e20");
        assert_eq!(
            show(&|line| {
                line.value("é");
                line.value('ü');
                line.value(true)
            }),
            "éütrue"
        );
    }

    #[test]
    fn a_long_line_is_cut() {
        let mut line = Line::new();
        line.text(&"x".repeat(300));
        assert_eq!(line.as_str().len(), LINE);
    }
}
