//! The kernels that a source declares: names, parameters and types, read from its text without a preprocessor.
//!
//! HIP's code objects contain sizes and offsets of parameters, but no types: `float` and `unsigned` are both 4 bytes
//! there. So the types are read here, and compared with the code object afterwards.

pub(crate) mod declarations;
mod mangled;
mod names;

/// A kernel's declaration in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    /// The text of the source, except for spaces.
    pub(crate) text: String,
    pub(crate) parameters: Vec<Parameter>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// Empty if the parameter has no name.
    pub(crate) name: String,
    /// The words of the type, without qualifiers and the pointer, with one space between them.
    pub(crate) base: String,
    pub(crate) pointer: Pointer,
    /// The text of the source, except for spaces.
    pub(crate) text: String,
}

/// The kind of pointer of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pointer {
    /// Not a pointer: a value.
    None,
    /// A pointer to read-only memory.
    Const,
    /// A pointer to writable memory.
    Mut,
    /// A pointer to a pointer, or a reference.
    Other,
}

/// Words before a kernel's name that a parenthesis may follow.
const ATTRIBUTES: [&str; 5] =
    ["__launch_bounds__", "__attribute__", "alignas", "__declspec", "amdgpu_flat_work_group_size"];
/// Words in a parameter that are not part of its type.
const QUALIFIERS: [&str; 8] =
    ["__restrict__", "__restrict", "restrict", "volatile", "register", "struct", "enum", "typename"];

/// Returns the kernels in a text, without templates.
pub(crate) fn kernels(source: &str) -> Vec<Declared> {
    let tokens = tokens(&without_comments(source));
    let mut found: Vec<Declared> = Vec::new();
    for at in (0..tokens.len()).filter(|&at| tokens[at] == "__global__") {
        let start = tokens[..at].iter().rposition(|token| [";", "{", "}"].contains(&token.as_str()));
        if tokens[start.map_or(0, |start| start + 1)..at].iter().any(|token| token == "template") {
            continue;
        }
        let Some(kernel) = kernel(&tokens[at + 1..]) else { continue };
        // A declaration and its definition count as one.
        if !found.iter().any(|known| known.name == kernel.name) {
            found.push(kernel);
        }
    }
    found
}

/// Parses the kernel whose declaration continues with these words.
fn kernel(tokens: &[String]) -> Option<Declared> {
    let (at, inside) = signature(tokens)?;
    let parameters = split(inside).into_iter().map(parameter).collect();
    let text = format!("void {}({})", tokens[at], split(inside).iter().map(|p| join(p)).collect::<Vec<_>>().join(", "));
    Some(Declared { name: tokens[at].clone(), text, parameters })
}

/// Returns the position of the name, and the tokens between the parentheses after it.
fn signature(tokens: &[String]) -> Option<(usize, &[String])> {
    let mut at = 0;
    loop {
        let next = tokens.get(at + 1).map(String::as_str);
        match (tokens.get(at)?.as_str(), next) {
            (";" | "{" | "}", _) => return None,
            (word, Some("(")) if ATTRIBUTES.contains(&word) => at = closing(tokens, at + 1)? + 1,
            (word, Some("(")) if is_word(word) => break,
            _ => at += 1,
        }
    }
    let end = closing(tokens, at + 1)?;
    Some((at, &tokens[at + 2..end]))
}

fn parameter(tokens: &[String]) -> Parameter {
    let end = tokens.iter().position(|token| token == "=").unwrap_or(tokens.len());
    let text = join(&tokens[..end]);
    let words: Vec<&str> =
        tokens[..end].iter().map(String::as_str).filter(|token| !QUALIFIERS.contains(token)).collect();
    let first_star = words.iter().position(|token| ["*", "&", "["].contains(token)).unwrap_or(words.len());
    let stars = words.iter().filter(|token| ["*", "[", "&"].contains(token)).count();
    let is_const = words[..first_star].contains(&"const");
    let pointer = match stars {
        0 => Pointer::None,
        1 if words.contains(&"&") => Pointer::Other,
        1 if is_const => Pointer::Const,
        1 => Pointer::Mut,
        _ => Pointer::Other,
    };
    let mut base: Vec<&str> = words[..first_star].iter().copied().filter(|word| *word != "const").collect();
    let name = if words.get(first_star) == Some(&"[") || first_star == words.len() {
        // The name follows the type, which has at least one word.
        let last_is_name = base.len() > 1 && base.last().is_some_and(|word| is_word(word) && !is_type_word(word));
        let behind_scope = base.len() > 2 && base[base.len() - 2] == "::";
        if last_is_name && !behind_scope { base.pop().unwrap_or_default().to_owned() } else { String::new() }
    } else {
        let mut after = words[first_star..].iter().filter(|word| is_word(word) && **word != "const");
        after.next_back().copied().unwrap_or_default().to_owned()
    };
    Parameter { name, base: base.join(" ").replace(" :: ", "::").replace(":: ", "::"), pointer, text }
}

