//! Sets of data objects: the inputs and the results of actions.

use std::fmt;
use std::marker::PhantomData;

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_data_set_t, amd_comgr_data_t};

use crate::comgr::data::Data;
use crate::comgr::error::Result;
use crate::comgr::kind::DataKind;
use crate::comgr::library::{check, library};

/// A set of data objects (`amd_comgr_data_set_t`).
///
/// ```
/// use rocm_llvm::comgr::{self, Data, DataKind, DataSet};
///
/// # fn main() -> comgr::Result<()> {
/// # if comgr::available().is_err() { return Ok(()) }
/// let mut set = DataSet::new()?;
/// set.add(&Data::new(DataKind::Source, "a.hip", b"int a;")?)?;
/// set.add(&Data::new(DataKind::Include, "a.h", b"")?)?;
/// assert_eq!(set.count(DataKind::Source)?, 1);
/// assert_eq!(set.data(DataKind::Include)?[0].name()?, "a.h");
/// # Ok(())
/// # }
/// ```
#[doc(alias("amd_comgr_data_set_t", "amd_comgr_destroy_data_set"))]
pub struct DataSet {
    raw: amd_comgr_data_set_t,
    /// Not `Send`, like [`Data`].
    _thread: PhantomData<*mut ()>,
}

impl DataSet {
    /// Creates an empty set (`amd_comgr_create_data_set`).
    ///
    /// # Errors
    /// If Comgr is not [available](crate::comgr::available()).
    #[doc(alias = "amd_comgr_create_data_set")]
    pub fn new() -> Result<Self> {
        library()?;
        let mut raw = amd_comgr_data_set_t::default();
        // SAFETY: the place is valid for the write.
        let status = unsafe { sys::amd_comgr_create_data_set(&mut raw) };
        check(status, "amd_comgr_create_data_set", || "an empty data set".to_owned())?;
        Ok(Self { raw, _thread: PhantomData })
    }

    pub(crate) fn raw(&self) -> amd_comgr_data_set_t {
        self.raw
    }

    /// Adds a data object (`amd_comgr_data_set_add`). The set keeps a reference to it, not a copy.
    ///
    /// # Errors
    /// [`Error::Call`](crate::comgr::Error::Call) if the object is already in the set.
    #[doc(alias = "amd_comgr_data_set_add")]
    pub fn add(&mut self, data: &Data) -> Result<()> {
        // SAFETY: a live set and a live data object, which the set references.
        let status = unsafe { sys::amd_comgr_data_set_add(self.raw, data.raw()) };
        check(status, "amd_comgr_data_set_add", || data.describe())
    }

    /// Removes all data objects of a kind (`amd_comgr_data_set_remove`).
    ///
    /// # Errors
    /// [`Error::Call`](crate::comgr::Error::Call) if Comgr does not know the kind.
    #[doc(alias = "amd_comgr_data_set_remove")]
    pub fn remove(&mut self, kind: DataKind) -> Result<()> {
        // SAFETY: a live set.
        let status = unsafe { sys::amd_comgr_data_set_remove(self.raw, kind.raw()) };
        check(status, "amd_comgr_data_set_remove", || format!("{kind:?}"))
    }

    /// Returns the number of data objects of a kind (`amd_comgr_action_data_count`).
    ///
    /// # Errors
    /// [`Error::Call`](crate::comgr::Error::Call) if Comgr does not know the kind.
    #[doc(alias = "amd_comgr_action_data_count")]
    pub fn count(&self, kind: DataKind) -> Result<usize> {
        let mut count = 0;
        // SAFETY: a live set, and a place that is valid for the write.
        let status = unsafe { sys::amd_comgr_action_data_count(self.raw, kind.raw(), &mut count) };
        check(status, "amd_comgr_action_data_count", || format!("{kind:?}"))?;
        Ok(count)
    }

    /// Returns the data objects of a kind, in the order in which they were added (`amd_comgr_action_data_get_data`).
    ///
    /// # Errors
    /// [`Error::Call`](crate::comgr::Error::Call) if Comgr does not know the kind.
    #[doc(alias = "amd_comgr_action_data_get_data")]
    pub fn data(&self, kind: DataKind) -> Result<Vec<Data>> {
        (0..self.count(kind)?)
            .map(|index| {
                let mut data = amd_comgr_data_t::default();
                // SAFETY: a live set, an index below the count, and a place that is valid for the write.
                let status = unsafe { sys::amd_comgr_action_data_get_data(self.raw, kind.raw(), index, &mut data) };
                check(status, "amd_comgr_action_data_get_data", || format!("{kind:?} {index}"))?;
                // The call has added a reference for the caller.
                Ok(Data::from_raw(data))
            })
            .collect()
    }
}

impl Drop for DataSet {
    fn drop(&mut self) {
        // SAFETY: a live set, destroyed once. It releases its references.
        let _ = unsafe { sys::amd_comgr_destroy_data_set(self.raw) };
    }
}

impl fmt::Debug for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataSet").field("handle", &self.raw.handle).finish_non_exhaustive()
    }
}
