//! The values of macros that are expressions: the compiler evaluates them.

use std::collections::{BTreeSet, HashMap};
use std::ffi::CStr;
use std::fmt::Write as _;

use super::cursor::{Cursor, CursorKind};
use super::diagnostic::Severity;
use super::error::Result;
use super::raw;
use super::tokens::{MacroValue, TokenKind};
use super::types::TypeKind;
use super::unit::{Index, Source};

/// The file that declares a variable for each macro. The source includes it after its last line.
const FILE: &str = "/rocm-llvm/values-of-macros.h";
/// Lines for each macro: a condition, its value, its address, its text, the end of the condition.
const LINES: usize = 5;

/// The reason that a macro has no value, see [`Index::macro_values`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoValue {
    /// No macro of this name is defined at the end of the source, or the compiler does not find the end, for example
    /// because of a comment that is never closed.
    #[error("it is not defined at the end of the source")]
    Undefined,
    /// The macro has parameters.
    #[error("it has parameters")]
    Parameters,
    /// The macro is defined to nothing.
    #[error("it is defined to nothing")]
    Empty,
    /// Brackets in the macro do not match: it is a part of a declaration or a statement.
    #[error("its brackets do not match")]
    Brackets,
    /// The macro is not an expression, or not one without errors. Contains the compiler's message.
    #[error("it is not an expression: {0}")]
    NotExpression(String),
    /// The value is unknown before the program runs, such as an address, or it is not a number or a string, such as a
    /// structure or an integer of 128 bits.
    #[error("its value is not a number or a string that the compiler knows")]
    NotConstant,
}

/// The text, for a `main` that returns the error.
impl std::fmt::Debug for NoValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Index {
    /// Returns the values of macros, in the order of `names`, as the compiler evaluates them at the end of the source:
    /// macros may name others and enumerators, and use operators, casts, `sizeof` and calls of `constexpr` functions.
    ///
    /// An integer, enumerator, `bool` or character is a [`MacroValue::Int`], and so is a pointer to an address that is
    /// a number, such as `((hipStream_t)2)`. A `long double` is rounded. A string ends before its first NUL byte, and
    /// its escapes are replaced. Macros without a value do not affect others.
    ///
    /// The source is parsed twice, with the bodies of its functions. Name several macros in one call.
    ///
    /// ```
    /// use rocm_llvm::clang::{Index, MacroValue, NoValue, Source};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let Ok(index) = Index::new() else { return Ok(()) };
    /// let source = Source::text(
    ///     "v.h",
    ///     "#define MAJOR 7\n#define VERSION (MAJOR * 10000000 + 2)\n#define NAME \"v\" \"7\"\n#define MAX(a, b) a\n",
    /// );
    /// let values = index.macro_values(&source, &["VERSION", "NAME", "MAX"])?;
    /// assert_eq!(values[0], Ok(MacroValue::Int(70000002)));
    /// assert_eq!(values[1], Ok(MacroValue::Text("v7".into())));
    /// assert_eq!(values[2], Err(NoValue::Parameters));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    #[doc(alias("clang_Cursor_Evaluate", "clang_EvalResult_getKind", "clang_EvalResult_getAsLongLong"))]
    #[doc(alias("clang_EvalResult_getAsUnsigned", "clang_EvalResult_getAsDouble", "clang_EvalResult_getAsStr"))]
    pub fn macro_values(
        &self,
        source: &Source,
        names: &[impl AsRef<str>],
    ) -> Result<Vec<std::result::Result<MacroValue, NoValue>>> {
        let source = source.complete();
        let unit = self.parse(&source.clone().with_macros())?;
        let macros = Macros::of(unit.cursor());
        drop(unit);
        let mut brackets = Brackets { macros: &macros, known: HashMap::new() };
        let checked: Vec<_> = names.iter().map(|name| brackets.check(name.as_ref())).collect();
        let mut text = String::new();
        for (at, (name, checked)) in names.iter().zip(&checked).enumerate() {
            text += &match checked {
                Ok(()) => declarations(at, name.as_ref()),
                Err(_) => "\n".repeat(LINES),
            };
        }
        let unit = self.parse(&source.with_end(FILE, text)?)?;
        let mut found = Found::default();
        for diagnostic in unit.diagnostics().into_iter().filter(|diagnostic| diagnostic.severity >= Severity::Error) {
            if let Some(at) = diagnostic.location.filter(|at| at.file.as_os_str() == FILE) {
                found.errors.entry(at.line as usize).or_insert(diagnostic.message);
            }
        }
        for cursor in unit.cursor().descendants().filter(|cursor| cursor.kind() == CursorKind::Variable) {
            if let Some(at) = cursor.location().filter(|at| at.file.as_os_str() == FILE) {
                found.variables.insert(at.line as usize, cursor);
            }
        }
        let value = |(at, checked): (usize, std::result::Result<(), NoValue>)| checked.and_then(|()| found.value(at));
        Ok(checked.into_iter().enumerate().map(value).collect())
    }
}

