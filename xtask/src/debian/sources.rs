//! The Debian mirror that this machine uses, read from its own apt sources: one-line (`sources.list`) and deb822
//! (`*.sources`) files.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// Names a mirror, before the machine's own sources. A snapshot of the archive works too, and is the way to get
/// packages that Debian has moved on from.
pub(crate) const VARIABLE: &str = "ROCM_RS_DEBIAN_MIRROR";

/// Suites by which the Debian archive itself is told from everything else in the sources.
const SUITES: &[&str] = &[
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "sid",
    "experimental",
    "oldoldstable",
    "oldstable",
    "stable",
    "testing",
    "unstable",
];

/// One entry of the machine's sources.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    uri: String,
    suites: Vec<String>,
}

/// URI of the Debian archive: [`VARIABLE`], else what `folder` (`/etc/apt`) says.
pub(crate) fn mirror(folder: &Path) -> Result<String> {
    if let Ok(uri) = std::env::var(VARIABLE) {
        let uri = uri.trim().trim_end_matches('/').to_owned();
        ensure!(
            uri.contains(":/") && !uri.contains([' ', '[', ']', '\n']),
            "{VARIABLE} is not the URI of a Debian mirror: {uri:?}"
        );
        return Ok(uri);
    }
    for (path, text) in files(folder)? {
        let deb822 = path.ends_with(".sources");
        let entries = if deb822 { parse_deb822(&text) } else { parse_one_line(&text) };
        if let Some(uri) = archive(&entries) {
            return Ok(uri);
        }
    }
    bail!(
        "no source under {} names the Debian archive; set {VARIABLE} to the URI of a Debian mirror \
         (the folder that holds `dists` and `pool`)",
        folder.display()
    )
}

/// Path and text of each sources file.
fn files(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut paths = vec![folder.join("sources.list")];
    if let Ok(listing) = std::fs::read_dir(folder.join("sources.list.d")) {
        let mut more: Vec<_> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
        more.sort();
        paths.extend(more.into_iter().filter(|path| path.extension().is_some_and(|e| e == "list" || e == "sources")));
    }
    let mut found = Vec::new();
    for path in paths.into_iter().filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        found.push((path.display().to_string(), text));
    }
    Ok(found)
}

/// URI of the first entry that is the Debian archive.
fn archive(entries: &[Entry]) -> Option<String> {
    entries
        .iter()
        .find(|entry| {
            entry.suites.iter().any(|suite| SUITES.contains(&suite.as_str())) && !entry.uri.contains("security")
        })
        .map(|entry| entry.uri.trim_end_matches('/').to_owned())
}

/// `deb [options] URI SUITE COMPONENT...`, one a line.
fn parse_one_line(text: &str) -> Vec<Entry> {
    text.lines().filter_map(one_line).collect()
}

fn one_line(line: &str) -> Option<Entry> {
    let line = line.split('#').next()?.trim();
    let mut rest = line.strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim_start();
    if let Some(options) = rest.strip_prefix('[') {
        rest = options.split_once(']')?.1.trim_start();
    }
    let mut words = rest.split_whitespace();
    Some(Entry { uri: words.next()?.to_owned(), suites: vec![words.next()?.to_owned()] })
}

/// Stanzas of `Field: value` with continuation lines, as in `debian.sources`.
fn parse_deb822(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut stanza: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.trim().is_empty() {
            entries.extend(stanza_entries(&stanza));
            stanza.clear();
        } else if line.starts_with('#') {
            // A comment may stand between a field and its continuation.
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = stanza.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            stanza.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    entries
}

fn stanza_entries(stanza: &[(String, String)]) -> Vec<Entry> {
    let words = |name: &str| -> Vec<String> {
        let field = stanza.iter().find(|(field, _)| field == name);
        field.map(|(_, value)| value.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    };
    let off = words("enabled").first().is_some_and(|value| ["no", "false", "0"].contains(&value.as_str()));
    if off || !words("types").iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    words("uris").into_iter().map(|uri| Entry { uri, suites: words("suites") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = include_str!("../../fixtures/debian.sources");
    const ONE_LINE: &str = include_str!("../../fixtures/sources.list");

    #[test]
    fn deb822_with_comments_continuations_and_disabled_stanzas() {
        let entries = parse_deb822(DEB822);
        let uris: Vec<&str> = entries.iter().map(|entry| entry.uri.as_str()).collect();
        assert_eq!(
            uris,
            ["http://mirror.example/other", "http://mirror.example/debian/", "http://mirror.example/debian-security"]
        );
        assert_eq!(entries[1].suites, ["bookworm", "bookworm-updates"]);
        assert_eq!(archive(&entries).as_deref(), Some("http://mirror.example/debian"));
    }

    #[test]
    fn one_line_with_options_and_comments() {
        let entries = parse_one_line(ONE_LINE);
        assert_eq!(archive(&entries).as_deref(), Some("https://mirror.example/pub/debian"));
        assert!(entries.iter().all(|entry| !entry.uri.contains("disabled")), "{entries:?}");
    }

    #[test]
    fn another_distribution_is_not_taken_for_debian() {
        let entries =
            parse_one_line("deb http://mirror.example/ubuntu noble main universe\ndeb-src http://x/debian sid main");
        assert_eq!(archive(&entries), None);
    }

    #[test]
    fn a_machine_without_debian_is_told_what_to_set() {
        let folder = tempfile::tempdir().unwrap();
        if std::env::var_os(VARIABLE).is_none() {
            let error = mirror(folder.path()).unwrap_err().to_string();
            assert!(error.contains(VARIABLE), "{error}");
        }
    }
}
