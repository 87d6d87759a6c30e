//! The files that a source includes: found in its text, without a preprocessor.
//!
//! Directives in branches that are not compiled, or in comments, count too. So a change of an unused file gives another
//! key, which is harmless. A used file must never be overlooked: if that is possible, nothing is cached.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The dependencies of a source besides its own text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Included {
    /// The files, by the paths at which they were found.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// Names that were found in no directory: the compiler's own headers, or missing ones.
    pub(crate) missing: BTreeSet<String>,
}

/// The directories that are searched for headers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Folders {
    /// For names in quotes.
    pub(crate) quoted: Vec<PathBuf>,
    /// For all names.
    pub(crate) all: Vec<PathBuf>,
}

/// Options that read or write files and are not followed.
const UNFOLLOWED: [&str; 54] = [
    "@",
    "-include",
    "-imacros",
    "-iprefix",
    "-iwith",
    "-isysroot",
    "-isystem-after",
    "-iframework",
    "-ivfsoverlay",
    "-cxx-isystem",
    "-stdlib++",
    "-resource-dir",
    "-working-directory",
    "-specs",
    "-B",
    "-F",
    "-M",
    "-o",
    "-X",
    "-L",
    "-W",
    "--config",
    "--coverage",
    "--sysroot",
    "--specs",
    "--include",
    "--serialize",
    "--rocm-",
    "--hip-",
    "-coverage",
    "-dependency",
    "-fauto-profile",
    "-fbasic-block-sections",
    "-fcoverage",
    "-fcrash",
    "-fcs-profile",
    "-fembed",
    "-fmodule",
    "-fopenmp",
    "-foptimization-record",
    "-fpass-plugin",
    "-fplugin",
    "-fprebuilt",
    "-fproc-stat",
    "-fprofile",
    "-fsanitize",
    "-fsave-",
    "-ftest-coverage",
    "-fthinlto",
    "-ftime-trace",
    "-fxray",
    "-gen-",
    "-gsplit",
    "-load",
];
/// The same, as prefixes: other options begin with them.
const UNFOLLOWED_TOO: [&str; 3] = ["-save-", "--save-", "-mlink-"];
/// Variables of clang with further folders for headers.
const VARIABLES: [&str; 3] = ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"];

impl Folders {
    /// Returns the directories that the options add; `None` if one of the options cannot be followed.
    pub(crate) fn of_options(options: &[String]) -> Option<Self> {
        let mut folders = Self::default();
        let mut options = options.iter();
        while let Some(option) = options.next() {
            if option == "-mllvm" {
                options.next()?;
                continue;
            }
            // A file, or an argument of an option that is unknown here.
            if !option.starts_with('-') || is_unfollowed(option) {
                return None;
            }
            let folder = ["-iquote", "-isystem", "-idirafter", "-I"]
                .iter()
                .find_map(|name| Some((name, option.strip_prefix(*name)?)));
            if let Some((name, value)) = folder {
                let value = if value.is_empty() { options.next()? } else { value };
                let list = if *name == "-iquote" { &mut folders.quoted } else { &mut folders.all };
                list.push(PathBuf::from(value));
            }
        }
        Some(folders)
    }

    /// Adds the folders that clang's variables name. An empty name means the current directory.
    pub(crate) fn with_variables(mut self, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        for value in VARIABLES.iter().filter_map(|name| variable(name)).filter(|value| !value.is_empty()) {
            let named = std::env::split_paths(&value);
            self.all.extend(named.map(|path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }));
        }
        self
    }
}

fn is_unfollowed(option: &str) -> bool {
    // Warnings, except options that are passed on to other programs.
    let is_warning = option.starts_with("-W") && !option.contains(',');
    let has = |names: &[&str]| names.iter().any(|name| option.starts_with(name));
    !is_warning && (has(&UNFOLLOWED) || has(&UNFOLLOWED_TOO))
}

/// A name that a text includes.
#[derive(Debug, PartialEq, Eq)]
struct Name<'a> {
    text: &'a str,
    quoted: bool,
}

/// The names in a text cannot be determined.
#[derive(Debug, PartialEq, Eq)]
struct Unclear;

/// Finds the files that `texts` include, recursively. `known` are names of headers that are passed to the compiler.
/// Returns `None` if the files cannot be determined without a preprocessor.
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

