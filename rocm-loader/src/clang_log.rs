//! Places in the messages of Clang, as Comgr returns them: used by the crates that compile.
//!
//! With its cache on, which is the default since ROCm 7, Comgr compiles the output of the preprocessor. File and line are then those
//! of the source, but the column and the shown line are those of the text in which macros are replaced.

use std::collections::HashMap;

/// A line with more tokens, such as one of generated code, is not compared.
const MOST_TOKENS: usize = 1000;

/// Returns the messages with the columns and lines of the source. `source` returns the text of a file that a message names. A column
/// in the text of a macro becomes the column of the macro's use.
pub fn with_places_of_source(log: &str, source: impl Fn(&str) -> Option<String>) -> String {
    let mut texts: HashMap<String, Option<String>> = HashMap::new();
    let mut fixed: Vec<String> = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        let shown = Place::of(line).and_then(|place| Some((place, snippet(lines.peek()?, place.line)?)));
        let Some((place, (gutter, shown))) = shown else {
            fixed.push(line.to_owned());
            continue;
        };
        let text = texts.entry(place.file.to_owned()).or_insert_with(|| source(place.file));
        let original = text.as_deref().and_then(|text| text.lines().nth(place.line as usize - 1));
        let column = original.and_then(|original| column_in(original, shown, place.column));
        let (Some(original), Some(column)) = (original, column) else {
            fixed.push(line.to_owned());
            continue;
        };
        let width = gutter.len();
        fixed.push(format!("{}:{}:{column}:{}", place.file, place.line, place.rest));
        fixed.push(format!("{gutter}{original}"));
        lines.next();
        // The marks below, which are for the other text.
        let is_marks = |line: &&str| line.get(..width).is_some_and(|start| start.trim() == "|");
        if let Some(marks) = lines.next_if(is_marks) {
            fixed.push(format!("{}{}^", &marks[..width], " ".repeat(column - 1)));
        }
    }
    if log.ends_with('\n') {
        fixed.push(String::new());
    }
    fixed.join("\n")
}

/// Removes Comgr's temporary directories from messages: `/tmp/comgr-1a2b/input/a.hip:1:2: error: ..` is about `a.hip`.
pub fn without_directories(log: &str) -> String {
    const FOLDERS: [&str; 3] = ["input/", "include/", "output/"];
    let mut kept = String::with_capacity(log.len());
    let mut rest = log;
    while let Some(at) = rest.find("/comgr-") {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let folder = after.find('/').map(|slash| &after[slash + 1..]);
        match folder.and_then(|folder| FOLDERS.iter().find_map(|name| folder.strip_prefix(name))) {
            Some(file) => {
                // The path starts after the last space, quote or bracket.
                let start = before.rfind(|c: char| c.is_whitespace() || "'\"([".contains(c)).map_or(0, |at| at + 1);
                kept.push_str(&before[..start]);
                rest = file;
            }
            None => {
                kept.push_str(&rest[..at + 1]);
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Returns the messages with the errors first, each with its notes, and the counts of messages last.
pub fn errors_first(log: &str) -> String {
    let (mut errors, mut others, mut counts) = (String::new(), String::new(), String::new());
    // Lines before a message that say where its file is included.
    let mut includes = String::new();
    let mut is_error = false;
    for line in log.split_inclusive('\n') {
        if line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" generated") {
            counts.push_str(line);
            continue;
        }
        if line.starts_with("In file included from ") {
            includes.push_str(line);
            continue;
        }
        match severity(line) {
            Some("error" | "fatal error") => is_error = true,
            Some("warning" | "remark") => is_error = false,
            _ => {}
        }
        let place = if is_error { &mut errors } else { &mut others };
        place.push_str(&std::mem::take(&mut includes));
        place.push_str(line);
    }
    others.push_str(&includes);
    if !errors.is_empty() && !errors.ends_with('\n') {
        errors.push('\n');
    }
    errors + &others + &counts
}

/// Returns the severity of a message that starts in a line, with a place or without.
fn severity(line: &str) -> Option<&'static str> {
    const SEVERITIES: [&str; 5] = ["error", "warning", "note", "fatal error", "remark"];
    let starts = |text: &str, name: &str| text.strip_prefix(name).is_some_and(|rest| rest.starts_with(": "));
    match Place::of(line) {
        Some(place) => SEVERITIES.into_iter().find(|name| starts(place.rest.trim_start(), name)),
        None => SEVERITIES.into_iter().find(|name| starts(line, name)),
    }
}

/// The start of a message: `file:line:column: error: ...`.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    line: u32,
    column: usize,
    rest: &'a str,
}

impl<'a> Place<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let kinds = [": error: ", ": warning: ", ": note: ", ": fatal error: ", ": remark: "];
        let at = kinds.iter().filter_map(|kind| line.find(kind)).min()?;
        let (place, rest) = (&line[..at], &line[at + 1..]);
        let (place, column) = place.rsplit_once(':')?;
        let (file, number) = place.rsplit_once(':')?;
        let (number, column) = (number.parse().ok()?, column.parse().ok()?);
        (number > 0 && column > 0).then_some(Self { file, line: number, column, rest })
    }
}

