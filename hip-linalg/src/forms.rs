//! The forms of a C library's function: one name for each, resolved on first use.

use std::ffi::c_void;
use std::ptr::NonNull;

use rocm_loader::{Binding, Missing, Slot};

use crate::Form;

/// The six forms of a function for one element type: plain, `Batched`, `StridedBatched`, and the same with 64-bit
/// integers. For crates that wrap libraries; [`forms!`](crate::forms) creates one.
pub struct Forms {
    slots: [Slot; 6],
    names: [&'static str; 6],
}

impl Forms {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(slots: [Slot; 6], names: [&'static str; 6]) -> Self {
        Self { slots, names }
    }

    /// Returns the name of the function of this form.
    #[must_use]
    pub fn name(&self, form: Form) -> &'static str {
        self.names[form.index()]
    }

    /// Returns all names. Some releases lack some of them.
    #[must_use]
    pub fn names(&self) -> &[&'static str; 6] {
        &self.names
    }

    /// Returns the function of this form.
    ///
    /// # Errors
    /// An error that names what is missing: the library, or the function in it.
    #[inline]
    pub fn get(&'static self, form: Form, binding: &'static Binding) -> Result<NonNull<c_void>, Missing> {
        self.slots[form.index()].get(binding)
    }
}

/// Declares a `static` [`Forms`] of functions whose names share a prefix, and returns a reference to it:
/// `forms!("hipblasSaxpy")`.
#[macro_export]
macro_rules! forms {
    ($name:literal) => {
        $crate::forms!($name, "", "Batched", "StridedBatched", "_64", "Batched_64", "StridedBatched_64")
    };
    // Names with a suffix after the form: `hipblasGemmStridedBatchedEx`.
    ($name:literal, behind $behind:literal) => {
        $crate::forms!(
            $name,
            $behind,
            concat!("Batched", $behind),
            concat!("StridedBatched", $behind),
            concat!($behind, "_64"),
            concat!("Batched", $behind, "_64"),
            concat!("StridedBatched", $behind, "_64")
        )
    };
    ($name:literal, $($form:expr),+) => {{
        static FORMS: $crate::Forms = $crate::Forms::new(
            [$($crate::__private::Slot::new(concat!($name, $form, "\0"), "5.7")),+],
            [$(concat!($name, $form)),+],
        );
        &FORMS
    }};
}
