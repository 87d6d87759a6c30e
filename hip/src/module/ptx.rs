//! Kernel metadata of PTX: NVIDIA's assembly text, which the driver compiles for the device that it is loaded on.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Peekable;

use crate::core::arch::Arch;
use crate::core::error::{Error, Result};
use crate::module::bundle::bad;
use crate::module::code_object::CodeObject;
use crate::module::metadata::{KernelInfo, Metadata, Parameter, ParameterKind};
use crate::module::nvidia::{MAX_ARGUMENT_BYTES, kernel, parameter};

/// Returns whether an image is PTX: it begins with `.version`, perhaps after comments.
pub(super) fn is_ptx(image: &[u8]) -> bool {
    let start = image.iter().position(|byte| !byte.is_ascii_whitespace());
    let may_be = start.is_some_and(|at| matches!(image[at], b'.' | b'/'));
    may_be && std::str::from_utf8(text(image)).is_ok_and(|text| Tokens(text).next() == Some(".version"))
}

/// Returns the text without the terminating zero, which compilers count.
fn text(image: &[u8]) -> &[u8] {
    let end = image.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &image[..end]
}

fn damaged(what: impl std::fmt::Display) -> Error {
    bad(format!("the PTX: {what}"))
}

/// Reads the metadata of PTX. The bytes of the result end with a zero, which the driver needs.
pub(super) fn parse(image: &[u8]) -> Result<CodeObject<'_>> {
    let text = text(image);
    if text.contains(&0) {
        return Err(damaged("it contains a zero"));
    }
    let source = std::str::from_utf8(text).map_err(|_| damaged("it is no text"))?;
    let metadata = Reader(Tokens(source).peekable()).read()?;
    let bytes = match image.get(..=text.len()) {
        Some(terminated) => Cow::Borrowed(terminated),
        None => Cow::Owned([text, &[0]].concat()),
    };
    Ok(CodeObject { bytes, metadata })
}

/// The words and signs of a text. A word ends before the next `.`: `.param.u64` is two.
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    fn take(&mut self, len: usize) -> &'a str {
        let (token, rest) = self.0.split_at(len);
        self.0 = rest;
        token
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.0 = self.0.trim_start();
            let until = |end: &str, from: usize| self.0[from..].find(end).map(|at| from + at + end.len());
            let skipped = match self.0.as_bytes() {
                [b'/', b'/', ..] => until("\n", 2),
                [b'/', b'*', ..] => until("*/", 2),
                [b'"', ..] => until("\"", 1),
                _ => break,
            };
            self.take(skipped.unwrap_or(self.0.len()));
        }
        let first = self.0.chars().next()?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
        let rest = &self.0[first.len_utf8()..];
        let words = if is_word(first) || first == '.' { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { 0 };
        Some(self.take(first.len_utf8() + words))
    }
}

struct Reader<'a>(Peekable<Tokens<'a>>);

impl<'a> Reader<'a> {
    fn read(mut self) -> Result<Metadata> {
        let (mut target, mut address_bits, mut kernels) = (None, 32, BTreeMap::new());
        let mut depth = 0_usize;
        while let Some(token) = self.0.next() {
            match token {
                "{" => depth += 1,
                "}" => depth = depth.checked_sub(1).ok_or_else(|| damaged("a } without a {"))?,
                ".target" if target.is_none() => target = Some(self.word("an architecture after .target")?),
                ".address_size" => address_bits = self.number()?,
                ".entry" if depth == 0 => {
                    if let Some(kernel) = self.entry()? {
                        if let Some(earlier) = kernels.insert(kernel.name.clone(), kernel) {
                            return Err(damaged(format_args!("the kernel {} more than once", earlier.name)));
                        }
                    }
                }
                _ => {}
            }
        }
        if depth != 0 {
            return Err(damaged("it is cut off"));
        }
        if address_bits != 64 {
            return Err(damaged(format_args!("addresses of {address_bits} bits, not 64 (.address_size)")));
        }
        let name = target.ok_or_else(|| damaged("it has no .target"))?;
        let arch = name.strip_prefix("sm_").and_then(|number| format!("compute_{number}").parse().ok());
        let arch: Arch = arch.filter(Arch::is_nvidia).ok_or_else(|| damaged(format_args!(".target {name}")))?;
        Ok(Metadata { target: Some(arch), kernels, symbols: Vec::new(), automatic: Vec::new() })
    }