/// Returns whether a word is part of a type's name and therefore not a parameter's name.
fn is_type_word(word: &str) -> bool {
    ["unsigned", "signed", "int", "char", "short", "long", "float", "double", "bool", "void", "_Float16"]
        .contains(&word)
}

/// Returns whether a name in the code, which may be mangled, is that of a function.
pub(crate) fn is_of(symbol: &str, function: &str) -> bool {
    let mangled = || symbol.strip_prefix(&format!("_Z{}{function}", function.len()));
    // Template arguments begin with I: templates are not declared here.
    symbol == function || mangled().is_some_and(|rest| !rest.starts_with('I'))
}

/// Returns the Rust type of a C++ type on Linux, and its size.
pub(crate) fn scalar(base: &str) -> Option<(&'static str, usize)> {
    let mut words: Vec<&str> = base.strip_prefix("std::").unwrap_or(base).split(' ').collect();
    words.sort_unstable();
    if words.len() > 1 {
        words.retain(|word| *word != "int");
    }
    Some(match words.join(" ").as_str() {
        "float" => ("f32", 4),
        "double" => ("f64", 8),
        "bool" => ("bool", 1),
        // `char` is signed on x86-64, and therefore on the device.
        "char" | "char signed" | "int8_t" => ("i8", 1),
        "char unsigned" | "uint8_t" | "uchar" => ("u8", 1),
        "short" | "short signed" | "int16_t" => ("i16", 2),
        "short unsigned" | "uint16_t" | "ushort" => ("u16", 2),
        "int" | "signed" | "int32_t" => ("i32", 4),
        "unsigned" | "uint32_t" | "uint" => ("u32", 4),
        "long" | "long signed" | "long long" | "long long signed" | "int64_t" | "ssize_t" | "ptrdiff_t"
        | "intptr_t" => ("i64", 8),
        "long unsigned" | "long long unsigned" | "uint64_t" | "size_t" | "ulong" | "uintptr_t" => ("u64", 8),
        _ => return None,
    })
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Returns the position of the parenthesis that closes the one at `open`.
fn closing(tokens: &[String], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" => depth += 1,
            ")" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Splits parameters at the commas outside of brackets. `()` and `(void)` have none.
fn split(tokens: &[String]) -> Vec<&[String]> {
    if tokens.is_empty() || tokens == ["void"] {
        return Vec::new();
    }
    let mut depth = 0_i32;
    tokens
        .split(|token| {
            match token.as_str() {
                "(" | "<" | "[" | "{" => depth += 1,
                ")" | ">" | "]" | "}" => depth -= 1,
                _ => {}
            }
            token == "," && depth == 0
        })
        .collect()
}

/// Joins words and punctuation in the usual spelling.
fn join(tokens: &[String]) -> String {
    let mut text = String::new();
    for token in tokens {
        let tight = text.is_empty() || text.ends_with(['*', '&', ':', '<', '[', '(']);
        let sticks = ["::", "<", ">", "[", "]", "(", ")", ","].contains(&token.as_str());
        if !tight && !sticks {
            text.push(' ');
        }
        text += token;
    }
    text
}

/// Returns words, numbers, strings and punctuation, without preprocessor lines.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut continued = false;
    for line in source.lines() {
        let is_directive = continued || line.trim_start().starts_with('#');
        continued = is_directive && line.trim_end().ends_with('\\');
        if !is_directive {
            tokens_of_line(line, &mut tokens);
        }
    }
    tokens
}

fn tokens_of_line(line: &str, tokens: &mut Vec<String>) {
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_alphanumeric() || first == '_' {
            // In a number, a quote separates digits.
            let parts_digits = |c: char| c == '\'' && first.is_ascii_digit();
            rest.find(|c: char| !c.is_alphanumeric() && c != '_' && !parts_digits(c)).unwrap_or(rest.len())
        } else if first == '"' || first == '\'' {
            let mut escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == first && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |(at, _)| at + 1)
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, tail) = rest.split_at(length);
        if !first.is_whitespace() {
            tokens.push(token.to_owned());
        }
        rest = tail;
    }
}

