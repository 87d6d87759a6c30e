//! The compiler's messages as values.

use std::fmt;

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Belongs to the message before it.
    Note,
    /// From an optimisation pass, if one was asked for.
    Remark,
    /// The source compiles.
    Warning,
    /// The source does not compile.
    Error,
    /// The compiler stopped here.
    Fatal,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Remark => "remark",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Fatal => "fatal error",
        })
    }
}

/// A message of the compiler. [`Display`](fmt::Display) shows it as the compiler does, with the source line and a
/// caret.
///
/// ```
/// use hiprtc::{Diagnostic, Severity};
///
/// let log = "\
/// scale.hip:3:10: error: use of undeclared identifier 'y'
///     3 |     *x = y;
///       |          ^
/// 1 error generated when compiling for gfx90a.
/// ";
/// let found = Diagnostic::parse(log);
/// assert_eq!(found.len(), 1);
/// assert_eq!((found[0].file.as_deref(), found[0].line, found[0].column), (Some("scale.hip"), Some(3), Some(10)));
/// assert_eq!(found[0].severity, Severity::Error);
/// let shown = "scale.hip:3:10: error: use of undeclared identifier 'y'\n    3 |     *x = y;\n      |          ^";
/// assert_eq!(found[0].to_string(), shown);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The file, as the compiler names it: the program's name, a header's, or a path. `None` for messages without a
    /// place, such as those about options.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column in bytes, from 1.
    pub column: Option<u32>,
    /// How serious it is.
    pub severity: Severity,
    /// The message, without the option that controls it.
    pub message: String,
    /// The warning option that controls it, such as `-Wunused-value`.
    pub option: Option<String>,
    /// The source line, if the compiler shows it.
    pub source: Option<String>,
    /// What the compiler draws below the line: a caret, and underlined ranges.
    pub marks: Option<String>,
}

impl Diagnostic {
    /// Finds the messages in a compiler's log, in their order. Other lines, such as counts of errors, are left out.
    pub fn parse(log: &str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        // The lines after a message belong to it: the source line first, then the marks.
        for line in log.lines() {
            if let Some(diagnostic) = Self::heading(line).or_else(|| Self::heading_of_nvidia(line)) {
                found.push(diagnostic);
                continue;
            }
            let Some(last) = found.last_mut().filter(|last| last.file.is_some()) else { continue };
            let (numbered, text) = match line.split_once('|') {
                Some((gutter, rest)) if gutter.trim().is_empty() => {
                    (Some(false), rest.strip_prefix(' ').unwrap_or(rest))
                }
                Some((gutter, rest)) if gutter.trim().parse::<u32>().is_ok() => {
                    (Some(true), rest.strip_prefix(' ').unwrap_or(rest))
                }
                _ => (None, line),
            };
            let are_marks = text.contains('^') && text.chars().all(|c| " ^~\t".contains(c));
            let is_source = numbered.unwrap_or(!line.trim().is_empty() && !is_summary(line));
            if last.source.is_none() && is_source {
                last.source = Some(last.without_indentation(text));
            } else if last.source.is_some() && last.marks.is_none() && are_marks {
                let marks = last.without_indentation(text.trim_end());
                // NVIDIA's compiler shows the column only here.
                last.column = last.column.or_else(|| marks.find('^').and_then(|at| u32::try_from(at + 1).ok()));
                last.marks = Some(marks);
            }
        }
        found
    }

    /// Parses the first line of a message: `FILE:LINE:COLUMN: SEVERITY: MESSAGE [OPTION]`, where the location is
    /// optional.
    fn heading(line: &str) -> Option<Self> {
        const SEVERITIES: [(&str, Severity); 5] = [
            ("fatal error: ", Severity::Fatal),
            ("error: ", Severity::Error),
            ("warning: ", Severity::Warning),
            ("remark: ", Severity::Remark),
            ("note: ", Severity::Note),
        ];
        let found = SEVERITIES.iter().filter_map(|(mark, severity)| Some((line.find(mark)?, mark.len(), *severity)));
        // The first severity counts: a message may contain the word. Of two at one position, the longer.
        let (at, length, severity) = found.min_by_key(|(at, length, _)| (*at, usize::MAX - length))?;
        let place = &line[..at];
        let (file, line_number, column) = if place.is_empty() || is_tool(place) {
            (None, None, None)
        } else {
            let mut parts = place.strip_suffix(": ")?.rsplitn(3, ':');
            let column = parts.next()?.parse().ok()?;
            let line_number = parts.next()?.parse().ok()?;
            (Some(short(parts.next()?).to_owned()), Some(line_number), Some(column))
        };
        let text = line[at + length..].trim_end();
        let option = text.strip_suffix(']').and_then(|text| text.rsplit_once(" [-W"));
        let (message, option) = match option {
            Some((message, option)) => (message, Some(format!("-W{option}"))),
            None => (text, None),
        };
        let message = message.to_owned();
        Some(Self { file, line: line_number, column, severity, message, option, source: None, marks: None })
    }
}

