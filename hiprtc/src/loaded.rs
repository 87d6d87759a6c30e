//! Code that is compiled and loaded.

use std::fmt;
use std::sync::Arc;

use hip::{Kernel, Module};

use crate::code::Code;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};

/// A program that is compiled and loaded on a device: the result of [`Program::load`](crate::Program::load). Cheap to
/// clone: a clone is the same module.
#[derive(Clone)]
pub struct Loaded {
    module: Module,
    texts: Arc<Texts>,
}

struct Texts {
    log: String,
    lowered: Vec<(String, String)>,
}

impl Loaded {
    pub(crate) fn new(module: Module, code: Code) -> Self {
        Self { module, texts: Arc::new(Texts { log: code.log, lowered: code.lowered }) }
    }

    /// Returns the module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Returns a kernel by an expression that was passed to
    /// [`Program::name_expression`](crate::Program::name_expression), or by its name in the code.
    ///
    /// # Errors
    /// [`Error::Hip`] with the names of the kernels that the code has.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        Ok(self.module.kernel(self.lowered_name(name).unwrap_or(name))?)
    }

    /// Returns the name in the code of an expression, as [`Code::lowered_name`].
    ///
    /// # Errors
    /// [`Error::UnknownName`] if the expression was not requested.
    pub fn lowered_name(&self, expression: &str) -> Result<&str> {
        let lowered = &self.texts.lowered;
        let found = lowered.iter().find(|(known, _)| known == expression);
        found.map(|(_, name)| name.as_str()).ok_or_else(|| Error::UnknownName {
            expression: expression.to_owned(),
            known: lowered.iter().map(|(known, _)| known.clone()).collect(),
        })
    }

    /// Returns the compiler's messages. They are warnings.
    pub fn log(&self) -> &str {
        &self.texts.log
    }

    /// Returns the compiler's messages as values.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        Diagnostic::parse(self.log())
    }
}

/// The `load` of [`hip::kernel!`] takes it.
impl AsRef<Module> for Loaded {
    fn as_ref(&self) -> &Module {
        &self.module
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.module.fmt(f)
    }
}
