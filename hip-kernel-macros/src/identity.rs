//! The text that is written into the code and into the stub, so that `load` can compare the two
//! (`hip_kernel::identity`).

use crate::normal::normal;
use crate::parse::{Function, Kind};

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
