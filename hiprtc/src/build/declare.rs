//! Rust declarations of kernels: the types of the source, compared with the parameters in the code object.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hip::module::{KernelInfo, ParameterKind};

use crate::source::{Declared, Parameter, Pointer, is_of, scalar};

/// A kernel declared in Rust.
#[derive(Debug)]
struct Kernel {
    /// The name in the code object.
    name: String,
    type_name: String,
    field: String,
    text: String,
    parameters: Vec<(String, String)>,
}

/// The text of a Rust file, and the reasons why kernels of the code object are missing from it.
#[derive(Debug)]
pub(super) struct Generated {
    pub(super) rust: String,
    pub(super) left_out: Vec<String>,
}

/// Writes the declarations. `types` maps C++ types to Rust types.
///
/// # Errors
/// If a kernel's parameters in the code object differ from those of the source.
pub(super) fn declarations(
    declared: &[Declared],
    code: &[KernelInfo],
    types: &[(String, String)],
    file: &str,
    bundle: &str,
    architectures: &str,
) -> Result<Generated, String> {
    let (mut kernels, mut left_out): (Vec<Kernel>, Vec<String>) = (Vec::new(), Vec::new());
    for info in code {
        let Some(source) = declared.iter().find(|kernel| is_of(&info.name, &kernel.name)) else {
            left_out.push(format!("{}: no declaration that is not a template is in the source", info.name));
            continue;
        };
        match in_rust(source, info, types) {
            Ok(parameters) => {
                let type_name = camel(&source.name);
                if kernels.iter().any(|known| known.type_name == type_name || known.field == field(&source.name)) {
                    left_out.push(format!("{}: another kernel has the same name in Rust", info.name));
                    continue;
                }
                let (name, text) = (info.name.clone(), source.text.clone());
                kernels.push(Kernel { name, type_name, field: field(&source.name), text, parameters });
            }
            Err(Why::Unknown(reason)) => left_out.push(format!("{}: {reason}", info.name)),
            Err(Why::Differs(reason)) => return Err(format!("{}: {reason}", source.text)),
        }
    }
    Ok(Generated { rust: rust(&kernels, file, bundle, architectures), left_out })
}

/// The reason why a kernel has no declaration.
enum Why {
    /// A type has no known counterpart.
    Unknown(String),
    /// The code was compiled from another source.
    Differs(String),
}

fn in_rust(source: &Declared, info: &KernelInfo, types: &[(String, String)]) -> Result<Vec<(String, String)>, Why> {
    if source.parameters.len() != info.parameters.len() {
        let reason = format!("the number of parameters in the code is {}: {info}", info.parameters.len());
        return Err(Why::Differs(reason));
    }
    let mut used = BTreeSet::new();
    let mut parameters = Vec::new();
    for (index, (parameter, code)) in source.parameters.iter().zip(&info.parameters).enumerate() {
        let (rust, size) = type_of(parameter, types)?;
        let should_point = rust.starts_with('*') || rust.starts_with('&');
        let is_kind =
            code.kind == ParameterKind::PointerOrValue || should_point == (code.kind == ParameterKind::Pointer);
        if !is_kind || size.is_some_and(|size| size != code.size) {
            return Err(Why::Differs(format!("parameter {}, {}, is in the code {code}", index + 1, parameter.text)));
        }
        let mut name = if parameter.name.is_empty() { format!("arg{index}") } else { ident(&parameter.name) };
        while !used.insert(name.clone()) {
            name.push('_');
        }
        parameters.push((name, rust));
    }
    Ok(parameters)
}

