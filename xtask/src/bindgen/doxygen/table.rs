//! Converts HTML tables and Markdown tables to Markdown.

use super::prose::{Prose, strip_tags};

/// Converts a table whose end tags of cells or rows may be missing.
pub(super) fn markdown(html: &str) -> String {
    let caption = html.split_once("<caption").and_then(|(_, rest)| rest.split_once('>')).map(|(_, rest)| {
        let end = rest.find("</caption>").or_else(|| rest.find("<tr")).unwrap_or(rest.len());
        &rest[..end]
    });
    let rows: Vec<Vec<String>> = html.split("<tr").skip(1).map(cells).filter(|row| !row.is_empty()).collect();
    let caption = caption.map(|text| format!("{}:\n\n", cell(text))).unwrap_or_default();
    caption + &table(&rows)
}

/// Converts a Markdown table, with escaped cells.
pub(super) fn tidied(lines: &[String]) -> String {
    let rows = lines.iter().filter(|line| line.contains(char::is_alphanumeric));
    let cells = |line: &String| line.trim_matches('|').split('|').map(cell).collect();
    table(&rows.map(cells).collect::<Vec<_>>())
}

/// Formats rows, the first of which is the head.
fn table(rows: &[Vec<String>]) -> String {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let missing = std::iter::repeat_n("", width - row.len());
        let row: Vec<&str> = row.iter().map(String::as_str).chain(missing).collect();
        out += &format!("| {} |\n", row.join(" | "));
        if index == 0 {
            out += &format!("|{}\n", "---|".repeat(width));
        }
    }
    out
}

fn cells(row: &str) -> Vec<String> {
    let row = row.replace("</tr>", "").replace("</table>", "").replace("<th", "<td");
    row.split("<td").skip(1).map(|text| cell(text.split_once('>').map_or("", |(_, text)| text))).collect()
}

fn cell(text: &str) -> String {
    Prose::default().text(&strip_tags(text)).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn rows_without_an_end() {
        let html = "<table>\n<caption id=\"x\">All algorithms</caption>\n<tr><th>Algorithm <th>Note\n\
                    <tr><td>ALG_1</td><td>fast</td>\n<tr><td>ALG_2\n</table>";
        assert_eq!(
            markdown(html),
            "All algorithms:\n\n| Algorithm | Note |\n|---|---|\n| `ALG_1` | fast |\n| `ALG_2` |  |\n"
        );
    }
}
