//! `!nvvm.annotations` in LLVM IR as text. LLVM from release 20 on turns these notes on NVIDIA's kernels into attributes while it
//! reads a module, before its verifier, and trusts their form: others crash it. So they are checked first.

use std::collections::{HashMap, HashSet};

/// The named metadata with the notes.
const NAME: &[u8] = b"nvvm.annotations";
/// Notes on functions that become attributes. Their values are integers.
const OF_FUNCTIONS: &[&str] = &[
    "kernel",
    "align",
    "maxclusterrank",
    "cluster_max_blocks",
    "minctasm",
    "maxnreg",
    "maxntidx",
    "maxntidy",
    "maxntidz",
    "reqntidx",
    "reqntidy",
    "reqntidz",
    "cluster_dim_x",
    "cluster_dim_y",
    "cluster_dim_z",
];
/// Notes that LLVM leaves as they are.
const OTHERS: &[&str] = &["texture", "surface", "sampler", "managed", "rdoimage", "wroimage", "rdwrimage"];
/// The largest index of a parameter in the note `align`: LLVM makes a list of this length.
const MOST_PARAMETERS: u64 = 1 << 12;

/// A token of LLVM IR, as far as the notes need it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Token {
    /// A keyword, a type or an integer.
    Word(String),
    /// `@name`; a number is another name than the quoted one.
    Global(Vec<u8>, bool),
    /// `!name`
    Metadata(Vec<u8>),
    /// `"text"`
    Text(Vec<u8>),
    /// A sign, such as `!` and `{`.
    Sign(u8),
    /// A label, a local name, or another token.
    Other,
}

/// Reads tokens as LLVM does. Text that LLVM rejects has some tokens, too.
struct Lexer<'a> {
    text: &'a [u8],
}

impl<'a> Lexer<'a> {
    /// Returns the bytes at the start that `part` accepts, and skips them.
    fn take(&mut self, part: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self.text.iter().position(|&byte| !part(byte)).unwrap_or(self.text.len());
        let (taken, rest) = self.text.split_at(length);
        self.text = rest;
        taken
    }

    /// Skips the rest up to `end` and `end` itself, and returns the rest.
    fn until(&mut self, end: &[u8]) -> &'a [u8] {
        let at = self.text.windows(end.len()).position(|bytes| bytes == end);
        let (taken, rest) = self.text.split_at(at.unwrap_or(self.text.len()));
        self.text = rest.get(end.len()..).unwrap_or_default();
        taken
    }

    fn skip(&mut self, byte: u8) -> bool {
        match self.text.split_first() {
            Some((first, rest)) if *first == byte => {
                self.text = rest;
                true
            }
            _ => false,
        }
    }

    /// Reads a name after `@`, `%` or `$`.
    fn name(&mut self) -> (Vec<u8>, bool) {
        match self.skip(b'"') {
            true => (unescape(self.until(b"\"")), true),
            false => {
                let name = self.take(is_name);
                (name.to_vec(), !name.iter().all(u8::is_ascii_digit))
            }
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let (&first, rest) = self.text.split_first()?;
            if is_name(first) {
                let word = self.take(is_name);
                let is_label = self.skip(b':');
                return Some(if is_label { Token::Other } else { Token::Word(String::from_utf8_lossy(word).into()) });
            }
            self.text = rest;
            return Some(match first {
                0 | b' ' | b'\t' | b'\n' | b'\r' => continue,
                b';' => {
                    self.take(|byte| byte != b'\n' && byte != b'\r');
                    continue;
                }
                b'/' if self.skip(b'*') => {
                    self.until(b"*/");
                    continue;
                }
                b'"' => {
                    let text = unescape(self.until(b"\""));
                    if self.skip(b':') { Token::Other } else { Token::Text(text) }
                }
                b'@' => {
                    let (name, is_name) = self.name();
                    Token::Global(name, is_name)
                }
                b'%' => {
                    self.name();
                    Token::Other
                }
                b'!' if self.text.first().is_some_and(|&byte| is_metadata(byte) && !byte.is_ascii_digit()) => {
                    Token::Metadata(unescape(self.take(is_metadata)))
                }
                sign => Token::Sign(sign),
            });
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-$._".contains(&byte)
}

fn is_metadata(byte: u8) -> bool {
    is_name(byte) || byte == b'\\'
}

/// Replaces `\\` and `\41`.
fn unescape(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let (mut plain, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some(&byte) = text.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'\\', Some(high), Some(low)) => {
                plain.push((high << 4 | low) as u8);
                at += 3;
            }
            (b'\\', ..) if text.get(at + 1) == Some(&b'\\') => {
                plain.push(b'\\');
                at += 2;
            }
            _ => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    plain
}

/// Checks the notes on NVIDIA's kernels in a module as text.
///
/// # Errors
/// If LLVM could crash on them.
pub(crate) fn check(text: &[u8]) -> Result<(), String> {
    // Most modules have none. The name may be escaped, but only in part: it has a backslash then.
    let has = |part: &[u8]| text.windows(part.len()).any(|bytes| bytes == part);
    if !has(NAME) && !has(b"\\") {
        return Ok(());
    }
    let tokens: Vec<Token> = Lexer { text }.collect();
    let mut notes = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if matches!(token, Token::Metadata(name) if name == NAME) && tokens.get(at + 1) == Some(&Token::Sign(b'=')) {
            notes.extend(elements(&tokens[at + 2..]).ok_or_else(|| refused("it is not a list of nodes"))?);
        }
    }
    if notes.is_empty() {
        return Ok(());
    }
    let module = Definitions::of(&tokens);
    notes.into_iter().try_for_each(|note| module.check(note)).map_err(|why| refused(&why))
}

