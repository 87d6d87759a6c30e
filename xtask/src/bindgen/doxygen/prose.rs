//! Text within a paragraph: identifiers become code, Doxygen's inline commands are resolved, and the rest is escaped
//! for Markdown and HTML.

use std::fmt::Write;

/// Converts text to Markdown, line by line: the argument of a command may be on the next line.
#[derive(Default)]
pub(super) struct Prose {
    /// The kind of the next word, set by the command before it.
    next: Next,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Next {
    #[default]
    Prose,
    Code,
    Plain,
}

/// Returns the command that a word is or ends with, and the punctuation before it.
fn command(word: &str) -> (&str, Option<Next>) {
    const COMMANDS: [(&str, Next); 11] = [
        ("p", Next::Code),
        ("c", Next::Code),
        ("a", Next::Code),
        ("ref", Next::Prose),
        ("copydoc", Next::Prose),
        ("link", Next::Prose),
        ("endlink", Next::Prose),
        ("n", Next::Prose),
        ("b", Next::Plain),
        ("e", Next::Plain),
        ("em", Next::Plain),
    ];
    let Some(at) = word.rfind(['@', '\\']) else { return (word, None) };
    let found = COMMANDS.iter().find(|(name, _)| *name == &word[at + 1..]).map(|(_, next)| *next);
    if found.is_some() && !word[..at].ends_with('\\') { (&word[..at], found) } else { (word, None) }
}

impl Prose {
    /// Converts a piece of text.
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut out = String::new();
        for (index, part) in text.split('`').enumerate() {
            let closed = text.matches('`').count() % 2 == 0;
            if index % 2 == 1 && closed {
                let _ = write!(out, "`{part}`");
                continue;
            }
            if index > 0 && !closed {
                out.push_str("\\`");
            }
            self.words(part, &mut out);
        }
        out.trim().to_owned()
    }

    fn words(&mut self, text: &str, out: &mut String) {
        let text = without_link_texts(text).replace("\\<", "<").replace("\\>", ">").replace("\\\\", "\\");
        let mut gap = text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            let (before, marked) = command(word);
            if gap && !out.is_empty() && !(marked.is_some() && before.is_empty()) {
                out.push(' ');
            }
            if let Some(marked) = marked {
                // The argument follows immediately.
                gap = before.is_empty() || word.ends_with("\\n");
                push_word(out, before);
                self.next = marked;
                continue;
            }
            gap = true;
            let word = word.strip_suffix("\\n").unwrap_or(word);
            match std::mem::take(&mut self.next) {
                Next::Code => push_code(out, word),
                Next::Plain => out.push_str(&plain(word)),
                Next::Prose => push_word(out, word),
            }
        }
        if text.ends_with(char::is_whitespace) && !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    }
}

/// Replaces `\ref name "text"` by the text.
fn without_link_texts(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\ref ").into_iter().chain(rest.find("@ref ")).min() {
        out.push_str(&rest[..at]);
        let after = rest[at..].split_once(' ').map_or("", |(_, after)| after.trim_start());
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        let (name, tail) = after.split_at(end);
        match tail.trim_start().strip_prefix('"').and_then(|tail| tail.split_once('"')) {
            Some((shown, tail)) => {
                out.push_str(shown);
                rest = tail;
            }
            None => {
                out.push_str(name);
                rest = tail;
            }
        }
    }
    out + rest
}

/// Removes HTML that only formats text; text marked as code becomes code.
pub(super) fn strip_tags(text: &str) -> String {
    let mut out = text.to_owned();
    for (tag, instead) in [
        ("<tt>", "`"),
        ("</tt>", "`"),
        ("<code>", "`"),
        ("</code>", "`"),
        ("<b>", ""),
        ("</b>", ""),
        ("<i>", ""),
        ("</i>", ""),
        ("<em>", ""),
        ("</em>", ""),
        ("<strong>", ""),
        ("</strong>", ""),
        ("<sup>", "^"),
        ("</sup>", ""),
        ("<sub>", "_"),
        ("</sub>", ""),
        ("<br>", " "),
        ("<br/>", " "),
        ("<br />", " "),
        ("<p>", ""),
        ("</p>", ""),
        ("</td>", ""),
        ("</th>", ""),
        ("</a>", ""),
    ] {
        out = out.replace(tag, instead);
    }
    while let Some(at) = out.find("<a ").into_iter().chain(out.find("<a\n")).min() {
        let end = out[at..].find('>').map_or(out.len(), |end| at + end + 1);
        out.replace_range(at..end, "");
    }
    out
}

