//! The manifest of a committed bundle: text after the code, which loaders ignore. It describes how the bundle was made,
//! and a build compares it with the source.
//!
//! It contains no paths of the machine, no time and no user name: the same source gives the same bytes in each
//! checkout.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The last bytes of a bundle with a manifest. They are preceded by the length of the text, in eight bytes.
const MAGIC: &[u8; 16] = b"hip-kernel-made\n";

/// The inputs of a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The compiler's release, for information: a bundle made by another one is not stale.
    pub(crate) compiler: String,
    /// A hash of `hip-kernel` and its macros.
    pub(crate) library: String,
    /// The options that affect the meaning of the source: edition, panics, `cfg`s.
    pub(crate) options: BTreeSet<String>,
    /// The files of the source, relative to the crate's folder, and their hashes.
    pub(crate) files: Vec<(String, String)>,
}

/// FNV-1a, 128 bits: the same on each machine and in each release of Rust.
#[derive(Clone, Copy)]
pub(crate) struct Hash(u128);

impl Hash {
    pub(crate) fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    /// Adds a file. All kinds of line ends count as the same, since they depend on the checkout.
    pub(crate) fn file(&mut self, path: &Path) -> Result<()> {
        let bytes = fs::read(path).map_err(|reason| Error::File { path: path.to_owned(), reason })?;
        let text = std::str::from_utf8(&bytes).map(|text| text.replace("\r\n", "\n"));
        let bytes = text.map_or(bytes.clone(), String::into_bytes);
        self.add(&(bytes.len() as u64).to_le_bytes());
        self.add(&bytes);
        Ok(())
    }

    pub(crate) fn hex(self) -> String {
        format!("{:032x}", self.0)
    }

    fn of_file(path: &Path) -> Result<String> {
        let mut hash = Self::new();
        hash.file(path)?;
        Ok(hash.hex())
    }
}

impl Manifest {
    /// Adds files that the compiler has read.
    pub(crate) fn read(&mut self, paths: &[PathBuf]) -> Result<()> {
        let here = std::env::current_dir().unwrap_or_default();
        for path in paths {
            let name = match out().and_then(|out| path.strip_prefix(out).ok().map(Path::to_owned)) {
                // A file that the build script wrote for the kernels to include. The folder has another name in each build.
                Some(rest) => Path::new(OUT).join(rest),
                None => path.strip_prefix(&here).unwrap_or(path).to_owned(),
            };
            let name = name.to_string_lossy().replace('\\', "/");
            self.files.push((name, Hash::of_file(path)?));
        }
        self.files.sort();
        self.files.dedup();
        Ok(())
    }

    /// Appends the text to a bundle.
    pub(crate) fn append(&self, bundle: &mut Vec<u8>) {
        let mut text = String::from("hip-kernel 1\n");
        let _ = write!(text, "compiler {}\nlibrary {}\n", self.compiler, self.library);
        self.options.iter().for_each(|option| text += &format!("option {option}\n"));
        self.files.iter().for_each(|(name, hash)| text += &format!("file {hash} {name}\n"));
        bundle.extend(text.bytes());
        bundle.extend((text.len() as u64).to_le_bytes());
        bundle.extend(MAGIC);
    }

    /// Reads it from a bundle; `None` if the bundle has none.
    pub(crate) fn of(bundle: &[u8]) -> Option<Self> {
        let (rest, len) = bundle.strip_suffix(MAGIC)?.split_last_chunk::<8>()?;
        let start = rest.len().checked_sub(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        let mut lines = std::str::from_utf8(rest.get(start..)?).ok()?.lines();
        (lines.next()? == "hip-kernel 1").then_some(())?;
        let mut manifest = Self::default();
        for line in lines {
            match line.split_once(' ')? {
                ("compiler", text) => manifest.compiler = text.to_owned(),
                ("library", text) => manifest.library = text.to_owned(),
                ("option", text) => drop(manifest.options.insert(text.to_owned())),
                ("file", text) => {
                    let (hash, name) = text.split_once(' ')?;
                    manifest.files.push((name.to_owned(), hash.to_owned()));
                }
                _ => return None,
            }
        }
        Some(manifest)
    }

    /// Returns the files that have changed since the bundle was made.
    pub(crate) fn changed(&self) -> Vec<&str> {
        let is_same = |(name, hash): &&(String, String)| Hash::of_file(&path(name)).is_ok_and(|now| now == *hash);
        self.files.iter().filter(|file| !is_same(file)).map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the `cfg`s among `options` that the source names. Others cannot affect it.
    pub(crate) fn named<'o>(&self, options: &'o BTreeSet<String>) -> BTreeSet<&'o str> {
        let texts: Vec<String> =
            self.files.iter().filter_map(|(name, _)| fs::read_to_string(path(name)).ok()).collect();
        let is_named = |option: &str| match option.strip_prefix("cfg ") {
            None => true,
            Some(cfg) => {
                // A value is a string literal: `feature = "double"`.
                let (name, value) = cfg.split_once('=').unwrap_or((cfg, ""));
                texts.iter().any(|text| text.contains(name) && text.contains(value))
            }
        };
        options.iter().map(String::as_str).filter(|option| is_named(option)).collect()
    }
}

/// Placeholder for the folder of the build script.
const OUT: &str = "$OUT_DIR";

fn out() -> Option<PathBuf> {
    std::env::var_os("OUT_DIR").map(PathBuf::from)
}

/// Returns the file of a name in a manifest.
pub(crate) fn path(name: &str) -> PathBuf {
    match (Path::new(name).strip_prefix(OUT), out()) {
        (Ok(rest), Some(out)) => out.join(rest),
        _ => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b.rs");
        fs::write(&file, "mod x;\n// \"fast\"\n").unwrap();
        let mut manifest = Manifest { compiler: "1.95.0".to_owned(), library: "12".to_owned(), ..Manifest::default() };
        manifest.options.extend(["edition 2024".to_owned(), "cfg feature=\"fast\"".to_owned()]);
        manifest.read(std::slice::from_ref(&file)).unwrap();
        let mut bundle = b"code".to_vec();
        manifest.append(&mut bundle);
        let read = Manifest::of(&bundle).unwrap();
        assert_eq!(read, manifest);
        assert_eq!(read.changed(), [""; 0]);
        // Other line ends count as the same source, other text does not.
        fs::write(&file, "mod x;\r\n// \"fast\"\r\n").unwrap();
        assert_eq!(read.changed(), [""; 0]);
        fs::write(&file, "mod y;\n").unwrap();
        assert_eq!(read.changed(), [file.to_str().unwrap()]);
        for len in 0..bundle.len() {
            assert_eq!(Manifest::of(&bundle[..len]), None);
        }
    }

    #[test]
    fn only_what_the_source_names_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.rs");
        fs::write(&file, "#[cfg(feature = \"double\")] type Real = f64; #[cfg(fast)] fn f() {}").unwrap();
        let mut manifest = Manifest::default();
        manifest.read(&[file]).unwrap();
        let options = ["cfg fast", "cfg slow", "cfg feature=\"double\"", "cfg feature=\"sim\"", "edition 2021"];
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let named: Vec<_> = manifest.named(&options).into_iter().collect();
        assert_eq!(named, ["cfg fast", "cfg feature=\"double\"", "edition 2021"]);
    }
}
