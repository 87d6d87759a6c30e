//! Passes over the IR.

use super::error::{Error, Result};
use super::module::Module;
use super::raw;
use super::target::TargetMachine;

/// Passes of LLVM's own tests, which end the process.
const CRASHING: &[&str] = &["trigger-crash", "trigger-verifier-error"];

impl Module<'_> {
    /// Runs passes, named as in `opt -passes=`: `default<O3>`, `globaldce,always-inline`. Some need the target: use
    /// [`TargetMachine::run_passes`]. If it fails, the module is unchanged.
    ///
    /// # Errors
    /// [`Error::Passes`] for an unknown pass or one that failed; [`Error::Verify`]; [`Error::Fatal`].
    #[doc(alias = "LLVMRunPasses")]
    pub fn run_passes(&mut self, passes: &str) -> Result<()> {
        run(self, passes, None)
    }
}

impl TargetMachine {
    /// Runs passes that may depend on the target, see [`Module::run_passes`]: `default<O3>`.
    ///
    /// # Errors
    /// Those of [`Module::run_passes`] and [`prepare`](Self::prepare).
    #[doc(alias = "LLVMRunPasses")]
    pub fn run_passes(&self, module: &mut Module<'_>, passes: &str) -> Result<()> {
        self.prepare(module)?;
        run(module, passes, Some(self))
    }
}

fn run(module: &mut Module<'_>, passes: &str, machine: Option<&TargetMachine>) -> Result<()> {
    let text = raw::c_text("passes", passes)?;
    let error = |message: String| Error::Passes { passes: passes.to_owned(), message };
    if passes.trim().is_empty() {
        return Err(error("no pass is named".to_owned()));
    }
    if let Some(pass) = CRASHING.iter().find(|pass| passes.contains(**pass)) {
        return Err(error(format!("{pass} ends the process")));
    }
    let target = machine.map_or(Ok(std::ptr::null_mut()), TargetMachine::usable)?;
    let copy = module.verified_copy()?;
    let ran = module.context().guarded("run_passes", move || {
        // SAFETY: the module, the machine (or none) and the options are live and not used by other code while the caller waits. The error's
        // string is given away.
        unsafe {
            let options = raw::LLVMCreatePassBuilderOptions();
            let error = raw::LLVMRunPasses(copy, text.as_ptr(), target, options);
            raw::LLVMDisposePassBuilderOptions(options);
            raw::take_error(error)
        }
    });
    let failed = match machine {
        Some(machine) => machine.after(ran)?,
        None => ran?,
    };
    let mut messages: Vec<String> = failed.into_iter().collect();
    messages.extend(module.context().take_errors().into_iter().map(|error| error.message));
    if messages.is_empty() {
        module.replace(copy);
        return Ok(());
    }
    // SAFETY: only this function uses the copy.
    unsafe { raw::LLVMDisposeModule(copy) };
    Err(error(messages.join("\n")))
}
