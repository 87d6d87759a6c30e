//! Data objects: bytes with a name and a kind.

use std::fmt;
use std::marker::PhantomData;

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_data_kind_t, amd_comgr_data_t};

use crate::comgr::error::{Error, Result};
use crate::comgr::format;
use crate::comgr::input::Input;
use crate::comgr::kind::DataKind;
use crate::comgr::library::{bytes, c_string, check, library, not_supported, text};

/// Bytes that Comgr holds, with a name and a kind (`amd_comgr_data_t`).
///
/// It is immutable: Comgr forbids changes after it was the input of an action.
#[doc(alias("amd_comgr_data_t", "amd_comgr_release_data"))]
pub struct Data {
    raw: amd_comgr_data_t,
    /// Not `Send`: the object may also be in data sets, and Comgr does not allow two threads to use it at once.
    _thread: PhantomData<*mut ()>,
}

impl Data {
    /// Creates a data object with a copy of `bytes` (`amd_comgr_create_data`, `amd_comgr_set_data`,
    /// `amd_comgr_set_data_name`). Messages of the compiler, and `#include` lines, use the name.
    ///
    /// # Errors
    /// [`Error::Input`] if the name is empty or contains a NUL, or if the bytes are not of the kind: a code object must
    /// be a complete ELF file for AMD GPUs. Also for bitcode, whose reader trusts it: use [`of`](Self::of).
    /// [`Error::NotSupported`] if this Comgr does not support the kind.
    #[doc(alias("amd_comgr_create_data", "amd_comgr_set_data", "amd_comgr_set_data_name"))]
    pub fn new(kind: DataKind, name: &str, bytes: &[u8]) -> Result<Self> {
        if kind == DataKind::Bitcode && format::is_bitcode(bytes) {
            return Err(Error::input(
                name,
                "LLVM trusts bitcode: give it to Data::of as an Input, which an unsafe call vouches for",
            ));
        }
        Self::make(kind, name, bytes)
    }

    /// Creates a data object with a copy of an [`Input`], bitcode included: text, output of this process's compiler, or
    /// bytes that an `unsafe` call vouches for.
    ///
    /// # Errors
    /// The same as [`new`](Self::new).
    #[doc(alias("amd_comgr_create_data", "amd_comgr_set_data", "amd_comgr_set_data_name"))]
    pub fn of<'a>(kind: DataKind, name: &str, input: impl Into<Input<'a>>) -> Result<Self> {
        Self::make(kind, name, input.into().bytes())
    }

    fn make(kind: DataKind, name: &str, bytes: &[u8]) -> Result<Self> {
        if name.is_empty() {
            return Err(Error::input(format!("a data object ({kind:?})"), "its name is empty"));
        }
        let c_name = c_string("the name", name)?;
        format::check(kind, name, bytes)?;
        let version = library()?.version;
        let wanted = match kind {
            DataKind::ObjectBundle if (version.major, version.minor) < (2, 8) => Some("Comgr 2.8 (ROCm 6.2)"),
            DataKind::Spirv if version.major < 3 => Some("Comgr 3 (ROCm 6.4)"),
            _ => None,
        };
        if let Some(wanted) = wanted {
            return Err(not_supported(format!("data of the kind {kind:?}"), wanted));
        }
        let mut raw = amd_comgr_data_t::default();
        // SAFETY: the place is valid for the write.
        let status = unsafe { sys::amd_comgr_create_data(kind.raw(), &mut raw) };
        check(status, "amd_comgr_create_data", || format!("{name} ({kind:?})"))?;
        let data = Self { raw, _thread: PhantomData };
        // SAFETY: a live data object that nothing else uses yet; the bytes are valid for the read and copied.
        let status = unsafe { sys::amd_comgr_set_data(raw, bytes.len(), bytes.as_ptr().cast()) };
        check(status, "amd_comgr_set_data", || format!("{name}, {} bytes", bytes.len()))?;
        // SAFETY: likewise; a C string, which is copied.
        let status = unsafe { sys::amd_comgr_set_data_name(raw, c_name.as_ptr()) };
        check(status, "amd_comgr_set_data_name", || name.to_owned())?;
        Ok(data)
    }

    /// Takes ownership of a handle's reference.
    pub(crate) fn from_raw(raw: amd_comgr_data_t) -> Self {
        Self { raw, _thread: PhantomData }
    }

    pub(crate) fn raw(&self) -> amd_comgr_data_t {
        self.raw
    }

    /// Returns a copy of the bytes (`amd_comgr_get_data`).
    ///
    /// # Errors
    /// [`Error::Call`] if Comgr fails.
    #[doc(alias = "amd_comgr_get_data")]
    pub fn bytes(&self) -> Result<Vec<u8>> {
        // SAFETY: a live data object, and places that are valid for the writes.
        bytes(
            "amd_comgr_get_data",
            || self.describe(),
            |size, to| unsafe { sys::amd_comgr_get_data(self.raw, size, to) },
        )
    }

    /// Returns the name (`amd_comgr_get_data_name`).
    ///
    /// # Errors
    /// [`Error::Call`] if Comgr fails.
    #[doc(alias = "amd_comgr_get_data_name")]
    pub fn name(&self) -> Result<String> {
        // SAFETY: a live data object, and places that are valid for the writes.
        text(
            "amd_comgr_get_data_name",
            || "a data object".to_owned(),
            |size, to| unsafe { sys::amd_comgr_get_data_name(self.raw, size, to) },
        )
    }

    /// Returns the kind (`amd_comgr_get_data_kind`); `None` if this crate does not know it.
    ///
    /// # Errors
    /// [`Error::Call`] if Comgr fails.
    #[doc(alias = "amd_comgr_get_data_kind")]
    pub fn kind(&self) -> Result<Option<DataKind>> {
        let mut kind = amd_comgr_data_kind_t::default();
        // SAFETY: a live data object, and a place that is valid for the write.
        let status = unsafe { sys::amd_comgr_get_data_kind(self.raw, &mut kind) };
        check(status, "amd_comgr_get_data_kind", || self.describe())?;
        Ok(DataKind::from_raw(kind))
    }

    /// Returns the ISA name of an object file or a code object, such as `amdgcn-amd-amdhsa--gfx90a:xnack-`
    /// (`amd_comgr_get_data_isa_name`).
    ///
    /// # Errors
    /// [`Error::Call`] for other kinds of data, and for an architecture unknown to Comgr.
    #[doc(alias = "amd_comgr_get_data_isa_name")]
    pub fn isa_name(&self) -> Result<String> {
        // SAFETY: a live data object, and places that are valid for the writes.
        text(
            "amd_comgr_get_data_isa_name",
            || self.describe(),
            |size, to| unsafe { sys::amd_comgr_get_data_isa_name(self.raw, size, to) },
        )
    }

    /// Returns name and kind, for messages.
    pub(crate) fn describe(&self) -> String {
        let name = self.name().unwrap_or_default();
        match self.kind() {
            Ok(Some(kind)) => format!("{name} ({kind:?})"),
            _ => name,
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // SAFETY: a live data object; the reference belongs to this value, and is released once.
        let _ = unsafe { sys::amd_comgr_release_data(self.raw) };
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Data").field("handle", &self.raw.handle).finish_non_exhaustive()
    }
}
