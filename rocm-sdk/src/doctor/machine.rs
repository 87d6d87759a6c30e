//! The examined system: the files below its root directory, and the variables of the calling program.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Environment = Arc<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) root: PathBuf,
    environment: Environment,
}

impl Machine {
    pub(crate) fn this() -> Self {
        Self { root: PathBuf::from("/"), environment: Arc::new(|name| std::env::var_os(name)) }
    }

    pub(crate) fn set_environment(&mut self, get: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) {
        self.environment = Arc::new(get);
    }

    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        (self.environment)(name)
    }

    /// Returns whether it is the system that this program runs on.
    pub(crate) fn is_this(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Returns the location of the file `path`, which is relative to the root directory.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns the trimmed text of a file; `None` if it is empty or cannot be read.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        text(&self.at(path))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    /// Returns the names in a directory, with numbers in numerical order.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by_cached_key(|name| {
            let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            (name[..name.len() - digits.len()].to_owned(), digits.parse::<u64>().ok(), name.clone())
        });
        names
    }
}

pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|text| !text.is_empty())
}
