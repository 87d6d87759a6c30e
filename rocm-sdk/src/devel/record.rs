//! A wheel's RECORD: the list of its files, which pip uses to uninstall it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::error::Error;

/// A RECORD with the text of the file.
pub(super) struct Record {
    path: PathBuf,
    rows: Vec<String>,
    names: HashSet<String>,
    changed: bool,
}

impl Record {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
        let mut record = Self { path: path.to_owned(), rows: Vec::new(), names: HashSet::new(), changed: false };
        for row in rows(&text) {
            if record.names.insert(name_of(row)) {
                record.rows.push(row.to_owned());
            } else {
                record.changed = true;
            }
        }
        Ok(record)
    }

    /// Returns whether every row occurs once, and these names are among the rows.
    pub(super) fn has_all<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> bool {
        !self.changed && names.all(|name| self.names.contains(name))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Adds a row with neither hash nor size, as TheRock does: both are optional, and half of the files are links to
    /// files that another wheel has recorded.
    pub(super) fn add(&mut self, name: &str) {
        if self.names.insert(name.to_owned()) {
            self.rows.push(format!("{},,", quoted(name)));
            self.changed = true;
        }
    }

    /// Replaces the file in one step. It writes a new file instead of appending to the old one, since installers share
    /// files between environments by hard links.
    pub(super) fn write(&self) -> Result<(), Error> {
        let new = self.path.with_file_name("RECORD.rocm-sdk");
        if !self.changed {
            // A killed run may have left it.
            let _ = fs::remove_file(&new);
            return Ok(());
        }
        let written = self.write_to(&new).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written.map_err(Error::io("write", &self.path))
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        let mut text = self.rows.join("\n");
        text.push('\n');
        let mut file = File::create(path)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::metadata(&self.path)?.permissions())?;
        file.sync_all()
    }
}

/// Returns the rows without line ends. A line end inside quotes does not end a row.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == '\n' && !quoted
    })
    .map(|row| row.strip_suffix('\r').unwrap_or(row))
    .filter(|row| !row.is_empty())
}

/// Returns the name in a row, as it is written.
fn first_field(row: &str) -> &str {
    match row.strip_prefix('"') {
        Some(quoted) => {
            let end = quoted.find("\",").or_else(|| quoted.strip_suffix('"').map(str::len));
            &quoted[..end.unwrap_or(quoted.len())]
        }
        None => row.split(',').next().unwrap_or(row),
    }
}

fn name_of(row: &str) -> String {
    let name = first_field(row);
    if row.starts_with('"') { name.replace("\"\"", "\"") } else { name.to_owned() }
}

fn quoted(name: &str) -> String {
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_added_once_and_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("RECORD");
        fs::write(&path, "a.py,sha256=x,1\r\n\"b,c\"\"d.py\",,\r\na.py,sha256=x,1\r\n\nlast,,").unwrap();
        let mut record = Record::read(&path).unwrap();
        assert!(!record.has_all(["a.py"].into_iter()), "a row is there twice");
        for name in ["b,c\"d.py", "new", "x,y", "new"] {
            record.add(name);
        }
        record.write().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "a.py,sha256=x,1\n\"b,c\"\"d.py\",,\nlast,,\nnew,,\n\"x,y\",,\n");
        let again = Record::read(&path).unwrap();
        assert!(again.has_all(["a.py", "b,c\"d.py", "x,y", "new", "last"].into_iter()));
        assert!(!again.has_all(["none"].into_iter()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_shared_record_is_not_changed_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("RECORD"), folder.path().join("cache"));
        fs::write(&path, "a,,\n").unwrap();
        fs::hard_link(&path, &other).unwrap();
        let mut record = Record::read(&path).unwrap();
        record.add("b");
        record.write().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a,,\nb,,\n");
        assert_eq!(fs::read_to_string(&other).unwrap(), "a,,\n");
    }
}