/// Returns the text with a space for each comment; strings stay unchanged.
fn without_comments(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            inside.find("*/").map_or(rest.len(), |end| end + 4)
        } else {
            0
        };
        if skipped > 0 {
            text.push(' ');
            rest = &rest[skipped..];
            continue;
        }
        let mut length = first.len_utf8();
        if first == '"' {
            let mut escaped = false;
            for (at, c) in rest.char_indices().skip(1) {
                length = at + c.len_utf8();
                if c == '\n' || c == '"' && !escaped {
                    break;
                }
                escaped = c == '\\' && !escaped;
            }
        }
        text += &rest[..length];
        rest = &rest[length..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(source: &str) -> Declared {
        let mut found = kernels(source);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    fn parameters(source: &str) -> Vec<(String, String, Pointer)> {
        one(source).parameters.into_iter().map(|p| (p.name, p.base, p.pointer)).collect()
    }

    fn owned(list: &[(&str, &str, Pointer)]) -> Vec<(String, String, Pointer)> {
        list.iter().map(|(name, base, pointer)| ((*name).to_owned(), (*base).to_owned(), *pointer)).collect()
    }

    #[test]
    fn names_and_parameters_are_found() {
        let kernel = one("extern \"C\" __global__ void scale(const float *x, float*y, unsigned int n = 3) { }");
        assert_eq!(
            (kernel.name.as_str(), kernel.text.as_str()),
            ("scale", "void scale(const float *x, float *y, unsigned int n = 3)")
        );
        let want = [("x", "float", Pointer::Const), ("y", "float", Pointer::Mut), ("n", "unsigned int", Pointer::None)];
        assert_eq!(parameters("__global__ void scale(const float *x, float*y, unsigned int n = 3);"), owned(&want));
        assert_eq!(parameters("__global__ void none() {}"), []);
        assert_eq!(parameters("__global__ void none(void) {}"), []);
    }

    #[test]
    fn ways_of_writing_are_understood() {
        let source = "
            /*/ __global__ void no(int); */ // __global__ void no(int);
            const char *text = \"__global__ void no(int) // \\\" \";
            #define KERNEL __global__ \\
                void no(int)
            __global__ void __launch_bounds__(256, 2) __attribute__((amdgpu_waves_per_eu(1, 2)))
            many(float const * __restrict__ a, int b[], const my::Params p, unsigned, std::size_t n, long long const m,
                 float *const c, hipTextureObject_t image, float **d, int &e, const unsigned char *__restrict f, Pair<int, 2> g)
            { call(1, 2); }
            template<typename T> __global__ void no(T *x) {}
            __global__ void many(float const *, int *);
            static __global__ void other(int);";
        let found = kernels(source);
        assert_eq!(found.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>(), ["many", "other"]);
        let got: Vec<_> = found[0].parameters.iter().map(|p| (p.name.clone(), p.base.clone(), p.pointer)).collect();
        let want = [
            ("a", "float", Pointer::Const),
            ("b", "int", Pointer::Mut),
            ("p", "my::Params", Pointer::None),
            ("", "unsigned", Pointer::None),
            ("n", "std::size_t", Pointer::None),
            ("m", "long long", Pointer::None),
            ("c", "float", Pointer::Mut),
            ("image", "hipTextureObject_t", Pointer::None),
            ("d", "float", Pointer::Other),
            ("e", "int", Pointer::Other),
            ("f", "unsigned char", Pointer::Const),
            ("g", "Pair < int , 2 >", Pointer::None),
        ];
        assert_eq!(got, owned(&want));
    }

    #[test]
    fn what_is_no_source_does_no_harm() {
        for text in [
            "",
            "__global__",
            "__global__ void",
            "__global__ void f(",
            "__global__ ; f(int)",
            "\"",
            "/*",
            "'",
            "__global__ void f(*)",
            "__global__ void f(,)",
            "__global__ f(int x) )",
        ] {
            let _ = kernels(text);
        }
        let source = "extern \"C\" __global__ void __launch_bounds__(64) f(const float *x, Pair<int, 2> p[3]) { /* c */ } // d\n\
                      #define K __global__ \\\n void g(int)\ntemplate<typename T> __global__ void h(T &t);\n";
        let mut random = crate::damage::Random(2);
        for _ in 0..3000 {
            let _ = kernels(&random.text(source));
        }
        for length in 0..60 {
            let _ = kernels(&"extern \"C\" __global__ void f(const float *x, Pair<int, 2> é)"[..length.min(55)]);
        }
    }
}
