//! Kernels compiled ahead of time for several architectures in one file: clang's offload bundle.

use std::borrow::Cow;
use std::fmt;

use hip::Arch;

use crate::error::{Error, Result};

const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED_MAGIC: &[u8] = b"CCOB";
/// The kind and target triple before the processor in an entry's name.
const PREFIX: &str = "hipv4-amdgcn-amd-amdhsa--";
/// The same for NVIDIA's architectures: cubins (`sm_90`) and PTX (`compute_90`).
const NVIDIA_PREFIX: &str = "cuda-nvptx64-nvidia-cuda--";
/// The first entry of a bundle, for host code. It is empty.
const HOST: &str = "host-x86_64-unknown-linux-gnu-";
/// Alignment of code objects.
const ALIGN: usize = 4096;
/// Maximum number of entries; a header with more is damaged.
const MOST_ENTRIES: u64 = 4096;

/// One piece of code in a [`Bundle`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    id: &'a str,
    code: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Returns the name, such as `hipv4-amdgcn-amd-amdhsa--gfx90a`.
    pub fn id(&self) -> &'a str {
        self.id
    }

    /// Returns the architecture of the code; `None` if it is not for a GPU of AMD's or NVIDIA's.
    pub fn arch(&self) -> Option<Arch> {
        if let Some(arch) = self.id.strip_prefix(NVIDIA_PREFIX) {
            return arch.parse().ok().filter(Arch::is_nvidia);
        }
        let at = self.id.find("-gfx").filter(|_| self.id.contains("amdgcn"))?;
        self.id[at + 1..].parse().ok()
    }

    /// Returns the code object.
    pub fn code(&self) -> &'a [u8] {
        self.code
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.id, self.code.len())
    }
}

/// Code for several architectures, in the format that `hipcc --genco` writes and `hipModuleLoadData` reads. A
/// compressed bundle must be [decompressed](Bundle::decompress) first.
///
/// A program that includes a bundle with `include_bytes!` also runs on a machine without a compiler: see
/// [`compile_or_bundle`](crate::compile_or_bundle).
///
/// ```
/// use hiprtc::{Bundle, BundleWriter};
///
/// // In a real program, the file is written by `Program::compile_bundle`.
/// let file = BundleWriter::new().add("gfx90a".parse()?, b"code A").add("gfx1100".parse()?, b"code B").to_bytes();
///
/// let bundle = Bundle::parse(&file)?;
/// assert_eq!(bundle.select(&"gfx90a:sramecc+:xnack-".parse()?)?, b"code A");
/// let error = bundle.select(&"gfx942".parse()?).unwrap_err();
/// assert!(error.to_string().contains("gfx1100"));
/// # Ok::<(), hiprtc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle<'a> {
    entries: Vec<Entry<'a>>,
}

