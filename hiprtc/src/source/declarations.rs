//! The types of kernels' parameters for [`hip::Module::load_declared`], as far as the text shows them without doubt.
//!
//! A launch must not be rejected because of a wrongly guessed type. So a parameter whose type the text does not show is
//! unknown, and so is a kernel that is declared in an `#if` or in several ways.

use std::collections::HashMap;

use hip::module::{Declaration, KernelInfo, Number};

use super::mangled::{self, Arguments, Type};
use super::names::{Meaning, Names, Text};
use super::{Parameter, Pointer, QUALIFIERS, is_of, is_word, parameter, scalar, signature, split};
use crate::given::Given;
use crate::includes::{self, Folders};

/// Longer text is not read: that would take longer than finding the code in the cache.
const MOST_BYTES: usize = 1 << 20;
/// The maximum depth of aliases and macros.
const DEPTH: usize = 8;
/// Variables that change the compilation.
const VARIABLES: [&str; 3] = ["HIPRTC_COMPILE_OPTIONS_APPEND", "CCC_OVERRIDE_OPTIONS", "CCC_ADD_ARGS"];

/// The source's declarations of a program's kernels, by their names in the source.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    /// The parameters of each kernel; `None` if they are ambiguous.
    kernels: HashMap<String, Option<Vec<Declaration>>>,
    /// The parameter names of each kernel, also of templates; `None` if there are several declarations.
    names: HashMap<String, Option<Vec<String>>>,
}

impl Declarations {
    /// Reads a program's source and headers.
    pub(crate) fn of(given: Given<'_>) -> Self {
        if VARIABLES.iter().any(|name| std::env::var_os(name).is_some()) {
            return Self::default();
        }
        Self::read(given).unwrap_or_default()
    }

    fn read(given: Given<'_>) -> Option<Self> {
        let folders = Folders::of_options(given.options)?.with_variables(|name| std::env::var_os(name));
        let included = includes::find(given.texts(), |name| given.has_header(name), &folders)?;
        let files = included.files.iter().map(|(_, bytes)| std::str::from_utf8(bytes));
        let all = given.texts().map(Ok).chain(files).collect::<Result<Vec<_>, _>>().ok()?;
        if all.iter().map(|text| text.len()).sum::<usize>() > MOST_BYTES {
            return None;
        }
        let mut names = Names::default();
        if !names.add_options(given.options) {
            return None;
        }
        let texts = all.into_iter().map(|text| names.add_text(text)).collect::<Option<Vec<_>>>()?;
        let mut found = Self::default();
        texts.iter().for_each(|text| found.add(text, &names));
        Some(found)
    }

    /// Adds the kernels of one text.
    fn add(&mut self, text: &Text, names: &Names) {
        let tokens = &text.tokens;
        for at in (0..tokens.len()).filter(|&at| tokens[at] == "__global__") {
            let Some((name, inside)) = signature(&tokens[at + 1..]) else { continue };
            let before = &tokens[at + 1..=at + 1 + name];
            let name = tokens[at + 1 + name].clone();
            let own: Vec<String> = split(inside).into_iter().map(|tokens| parameter(tokens).name).collect();
            // A declaration or the definition may omit the names.
            let known = self.names.entry(name.clone()).or_insert_with(|| Some(own.clone()));
            if known.as_ref().is_some_and(|known| *known != own && !own.iter().all(String::is_empty)) {
                let had_none = known.as_ref().is_some_and(|known| known.iter().all(String::is_empty));
                *known = had_none.then_some(own);
            }
            let start = tokens[..at].iter().rposition(|token| [";", "{", "}"].contains(&token.as_str()));
            if tokens[start.map_or(0, |start| start + 1)..at].iter().any(|token| token == "template") {
                continue;
            }
            let is_clear = !text.conditional[at] && !has_macro(before, names);
            let made = if is_clear { parameters(inside, names) } else { None };
            let merged = match (self.kernels.remove(&name), made) {
                (Some(Some(known)), Some(new)) => same_types(&known, &new).then_some(new),
                (Some(None), _) => None,
                (None | Some(Some(_)), new) => new,
            };
            self.kernels.insert(name, merged);
        }
    }

    /// Returns the parameters of a kernel in the code. A mangled name contains the types that the compiler saw;
    /// otherwise they are read from the text.
    pub(crate) fn of_kernel(&self, kernel: &KernelInfo) -> Option<Vec<Declaration>> {
        self.of_symbol(&kernel.name)
    }