    fn word(&mut self, what: &str) -> Result<&'a str> {
        self.0.next().ok_or_else(|| damaged(format_args!("it ends before {what}")))
    }

    fn number(&mut self) -> Result<u32> {
        let word = self.word("a number")?;
        let digits = word.trim_end_matches('U');
        let number = match digits.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        number.map_err(|_| damaged(format_args!("{word:?} where a number belongs")))
    }

    fn follows(&mut self, token: &str) -> bool {
        self.0.next_if(|next| *next == token).is_some()
    }

    /// Reads a kernel up to its body; `None` if it is only declared.
    fn entry(&mut self) -> Result<Option<KernelInfo>> {
        let name = self.word("a kernel's name")?;
        let parameters = if self.follows("(") { self.parameters(name)? } else { Vec::new() };
        let mut kernel = kernel(name, parameters);
        loop {
            match self.0.peek().copied() {
                Some("{") => return Ok(Some(kernel)),
                None | Some(";") => return Ok(None),
                _ => {}
            }
            let directive = self.word("a kernel's body")?;
            if matches!(directive, ".maxntid" | ".reqntid") {
                let mut block = [self.number()?, 1, 1];
                for extent in &mut block[1..] {
                    if self.follows(",") {
                        *extent = self.number()?;
                    }
                }
                kernel.max_threads_per_block =
                    block.iter().fold(1, |threads: u32, extent| threads.saturating_mul(*extent));
                kernel.required_block = (directive == ".reqntid").then_some(block).or(kernel.required_block);
            }
        }
    }

    /// Reads the parameters up to the closing parenthesis.
    fn parameters(&mut self, kernel: &str) -> Result<Vec<Parameter>> {
        let wrong = |what: String| damaged(format_args!("kernel {kernel}: {what}"));
        let mut parameters = Vec::new();
        let mut end = 0_usize;
        while !self.follows(")") {
            let (mut element, mut is_pointer, mut align) = (None, false, None);
            // The attributes, then the name.
            loop {
                match self.word("a parameter's name")? {
                    ".align" => {
                        let bytes = self.number()? as usize;
                        // After `.ptr`, it is the alignment of what the pointer points to.
                        align = if is_pointer { align } else { Some(bytes) };
                    }
                    ".ptr" => is_pointer = true,
                    attribute if attribute.starts_with('.') => element = element.or_else(|| Element::of(attribute)),
                    _ => break,
                }
            }
            let Some(element) = element else {
                return Err(wrong(format!("parameter {} has no type", parameters.len() + 1)));
            };
            let count = if self.follows("[") {
                let count = self.number()? as usize;
                self.0.next();
                Some(count)
            } else {
                None
            };
            let size = element.bytes.saturating_mul(count.unwrap_or(1));
            let align = align.unwrap_or(element.bytes);
            let offset = end.checked_next_multiple_of(align).filter(|_| align.is_power_of_two());
            let offset = offset.filter(|offset| offset.saturating_add(size) <= MAX_ARGUMENT_BYTES);
            let Some(offset) = offset else {
                return Err(wrong(format!("{size} bytes aligned to {align} after {end} bytes of arguments")));
            };
            end = offset + size;
            let kind = match (element.kind, count) {
                (ElementKind::Other, _) => ParameterKind::Other(element.name.to_owned()),
                (ElementKind::Bits, None) if is_pointer => ParameterKind::Pointer,
                (ElementKind::Bits, None) if size == 8 => ParameterKind::PointerOrValue,
                _ => ParameterKind::Value,
            };
            parameters.push(parameter(offset, size, kind));
            self.follows(",");
        }
        Ok(parameters)
    }
}

/// The type of a parameter, or of the elements of an array.
struct Element<'a> {
    name: &'a str,
    bytes: usize,
    kind: ElementKind,
}

#[derive(Clone, Copy)]
enum ElementKind {
    /// An integer, or bits: of 8 bytes, it may be a pointer.
    Bits,
    Float,
    /// A texture, sampler or surface, which launches of this crate cannot pass.
    Other,
}

