//! Naming a library.

use crate::error::Error;
use crate::libraries;
use crate::spec::LibrarySpec;

/// A name of a library: its row of the [table](crate::libraries), or its short name.
///
/// ```
/// use rocm_loader::{LibraryName, libraries};
/// assert!(std::ptr::eq("hipblas".library()?, &libraries::HIPBLAS));
/// assert!("libhipblas.so".library().unwrap_err().to_string().contains("hipblas"));
/// # Ok::<(), rocm_loader::Error>(())
/// ```
pub trait LibraryName {
    /// Returns the library.
    ///
    /// # Errors
    /// [`Error::UnknownLibrary`] if no library has this short name.
    fn library(&self) -> Result<&'static LibrarySpec, Error>;
}

impl LibraryName for &'static LibrarySpec {
    fn library(&self) -> Result<&'static LibrarySpec, Error> {
        Ok(self)
    }
}

impl LibraryName for &str {
    fn library(&self) -> Result<&'static LibrarySpec, Error> {
        libraries::by_short_name(self)
            .ok_or_else(|| Error::UnknownLibrary { name: (*self).to_owned(), meant: meant_by(self) })
    }
}

impl LibraryName for String {
    fn library(&self) -> Result<&'static LibrarySpec, Error> {
        self.as_str().library()
    }
}

impl LibraryName for &String {
    fn library(&self) -> Result<&'static LibrarySpec, Error> {
        self.as_str().library()
    }
}

/// Returns the short name that corresponds to a file name or to another spelling.
fn meant_by(name: &str) -> Option<&'static str> {
    let plain = |text: &str| -> String {
        let text = text.to_lowercase();
        let stem = text.split(".so").next().unwrap_or("").trim_end_matches(".dll");
        stem.strip_prefix("lib").unwrap_or(stem).chars().filter(char::is_ascii_alphanumeric).collect()
    };
    let wanted = plain(name);
    let same = |spec: &&&LibrarySpec| [spec.name(), spec.unversioned()].iter().any(|n| plain(n) == wanted);
    libraries::ALL.iter().find(same).map(|spec| spec.name())
}