/// Declares variables whose initial values are a macro. The compiler evaluates them as numbers, as addresses and as
/// strings. Brackets around a macro make one that ends in the middle of an expression an error.
fn declarations(at: usize, name: &str) -> String {
    let mut text = String::new();
    _ = writeln!(text, "#ifdef {name}");
    _ = writeln!(text, "static const __auto_type rocm_llvm_value_{at} = ({name});");
    _ = writeln!(text, "static const __UINTPTR_TYPE__ rocm_llvm_address_{at} = (__UINTPTR_TYPE__)({name});");
    _ = writeln!(text, "static const char rocm_llvm_text_{at}[] = {name};");
    _ = writeln!(text, "#endif");
    text
}

/// The compiler's results, by the line of [`FILE`].
#[derive(Default)]
struct Found<'u> {
    errors: HashMap<usize, String>,
    variables: HashMap<usize, Cursor<'u>>,
}

impl<'u> Found<'u> {
    /// Returns the variable in a line without an error.
    fn variable(&self, line: usize) -> Option<Cursor<'u>> {
        let found = self.variables.get(&line).filter(|_| !self.errors.contains_key(&line))?;
        // SAFETY: the unit is live.
        let invalid = unsafe { raw::clang_isInvalidDeclaration(found.raw) != 0 };
        (!invalid).then_some(*found)
    }

    fn value(&self, at: usize) -> std::result::Result<MacroValue, NoValue> {
        let line = at * LINES + 2;
        let Some(variable) = self.variable(line) else {
            // Some errors are found in the next declaration: those of attributes without a declaration.
            return Err(match (line..line + LINES - 2).find_map(|line| self.errors.get(&line)) {
                Some(message) => NoValue::NotExpression(message.clone()),
                None if self.variables.contains_key(&line) => NoValue::NotConstant,
                None => NoValue::Undefined,
            });
        };
        let kind = variable.ty().map(|ty| ty.canonical().kind());
        let is_pointer = matches!(kind, Some(TypeKind::Pointer | NULL_POINTER));
        let value = match is_pointer {
            false => self.variable(line).and_then(evaluate),
            true => self.variable(line + 2).and_then(evaluate).or_else(|| evaluate(self.variable(line + 1)?)),
        };
        value.ok_or(NoValue::NotConstant)
    }
}

/// The type of `nullptr`.
const NULL_POINTER: TypeKind = TypeKind::Other(24);

/// Returns the initial value of a variable.
fn evaluate(variable: Cursor<'_>) -> Option<MacroValue> {
    const INT: u32 = 1;
    const FLOAT: u32 = 2;
    const STRING: u32 = 4;
    let ty = variable.ty()?.canonical();
    // libclang cuts larger integers.
    let is_small = ty.size().is_some_and(|size| size <= 8);
    // SAFETY: the unit is live. The result is null or one that is freed once, after its last use; each function is called for its
    // kind, and the string is a C string that lives as long as the result.
    unsafe {
        let result = raw::clang_Cursor_Evaluate(variable.raw);
        if result.is_null() {
            return None;
        }
        let value = match raw::clang_EvalResult_getKind(result).0 {
            INT if !is_small => None,
            INT if raw::clang_EvalResult_isUnsignedInt(result) != 0 => {
                Some(MacroValue::Int(raw::clang_EvalResult_getAsUnsigned(result).into()))
            }
            INT => Some(MacroValue::Int(raw::clang_EvalResult_getAsLongLong(result).into())),
            FLOAT => Some(MacroValue::Float(raw::clang_EvalResult_getAsDouble(result))),
            STRING => {
                let text = raw::clang_EvalResult_getAsStr(result);
                (!text.is_null()).then(|| MacroValue::Text(CStr::from_ptr(text).to_string_lossy().into_owned()))
            }
            _ => None,
        };
        raw::clang_EvalResult_dispose(result);
        value
    }
}

/// A macro: whether it has parameters, and its brackets and names.
struct Macro {
    has_parameters: bool,
    is_empty: bool,
    parts: Vec<Part>,
}