    fn of_symbol(&self, symbol: &str) -> Option<Vec<Declaration>> {
        let in_text = self.in_text(symbol);
        let Some((name, types)) = mangled::function(symbol) else { return in_text.cloned() };
        let names = self.names.get(&name).and_then(Option::as_ref).filter(|names| names.len() == types.len());
        let in_text = in_text.filter(|declarations| declarations.len() == types.len());
        let declaration = |(index, of): (usize, &Type)| {
            let name = names.map_or("", |names| &names[index]);
            let made = of.declaration(name);
            let as_written =
                in_text.map(|declarations| &declarations[index]).filter(|written| written.same_type(&made));
            as_written.cloned().unwrap_or(made)
        };
        Some(types.iter().enumerate().map(declaration).collect())
    }

    fn in_text(&self, symbol: &str) -> Option<&Vec<Declaration>> {
        // A mangled name contains the name in the source once.
        let mut fitting = self.kernels.iter().filter(|(name, _)| is_of(symbol, name));
        let found = fitting.next()?.1.as_ref()?;
        fitting.next().is_none().then_some(found)
    }
}

impl Type {
    /// Returns the declaration of a parameter with this type.
    fn declaration(&self, name: &str) -> Declaration {
        let text = self.text();
        let tight = name.is_empty() || text.ends_with('*');
        let text = format!("{text}{}{name}", if tight { "" } else { " " });
        match self {
            Self::Number(number, _) => Declaration::value(text, *number, number.size()),
            Self::Byte => Declaration::value(text, Number::U8, 1),
            Self::Pointer(to) => {
                let (element, writes) = if let Self::Const(of) = &**to { (of, false) } else { (to, true) };
                element.element().map_or_else(
                    || Declaration::unknown(text.clone()),
                    |element| Declaration::pointer(text.clone(), element, writes),
                )
            }
            Self::Const(of) => of.declaration(name),
            Self::Named(..) | Self::Void | Self::Other => Declaration::unknown(text),
        }
    }

    /// Returns the number type that memory of this type consists of, if it is one; `None` if it is unknown.
    fn element(&self) -> Option<Option<Number>> {
        Some(match self {
            Self::Number(number, _) => Some(*number),
            Self::Const(of) => return of.element(),
            Self::Named(name, arguments) => match (name.as_str(), arguments) {
                (mangled::VECTOR, Arguments::Number(number)) => Some(*number),
                ("__half" | "__half2", _) => Some(Number::F16),
                ("__hip_bfloat16" | "hip_bfloat16", _) => Some(Number::Bf16),
                _ => None,
            },
            Self::Void | Self::Byte | Self::Pointer(_) => None,
            Self::Other => return None,
        })
    }

    /// Returns the type in C++.
    fn text(&self) -> String {
        match self {
            Self::Void => "void".to_owned(),
            Self::Byte => "char".to_owned(),
            Self::Number(_, name) => (*name).to_owned(),
            Self::Pointer(to) => {
                let to = to.text();
                format!("{to}{}*", if to.ends_with('*') { "" } else { " " })
            }
            Self::Const(of) => format!("const {}", of.text()),
            Self::Named(name, Arguments::None) => name.clone(),
            Self::Named(name, _) => format!("{name}<...>"),
            Self::Other => "...".to_owned(),
        }
    }
}

/// Returns whether the words before a kernel's parameters contain a macro; it is allowed in `__launch_bounds__(BLOCK)`.
fn has_macro(tokens: &[String], names: &Names) -> bool {
    let mut depth = 0_i32;
    tokens.iter().any(|token| {
        depth += i32::from(token == "(") - i32::from(token == ")");
        depth == 0 && names.is_macro(token)
    })
}

/// Returns whether declarations are equal except for names.
fn same_types(one: &[Declaration], other: &[Declaration]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.same_type(other))
}

/// Parses the parameters between a kernel's parentheses; `None` if a macro could change them.
fn parameters(tokens: &[String], names: &Names) -> Option<Vec<Declaration>> {
    let mut depth = 0_i32;
    for token in tokens {
        depth += i32::from(token == "<") - i32::from(token == ">");
        if depth < 0 {
            return None;
        }
    }
    split(tokens).into_iter().map(|tokens| declaration(tokens, names)).collect()
}