/// NVIDIA's front end, whose messages have another form.
impl Diagnostic {
    /// Parses the first line of a message: `FILE(LINE): SEVERITY: MESSAGE`, where warnings have a number after the
    /// severity; or `ptxas SEVERITY : MESSAGE`.
    fn heading_of_nvidia(line: &str) -> Option<Self> {
        const SEVERITIES: [(&str, Severity); 6] = [
            ("catastrophic error", Severity::Fatal),
            ("fatal", Severity::Fatal),
            ("error", Severity::Error),
            ("warning", Severity::Warning),
            ("remark", Severity::Remark),
            ("note", Severity::Note),
        ];
        let (file, line_number, rest) = match line.strip_prefix("ptxas ") {
            Some(rest) => (None, None, rest),
            None => {
                let (place, rest) = line.split_once("): ")?;
                let (file, number) = place.rsplit_once('(')?;
                (Some(file.to_owned()).filter(|file| !file.is_empty()), Some(number.parse().ok()?), rest)
            }
        };
        let (name, severity) = SEVERITIES.iter().find(|(name, _)| rest.starts_with(name))?;
        let (number, message) = rest[name.len()..].split_once(':')?;
        // #177-D, where D says that it can be suppressed.
        let option = match number.trim() {
            "" => None,
            number => {
                let number = number.strip_prefix('#')?;
                number.strip_suffix("-D").map(|number| format!("--diag-suppress={number}"))
            }
        };
        let message = message.trim().to_owned();
        let severity = *severity;
        Some(Self { file, line: line_number, column: None, severity, message, option, source: None, marks: None })
    }

    /// Returns a line below a message without what the compiler puts before it: NVIDIA's indents by two spaces.
    fn without_indentation(&self, text: &str) -> String {
        let is_nvidias = self.line.is_some() && self.column.is_none();
        text.strip_prefix("  ").filter(|_| is_nvidias).unwrap_or(text).to_owned()
    }
}

/// Returns whether this is the name of a program: some messages begin with `clang: `, `ld.lld: ` and the like.
fn is_tool(place: &str) -> bool {
    let name = place.strip_suffix(": ").unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c))
}

/// Returns whether a line is a summary at the end, such as the count of messages.
fn is_summary(line: &str) -> bool {
    let counts = [" generated", " detected in the compilation"].iter().any(|end| line.contains(end));
    line.starts_with(|c: char| c.is_ascii_digit()) && counts
        || line.starts_with("Remark: ")
        || line == "Compilation terminated."
}

