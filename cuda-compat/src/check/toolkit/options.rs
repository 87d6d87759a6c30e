//! nvcc's options, from the table in `nvcc.tsv`, and the arguments of a command.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

/// The values that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    None,
    One,
    /// Several, with commas between them.
    List,
    /// `true` or `false`, or nothing, which is `true`.
    Bool,
}

/// What happens with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Mapped,
    Ignored,
    Refused,
}

/// A line of the table.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) long: &'static str,
    pub(super) short: &'static str,
    pub(super) values: Values,
    pub(super) fate: Fate,
    pub(super) about: &'static str,
}

/// All options.
pub(super) static OPTIONS: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    let spec = |line: &'static str| {
        let mut fields = line.split('\t');
        let mut field = || fields.next().unwrap_or_default();
        Spec {
            long: field(),
            short: field(),
            values: match field() {
                "one" => Values::One,
                "list" => Values::List,
                "bool" => Values::Bool,
                _ => Values::None,
            },
            fate: match field() {
                "mapped" => Fate::Mapped,
                "refused" => Fate::Refused,
                _ => Fate::Ignored,
            },
            about: field(),
        }
    };
    include_str!("nvcc.tsv").lines().skip(1).map(spec).collect()
});

/// Short options whose value may follow without a space.
const JOINED: [&str; 7] = ["I", "D", "U", "L", "l", "O", "t"];

/// One option of a command.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) spec: &'static Spec,
    /// The value: empty without one, `true` or `false` for [`Values::Bool`].
    pub(super) value: String,
    /// As it was written.
    pub(super) written: String,
}

impl Given {
    /// Returns the values of a list. `\,` is a comma in a value.
    pub(super) fn values(&self) -> Vec<String> {
        let mut values = vec![String::new()];
        let mut characters = self.value.chars().peekable();
        while let Some(c) = characters.next() {
            let last = values.len() - 1;
            match c {
                '\\' if characters.next_if_eq(&',').is_some() => values[last].push(','),
                ',' => values.push(String::new()),
                c => values[last].push(c),
            }
        }
        values.retain(|value| !value.is_empty());
        values
    }
}

/// The arguments of a command.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) options: Vec<Given>,
    pub(super) files: Vec<String>,
}

/// How deep files of options may name others.
const DEEPEST: usize = 16;

/// Reads arguments, and files of options.
pub(super) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Arguments, String> {
    let mut parsed = Arguments::default();
    parse_into(&mut parsed, arguments.into_iter().collect(), 0)?;
    Ok(parsed)
}

fn parse_into(parsed: &mut Arguments, mut rest: VecDeque<String>, depth: usize) -> Result<(), String> {
    while let Some(argument) = rest.pop_front() {
        if let Some(file) = argument.strip_prefix('@') {
            parse_into(parsed, of_file(file, depth)?, depth + 1)?;
        } else if argument.len() > 1 && argument.starts_with('-') {
            let given = option(argument, &mut rest)?;
            if given.spec.long == "options-file" {
                for file in given.values() {
                    parse_into(parsed, of_file(&file, depth)?, depth + 1)?;
                }
            } else {
                parsed.options.push(given);
            }
        } else {
            parsed.files.push(argument);
        }
    }
    Ok(())
}

/// Returns the arguments in a file.
fn of_file(file: &str, depth: usize) -> Result<VecDeque<String>, String> {
    if depth >= DEEPEST {
        return Err(format!("{file}: files of options name each other more than {DEEPEST} times"));
    }
    let text = std::fs::read_to_string(Path::new(file)).map_err(|error| format!("options in {file}: {error}"))?;
    Ok(words(&text).into())
}