impl<'a> Bundle<'a> {
    /// Parses a bundle. The code is borrowed, not copied.
    ///
    /// # Errors
    /// [`Error::InvalidBundle`] if the bytes are not a bundle, or a compressed one (`CCOB`):
    /// [decompress](Self::decompress) it first.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let invalid = |reason: &str| Error::InvalidBundle(reason.to_owned());
        if bytes.starts_with(COMPRESSED_MAGIC) {
            return Err(invalid("it is compressed: parse the result of Bundle::decompress"));
        }
        let mut rest =
            bytes.strip_prefix(MAGIC).ok_or_else(|| invalid("it does not start with __CLANG_OFFLOAD_BUNDLE__"))?;
        let number = |rest: &mut &'a [u8]| {
            let (head, tail) = rest.split_first_chunk::<8>().ok_or_else(|| invalid("its table is truncated"))?;
            *rest = tail;
            Ok::<_, Error>(u64::from_le_bytes(*head))
        };
        let count = number(&mut rest)?;
        if count > MOST_ENTRIES {
            return Err(Error::InvalidBundle(format!("its table has {count} entries")));
        }
        let mut entries = Vec::new();
        for _ in 0..count {
            let (offset, size, id_len) = (number(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
            let id = usize::try_from(id_len).ok().and_then(|len| rest.split_at_checked(len));
            let (id, tail) = id.ok_or_else(|| invalid("its table is truncated"))?;
            rest = tail;
            let id = std::str::from_utf8(id).map_err(|_| invalid("the name of an entry is not UTF-8"))?;
            let end = offset.checked_add(size).and_then(|end| usize::try_from(end).ok());
            let code = end.and_then(|end| bytes.get(usize::try_from(offset).ok()?..end));
            let code = code.ok_or_else(|| Error::InvalidBundle(format!("the code of {id} is truncated")))?;
            entries.push(Entry { id, code });
        }
        Ok(Self { entries })
    }

    /// Returns the bytes to [parse](Self::parse): decompressed if they are a compressed bundle (`CCOB`), otherwise
    /// unchanged.
    ///
    /// # Errors
    /// [`Error::InvalidBundle`] if it is damaged, or compressed and the feature `compressed` is off.
    pub fn decompress(bytes: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        hip::Module::decompress(bytes).map_err(|error| Error::InvalidBundle(error.to_string()))
    }

    /// Returns all entries in order, including the empty one for the host.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// Returns the architectures that the bundle has code for.
    pub fn architectures(&self) -> Vec<Arch> {
        self.entries.iter().filter_map(Entry::arch).collect()
    }

    /// Returns the code that matches `device` best: code for its processor before code for a generic one, then code
    /// that names more of its features (xnack, sramecc) before code that names fewer. On NVIDIA's devices, machine code
    /// comes before PTX.
    ///
    /// # Errors
    /// [`Error::NoCodeFor`] if no code matches; it lists the architectures in the bundle.
    pub fn select(&self, device: &Arch) -> Result<&'a [u8]> {
        let fitting = self.entries.iter().filter_map(|entry| {
            let arch = entry.arch().filter(|arch| !entry.code.is_empty() && arch.runs_on(device))?;
            Some((arch.fit(device), entry.code))
        });
        let best = fitting.max_by_key(|(fit, _)| *fit);
        best.map(|(_, code)| code).ok_or_else(|| Error::NoCodeFor {
            arch: device.clone(),
            available: self.architectures().iter().map(Arch::to_string).collect(),
        })
    }
}

/// Builds the bytes of a [`Bundle`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct BundleWriter<'a> {
    entries: Vec<(Arch, Cow<'a, [u8]>)>,
}

impl<'a> BundleWriter<'a> {
    /// Creates a writer without code.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the code for one architecture, replacing earlier code for it.
    pub fn add(mut self, arch: Arch, code: impl Into<Cow<'a, [u8]>>) -> Self {
        self.entries.retain(|(other, _)| *other != arch);
        self.entries.push((arch, code.into()));
        self
    }

    /// Returns the bytes of the bundle. The same code in the same order gives the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let host: (String, &[u8]) = (HOST.to_owned(), &[]);
        let device = self.entries.iter().map(|(arch, code)| (id(arch), &**code));
        let entries: Vec<_> = std::iter::once(host).chain(device).collect();
        let table: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
        let mut bytes = MAGIC.to_vec();
        bytes.extend((entries.len() as u64).to_le_bytes());
        let mut offset = (MAGIC.len() + 8 + table).next_multiple_of(ALIGN);
        for (id, code) in &entries {
            bytes.extend((offset as u64).to_le_bytes());
            bytes.extend((code.len() as u64).to_le_bytes());
            bytes.extend((id.len() as u64).to_le_bytes());
            bytes.extend(id.bytes());
            offset = (offset + code.len()).next_multiple_of(ALIGN);
        }
        for (_, code) in entries.iter().filter(|(_, code)| !code.is_empty()) {
            bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
            bytes.extend_from_slice(code);
        }
        bytes
    }
}

