//! Files and links by their absolute paths.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::Path;

/// The kernel driver's files: their contents by path. [`driver_files`](crate::driver_files) creates them.
#[derive(Clone, Debug, Default)]
pub struct DriverFiles {
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Hash)]
enum Entry {
    File(String),
    /// A link and its target: relative to its folder inside the tree, otherwise absolute.
    Link(String),
}

impl DriverFiles {
    /// Adds a file.
    pub(super) fn file(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.entries.insert(path.into(), Entry::File(text.into()));
    }

    /// Adds a file of one line.
    pub(super) fn line(&mut self, path: impl Into<String>, value: impl std::fmt::Display) {
        self.file(path, format!("{value}\n"));
    }

    /// Adds a link to another absolute path. The link is relative, so it works wherever the tree is.
    pub(super) fn link(&mut self, path: impl Into<String>, target: &str) {
        let path = path.into();
        let from: Vec<&str> = path.split('/').collect();
        let to: Vec<&str> = target.split('/').collect();
        // Everything except the names themselves.
        let common = from[..from.len() - 1].iter().zip(&to).take_while(|(a, b)| a == b).count();
        let up = std::iter::repeat_n("..", from.len() - 1 - common);
        let relative = up.chain(to[common..].iter().copied()).collect::<Vec<_>>().join("/");
        self.entries.insert(path, Entry::Link(relative));
    }

    /// Adds a link to a path outside the tree.
    pub(super) fn link_out(&mut self, path: impl Into<String>, target: &str) {
        self.entries.insert(path.into(), Entry::Link(target.to_owned()));
    }

    /// The contents of a file; `None` if it does not exist or is a link.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.entries.get(path)? {
            Entry::File(text) => Some(text),
            Entry::Link(_) => None,
        }
    }

    /// A hash of the files: equal for equal files, different for others with high probability.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.entries.hash(&mut hasher);
        hasher.finish()
    }

    /// Writes all files below `folder`, which is created if it does not exist. Existing equal files are kept.
    ///
    /// # Errors
    /// Returns an error if a folder, file or link cannot be created.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        for (path, entry) in &self.entries {
            let place = folder.join(path.trim_start_matches('/'));
            if let Some(parent) = place.parent() {
                std::fs::create_dir_all(parent)?;
            }
            match entry {
                Entry::File(text) => std::fs::write(&place, text)?,
                Entry::Link(target) if std::fs::read_link(&place).is_ok_and(|there| there == Path::new(target)) => {}
                Entry::Link(target) => std::os::unix::fs::symlink(target, &place)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative() {
        let mut tree = DriverFiles::default();
        for (path, target, relative) in
            [("/a/b/c", "/a/d/e", "../d/e"), ("/a/b", "/a/c", "c"), ("/x", "/a/c", "a/c"), ("/a/b/c", "/d", "../../d")]
        {
            tree.link(path, target);
            assert!(matches!(&tree.entries[path], Entry::Link(to) if to == relative), "{:?}", tree.entries[path]);
        }
    }
}
