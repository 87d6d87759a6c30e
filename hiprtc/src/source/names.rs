//! The meanings of the names in a source: its macros, type aliases and structures. It is read without a preprocessor,
//! so a name may have several meanings, and it is unknown which one applies.

use std::collections::HashMap;

use super::{QUALIFIERS, is_type_word, is_word, tokens_of_line, without_comments};

/// The words and punctuation of a text, without its directives.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) tokens: Vec<String>,
    /// Whether the token at the same index is in an `#if`.
    pub(super) conditional: Vec<bool>,
}

/// One meaning of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A macro and its expansion; `None` if it has parameters, or is not always defined.
    Macro(Option<Vec<String>>),
    /// An alias of a type; `None` if it is not a plain number type.
    Alias(Option<Vec<String>>),
    /// A structure, class, union or enumeration.
    Structure,
}

/// The meanings of all names that a source defines.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, Vec<Meaning>>);

impl Names {
    pub(super) fn of(&self, name: &str) -> &[Meaning] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_macro(&self, name: &str) -> bool {
        self.of(name).iter().any(|meaning| matches!(meaning, Meaning::Macro(_)))
    }

    fn add(&mut self, name: &str, meaning: Meaning) {
        let meanings = self.0.entry(name.to_owned()).or_default();
        if !meanings.contains(&meaning) {
            meanings.push(meaning);
        }
    }

    /// Adds the macros that options define; `false` if the options cannot be followed.
    pub(super) fn add_options(&mut self, options: &[String]) -> bool {
        for option in options {
            let Some(definition) = option.strip_prefix("-D") else { continue };
            let (name, body) = definition.split_once('=').unwrap_or((definition, "1"));
            if name.is_empty() {
                return false;
            }
            let mut tokens = Vec::new();
            tokens_of_line(body, &mut tokens);
            let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
            let name = name.split('(').next().unwrap_or_default().trim();
            self.add(name, Meaning::Macro(plain.then_some(tokens)));
        }
        true
    }

    /// Adds the definitions of a text, and returns its tokens; `None` if it contains unsupported syntax.
    pub(super) fn add_text(&mut self, source: &str) -> Option<Text> {
        // Raw strings, and other spellings of # and \.
        if ["R\"", "%:", "??"].iter().any(|part| source.contains(part)) {
            return None;
        }
        let spliced = source.replace("\\\r\n", "").replace("\\\n", "");
        let (mut text, mut depth, mut directives) = (Text::default(), 0_usize, 0_usize);
        // The macro of the include guard.
        let mut guard: Option<String> = None;
        let mut outside = 0;
        for line in without_comments(&spliced).lines() {
            let Some(directive) = line.trim_start().strip_prefix('#') else {
                let before = text.tokens.len();
                tokens_of_line(line, &mut text.tokens);
                // It is not a guard: the code after it is compiled without the macro, too.
                if depth < outside && text.tokens.len() > before {
                    return None;
                }
                text.conditional.resize(text.tokens.len(), depth > outside);
                continue;
            };
            directives += 1;
            let mut words = Vec::new();
            tokens_of_line(directive, &mut words);
            let name = words.get(1).map(String::as_str).unwrap_or_default();
            match words.first().map(String::as_str) {
                Some("if" | "ifdef" | "ifndef") => {
                    depth += 1;
                    if directives == 1 && text.tokens.is_empty() && words[0] == "ifndef" {
                        guard = Some(name.to_owned());
                    }
                }
                Some("endif") => depth = depth.saturating_sub(1),
                // A guard has no other branch.
                Some("else" | "elif" | "elifdef" | "elifndef") if depth <= outside => return None,
                Some("define") if directives == 2 && words.len() == 2 && guard.as_deref() == Some(name) => outside = 1,
                Some("define") => {
                    let after = directive
                        .trim_start()
                        .strip_prefix("define")
                        .and_then(|rest| rest.trim_start().strip_prefix(name));
                    let has_parameters = after.is_none_or(|rest| rest.starts_with('('));
                    let body = &words[words.len().min(2)..];
                    let always = depth <= outside || body.iter().all(|word| QUALIFIERS.contains(&word.as_str()));
                    self.add(name, Meaning::Macro((always && !has_parameters).then(|| body.to_vec())));
                }
                _ => {}
            }
        }
        self.add_types(&text);
        Some(text)
    }

