//! `printf!`.

use proc_macro::{TokenStream, TokenTree};

use crate::parse::{Error, Result, escaped, shown, split, text, written};

/// Expands `printf!(printer, "x[{}] = {:.3}, {name:x}", i, x)` to one call per piece.
pub(crate) fn printf(input: TokenStream) -> Result<TokenStream> {
    let parts = split(input);
    let call_site = proc_macro::Span::call_site();
    let [printer, format, arguments @ ..] = &parts[..] else {
        return Err(Error::new(
            call_site,
            "expected a printer, a format and its arguments: `printf!(printer, \"{}\", x)`",
        ));
    };
    let [TokenTree::Literal(literal)] = &format[..] else {
        let span = format.first().map_or(call_site, TokenTree::span);
        return Err(Error::new(span, "the format is a literal in quotes"));
    };
    let (span, quoted) = (literal.span(), literal.to_string());
    let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inside = inside.ok_or_else(|| Error::new(span, "the format is a literal in quotes, without a prefix"))?;
    let mut calls = String::new();
    let mut given = arguments.iter().map(|argument| text(argument));
    let mut plain = String::new();
    let mut letters = inside.chars().peekable();
    let flush = |plain: &mut String, calls: &mut String| {
        if !plain.is_empty() {
            *calls += &format!("__hk_line.text(\"{plain}\");\n");
            plain.clear();
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '{' | '}' if letters.peek() == Some(&letter) => {
                letters.next();
                plain.push(letter);
            }
            '}' => return Err(Error::new(span, "`}` without `{`: write `}}` for the letter")),
            '{' => {
                flush(&mut plain, &mut calls);
                let mut hole = String::new();
                loop {
                    match letters.next() {
                        Some('}') => break,
                        Some(letter) => hole.push(letter),
                        None => return Err(Error::new(span, "`{` without `}`")),
                    }
                }
                let (name, how) = hole.split_once(':').unwrap_or((&hole, ""));
                let value = if name.is_empty() {
                    given.next().ok_or_else(|| Error::new(span, "more `{}` than arguments"))?
                } else {
                    escaped(name)
                };
                calls += &match how {
                    "" | "?" => format!("__hk_line.value({value});\n"),
                    "x" => format!("__hk_line.hex({value});\n"),
                    _ => {
                        let digits: u32 =
                            how.strip_prefix('.').and_then(|digits| digits.parse().ok()).ok_or_else(|| {
                                Error::new(span, format!("`{{:{how}}}`: known are `{{}}`, `{{:x}}` and `{{:.3}}`"))
                            })?;
                        format!("__hk_line.fixed({value}, {digits});\n")
                    }
                };
            }
            '\\' => {
                plain.push('\\');
                plain.extend(letters.next());
            }
            other => plain.push(other),
        }
    }
    flush(&mut plain, &mut calls);
    if let Some(extra) = given.next() {
        return Err(Error::new(span, format!("`{}` has no `{{}}`", shown(&extra))));
    }
    let printer = text(printer);
    let code =
        format!("{{ let mut __hk_line = ::hip_kernel::print::Line::new(); {calls} ({printer}).write(&__hk_line); }}");
    written(&code).ok_or_else(|| Error::new(span, "`printf!` does not understand this format"))
}
