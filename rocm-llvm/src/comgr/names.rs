//! Names in compiled code: mangled names, and the lowered names of expressions.

use std::fmt;

use rocm_llvm_sys::comgr as sys;

use crate::comgr::data::Data;
use crate::comgr::error::Result;
use crate::comgr::library::{c_string, check, text};

impl Data {
    /// Returns the mangled names of the functions and variables in bitcode or a code object
    /// (`amd_comgr_populate_mangled_names`, `amd_comgr_get_mangled_name`).
    ///
    /// # Errors
    /// [`Error::Call`](crate::comgr::Error::Call) for other kinds of data.
    #[doc(alias("amd_comgr_populate_mangled_names", "amd_comgr_get_mangled_name"))]
    pub fn mangled_names(&self) -> Result<Vec<String>> {
        let mut count = 0;
        // SAFETY: a live data object, and a place that is valid for the write.
        let status = unsafe { sys::amd_comgr_populate_mangled_names(self.raw(), &mut count) };
        check(status, "amd_comgr_populate_mangled_names", || self.describe())?;
        let name = |index| {
            // SAFETY: a live data object with its names, an index below their number, and pointers that are valid for the writes.
            text(
                "amd_comgr_get_mangled_name",
                || self.describe(),
                |size, to| unsafe { sys::amd_comgr_get_mangled_name(self.raw(), index, size, to) },
            )
        };
        (0..count).map(name).collect()
    }

    /// Reads the name expressions in bitcode or a code object (`amd_comgr_populate_name_expression_map`). HIPRTC stores
    /// one for each `hiprtcAddNameExpression`: a variable named `__amdgcn_name_expr_N`.
    ///
    /// # Errors
    /// [`Error::Call`](crate::comgr::Error::Call) for other kinds of data.
    #[doc(alias = "amd_comgr_populate_name_expression_map")]
    pub fn name_expressions(&self) -> Result<NameExpressions<'_>> {
        let mut count = 0;
        // SAFETY: a live data object, and a place that is valid for the write.
        let status = unsafe { sys::amd_comgr_populate_name_expression_map(self.raw(), &mut count) };
        check(status, "amd_comgr_populate_name_expression_map", || self.describe())?;
        Ok(NameExpressions { data: self, count })
    }
}

/// The name expressions in bitcode or a code object.
pub struct NameExpressions<'a> {
    data: &'a Data,
    count: usize,
}

impl NameExpressions<'_> {
    /// Returns their number.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the mangled name of an expression such as `scale<float>`
    /// (`amd_comgr_map_name_expression_to_symbol_name`); `None` if there is no such expression.
    ///
    /// # Errors
    /// [`Error::Input`](crate::comgr::Error::Input) if the expression contains a NUL.
    #[doc(alias = "amd_comgr_map_name_expression_to_symbol_name")]
    pub fn symbol(&self, expression: &str) -> Result<Option<String>> {
        const FUNCTION: &str = "amd_comgr_map_name_expression_to_symbol_name";
        let c_name = c_string("the name expression", expression)?;
        let get = |size, to| {
            // SAFETY: a live data object with its expressions, a C string, and places that are valid for the writes. Comgr
            // does not write through the expression.
            unsafe { sys::amd_comgr_map_name_expression_to_symbol_name(self.data.raw(), size, c_name.as_ptr(), to) }
        };
        let mut size = 0;
        if get(&mut size, std::ptr::null_mut()) == sys::AMD_COMGR_STATUS_ERROR_INVALID_ARGUMENT {
            return Ok(None);
        }
        text(FUNCTION, || expression.to_owned(), get).map(Some)
    }
}

impl fmt::Debug for NameExpressions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NameExpressions").field("len", &self.count).finish_non_exhaustive()
    }
}
