//! Converts Doxygen comments to Markdown that rustdoc renders: parameters as a list, results and notes as paragraphs,
//! code as code, formulas as text, and nothing that Markdown would take for a link or HTML.

use std::fmt::Write;

mod formula;
mod prose;
mod table;

use prose::Prose;

/// The section to which the current text belongs.
#[derive(Debug, Clone, PartialEq)]
enum Section {
    Text,
    /// The name is empty until its line is read.
    Parameter {
        name: String,
        direction: String,
    },
    Returns,
    /// One return value.
    Value(String),
    /// A paragraph that starts with these words in bold.
    Titled(String),
    See,
    /// A block in this language.
    Code(&'static str),
    /// HTML.
    Table,
    /// A table of Markdown.
    Rows,
    /// C text, or text that is useless in the Rust documentation, up to its end.
    Dropped,
}

/// Converts a comment in the form that bindgen passes. Returns `None` if nothing is left of it.
pub(crate) fn to_markdown(comment: &str) -> Option<String> {
    let mut reader = Reader { section: Section::Text, buffer: Vec::new(), done: Vec::new(), platforms: Vec::new() };
    // Headers put some commands into the middle of a line.
    let text = last_block(comment).replace(" @warning ", "\n@warning ").replace(" \\retval", "\n\\retval");
    for line in prose::strip_tags(&formula::replace(&text)).lines() {
        if reader.line(line) == Of::Group {
            return None;
        }
    }
    reader.finish(Section::Text);
    render(summarised(reader.done), &reader.platforms)
}

/// The subject of a comment.
#[derive(PartialEq)]
enum Of {
    Item,
    /// A whole group of items; the text says little about the item that happens to come first.
    Group,
}

/// Returns the last of several comments before an item, which is the item's own: those before it open and close groups.
fn last_block(comment: &str) -> String {
    let block = comment.rsplit("/**").find(|block| block.chars().any(char::is_alphabetic)).unwrap_or(comment);
    if block.len() == comment.len() {
        return block.to_owned();
    }
    let lines = block.lines().map(|line| {
        let text = line.trim_start();
        text.strip_prefix("*/").or_else(|| text.strip_prefix('*')).unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

struct Reader {
    section: Section,
    buffer: Vec<String>,
    done: Vec<(Section, Vec<String>)>,
    /// The platforms that support the item, from `@platform{...}`.
    platforms: Vec<String>,
}

impl Reader {
    fn line(&mut self, raw: &str) -> Of {
        let line = if self.section == Section::Table { raw.trim() } else { tidy(raw) };
        if self.in_block(raw, line) {
            return Of::Item;
        }
        let is_row = line.len() > 1 && line.starts_with('|') && line.ends_with('|');
        if is_row != (self.section == Section::Rows) {
            self.finish(if is_row { Section::Rows } else { Section::Text });
        }
        if line.is_empty() {
            self.finish(Section::Text);
        } else if let Some(command) = command(line) {
            return self.command(&command, line);
        } else if let Some(language) = line.strip_prefix("```") {
            self.finish(Section::Code(language_of(language)));
        } else if line.starts_with("#if") {
            // The declaration in C is repeated here.
            self.finish(Section::Dropped);
        } else if line.starts_with("<table") {
            self.finish(Section::Table);
            self.buffer.push(line.to_owned());
        } else if !is_elsewhere(line) {
            self.text(line);
        }
        Of::Item
    }

    /// Processes a line of a block such as code; returns `false` outside of one.
    fn in_block(&mut self, raw: &str, line: &str) -> bool {
        let ends = match self.section {
            Section::Code(_) => {
                line == "```"
                    || matches!(command(line), Some(Command { name: "endcode" | "endverbatim" | "endformula", .. }))
            }
            Section::Table => line.contains("</table>"),
            // The line below the table's head may have no `|` at its beginning.
            Section::Rows if line.starts_with("--") && line.contains('|') => false,
            Section::Dropped => line.starts_with("#endif"),
            _ => return false,
        };
        match (ends, &self.section) {
            (true, _) => self.finish(Section::Text),
            (false, Section::Code(_)) => self.buffer.push(raw.trim_end().to_owned()),
            (false, _) => self.buffer.push(line.to_owned()),
        }
        true
    }

    /// Adds a line of text. The first line of a parameter may contain its name.
    fn text(&mut self, line: &str) {
        let text = match &mut self.section {
            Section::Parameter { name, .. } | Section::Value(name) if name.is_empty() => {
                let (word, text) = named(line);
                *name = word;
                text
            }
            _ => line,
        };
        // The signature contains the type.
        let typed = matches!(self.section, Section::Parameter { .. }) && self.buffer.is_empty();
        let text = if typed { without_type(text) } else { text };
        self.buffer.extend((!text.is_empty()).then(|| text.to_owned()));
    }

    fn command(&mut self, command: &Command<'_>, line: &str) -> Of {
        let titled = |title: &str| Section::Titled(title.to_owned());
        let section = match command.name {
            "brief" | "details" | "short" | "remark" | "remarks" => Section::Text,
            "par" if command.rest.is_empty() => Section::Text,
            "par" => {
                self.finish(titled(command.rest.trim_end_matches(':')));
                return Of::Item;
            }
            // A typo in the headers.
            "param" | "oaram" => Section::Parameter { name: String::new(), direction: command.argument.to_owned() },
            "retval" => Section::Value(String::new()),
            "return" | "returns" | "result" => Section::Returns,
            "note" => titled("Note"),
            "warning" | "attention" | "bug" => titled("Warning"),
            "deprecated" => titled("Deprecated"),
            "since" => titled("Since"),
            "pre" => titled("Before the call"),
            "post" => titled("After the call"),
            "see" | "sa" => Section::See,
            "code" => {
                self.finish(Section::Code(language_of(command.rest)));
                return Of::Item;
            }
            "verbatim" | "formula" => {
                self.finish(Section::Code("text"));
                return Of::Item;
            }
            "li" | "arg" => {
                self.buffer.push(format!("- {}", command.rest));
                return Of::Item;
            }
            "platform" => {
                let names = line.split('{').skip(1).filter_map(|part| part.split_once('}'));
                self.platforms.extend(names.map(|(name, _)| format!("`{}`", name.trim())));
                return Of::Item;
            }
            "addtogroup" | "defgroup" | "weakgroup" | "name" | "file" | "mainpage" | "page" => return Of::Group,
            "ingroup" | "{" | "}" | "cond" | "endcond" | "endcode" | "endverbatim" | "typedef" | "struct" | "enum"
            | "fn" | "def" | "snippet" | "include" | "image" | "anchor" | "hideinitializer" | "tparam" | "todo" => {
                self.finish(Section::Text);
                return Of::Item;
            }
            _ => {
                self.text(line);
                return Of::Item;
            }
        };
        self.finish(section);
        if !command.rest.is_empty() {
            self.text(command.rest);
        }
        Of::Item
    }

    fn finish(&mut self, next: Section) {
        let section = std::mem::replace(&mut self.section, next);
        let lines = std::mem::take(&mut self.buffer);
        let named = matches!(&section, Section::Parameter { name, .. } | Section::Value(name) if !name.is_empty());
        if (!lines.is_empty() || named) && section != Section::Dropped {
            self.done.push((section, lines));
        }
    }
}

/// Returns a line without the comment's delimiters; empty if there is nothing else.
fn tidy(raw: &str) -> &str {
    let line = raw.trim().trim_start_matches("**<").trim_start_matches("!<").trim_end_matches("*/").trim();
    let line = if line.starts_with("<table") { line } else { line.trim_start_matches('<').trim_start() };
    let rule = line.len() > 1 && line.chars().all(|c| matches!(c, '-' | '=' | '*' | '/' | '_' | '~'));
    if rule || matches!(line, "*" | "/" | "!") { "" } else { line }
}

/// Returns whether a line only concerns the library of another vendor that this one can be built on.
fn is_elsewhere(line: &str) -> bool {
    line.starts_with("- Supported precisions in cu")
}

/// Returns the language of a block: rustdoc runs blocks without a language, and those in Rust.
fn language_of(text: &str) -> &'static str {
    match text.trim_matches(|c: char| !c.is_alphanumeric() && c != '+') {
        "" | "c" | "C" => "c",
        "cpp" | "c++" | "cc" => "cpp",
        "bash" | "sh" | "shell" => "sh",
        _ => "text",
    }
}

/// Splits off the name or names before a parameter's text.
fn named(line: &str) -> (String, &str) {
    let (mut names, mut rest) = (Vec::new(), line);
    loop {
        let (word, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let name = word.trim_end_matches([',', ':', '-']).trim_start_matches("::").trim_start_matches('#');
        names.extend((!name.is_empty()).then_some(name));
        rest = text.trim_start();
        if !word.ends_with(',') || rest.is_empty() {
            return (names.join("`, `"), rest.trim_start_matches([' ', '-', ':']).trim());
        }
    }
}

/// Returns the text after `[hipblasHandle_t]`.
fn without_type(text: &str) -> &str {
    match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((ty, rest)) if ty.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*')) => rest.trim(),
        _ => text,
    }
}

struct Command<'a> {
    name: &'a str,
    /// The text in square brackets after the name.
    argument: &'a str,
    rest: &'a str,
}

/// Parses the command at the start of a line.
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

/// Maximum length of a first paragraph that serves as the summary.
const SUMMARY: usize = 160;

/// Makes the first paragraph a short summary of the item.
fn summarised(mut done: Vec<(Section, Vec<String>)>) -> Vec<(Section, Vec<String>)> {
    let is_text = |part: Option<&(Section, Vec<String>)>| part.is_some_and(|(section, _)| *section == Section::Text);
    // "BLAS Level 1 API" is the title of a chapter.
    let chapter = done.first().is_some_and(
        |(_, lines)| matches!(&lines[..], [line] if line.ends_with(" API") && line.split_whitespace().count() <= 5),
    );
    if chapter && is_text(done.first()) && is_text(done.get(1)) {
        done.remove(0);
    }
    if !done.iter().any(|(section, _)| *section == Section::Text) {
        if let Some(at) = done.iter().position(|(section, _)| *section == Section::Returns) {
            let (_, mut lines) = done.remove(at);
            let first = lines[0].trim_start_matches("Returns ").trim_start_matches("returns ");
            lines[0] = format!("Returns {first}");
            done.insert(0, (Section::Text, lines));
        }
    }
    if is_text(done.first()) {
        let (_, lines) = &done[0];
        let text = lines.join("\n");
        let list = lines.iter().any(|line| is_list(line));
        // Not the end of a sentence: "e.g. ", "i. e. ".
        let is_end =
            |at: usize| text[..at].chars().rev().take(2).all(char::is_alphanumeric) || text[..at].ends_with([')', '`']);
        let ends = text.match_indices(". ").chain(text.match_indices(".\n"));
        let mut ends: Vec<usize> = ends.filter(|(at, _)| is_end(*at)).map(|(at, _)| at + 1).collect();
        ends.sort_unstable();
        if let (true, false, Some(&end)) = (text.len() > SUMMARY, list, ends.first()) {
            let (first, rest) = text.split_at(end);
            let [first, rest] = [first, rest].map(|text| text.trim().lines().map(str::to_owned).collect::<Vec<_>>());
            done[0].1 = first;
            done.insert(1, (Section::Text, rest));
        }
    }
    done
}

fn render(done: Vec<(Section, Vec<String>)>, platforms: &[String]) -> Option<String> {
    let mut out = String::new();
    for (section, lines) in &done {
        match section {
            Section::Text => paragraph(&mut out, "", lines),
            Section::Titled(title) => paragraph(&mut out, &format!("**{}:** ", Prose::default().text(title)), lines),
            Section::Code(language) => code(&mut out, language, lines),
            Section::Rows => out += &(table::tidied(lines) + "\n"),
            Section::Table => out += &(table::markdown(&lines.join("\n")) + "\n"),
            _ => {}
        }
    }
    if !platforms.is_empty() {
        let _ = write!(out, "Platforms: {}.\n\n", platforms.join(", "));
    }
    let parameters: Vec<String> = done.iter().filter_map(parameter).collect();
    if !parameters.is_empty() {
        let _ = write!(out, "# Parameters\n\n{}\n", parameters.concat());
    }
    let returns = done.iter().filter(|(section, _)| matches!(section, Section::Returns | Section::Value(_)));
    let mut head = "# Returns\n\n";
    let mut in_list = false;
    for (section, lines) in returns {
        out.push_str(std::mem::take(&mut head));
        if let Section::Value(name) = section {
            let _ = writeln!(out, "- `{name}`{}", after_colon(lines));
        } else {
            out.push_str(if in_list { "\n" } else { "" });
            // `type | value, on success`
            let lines: Vec<String> = lines.iter().map(|line| line.replacen("_t | ", "_t: ", 1)).collect();
            paragraph(&mut out, "", &lines);
        }
        in_list = matches!(section, Section::Value(_));
    }
    out.push_str(if in_list { "\n" } else { "" });
    let see = done.iter().filter(|(section, _)| *section == Section::See);
    let see: Vec<String> = see.map(|(_, lines)| Prose::default().text(&lines.join(" "))).collect();
    if !see.is_empty() {
        let _ = write!(out, "See also: {}", see.join(", "));
    }
    let out = out.trim();
    (!out.is_empty()).then(|| out.to_owned())
}

/// Returns the line of a parameter in the list of parameters.
fn parameter((section, lines): &(Section, Vec<String>)) -> Option<String> {
    let Section::Parameter { name, direction } = section else { return None };
    let direction = if direction.is_empty() { String::new() } else { format!(" ({direction})") };
    Some(format!("- `{name}`{direction}{}\n", after_colon(lines)))
}

fn after_colon(lines: &[String]) -> String {
    let text = Prose::default().text(&lines.join(" "));
    if text.is_empty() { text } else { format!(": {text}") }
}

fn code(out: &mut String, language: &str, lines: &[String]) {
    let indent =
        lines.iter().filter(|line| !line.trim().is_empty()).map(|line| line.len() - line.trim_start().len()).min();
    let _ = writeln!(out, "```{language}");
    for line in lines {
        let _ = writeln!(out, "{}", line.get(indent.unwrap_or(0)..).unwrap_or(""));
    }
    out.push_str("```\n\n");
}

fn is_list(line: &str) -> bool {
    line.starts_with("- ") || line.starts_with("* ") || line.starts_with("-# ")
}

fn paragraph(out: &mut String, mark: &str, lines: &[String]) {
    out.push_str(mark.trim_end());
    let mut prose = Prose::default();
    let mut in_list = false;
    for (index, line) in lines.iter().enumerate() {
        if is_list(line) {
            if !in_list && (index > 0 || !mark.is_empty()) {
                out.push_str(if index == 0 { "\n\n" } else { "\n" });
            }
            in_list = true;
            let _ =
                writeln!(out, "- {}", prose.text(line.trim_start_matches(['-', '*']).trim_start_matches('#').trim()));
        } else {
            let indent = if in_list { "  " } else { "" };
            let gap = if index == 0 && !mark.is_empty() { " " } else { indent };
            let text = prose.text(line);
            if !text.is_empty() {
                let _ = writeln!(out, "{gap}{text}");
            }
        }
    }
    out.push('\n');
}

/// Converts code to a link if it names an item (`hipFree`, `hipFree()`) according to `is_item`.
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
            if code && is_item(part) {
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

    fn markdown(comment: &str) -> String {
        to_markdown(comment).unwrap()
    }

    #[test]
    fn parameters_results_and_notes() {
        let comment = " @brief Frees memory.\n\n @param [in] ptr Pointer to memory\n        to free\n @param[out] n - Count\n\n\
                       @returns #hipSuccess, #hipErrorInvalidValue\n @note Waits for the device.\n @see hipMalloc, hipFree";
        assert_eq!(
            markdown(comment),
            "Frees memory.\n\n**Note:** Waits for the device.\n\n# Parameters\n\n- `ptr` (in): Pointer to memory to free\n\
             - `n` (out): Count\n\n# Returns\n\n`hipSuccess`, `hipErrorInvalidValue`\n\nSee also: `hipMalloc`, `hipFree`"
        );
    }

    #[test]
    fn a_parameter_with_its_name_on_the_next_line() {
        let comment = "@brief BLAS Level 1 API\n\n\\details\nscal scales x.\n\n- Supported precisions in cuBLAS : s\n\n\
                       @param[in]\nhandle    [hipblasHandle_t]\n          handle to the library.\n@param[in] a, b [int *] sizes.\\n\n even";
        assert_eq!(
            markdown(comment),
            "scal scales x.\n\n# Parameters\n\n- `handle` (in): handle to the library.\n- `a`, `b` (in): sizes. even"
        );
    }

    #[test]
    fn values_that_are_returned_are_a_list() {
        let comment = "Does.\n\n\\retval HIP_OK it worked.\n\\retval HIP_NO\n\\p x is\n bad.";
        assert_eq!(markdown(comment), "Does.\n\n# Returns\n\n- `HIP_OK`: it worked.\n- `HIP_NO`: `x` is bad.");
    }

    #[test]
    fn a_result_alone_is_the_summary() {
        assert_eq!(
            markdown("@param x A node.\n\n@returns name of x."),
            "Returns name of x.\n\n# Parameters\n\n- `x`: A node."
        );
    }

    #[test]
    fn a_long_first_paragraph_is_split() {
        let first = "It does a thing, e.g. this.";
        let rest = "And ".to_owned() + &"more of it ".repeat(20);
        assert_eq!(markdown(&format!("{first} {rest}")), format!("{first}\n\n{}", rest.trim()));
        assert_eq!(markdown("One. Two."), "One. Two.");
        let abbreviated = format!("A thing (e. g. {})", "of some kind ".repeat(20).trim());
        assert_eq!(markdown(&abbreviated), abbreviated);
    }

    #[test]
    fn platforms_are_listed_once() {
        let comment =
            "@brief Starts.\n\n@platform{gpu_bm_linux} @platform{host}\n@platform{guest_1vf}\n\n@details It starts.";
        assert_eq!(markdown(comment), "Starts.\n\nIt starts.\n\nPlatforms: `gpu_bm_linux`, `host`, `guest_1vf`.");
    }

    #[test]
    fn titled_paragraphs() {
        assert_eq!(markdown("Text\n\\par Usage:\nCall it."), "Text\n\n**Usage:** Call it.");
        assert_eq!(markdown("Text\n\\par Example\n\\snippet x.cpp doc example"), "Text");
        assert_eq!(markdown("Text\n@note\n- one\n  more\n- two"), "Text\n\n**Note:**\n\n- one\n  more\n- two");
        assert_eq!(markdown("Text\n\\since API=0"), "Text\n\n**Since:** API=0");
    }

    #[test]
    fn code_stays_code() {
        let comment = "Use:\n @code\n   if (a[0] < b) {\n     f();\n   }\n @endcode\n Done @p now.";
        assert_eq!(markdown(comment), "Use:\n\n```c\nif (a[0] < b) {\n  f();\n}\n```\n\nDone `now`.");
    }

    #[test]
    fn no_code_is_a_doctest() {
        assert_eq!(markdown("\\code{.c}\nf();\n\\endcode"), "```c\nf();\n```");
        assert_eq!(markdown("\\code{.cpp}\nf();\n\\endcode"), "```cpp\nf();\n```");
        assert_eq!(markdown("A:\n```\nf();\n```\nB"), "A:\n\n```c\nf();\n```\n\nB");
        assert_eq!(markdown("@verbatim\na  b\n@endverbatim"), "```text\na  b\n```");
        assert_eq!(markdown("```rust\nf();\n```"), "```text\nf();\n```");
    }

    #[test]
    fn formulas_stay_apart() {
        assert_eq!(
            markdown("an \\f$m \\times n\\f$ matrix such that\n\\f[\n y := \\alpha x\n\\f]\nholds"),
            "an `m × n` matrix such that\n\n```text\ny := α x\n```\n\nholds"
        );
    }

    #[test]
    fn tables_become_markdown() {
        assert_eq!(
            markdown("See:\n<table>\n<tr><th>A\n<tr><td>x_y\n</table>\nDone"),
            "See:\n\n| A |\n|---|\n| `x_y` |\n\nDone"
        );
    }

    #[test]
    fn tables_of_markdown_stay() {
        let comment = "See\n| A | B |\n--- | --- |\n| x_y | 1 |\nThen a | b.\n\n@return ::x_t | ::X_OK on success";
        let table = "| A | B |\n|---|---|\n| `x_y` | 1 |";
        assert_eq!(
            markdown(comment),
            format!("See\n\n{table}\n\nThen a \\| b.\n\n# Returns\n\n`x_t`: `X_OK` on success")
        );
    }

    #[test]
    fn declarations_in_c_are_dropped() {
        assert_eq!(
            markdown("Text\n\n#ifdef V2 // later\n\nint f(int n);\n\n#else\nint g();\n#endif\n\nMore"),
            "Text\n\nMore"
        );
    }

    #[test]
    fn groups_are_dropped() {
        assert_eq!(to_markdown("@}\n"), None);
        assert_eq!(to_markdown("@defgroup API The interface\n@{\n@brief All of it."), None);
        assert_eq!(to_markdown("@{\n@brief Text").unwrap(), "Text");
        assert_eq!(to_markdown("\\ingroup types_module\n\\brief Text").unwrap(), "Text");
    }

    #[test]
    fn the_last_of_several_comments_counts() {
        let comment =
            "@}\n */\n/**\n *-----\n * @defgroup Event\n * @{\n */\n/**\n * @brief Creates\n *   an event.\n */";
        assert_eq!(markdown(comment), "Creates\nan event.");
        assert_eq!(markdown("< one\n < @deprecated two"), "one\n\n**Deprecated:** two");
    }

    #[test]
    fn comment_art_is_dropped() {
        assert_eq!(markdown("!< Text\n ====\n*******/"), "Text");
    }

    #[test]
    fn items_are_linked() {
        let text = "Use `hipFree()`, not `free`.\n```c\n`hipFree`\n```\n";
        assert_eq!(
            link(text, |code| code.trim_end_matches("()") == "hipFree"),
            "Use [`hipFree()`], not `free`.\n```c\n`hipFree`\n```\n"
        );
    }

    #[test]
    fn lists_stay_lists() {
        assert_eq!(markdown("Values:\n- one\n- hipTwo"), "Values:\n\n- one\n- `hipTwo`");
    }
}
