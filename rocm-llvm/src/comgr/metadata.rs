//! Metadata: a tree of maps, lists and strings.

use std::ffi::c_void;
use std::fmt;
use std::ops::Index;

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_metadata_kind_t, amd_comgr_metadata_node_t, amd_comgr_status_t};

use crate::comgr::data::Data;
use crate::comgr::error::{Error, Result};
use crate::comgr::library::{check, text};

/// Maximum depth of a tree that is read. Compilers write at most five levels.
const MOST_LEVELS: usize = 64;

/// A tree of maps, lists and strings (`amd_comgr_metadata_node_t`), copied from Comgr. Numbers and booleans are
/// strings, as in Comgr: see [`as_u64`](Self::as_u64).
///
/// Indexing with a missing key or position returns [`Metadata::Null`], so that a path can be followed without a check
/// at each step.
///
/// ```
/// use rocm_llvm::comgr::Metadata;
///
/// let kernel = Metadata::Map(vec![(".name".into(), Metadata::String("f".into()))]);
/// let root = Metadata::Map(vec![("amdhsa.kernels".into(), Metadata::List(vec![kernel]))]);
/// assert_eq!(root["amdhsa.kernels"][0][".name"].as_str(), Some("f"));
/// assert!(root["amdhsa.kernels"][7][".name"].is_null());
/// ```
#[doc(alias("amd_comgr_metadata_node_t", "amd_comgr_destroy_metadata", "amd_comgr_get_metadata_kind"))]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Metadata {
    /// No value.
    #[default]
    Null,
    /// A text, a number or a boolean (`amd_comgr_get_metadata_string`).
    #[doc(alias = "amd_comgr_get_metadata_string")]
    String(String),
    /// Values by key, in Comgr's order (`amd_comgr_iterate_map_metadata`).
    #[doc(alias = "amd_comgr_iterate_map_metadata")]
    Map(Vec<(String, Metadata)>),
    /// Values in order (`amd_comgr_index_list_metadata`).
    #[doc(alias("amd_comgr_index_list_metadata", "amd_comgr_get_metadata_list_size"))]
    List(Vec<Metadata>),
}

/// The result of indexing with a missing key or position.
static NULL: Metadata = Metadata::Null;

impl Metadata {
    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the string as a number: decimal, or hexadecimal after `0x`.
    pub fn as_u64(&self) -> Option<u64> {
        let text = self.as_str()?;
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }

    /// Returns the string as a boolean: `true`, `false`, `1` or `0`.
    pub fn as_bool(&self) -> Option<bool> {
        match self.as_str()? {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        }
    }

    /// Returns the values of a list; none for anything else.
    pub fn list(&self) -> &[Metadata] {
        match self {
            Self::List(values) => values,
            _ => &[],
        }
    }

    /// Returns the keys and values of a map; none for anything else.
    pub fn map(&self) -> &[(String, Metadata)] {
        match self {
            Self::Map(pairs) => pairs,
            _ => &[],
        }
    }

    /// Returns the value under a key of a map.
    #[doc(alias = "amd_comgr_metadata_lookup")]
    pub fn get(&self, key: &str) -> Option<&Metadata> {
        self.map().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns whether it is [`Metadata::Null`].
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }

    /// Writes the tree, indented.
    fn write(&self, f: &mut fmt::Formatter<'_>, level: usize) -> fmt::Result {
        match self {
            Self::Null => f.write_str("~"),
            Self::String(text) => f.write_str(text),
            Self::List(values) => values.iter().try_for_each(|value| {
                write!(f, "\n{:1$}- ", "", 2 * level)?;
                value.write(f, level + 1)
            }),
            Self::Map(pairs) => pairs.iter().try_for_each(|(key, value)| {
                write!(f, "\n{:1$}{key}: ", "", 2 * level)?;
                value.write(f, level + 1)
            }),
        }
    }
}

/// Prints the tree with one indented line per value.
impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl Index<&str> for Metadata {
    type Output = Metadata;

    fn index(&self, key: &str) -> &Metadata {
        self.get(key).unwrap_or(&NULL)
    }
}

impl Index<usize> for Metadata {
    type Output = Metadata;

    fn index(&self, at: usize) -> &Metadata {
        self.list().get(at).unwrap_or(&NULL)
    }
}

impl Data {
    /// Returns the metadata of an object file, a code object or bitcode: see [`metadata`](crate::comgr::metadata()).
    ///
    /// # Errors
    /// [`Error::Call`] if there is none, or for other kinds of data.
    #[doc(alias = "amd_comgr_get_data_metadata")]
    pub fn metadata(&self) -> Result<Metadata> {
        of_data(self)
    }
}

/// Returns the metadata of a data object.
fn of_data(data: &Data) -> Result<Metadata> {
    let mut node = amd_comgr_metadata_node_t::default();
    // SAFETY: a live data object, and a place that is valid for the write.
    let status = unsafe { sys::amd_comgr_get_data_metadata(data.raw(), &mut node) };
    check(status, "amd_comgr_get_data_metadata", || {
        format!("{}: it has no metadata that Comgr can read", data.describe())
    })?;
    take(node)
}