fn is_code(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Adds a word that the header marks as code; punctuation around it is not part of the code.
fn push_code(out: &mut String, word: &str) {
    let start = word.trim_start_matches(['(', '[', '"', '\'', '#', '%']).len();
    let (before, rest) = word.split_at(word.len() - start);
    let mut code = rest.trim_end_matches(['.', ',', ';', ':', '"', '\'', ']']);
    while code.ends_with(')') && code.matches(')').count() > code.matches('(').count() {
        code = code[..code.len() - 1].trim_end_matches(['.', ',', ';', ':']);
    }
    let code = code.trim_start_matches("::");
    if code.is_empty() || code.contains('`') {
        out.push_str(&plain(word));
        return;
    }
    let after = &rest[rest.find(code).unwrap_or(0) + code.len()..];
    let _ = write!(out, "{}`{code}`{}", plain(before.trim_end_matches(['#', '%'])), plain(after));
}

fn push_word(out: &mut String, word: &str) {
    if word == "\\le" {
        out.push('≤');
        return;
    }
    if let Some((name, after)) = word.strip_prefix('*').and_then(|rest| rest.split_once('*')) {
        // An emphasised word: the headers emphasise parameters.
        if !name.is_empty() && name.chars().all(is_code) && !after.contains('*') {
            let _ = write!(out, "`{name}`{}", plain(after));
            return;
        }
    }
    let start = word.find(is_code).unwrap_or(word.len());
    let (before, rest) = word.split_at(start);
    if rest.starts_with("http://") || rest.starts_with("https://") {
        let end = rest.find([')', ',', '>', ']']).unwrap_or(rest.len());
        let url = rest[..end].trim_end_matches('.');
        let before = before.trim_end_matches('<');
        let after = rest[url.len()..].trim_start_matches('>');
        let _ = write!(out, "{}<{url}>{}", plain(before), plain(after));
        return;
    }
    let end = rest.find(|c: char| !is_code(c)).unwrap_or(rest.len());
    let (middle, after) = rest.split_at(end);
    let (call, after) = after.strip_prefix("()").map_or(("", after), |after| ("()", after));
    if !middle.is_empty() && (!call.is_empty() || is_identifier(middle)) {
        let before = before.trim_end_matches(['#', '@', '\\', '%']);
        // Without a class or namespace.
        let before = if out.ends_with(is_code) { before } else { before.strip_suffix("::").unwrap_or(before) };
        let _ = write!(out, "{}`{middle}{call}`", plain(before));
        if after.chars().any(is_code) { push_word(out, after) } else { out.push_str(&plain(after)) }
    } else if let Some(rest) =
        word.strip_prefix("::").or(word.strip_prefix(['@', '%'])).filter(|rest| rest.starts_with(char::is_alphabetic))
    {
        push_word(out, rest);
    } else if after.chars().any(is_code) && !middle.is_empty() {
        out.push_str(&plain(&word[..word.len() - after.len()]));
        push_word(out, after);
    } else {
        out.push_str(&plain(word));
    }
}

/// Returns whether a word looks like a C identifier: `hipFree`, `HIP_SUCCESS`, `snake_case`, `camelCase`.
fn is_identifier(word: &str) -> bool {
    const PREFIXES: [&str; 9] = ["hip", "HIP", "hsa", "cuda", "nccl", "roctx", "LLVM", "CX", "lto"];
    let prefixed = PREFIXES
        .iter()
        .any(|prefix| word.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(char::is_uppercase)));
    let mixed = word.len() > 4 && word.starts_with(char::is_lowercase) && word.chars().any(char::is_uppercase);
    (prefixed || mixed || word.trim_matches('_').contains('_') || word.starts_with("__") || word == "dim3")
        && !is_library(word)
}

