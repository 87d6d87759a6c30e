//! `rocm-sdk env`

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use rocm_sdk::SearchExt as _;

use super::output::{self, Failure, Outcome};
use super::place::Place;

/// Print lines for a shell that set its variables to the ROCm installation
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Env {
    /// The shell; the default is the one that the variable SHELL names
    #[arg(long, value_enum)]
    shell: Option<Shell>,
}

const AFTER: &str = "\
Sets ROCM_PATH, and prepends the installation's existing directories to PATH, LD_LIBRARY_PATH and CMAKE_PREFIX_PATH,
unless they are in there already. The system's own directories are not changed.

Examples:
  eval \"$(rocm-sdk env)\"                                                      sh, bash, zsh, dash
  rocm-sdk env --shell fish | source
  eval \"`rocm-sdk env --shell csh`\"                                           csh, tcsh
  rocm-sdk env --shell powershell | Out-String | Invoke-Expression
  eval \"$(rocm-sdk --root /opt/rocm-6.4.3 env)\"";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    /// sh, bash, zsh, dash
    Sh,
    /// fish
    Fish,
    /// csh, tcsh
    Csh,
    /// PowerShell
    Powershell,
}

impl Env {
    pub(crate) fn run(&self, place: &Place) -> Outcome {
        let layout = place.search()?.layout()?;
        let shell = self.shell.unwrap_or_else(Shell::of_user);
        let mut lists = Vec::new();
        let mut add = |variable, directories: Vec<PathBuf>| {
            let new = directories.into_iter().filter(|dir| dir.is_dir() && !is_usual(dir));
            lists.extend(new.map(|dir| (variable, dir)));
        };
        let libraries: Vec<PathBuf> = match layout.library_roots() {
            [_] => vec![layout.lib().to_owned()],
            wheels => wheels.iter().map(|wheel| wheel.join("lib")).collect(),
        };
        match libraries.iter().find(|dir| dir.join("libc.so.6").is_file() && !is_usual(dir)) {
            Some(directory) => output::warn(format!(
                "PATH and LD_LIBRARY_PATH are not changed: the C library in {0} would break every program of this \
                 machine; start a single program with it by `rocm-sdk run`, or by {0}/ld-linux-*.so.2 --library-path {0}",
                directory.display()
            )),
            None => {
                add("PATH", vec![layout.bin()]);
                add("LD_LIBRARY_PATH", libraries);
            }
        }
        add("CMAKE_PREFIX_PATH", vec![layout.cmake()]);
        output::bytes(&shell.script(layout.root(), lists)?)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns whether a directory is in the default path of the shell, the loader or CMake.
fn is_usual(directory: &Path) -> bool {
    let prefixes = ["/", "/usr", "/usr/local"].map(Path::new);
    let names = ["bin", "lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"];
    let directory = if directory.ends_with("cmake") { directory.parent().unwrap_or(directory) } else { directory };
    prefixes.iter().any(|prefix| names.iter().any(|name| prefix.join(name) == directory))
}

impl Shell {
    fn of_user() -> Self {
        let shell = std::env::var_os("SHELL").unwrap_or_default();
        match Path::new(&shell).file_name().and_then(OsStr::to_str) {
            Some("fish") => Self::Fish,
            Some("csh" | "tcsh") => Self::Csh,
            Some("pwsh") => Self::Powershell,
            None if cfg!(windows) => Self::Powershell,
            _ => Self::Sh,
        }
    }

    /// Sets `ROCM_PATH` to `root` and prepends each directory to its variable: the first given comes first.
    fn script(self, root: &Path, lists: Vec<(&str, PathBuf)>) -> Result<Vec<u8>, Failure> {
        let separator = if cfg!(windows) { b';' } else { b':' };
        let mut script = Vec::new();
        let mut put = |parts: &[&[u8]]| script.extend(parts.concat());
        let value = self.quote(root.as_os_str())?;
        put(&match self {
            Self::Sh => [b"export ROCM_PATH=", &value[..], b"\n"],
            Self::Fish => [b"set -gx ROCM_PATH ", &value, b"\n"],
            Self::Csh => [b"setenv ROCM_PATH ", &value, b";\n"],
            Self::Powershell => [b"$env:ROCM_PATH = ", &value, b"\n"],
        });
        // The value of each variable after the csh lines so far.
        let mut known: Vec<(&str, OsString)> = Vec::new();
        for (variable, directory) in lists.into_iter().rev() {
            if directory.as_os_str().as_encoded_bytes().contains(&separator) {
                output::warn(format!(
                    "{} is not put into {variable}: there is a {:?} in it, which separates directories there",
                    directory.display(),
                    char::from(separator)
                ));
                continue;
            }
            let value = self.quote(directory.as_os_str())?;
            let (name, value) = (variable.as_bytes(), &value[..]);
            match self {
                Self::Sh => put(&[
                    b"case \":${",
                    name,
                    b"-}:\" in *:",
                    value,
                    b":*) ;; *) export ",
                    name,
                    b"=",
                    value,
                    b"\"${",
                    name,
                    b":+:${",
                    name,
                    b"}}\" ;; esac\n",
                ]),
                Self::Fish => put(&[
                    b"contains -- ",
                    value,
                    b" $",
                    name,
                    b"; or set -gx --path --prepend ",
                    name,
                    b" ",
                    value,
                    b"\n",
                ]),
                // csh cannot test in one line whether a variable is set, so the whole value is written.
                Self::Csh => {
                    let old = known.iter().rev().find(|(n, _)| *n == variable).map(|(_, v)| v.clone());
                    let old = old.or_else(|| std::env::var_os(variable)).unwrap_or_default();
                    let mut whole = directory.clone().into_os_string();
                    if std::env::split_paths(&old).any(|dir| dir == directory) {
                        continue;
                    }
                    if !old.is_empty() {
                        whole.push(":");
                        whole.push(&old);
                    }
                    put(&[b"setenv ", name, b" ", &self.quote(&whole)?, b";\n"]);
                    known.push((variable, whole));
                }
                Self::Powershell => put(&[
                    b"if (($env:",
                    name,
                    b" -split [IO.Path]::PathSeparator) -cnotcontains ",
                    value,
                    b") { $env:",
                    name,
                    b" = (@(",
                    value,
                    b") + @($env:",
                    name,
                    b" -split [IO.Path]::PathSeparator | Where-Object { $_ })) -join [IO.Path]::PathSeparator }\n",
                ]),
            }
        }
        Ok(script)
    }

    /// Quotes `text` as one word of the shell, whatever it contains.
    fn quote(self, text: &OsStr) -> Result<Vec<u8>, Failure> {
        let bytes = text.as_encoded_bytes();
        let mut quoted = vec![b'\''];
        match self {
            Self::Powershell => {
                // In PowerShell, typographic quotation marks end a string as well.
                let text = text
                    .to_str()
                    .ok_or_else(|| format!("{}: no Unicode, which PowerShell needs", text.to_string_lossy()))?;
                for c in text.chars() {
                    let twice = matches!(c, '\'' | '\u{2018}'..='\u{201b}');
                    let mut buffer = [0; 4];
                    let c = c.encode_utf8(&mut buffer).as_bytes();
                    quoted.extend(c.repeat(1 + usize::from(twice)));
                }
            }
            _ => {
                for &byte in bytes {
                    match (self, byte) {
                        (Self::Fish, b'\'' | b'\\') => quoted.extend([b'\\', byte]),
                        (Self::Sh | Self::Csh, b'\'') => quoted.extend(br"'\''"),
                        (Self::Csh, b'\n') => {
                            let path = text.to_string_lossy().into_owned();
                            return Err(
                                format!("{path:?}: there is a line end in it, which csh's eval does not keep").into()
                            );
                        }
                        // csh interprets it even between single quotes.
                        (Self::Csh, b'!') => quoted.extend([b'\\', byte]),
                        _ => quoted.push(byte),
                    }
                }
            }
        }
        quoted.push(b'\'');
        Ok(quoted)
    }
}

#[cfg(test)]
mod tests {
    use super::is_usual;
    use std::path::Path;

    #[test]
    fn directories_that_are_looked_at_anyway() {
        let usual = |dir: &str| is_usual(Path::new(dir));
        assert!(
            ["/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu/cmake", "/lib64", "/usr/local/lib"]
                .into_iter()
                .all(usual)
        );
        assert!(!["/opt/rocm/bin", "/usr", "/usr/lib/llvm-22/lib", "/usr/local/rocm/lib/cmake"].into_iter().any(usual));
    }
}