fn declaration(tokens: &[String], names: &Names) -> Option<Declaration> {
    let end = tokens.iter().position(|token| token == "=").unwrap_or(tokens.len());
    let text = parameter(&tokens[..end]).text;
    let mut expanded = Vec::new();
    expand(&tokens[..end], names, &mut expanded, 0)?;
    Some(known(&text, &expanded, names).unwrap_or_else(|| Declaration::unknown(text)))
}

/// Returns the tokens with macros expanded; `None` if an expansion is ambiguous.
fn expand(tokens: &[String], names: &Names, expanded: &mut Vec<String>, depth: usize) -> Option<()> {
    for token in tokens {
        if !names.is_macro(token) {
            expanded.push(token.clone());
            continue;
        }
        let meanings = names.of(token);
        let are_qualifiers = |body: &[String]| body.iter().all(|word| QUALIFIERS.contains(&word.as_str()));
        if meanings.iter().all(|meaning| matches!(meaning, Meaning::Macro(Some(body)) if are_qualifiers(body))) {
            continue;
        }
        let [Meaning::Macro(Some(body))] = meanings else { return None };
        let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit());
        let is_plain = body.iter().all(|word| is_word(word) || ["*", "::"].contains(&word.as_str()) || is_number(word));
        if depth == DEPTH || !is_plain || builtin(token).is_some() {
            return None;
        }
        expand(body, names, expanded, depth + 1)?;
    }
    Some(())
}

/// Parses an expanded parameter; `None` unless all of it is understood.
fn known(text: &str, tokens: &[String], names: &Names) -> Option<Declaration> {
    let is_known = |token: &String| {
        is_word(token) || ["*", "[", "]", "::"].contains(&token.as_str()) || token.chars().all(|c| c.is_ascii_digit())
    };
    if !tokens.iter().all(is_known) {
        return None;
    }
    let star = tokens.iter().position(|token| ["*", "["].contains(&token.as_str())).unwrap_or(tokens.len());
    // Only the name follows the star; anything else there is an unknown qualifier.
    let is_name = |token: &&String| is_word(token) && *token != "const" && !QUALIFIERS.contains(&token.as_str());
    if tokens[star..].iter().filter(is_name).count() > 1 {
        return None;
    }
    let Parameter { base, pointer, .. } = parameter(tokens);
    let base: Vec<String> = base.replace("::", " :: ").split_whitespace().map(str::to_owned).collect();
    let base = resolve(&base, names, 0)?;
    match (pointer, base) {
        (Pointer::None, Base::Number(number, lanes)) => Some(Declaration::value(text, number, number.size() * lanes)),
        (Pointer::None, Base::Byte) => Some(Declaration::value(text, Number::U8, 1)),
        (Pointer::Const | Pointer::Mut, base) => {
            let element = if let Base::Number(number, _) = base { Some(number) } else { None };
            Some(Declaration::pointer(text, element, pointer == Pointer::Mut))
        }
        (Pointer::None | Pointer::Other, _) => None,
    }
}

/// The kind of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// A number, or a vector of this many numbers.
    Number(Number, usize),
    /// A byte that may be part of anything.
    Byte,
    /// `void`, which can only be pointed to.
    Void,
    Structure,
}

fn resolve(words: &[String], names: &Names, depth: usize) -> Option<Base> {
    let known = builtin(&words.join(" ").replace(" :: ", "::"));
    let meanings: Vec<&Meaning> = words.iter().flat_map(|word| names.of(word)).collect();
    match (meanings.as_slice(), words, known) {
        ([], _, known) => known,
        ([Meaning::Structure], [_], None) => Some(Base::Structure),
        ([Meaning::Alias(Some(of)) | Meaning::Macro(Some(of))], [_], _) if depth < DEPTH && of != words => {
            let resolved = resolve(of, names, depth + 1);
            // `typedef unsigned int uint;`
            resolved.filter(|resolved| known.is_none_or(|known| known == *resolved))
        }
        _ => None,
    }
}

/// Returns a type of C++, of HIP's headers or of the standard library.
fn builtin(base: &str) -> Option<Base> {
    if base == "void" {
        return Some(Base::Void);
    }
    if ["char", "unsigned char", "char unsigned", "uint8_t", "std::uint8_t", "uchar", "std::byte"].contains(&base) {
        return Some(Base::Byte);
    }
    // 4 bytes on Windows.
    if cfg!(windows) && base.split(' ').filter(|word| *word == "long").count() == 1 {
        return None;
    }
    number(base).map(|number| Base::Number(number, 1)).or_else(|| vector(base))
}

