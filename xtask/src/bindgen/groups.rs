//! Comments that bindgen does not assign to their functions.
//!
//! Between Doxygen's `@{` and `@}` are the variants of a function for `float`, `double` and so on: bindgen assigns the
//! text to the first only. If an `#if` is between a text and its function, the function has none.

use std::collections::BTreeMap;

use super::facts::words_of;
use super::surface::{Kind, Surface};

/// Gives functions the text before an `#if`, and refers the functions without text to the one that has it.
pub(crate) fn give_text(surface: &mut Surface, header: &str) {
    let separated = separated(header, |name| matches!(surface.get(name), Some(Kind::Function(_))));
    for (name, text) in separated {
        if let Some(kind) = surface.get_mut(&name).filter(|kind| kind.docs().is_none()) {
            kind.say(&text);
        }
    }
    let is_function = |name: &str| matches!(surface.get(name), Some(Kind::Function(_)));
    let mut pointers: BTreeMap<String, String> = BTreeMap::new();
    let mut moves: Vec<(String, String, String)> = Vec::new();
    for group in groups(header, is_function) {
        let Some((first, others)) = group.split_first() else { continue };
        // Half precision often comes first, but most people look for single precision.
        let searched = others.iter().find(|other| {
            let own_text = surface.get(*other).is_some_and(|kind| kind.docs().is_some());
            !own_text
                && difference(first, other) == ", for single precision"
                && difference(other, first).contains("half")
        });
        let searched = searched.unwrap_or(first);
        if let (Some(text), true) = (surface.get(first).and_then(Kind::docs), searched != first) {
            moves.push((first.clone(), searched.clone(), text));
        }
        for other in group.iter().filter(|other| *other != searched) {
            pointers.insert(other.clone(), format!("As {searched}(){}.", difference(searched, other)));
        }
    }
    for (name, kind) in surface.iter() {
        if matches!(kind, Kind::Function(_)) && kind.docs().is_none() && !pointers.contains_key(name) {
            pointers.extend(after_its_name(name, is_function).map(|text| (name.clone(), text)));
        }
    }
    for (from, to, text) in moves {
        surface.get_mut(&from).into_iter().for_each(Kind::unsay);
        surface.get_mut(&to).into_iter().for_each(|kind| kind.say(&text));
    }
    for (name, text) in pointers {
        if let Some(kind) = surface.get_mut(&name).filter(|kind| kind.docs().is_none()) {
            kind.say(&text);
        }
    }
}

/// Returns a text that follows from the name of a function alone.
fn after_its_name(name: &str, is_function: impl Fn(&str) -> bool) -> Option<String> {
    let known = |other: Option<&str>| other.filter(|other| is_function(other)).map(str::to_owned);
    if let Some(other) = known(name.strip_suffix("_spt")) {
        return Some(format!("As {other}(), with the default stream of the calling thread for stream 0."));
    }
    if let Some(other) = known(name.strip_prefix('p').filter(|other| other.starts_with("nccl"))) {
        return Some(format!("As {other}(), under the name that a profiler which takes its place can call."));
    }
    let other = known(name.strip_suffix("_bufferSize"))?;
    Some(format!("Size of the work space that {other}() needs."))
}

/// Returns the first function after each comment if a preprocessor directive separates the two.
fn separated(header: &str, is_function: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let parts = parts(header);
    for pair in parts.windows(2) {
        let [Part::Comment(comment), Part::Code(code)] = pair else { continue };
        let declaration = code.split(';').next().unwrap_or(code);
        let words: Vec<&str> = words_of(declaration).collect();
        let name = words.windows(2).find(|pair| pair[1] == "(" && is_function(pair[0])).map(|pair| pair[0]);
        let directive = code.trim_start().starts_with("#if");
        if let (true, Some(name), false) = (directive, name, is_chapter(comment)) {
            found.entry(name.to_owned()).or_insert_with(|| without_signs(comment));
        }
    }
    found
}