impl<'a> Element<'a> {
    fn of(name: &'a str) -> Option<Self> {
        let (kind, bits) = match name.get(1..2)? {
            _ if matches!(name, ".texref" | ".samplerref" | ".surfref") => (ElementKind::Other, 64),
            "b" | "u" | "s" => (ElementKind::Bits, name[2..].parse().ok()?),
            "f" => (ElementKind::Float, name[2..].parse().ok()?),
            _ => return None,
        };
        [8, 16, 32, 64, 128].contains(&bits).then_some(Self { name, bytes: bits / 8, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::cubin::tests::{ARGUMENTS, entry};

    const HEAD: &str = "// a comment\n.version 8.0\n.target sm_90a, debug\n.address_size 64\n";

    fn kernels(rest: &str) -> Result<BTreeMap<String, KernelInfo>> {
        Ok(parse(format!("{HEAD}{rest}").as_bytes())?.metadata.kernels)
    }

    #[test]
    fn declarations_by_hand_are_read() {
        let text = r#"
            .file 1 "a name with { .entry no(.param .u8 x) {"
            .extern .func helper (.param .b32 x);
            .global .align 4 .b8 table[8] = {1, 2, {3}};
            .visible .entry declared(.param .u64 x);
            /* .entry commented() { } */ .visible.entry k(.param.u8 a,.param .align 16 .b8 s[40] , // the last
                .param .u64 .ptr .global .align 4 p, .param .f64 d, .param .u64 n, .param .texref t, .param .b8 last)
            .maxntid 8, 4
            .minnctapersm 2 { .reg .b32 %r<3>; { ld.param.u8 %r1, [a]; } ret; }
            .entry other () .reqntid 0x20, 2U, 1 { ret; }
        "#;
        let kernels = kernels(text).unwrap();
        assert!(kernels.keys().eq(["k", "other"]));
        let k = &kernels["k"];
        assert_eq!(k.to_string(), "k(1 bytes, 40 bytes, pointer, 8 bytes, pointer or 8 bytes, .texref, 1 bytes)");
        let offsets: Vec<_> = k.parameters.iter().map(|parameter| parameter.offset).collect();
        assert_eq!(offsets, [0, 16, 56, 64, 72, 80, 88]);
        assert_eq!((k.explicit_bytes, k.max_threads_per_block, k.required_block), (89, 32, None));
        let other = &kernels["other"];
        assert_eq!((other.max_threads_per_block, other.required_block), (64, Some([32, 2, 1])));
        let target = parse(HEAD.as_bytes()).unwrap().metadata.target.unwrap();
        assert_eq!(target.to_string(), "compute_90a");
    }

    #[test]
    fn the_bytes_for_the_driver_end_with_one_zero() {
        let of = |text: &str| parse(text.as_bytes()).unwrap().bytes.into_owned();
        let want = [HEAD.as_bytes(), b"\0"].concat();
        for end in ["", "\0", "\0\0\0"] {
            assert_eq!(of(&format!("{HEAD}{end}")), want);
        }
        assert!(matches!(parse(&want).unwrap().bytes, Cow::Borrowed(_)));
    }

    #[test]
    fn text_that_is_not_ptx_for_the_driver_is_an_error() {
        for (text, part) in [
            (".version 8.0\n.target sm_90\n".to_owned(), "addresses of 32 bits"),
            (".version 8.0\n.address_size 64\n".to_owned(), "no .target"),
            (".version 8.0\n.target gfx90a\n.address_size 64".to_owned(), ".target gfx90a"),
            (format!("{HEAD}.entry a() {{"), "cut off"),
            (format!("{HEAD}}}"), "a } without"),
            (format!("{HEAD}\0.entry"), "a zero"),
            (format!("{HEAD}.entry a(.param .u64"), "ends before a parameter's name"),
            (format!("{HEAD}.entry a(.param x) {{}}"), "parameter 1 has no type"),
            (format!("{HEAD}.entry a(.param .b8 x[40000]) {{}}"), "40000 bytes"),
            (format!("{HEAD}.entry a(.param .align 3 .b8 x[4]) {{}}"), "aligned to 3"),
            (format!("{HEAD}.entry a(.param .b8 x[y]) {{}}"), "where a number belongs"),
            (format!("{HEAD}.entry a() {{}} .entry a() {{}}"), "the kernel a more than once"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        for other in ["", " \n", "// .version 8.0", "/* .version", "version 8.0", ".versions 8", "/x"] {
            assert!(!is_ptx(other.as_bytes()), "{other:?}");
        }
        for ptx in [HEAD, "/* a */ // b\n .version 8.0", ".version"] {
            assert!(is_ptx(ptx.as_bytes()), "{ptx:?}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(300))]
        #[test]
        fn damaged_ptx_never_panics(flips in proptest::collection::vec((0..1_000_000_usize, 0..128_u8), 1..40), end in 0..1_000_000_usize) {
            let mut ptx = entry(ARGUMENTS, "compute_75").to_vec();
            for (at, byte) in flips {
                let at = at % ptx.len();
                ptx[at] = byte;
            }
            let end = end % ptx.len();
            for part in [&ptx[..], &ptx[..end]] {
                let _ = is_ptx(part);
                let _ = parse(part);
            }
        }
    }
}
