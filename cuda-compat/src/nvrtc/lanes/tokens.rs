//! C++ tokens with their positions. Comments are skipped.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::nvrtc) enum Kind {
    Name,
    Number,
    /// A string or a character, with its quotes.
    Text,
    Operator,
}

/// A word of C++.
#[derive(Clone, Copy, Debug)]
pub(in crate::nvrtc) struct Token<'a> {
    pub(in crate::nvrtc) kind: Kind,
    pub(in crate::nvrtc) text: &'a str,
    /// Counted from 1.
    pub(in crate::nvrtc) line: usize,
    /// Counted from 1, in bytes.
    pub(in crate::nvrtc) column: usize,
}

impl Token<'_> {
    /// Returns the value of an integer.
    pub(in crate::nvrtc) fn number(&self) -> Option<u64> {
        if self.kind != Kind::Number {
            return None;
        }
        let text = self.text.to_ascii_lowercase().replace('\'', "");
        let (digits, base) = match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
            (Some(digits), _) => (digits, 16),
            (_, Some(digits)) => (digits, 2),
            _ => (text.as_str(), 10),
        };
        u64::from_str_radix(digits.trim_end_matches(['u', 'l', 'z']), base).ok()
    }
}

/// Operators with several characters that the search distinguishes.
const OPERATORS: [&str; 16] =
    [">>=", "<<=", "->", "::", ">>", "<<", "==", "!=", "<=", ">=", "&&", "||", "+=", "&=", "%=", "/="];

/// Splits C++ into tokens. Text that is not C++ gives one-character tokens.
pub(in crate::nvrtc) fn tokens(source: &str) -> Vec<Token<'_>> {
    let (mut tokens, mut rest) = (Vec::new(), source);
    let (mut line, mut column) = (1, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = match first {
            _ if first.is_whitespace() => (None, first.len_utf8()),
            '/' if rest.starts_with("//") => (None, comment(rest)),
            '/' if rest.starts_with("/*") => (None, rest[2..].find("*/").map_or(rest.len(), |end| end + 4)),
            '"' => (Some(Kind::Text), quoted(rest, '"')),
            '\'' => (Some(Kind::Text), quoted(rest, '\'')),
            'R' if rest.starts_with("R\"") => (Some(Kind::Text), raw(rest)),
            '0'..='9' => (Some(Kind::Number), length(rest, |c| c.is_alphanumeric() || matches!(c, '.' | '\'' | '_'))),
            _ if first.is_alphabetic() || first == '_' => {
                (Some(Kind::Name), length(rest, |c| c.is_alphanumeric() || c == '_'))
            }
            _ => {
                let long = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
                (Some(Kind::Operator), long.map_or(first.len_utf8(), |operator| operator.len()))
            }
        };
        let (text, after) = rest.split_at(length);
        if let Some(kind) = kind {
            tokens.push(Token { kind, text, line, column });
        }
        match text.rfind('\n') {
            Some(last) => {
                line += text.matches('\n').count();
                column = text.len() - last;
            }
            None => column += text.len(),
        }
        rest = after;
    }
    tokens
}

/// Returns the length of the prefix with only these characters.
fn length(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Returns the length of a comment to the end of the line, which a backslash continues.
fn comment(text: &str) -> usize {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        if !line.ends_with('\\') {
            return end;
        }
    }
    end
}

/// Returns the length of a quoted string or character; to the end of the line if the closing quote is missing.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of `R"x(…)x"`.
fn raw(text: &str) -> usize {
    let Some(open) = text.find('(') else { return text.len() };
    let end = format!("){}\"", &text[2..open]);
    text[open..].find(&end).map_or(text.len(), |at| open + at + end.len())
}