/// Returns the Rust type of a parameter, and its size if it is known.
fn type_of(parameter: &Parameter, types: &[(String, String)]) -> Result<(String, Option<usize>), Why> {
    let unknown = |hint: &str| Err(Why::Unknown(format!("the type of {:?} has no Rust type: {hint}", parameter.text)));
    let given = types.iter().find(|(c, _)| *c == parameter.base).map(|(_, rust)| (rust.clone(), None));
    let known = given.or_else(|| scalar(&parameter.base).map(|(rust, size)| (rust.to_owned(), Some(size))));
    match (parameter.pointer, known) {
        (Pointer::None, _) if parameter.base == "hipTextureObject_t" => Ok(("&Texture".to_owned(), Some(8))),
        (Pointer::None, _) if parameter.base == "hipSurfaceObject_t" => Ok(("&mut Surface".to_owned(), Some(8))),
        (Pointer::None, Some(known)) => Ok(known),
        // Memory of booleans could contain bytes other than 0 and 1.
        (Pointer::Const, Some((rust, _))) if rust != "bool" => Ok((format!("*const {rust}"), Some(8))),
        (Pointer::Mut, Some((rust, _))) if rust != "bool" => Ok((format!("*mut {rust}"), Some(8))),
        (Pointer::Const, None) if parameter.base == "void" => Ok(("*const u8".to_owned(), Some(8))),
        (Pointer::Mut, None) if parameter.base == "void" => Ok(("*mut u8".to_owned(), Some(8))),
        (Pointer::Other, _) => unknown("declare the kernel with hip::kernel!"),
        (_, _) => unknown("name one with Build::rust_type, or declare the kernel with hip::kernel!"),
    }
}

/// Converts `vector_add` to the form of a type's name.
fn camel(name: &str) -> String {
    let mut camel = String::new();
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.extend(letters);
    }
    if camel.starts_with(|c: char| c.is_ascii_digit()) || camel == "Kernels" || camel.is_empty() {
        camel.insert_str(0, "Kernel");
    }
    camel
}

/// Converts a name to the form of a field's name: lower-case words.
fn field(name: &str) -> String {
    let mut field = String::new();
    let mut before = '_';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            field.push('_');
        }
        field.push(letter.to_ascii_lowercase());
        before = letter;
    }
    ident(&field)
}

/// Returns a name that is not a Rust keyword.
fn ident(name: &str) -> String {
    const WORDS: [&str; 52] = [
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
        "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
        "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "Self", "static", "struct",
        "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
        "yield",
    ];
    if WORDS.contains(&name) || name == "_" { format!("{name}_") } else { name.to_owned() }
}

