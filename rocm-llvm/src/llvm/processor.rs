//! The target GPUs of the code generator.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::error::{Error, Result};
use super::library::Library;
use super::{guard, raw};

/// The target triple of code for ROCm.
pub(super) const TRIPLE: &std::ffi::CStr = c"amdgcn-amd-amdhsa";

/// A GPU known to this LLVM, with features: `gfx90a:sramecc+:xnack-`, `gfx1100:wavefrontsize64+`.
#[derive(Debug, Clone)]
pub(super) struct Processor {
    pub(super) name: String,
    pub(super) triple: CString,
    pub(super) cpu: CString,
    pub(super) features: CString,
}

/// The features that can be switched in a GPU's name.
const FEATURES: &[&str] = &["xnack", "sramecc", "wavefrontsize32", "wavefrontsize64", "cumode", "tgsplit"];

impl Processor {
    pub(super) fn new(gpu: &str) -> Result<Self> {
        let library = Library::load()?;
        initialize(library)?;
        let unknown = || Error::UnknownGpu { gpu: gpu.to_owned(), library: library.path(), version: library.version() };
        let mut parts = gpu.split(':');
        let cpu = parts.next().unwrap_or_default();
        // LLVM would ignore an unknown name, with a message on the process's standard error.
        let is_name = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        if !cpu.starts_with("gfx") || !cpu.bytes().all(is_name) {
            return Err(unknown());
        }
        let mut features = Vec::new();
        for part in parts {
            let (name, sign) = match (part.strip_suffix('+'), part.strip_suffix('-')) {
                (Some(name), _) => (name, '+'),
                (_, Some(name)) => (name, '-'),
                _ => return Err(unknown()),
            };
            if !FEATURES.contains(&name) || features.iter().any(|f: &String| f[1..] == *name) {
                return Err(unknown());
            }
            features.push(format!("{sign}{name}"));
        }
        let cpu = raw::c_text("a GPU's name", cpu)?;
        let features = raw::c_text("a GPU's features", &features.join(","))?;
        let processor = Self { name: gpu.to_owned(), triple: TRIPLE.to_owned(), cpu, features };
        match processor.is_known()? {
            true => Ok(processor),
            false => Err(unknown()),
        }
    }

    /// Returns the processor of this machine, with all its features.
    pub(super) fn host() -> Result<Self> {
        initialize_host(Library::load()?)?;
        // SAFETY: the functions take nothing, and the texts are given away.
        let [triple, cpu, features] = unsafe {
            [raw::LLVMGetDefaultTargetTriple(), raw::LLVMGetHostCPUName(), raw::LLVMGetHostCPUFeatures()]
                .map(|text| raw::take_message(text))
        };
        Ok(Self {
            triple: raw::c_text("a triple", &triple)?,
            features: raw::c_text("features", &features)?,
            name: cpu.clone(),
            cpu: raw::c_text("a processor's name", &cpu)?,
        })
    }

    pub(super) fn is_gpu(&self) -> bool {
        self.triple.as_c_str() == TRIPLE
    }

    /// Returns whether LLVM knows the GPU: an object for an unknown GPU has no machine number.
    fn is_known(&self) -> Result<bool> {
        static KNOWN: OnceLock<Mutex<HashMap<String, bool>>> = OnceLock::new();
        let known = KNOWN.get_or_init(Mutex::default);
        if let Some(&known) = known.lock().unwrap_or_else(PoisonError::into_inner).get(&self.name) {
            return Ok(known);
        }
        let flags = self.flags_of_empty_object()?;
        let setting = |shift: u32| (flags >> shift) & 3;
        let supports = |feature: &str, shift: u32| !self.name.contains(&format!(":{feature}")) || setting(shift) != 0;
        let result = flags & 0xff != 0 && supports("xnack", 8) && supports("sramecc", 10);
        known.lock().unwrap_or_else(PoisonError::into_inner).insert(self.name.clone(), result);
        Ok(result)
    }

