//! Doxygen comments to Markdown that rustdoc renders: parameters as a list, results and notes as paragraphs, code as
//! code, and nothing that reads as a link or as HTML.

use std::fmt::Write;

/// Where the text that is being read belongs.
#[derive(Debug, Clone, PartialEq)]
enum Section {
    Text,
    Parameter {
        name: String,
        direction: String,
    },
    Returns,
    /// A paragraph with a bold word in front.
    Marked(&'static str),
    See,
    Code,
    /// Of no use to a reader of the Rust documentation.
    Dropped,
}

/// Converts a comment, as bindgen hands it over. `None` when nothing is left of it.
pub(crate) fn to_markdown(comment: &str) -> Option<String> {
    let mut reader = Reader { section: Section::Text, buffer: Vec::new(), done: Vec::new() };
    for line in last_block(comment).replace(" @warning ", "\n@warning ").lines() {
        reader.line(line);
    }
    reader.finish(Section::Text);
    render(&reader.done)
}

/// Where several comments stand before an item, the last is the item's own: those before it open and close groups.
fn last_block(comment: &str) -> String {
    let block = comment.rsplit("/**").find(|block| block.chars().any(char::is_alphabetic)).unwrap_or(comment);
    if block.len() == comment.len() {
        return block.to_owned();
    }
    let lines = block.lines().map(|line| {
        let line = line.trim_start();
        line.strip_prefix("*/").or_else(|| line.strip_prefix('*')).unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

struct Reader {
    section: Section,
    buffer: Vec<String>,
    done: Vec<(Section, Vec<String>)>,
}

impl Reader {
    fn line(&mut self, raw: &str) {
        let line = raw.trim().trim_start_matches("**<").trim_start_matches('<').trim_end_matches("*/").trim();
        let rule = !line.is_empty() && line.chars().all(|c| matches!(c, '-' | '=' | '*' | '/'));
        let line = if rule { "" } else { line };
        if self.section == Section::Code {
            if let Some(Command { name: "endcode" | "endverbatim", .. }) = command(line) {
                self.finish(Section::Text);
            } else {
                self.buffer.push(raw.strip_prefix(' ').unwrap_or(raw).trim_end().to_owned());
            }
            return;
        }
        if line.is_empty() {
            self.finish(Section::Text);
            return;
        }
        let Some(Command { name, argument, rest }) = command(line) else {
            self.buffer.push(line.to_owned());
            return;
        };
        let section = match name {
            "brief" | "details" | "short" | "remark" | "remarks" | "par" | "li" => Section::Text,
            // A slip of the headers.
            "param" | "oaram" => {
                let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let (name, text) = (name.trim_end_matches([',', ':', '-']), text.trim_start_matches([' ', '-', ':']));
                self.finish(Section::Parameter { name: name.to_owned(), direction: argument.to_owned() });
                self.buffer.extend((!text.trim().is_empty()).then(|| text.trim().to_owned()));
                return;
            }
            "return" | "returns" | "retval" | "result" => Section::Returns,
            "note" => Section::Marked("Note"),
            "warning" | "attention" | "bug" => Section::Marked("Warning"),
            "deprecated" => Section::Marked("Deprecated"),
            "see" | "sa" => Section::See,
            "code" | "verbatim" => {
                self.finish(Section::Code);
                return;
            }
            "addtogroup" | "defgroup" | "ingroup" | "file" | "name" | "{" | "}" | "cond" | "endcond" | "endcode"
            | "endverbatim" | "typedef" | "struct" | "enum" | "fn" | "def" => {
                self.finish(Section::Dropped);
                self.finish(Section::Text);
                return;
            }
            _ => {
                self.buffer.push(line.to_owned());
                return;
            }
        };
        self.finish(section);
        self.buffer.extend((!rest.is_empty()).then(|| rest.to_owned()));
    }

    fn finish(&mut self, next: Section) {
        let section = std::mem::replace(&mut self.section, next);
        let lines = std::mem::take(&mut self.buffer);
        if !lines.is_empty() && section != Section::Dropped {
            self.done.push((section, lines));
        }
    }
}

struct Command<'a> {
    name: &'a str,
    /// What stands in square brackets after the name.
    argument: &'a str,
    rest: &'a str,
}

/// The command that a line starts with.
fn command(line: &str) -> Option<Command<'_>> {
    let text = line.strip_prefix(['@', '\\'])?;
    if text.starts_with(['{', '}']) {
        return Some(Command { name: &text[..1], argument: "", rest: text[1..].trim() });
    }
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let mut argument = "";
    rest = rest.trim_start_matches(':').trim_start();
    if let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        (argument, rest) = (inside.trim(), after.trim_start());
    }
    (!name.is_empty()).then_some(Command { name, argument, rest: rest.trim() })
}

fn render(done: &[(Section, Vec<String>)]) -> Option<String> {
    let mut out = String::new();
    let of = |wanted: fn(&Section) -> bool| done.iter().filter(move |(section, _)| wanted(section));
    for (section, lines) in done {
        match section {
            Section::Text => paragraph(&mut out, "", lines),
            Section::Marked(word) => paragraph(&mut out, &format!("**{word}:** "), lines),
            Section::Code => {
                let indent =
                    lines.iter().filter(|l| !l.trim().is_empty()).map(|l| l.len() - l.trim_start().len()).min();
                out.push_str("```c\n");
                for line in lines {
                    let _ = writeln!(out, "{}", line.get(indent.unwrap_or(0)..).unwrap_or(""));
                }
                out.push_str("```\n\n");
            }
            _ => {}
        }
    }
    let mut parameters = of(|section| matches!(section, Section::Parameter { .. })).peekable();
    if parameters.peek().is_some() {
        out.push_str("# Parameters\n\n");
        for (section, lines) in parameters {
            let Section::Parameter { name, direction } = section else { continue };
            let direction = if direction.is_empty() { String::new() } else { format!(" ({direction})") };
            let text = escape(&lines.join(" "));
            let colon = if text.is_empty() { "" } else { ": " };
            let _ = writeln!(out, "- `{name}`{direction}{colon}{text}");
        }
        out.push('\n');
    }
    let mut returns = of(|section| *section == Section::Returns).peekable();
    if returns.peek().is_some() {
        out.push_str("# Returns\n\n");
        for (_, lines) in returns {
            paragraph(&mut out, "", lines);
        }
    }
    let see: Vec<String> = of(|section| *section == Section::See).map(|(_, lines)| escape(&lines.join(" "))).collect();
    if !see.is_empty() {
        let _ = write!(out, "See also: {}", see.join(" "));
    }
    let out = out.trim();
    (!out.is_empty()).then(|| out.to_owned())
}

fn paragraph(out: &mut String, mark: &str, lines: &[String]) {
    out.push_str(mark);
    for (index, line) in lines.iter().enumerate() {
        let list = line.starts_with("- ") || line.starts_with("* ") || line.starts_with("-# ");
        if list && index > 0 && !lines[index - 1].starts_with(['-', '*']) {
            out.push('\n');
        }
        let _ = match line.strip_prefix(['-', '*']) {
            Some(rest) if list => writeln!(out, "- {}", escape(rest.trim_start_matches('#').trim())),
            _ => writeln!(out, "{}", escape(line)),
        };
    }
    out.push('\n');
}

/// Prose: identifiers as code, the in-line commands of Doxygen resolved, the rest safe from Markdown and HTML.
fn escape(text: &str) -> String {
    let mut out = String::new();
    let mut as_code = false;
    for (index, word) in text.split_whitespace().enumerate() {
        if matches!(word, "@p" | "@c" | "@a" | "@b" | "@e" | "@ref" | "\\p" | "\\c" | "\\a" | "\\ref" | "\\b" | "\\e") {
            as_code = true;
            continue;
        }
        if index > 0 && !out.is_empty() {
            out.push(' ');
        }
        push_word(&mut out, word, std::mem::take(&mut as_code));
    }
    out
}

fn push_word(out: &mut String, word: &str, as_code: bool) {
    let is_code = |c: char| c.is_alphanumeric() || c == '_';
    let start = word.find(|c: char| is_code(c) || c == '<' || c == '`').unwrap_or(word.len());
    let (before, rest) = word.split_at(start);
    if rest.starts_with("http://") || rest.starts_with("https://") {
        let end = rest.find([')', ',', '>', ']']).unwrap_or(rest.len());
        let url = rest[..end].trim_end_matches('.');
        let _ = write!(out, "{}<{url}>{}", plain(before), plain(&rest[url.len()..]));
        return;
    }
    let end = rest.find(|c: char| !is_code(c)).unwrap_or(rest.len());
    let (middle, after) = rest.split_at(end);
    let (call, after) = after.strip_prefix("()").map_or(("", after), |after| ("()", after));
    if !middle.is_empty() && (as_code || !call.is_empty() || is_identifier(middle)) {
        let _ = write!(out, "{}`{middle}{call}`", plain(before.trim_end_matches(['#', '@', '\\', '%'])));
        if after.chars().any(is_code) { push_word(out, after, false) } else { out.push_str(&plain(after)) }
    } else {
        out.push_str(&plain(word));
    }
}

/// Looks like a name of C rather than a word: `hipFree`, `HIP_SUCCESS`, `snake_case`, `camelCase`.
fn is_identifier(word: &str) -> bool {
    let prefixed = ["hip", "HIP", "hsa", "cuda"].iter().any(|p| word.len() > p.len() && word.starts_with(p));
    let mixed = word.starts_with(char::is_lowercase) && word.chars().any(char::is_uppercase);
    prefixed && !matches!(word, "hipified" | "hips") || word.contains('_') || mixed
}

/// Signs that Markdown or HTML would take for their own.
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

/// Makes code that is the name of an item (`hipFree`, `hipFree()`) a link to it.
pub(crate) fn link(markdown: &str, is_item: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut in_block = false;
    for line in markdown.split_inclusive('\n') {
        in_block ^= line.starts_with("```");
        if in_block || line.starts_with("```") {
            out.push_str(line);
            continue;
        }
        for (index, part) in line.split('`').enumerate() {
            let code = index % 2 == 1;
            if code && is_item(part.trim_end_matches("()")) {
                out.push_str(&format!("[`{part}`]"));
            } else if code {
                out.push_str(&format!("`{part}`"));
            } else {
                out.push_str(part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{link, to_markdown};

    #[test]
    fn parameters_results_and_notes() {
        let comment = " @brief Frees memory.\n\n @param [in] ptr Pointer to memory\n        to free\n @param[out] n - Count\n\n\
                       @returns #hipSuccess, #hipErrorInvalidValue\n @note Waits for the device.\n @see hipMalloc, hipFree";
        assert_eq!(
            to_markdown(comment).unwrap(),
            "Frees memory.\n\n**Note:** Waits for the device.\n\n# Parameters\n\n- `ptr` (in): Pointer to memory to free\n\
             - `n` (out): Count\n\n# Returns\n\n`hipSuccess`, `hipErrorInvalidValue`\n\nSee also: `hipMalloc`, `hipFree`"
        );
    }

    #[test]
    fn nothing_reads_as_a_link_or_as_html() {
        assert_eq!(to_markdown("array[3] of <T> and *star*").unwrap(), "array\\[3\\] of \\<T\\> and \\*star\\*");
        assert_eq!(to_markdown("see https://rocm.docs.amd.com/x_y.").unwrap(), "see <https://rocm.docs.amd.com/x_y>.");
        assert_eq!(to_markdown("__global__ functions").unwrap(), "`__global__` functions");
    }

    #[test]
    fn code_stays_code() {
        let comment = "Use:\n @code\n   if (a[0] < b) {\n     f();\n   }\n @endcode\n Done @p now.";
        assert_eq!(to_markdown(comment).unwrap(), "Use:\n\n```c\nif (a[0] < b) {\n  f();\n}\n```\n\nDone `now`.");
    }

    #[test]
    fn groups_are_dropped() {
        assert_eq!(to_markdown("@}\n"), None);
        assert_eq!(to_markdown("@addtogroup API\n@{\n@brief Text").unwrap(), "Text");
    }

    #[test]
    fn the_last_of_several_comments_counts() {
        let comment =
            "@}\n */\n/**\n *-----\n * @defgroup Event\n * @{\n */\n/**\n * @brief Creates\n *   an event.\n */";
        assert_eq!(to_markdown(comment).unwrap(), "Creates\nan event.");
        assert_eq!(to_markdown("< one\n < @deprecated two").unwrap(), "one\n\n**Deprecated:** two");
    }

    #[test]
    fn items_are_linked() {
        let text = "Use `hipFree()`, not `free`.\n```c\n`hipFree`\n```\n";
        assert_eq!(link(text, |name| name == "hipFree"), "Use [`hipFree()`], not `free`.\n```c\n`hipFree`\n```\n");
    }

    #[test]
    fn lists_stay_lists() {
        assert_eq!(to_markdown("Values:\n- one\n- hipTwo").unwrap(), "Values:\n\n- one\n- `hipTwo`");
    }
}