/// Returns the name of a source or header that was passed to the compiler in memory: the compiler stores it in a folder
/// of its own.
pub(crate) fn short(path: &str) -> &str {
    let own = |folder: &str| path.split_once(folder).filter(|(before, _)| before.contains("comgr-"));
    ["/input/", "/include/"].iter().find_map(|folder| own(folder)).map_or(path, |(_, name)| name)
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            for number in [self.line, self.column].into_iter().flatten() {
                write!(f, "{number}:")?;
            }
            f.write_str(" ")?;
        }
        write!(f, "{}: {}", self.severity, self.message)?;
        if let Some(option) = &self.option {
            write!(f, " [{option}]")?;
        }
        if let Some(source) = &self.source {
            match self.line {
                Some(line) => write!(f, "\n{line:5} | {source}")?,
                None => write!(f, "\n      | {source}")?,
            }
            if let Some(marks) = &self.marks {
                write!(f, "\n      | {marks}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logs of clang 17 and newer, and of older ones, which print no line numbers before the source.
    #[test]
    fn logs_of_two_generations_of_clang() {
        let new = "\
In file included from a.hip:1:
/tmp/comgr-1f2e3d/include/inner.h:2:5: warning: unused variable 'error: x' [-Wunused-variable]
    2 | int x;
      |     ^
a.hip:10:3: error: no matching function for call to 'f'
   10 |   f(1, 2);
      |   ^~~~
a.hip:4:6: note: candidate function not viable: requires 1 argument
    4 | void f(int);
      |      ^ ~~~
2 errors generated when compiling for gfx90a.
error: cannot find ROCm device library
";
        let found = Diagnostic::parse(new);
        let places: Vec<_> =
            found.iter().map(|d| (d.file.as_deref(), d.line, d.column, d.severity, d.message.as_str())).collect();
        assert_eq!(
            places,
            [
                (Some("inner.h"), Some(2), Some(5), Severity::Warning, "unused variable 'error: x'"),
                (Some("a.hip"), Some(10), Some(3), Severity::Error, "no matching function for call to 'f'"),
                (Some("a.hip"), Some(4), Some(6), Severity::Note, "candidate function not viable: requires 1 argument"),
                (None, None, None, Severity::Error, "cannot find ROCm device library"),
            ]
        );
        assert_eq!(found[0].option.as_deref(), Some("-Wunused-variable"));
        assert_eq!((found[1].source.as_deref(), found[1].marks.as_deref()), (Some("  f(1, 2);"), Some("  ^~~~")));
        assert_eq!(found[3].source, None);
        let tool = Diagnostic::parse("ld.lld: error: undefined symbol: f\n>>> referenced by a.hip\n");
        assert_eq!((tool[0].file.as_deref(), tool[0].message.as_str()), (None, "undefined symbol: f"));
        let old = "/tmp/comgr-0/input/b.hip:3:7: error: expected ';' after expression\n  x = 1\n      ^\n      ;\n1 error generated.\n";
        let found = Diagnostic::parse(old);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "b.hip:3:7: error: expected ';' after expression\n    3 |   x = 1\n      |       ^"
        );
    }

    /// A log of NVRTC 13.0.
    #[test]
    fn logs_of_nvidias_front_end() {
        let log = "\
inc.cu(2): warning #177-D: variable \"unused\" was declared but never referenced
  extern \"C\" __global__ void k(int*x){ int unused; *x = 3; }
                                           ^

Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"

dir(1)/inc.cu(3): error: identifier \"y\" is undefined
  *x = y;
       ^

a.h(1): catastrophic error: could not open source file \"b.h\" (no directories in search list)
  #include \"b.h\"
                ^

1 error detected in the compilation of \"inc.cu\".
Compilation terminated.
ptxas error   : Entry function 'k' uses too much shared data (0x20000 bytes, 0xc000 max)
nvrtc: error: failed to open libnvrtc-builtins.so.13.0.
";
        let found = Diagnostic::parse(log);
        let places: Vec<_> = found.iter().map(|d| (d.file.as_deref(), d.line, d.column, d.severity)).collect();
        assert_eq!(
            places,
            [
                (Some("inc.cu"), Some(2), Some(42), Severity::Warning),
                (Some("dir(1)/inc.cu"), Some(3), Some(6), Severity::Error),
                (Some("a.h"), Some(1), Some(15), Severity::Fatal),
                (None, None, None, Severity::Error),
                (None, None, None, Severity::Error),
            ]
        );
        assert_eq!(found[0].option.as_deref(), Some("--diag-suppress=177"));
        let shown = "dir(1)/inc.cu:3:6: error: identifier \"y\" is undefined\n    3 | *x = y;\n      |      ^";
        assert_eq!(found[1].to_string(), shown);
        assert!(found[3].message.starts_with("Entry function 'k'"), "{}", found[3]);
        assert!(found[4].message.starts_with("failed to open"), "{}", found[4]);
    }

    #[test]
    fn whatever_a_log_has_does_no_harm() {
        let log = "/tmp/comgr-1f/include/a.h:2:5: warning: unused 'x' [-Wunused]\n    2 | int x;\n      |     ^\n\
                   c.hip(4): warning #177-D: unused\n  int x;\n      ^\nptxas fatal   : x\nd(5): error: y\n\
                   ld.lld: error: undefined symbol: f\nb.hip:4294967296:3: fatal error: too far\n1 error generated.\n";
        let mut random = crate::damage::Random(1);
        for _ in 0..5000 {
            for diagnostic in Diagnostic::parse(&random.text(log)) {
                assert!(!diagnostic.to_string().is_empty());
            }
        }
    }

    #[test]
    fn what_is_no_message_is_none() {
        for log in [
            "",
            "\n\n",
            "all is well\n",
            "a: error\n",
            "a.hip:x:1: error: y\n",
            "  puts(\"a: error: b\");\n",
            "1 warning generated.\n",
        ] {
            assert_eq!(Diagnostic::parse(log), [], "{log:?}");
        }
    }
}
