//! Tokens, ranges, and the values of macros.

use std::ffi::c_uint;

use super::cursor::{Cursor, CursorKind};
use super::diagnostic::{Location, Range};
use super::kinds::kinds;
use super::raw;

kinds! {
    /// The kind of a [`Token`].
    TokenKind, "Another, by libclang's number.":
    /// An operator, a bracket, a comma.
    Punctuation = 0,
    /// A keyword of the language.
    Keyword = 1,
    /// A name.
    Identifier = 2,
    /// A number, a string, a character.
    Literal = 3,
    /// A comment.
    Comment = 4,
}

/// A token of the source, before macros are expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its text.
    pub text: String,
    /// Its place, if it is in a file.
    pub location: Option<Location>,
}

/// The value of a macro, see [`Cursor::macro_value`] and [`Index::macro_values`](super::Index::macro_values).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MacroValue {
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A string. [`Cursor::macro_value`] leaves escapes as they are in the source.
    Text(String),
}

impl<'u> Cursor<'u> {
    fn unit(self) -> raw::CXTranslationUnit {
        // SAFETY: the unit is live.
        unsafe { raw::clang_Cursor_getTranslationUnit(self.raw) }
    }

    /// Returns its range in the source, if it is in a file.
    #[doc(alias("clang_getCursorExtent", "clang_getRangeStart", "clang_getRangeEnd"))]
    pub fn range(self) -> Option<Range> {
        // SAFETY: the unit is live, and the range belongs to it.
        unsafe { Range::from_raw(raw::clang_getCursorExtent(self.raw)) }
    }

    /// Returns the tokens of its range.
    #[doc(alias("clang_tokenize", "clang_getTokenKind", "clang_getTokenSpelling", "clang_disposeTokens"))]
    pub fn tokens(self) -> Vec<Token> {
        let unit = self.unit();
        let (mut raws, mut count): (*mut raw::CXToken, c_uint) = (std::ptr::null_mut(), 0);
        // SAFETY: the unit is live, and the places valid for the writes. The tokens are an array of this length, which is freed
        // after they were copied.
        unsafe {
            raw::clang_tokenize(unit, raw::clang_getCursorExtent(self.raw), &mut raws, &mut count);
            if raws.is_null() {
                return Vec::new();
            }
            let tokens = std::slice::from_raw_parts(raws, count as usize).iter().map(|token| Token {
                kind: TokenKind::from_raw(raw::clang_getTokenKind(*token).0),
                text: raw::take(raw::clang_getTokenSpelling(unit, *token)).unwrap_or_default(),
                location: Location::from_raw(raw::clang_getTokenLocation(unit, *token)),
            });
            let tokens = tokens.collect();
            raw::clang_disposeTokens(unit, raws, count);
            tokens
        }
    }

    fn is_definition_of_macro(self) -> bool {
        self.kind() == CursorKind::MacroDefinition
    }

    /// Returns whether a macro has parameters.
    #[doc(alias = "clang_Cursor_isMacroFunctionLike")]
    pub fn is_macro_function(self) -> bool {
        // SAFETY: the unit is live.
        self.is_definition_of_macro() && unsafe { raw::clang_Cursor_isMacroFunctionLike(self.raw) != 0 }
    }

    /// Returns whether the compiler defines a macro.
    #[doc(alias = "clang_Cursor_isMacroBuiltin")]
    pub fn is_macro_builtin(self) -> bool {
        // SAFETY: the unit is live.
        self.is_definition_of_macro() && unsafe { raw::clang_Cursor_isMacroBuiltin(self.raw) != 0 }
    }

    /// Returns the tokens that a macro without parameters stands for, with a space between two; empty for one that is
    /// defined to nothing. `None` for other cursors.
    pub fn macro_body(self) -> Option<String> {
        Some(self.body()?.into_iter().map(|token| token.text).collect::<Vec<_>>().join(" "))
    }

    fn body(self) -> Option<Vec<Token>> {
        if !self.is_definition_of_macro() || self.is_macro_function() {
            return None;
        }
        let tokens = self.tokens().into_iter().skip(1);
        Some(tokens.filter(|token| token.kind != TokenKind::Comment).collect())
    }

    /// Returns the value of a macro without parameters that is one literal, with a sign and brackets. For macros that
    /// name others or compute, see [`Index::macro_values`](super::Index::macro_values).
    ///
    /// ```
    /// use rocm_llvm::clang::{CursorKind, Index, MacroValue, Source};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let Ok(index) = Index::new() else { return Ok(()) };
    /// let unit = index.parse(&Source::text("m.h", "#define hipStreamNonBlocking 0x01\n").with_macros())?;
    /// let cursors = unit.cursor().children();
    /// let found = cursors.iter().find(|cursor| cursor.spelling() == "hipStreamNonBlocking").expect("it is there");
    /// assert_eq!((found.kind(), found.macro_value()), (CursorKind::MacroDefinition, Some(MacroValue::Int(1))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn macro_value(self) -> Option<MacroValue> {
        let texts: Vec<_> = self.body()?.into_iter().map(|token| token.text).collect();
        let mut inner: &[String] = &texts;
        loop {
            inner = match inner {
                [first, middle @ .., last] if first == "(" && last == ")" => middle,
                [sign, number] if sign == "-" => return negate(literal(number)?),
                [sign, open, middle @ .., last] if sign == "-" && open == "(" && last == ")" => {
                    let [number] = middle else { return None };
                    return negate(literal(number)?);
                }
                [text] => return literal(text),
                _ => return None,
            };
        }
    }
}

fn negate(value: MacroValue) -> Option<MacroValue> {
    match value {
        MacroValue::Int(number) => Some(MacroValue::Int(-number)),
        MacroValue::Float(number) => Some(MacroValue::Float(-number)),
        MacroValue::Text(_) => None,
    }
}

/// Reads a literal of C or C++.
fn literal(text: &str) -> Option<MacroValue> {
    if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return Some(MacroValue::Text(inner.to_owned()));
    }
    let text = text.replace('\'', "").to_ascii_lowercase();
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x', ..] => (&text[2..], 16),
        [b'0', b'b', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (&text[..], 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    if suffix.chars().all(|c| matches!(c, 'u' | 'l' | 'z')) {
        // `0` and `0u` have no digit after the prefix of octal numbers.
        let number = if number.is_empty() && radix == 8 { "0" } else { number };
        return i128::from_str_radix(number, radix).ok().map(MacroValue::Int);
    }
    if radix == 16 || radix == 2 {
        return None;
    }
    text.trim_end_matches(['f', 'l']).parse().ok().map(MacroValue::Float)
}

#[cfg(test)]
mod tests {
    use super::{MacroValue, literal};

    #[test]
    fn literals_of_c() {
        let cases = [("0", 0), ("0u", 0), ("017", 15), ("0x1Full", 31), ("0b101", 5), ("1'000", 1000), ("42L", 42)];
        for (text, value) in cases {
            assert_eq!(literal(text), Some(MacroValue::Int(value)), "{text}");
        }
        for (text, value) in [("1.5f", 1.5), ("0.25", 0.25), (".5", 0.5), ("1e3", 1000.0), ("2.L", 2.0)] {
            assert_eq!(literal(text), Some(MacroValue::Float(value)), "{text}");
        }
        assert_eq!(literal("\"a b\""), Some(MacroValue::Text("a b".into())));
        for text in ["name", "'c'", "0x", "1_km", "0x1p3", "+"] {
            assert_eq!(literal(text), None, "{text}");
        }
    }
}