enum Part {
    Open(u8),
    Close(u8),
    Name(String),
    /// A directive, which can change how the rest of the source is read.
    Pragma,
}

/// The macros of a unit, each as it was defined last.
struct Macros(HashMap<String, Macro>);

impl Macros {
    fn of(unit: Cursor<'_>) -> Self {
        let definitions = unit.children().into_iter().filter(|cursor| cursor.kind() == CursorKind::MacroDefinition);
        Self(definitions.map(|cursor| (cursor.spelling(), Macro::of(cursor))).collect())
    }
}

impl Macro {
    fn of(cursor: Cursor<'_>) -> Self {
        let tokens = cursor.tokens();
        let body: Vec<_> = tokens.iter().skip(1).filter(|token| token.kind != TokenKind::Comment).collect();
        let parts = body.iter().filter_map(|token| {
            Some(match (token.kind, token.text.as_str()) {
                (TokenKind::Punctuation, "(") => Part::Open(b'('),
                (TokenKind::Punctuation, "[" | "<:") => Part::Open(b'['),
                (TokenKind::Punctuation, "{" | "<%") => Part::Open(b'{'),
                (TokenKind::Punctuation, ")") => Part::Close(b'('),
                (TokenKind::Punctuation, "]" | ":>") => Part::Close(b'['),
                (TokenKind::Punctuation, "}" | "%>") => Part::Close(b'{'),
                (_, "_Pragma" | "__pragma") => Part::Pragma,
                (TokenKind::Identifier | TokenKind::Keyword, name) => Part::Name(name.to_owned()),
                _ => return None,
            })
        });
        let is_empty = body.is_empty() && !cursor.is_macro_builtin();
        Self { has_parameters: cursor.is_macro_function(), is_empty, parts: parts.collect() }
    }
}

/// Brackets that remain when pairs are removed: closing ones, then opening ones.
#[derive(Default, Clone)]
struct Open {
    closing: Vec<u8>,
    opening: Vec<u8>,
}

impl Open {
    /// Brackets that a macro leaves open are few. More are not followed.
    const MOST: usize = 64;

    /// Adds what follows. Returns `None` if brackets do not match, whatever is around them.
    fn then(mut self, next: Open) -> Option<Self> {
        for bracket in next.closing {
            match self.opening.pop() {
                None => self.closing.push(bracket),
                Some(open) if open == bracket => {}
                Some(_) => return None,
            }
        }
        self.opening.extend(next.opening);
        (self.closing.len() + self.opening.len() <= Self::MOST).then_some(self)
    }
}

/// Macros that name others this deep are not followed.
const DEEPEST: usize = 1000;

/// Finds macros that leave brackets open. These would spoil the declarations after theirs.
struct Brackets<'a> {
    macros: &'a Macros,
    /// Those of macros; `None` if they do not match, or the macro is being read.
    known: HashMap<&'a str, Option<Open>>,
}

impl<'a> Brackets<'a> {
    fn check(&mut self, name: &str) -> std::result::Result<(), NoValue> {
        let Some((name, found)) = self.macros.0.get_key_value(name) else { return Err(NoValue::Undefined) };
        if found.has_parameters {
            return Err(NoValue::Parameters);
        }
        if found.is_empty {
            return Err(NoValue::Empty);
        }
        match self.of(name, found, &mut BTreeSet::new()) {
            Some(Open { closing, opening }) if closing.is_empty() && opening.is_empty() => Ok(()),
            _ => Err(NoValue::Brackets),
        }
    }

    fn of(&mut self, name: &'a str, found: &'a Macro, within: &mut BTreeSet<&'a str>) -> Option<Open> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        if within.len() >= DEEPEST {
            return None;
        }
        within.insert(name);
        let mut all = Some(Open::default());
        for part in &found.parts {
            let next = match part {
                Part::Open(bracket) => Some(Open { closing: Vec::new(), opening: vec![*bracket] }),
                Part::Close(bracket) => Some(Open { closing: vec![*bracket], opening: Vec::new() }),
                Part::Pragma => None,
                // A macro is not expanded within itself.
                Part::Name(inner) => match self.macros.0.get_key_value(inner) {
                    Some((inner, next)) if !within.contains(inner.as_str()) => self.of(inner, next, within),
                    _ => Some(Open::default()),
                },
            };
            all = all.zip(next).and_then(|(all, next)| all.then(next));
        }
        within.remove(name);
        self.known.insert(name, all.clone());
        all
    }
}
