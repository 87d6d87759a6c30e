//! Which files a source includes: found in its text, without a preprocessor.
//!
//! Directives in branches that are not compiled, or in comments, count too. So a change of a file that is not used gives another key,
//! which does no harm; that a file that is used is overlooked must not happen, and where it could, nothing is cached.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a source depends on besides its own text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Included {
    /// Files, by their paths, in which they were found.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// Names that no directory has: the compiler's own, or nobody's.
    pub(crate) missing: BTreeSet<String>,
}

/// Where headers are looked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Folders {
    /// For names in quotes.
    pub(crate) quoted: Vec<PathBuf>,
    /// For all names.
    pub(crate) all: Vec<PathBuf>,
}

/// Options that read files which are not followed, or write some.
const UNFOLLOWED: [&str; 24] = [
    "@",
    "-include",
    "-imacros",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "-ivfsoverlay",
    "-cxx-isystem",
    "-B",
    "-M",
    "-o",
    "-X",
    "-L",
    "-W",
    "--config",
    "--sysroot",
    "--include",
    "--serialize",
    "--rocm-",
    "--hip-",
    "-fplugin",
    "-fprofile",
    "-fmodule",
    "-ftime-trace",
];
/// The same, of which the rest of the name is not looked at.
const UNFOLLOWED_EXACTLY: [&str; 3] = ["-save-temps", "--save-temps", "-mlink-builtin-bitcode"];

impl Folders {
    /// Where the options have headers looked for; `None` if one of them does more than can be followed.
    pub(crate) fn of_options(options: &[String]) -> Option<Self> {
        let mut folders = Self::default();
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let folder = ["-iquote", "-isystem", "-idirafter", "-I"]
                .iter()
                .find_map(|name| Some((name, option.strip_prefix(*name)?)));
            if let Some((name, value)) = folder {
                let value = if value.is_empty() { options.next()? } else { value };
                let list = if *name == "-iquote" { &mut folders.quoted } else { &mut folders.all };
                list.push(PathBuf::from(value));
            } else if is_unfollowed(option) {
                return None;
            }
        }
        Some(folders)
    }
}

fn is_unfollowed(option: &str) -> bool {
    // Warnings, but for what is handed on to other programs.
    let is_warning = option.starts_with("-W") && !option.contains(',');
    let has = |names: &[&str]| names.iter().any(|name| option.starts_with(name));
    !is_warning && (has(&UNFOLLOWED) || has(&UNFOLLOWED_EXACTLY))
}

/// A name that a text includes.
#[derive(Debug, PartialEq, Eq)]
struct Name<'a> {
    text: &'a str,
    quoted: bool,
}

/// Why a text says no names.
#[derive(Debug, PartialEq, Eq)]
struct Unclear;

/// Finds what `texts` include, and what that includes. `known` are names of headers that the compiler is given. `None` if it
/// cannot be known without a preprocessor.
pub(crate) fn find<'a>(
    texts: impl Iterator<Item = &'a str>,
    known: impl Fn(&str) -> bool,
    folders: &Folders,
) -> Option<Included> {
    let mut found = Included::default();
    for text in texts {
        follow(text, None, &known, folders, &mut found).ok()?;
    }
    let mut next = 0;
    while next < found.files.len() {
        let (path, bytes) = found.files[next].clone();
        let text = String::from_utf8_lossy(&bytes);
        follow(&text, path.parent(), &known, folders, &mut found).ok()?;
        next += 1;
    }
    Some(found)
}

/// Adds the files that one text includes. `beside` is the folder of its file.
fn follow(
    text: &str,
    beside: Option<&Path>,
    known: &impl Fn(&str) -> bool,
    folders: &Folders,
    found: &mut Included,
) -> Result<(), Unclear> {
    for name in names(text)? {
        if known(name.text) {
            continue;
        }
        let absolute = Path::new(name.text).is_absolute().then(|| PathBuf::from(name.text));
        let quoted = beside.into_iter().chain(folders.quoted.iter().map(PathBuf::as_path)).filter(|_| name.quoted);
        let candidates = quoted.chain(folders.all.iter().map(PathBuf::as_path)).map(|folder| folder.join(name.text));
        // `#include_next` finds a later one: all that there are.
        let mut any = false;
        for path in absolute.into_iter().chain(candidates) {
            let seen = found.files.iter().any(|(known, _)| *known == path);
            if seen {
                any = true;
            } else if let Ok(bytes) = std::fs::read(&path) {
                any = true;
                found.files.push((path, bytes));
            }
        }
        if !any {
            found.missing.insert(name.text.to_owned());
        }
    }
    Ok(())
}