/// Returns whether a word is a library, not an item: `hipBLAS`, `rocFFT`, `cuSPARSELt`, `libLLVM`, `pThreads`.
fn is_library(word: &str) -> bool {
    let rest = ["hip", "roc", "cu", "nv", "lib"].iter().find_map(|prefix| word.strip_prefix(prefix));
    let rest = rest.map(|rest| rest.strip_suffix("Lt").unwrap_or(rest));
    matches!(word, "hipTensor" | "hipFile" | "rocPRIM" | "LLVMs")
        || rest.is_some_and(|rest| rest.len() > 2 && rest.chars().all(|c| c.is_ascii_uppercase()))
}

/// Escapes characters with a meaning in Markdown or HTML.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '[' | ']' | '<' | '>' | '*' | '_' | '`' | '\\' | '|') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Prose, strip_tags};

    fn text(text: &str) -> String {
        Prose::default().text(text)
    }

    #[test]
    fn nothing_reads_as_a_link_or_as_html() {
        assert_eq!(text("array[3] of <T> and *star*"), "array\\[3\\] of \\<T\\> and `star`");
        assert_eq!(text("see https://rocm.docs.amd.com/x_y."), "see <https://rocm.docs.amd.com/x_y>.");
        assert_eq!(text("a <http://llvm.org/x> b"), "a <http://llvm.org/x> b");
        assert_eq!(text("__global__ functions"), "`__global__` functions");
    }

    #[test]
    fn commands_mark_the_next_word() {
        assert_eq!(text("if \\p m+1 (or @p op(A), \\p x)."), "if `m+1` (or `op(A)`, `x`).");
        assert_eq!(text("see \\ref hipsparseSpMV or \\ref types \"the types\"."), "see `hipsparseSpMV` or the types.");
        assert_eq!(text("size (\\p ld, n) and a*\\p b, to\\c x"), "size (`ld`, n) and a\\*`b`, to`x`");
        assert_eq!(text("a \\\\returns of \\<dl\\>"), "a \\\\returns of \\<dl\\>");
        assert_eq!(text("\\b never, \\e always @em ever"), "never, always ever");
        let mut prose = Prose::default();
        assert_eq!(
            (prose.text("handles @p"), prose.text("amd_comgr_data_t that")),
            ("handles".into(), "`amd_comgr_data_t` that".into())
        );
    }

    #[test]
    fn names_of_c() {
        assert_eq!(text("::amdsmi_init() or (::AMDSMI_X)"), "`amdsmi_init()` or (`AMDSMI_X`)");
        assert_eq!(text("#hipSuccess, @ref hipFree, %hipMalloc"), "`hipSuccess`, `hipFree`, `hipMalloc`");
        assert_eq!(text("std::unique_ptr, x_i.\\n y"), "std::`unique_ptr`, `x_i`. y");
        assert_eq!(text("a CXString of LLVMContextRef"), "a `CXString` of `LLVMContextRef`");
        assert_eq!(text("If @info, in mW"), "If info, in mW");
    }

    #[test]
    fn libraries_are_no_items() {
        assert_eq!(text("hipBLAS, rocSPARSE and cuSPARSELt"), "hipBLAS, rocSPARSE and cuSPARSELt");
    }

    #[test]
    fn code_of_the_header_stays() {
        assert_eq!(text("like `std::string::c_str()` or `a*b`"), "like `std::string::c_str()` or `a*b`");
        assert_eq!(text("a stray ` sign"), "a stray \\` sign");
    }

    #[test]
    fn tags_are_gone() {
        assert_eq!(strip_tags("<tt>x</tt> <b>is</b> 10<sup>9</sup><br>"), "`x` is 10^9 ");
        assert_eq!(strip_tags("<a href=\"x\">here</a>"), "here");
    }
}
