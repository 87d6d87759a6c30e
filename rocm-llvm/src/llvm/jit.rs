//! Runs code on the host: LLVM's just-in-time compiler (ORC).

use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use super::error::{Error, Result};
use super::guard;
use super::later::missing;
use super::module::Module;
use super::raw::{self, Buffer};
use super::target::{Optimization, TargetMachine};

/// Compiles modules for the host, and finds their functions.
///
/// Functions that modules only declare are resolved by other modules, by [`define`](Self::define), and after
/// [`use_process_symbols`](Self::use_process_symbols) by the process. Static constructors are not run.
///
/// ```
/// use rocm_llvm::llvm::{Context, Jit, Optimization};
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.module("sum")?;
/// let i64 = context.i64();
/// let function = module.add_function("sum", i64.function(&[i64, i64, i64], false)?)?;
/// let builder = function.append_block("entry")?.builder();
/// let [a, b, c] = function.parameters()[..] else { unreachable!() };
/// builder.ret(Some(builder.add(builder.add(a, b, "")?, c, "")?))?;
///
/// let jit = Jit::new(Optimization::Default)?;
/// jit.add(&module)?;
/// // SAFETY: the function takes and returns such numbers, and has no side effects.
/// let sum = unsafe { jit.function::<unsafe extern "C" fn(u64, u64, u64) -> u64>("sum")? };
/// // SAFETY: as above.
/// assert_eq!(unsafe { sum(1, 2, 3) }, 6);
/// # Ok(())
/// # }
/// ```
pub struct Jit {
    raw: raw::LLVMOrcLLJITRef,
    machine: TargetMachine,
    /// The messages of the session. LLVM has its address, so it is freed after the session, or never.
    messages: *mut Messages,
    /// A parked thread uses the compiler: it is neither used again nor freed.
    broken: Cell<bool>,
}

#[derive(Default)]
struct Messages(Mutex<Vec<String>>);

unsafe extern "C" fn on_error(messages: *mut c_void, error: raw::LLVMErrorRef) {
    // SAFETY: LLVM gives the error away.
    let Some(message) = (unsafe { raw::take_error(error) }) else { return };
    // SAFETY: the pointer that the reporter was installed with; its target lives as long as the session.
    let messages = unsafe { &*messages.cast::<Messages>() };
    messages.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
}

unsafe extern "C" fn linker(
    _: *mut c_void,
    session: raw::LLVMOrcExecutionSessionRef,
    _: *const c_char,
) -> raw::LLVMOrcObjectLayerRef {
    // SAFETY: LLVM passes a live session, and takes the linker.
    unsafe { raw::LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(session) }
}

/// A function that a [`Jit`] compiled. Dereferences to the pointer, which must not outlive the compiler.
#[derive(Clone, Copy)]
pub struct JitFunction<'j, F> {
    function: F,
    _jit: PhantomData<&'j Jit>,
}

impl<F> Deref for JitFunction<'_, F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.function
    }
}

impl<F> fmt::Debug for JitFunction<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JitFunction").finish_non_exhaustive()
    }
}

