//! The architectures that Comgr supports.

use std::ffi::{CStr, CString};
use std::fmt;

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_metadata_node_t};

use crate::comgr::error::{Error, Result};
use crate::comgr::library::{c_string, check, library};
use crate::comgr::metadata::{self, Metadata};

/// The part of an ISA name before the processor.
const PREFIX: &str = "amdgcn-amd-amdhsa--";

/// The name of an architecture that the Comgr of this process supports, such as `amdgcn-amd-amdhsa--gfx90a:xnack-`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Isa(CString);

impl Isa {
    /// Checks an architecture: a processor (`gfx90a`), one with features (`gfx90a:sramecc+:xnack-`), or a complete ISA
    /// name.
    ///
    /// # Errors
    /// [`Error::UnknownIsa`] with the processors that Comgr supports. [`Error::Input`] if the name contains a NUL.
    ///
    /// ```
    /// use rocm_llvm::comgr::{self, Isa};
    ///
    /// # if comgr::available().is_err() { return Ok(()) }
    /// assert_eq!(Isa::new("gfx90a:xnack-")?.name(), "amdgcn-amd-amdhsa--gfx90a:xnack-");
    /// assert!(Isa::new("gfx9999").unwrap_err().to_string().contains("gfx942"));
    /// # Ok::<(), comgr::Error>(())
    /// ```
    pub fn new(name: &str) -> Result<Self> {
        let full = match name.starts_with("amdgcn-") {
            true => name.to_owned(),
            false => format!("{PREFIX}{name}"),
        };
        let c_name = c_string("the architecture", &full)?;
        // Comgr's other functions with a name as parameter are not used for this check: HIPRTC and Comgr of ROCm 6.4 and older corrupt
        // memory for some unknown names.
        match known(&full)? {
            true => Ok(Self(c_name)),
            false => Err(Error::UnknownIsa {
                asked: name.to_owned(),
                found: library()?.version,
                known: isas()?.iter().map(|isa| isa.strip_prefix(PREFIX).unwrap_or(isa).to_owned()).collect(),
            }),
        }
    }

    /// Returns the complete name.
    pub fn name(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    pub(crate) fn c_name(&self) -> &CStr {
        &self.0
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns whether Comgr supports the processor, and the processor has the features.
fn known(full: &str) -> Result<bool> {
    let mut parts = full.split(':');
    let processor = parts.next().unwrap_or_default();
    let features: Vec<&str> = parts.collect();
    if !isas()?.iter().any(|isa| isa == processor) {
        return Ok(false);
    }
    if features.is_empty() {
        return Ok(true);
    }
    let metadata = of_processor(&c_string("the architecture", processor)?)?;
    let mut names = Vec::new();
    for feature in features {
        let name = feature.strip_suffix(['+', '-']).unwrap_or_default();
        if metadata["Features"].get(name).is_none() || names.contains(&name) {
            return Ok(false);
        }
        names.push(name);
    }
    Ok(true)
}

/// Returns the ISA names that Comgr supports, without features (`amd_comgr_get_isa_count`, `amd_comgr_get_isa_name`).
///
/// # Errors
/// If Comgr is not [available](crate::comgr::available()).
#[doc(alias("amd_comgr_get_isa_count", "amd_comgr_get_isa_name"))]
pub fn isas() -> Result<Vec<String>> {
    library()?;
    let mut count = 0;
    // SAFETY: the place is valid for the write.
    let status = unsafe { sys::amd_comgr_get_isa_count(&mut count) };
    check(status, "amd_comgr_get_isa_count", || "the architectures".to_owned())?;
    (0..count)
        .map(|index| {
            let mut name = std::ptr::null();
            // SAFETY: an index below the count, and a place that is valid for the write.
            let status = unsafe { sys::amd_comgr_get_isa_name(index, &mut name) };
            check(status, "amd_comgr_get_isa_name", || index.to_string())?;
            if name.is_null() {
                return Ok(String::new());
            }
            // SAFETY: on success it is a C string that is a constant of the library.
            Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
        })
        .collect()
}

/// Returns Comgr's description of an architecture: its processor, features, registers, LDS and limits
/// (`amd_comgr_get_isa_metadata`). The keys are those of Comgr: `Processor`, `Features`, `LocalMemorySize`,
/// `TotalNumVGPRs` and others. All values are strings. Comgr is not always right: before ROCm 7.0 it reports 256 vector
/// registers for gfx90a, not 512.
///
/// # Errors
/// [`Error::UnknownIsa`] for an architecture that Comgr does not support.
///
/// ```
/// use rocm_llvm::comgr;
///
/// # if comgr::available().is_err() { return Ok(()) }
/// let isa = comgr::isa_metadata("gfx90a")?;
/// assert_eq!(isa["Processor"].as_str(), Some("gfx90a"));
/// assert_eq!(isa["LocalMemorySize"].as_u64(), Some(65536));
/// # Ok::<(), comgr::Error>(())
/// ```
#[doc(alias = "amd_comgr_get_isa_metadata")]
pub fn isa_metadata(isa: &str) -> Result<Metadata> {
    of_processor(Isa::new(isa)?.c_name())
}

fn of_processor(name: &CStr) -> Result<Metadata> {
    let mut node = amd_comgr_metadata_node_t::default();
    // SAFETY: a C string that names a known architecture, and a place that is valid for the write.
    let status = unsafe { sys::amd_comgr_get_isa_metadata(name.as_ptr(), &mut node) };
    check(status, "amd_comgr_get_isa_metadata", || name.to_string_lossy().into_owned())?;
    metadata::take(node)
}