    /// Adds the types that a text defines.
    fn add_types(&mut self, text: &Text) {
        let tokens: Vec<&str> = text.tokens.iter().map(String::as_str).collect();
        // Whether each open brace belongs to a namespace or `extern "C"`, whose names are visible to the kernels.
        let mut scopes: Vec<bool> = Vec::new();
        for (at, &token) in tokens.iter().enumerate() {
            let rest = &tokens[at + 1..];
            let visible = !text.conditional[at] && scopes.iter().all(|is_namespace| *is_namespace);
            match token {
                "{" => scopes.push(opens_namespace(&tokens[..at])),
                "}" => drop(scopes.pop()),
                "typedef" => self.add_typedef(rest, visible),
                "using" => {
                    let visible = visible && (at == 0 || tokens[at - 1] != ">");
                    self.add_using(rest, visible);
                }
                "struct" | "class" | "union" | "enum" => {
                    if let Some(name) = structure(rest) {
                        self.add(name, Meaning::Structure);
                    }
                }
                _ => {}
            }
        }
    }

    /// Parses the words after `typedef`.
    fn add_typedef(&mut self, tokens: &[&str], visible: bool) {
        let mut depth = 0_usize;
        let end = tokens.iter().position(|token| {
            match *token {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *token == ";"
        });
        let Some(end) = end else { return };
        let after = tokens[..end].iter().rposition(|token| *token == "}");
        match (after, &tokens[..end]) {
            (Some(brace), words) if words.len() == brace + 2 => {
                let meaning = if visible { Meaning::Structure } else { Meaning::Alias(None) };
                self.add(words[brace + 1], meaning);
            }
            (None, ["struct" | "union" | "enum", _, name]) if visible => self.add(name, Meaning::Structure),
            (None, [words @ .., name]) if is_word(name) && plain(words).is_some() => {
                self.add(name, Meaning::Alias(plain(words).filter(|_| visible)));
            }
            (after, words) => {
                for word in &words[after.unwrap_or(0)..] {
                    if is_word(word) && !is_type_word(word) {
                        self.add(word, Meaning::Alias(None));
                    }
                }
            }
        }
    }

    /// Parses the words after `using`.
    fn add_using(&mut self, tokens: &[&str], visible: bool) {
        let end = tokens.iter().position(|token| *token == ";").unwrap_or(tokens.len());
        match &tokens[..end] {
            ["namespace", ..] => {}
            [name, "=", words @ ..] => self.add(name, Meaning::Alias(plain(words).filter(|_| visible))),
            [.., name] => self.add(name, Meaning::Alias(None)),
            [] => {}
        }
    }
}

/// Returns the words of a type's name, if there is nothing else.
fn plain(tokens: &[&str]) -> Option<Vec<String>> {
    let are_words = !tokens.is_empty() && tokens.iter().all(|token| is_word(token) || *token == "::");
    let other = ["const", "struct", "class", "union", "enum", "decltype", "auto"];
    (are_words && !tokens.iter().any(|token| other.contains(token)))
        .then(|| tokens.iter().map(|token| (*token).to_owned()).collect())
}

/// Returns whether a brace after these tokens opens a namespace or `extern "C"`.
fn opens_namespace(before: &[&str]) -> bool {
    match before {
        [.., "extern", language] => language.starts_with('"'),
        [.., "namespace"] => true,
        _ => {
            let name = before.iter().rposition(|token| !(is_word(token) || *token == "::") || *token == "namespace");
            name.is_some_and(|at| before[at] == "namespace")
        }
    }
}

/// Returns the name of the structure that the tokens after its keyword declare.
fn structure<'a>(tokens: &[&'a str]) -> Option<&'a str> {
    let mut at = 0;
    loop {
        match (tokens.get(at)?, tokens.get(at + 1)?) {
            (word, &"(") if is_word(word) => {
                at += 1 + tokens[at + 1..].iter().position(|token| *token == ")")?;
                // `__attribute__((...))` has two closing parentheses.
                at += tokens[at..].iter().take_while(|token| **token == ")").count();
            }
            (&"struct" | &"class", _) => at += 1,
            (word, &("{" | ":" | ";" | "final")) if is_word(word) => return Some(word),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str) -> Names {
        let mut names = Names::default();
        names.add_text(source).unwrap();
        names
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn alias(text: &str) -> Meaning {
        Meaning::Alias(Some(words(text)))
    }

    fn is_macro(text: &str) -> Meaning {
        Meaning::Macro(Some(words(text)))
    }

    #[test]
    fn types_are_found_where_kernels_see_them() {
        let names = names(
            "typedef float real; using index = unsigned int; namespace a { typedef double wide; using std::size_t; }\n\
             extern \"C\" { typedef short small; } typedef const float fixed; typedef float *pointer, plain;\n\
             struct P { typedef double real2; int x; }; struct __attribute__((aligned(16))) Q; enum class E : int { A };\n\
             typedef struct tag { float x; } R; template<typename T> using vec = T; void f() { typedef double local; }\n\
             typedef float four __attribute__((ext_vector_type(4))); struct alignas(16) S final { };",
        );
        assert_eq!(names.of("real"), [alias("float")]);
        assert_eq!(names.of("index"), [alias("unsigned int")]);
        assert_eq!((names.of("wide"), names.of("small")), (&[alias("double")][..], &[alias("short")][..]));
        for unclear in ["size_t", "fixed", "pointer", "plain", "real2", "local", "vec", "four"] {
            assert_eq!(names.of(unclear), [Meaning::Alias(None)], "{unclear}");
        }
        for structure in ["P", "Q", "E", "R", "tag", "S"] {
            assert_eq!(names.of(structure), [Meaning::Structure], "{structure}");
        }
        assert_eq!(names.of("float"), []);
    }

    #[test]
    fn macros_may_be_defined_or_not() {
        let names = names(
            "#ifndef GUARD\n#define GUARD\n#define REAL float\n# define SQUARE(x) ((x) * (x))\n#define EMPTY\n\
             #ifdef A\n#define SOMETIMES float\n#define RESTRICT __restrict__\n#else\n#define RESTRICT\ntypedef float maybe;\n#endif\n\
             #define LONG unsigned \\\n long\n// \\\n#define COMMENT 1\n/*\n#define COMMENT 2\n*/\ntypedef int always;\n#endif",
        );
        assert_eq!(names.of("REAL"), [is_macro("float")]);
        assert_eq!(names.of("EMPTY"), [is_macro("")]);
        assert_eq!(names.of("LONG"), [is_macro("unsigned long")]);
        assert_eq!(names.of("RESTRICT"), [is_macro("__restrict__"), is_macro("")]);
        for unclear in ["SQUARE", "SOMETIMES"] {
            assert_eq!(names.of(unclear), [Meaning::Macro(None)], "{unclear}");
        }
        assert_eq!(names.of("maybe"), [Meaning::Alias(None)]);
        assert_eq!(names.of("always"), [alias("int")]);
        assert_eq!(names.of("COMMENT"), []);
        let mut options = Names::default();
        let given = ["-DREAL=double", "-DONE", "-O3", "-DF(x)=x"].map(str::to_owned);
        assert!(options.add_options(&given));
        assert_eq!((options.of("REAL"), options.of("ONE")), (&[is_macro("double")][..], &[is_macro("1")][..]));
        assert_eq!(options.of("F"), [Meaning::Macro(None)]);
        assert!(!options.add_options(&["-D".to_owned()]));
    }

    #[test]
    fn other_spellings_are_not_read() {
        for source in [
            "auto s = R\"(x)\";",
            "%:define float double",
            "??=define x",
            "#ifndef A\n#define A\n#else\n#endif",
            "#ifndef A\n#define A\n#endif\nint x;",
        ] {
            assert!(Names::default().add_text(source).is_none(), "{source}");
        }
        let mut random = crate::damage::Random(7);
        let source = "namespace a { typedef struct { int x; } P; using T = a::b; #if 1\n#define X(y) y\n#endif\n } struct alignas(8) Q {};";
        for _ in 0..3000 {
            let _ = Names::default().add_text(&random.text(source));
        }
    }
}