/// Splits a text at white space, except in quotes. A backslash takes the character behind it as it is.
pub(super) fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                // A backslash before a comma is for lists, and before the end of a line joins lines.
                match characters.next() {
                    Some('\n') | None => {}
                    Some(',') => word.get_or_insert_default().push_str("\\,"),
                    Some(next) => word.get_or_insert_default().push(next),
                }
            }
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Reads an option, and its value from the arguments behind it.
fn option(argument: String, rest: &mut VecDeque<String>) -> Result<Given, String> {
    let name = argument.strip_prefix("--").unwrap_or(&argument[1..]);
    let (name, value) = match name.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (name, None),
    };
    let exact = OPTIONS.iter().find(|spec| spec.long == name || spec.short == name);
    let joined = || {
        let text = argument.strip_prefix('-').filter(|text| !text.starts_with('-'))?;
        let spec = OPTIONS.iter().find(|spec| JOINED.contains(&spec.short) && text.starts_with(spec.short))?;
        Some((spec, Some(text[spec.short.len()..].to_owned())))
    };
    let Some((spec, value)) = exact.map(|spec| (spec, value)).or_else(joined) else {
        return Err(format!(
            "unknown option '{argument}': nvcc has none of this name. Options of the host's compiler are passed as \
             '-Xcompiler {argument}'; `nvcc --help` lists nvcc's, and what each does here"
        ));
    };
    let mut written = argument.clone();
    let value = match (spec.values, value) {
        (Values::None, None) => String::new(),
        (Values::None, Some(value)) if value == "true" => String::new(),
        (Values::None, Some(_)) => return Err(format!("'{argument}': --{} takes no value", spec.long)),
        (Values::Bool, None) => match rest.front().map(String::as_str) {
            Some("true" | "false") => rest.pop_front().unwrap_or_default(),
            _ => "true".to_owned(),
        },
        (Values::Bool, Some(value)) if value == "true" || value == "false" => value,
        (Values::Bool, Some(_)) => return Err(format!("'{argument}': --{} takes true or false", spec.long)),
        (Values::One | Values::List, Some(value)) => value,
        (Values::One | Values::List, None) => {
            let value = rest.pop_front().ok_or_else(|| format!("'{argument}' needs a value"))?;
            let _ = write!(written, " {value}");
            value
        }
    };
    Ok(Given { spec, value, written })
}