/// Adds the files that one text includes. `beside` is the folder of the text's file.
fn follow(
    text: &str,
    beside: Option<&Path>,
    known: &impl Fn(&str) -> bool,
    folders: &Folders,
    found: &mut Included,
) -> Result<(), Unclear> {
    for name in names(text)? {
        let absolute = Path::new(name.text).is_absolute().then(|| PathBuf::from(name.text));
        let quoted = beside.into_iter().chain(folders.quoted.iter().map(PathBuf::as_path)).filter(|_| name.quoted);
        let candidates = quoted.chain(folders.all.iter().map(PathBuf::as_path)).map(|folder| folder.join(name.text));
        // `#include_next` finds a later one, so all that exist are added. A header that is passed to the compiler does not take precedence
        // over a file in the folder of the including file.
        let mut any = known(name.text);
        for path in absolute.into_iter().chain(candidates) {
            let seen = found.files.iter().any(|(known, _)| *known == path);
            if seen {
                any = true;
            } else if let Some(bytes) = read(&path)? {
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

/// Returns the bytes of a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Unclear> {
    match std::fs::metadata(path) {
        Ok(data) if data.is_file() => Ok(std::fs::read(path).ok()),
        Ok(data) if data.is_dir() => Ok(None),
        // A device or a pipe may return other bytes the next time, or never end.
        Ok(_) => Err(Unclear),
        Err(_) => Ok(None),
    }
}

/// Returns whether a text may read files by other means than names in directives: assembly can read files, and in some
/// standards `??=` is another `#` and `??/` another backslash.
fn has_other_means(bytes: &[u8]) -> bool {
    let rest = |at: usize| bytes.get(at..).unwrap_or_default();
    let reads = |at: usize| [&b"bin"[..], b"lude"].iter().any(|end| rest(at + 4).starts_with(end));
    memchr::memmem::find_iter(bytes, "??").any(|at| matches!(rest(at + 2).first(), Some(b'=' | b'/')))
        || memchr::memmem::find_iter(bytes, ".inc").any(reads)
}

/// Returns whether a directive can begin after this part of a line: as far as it shows, there are only spaces and
/// comments.
fn may_precede(before: &str) -> bool {
    let before = before.trim();
    before.is_empty() || before.ends_with("*/")
}

/// Returns the text after spaces and comments.
fn behind_comments(mut text: &str) -> Result<&str, Unclear> {
    loop {
        text = text.trim_start();
        match text.strip_prefix("/*") {
            // A comment that ends in another line is too rare to be followed.
            Some(inside) => text = inside.split_once("*/").ok_or(Unclear)?.1,
            None => return Ok(text),
        }
    }
}

/// Returns the names that a text includes, or queries with `__has_include`.
fn names(text: &str) -> Result<Vec<Name<'_>>, Unclear> {
    const DIRECTIVES: [&str; 4] = ["include", "include_next", "import", "embed"];
    let bytes = text.as_bytes();
    if has_other_means(bytes) {
        return Err(Unclear);
    }
    let mut names = Vec::new();
    let hashes = memchr::memchr_iter(b'#', bytes).map(|at| (at, 1));
    let digraphs = memchr::memmem::find_iter(bytes, "%:").map(|at| (at, 2));
    for (at, length) in hashes.chain(digraphs) {
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
        if !may_precede(&text[start..at]) {
            continue;
        }
        let directive = behind_comments(line_at(text, at + length))?;
        let word = directive.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        // Lines that continue in the next one are too rare to be followed.
        let begins_one = DIRECTIVES.iter().any(|name| name.starts_with(&directive[..word]));
        if directive.trim_end().ends_with('\\') && begins_one {
            return Err(Unclear);
        }
        if DIRECTIVES.contains(&&directive[..word]) {
            names.push(name(&directive[word..]).ok_or(Unclear)?);
        }
    }
    for at in memchr::memmem::find_iter(bytes, "__has_") {
        let rest = line_at(text, at);
        let asked = ["__has_include_next", "__has_include", "__has_embed"];
        let Some(after) = asked.iter().find_map(|function| rest.strip_prefix(function)) else { continue };
        // `#ifdef __has_include` queries no name.
        if let Some(argument) = after.trim_start().strip_prefix('(') {
            names.push(name(argument).ok_or(Unclear)?);
        }
    }
    Ok(names)
}

/// Returns the rest of the line from `at` on.
fn line_at(text: &str, at: usize) -> &str {
    let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end);
    text[at..end].trim_end_matches('\r')
}

/// Returns the name in quotes or angle brackets at the start of a text.
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
        let commented =
            "/* a */ #include <a.h>\n   and so on */#/**/ include/**/\n# /* b */ /* c */ embed \"d\" // e\n";
        assert_eq!(names(commented), Err(Unclear), "a comment behind the word");
        let commented = commented.replace("include/**/", "include <b.h>");
        assert_eq!(
            names(&commented).unwrap(),
            [angles("a.h"), angles("b.h"), quoted("d")].map(|(text, quoted)| Name { text, quoted })
        );
        for unclear in [
            "#include HEADER\n",
            "#include\n",
            "#include \\\n\"a.h\"\n",
            "#im\\  \r\nport <a.h>\n",
            "#\\\ninclude <a.h>\n",
            "# /* from here\n to here */ include <a.h>\n",
            "#if __has_include(X)\n",
            "#include \"a\n",
            "??=include <a.h>\n",
            "// does it go on??/\n",
            "asm(\".incbin \\\"a.bin\\\"\");\n",
            "asm(\".include \\\"a.s\\\"\");\n",
        ] {
            assert_eq!(names(unclear), Err(Unclear), "{unclear:?}");
        }
    }

    #[test]
    fn any_text_is_read() {
        let text =
            "#include \"a.h\"\n/* x */ # include <b>\n#if __has_include(<c>) //\n%:include_next <d>\n#embed \"e\"\n";
        let mut random = crate::damage::Random(6);
        let clear = (0..5000).filter(|_| names(&random.text(text)).is_ok()).count();
        assert!((1..5000).contains(&clear), "{clear}");
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
        // One header is passed to the compiler, another lies in the folder of the including file: the compiler uses the latter.
        std::fs::write(at("one/a.h"), "#include \"given.h\"\n").unwrap();
        assert_eq!(find("#include <a.h>\n").unwrap().files.len(), 1);
        std::fs::write(at("one/given.h"), "").unwrap();
        let found = find("#include <a.h>\n").unwrap();
        assert_eq!((found.files.len(), found.missing.len()), (2, 0));
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_not_read() {
        for text in ["#include \"/dev/zero\"\n", "#if __has_include(</dev/null>)\n"] {
            assert_eq!(find([text].into_iter(), |_| false, &Folders::default()), None);
        }
        assert_eq!(find(["#include \"/tmp\"\n"].into_iter(), |_| false, &Folders::default()).unwrap().missing.len(), 1);
    }

    #[test]
    fn options_that_read_or_write_files_are_told_from_others() {
        let of = |options: &[&str]| {
            Folders::of_options(&options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>())
        };
        let found =
            of(&["-Ione", "-I", "two", "-iquotethree", "-isystem", "four", "-O3", "-mllvm", "x", "-Wall"]).unwrap();
        assert_eq!(found.all, ["one", "two", "four"].map(PathBuf::from));
        assert_eq!(found.quoted, [PathBuf::from("three")]);
        for option in [
            "other.hip",
            "-isystem-after",
            "-iwithsysroot",
            "-stdlib++-isystem",
            "-fpass-plugin=x.so",
            "-resource-dir=x",
            "-working-directory=x",
            "-save-stats",
            "-fsanitize-ignorelist=x",
            "-Wp,-include,x",
            "-mlink-builtin-bitcode",
            "--coverage",
        ] {
            assert_eq!(of(&[option, "x"]), None, "{option}");
        }
        assert_eq!(of(&["-I"]), None, "without a folder");
    }

    #[test]
    fn variables_have_folders() {
        let folders = Folders::default().with_variables(|name| match name {
            "CPATH" => Some(std::env::join_paths(["/one", "", "/two"]).unwrap()),
            "C_INCLUDE_PATH" => Some(OsString::new()),
            _ => None,
        });
        assert_eq!(folders.all, ["/one", ".", "/two"].map(PathBuf::from));
    }
}
