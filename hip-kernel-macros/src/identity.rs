//! The text that is written into the code and into the stub, so that `load` can compare the two
//! (`hip_kernel::identity`).

use proc_macro::{Delimiter, TokenStream, TokenTree};

use crate::parse::{Function, Kind};

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

/// FNV-1a, 128 bits.
fn hash(text: &str) -> u128 {
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |state, byte| {
        (state ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// Returns an expression for the text of a record: the module's path, the kernel's name in the code, the attribute's
/// settings, the source's hash, and the parameters.
pub(crate) fn text(function: &Function, symbol: &str) -> String {
    let mut source = String::new();
    normal(function.source.clone(), &mut source);
    let mut options: Vec<String> =
        function.same_len.iter().map(|names| format!("same_len({})", names.join(", "))).collect();
    options.extend(function.max_threads.map(|threads| format!("max_threads({threads})")));
    options.extend(function.stack.map(|bytes| format!("stack({bytes})")));
    options.extend(function.is_unsafe.then(|| "unsafe".to_owned()));
    let mut text = format!("\n{symbol}\n{}\n{:032x}", options.join(", "), hash(&source));
    for parameter in &function.parameters {
        text += &format!("\n{}: {}", parameter.name, parameter.text);
    }
    format!("::core::concat!(::core::module_path!(), {text:?})")
}

/// Returns an expression for the layouts of the parameters, as an array.
pub(crate) fn layouts(function: &Function) -> String {
    let plain = |element: &str| format!("<{element} as ::hip_kernel::Plain>::LAYOUT, ");
    let one = |kind: &Kind| match kind {
        Kind::Slice(element) | Kind::Const(element) | Kind::Mut(element) => plain(element),
        Kind::Output { path, .. } => format!("<{path} as ::hip_kernel::identity::Writes>::LAYOUT, "),
        // Not memory of the host: only the size matters.
        Kind::Shared(element) | Kind::SharedSlice(element) => {
            format!("::hip_kernel::Layout::of::<{element}>(\"shared\"), ")
        }
        Kind::Printer | Kind::GridBarrier => "::hip_kernel::Layout::NONE, ".to_owned(),
        Kind::Value(value) => format!("<{value} as ::hip_kernel::Value>::LAYOUT, "),
    };
    format!("[{}]", function.parameters.iter().map(|parameter| one(&parameter.kind)).collect::<String>())
}
