//! Compiled bitcode.

use std::fmt;

use hip::Arch;

use crate::code::{Code, Origin};
use crate::diagnostic::Diagnostic;
use crate::error::Result;

/// LLVM bitcode for one architecture: the input of a [`Linker`](crate::Linker), which makes code of it.
#[derive(Clone)]
pub struct Bitcode {
    name: String,
    /// Contains bitcode instead of a code object.
    inner: Code,
}

impl Bitcode {
    pub(crate) fn new(name: &str, inner: Code) -> Self {
        Self { name: name.to_owned(), inner }
    }

    /// Returns the program's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bitcode.
    pub fn as_bytes(&self) -> &[u8] {
        self.inner.as_bytes()
    }

    /// Converts into the bytes of the bitcode.
    pub fn into_bytes(self) -> Vec<u8> {
        self.inner.into_bytes()
    }

    /// Returns the architecture that it was compiled for.
    pub fn arch(&self) -> &Arch {
        self.inner.arch()
    }

    /// Returns the compiler's messages. They are warnings.
    pub fn log(&self) -> &str {
        self.inner.log()
    }

    /// Returns the compiler's messages as values.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.inner.diagnostics()
    }

    /// Returns whether it was compiled by this call, or is from the [`cache`](crate::cache).
    pub fn origin(&self) -> &Origin {
        self.inner.origin()
    }

    /// Returns the name of an expression that was passed to
    /// [`Program::name_expression`](crate::Program::name_expression): as [`Code::lowered_name`].
    ///
    /// # Errors
    /// [`Error::UnknownName`](crate::Error::UnknownName) if the expression was not requested.
    pub fn lowered_name(&self, expression: &str) -> Result<&str> {
        self.inner.lowered_name(expression)
    }

    pub(crate) fn lowered(&self) -> &[(String, String)] {
        &self.inner.lowered
    }
}

impl AsRef<[u8]> for Bitcode {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for Bitcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bitcode")
            .field("name", &self.name)
            .field("arch", &self.arch().to_string())
            .field("bytes", &self.as_bytes().len())
            .field("origin", self.origin())
            .finish_non_exhaustive()
    }
}