/// The names that a text includes, or asks for by `__has_include`.
fn names(text: &str) -> Result<Vec<Name<'_>>, Unclear> {
    let bytes = text.as_bytes();
    let mut names = Vec::new();
    // Lines that go on in the next, and `??=` for `#`, are too rare to be followed.
    let hashes = memchr::memchr_iter(b'#', bytes).map(|at| (at, 1));
    let digraphs = memchr::memmem::find_iter(bytes, "%:").map(|at| (at, 2));
    for (at, length) in hashes.chain(digraphs) {
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
        if !bytes[start..at].iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let directive = line_at(text, at + length).trim_start();
        let word = directive.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        if directive.ends_with('\\') && "include".starts_with(&directive[..word]) {
            return Err(Unclear);
        }
        if ["include", "include_next", "import", "embed"].contains(&&directive[..word]) {
            names.push(name(&directive[word..]).ok_or(Unclear)?);
        }
    }
    for at in memchr::memmem::find_iter(bytes, "__has_") {
        let rest = line_at(text, at);
        let asked = ["__has_include_next", "__has_include", "__has_embed"];
        let Some(after) = asked.iter().find_map(|function| rest.strip_prefix(function)) else { continue };
        // In `#ifdef __has_include` nothing is asked for.
        if let Some(argument) = after.trim_start().strip_prefix('(') {
            names.push(name(argument).ok_or(Unclear)?);
        }
    }
    Ok(names)
}

/// The rest of the line from `at` on.
fn line_at(text: &str, at: usize) -> &str {
    let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end);
    text[at..end].trim_end_matches('\r')
}

/// The name in quotes or angles at the start of a text.
fn name(text: &str) -> Option<Name<'_>> {
    let text = text.trim_start();
    let (rest, end, quoted) = match text.strip_prefix('"') {
        Some(rest) => (rest, '"', true),
        None => (text.strip_prefix('<')?, '>', false),
    };
    let (text, _) = rest.split_once(end)?;
    Some(Name { text, quoted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_the_preprocessor_would() {
        let text = "#include \"a.h\"\n  #  include <b/c.h> // why\n%:include \"d.h\"\n#include_next <e.h>\n#pragma once\n\
                    #if __has_include(<f.h>) && __has_include (\"g.h\")\n#ifdef __has_include\nint include = 1; # include <no.h>\n#embed \"h.bin\"\n";
        let found: Vec<_> = names(text).unwrap().into_iter().map(|name| (name.text, name.quoted)).collect();
        let quoted = |text| (text, true);
        let angles = |text| (text, false);
        assert_eq!(
            found,
            [
                quoted("a.h"),
                angles("b/c.h"),
                angles("e.h"),
                quoted("h.bin"),
                quoted("d.h"),
                angles("f.h"),
                quoted("g.h")
            ]
        );
        for unclear in
            ["#include HEADER\n", "#include\n", "#include \\\n\"a.h\"\n", "#if __has_include(X)\n", "#include \"a\n"]
        {
            assert_eq!(names(unclear), Err(Unclear), "{unclear:?}");
        }
    }

    #[test]
    fn files_are_followed_through_folders() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["one", "two", "quoted"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        std::fs::write(at("one/a.h"), "#include \"beside.h\"\n#include <b.h>\n#include <a.h>\n").unwrap();
        std::fs::write(at("one/beside.h"), "").unwrap();
        std::fs::write(at("two/b.h"), "#include <none.h>\n").unwrap();
        std::fs::write(at("quoted/q.h"), "").unwrap();
        let folders = Folders { quoted: vec![at("quoted")], all: vec![at("one"), at("two")] };
        let find = |text: &str| find([text].into_iter(), |name| name == "given.h", &folders);
        let found = find("#include <a.h>\n#include \"q.h\"\n#include \"given.h\"\n").unwrap();
        let files: Vec<_> = found.files.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(files, [at("one/a.h"), at("quoted/q.h"), at("one/beside.h"), at("two/b.h")]);
        assert_eq!(found.missing.iter().collect::<Vec<_>>(), ["none.h"]);
        assert_eq!(find("#include <q.h>\n").unwrap().missing.len(), 1, "not for names in angles");
        std::fs::write(at("two/b.h"), "#include MACRO\n").unwrap();
        assert_eq!(find("#include <a.h>\n"), None);
    }
}