fn refused(why: &str) -> String {
    format!("!nvvm.annotations could crash LLVM, which reads it before it checks it: {why}")
}

/// Returns the elements of the node `!{...}` at the start, each as its tokens.
fn elements(tokens: &[Token]) -> Option<Vec<&[Token]>> {
    let mut rest = tokens;
    if rest.first() == Some(&Token::Word("distinct".to_owned())) {
        rest = &rest[1..];
    }
    let rest = rest.strip_prefix(&[Token::Sign(b'!'), Token::Sign(b'{')])?;
    let (mut all, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, token) in rest.iter().enumerate() {
        match token {
            Token::Sign(b'(' | b'{' | b'[' | b'<') => depth += 1,
            Token::Sign(b'}') if depth == 0 => {
                if at > start || !all.is_empty() {
                    all.push(&rest[start..at]);
                }
                return Some(all);
            }
            Token::Sign(b')' | b'}' | b']' | b'>') => depth = depth.checked_sub(1)?,
            Token::Sign(b',') if depth == 0 => {
                all.push(&rest[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Returns the number of `!7`.
fn number(tokens: &[Token]) -> Option<u32> {
    match tokens {
        [Token::Sign(b'!'), Token::Word(number)] => number.parse().ok(),
        _ => None,
    }
}

/// Returns the number of `i32 7`.
fn integer(tokens: &[Token]) -> Option<u64> {
    let [Token::Word(ty), Token::Word(value)] = tokens else { return None };
    let bits: u32 = ty.strip_prefix('i')?.parse().ok()?;
    let value = match value.as_str() {
        "true" => 1,
        "false" => 0,
        number => number.parse().ok()?,
    };
    (bits <= 64).then_some(value)
}

/// The nodes and functions of a module.
struct Definitions<'a> {
    nodes: HashMap<u32, &'a [Token]>,
    functions: HashSet<&'a Token>,
}

impl<'a> Definitions<'a> {
    fn of(tokens: &'a [Token]) -> Self {
        let (mut nodes, mut functions) = (HashMap::new(), HashSet::new());
        for (at, token) in tokens.iter().enumerate() {
            match token {
                Token::Sign(b'=') if at >= 2 => {
                    if let Some(number) = number(&tokens[at - 2..at]) {
                        nodes.insert(number, &tokens[at + 1..]);
                    }
                }
                Token::Word(word) if word == "define" || word == "declare" => {
                    functions.extend(tokens[at..].iter().find(|token| matches!(token, Token::Global(..))));
                }
                _ => {}
            }
        }
        Self { nodes, functions }
    }

    /// Checks one element of the list of notes: `!0`, and the node of this number.
    fn check(&self, note: &[Token]) -> Result<(), String> {
        let number = number(note).ok_or("an element of its list is not a node by its number")?;
        let wrong = |why: &str| format!("node {number} {why}");
        // LLVM rejects a module without the node.
        let Some(definition) = self.nodes.get(&number) else { return Ok(()) };
        let parts = elements(definition).ok_or_else(|| wrong("is not a list"))?;
        let Some((of, pairs)) = parts.split_first() else { return Err(wrong("is empty")) };
        let function = match of {
            [Token::Word(ty), name @ Token::Global(..)] if ty == "ptr" => self.functions.contains(name),
            [
                Token::Word(ty),
                Token::Word(space),
                Token::Sign(b'('),
                Token::Word(_),
                Token::Sign(b')'),
                name @ Token::Global(..),
            ] if ty == "ptr" && space == "addrspace" => self.functions.contains(name),
            // LLVM skips notes on anything else.
            [Token::Word(null)] if null == "null" => return Ok(()),
            [Token::Sign(b'!'), ..] => return Ok(()),
            other if integer(other).is_some() => return Ok(()),
            _ => return Err(wrong("does not start with the name of a function or a variable")),
        };
        if pairs.len() % 2 != 0 {
            return Err(wrong("has a key without a value"));
        }
        for pair in pairs.chunks_exact(2) {
            let [Token::Sign(b'!'), Token::Text(key)] = pair[0] else {
                return Err(wrong("has a key that is no string"));
            };
            let key = String::from_utf8_lossy(key);
            if OTHERS.contains(&&*key) {
                continue;
            }
            if !OF_FUNCTIONS.contains(&&*key) || !function {
                return Err(wrong(&format!("has the key {key:?}, which is not known for its kind of symbol")));
            }
            let value = integer(pair[1]).ok_or_else(|| wrong(&format!("has a value of {key:?} that is no integer")))?;
            if key == "align" && (!(value & 0xffff).is_power_of_two() || value >> 16 > MOST_PARAMETERS) {
                return Err(wrong(&format!("has the alignment {value:#x}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "declare void @k(ptr)\n@g = global i32 0\n";

    #[test]
    fn notes_of_compilers_pass() {
        for notes in [
            "",
            "!other = !{!0}\n!0 = !{}",
            "!nvvm.annotations = !{}\n!0 = !{}",
            "!nvvm.annotations = !{!0, !1}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n!1 = !{ptr @k, !\"maxntidx\", i32 256, !\"minctasm\", i32 2}",
            "; !nvvm.annotations = !{!0}\n!nvvm.annotations = !{!0} ; a comment\n!0 = distinct !{ptr addrspace(1) @g, !\"texture\", i32 1}",
            "!nvvm.annotations = !{!0, !1, !2}\n!0 = !{null, !\"align\", i32 8}\n!1 = !{!0}\n!2 = !{i32 1, !1}",
            "!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"align\", i32 65544}",
            "!nvvm.annotations = !{!9}",
            "!0 = !{!\"!nvvm.annotations = !{!0}\"}",
        ] {
            assert_eq!(check(format!("{KERNEL}{notes}\n").as_bytes()), Ok(()), "{notes}");
        }
    }

    #[test]
    fn other_notes_are_refused() {
        for (node, why) in [
            ("!{}", "is empty"),
            ("!{ptr @k, !\"kernel\"}", "a key without a value"),
            ("!{ptr @k, null, i32 1}", "no string"),
            ("!{ptr @k, i32 1, i32 1}", "no string"),
            ("!{ptr @k, !\"kernel\", null}", "no integer"),
            ("!{ptr @k, !\"kernel\", !\"1\"}", "no integer"),
            ("!{ptr @k, !\"kernel\", i128 1}", "no integer"),
            ("!{ptr @g, !\"kernel\", i32 1}", "not known"),
            ("!{ptr @k, !\"maxntid\", i32 1}", "not known"),
            ("!{ptr @k, !\"align\", i32 3}", "alignment"),
            ("!{ptr @k, !\"align\", i32 0}", "alignment"),
            ("!{ptr @k, !\"align\", i64 281474976710664}", "alignment"),
            ("!{ptr bitcast (ptr @k to ptr), !\"kernel\", null}", "does not start"),
            ("!DILocation(line: 1)", "is not a list"),
        ] {
            let text = format!("{KERNEL}!nvvm.annotations = !{{!3}}\n!3 = {node}\n");
            let error = check(text.as_bytes()).unwrap_err();
            assert!(error.contains(why) && error.contains("node 3"), "{node}: {error}");
            // However it is written.
            for (from, to) in
                [("!nvvm.", "!nvvm\\2E"), ("!3", "! /* 3 */ 03"), ("!3", "!\n;\n3"), ("ations =", "ations\t=")]
            {
                assert!(check(text.replace(from, to).as_bytes()).is_err(), "{node} with {to}");
            }
        }
        for list in ["!{!DIExpression()}", "!{!{}}", "null", "!{!0"] {
            assert!(check(format!("!nvvm.annotations = {list}\n").as_bytes()).is_err(), "{list}");
        }
        // Of two lists, both count.
        assert!(check(b"!nvvm.annotations = !{}\n!nvvm.annotations = !{!0}\n!0 = !{}\n").is_err());
    }
}