/// Splits a line such as `   12 | int x;` into what is left of the text and the text, if it is line `number`.
fn snippet(line: &str, number: u32) -> Option<(&str, &str)> {
    let at = line.find(" | ")? + 3;
    let (gutter, text) = line.split_at(at);
    (gutter[..at - 3].trim().parse() == Ok(number)).then_some((gutter, text))
}

/// Returns the column in the source's line of a column in the shown one. `None` if the lines are the same, or cannot be compared.
fn column_in(original: &str, shown: &str, column: usize) -> Option<usize> {
    let plain = |text: &str| text.is_ascii() && !text.contains('\t');
    if original.trim_end() == shown.trim_end() || !plain(original) || !plain(shown) {
        return None;
    }
    let (of_original, of_shown) = (tokens(original), tokens(shown));
    if of_original.len().max(of_shown.len()) > MOST_TOKENS {
        return None;
    }
    // The token that the column is in, or the one before.
    let wanted = of_shown.iter().rposition(|(start, _)| *start < column)?;
    let pairs = common(&of_original, &of_shown);
    let at = |index: usize| of_original[index].0 + 1;
    if let Some(&(found, _)) = pairs.iter().find(|&&(_, other)| other == wanted) {
        return Some(at(found) + (column - 1 - of_shown[wanted].0));
    }
    // It is of a macro, which the source has behind the last token that both have.
    let next = pairs.iter().rev().find(|&&(_, other)| other < wanted).map_or(0, |&(found, _)| found + 1);
    of_original.get(next).map(|_| at(next))
}

/// Returns names, numbers and single other characters, with where they start.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        let from = &rest[start..];
        let word = from.find(|c| !is_word(c)).unwrap_or(from.len());
        let size = if word == 0 { from.chars().next().map_or(1, char::len_utf8) } else { word };
        found.push((text.len() - from.len(), &from[..size]));
        rest = &from[size..];
    }
    found
}