/// Returns the name of the entry for an architecture.
fn id(arch: &Arch) -> String {
    format!("{}{arch}", if arch.is_nvidia() { NVIDIA_PREFIX } else { PREFIX })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(text: &str) -> Arch {
        text.parse().unwrap()
    }

    fn bundle(names: &[&str]) -> Vec<u8> {
        let writer = names.iter().fold(BundleWriter::new(), |w, name| w.add(arch(name), name.as_bytes().to_vec()));
        writer.to_bytes()
    }

    #[test]
    fn what_is_written_is_read_and_aligned() {
        let bytes = bundle(&["gfx90a", "gfx942", "gfx1100"]);
        let bundle = Bundle::parse(&bytes).unwrap();
        assert_eq!(bundle.entries().len(), 4);
        assert_eq!(bundle.entries()[0].id(), HOST);
        assert_eq!(bundle.entries()[0].arch(), None);
        assert_eq!(bundle.entries()[1].id(), "hipv4-amdgcn-amd-amdhsa--gfx90a");
        assert_eq!(bundle.architectures(), ["gfx90a", "gfx942", "gfx1100"].map(arch));
        for entry in &bundle.entries()[1..] {
            assert_eq!(entry.code(), entry.arch().unwrap().to_string().as_bytes());
            assert_eq!((entry.code().as_ptr() as usize - bytes.as_ptr() as usize) % ALIGN, 0);
        }
    }

    #[test]
    fn selection_follows_the_features() {
        let bytes = bundle(&["gfx90a", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-", "gfx9-4-generic", "gfx942"]);
        let bundle = Bundle::parse(&bytes).unwrap();
        for (device, want) in [
            ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
            ("gfx90a:sramecc-:xnack-", "gfx90a"),
            ("gfx90a:sramecc+:xnack+", "gfx90a:xnack+"),
            ("gfx942:sramecc+:xnack-", "gfx942"),
            ("gfx950", "gfx9-4-generic"),
        ] {
            assert_eq!(bundle.select(&arch(device)).unwrap(), want.as_bytes(), "{device}");
        }
        let error = bundle.select(&arch("gfx1100")).unwrap_err().to_string();
        assert!(error.contains("gfx1100") && error.contains("gfx9-4-generic"), "{error}");
    }

    #[test]
    fn compressed_bundles_are_read_with_the_feature_and_say_so_without() {
        let image = include_bytes!("../../sim/amdgpu-sim/tests/kernels/basic-ccob-v3.hipfb");
        match Bundle::decompress(image) {
            // Another crate of the build may have switched on `hip`'s feature for it.
            Ok(bytes) => {
                assert_eq!(Bundle::parse(&bytes).unwrap().architectures(), ["gfx90a", "gfx942"].map(arch));
                for len in [4, 30, image.len() / 2, image.len() - 1] {
                    assert!(matches!(Bundle::decompress(&image[..len]), Err(Error::InvalidBundle(_))), "{len}");
                }
                // The header states the sizes, and the data after it is shorter than any of them.
                let mut random = crate::damage::Random(7);
                for _ in 0..3000 {
                    let bytes = [random.bytes(&image[..40]), image[40..200].to_vec()].concat();
                    assert!(Bundle::decompress(&bytes).and_then(|bytes| Bundle::parse(&bytes).map(drop)).is_err());
                }
            }
            Err(error) if cfg!(feature = "compressed") => panic!("{error}"),
            Err(error) => assert!(error.to_string().contains("feature `compressed`"), "{error}"),
        }
        let raw = bundle(&["gfx90a"]);
        assert!(*Bundle::decompress(&raw).unwrap() == *raw);
    }

    #[test]
    fn older_names_of_entries_are_known() {
        for (id, want) in [
            ("hip-amdgcn-amd-amdhsa-gfx906", Some("gfx906")),
            ("hipv4-amdgcn-amd-amdhsa-unknown-gfx90a:xnack-", Some("gfx90a:xnack-")),
            ("hipv4-spirv64-amd-amdhsa--amdgcnspirv", None),
        ] {
            let entry = Entry { id, code: b"x" };
            assert_eq!(entry.arch(), want.map(arch), "{id}");
        }
    }

    #[test]
    fn damaged_bundles_are_errors() {
        let good = bundle(&["gfx90a"]);
        for len in 0..good.len() {
            assert!(Bundle::parse(&good[..len]).is_err(), "cut off at {len}");
        }
        for at in 24..MAGIC.len() + 8 + 48 {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            // Any result is allowed, but no panic.
            let _ = Bundle::parse(&bad).map(|bundle| bundle.architectures());
        }
        assert!(Bundle::parse(b"CCOB\x02").unwrap_err().to_string().contains("compressed"));
        assert!(Bundle::parse(b"\x7fELF").is_err());
    }
}