fn number(base: &str) -> Option<Number> {
    Some(match scalar(base).map(|(rust, _)| rust) {
        Some("f32") => Number::F32,
        Some("f64") => Number::F64,
        Some("bool") => Number::Bool,
        Some("i8") => Number::I8,
        Some("u8") => Number::U8,
        Some("i16") => Number::I16,
        Some("u16") => Number::U16,
        Some("i32") => Number::I32,
        Some("u32") => Number::U32,
        Some("i64") => Number::I64,
        Some("u64") => Number::U64,
        _ => match base {
            "_Float16" | "__half" | "half" | "__fp16" => Number::F16,
            "__bf16" | "__hip_bfloat16" | "hip_bfloat16" => Number::Bf16,
            _ => return None,
        },
    })
}

/// Parses `float4` and the like.
fn vector(base: &str) -> Option<Base> {
    let lanes = match base {
        "hipFloatComplex" | "hipComplex" => return Some(Base::Number(Number::F32, 2)),
        "hipDoubleComplex" => return Some(Base::Number(Number::F64, 2)),
        "__half2" | "half2" => return Some(Base::Number(Number::F16, 2)),
        _ => base.chars().next_back()?.to_digit(5).filter(|lanes| *lanes > 0)?,
    };
    let number = match &base[..base.len() - 1] {
        "float" => Number::F32,
        "double" => Number::F64,
        "char" => Number::I8,
        "uchar" => Number::U8,
        "short" => Number::I16,
        "ushort" => Number::U16,
        "int" => Number::I32,
        "uint" => Number::U32,
        "longlong" => Number::I64,
        "ulonglong" => Number::U64,
        _ => return None,
    };
    Some(Base::Number(number, lanes as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::program::Program;

    fn read(program: &Program) -> HashMap<String, Option<Vec<Declaration>>> {
        Declarations::read(program.given()).unwrap_or_default().kernels
    }

    fn program(source: &str) -> Program {
        Program::new("a.hip", source)
    }

    /// Returns the parameters of the kernel `k` as Rust types, or `?`.
    fn k(program: &Program) -> String {
        match read(program).get("k") {
            Some(Some(parameters)) => parameters.iter().map(show).collect::<Vec<_>>().join(", "),
            Some(None) => "unclear".to_owned(),
            None => "none".to_owned(),
        }
    }

    fn show(declaration: &Declaration) -> String {
        let candidates = [
            (Declaration::unknown("x"), "?"),
            (Declaration::pointer("x", None, true), "mut bytes"),
            (Declaration::pointer("x", None, false), "bytes"),
        ];
        if let Some((_, text)) = candidates.iter().find(|(candidate, _)| candidate.same_type(declaration)) {
            return (*text).to_owned();
        }
        use Number::*;
        for number in [Bool, I8, U8, I16, U16, I32, U32, I64, U64, F16, Bf16, F32, F64] {
            for writes in [true, false] {
                if Declaration::pointer("x", Some(number), writes).same_type(declaration) {
                    return format!("{}{number:?}*", if writes { "mut " } else { "" });
                }
            }
            for lanes in 1..5 {
                if Declaration::value("x", number, lanes * number.size()).same_type(declaration) {
                    return if lanes == 1 { format!("{number:?}") } else { format!("{number:?}x{lanes}") };
                }
            }
        }
        unreachable!("{declaration:?}")
    }

    fn of(parameters: &str) -> String {
        k(&program(&format!("struct P {{ int a; }};\nextern \"C\" __global__ void k({parameters}) {{}}")))
    }

    #[test]
    fn types_of_the_language_are_known() {
        for (c, rust) in [
            ("float *x, const float *y, unsigned n", "mut F32*, F32*, U32"),
            ("const float *__restrict__ x, float const *y, float *const z", "F32*, F32*, mut F32*"),
            ("float x[], const int y[16], volatile int *z", "mut F32*, I32*, mut I32*"),
            ("size_t n, int64_t m, uint32_t l, std::uint16_t k, bool b", "U64, I64, U32, U16, Bool"),
            (
                "void *x, const char *y, unsigned char *z, uint8_t *b, char c",
                "mut bytes, bytes, mut bytes, mut bytes, U8",
            ),
            ("__half *h, half2 *g, _Float16 v, __hip_bfloat16 *b", "mut F16*, mut F16*, F16, mut Bf16*"),
            (
                "float4 *v, const uint2 *w, float4 x, hipFloatComplex *z, int3 y",
                "mut F32*, U32*, F32x4, mut F32*, I32x3",
            ),
            ("P *p, const struct P *q, P r, unsigned long long int n = 3", "mut bytes, bytes, ?, U64"),
            ("float *, const double *, long long", "mut F32*, F64*, I64"),
            ("", ""),
            ("void", ""),
        ] {
            assert_eq!(of(c), rust, "{c}");
        }
    }

    #[test]
    fn what_the_text_does_not_show_is_unknown() {
        for c in [
            "float **x",
            "float &x",
            "real *x",
            "T x",
            "my::real *x",
            "Pair<int, 2> x",
            "float *x[4]",
            "float (*x)[4]",
            "[[maybe_unused]] float *x",
            "__attribute__((noalias)) float *x",
            "hipTextureObject_t x",
            "long double *x",
            "decltype(1) *x",
            "float * MYSTERY x",
            "float5 *x",
            "__int128 *x",
        ] {
            assert_eq!(of(&format!("{c}, int n")), "?, I32", "{c}");
        }
        assert_eq!(of("Pair<(a>b), 3> x"), "unclear");
    }

    #[test]
    fn names_of_the_source_are_followed() {
        let k = |source: &str| k(&program(source));
        let kernel = "extern \"C\" __global__ void k(const real *x, real y)";
        assert_eq!(k(&format!("typedef float real; {kernel} {{}}")), "F32*, F32");
        assert_eq!(k(&format!("using base = double; using real = base; {kernel} {{}}")), "F64*, F64");
        assert_eq!(k(&format!("#define real float\n{kernel} {{}}")), "F32*, F32");
        assert_eq!(k(&format!("#define REAL unsigned int\ntypedef REAL real; {kernel} {{}}")), "U32*, U32");
        assert_eq!(k("typedef unsigned int uint; __global__ void k(uint *x) {}"), "mut U32*");
        assert_eq!(
            k("#define R __restrict__\n#define IN const float *R\n__global__ void k(IN x, float *R y) {}"),
            "F32*, mut F32*"
        );
        // One of two declarations, or a name with another meaning elsewhere.
        for source in [
            format!("#ifdef A\ntypedef float real;\n#else\ntypedef double real;\n#endif\n{kernel} {{}}"),
            format!("#ifdef A\ntypedef float real;\n#endif\n{kernel} {{}}"),
            format!("typedef float real; struct A {{ typedef double real; }}; {kernel} {{}}"),
            format!("struct A {{ typedef double real; }}; {kernel} {{}}"),
            format!("namespace a {{ typedef float real; }} namespace b {{ typedef double real; }} {kernel} {{}}"),
            format!("typedef const float real; {kernel} {{}}"),
            format!("typedef float *real; {kernel} {{}}"),
            format!("typedef real real; {kernel} {{}}"),
        ] {
            assert_eq!(k(&source), "?, ?", "{source}");
        }
        for source in [
            "typedef double half; __global__ void k(half *x) {}",
            "struct float4 { double x; }; __global__ void k(float4 *x) {}",
            "using uint = float; __global__ void k(uint *x) {}",
        ] {
            assert_eq!(k(source), "?", "{source}");
        }
        for source in [
            "#define float double\n__global__ void k(float *x) {}",
            "#define T(x) x\n__global__ void k(T(float) *x) {}",
            "#define ARGS float *x, int n\n__global__ void k(ARGS) {}",
            "#ifndef REAL\n#define REAL float\n#endif\n__global__ void k(REAL *x) {}",
            "#define A float\n#define A double\n__global__ void k(A *x) {}",
            "#define A B\n#define B A\n__global__ void k(A *x) {}",
            "#define k other\n__global__ void k(float *x) {}",
            "#define OF(x) x(float *y)\n__global__ void k(double *x);\n__global__ void OF(k) {}\n#define double float",
        ] {
            assert_eq!(k(source), "unclear", "{source}");
        }
    }

    #[test]
    fn kernels_with_several_declarations_are_unclear() {
        let k = |source: &str| k(&program(source));
        assert_eq!(k("__global__ void k(float *); __global__ void k(float *x) {}"), "mut F32*");
        assert_eq!(k("// \\\n__global__ void k(double *x) {}\n__global__ void k(float *x) {}"), "mut F32*");
        assert_eq!(k("int f() { return 1'000; } __global__ void k(float *x) { if (1'0) { } }"), "mut F32*");
        assert_eq!(k("#ifndef A_H\n#define A_H\n__global__ void k(float *x) {}\n#endif\n"), "mut F32*");
        for source in [
            "__global__ void k(float *x) {} __global__ void k(double *x) {}",
            "#if A\n__global__ void k(float *x) {}\n#else\n__global__ void k(double *x) {}\n#endif",
            "#if 0\n__global__ void k(double *x) {}\n#endif\n",
            "__global__ void k(float *x); namespace a { __global__ void k(const float *x) {} }",
        ] {
            assert_eq!(k(source), "unclear", "{source}");
        }
        for source in [
            "template<typename T> __global__ void k(T *x) {}",
            "R\"(__global__ void k(int *x))\"",
            "#define D __global__\nD void k(int *x);",
        ] {
            assert_eq!(k(source), "none", "{source}");
        }
    }

    #[test]
    fn mangled_names_have_the_types_of_templates_and_overloads() {
        let source = "template<typename T> __global__ void fill(T *out, const T *in, T value, HIP_vector_type<T, 2> *pairs) {}\n\
                      __global__ void over(float *x, size_t n) {} __global__ void over(double *y, size_t n) {}\n\
                      __global__ void plain(float *x, uint n) {} __global__ void lie(double *x) {}";
        let declarations = Declarations::read(program(source).given()).unwrap();
        let shown = |symbol: &str| {
            let all = declarations.of_symbol(symbol)?;
            Some(all.iter().map(|one| format!("{} {}", one.text(), show(one))).collect::<Vec<_>>().join(", "))
        };
        for (symbol, types) in [
            (
                "_Z4fillIfEvPT_PKS0_S0_P15HIP_vector_typeIS0_Lj2EE",
                "float *out mut F32*, const float *in F32*, float value F32, HIP_vector_type<...> *pairs mut F32*",
            ),
            ("_Z4fillIKfEvPT_", "const float * F32*"),
            ("_Z4overPfm", "float * mut F32*, unsigned long U64"),
            ("_Z5plainPfj", "float *x mut F32*, uint n U32"),
            ("_Z3liePKf", "const float *x F32*"),
            ("_Z5otherP8ParticlePKviRf", "Particle * mut bytes, const void * bytes, int I32, ... ?"),
        ] {
            assert_eq!(shown(symbol).as_deref(), Some(types), "{symbol}");
        }
        assert_eq!(shown("plain").as_deref(), Some("float *x mut F32*, uint n U32"));
        assert_eq!((shown("fill"), shown("over"), shown("_Z5plainPFvvE")), (None, None, shown("plain")));
    }

    #[test]
    fn headers_and_options_are_read() {
        let kernel = "#include \"real.h\"\n__global__ void k(real *x, COUNT n) {}";
        let with = |header: &str, option: &str| {
            k(&program(kernel).header("real.h", header).options(Options::new().raw(option)))
        };
        assert_eq!(with("#pragma once\ntypedef float real;", "-DCOUNT=int"), "mut F32*, I32");
        assert_eq!(with("typedef float real;\n#define COUNT long", "-DCOUNT=int"), "unclear");
        assert_eq!(with("typedef float real;", "-include"), "none");
        assert_eq!(with("typedef float real;", "-Dreal=double"), "unclear");
        assert_eq!(with("#include HEADER\n", "-DCOUNT=int"), "none");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("real.h"), "using real = double;").unwrap();
        let options = Options::new().include_dir(folder.path().to_str().unwrap()).define("COUNT", "unsigned");
        assert_eq!(k(&program(kernel).options(options)), "mut F64*, U32");
    }

    #[test]
    fn any_source_is_read() {
        let mut random = crate::damage::Random(8);
        let source = "typedef float real;\n#define R __restrict__\n#if 1\nstruct P { int a; };\n#endif\nextern \"C\" __global__ void \
                      __launch_bounds__(64) k(const real *R x, float4 *y, P p[3], int n = 1'000) { /* c */ } // d\n";
        for _ in 0..3000 {
            let _ = read(&program(&random.text(source)));
        }
    }
}