/// Returns the text of a comment in bindgen's form.
fn without_signs(comment: &str) -> String {
    let text = comment.trim_end_matches("*/");
    let lines = text.lines().map(|line| line.trim().trim_start_matches(['/', '*', '!']));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_chapter(comment: &str) -> bool {
    ["defgroup", "addtogroup", "weakgroup", "name "]
        .iter()
        .any(|word| comment.contains(&format!("@{word}")) || comment.contains(&format!("\\{word}")))
}

/// Returns the functions of each group in the order of the header; one with a comment of its own starts a new group.
fn groups(header: &str, is_function: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    let mut open = false;
    for part in parts(header) {
        match part {
            Part::Comment(text) => {
                let bare = !text.chars().any(char::is_alphabetic);
                if text.contains("@{") || text.contains("\\{") {
                    // A bare one belongs to the comment before it.
                    open = !is_chapter(text);
                    groups.push(Vec::new());
                } else if text.contains("@}") || text.contains("\\}") {
                    open = false;
                } else if open && !bare {
                    groups.push(Vec::new());
                }
            }
            Part::Code(text) => {
                let words: Vec<&str> = words_of(text).collect();
                let declared =
                    words.windows(2).filter(|pair| pair[1] == "(" && is_function(pair[0])).map(|pair| pair[0]);
                for name in declared.filter(|_| open) {
                    let known = groups.iter().flatten().any(|other| other == name);
                    if let (Some(group), false) = (groups.last_mut(), known) {
                        group.push(name.to_owned());
                    }
                }
            }
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

enum Part<'a> {
    /// A Doxygen comment.
    Comment(&'a str),
    Code(&'a str),
}

/// Returns the header's code and its Doxygen comments, without other comments.
fn parts(header: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), header);
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        parts.push(Part::Code(&rest[..at]));
        let (end, length) = if rest[at..].starts_with("/*") { ("*/", 2) } else { ("\n", 0) };
        let stop = rest[at + 2..].find(end).map_or(rest.len(), |found| at + 2 + found + length);
        let comment = &rest[at..stop];
        if ["/**", "/*!", "///", "//!"].iter().any(|start| comment.starts_with(start)) {
            parts.push(Part::Comment(comment));
        }
        rest = &rest[stop..];
    }
    parts.push(Part::Code(rest));
    parts
}

/// Returns the difference between two functions, of BLAS and the like, according to the letter in their names.
fn difference(first: &str, other: &str) -> String {
    let (base, wide) = other.strip_suffix("_64").map_or((other, false), |base| (base, true));
    let differing: Vec<(char, char)> = first.chars().zip(base.chars()).filter(|(a, b)| a != b).collect();
    let precision = match differing[..] {
        [(from, to)] if first.len() == base.len() && is_letter(from) => precision(to),
        _ => None,
    };
    let precision = precision.map(|text| format!(", for {text}")).unwrap_or_default();
    format!("{precision}{}", if wide { ", with 64-bit integers" } else { "" })
}

fn is_letter(c: char) -> bool {
    precision(c).is_some()
}

fn precision(letter: char) -> Option<&'static str> {
    match letter.to_ascii_uppercase() {
        'H' => Some("half precision"),
        'S' => Some("single precision"),
        'D' => Some("double precision"),
        'C' => Some("complex numbers of single precision"),
        'Z' => Some("complex numbers of double precision"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(header: &str, names: &[(&str, Option<&str>)], name: &str) -> Option<String> {
        let mut surface = Surface::default();
        for (name, docs) in names {
            let ident = quote::format_ident!("{name}");
            let docs = docs.map(|text| quote::quote!(#[doc = #text]));
            surface.insert((*name).to_owned(), Kind::Function(syn::parse_quote!(#docs pub fn #ident();)));
        }
        give_text(&mut surface, header);
        surface[name].docs()
    }

    const BLAS: &str = "/*! @{\n \\brief scales */\nEXPORT int\n  Sscal(int n);\nint Dscal(int n); // no doc\n\
                        int Csscal(int n);\nint Dscal_64(int n);\n//! @}\nint Zscal(int n);\n";
    const NAMES: [(&str, Option<&str>); 5] =
        [("Sscal", Some("scales")), ("Dscal", None), ("Csscal", None), ("Dscal_64", None), ("Zscal", None)];

    #[test]
    fn functions_of_a_group_point_to_the_first() {
        let text = |name| text_of(BLAS, &NAMES, name);
        assert_eq!(text("Sscal").unwrap(), "scales");
        assert_eq!(text("Dscal").unwrap(), "As Sscal(), for double precision.");
        assert_eq!(text("Csscal").unwrap(), "As Sscal().");
        assert_eq!(text("Dscal_64").unwrap(), "As Sscal(), for double precision, with 64-bit integers.");
        assert_eq!(text("Zscal"), None);
    }

    #[test]
    fn the_text_is_at_the_form_that_people_look_for() {
        let header = "/*! @{ */\nint Hgemm(int n);\nint Sgemm(int n);\nint Dgemm(int n);\n//! @}\n";
        let names = [("Hgemm", Some("multiplies")), ("Sgemm", None), ("Dgemm", None)];
        let text = |name| text_of(header, &names, name).unwrap();
        assert_eq!(text("Sgemm"), "multiplies");
        assert_eq!(text("Hgemm"), "As Sgemm(), for half precision.");
        assert_eq!(text("Dgemm"), "As Sgemm(), for double precision.");
    }

    #[test]
    fn a_bare_sign_opens_a_group_too() {
        let header =
            "/*! \\brief b */\n/**@{*/\nint Sf(int n);\nint Cf(int n);\n/*! own */ int Df(); int Zf();\n/**@}*/\n";
        let names = [("Sf", Some("b")), ("Cf", None), ("Df", Some("own")), ("Zf", None)];
        assert_eq!(text_of(header, &names, "Cf").unwrap(), "As Sf(), for complex numbers of single precision.");
        assert_eq!(text_of(header, &names, "Zf").unwrap(), "As Df(), for complex numbers of double precision.");
    }

    #[test]
    fn a_text_before_a_directive_is_its_functions() {
        let header = "/*! \\brief Multiplies\n *  a(b); */\n#if(!defined(X) || X > 1)\nEXPORT int f(int n);\n#elif 1\nint f();\n#endif\n\
                      /*! of g */\nint g();\n#if 1\nint h();\n#endif\n";
        let names = [("f", None), ("g", None), ("h", None)];
        assert_eq!(text_of(header, &names, "f").unwrap(), " \\brief Multiplies\n  a(b);");
        assert_eq!(text_of(header, &names, "g"), None);
        assert_eq!(text_of(header, &names, "h"), None);
    }

    #[test]
    fn chapters_are_no_groups() {
        let header = "/** @defgroup All of it\n @{ */\nint Sf(int n);\nint Cf(int n);\n/** @} */";
        assert_eq!(text_of(header, &[("Sf", None), ("Cf", None)], "Cf"), None);
    }

    #[test]
    fn some_names_say_enough() {
        let names = [
            ("ncclSend", Some("x")),
            ("pncclSend", None),
            ("f", None),
            ("f_bufferSize", None),
            ("pf", None),
            ("f_spt", None),
        ];
        let text = |name| text_of("", &names, name);
        assert!(text("pncclSend").unwrap().starts_with("As ncclSend(), "));
        assert!(text("f_spt").unwrap().starts_with("As f(), "));
        assert_eq!(text("f_bufferSize").unwrap(), "Size of the work space that f() needs.");
        assert_eq!(text("pf"), None);
    }
}
