//! The text of source code that kernels are compared by.

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// Writes the source as text that is the same for each release of the compiler, on each machine: tokens with one space
/// between them, without comments, and without the invisible groups of macros.
pub(crate) fn normal(tokens: TokenStream, text: &mut String) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = tokens.peek() {
                    let first = group.stream().into_iter().next();
                    if first.is_some_and(|first| first.to_string() == "doc") {
                        tokens.next();
                        continue;
                    }
                }
                text.push_str("# ");
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("( ", ") "),
                    Delimiter::Brace => ("{ ", "} "),
                    Delimiter::Bracket => ("[ ", "] "),
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                normal(group.stream(), text);
                text.push_str(close);
            }
            other => {
                // In a file with other line ends, strings of several lines differ: the compiler reads both alike.
                text.push_str(&other.to_string().replace("\r\n", "\n"));
                text.push(' ');
            }
        }
    }
}
