//! Determines how `exec` treats a file, from its first bytes.

/// The number of bytes of a file that are examined.
pub(crate) const HEAD: usize = 4096;
/// The number of bytes of a script's first line that the kernel reads.
const LINE: usize = 256;
/// The host's loader, as named in its programs.
const LOADER: &[u8] = b"/lib64/ld-linux-x86-64.so.2";

/// The kind of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// A program that uses the host's loader, so another loader can load it too.
    Dynamic,
    /// A script, with its interpreter and an optional argument for it.
    Script { interpreter: &'a [u8], argument: Option<&'a [u8]> },
    /// A program that needs another loader or none: static, for another C library, or for another processor.
    Foreign,
    /// A file that the kernel cannot start.
    Other,
}

impl<'a> Kind<'a> {
    /// The kind of a file that starts with `head`; [`HEAD`] bytes are enough.
    pub(crate) fn of(head: &'a [u8]) -> Self {
        if let Some(line) = head.strip_prefix(b"#!") {
            return Self::script(line);
        }
        if !head.starts_with(b"\x7fELF") {
            return Self::Other;
        }
        if interpreter(head) == Some(LOADER) { Self::Dynamic } else { Self::Foreign }
    }

    fn script(line: &'a [u8]) -> Self {
        let line = &line[..line.len().min(LINE - 2)];
        let end = line.iter().position(|c| *c == b'\n').unwrap_or(line.len());
        let line = line[..end].trim_ascii();
        let split = line.iter().position(|c| matches!(c, b' ' | b'\t')).unwrap_or(line.len());
        let (interpreter, argument) = (&line[..split], line[split..].trim_ascii());
        if interpreter.is_empty() {
            return Self::Other;
        }
        Self::Script { interpreter, argument: (!argument.is_empty()).then_some(argument) }
    }
}

/// The loader that a 64-bit x86-64 program names.
fn interpreter(head: &[u8]) -> Option<&[u8]> {
    const INTERP: u32 = 3;
    let bytes = |at: usize, size: usize| head.get(at..at.checked_add(size)?);
    let word = |at| Some(u64::from_le_bytes(bytes(at, 8)?.try_into().ok()?));
    let half = |at| Some(usize::from(u16::from_le_bytes(bytes(at, 2)?.try_into().ok()?)));
    // 64 bits, little-endian, x86-64.
    if bytes(4, 2)? != [2, 1] || half(18)? != 62 {
        return None;
    }
    let (table, size, count) = (usize::try_from(word(32)?).ok()?, half(54)?, half(56)?);
    for index in 0..count {
        let header = table.checked_add(index.checked_mul(size)?)?;
        if u32::from_le_bytes(bytes(header, 4)?.try_into().ok()?) == INTERP {
            let at = usize::try_from(word(header.checked_add(8)?)?).ok()?;
            let name = head.get(at..)?;
            return Some(&name[..name.iter().position(|c| *c == 0)?]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_name_an_interpreter_and_one_argument() {
        let script = |text: &'static str| Kind::of(text.as_bytes());
        let expected = |interpreter: &'static str, argument: Option<&'static str>| Kind::Script {
            interpreter: interpreter.as_bytes(),
            argument: argument.map(str::as_bytes),
        };
        assert_eq!(script("#!/bin/sh\necho"), expected("/bin/sh", None));
        assert_eq!(script("#! /usr/bin/env\tpython3 -u \nx"), expected("/usr/bin/env", Some("python3 -u")));
        assert_eq!(script("#!/bin/sh"), expected("/bin/sh", None));
        assert_eq!(script("#!\n"), Kind::Other);
        assert_eq!(script("echo"), Kind::Other);
        assert_eq!(script(""), Kind::Other);
    }

    /// A program with one program header.
    fn elf(machine: u8, name: &[u8]) -> Vec<u8> {
        let mut head = vec![0; 200];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18] = machine;
        (head[32], head[54], head[56]) = (64, 56, 1);
        (head[64], head[72]) = (3, 128);
        head[128..128 + name.len()].copy_from_slice(name);
        head
    }

    #[test]
    fn programs_of_the_hosts_loader_are_told_from_others() {
        assert_eq!(Kind::of(&elf(62, LOADER)), Kind::Dynamic);
        assert_eq!(Kind::of(&elf(62, b"/lib/ld-musl-x86_64.so.1")), Kind::Foreign);
        assert_eq!(Kind::of(&elf(3, LOADER)), Kind::Foreign, "another processor");
        let mut fixed = elf(62, LOADER);
        fixed[64] = 1;
        assert_eq!(Kind::of(&fixed), Kind::Foreign, "static");
    }

    /// Every truncated or corrupted file is classified without a panic.
    #[test]
    fn damaged_programs_are_foreign() {
        let whole = elf(62, LOADER);
        for cut in 4..whole.len() {
            let _ = Kind::of(&whole[..cut]);
        }
        for at in 4..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            let _ = Kind::of(&damaged);
        }
        assert_eq!(Kind::of(&whole[..100]), Kind::Foreign);
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    #[test]
    fn this_test_is_a_program_of_the_host() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(Kind::of(&file[..HEAD]), Kind::Dynamic);
    }
}