impl Jit {
    /// Creates a compiler for the processor of this machine.
    ///
    /// # Errors
    /// [`Error::NoHost`] if this LLVM does not generate code for it; [`Error::MissingFunction`] if it was built without
    /// ORC; [`Error::Jit`].
    #[doc(alias(
        "LLVMOrcCreateLLJIT",
        "LLVMOrcExecutionSessionSetErrorReporter",
        "LLVMCreateExecutionEngineForModule"
    ))]
    pub fn new(optimization: Optimization) -> Result<Self> {
        let machine = TargetMachine::host(optimization)?;
        for name in raw::JIT {
            if !raw::BINDING.has(&raw::c_text("a function's name", name)?) {
                return Err(missing(name, Some(17)));
            }
        }
        let mut jit = std::ptr::null_mut();
        // The other linker of LLVM looks for functions of LLVM in the process, where a library that was loaded for this crate
        // alone is not visible.
        // SAFETY: the place is valid for the write, and the builder given away. LLVM detects the host, whose target is
        // registered.
        let error = unsafe {
            let builder = raw::LLVMOrcCreateLLJITBuilder();
            raw::LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(builder, Some(linker), std::ptr::null_mut());
            raw::take_error(raw::LLVMOrcCreateLLJIT(&mut jit, builder))
        };
        if let Some(message) = error {
            return Err(Error::Jit { operation: "jit", message });
        }
        let messages = Box::into_raw(Box::<Messages>::default());
        // SAFETY: the compiler is live, and the reporter's argument lives as long as it.
        unsafe {
            let session = raw::LLVMOrcLLJITGetExecutionSession(jit);
            raw::LLVMOrcExecutionSessionSetErrorReporter(session, Some(on_error), messages.cast());
        }
        Ok(Self { raw: jit, machine, messages, broken: Cell::new(false) })
    }

    pub(super) fn raw(&self) -> raw::LLVMOrcLLJITRef {
        self.raw
    }

    fn usable(&self) -> Result<raw::LLVMOrcLLJITRef> {
        match self.broken.get() {
            true => Err(Error::invalid("jit", "LLVM gave up while it used this compiler: make another one")),
            false => Ok(self.raw),
        }
    }

    fn check(&self, operation: &'static str, error: Option<String>) -> Result<()> {
        // SAFETY: it is freed after the session.
        let messages = unsafe { &(*self.messages).0 };
        let mut all = std::mem::take(&mut *messages.lock().unwrap_or_else(PoisonError::into_inner));
        match error {
            None => Ok(()),
            Some(error) => {
                all.push(error);
                Err(Error::Jit { operation, message: all.join("\n") })
            }
        }
    }

    /// Returns the machine that it compiles with: [`TargetMachine::run_passes`] optimises a module for it.
    pub fn machine(&self) -> &TargetMachine {
        &self.machine
    }

    /// Compiles a module and adds the code. The module is unchanged.
    ///
    /// # Errors
    /// Those of [`TargetMachine::emit_object`]; [`Error::Jit`] if the code defines a symbol that is there already.
    #[doc(alias("LLVMOrcLLJITAddObjectFile", "LLVMOrcLLJITAddLLVMIRModule"))]
    pub fn add(&self, module: &Module<'_>) -> Result<()> {
        let jit = self.usable()?;
        let object = self.machine.emit_object(module)?;
        let name = raw::c_text("a module's name", &module.name())?;
        // LLVM takes the buffer, also if it fails.
        let buffer = ManuallyDrop::new(Buffer::new(&name, &object));
        // SAFETY: the compiler is live, and the buffer is an object for this machine.
        let error = unsafe {
            let library = raw::LLVMOrcLLJITGetMainJITDylib(jit);
            raw::take_error(raw::LLVMOrcLLJITAddObjectFile(jit, library, buffer.0))
        };
        self.check("add", error)
    }

    /// Gives a declared function or variable an address.
    ///
    /// # Errors
    /// [`Error::Jit`] if the symbol is there already; [`Error::Null`].
    #[doc(alias("LLVMOrcAbsoluteSymbols", "LLVMOrcJITDylibDefine", "LLVMAddGlobalMapping"))]
    pub fn define(&self, name: &str, address: *const ()) -> Result<()> {
        let jit = self.usable()?;
        let name = raw::c_text("a symbol's name", name)?;
        // Exported, and callable.
        let flags = rocm_llvm_sys::llvm::LLVMJITSymbolFlags { GenericFlags: 1 | 4, TargetFlags: 0 };
        let address = address.expose_provenance() as u64;
        // SAFETY: the compiler is live. The pair, with its name, and the unit are given away; the latter only on success.
        let error = unsafe {
            let mut pair = rocm_llvm_sys::llvm::LLVMOrcCSymbolMapPair {
                Name: raw::LLVMOrcLLJITMangleAndIntern(jit, name.as_ptr()),
                Sym: rocm_llvm_sys::llvm::LLVMJITEvaluatedSymbol { Address: address, Flags: flags },
            };
            let unit = raw::LLVMOrcAbsoluteSymbols(&mut pair, 1);
            let error = raw::take_error(raw::LLVMOrcJITDylibDefine(raw::LLVMOrcLLJITGetMainJITDylib(jit), unit));
            if error.is_some() {
                raw::LLVMOrcDisposeMaterializationUnit(unit);
            }
            error
        };
        self.check("define", error)
    }

    /// Resolves symbols of the C library, and others that the process exports.
    ///
    /// # Errors
    /// [`Error::Jit`].
    #[doc(alias("LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess", "LLVMOrcJITDylibAddGenerator"))]
    pub fn use_process_symbols(&self) -> Result<()> {
        let jit = self.usable()?;
        let mut generator = std::ptr::null_mut();
        // SAFETY: the compiler is live, and the place valid for the write. There is no filter.
        let error = unsafe {
            let prefix = raw::LLVMOrcLLJITGetGlobalPrefix(jit);
            let none = std::ptr::null_mut();
            raw::take_error(raw::LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &mut generator,
                prefix,
                None,
                none,
            ))
        };
        self.check("use_process_symbols", error)?;
        // SAFETY: both are live, and the generator is given away.
        unsafe { raw::LLVMOrcJITDylibAddGenerator(raw::LLVMOrcLLJITGetMainJITDylib(jit), generator) };
        Ok(())
    }

    /// Returns the address of a function or variable, which is linked now.
    ///
    /// # Errors
    /// [`Error::Jit`] if it, or a symbol that it needs, is not there; [`Error::Fatal`]; [`Error::Null`].
    #[doc(alias("LLVMOrcLLJITLookup", "LLVMGetFunctionAddress", "LLVMGetGlobalValueAddress"))]
    pub fn address(&self, name: &str) -> Result<*const ()> {
        let jit = self.usable()?;
        let text: CString = raw::c_text("a symbol's name", name)?;
        let found = guard::run("address", move || {
            let mut address = 0;
            // SAFETY: the compiler is live and not used by other code while the caller waits; the place is valid for the write.
            let error = unsafe { raw::take_error(raw::LLVMOrcLLJITLookup(jit, &mut address, text.as_ptr())) };
            (address, error)
        });
        if matches!(found, Err(Error::Fatal { .. })) {
            self.broken.set(true);
        }
        let (address, error) = found?;
        self.check("address", error)?;
        // Fits: an address of this process.
        Ok(std::ptr::with_exposed_provenance(address as usize))
    }

    /// Returns a function as a pointer of type `F`, such as `unsafe extern "C" fn(u64) -> u64`.
    ///
    /// # Safety
    /// `F` must be a pointer to a function with the parameters, result and calling convention that the function has,
    /// and `unsafe`, unless every call is sound.
    ///
    /// # Errors
    /// Those of [`address`](Self::address).
    pub unsafe fn function<F: Copy>(&self, name: &str) -> Result<JitFunction<'_, F>> {
        const { assert!(size_of::<F>() == size_of::<*const ()>(), "F is a pointer to a function") };
        let address = self.address(name)?;
        // SAFETY: the sizes are equal, and `F` is a pointer to such a function by the contract.
        Ok(JitFunction { function: unsafe { std::mem::transmute_copy(&address) }, _jit: PhantomData })
    }
}

impl fmt::Debug for Jit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jit").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl Drop for Jit {
    #[doc(alias = "LLVMOrcDisposeLLJIT")]
    fn drop(&mut self) {
        if self.broken.get() {
            return;
        }
        // SAFETY: it is not used afterwards, and functions borrow it. The messages are freed after the session.
        unsafe {
            raw::take_error(raw::LLVMOrcDisposeLLJIT(self.raw));
            drop(Box::from_raw(self.messages));
        }
    }
}