/// Returns a longest common subsequence, as pairs of indices.
fn common(left: &[(usize, &str)], right: &[(usize, &str)]) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    // The length for what begins at each pair.
    let mut lengths = vec![0_u16; (left.len() + 1) * width];
    for (i, (_, one)) in left.iter().enumerate().rev() {
        for (j, (_, other)) in right.iter().enumerate().rev() {
            lengths[i * width + j] = match one == other {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < left.len() && j < right.len() {
        if left[i].1 == right[j].1 {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "__global__ void f(int *x) { x[0] = LONG; int y = WRONG + other; }";
    const SHOWN: &str = "__attribute__((global)) void f(int *x) { x[0] = (1 + 2 + 3); int y = nonsense + other; }";

    fn restored(log: &str) -> String {
        with_places_of_source(log, |file| (file == "a.hip").then(|| format!("#define WRONG nonsense\n{LINE}\n")))
    }

    fn message(line: &str, at: &str, marks: &str) -> String {
        let column = line.find(at).unwrap() + 1;
        format!(
            "a.hip:2:{column}: error: it is wrong\n    2 | {line}\n      | {}^{marks}\n1 error generated.\n",
            " ".repeat(column - 1)
        )
    }

    #[test]
    fn columns_are_those_of_the_source() {
        assert_eq!(restored(&message(SHOWN, "other", "~~~~")), message(LINE, "other", ""));
        assert_eq!(restored(&message(SHOWN, "y =", "")), message(LINE, "y =", ""));
        // Of a macro: where it is used.
        assert_eq!(restored(&message(SHOWN, "nonsense", "~~~~~~~")), message(LINE, "WRONG", ""));
        assert_eq!(restored(&message(SHOWN, "global", "")), message(LINE, "__global__", ""));
        assert_eq!(restored(&message(SHOWN, "3)", "")), message(LINE, "LONG", ""));
    }

    #[test]
    fn other_messages_stay() {
        let usual = message(LINE, "WRONG", "~~~~");
        for log in [
            &usual,
            &usual.replace("a.hip", "b.hip"),
            &message(SHOWN, "other", "").replace("    2 |", "    7 |"),
            &message(SHOWN, "other", "").replace("int y", "int\ty"),
            &message(&SHOWN.replace("y", "é"), "other", ""),
            &"a.hip:2:99999999999999999999: error: far\n".to_owned(),
            &"a.hip:0:0: error: nowhere\n    0 | x\n".to_owned(),
            &"ld.lld: error: undefined symbol: f".to_owned(),
            &"error: ".to_owned(),
            &String::new(),
        ] {
            assert_eq!(&restored(log), log);
        }
        // A column behind the line's end.
        let far = restored(&format!("a.hip:2:4000: error: x\n    2 | {SHOWN}\n"));
        assert!(far.starts_with("a.hip:2:") && far.contains(LINE), "{far}");
        let long = "a ".repeat(MOST_TOKENS + 1);
        assert_eq!(column_in(&long, &long.replace("a ", "b "), 3), None);
    }

    #[test]
    fn messages_name_the_callers_files() {
        let log =
            "/tmp/comgr-12-1-ab/input/a.hip:1:2: error: x\nIn file from '/var/t/comgr-1/include/b.h':3:\n a/comgr-x";
        assert_eq!(without_directories(log), "a.hip:1:2: error: x\nIn file from 'b.h':3:\n a/comgr-x");
        assert_eq!(without_directories(""), "");
    }

    #[test]
    fn errors_are_first_with_their_notes() {
        let log = "a.hip:1:2: note: advice\nIn file included from a.hip:1:\nb.h:3:4: warning: unused\n    3 | int x;\nb.h:5:1: note: here\n\
            In file included from a.hip:1:\nIn file included from b.h:2:\nc.h:1:1: error: wrong\n    1 | y\n      | ^\na.hip:2:2: note: candidate\nwarning: option\n\
            1 warning and 1 error generated.\n";
        let sorted = "In file included from a.hip:1:\nIn file included from b.h:2:\nc.h:1:1: error: wrong\n    1 | y\n      | ^\na.hip:2:2: note: candidate\n\
            a.hip:1:2: note: advice\nIn file included from a.hip:1:\nb.h:3:4: warning: unused\n    3 | int x;\nb.h:5:1: note: here\nwarning: option\n\
            1 warning and 1 error generated.\n";
        assert_eq!(errors_first(log), sorted);
        for other in ["", "ld.lld: undefined\n", "warning: x", "a.hip:1:1: fatal error: no file\n"] {
            assert_eq!(errors_first(other), other);
        }
        assert_eq!(errors_first("note: x\nerror: y"), "error: y\nnote: x\n");
    }
}