fn rust(kernels: &[Kernel], file: &str, bundle: &str, architectures: &str) -> String {
    let mut rust = format!(
        "// Generated by hiprtc::build from {file}; do not edit.\n\n\
         /// The code of `{file}` for {architectures}: an offload bundle.\n\
         pub static BUNDLE: &[u8] = include_bytes!({bundle:?});\n\n"
    );
    // `write!` to a String does not fail.
    for Kernel { name, type_name, text, parameters, .. } in kernels {
        let parameters: Vec<String> = parameters.iter().map(|(name, rust)| format!("{name}: {rust}")).collect();
        let _ = write!(
            rust,
            "::hiprtc::hip::kernel! {{\n    /// `{text}`\n    pub struct {type_name}: fn {name:?}({});\n}}\n\n",
            parameters.join(", ")
        );
    }
    let _ = write!(
        rust,
        "/// All kernels of `{file}`, loaded on a device.\n#[derive(Clone, Debug)]\npub struct Kernels {{\n"
    );
    for Kernel { type_name, field, text, .. } in kernels {
        let _ = write!(rust, "    /// `{text}`\n    pub {field}: {type_name},\n");
    }
    rust += "}\n\nimpl Kernels {\n    \
             /// Loads the code for `device`, and compares the declarations with it.\n    ///\n    \
             /// # Errors\n    /// Those of `hip::Module::load`.\n    \
             pub fn load(device: &::hiprtc::hip::Device) -> ::hiprtc::hip::Result<Self> {\n        \
             let module = ::hiprtc::hip::Module::load(device, BUNDLE)?;\n        \
             Self::from_module(&module)\n    }\n\n    \
             /// Finds the kernels in a module, for example one that was compiled at run time.\n    ///\n    \
             /// # Errors\n    /// `Error::KernelNotFound`, `Error::ArgumentCount` and `Error::Argument` if the module has other \
             kernels.\n    \
             pub fn from_module(module: &::hiprtc::hip::Module) -> ::hiprtc::hip::Result<Self> {\n";
    if kernels.is_empty() {
        rust += "        let _ = module;\n";
    }
    rust += "        Ok(Self {\n";
    for Kernel { type_name, field, .. } in kernels {
        let _ = writeln!(rust, "            {field}: {type_name}::load(module)?,");
    }
    rust += "        })\n    }\n}\n";
    rust
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    const MATMUL: &[u8] = include_bytes!("../../../examples/kernels/streams.hipfb");
    const SOURCE: &str = include_str!("../../../examples/kernels/streams.hip");

    fn infos() -> Vec<KernelInfo> {
        hip::Module::describe(MATMUL, &"gfx90a".parse().unwrap()).unwrap()
    }

    fn generate(source: &str, types: &[(String, String)]) -> Result<Generated, String> {
        declarations(&source::kernels(source), &infos(), types, "streams.hip", "streams.hipfb", "gfx90a")
    }

    /// The kernels of a code object from the repository's examples.
    #[test]
    fn declarations_have_the_types_of_the_source() {
        let made = generate(SOURCE, &[]).unwrap();
        assert_eq!(made.left_out, [""; 0]);
        for part in [
            "pub struct FillSquares: fn \"fill_squares\"(out: *mut f32, n: u32);",
            "pub struct Scale: fn \"scale\"(in_: *const f32, out: *mut f32, factor: f32, n: u32);",
            "pub fill_squares: FillSquares,",
            "include_bytes!(\"streams.hipfb\")",
        ] {
            assert!(made.rust.contains(part), "{part} in\n{}", made.rust);
        }
    }

    #[test]
    fn a_source_that_is_not_the_codes_is_an_error() {
        for (from, to) in [("unsigned n", "size_t n"), ("float *out", "float out"), ("unsigned n", "unsigned n, int m")]
        {
            let changed = SOURCE.replace(from, to);
            assert_ne!(changed, SOURCE);
            let error = generate(&changed, &[]).unwrap_err();
            assert!(error.contains("in the code"), "{error}");
        }
    }

    /// A damaged source counts as another one, or has other kernels.
    #[test]
    fn any_source_is_declared_or_an_error() {
        let mut random = crate::damage::Random(4);
        for _ in 0..1000 {
            match generate(&random.text(SOURCE), &[]) {
                Ok(made) => assert!(made.rust.contains("pub struct Kernels")),
                Err(error) => assert!(!error.is_empty()),
            }
        }
    }

    #[test]
    fn types_without_a_counterpart_are_left_out_or_given() {
        let changed = SOURCE.replace("float factor", "my::Real factor");
        assert_ne!(changed, SOURCE);
        let made = generate(&changed, &[]).unwrap();
        assert!(made.left_out.len() == 1 && made.left_out[0].contains("my::Real factor"), "{:?}", made.left_out);
        assert!(!made.rust.contains("Scale") && made.rust.contains("FillSquares"));
        let made = generate(&changed, &[("my::Real".to_owned(), "crate::Real".to_owned())]).unwrap();
        assert!(made.rust.contains("factor: crate::Real") && made.left_out.is_empty(), "{}", made.rust);
        assert_eq!(generate("", &[]).unwrap().left_out.len(), infos().len());
    }

    #[test]
    fn names_are_rusts() {
        assert_eq!((camel("vector_add"), field("vector_add")), ("VectorAdd".into(), "vector_add".into()));
        assert_eq!((camel("vectorAdd"), field("vectorAdd")), ("VectorAdd".into(), "vector_add".into()));
        assert_eq!((camel("type"), field("type")), ("Type".into(), "type_".into()));
        assert_eq!((camel("__3d"), camel("kernels")), ("Kernel3d".into(), "KernelKernels".into()));
        assert!(is_of("_Z5scalePff", "scale") && !is_of("_Z5scaleIfEvPT_", "scale") && !is_of("scaled", "scale"));
    }

    #[test]
    fn integers_have_their_sizes() {
        for (c, rust) in [
            ("unsigned long long int", "u64"),
            ("long unsigned", "u64"),
            ("std::size_t", "u64"),
            ("std::uint8_t", "u8"),
            ("short int", "i16"),
            ("unsigned int", "u32"),
            ("long", "i64"),
            ("signed", "i32"),
            ("unsigned char", "u8"),
        ] {
            assert_eq!(scalar(c).map(|(rust, _)| rust), Some(rust), "{c}");
        }
        assert_eq!(scalar("__half"), None);
    }
}
