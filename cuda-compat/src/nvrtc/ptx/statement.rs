//! Statements of assembly in C++.

use std::ops::Range;

use crate::nvrtc::lanes::tokens::{Kind, Token};

/// An operand: `"=r"(value)`.
pub(super) struct Operand {
    /// The constraint, without quotes: `=r`, `+f`, `l`, `n`.
    pub(super) constraint: String,
    /// The expression.
    pub(super) value: String,
}

/// `asm volatile("text" : outputs : inputs : clobbers)`, with PTX as its text.
pub(super) struct Statement {
    /// The bytes of the source, from `asm` to the closing bracket.
    pub(super) range: Range<usize>,
    pub(super) line: usize,
    pub(super) column: usize,
    /// The assembly, or the reason that it is not known.
    pub(super) text: Result<String, String>,
    pub(super) outputs: Vec<Operand>,
    pub(super) inputs: Vec<Operand>,
}

impl Statement {
    /// Returns the statements of a source whose assembly is PTX, in its order.
    pub(super) fn all(source: &str, tokens: &[Token<'_>]) -> Vec<Self> {
        (0..tokens.len()).filter_map(|at| Self::at(source, tokens, at)).collect()
    }

    fn at(source: &str, tokens: &[Token<'_>], at: usize) -> Option<Self> {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        if !matches!(text(at), "asm" | "__asm__" | "__asm") {
            return None;
        }
        let open = (at + 1..).find(|at| !matches!(text(*at), "volatile" | "__volatile__" | "inline" | "\\"))?;
        if text(open) != "(" {
            return None;
        }
        let (parts, close) = parts(tokens, open)?;
        let assembly = assembly(tokens, parts.first()?);
        let first = tokens[parts.first()?.clone()].iter().find(|token| token.kind == Kind::Text);
        let known = assembly.clone().ok().or_else(|| first.and_then(|first| unquoted(first.text)));
        let operands = |part: usize| parts.get(part).map_or_else(Vec::new, |part| operands(&tokens[part.clone()]));
        let (outputs, inputs) = (operands(1), operands(2));
        // Without a text, the letters of the operands are known.
        let has_letters =
            || outputs.iter().chain(&inputs).any(|operand| operand.constraint.ends_with(['r', 'l', 'f', 'd', 'h']));
        if !known.map_or_else(has_letters, |text| is_ptx(&text)) {
            return None;
        }
        let start = offset(source, &tokens[at]);
        Some(Self {
            range: start..offset(source, &tokens[close]) + 1,
            line: tokens[at].line,
            column: tokens[at].column,
            text: assembly,
            outputs,
            inputs,
        })
    }
}

fn offset(source: &str, token: &Token<'_>) -> usize {
    token.text.as_ptr() as usize - source.as_ptr() as usize
}

/// Returns the tokens between the colons, and the index of the closing bracket.
fn parts(tokens: &[Token<'_>], open: usize) -> Option<(Vec<Range<usize>>, usize)> {
    let (mut depth, mut start, mut parts) = (0_usize, open + 1, Vec::new());
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ":" | "::" if depth == 1 => {
                parts.push(start..at);
                if token.text == "::" {
                    parts.push(at..at);
                }
                start = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            parts.push(start..at);
            return Some((parts, at));
        }
    }
    None
}

/// Returns the text of adjacent strings, and of macros that are one string.
fn assembly(tokens: &[Token<'_>], part: &Range<usize>) -> Result<String, String> {
    let mut all = String::new();
    for token in tokens[part.clone()].iter().filter(|token| token.text != "\\") {
        let text = match token.kind {
            Kind::Text => Some(token.text),
            Kind::Name => defined(tokens, token.text),
            Kind::Number | Kind::Operator => None,
        };
        all += &text.and_then(unquoted).ok_or_else(|| {
            format!("the text of this PTX is put together by macros ({}), which is not supported", token.text)
        })?;
    }
    Ok(all)
}

/// Returns the string of `#define name "string"`.
fn defined<'a>(tokens: &[Token<'a>], name: &str) -> Option<&'a str> {
    let define =
        tokens.windows(4).find(|four| four[0].text == "#" && four[1].text == "define" && four[2].text == name)?;
    (define[3].kind == Kind::Text).then_some(define[3].text)
}

/// Returns the contents of a string.
fn unquoted(text: &str) -> Option<String> {
    if let Some(raw) = text.strip_prefix("R\"") {
        let (mark, rest) = raw.split_once('(')?;
        return rest.strip_suffix(&format!("){mark}\"")).map(str::to_owned);
    }
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    let (mut result, mut characters) = (String::new(), inside.chars());
    while let Some(character) = characters.next() {
        result.push(match character {
            '\\' => match characters.next()? {
                'n' | 'r' => '\n',
                't' => ' ',
                // A line that is continued in a string.
                '\n' => continue,
                other => other,
            },
            other => other,
        });
    }
    Some(result)
}

/// Splits `"=r"(a), "r"(b)`.
fn operands(tokens: &[Token<'_>]) -> Vec<Operand> {
    let (mut operands, mut depth, mut constraint) = (Vec::new(), 0_usize, String::new());
    let mut value: Vec<&str> = Vec::new();
    for token in tokens.iter().filter(|token| token.text != "\\") {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                operands.push(Operand { constraint: std::mem::take(&mut constraint), value: value.join(" ") });
                value.clear();
                continue;
            }
            text if depth == 0 && token.kind == Kind::Text => {
                constraint += text.trim_matches('"');
                continue;
            }
            _ => {}
        }
        value.push(token.text);
    }
    if !constraint.is_empty() {
        operands.push(Operand { constraint, value: value.join(" ") });
    }
    operands
}

/// Returns whether assembly is PTX: AMD's has other names, which begin with the unit that runs the instruction.
fn is_ptx(text: &str) -> bool {
    let units = ["s_", "v_", "ds_", "global_", "flat_", "buffer_", "scratch_", "image_", "tbuffer_"];
    let first = text.trim_start_matches(|c: char| c.is_whitespace() || c == '{');
    first.starts_with(['.', '@', '%', '$', '/', '}'])
        || first.starts_with(|c: char| c.is_ascii_alphabetic()) && !units.iter().any(|unit| first.starts_with(unit))
}
