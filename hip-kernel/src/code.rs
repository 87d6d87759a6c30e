//! The code of a program's kernels, and loading it.

use std::fmt;
use std::sync::Arc;

use hip::{Device, Error, Module, Result};

use crate::identity::{ABI, Layout, MAGIC};

/// The code that the build script made from a module of kernels: the result of [`code!`](crate::code).
///
/// Kernels can be loaded from it by safe calls. Other modules may have any code under a kernel's name, so they cannot:
///
/// ```compile_fail,E0308
/// use hip_kernel::prelude::*;
///
/// #[kernel]
/// pub fn fill(mut y: DisjointSlice<f32>) {
///     y.set(|_| 1.0);
/// }
///
/// fn load(module: &hip::Module) -> hip::Result<Fill> {
///     Fill::load(module)
/// }
/// ```
///
/// The `unsafe` call requires that the author knows the code:
///
/// ```no_run
/// use hip_kernel::prelude::*;
///
/// #[kernel]
/// pub fn fill(mut y: DisjointSlice<f32>) {
///     y.set(|_| 1.0);
/// }
///
/// /// The module has `fill` of HIP C++, which writes `n` elements of `float *y`.
/// fn load(module: &hip::Module) -> hip::Result<Fill> {
///     // SAFETY: as above.
///     unsafe { Fill::load_unchecked(module) }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Code {
    bytes: &'static [u8],
}

impl Code {
    /// Creates code that [`code!`](crate::code) does not name.
    ///
    /// # Safety
    /// The caller must ensure that `hip-kernel-build` made the bytes, and that the source was sound. The bytes'
    /// description of their kernels is compared with the stubs, as for other code.
    #[must_use]
    pub const unsafe fn new(bytes: &'static [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the offload bundle, for functions such as [`Module::describe`].
    #[must_use]
    pub const fn bytes(self) -> &'static [u8] {
        self.bytes
    }

    /// Loads the code that fits the device.
    ///
    /// # Errors
    /// Those of [`Module::load`], such as for a device of an architecture that the build script did not name.
    pub fn load(self, device: &Device) -> Result<Kernels> {
        let module = Module::load(device, self.bytes)?;
        let records = module.section(".hip_kernel").map(records).unwrap_or_default();
        Ok(Kernels { module, records: records.into() })
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code").field("bytes", &self.bytes.len()).finish()
    }
}

/// A program's kernels on a device: loaded [`Code`]. The `load` of a kernel's type finds the kernel. Cheap to clone.
///
/// Only [`Code::load`] creates it, and a kernel that was loaded as one type cannot be launched as another:
///
/// ```compile_fail,E0451
/// fn kernels(module: hip::Module) -> hip_kernel::Kernels {
///     hip_kernel::Kernels { module, records: Vec::new().into() }
/// }
/// ```
///
/// ```compile_fail,E0308
/// use hip_kernel::prelude::*;
///
/// #[kernel]
/// pub fn bytes(mut y: DisjointSlice<u8>) {
///     y.set(|_| 1);
/// }
///
/// #[kernel]
/// pub fn words(mut y: DisjointSlice<u64>) {
///     y.set(|_| 1);
/// }
///
/// fn swap(kernels: &hip_kernel::Kernels) -> hip::Result<Bytes> {
///     let Bytes { marker, .. } = Bytes::load(kernels)?;
///     Ok(Bytes { kernel: Words::load(kernels)?.kernel, marker })
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Kernels {
    module: Module,
    records: Arc<[Record]>,
}

impl Kernels {
    /// Returns the module, for `unsafe` launches by name and for functions of `hip`.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Returns the device that the code is loaded on.
    #[must_use]
    pub fn device(&self) -> Device {
        self.module.device()
    }

    /// Checks that the code of the kernel is that of the stub.
    pub(crate) fn expect(&self, stub: &Stub<'_>) -> Result<()> {
        let Some(name) = stub.text.lines().nth(1) else { return Ok(()) };
        let Some(record) = self.records.iter().find(|record| record.line(1) == name) else {
            // `Module::kernel` returns the error if there is no kernel of this name.
            let kernel = self.module.kernel(name)?;
            return Err(stub.stale(kernel.name(), "the code does not say what source it is of".to_owned()));
        };
        match record.difference(stub) {
            None => Ok(()),
            Some(reason) => Err(stub.stale(name, reason)),
        }
    }
}

/// The host compiler's description of a kernel.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Stub<'a> {
    /// The text of the [`Record`](crate::identity::Record).
    pub text: &'a str,
    /// The layouts of the parameters.
    pub layouts: &'a [Layout],
    /// The package that must be rebuilt.
    pub package: Option<&'a str>,
}

impl Stub<'_> {
    fn stale(&self, kernel: &str, reason: String) -> Error {
        let package = self.package.map(|name| format!(" -p {name}")).unwrap_or_default();
        let reason = format!(
            "{reason}. The code is stale: rebuild, or, if it is a committed bundle, run HIP_KERNEL_BUILD=update cargo build{package}"
        );
        Error::Stale { kernel: kernel.to_owned(), reason }
    }
}

/// The device compiler's description of a kernel.
#[derive(Clone, Debug)]
struct Record {
    abi: u32,
    layouts: Vec<Layout>,
    text: String,
}

/// Number of the text's lines before those of the parameters.
const LINES: usize = 4;

impl Record {
    fn line(&self, index: usize) -> &str {
        self.text.lines().nth(index).unwrap_or_default()
    }

