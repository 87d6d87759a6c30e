//! The source of packages: the Debian mirror that this machine uses, read from its own apt sources (one-line
//! `sources.list` and deb822 `*.sources` files), and the archive's keys.

use std::path::{Path, PathBuf};

use super::variables::{KEYRING_VARIABLE, MIRROR_VARIABLE};
use crate::install::error::{Error, Result, While as _};

/// The source of packages, and the trusted keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// URI of the folder that contains `dists` and `pool`.
    pub mirror: String,
    /// The keyring. One of its keys must have signed the package lists. Nothing else is trusted, neither the mirror nor
    /// the network.
    pub keyring: PathBuf,
}

impl Archive {
    /// Returns the mirror in [`MIRROR_VARIABLE`], otherwise the one that this machine's apt uses for Debian; with the
    /// keys in [`KEYRING_VARIABLE`], otherwise those of the package debian-archive-keyring.
    ///
    /// # Errors
    /// [`Error::Setting`] for a variable that cannot be used, and if neither names a mirror; [`Error::Unsupported`]
    /// without the keys.
    pub fn of_this_machine() -> Result<Self> {
        let mirror = match std::env::var(MIRROR_VARIABLE) {
            Ok(uri) => uri,
            Err(_) => mirror_in(Path::new("/etc/apt"))?.ok_or_else(no_mirror)?,
        };
        Self { mirror, keyring: keyring()? }.checked()
    }

    /// Checks that it can be written to a line of apt's sources, in which spaces and brackets have a meaning.
    pub(super) fn checked(mut self) -> Result<Self> {
        self.mirror = self.mirror.trim().trim_end_matches('/').to_owned();
        // apt does not copy packages from `file:`, so there would be nothing to unpack.
        if let Some(path) = self.mirror.strip_prefix("file:") {
            self.mirror = format!("copy:{path}");
        }
        let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']' | '"' | '\'');
        if !self.mirror.contains(":/") || self.mirror.contains(odd) {
            return Err(Error::setting(
                format!("Debian mirror {:?}", self.mirror),
                format!("not the URI of a folder that holds `dists` and `pool` ({MIRROR_VARIABLE})"),
            ));
        }
        let what = || format!("keys of the Debian archive {}", self.keyring.display());
        if !self.keyring.is_file() {
            return Err(Error::setting(what(), format!("no such file ({KEYRING_VARIABLE})")));
        }
        if !self.keyring.is_absolute()
            || self.keyring.to_str().is_none_or(|path| path.contains(odd) || path.contains(','))
        {
            return Err(Error::setting(what(), "an absolute path without spaces, quotes and brackets is needed"));
        }
        Ok(self)
    }

    /// Returns whether the mirror is a snapshot of the past, whose lists are always expired.
    pub(super) fn is_snapshot(&self) -> bool {
        self.mirror.contains("/archive/")
    }
}

/// Returns the error for a machine whose own sources do not name Debian.
fn no_mirror() -> Error {
    Error::setting(
        MIRROR_VARIABLE,
        "no source under /etc/apt names the Debian archive: set it to the URI of a Debian mirror (the folder that holds `dists` and `pool`)",
    )
}

/// Returns the keyring of the Debian archive that is installed on this machine.
pub(super) fn keyring() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(KEYRING_VARIABLE) {
        return Ok(PathBuf::from(path));
    }
    let folder = Path::new("/usr/share/keyrings");
    let names = ["debian-archive-keyring.gpg", "debian-archive-keyring.pgp"];
    names.iter().map(|name| folder.join(name)).find(|path| path.is_file()).ok_or_else(|| Error::Unsupported {
        why: "the keys of the Debian archive are not on this machine, by which its packages are verified".to_owned(),
        help: format!(
            "install the package debian-archive-keyring (Debian and Ubuntu have it), or set {KEYRING_VARIABLE} to the file"
        ),
    })
}

/// Suites that identify the Debian archive itself among the sources.
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

/// Returns the URI of the Debian archive in the sources under `folder` (`/etc/apt`), if they name one.
fn mirror_in(folder: &Path) -> Result<Option<String>> {
    for (path, text) in files(folder)? {
        let deb822 = path.ends_with(".sources");
        let entries = if deb822 { parse_deb822(&text) } else { parse_one_line(&text) };
        if let Some(uri) = archive(&entries) {
            return Ok(Some(uri));
        }
    }
    Ok(None)
}

/// Returns path and text of each sources file.
fn files(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut paths = vec![folder.join("sources.list")];
    if let Ok(listing) = std::fs::read_dir(folder.join("sources.list.d")) {
        let mut more: Vec<_> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
        more.sort();
        paths.extend(more.into_iter().filter(|path| path.extension().is_some_and(|e| e == "list" || e == "sources")));
    }
    let mut found = Vec::new();
    for path in paths.into_iter().filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(&path).while_(|| format!("reading {}", path.display()))?;
        found.push((path.display().to_string(), text));
    }
    Ok(found)
}

/// Returns the URI of the first entry that is the Debian archive.
fn archive(entries: &[Entry]) -> Option<String> {
    entries
        .iter()
        .find(|entry| {
            entry.suites.iter().any(|suite| SUITES.contains(&suite.as_str())) && !entry.uri.contains("security")
        })
        .map(|entry| entry.uri.trim_end_matches('/').to_owned())
}

/// Parses lines of the form `deb [options] URI SUITE COMPONENT...`.
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

/// Parses stanzas of `Field: value` with continuation lines, as in `debian.sources`.
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

    const DEB822: &str = include_str!("fixtures/debian.sources");
    const ONE_LINE: &str = include_str!("fixtures/sources.list");

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
    fn a_machine_without_debian_is_told_what_to_set() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sources.list"), "deb https://mirror.example/ubuntu noble main\n").unwrap();
        assert_eq!(mirror_in(folder.path()).unwrap(), None);
        let error = no_mirror().to_string();
        assert!(error.contains(MIRROR_VARIABLE) && error.contains("/etc/apt"), "{error}");
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
    fn a_machine_without_debian_names_no_mirror() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(mirror_in(folder.path()).unwrap(), None);
        std::fs::create_dir(folder.path().join("sources.list.d")).unwrap();
        std::fs::write(folder.path().join("sources.list.d/debian.sources"), DEB822).unwrap();
        assert_eq!(mirror_in(folder.path()).unwrap().as_deref(), Some("http://mirror.example/debian"));
    }

    #[test]
    fn what_apt_would_read_otherwise_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = folder.path().join("keys.gpg");
        std::fs::write(&keyring, "").unwrap();
        let checked = |mirror: &str, keyring: &Path| {
            Archive { mirror: mirror.to_owned(), keyring: keyring.to_owned() }.checked().map(|archive| archive.mirror)
        };
        assert_eq!(checked(" http://m/debian// ", &keyring).unwrap(), "http://m/debian");
        assert_eq!(checked("file:/srv/debian", &keyring).unwrap(), "copy:/srv/debian");
        for bad in ["", "debian", "http://m/a b", "http://m/[trusted=yes]", "http://m/\ndeb [trusted=yes] http://n/"] {
            let error = checked(bad, &keyring).unwrap_err().to_string();
            assert!(error.contains(MIRROR_VARIABLE), "{error}");
        }
        for bad in ["no such", "none", "a,b"].map(|name| folder.path().join(name)) {
            if bad.ends_with("a,b") {
                std::fs::write(&bad, "").unwrap();
            }
            assert!(checked("http://m/debian", &bad).unwrap_err().to_string().contains("keys of the Debian archive"));
        }
    }
}