/// Copies a tree, and destroys Comgr's.
pub(crate) fn take(node: amd_comgr_metadata_node_t) -> Result<Metadata> {
    Node(node).read(0)
}

/// A node of Comgr's tree, destroyed on drop.
struct Node(amd_comgr_metadata_node_t);

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: a live node, destroyed once.
        let _ = unsafe { sys::amd_comgr_destroy_metadata(self.0) };
    }
}

impl Node {
    fn read(&self, level: usize) -> Result<Metadata> {
        read(self.0, level)
    }
}

/// Copies the tree under a live node.
fn read(node: amd_comgr_metadata_node_t, level: usize) -> Result<Metadata> {
    if level > MOST_LEVELS {
        return Err(Error::input("the metadata", format!("it has more than {MOST_LEVELS} levels")));
    }
    let mut kind = amd_comgr_metadata_kind_t::default();
    // SAFETY: a live node, and a place that is valid for the write.
    let status = unsafe { sys::amd_comgr_get_metadata_kind(node, &mut kind) };
    check(status, "amd_comgr_get_metadata_kind", || "metadata".to_owned())?;
    match kind {
        sys::AMD_COMGR_METADATA_KIND_STRING => string(node).map(Metadata::String),
        sys::AMD_COMGR_METADATA_KIND_MAP => {
            let mut pairs = Pairs { level, found: Ok(Vec::new()) };
            // SAFETY: a live node, and a callback that expects such pairs, which live until the call returns.
            let status = unsafe { sys::amd_comgr_iterate_map_metadata(node, Some(pair), (&raw mut pairs).cast()) };
            let found = pairs.found?;
            check(status, "amd_comgr_iterate_map_metadata", || "a map".to_owned())?;
            Ok(Metadata::Map(found))
        }
        sys::AMD_COMGR_METADATA_KIND_LIST => {
            let mut size = 0;
            // SAFETY: a live node, and a place that is valid for the write.
            let status = unsafe { sys::amd_comgr_get_metadata_list_size(node, &mut size) };
            check(status, "amd_comgr_get_metadata_list_size", || "a list".to_owned())?;
            let element = |index| {
                let mut element = amd_comgr_metadata_node_t::default();
                // SAFETY: a live list, an index below its size, and a place that is valid for the write.
                let status = unsafe { sys::amd_comgr_index_list_metadata(node, index, &mut element) };
                check(status, "amd_comgr_index_list_metadata", || index.to_string())?;
                Node(element).read(level + 1)
            };
            (0..size).map(element).collect::<Result<_>>().map(Metadata::List)
        }
        _ => Ok(Metadata::Null),
    }
}

fn string(node: amd_comgr_metadata_node_t) -> Result<String> {
    // SAFETY: a live node, and places that are valid for the writes.
    text(
        "amd_comgr_get_metadata_string",
        || "a string".to_owned(),
        |size, to| unsafe { sys::amd_comgr_get_metadata_string(node, size, to) },
    )
}

/// The pairs of a map, collected by the callback.
struct Pairs {
    level: usize,
    found: Result<Vec<(String, Metadata)>>,
}

/// Adds a pair. Comgr destroys both nodes after the call.
unsafe extern "C" fn pair(
    key: amd_comgr_metadata_node_t,
    value: amd_comgr_metadata_node_t,
    pairs: *mut c_void,
) -> amd_comgr_status_t {
    // SAFETY: Comgr passes on the pointer that `read` gave it.
    let pairs = unsafe { &mut *pairs.cast::<Pairs>() };
    let Ok(found) = &mut pairs.found else { return sys::AMD_COMGR_STATUS_ERROR };
    match string(key).and_then(|key| Ok((key, read(value, pairs.level + 1)?))) {
        Ok(pair) => {
            found.push(pair);
            sys::AMD_COMGR_STATUS_SUCCESS
        }
        Err(error) => {
            pairs.found = Err(error);
            sys::AMD_COMGR_STATUS_ERROR
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_followed_and_end_in_null() {
        let text = |text: &str| Metadata::String(text.to_owned());
        let tree = Metadata::Map(vec![
            ("a".to_owned(), Metadata::List(vec![text("1"), text("0x10"), text("true")])),
            ("b".to_owned(), text("words")),
        ]);
        assert_eq!(tree["a"][0].as_u64(), Some(1));
        assert_eq!(tree["a"][1].as_u64(), Some(16));
        assert_eq!(tree["a"][2].as_bool(), Some(true));
        assert_eq!(tree["b"].as_u64(), None);
        assert!(tree["b"]["c"][3].is_null() && tree["a"]["b"].is_null());
        assert_eq!(tree.to_string(), "\na: \n  - 1\n  - 0x10\n  - true\nb: words");
    }
}