    fn difference(&self, stub: &Stub<'_>) -> Option<String> {
        if self.abi != ABI {
            return Some(format!("it was built with another hip-kernel (interface {}, here {ABI})", self.abi));
        }
        let line = |index| stub.text.lines().nth(index).unwrap_or_default();
        // The device's crate has another name, and its module is in another one, `source`.
        let (path, own) = (self.line(0), line(0));
        let tail = path.splitn(3, "::").nth(2).unwrap_or_default();
        if own.split_once("::").is_none_or(|(_, rest)| rest != tail && !rest.ends_with(&format!("::{tail}"))) {
            return Some(format!("the code is of the module `{tail}`, the signature of `{own}`"));
        }
        let name = |text: &str| text.split_once(':').map_or(text, |(name, _)| name).to_owned();
        let (theirs, ours): (Vec<_>, Vec<_>) =
            (self.text.lines().skip(LINES).collect(), stub.text.lines().skip(LINES).collect());
        for index in 0..theirs.len().max(ours.len()) {
            let (Some(their), Some(our)) = (theirs.get(index), ours.get(index)) else {
                return Some(format!("parameters: the code has {}, the signature {}", theirs.len(), ours.len()));
            };
            if their != our {
                return Some(format!("parameter `{}`: the code has `{their}`, the signature `{our}`", name(our)));
            }
            let (their, here) = (self.layouts.get(index).copied(), stub.layouts.get(index).copied());
            if their != here {
                // The source is the same, but the two compilers see different types.
                let why = if self.line(3) == line(3) {
                    ". The type may depend on `cfg(target_arch)`, or on a `cfg` that the build script does not give to `Build::cfg`"
                } else {
                    ""
                };
                return Some(match (their, here) {
                    (Some(their), Some(here)) if (their.size(), their.align()) != (here.size(), here.align()) => {
                        format!(
                            "parameter `{our}`: the type has {} bytes (alignment {}) in the code, {} bytes (alignment {}) on the host{why}",
                            their.size(),
                            their.align(),
                            here.size(),
                            here.align()
                        )
                    }
                    _ => format!("parameter `{our}`: the code has another type of this name than the host{why}"),
                });
            }
        }
        if self.line(2) != line(2) {
            let of = |text: &str| if text.is_empty() { "nothing".to_owned() } else { format!("`{text}`") };
            return Some(format!(
                "the code was compiled with {} in `#[kernel]`, the signature has {}",
                of(self.line(2)),
                of(line(2))
            ));
        }
        (self.line(3) != line(3)).then(|| "the kernel's source has changed since the code was compiled".to_owned())
    }
}

/// Returns the records of a section. They are aligned to 16 bytes.
fn records(mut section: &[u8]) -> Vec<Record> {
    let mut found = Vec::new();
    while !section.is_empty() {
        let used = match one(section) {
            Some((record, bytes)) => {
                found.push(record);
                bytes.next_multiple_of(16)
            }
            None => 16,
        };
        section = section.get(used..).unwrap_or_default();
    }
    found
}

fn one(bytes: &[u8]) -> Option<(Record, usize)> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (numbers, rest) = rest.split_at_checked(24)?;
    let number = |index: usize| {
        numbers.get(4 * index..4 * index + 4).and_then(|bytes| Some(u32::from_le_bytes(bytes.try_into().ok()?)))
    };
    let (abi, count, len) = (number(0)?, number(1)? as usize, number(2)? as usize);
    let (layouts, rest) = rest.split_at_checked(count.checked_mul(32)?)?;
    let text = String::from_utf8(rest.get(..len)?.to_vec()).ok()?;
    let word = |bytes: &[u8], index: usize| {
        bytes.get(8 * index..8 * index + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    };
    let layouts =
        layouts.chunks_exact(32).map(|bytes| Layout::from_words([0, 1, 2, 3].map(|index| word(bytes, index))));
    Some((Record { abi, layouts: layouts.collect(), text }, 32 + count * 32 + len))
}

/// Returns whether this is the name of a module's source. A path could name a file that no build made.
#[doc(hidden)]
#[must_use]
pub const fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        if !(bytes[index].is_ascii_alphanumeric() || bytes[index] == b'_' || bytes[index] >= 0x80) {
            return false;
        }
        index += 1;
    }
    !bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity;

    #[test]
    fn a_path_is_no_name() {
        assert!(is_name("kernels") && is_name("kernels_2"));
        for path in ["", "../kernels", "/kernels", "a/b", "a\\b", "."] {
            assert!(!is_name(path), "{path:?}");
        }
    }

    /// The bytes of records as a linker lays them out: with gaps, and truncated anywhere.
    #[test]
    fn records_are_read_from_bytes() {
        let text = "kernels::source::k\nf\nsame_len(x, y)\n12\nx: &[f32]";
        let layout = Layout::of::<f32>("f32");
        let record = identity::Record::<1, 48>::new(text, [layout]);
        assert_eq!(text.len(), 48);
        // SAFETY: the type is `repr(C)`; its bytes that are read were written, and padding after them is not looked at.
        let written = unsafe { std::slice::from_raw_parts(std::ptr::from_ref(&record).cast::<u8>(), 32 + 32 + 48) };
        let mut section = vec![0; 32];
        section.extend_from_slice(written);
        section.resize(section.len().next_multiple_of(16) + 16, 0);
        section.extend_from_slice(written);
        let found = records(&section);
        assert_eq!(found.len(), 2);
        for record in found {
            assert_eq!((record.abi, record.text.as_str(), &record.layouts[..]), (ABI, text, &[layout][..]));
        }
        for len in 0..section.len() {
            assert!(records(&section[..len]).len() < 2);
        }
        let mut damaged = section.clone();
        for at in 0..damaged.len() {
            damaged[at] ^= 0xff;
            let _ = records(&damaged);
            damaged[at] ^= 0xff;
        }
    }
}
