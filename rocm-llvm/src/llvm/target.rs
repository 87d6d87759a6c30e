//! Code generation for GPUs: objects and assembly.

use std::cell::Cell;
use std::ffi::CString;
use std::fmt;

use super::context::Context;
use super::error::{Error, Result};
use super::function::{BasicBlock, Function};
use super::module::Module;
use super::processor::Processor;
use super::raw::{self, Buffer};
use super::types::{AddressSpace, TypeKind};

/// The optimisation level of the code generator. Passes over the IR are separate: [`TargetMachine::run_passes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Optimization {
    /// Not at all.
    None,
    /// A little.
    Less,
    /// As Clang does with `-O2`.
    #[default]
    Default,
    /// As Clang does with `-O3`.
    Aggressive,
}

/// Generates code for one GPU, or for the host.
///
/// ```
/// use rocm_llvm::llvm::{Context, Optimization, TargetMachine};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.parse_ir("empty.ll", "define amdgpu_kernel void @empty() {\n  ret void\n}\n")?;
/// for gpu in ["gfx90a", "gfx942:sramecc+:xnack-", "gfx1100"] {
///     let machine = TargetMachine::new(gpu, Optimization::Default)?;
///     machine.prepare(&module)?;
///     assert!(machine.emit_assembly(&module)?.contains("s_endpgm"));
/// }
/// # Ok(())
/// # }
/// ```
pub struct TargetMachine {
    raw: raw::LLVMTargetMachineRef,
    processor: Processor,
    layout: CString,
    /// A parked thread uses the machine: it is neither used again nor freed.
    broken: Cell<bool>,
}

// SAFETY: LLVM's machines are not bound to a thread. This one is not `Sync`.
unsafe impl Send for TargetMachine {}

impl TargetMachine {
    /// Creates a machine for a GPU by its name and, if needed, features: `gfx90a`, `gfx942:sramecc+:xnack-`,
    /// `gfx1100:wavefrontsize64+`, `gfx11-generic`.
    ///
    /// # Errors
    /// [`Error::UnknownGpu`] if this LLVM does not know the GPU, or the GPU lacks a feature; [`Error::NoAmdgpu`] if
    /// this LLVM does not generate code for AMD GPUs.
    #[doc(alias = "LLVMCreateTargetMachine")]
    #[doc(alias = "LLVMGetTargetFromTriple")]
    pub fn new(gpu: &str, optimization: Optimization) -> Result<Self> {
        Self::of(Processor::new(gpu)?, optimization)
    }

    /// Creates a machine for the processor of this machine, with all its features. A [`Jit`](super::Jit) has one.
    ///
    /// # Errors
    /// [`Error::NoHost`] if this LLVM does not generate code for it.
    #[doc(alias("LLVMGetDefaultTargetTriple", "LLVMGetHostCPUName", "LLVMGetHostCPUFeatures"))]
    pub fn host(optimization: Optimization) -> Result<Self> {
        Self::of(Processor::host()?, optimization)
    }

    fn of(processor: Processor, optimization: Optimization) -> Result<Self> {
        use rocm_llvm_sys::llvm as sys;
        let level = match optimization {
            Optimization::None => sys::LLVMCodeGenLevelNone,
            Optimization::Less => sys::LLVMCodeGenLevelLess,
            Optimization::Default => sys::LLVMCodeGenLevelDefault,
            Optimization::Aggressive => sys::LLVMCodeGenLevelAggressive,
        };
        let raw = processor.machine(level)?;
        // SAFETY: the machine is live, the layout is freed after its string was copied, and the string is given away.
        let layout = unsafe {
            let data = raw::LLVMCreateTargetDataLayout(raw);
            let text = raw::take_message(raw::LLVMCopyStringRepOfTargetData(data));
            raw::LLVMDisposeTargetData(data);
            text
        };
        let layout = raw::c_text("a data layout", &layout)?;
        Ok(Self { raw, processor, layout, broken: Cell::new(false) })
    }

    /// Returns the GPU, as given; or the name of the host's processor.
    pub fn gpu(&self) -> &str {
        &self.processor.name
    }

    pub(super) fn raw(&self) -> raw::LLVMTargetMachineRef {
        self.raw
    }

    pub(super) fn usable(&self) -> Result<raw::LLVMTargetMachineRef> {
        match self.broken.get() {
            true => Err(Error::invalid("target machine", "LLVM gave up while it used this machine: make another one")),
            false => Ok(self.raw),
        }
    }

    /// Records that a fatal error left the machine in use.
    pub(super) fn after<T>(&self, result: Result<T>) -> Result<T> {
        if matches!(result, Err(Error::Fatal { .. })) {
            self.broken.set(true);
        }
        result
    }