/// The list for `--help`.
pub(super) fn help() -> String {
    let mut help = String::from(
        "\
nvcc of cuda-compat compiles CUDA C++ for AMD GPUs. It is a stand-in for NVIDIA's nvcc, for build scripts that call that.

Usage: nvcc [OPTION]... FILE...

  nvcc --ptx -std=c++17 kernels.cu -o kernels.ptx     a text with code of AMD GPUs, for include_str! and cuModuleLoadData
  nvcc -c kernels.cu -o kernels.o                     an object with functions of the host, by ROCm's clang
  nvcc --lib -o libkernels.a kernels.o                a static library

The architectures are those that -arch or -code name (gfx90a), those in the variable CUDA_COMPAT_ARCH (gfx90a,gfx942),
those of this machine's GPUs, or gfx90a: the first of these that there is.

NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS are options before and behind those of the command.
",
    );
    for (fate, title) in [
        (Fate::Mapped, "Options with an effect"),
        (Fate::Refused, "Options that are errors, and what to do instead"),
        (Fate::Ignored, "Options without an effect, and why"),
    ] {
        let _ = writeln!(help, "\n{title}:");
        for spec in OPTIONS.iter().filter(|spec| spec.fate == fate) {
            let value = match spec.values {
                Values::None => "",
                Values::One => " VALUE",
                Values::List => " VALUE,...",
                Values::Bool => " true|false",
            };
            let names = match spec.short {
                short if short == spec.long => format!("-{short}{value}"),
                short => format!("--{}, -{short}{value}", spec.long),
            };
            let _ = writeln!(help, "  {names}\n      {}", spec.about);
        }
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(arguments: &[&str]) -> Vec<(&'static str, String)> {
        let parsed = parse(arguments.iter().map(|text| (*text).to_owned())).unwrap();
        parsed.options.into_iter().map(|given| (given.spec.long, given.value)).collect()
    }

    #[test]
    fn lines_of_the_table_are_whole_and_names_are_unique() {
        let lines = include_str!("nvcc.tsv").lines().skip(1);
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), 5, "{line}");
            assert!(["none", "one", "list", "bool"].contains(&fields[2]), "{line}");
            assert!(["mapped", "ignored", "refused"].contains(&fields[3]), "{line}");
            assert!(fields.iter().all(|field| !field.is_empty()), "{line}");
        }
        for (at, spec) in OPTIONS.iter().enumerate() {
            for other in &OPTIONS[at + 1..] {
                for name in [spec.long, spec.short] {
                    assert!(other.long != name && other.short != name, "{name} is there twice");
                }
            }
        }
    }

    #[test]
    fn values_are_read_in_all_forms() {
        let text = |name: &'static str, value: &str| (name, value.to_owned());
        assert_eq!(
            given(&["-Ia", "-I", "b", "-I=c", "--include-path=d", "--include-path", "e"]),
            ["a", "b", "c", "d", "e"].map(|value| text("include-path", value))
        );
        assert_eq!(given(&["-DA=1", "-D", "B"]), [text("define-macro", "A=1"), text("define-macro", "B")]);
        assert_eq!(
            given(&["-O3", "-std=c++17", "-std", "c++20"]),
            [text("optimize", "3"), text("std", "c++17"), text("std", "c++20")]
        );
        assert_eq!(
            given(&["-ftz=true", "--fmad=false", "-fmad", "false", "-ftz", "-c"]),
            [
                text("ftz", "true"),
                text("fmad", "false"),
                text("fmad", "false"),
                text("ftz", "true"),
                text("compile", "")
            ]
        );
        assert_eq!(
            given(&["-gencode=arch=compute_80,code=sm_80"]),
            [text("generate-code", "arch=compute_80,code=sm_80")]
        );
        // The longer names win, as in nvcc.
        assert_eq!(
            given(&["-lib", "-lineinfo", "-lcuda", "-odir", "x", "-t4", "--threads=2"]),
            [
                text("lib", ""),
                text("generate-line-info", ""),
                text("library", "cuda"),
                text("output-directory", "x"),
                text("threads", "4"),
                text("threads", "2")
            ]
        );
        assert_eq!(
            given(&["-Xcompiler", "-fPIC", "-Xptxas=-v"]),
            [text("compiler-options", "-fPIC"), text("ptxas-options", "-v")]
        );
    }

    #[test]
    fn lists_and_quotes_are_split() {
        let parsed = parse(["-Xcompiler=-Wall,-DA=1\\,2".to_owned()]).unwrap();
        assert_eq!(parsed.options[0].values(), ["-Wall", "-DA=1,2"]);
        assert_eq!(words("a 'b c' \"d\\\" e\" f\\ g \\\n h ''"), ["a", "b c", "d\" e", "f g", "h", ""]);
    }

    #[test]
    fn files_of_options_are_read_where_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("options");
        std::fs::write(&file, "-DA \"b c.cu\"\n-O3").unwrap();
        let file = file.display().to_string();
        for arguments in [vec![format!("@{file}")], vec!["--options-file".to_owned(), file.clone()]] {
            let parsed = parse(arguments).unwrap();
            assert_eq!(parsed.files, ["b c.cu"]);
            assert_eq!(parsed.options.len(), 2);
        }
        std::fs::write(&file, format!("@{file}")).unwrap();
        assert!(parse([format!("@{file}")]).unwrap_err().contains("name each other"));
        assert!(parse(["@/no/such/file".to_owned()]).unwrap_err().contains("/no/such/file"));
    }

    #[test]
    fn wrong_options_are_named_with_what_to_do() {
        let error = |argument: &str| parse([argument.to_owned()]).unwrap_err();
        assert!(error("-fPIC").starts_with("unknown option '-fPIC'") && error("-fPIC").contains("-Xcompiler -fPIC"));
        assert_eq!(error("--ptx=8"), "'--ptx=8': --ptx takes no value");
        assert_eq!(error("-ftz=8"), "'-ftz=8': --ftz takes true or false");
        assert_eq!(error("-o"), "'-o' needs a value");
    }
}
