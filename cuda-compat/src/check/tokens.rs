//! Rust source as a flat list of tokens with their positions.
//!
//! Uses are searched in tokens, not in a syntax tree: so bodies of macros, code that `cfg` excludes and files that do
//! not parse are read like all other code.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ident(String),
    Punct(char),
    Open(char),
    Close(char),
    /// A string: its value, and whether lines of the value are lines of the file.
    Text(String, bool),
    /// Another literal, as written.
    Literal(String),
}

/// A token with its position: line from 1, column from 1 in characters.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Token {
    pub(crate) fn ident(&self) -> Option<&str> {
        match &self.kind {
            Kind::Ident(ident) => Some(ident),
            _ => None,
        }
    }

    pub(crate) fn is(&self, punct: char) -> bool {
        self.kind == Kind::Punct(punct)
    }
}

/// Returns the tokens of a file, and the reason if part of it could not be read.
pub(crate) fn tokens(source: &str) -> (Vec<Token>, Option<String>) {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    match source.parse::<TokenStream>() {
        Ok(stream) => (flat(stream, 0), None),
        Err(error) => {
            // Text between two errors is read line by line, without multi-line strings.
            let at = error.span().start();
            let why = format!("line {}: {error}; read line by line, without kernels in strings", at.line);
            let mut all = Vec::new();
            for (index, line) in source.lines().enumerate() {
                match line.parse::<TokenStream>() {
                    Ok(stream) => all.extend(flat(stream, index)),
                    Err(_) => words(line, index + 1, &mut all),
                }
            }
            (all, Some(why))
        }
    }
}

/// Reads the words of a line that is not a sequence of whole tokens: its brackets end on other lines.
fn words(line: &str, number: usize, all: &mut Vec<Token>) {
    let code = line.split("//").next().unwrap_or_default();
    let mut chars = code.char_indices().enumerate().peekable();
    while let Some((column, (start, c))) = chars.next() {
        let token = |kind| Token { kind, line: number, column: column + 1 };
        if c == '"' {
            // A string, or the start of one: its words are not code.
            while chars.next_if(|(_, (_, c))| *c != '"').is_some() {}
            chars.next();
        } else if c.is_alphabetic() || c == '_' {
            let mut end = start + c.len_utf8();
            while let Some((_, (at, c))) = chars.next_if(|(_, (_, c))| c.is_alphanumeric() || *c == '_') {
                end = at + c.len_utf8();
            }
            all.push(token(Kind::Ident(code[start..end].to_owned())));
        } else if matches!(c, '(' | '[' | '{') {
            all.push(token(Kind::Open(c)));
        } else if matches!(c, ')' | ']' | '}') {
            all.push(token(Kind::Close(c)));
        } else if c.is_ascii_punctuation() {
            all.push(token(Kind::Punct(c)));
        }
    }
}

/// Flattens a stream; without recursion, since brackets can be nested deeply.
fn flat(stream: TokenStream, lines: usize) -> Vec<Token> {
    let mut all: Vec<Token> = Vec::new();
    let mut stack = vec![(stream.into_iter(), None::<Token>)];
    while let Some((stream, _)) = stack.last_mut() {
        let Some(tree) = stream.next() else {
            all.extend(stack.pop().and_then(|(_, close)| close));
            continue;
        };
        let start = tree.span().start();
        let token = |kind| Token { kind, line: start.line + lines, column: start.column + 1 };
        match tree {
            TokenTree::Ident(ident) => {
                let text = ident.to_string();
                all.push(token(Kind::Ident(text.strip_prefix("r#").unwrap_or(&text).to_owned())));
            }
            TokenTree::Punct(punct) => all.push(token(Kind::Punct(punct.as_char()))),
            TokenTree::Literal(literal) => {
                let written = literal.to_string();
                let kind = match syn::Lit::new(literal) {
                    syn::Lit::Str(text) => {
                        // In a string with escapes, a line of the value need not be a line of the file.
                        let is_literal = written.starts_with('r') || !written.contains('\\');
                        Kind::Text(text.value(), is_literal)
                    }
                    syn::Lit::CStr(text) => {
                        let is_literal = written.starts_with("cr") || !written.contains('\\');
                        Kind::Text(text.value().to_string_lossy().into_owned(), is_literal)
                    }
                    syn::Lit::ByteStr(text) => {
                        let is_literal = written.starts_with("br") || !written.contains('\\');
                        Kind::Text(String::from_utf8_lossy(&text.value()).into_owned(), is_literal)
                    }
                    _ => Kind::Literal(written),
                };
                all.push(token(kind));
            }
            TokenTree::Group(group) => {
                // Documentation is an attribute, not code.
                if is_doc(&group) && all.last().is_some_and(|last| last.is('#') || last.is('!')) {
                    continue;
                }
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::None => (' ', ' '),
                };
                all.push(token(Kind::Open(open)));
                let end = group.span_close().start();
                let close = Token { kind: Kind::Close(close), line: end.line + lines, column: end.column + 1 };
                stack.push((group.stream().into_iter(), Some(close)));
            }
        }
    }
    all
}

/// Returns whether a group is `[doc = "…"]`.
fn is_doc(group: &proc_macro2::Group) -> bool {
    let mut trees = group.stream().into_iter();
    matches!(trees.next(), Some(TokenTree::Ident(ident)) if ident == "doc")
        && matches!(trees.next(), Some(TokenTree::Punct(punct)) if punct.as_char() == '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idents(source: &str) -> Vec<(String, usize, usize)> {
        let (tokens, _) = tokens(source);
        tokens.iter().filter_map(|token| Some((token.ident()?.to_owned(), token.line, token.column))).collect()
    }

    #[test]
    fn places_are_those_of_the_file() {
        let found = idents("fn a() {\n    b!({ c });\n}\n/// d\nmod e {}");
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["fn", "a", "b", "c", "mod", "e"]);
        assert_eq!(found[2], ("b".to_owned(), 2, 5));
        assert_eq!(found[3], ("c".to_owned(), 2, 10));
    }

    #[test]
    fn a_broken_file_is_read_line_by_line() {
        let source = "fn a() {\n    cuInit(0);\n    \"unterminated\n    b(\n";
        assert!(tokens(source).1.unwrap().contains("line by line"));
        let found = idents(source);
        assert!(found.contains(&("cuInit".to_owned(), 2, 5)), "{found:?}");
        assert!(found.contains(&("b".to_owned(), 4, 5)), "{found:?}");
        assert!(!found.iter().any(|(name, ..)| name == "unterminated"));
    }

    #[test]
    fn deep_nesting_is_no_overflow() {
        let source = format!("{}x{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(idents(&source).len(), 1);
    }
}