    /// Sets the module's target and data layout to this machine's. Call it before the first
    /// [`alloca`](super::Builder::alloca), whose address space depends on it. Code generation calls it too.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the module is for another target.
    #[doc(alias = "LLVMSetTarget")]
    #[doc(alias = "LLVMSetDataLayout")]
    #[doc(alias = "LLVMCreateTargetDataLayout")]
    pub fn prepare(&self, module: &Module<'_>) -> Result<()> {
        let triple = module.triple();
        let ours = self.processor.triple.to_string_lossy();
        if !triple.is_empty() && !triple.starts_with(&*ours) {
            return Err(Error::invalid("prepare", format!("module {} is for {triple}, not {ours}", module.name())));
        }
        // SAFETY: the module is live, and both texts are C strings that LLVM made or knows.
        unsafe {
            raw::LLVMSetTarget(module.raw(), self.processor.triple.as_ptr());
            raw::LLVMSetDataLayout(module.raw(), self.layout.as_ptr());
        }
        Ok(())
    }

    /// Generates an object file, the input of a [`Linker`](super::Linker). The module is unchanged.
    ///
    /// # Errors
    /// [`Error::Verify`] if the module is not valid; [`Error::Emit`] with LLVM's diagnostics, such as too much LDS;
    /// [`Error::Fatal`] on a fatal error; [`Error::Invalid`] if the module is for another target.
    #[doc(alias = "LLVMTargetMachineEmitToMemoryBuffer")]
    pub fn emit_object(&self, module: &Module<'_>) -> Result<Vec<u8>> {
        self.emit(module, rocm_llvm_sys::llvm::LLVMObjectFile)
    }

    /// Generates assembly. The module is unchanged.
    ///
    /// # Errors
    /// Those of [`emit_object`](Self::emit_object).
    pub fn emit_assembly(&self, module: &Module<'_>) -> Result<String> {
        let text = self.emit(module, rocm_llvm_sys::llvm::LLVMAssemblyFile)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn emit(&self, module: &Module<'_>, kind: rocm_llvm_sys::llvm::LLVMCodeGenFileType) -> Result<Vec<u8>> {
        let machine = self.usable()?;
        let copy = module.try_clone()?;
        self.prepare(&copy)?;
        // Verified again, since other rules apply with the data layout.
        copy.verify()?;
        if self.processor.is_gpu() {
            check_allocations(&copy)?;
        }
        let raw = copy.raw();
        let context: &Context = module.context();
        let emitted = context.guarded("emit", move || {
            let (mut message, mut buffer) = (std::ptr::null_mut(), std::ptr::null_mut());
            // SAFETY: the machine and the module are live and not used by other code while the caller waits, the pointers are valid for the
            // writes, and the message is given away.
            unsafe {
                let failed =
                    raw::LLVMTargetMachineEmitToMemoryBuffer(machine, raw, kind, &mut message, &mut buffer) != 0;
                (failed, raw::take_message(message), Buffer(buffer).bytes().to_vec())
            }
        });
        let (failed, message, bytes) = match self.after(emitted) {
            Ok(emitted) => emitted,
            Err(error) => {
                // The parked thread still uses it.
                std::mem::forget(copy);
                return Err(error);
            }
        };
        let mut diagnostics = context.take_errors();
        if failed {
            diagnostics.push(super::Diagnostic { severity: super::Severity::Error, message });
        }
        match diagnostics.is_empty() && !bytes.is_empty() {
            true => Ok(bytes),
            false => Err(Error::Emit { module: module.name(), gpu: self.gpu().to_owned(), diagnostics }),
        }
    }

    /// Assembles text in the GPU's assembly language to an object file. `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Emit`] with the line and column of the problem; [`Error::Invalid`] if the text is empty.
    pub fn assemble(&self, name: &str, text: &str) -> Result<Vec<u8>> {
        raw::c_text("assembly", text)?;
        if text.trim().is_empty() {
            return Err(Error::invalid("assemble", format!("{name} is empty")));
        }
        let context = Context::new()?;
        let module = context.module(name)?;
        self.prepare(&module)?;
        module.set_inline_assembly(text);
        self.emit_object(&module)
    }
}

/// Fails if an allocation is not in private memory, which older verifiers allow.
fn check_allocations(module: &Module<'_>) -> Result<()> {
    let private = TypeKind::Pointer(AddressSpace::Private.number());
    for instruction in module.functions().into_iter().flat_map(Function::blocks).flat_map(BasicBlock::instructions) {
        // SAFETY: the instruction is live with its module.
        if unsafe { !raw::LLVMIsAAllocaInst(instruction.raw()).is_null() } && instruction.ty().kind() != private {
            let why = format!("`{instruction}` is not in private memory: prepare the module before alloca");
            return Err(Error::invalid("emit", why));
        }
    }
    Ok(())
}

impl fmt::Debug for TargetMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TargetMachine").field("gpu", &self.gpu()).finish_non_exhaustive()
    }
}

impl Drop for TargetMachine {
    #[doc(alias = "LLVMDisposeTargetMachine")]
    fn drop(&mut self) {
        if !self.broken.get() {
            // SAFETY: it is not used afterwards.
            unsafe { raw::LLVMDisposeTargetMachine(self.raw) };
        }
    }
}