    fn flags_of_empty_object(&self) -> Result<u32> {
        let machine = self.machine(rocm_llvm_sys::llvm::LLVMCodeGenLevelNone)?;
        let object = guard::run("a GPU's name", move || {
            // SAFETY: the context, the module and the buffer are created and freed here; no other code uses the machine, which is freed
            // here too. All pointers are valid for the writes.
            unsafe {
                let context = raw::LLVMContextCreate();
                // LLVM's own handler ends the process. After an error there is no object.
                raw::LLVMContextSetDiagnosticHandler(context, Some(ignore), std::ptr::null_mut());
                let module = raw::LLVMModuleCreateWithNameInContext(c"".as_ptr(), context);
                raw::LLVMSetTarget(module, TRIPLE.as_ptr());
                let (mut message, mut buffer) = (std::ptr::null_mut(), std::ptr::null_mut());
                let kind = rocm_llvm_sys::llvm::LLVMObjectFile;
                raw::LLVMTargetMachineEmitToMemoryBuffer(machine, module, kind, &mut message, &mut buffer);
                raw::take_message(message);
                let bytes = raw::Buffer(buffer).bytes().to_vec();
                raw::LLVMDisposeModule(module);
                raw::LLVMContextDispose(context);
                raw::LLVMDisposeTargetMachine(machine);
                bytes
            }
        })?;
        // The flags of a 64-bit ELF file.
        Ok(object.get(48..52).map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
    }

    /// Creates a machine for it, which the caller disposes of.
    pub(super) fn machine(&self, level: rocm_llvm_sys::llvm::LLVMCodeGenOptLevel) -> Result<raw::LLVMTargetMachineRef> {
        use rocm_llvm_sys::llvm::{LLVMCodeModelDefault, LLVMRelocPIC};
        let (mut target, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the text is a C string, both places valid for the writes, and the message given away.
        let (failed, message) = unsafe {
            let failed = raw::LLVMGetTargetFromTriple(self.triple.as_ptr(), &mut target, &mut message) != 0;
            (failed, raw::take_message(message))
        };
        if failed || target.is_null() {
            return Err(Error::UnknownTarget { triple: self.triple.to_string_lossy().into_owned(), message });
        }
        let (cpu, features) = (self.cpu.as_ptr(), self.features.as_ptr());
        let (reloc, model) = (LLVMRelocPIC, LLVMCodeModelDefault);
        // SAFETY: the target lives forever, and the strings are C strings.
        let machine =
            unsafe { raw::LLVMCreateTargetMachine(target, self.triple.as_ptr(), cpu, features, level, reloc, model) };
        match machine.is_null() {
            true => Err(Error::invalid("target machine", format!("LLVM made none for {}", self.name))),
            false => Ok(machine),
        }
    }
}

unsafe extern "C" fn ignore(_: raw::LLVMDiagnosticInfoRef, _: *mut c_void) {}

/// Registers the target of this machine, once.
fn initialize_host(library: Library) -> Result<()> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let done = DONE.get_or_init(|| {
        let has = |name: &&str| CString::new(*name).is_ok_and(|name| raw::BINDING.has(&name));
        let complete = raw::HOST.iter().all(has);
        if complete {
            // SAFETY: they take no arguments, and the library has them. `OnceLock` serialises threads.
            #[cfg(target_arch = "x86_64")]
            unsafe {
                raw::LLVMInitializeX86TargetInfo();
                raw::LLVMInitializeX86Target();
                raw::LLVMInitializeX86TargetMC();
                raw::LLVMInitializeX86AsmPrinter();
                raw::LLVMInitializeX86AsmParser();
            }
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            unsafe {
                raw::LLVMInitializeAArch64TargetInfo();
                raw::LLVMInitializeAArch64Target();
                raw::LLVMInitializeAArch64TargetMC();
                raw::LLVMInitializeAArch64AsmPrinter();
                raw::LLVMInitializeAArch64AsmParser();
            }
        }
        complete
    });
    match done {
        true => Ok(()),
        false => Err(Error::NoHost { library: library.path() }),
    }
}

/// Registers the target AMDGPU, once.
#[doc(alias = "LLVMInitializeAMDGPUTarget")]
fn initialize(library: Library) -> Result<()> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let done = DONE.get_or_init(|| {
        let has = |name: &&str| CString::new(*name).is_ok_and(|name| raw::BINDING.has(&name));
        let complete = raw::TARGET.iter().all(has);
        if complete {
            // SAFETY: they take no arguments, and the library has them. `OnceLock` serialises threads.
            unsafe {
                raw::LLVMInitializeAMDGPUTargetInfo();
                raw::LLVMInitializeAMDGPUTarget();
                raw::LLVMInitializeAMDGPUTargetMC();
                raw::LLVMInitializeAMDGPUAsmPrinter();
                raw::LLVMInitializeAMDGPUAsmParser();
                raw::LLVMInitializeAMDGPUDisassembler();
            }
        }
        complete
    });
    match done {
        true => Ok(()),
        false => Err(Error::NoAmdgpu { library: library.path() }),
    }
}
