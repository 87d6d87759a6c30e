//! Disassemblers: Comgr, or an LLVM with the AMDGPU target.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::NonNull;

use rocm_llvm::comgr;
use rocm_loader::{Library, Scope, libraries};

use super::output::Result;

/// A disassembler for one architecture.
pub(crate) enum Disassembler {
    Comgr(comgr::Disassembler),
    Llvm(Llvm),
}

impl Disassembler {
    /// Returns the first one that is found; `llvm` is the user's choice. `wave64` makes a difference since gfx10.
    pub(crate) fn new(target: &str, wave64: bool, llvm: Option<&Path>) -> Result<Self> {
        if let Some(path) = llvm {
            let library = open(path)?;
            return Llvm::new(library, target, wave64).map(Self::Llvm);
        }
        let mut why = Vec::new();
        // Comgr cannot be told that waves have 64 lanes if 32 is the default.
        let usual = !wave64
            || target.starts_with("gfx6")
            || target.starts_with("gfx7")
            || target.starts_with("gfx8")
            || target.starts_with("gfx9");
        match comgr::Isa::new(target).and_then(|isa| comgr::Disassembler::new(&isa)) {
            Ok(found) if usual => return Ok(Self::Comgr(found)),
            Ok(_) => why.push(format!("Comgr disassembles {target} for waves of 32 lanes only")),
            Err(error) => why.push(error.to_string()),
        }
        let of_rocm = rocm_loader::process_search().open(&libraries::LLVM).map_err(|error| error.to_string());
        let of_rust = || of_toolchain().ok_or_else(|| "no LLVM in the Rust toolchain".to_owned());
        for library in [of_rocm, of_rust().and_then(|path| open(&path))] {
            match library.and_then(|library| Llvm::new(library, target, wave64)) {
                Ok(found) => return Ok(Self::Llvm(found)),
                Err(error) => why.push(error),
            }
        }
        Err(format!("no disassembler for {target}; install ROCm, or name an LLVM with --llvm:\n{}", why.join("\n")))
    }

    /// Returns its name, for the first line of the output.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Comgr(_) => {
                comgr::version().map_or_else(|_| "Comgr".to_owned(), |version| format!("Comgr {version}"))
            }
            Self::Llvm(llvm) => llvm.name.clone(),
        }
    }

    /// Returns size and text of the first instruction; `None` if the bytes are not one.
    pub(crate) fn next(&self, address: u64, code: &[u8]) -> Result<Option<(usize, String)>> {
        match self {
            Self::Comgr(disassembler) => {
                // SAFETY: words that no compiler wrote can end LLVM, or make it read what is not its own. This process
                // has nothing but the file, ends with the command, and `child::run` reports how.
                let found = unsafe { disassembler.instruction(address, code) }.map_err(|error| error.to_string())?;
                Ok(found.and_then(|found| Some((found.size, found.text?))))
            }
            Self::Llvm(llvm) => Ok(llvm.next(address, code)),
        }
    }
}

fn open(path: &Path) -> Result<Library> {
    Library::open(&libraries::LLVM, path, Scope::Local).map_err(|error| error.to_string())
}

/// Returns the LLVM that `rustc` ships.
fn of_toolchain() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok().filter(|out| out.status.success())?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()).join("lib");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libLLVM") && name.contains(".so")
    });
    // One of the files is a linker script, which only names the other.
    found.into_iter().max_by_key(|path| std::fs::metadata(path).map_or(0, |metadata| metadata.len()))
}

type Create = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const c_char,
    *mut c_void,
    c_int,
    Option<unsafe extern "C" fn()>,
    Option<unsafe extern "C" fn()>,
) -> *mut c_void;
type Next = unsafe extern "C" fn(*mut c_void, *mut u8, u64, u64, *mut c_char, usize) -> usize;
type SetOptions = unsafe extern "C" fn(*mut c_void, u64) -> c_int;
type Dispose = unsafe extern "C" fn(*mut c_void);
type Initialize = unsafe extern "C" fn();

/// LLVM's disassembler, through its C interface.
pub(crate) struct Llvm {
    context: NonNull<c_void>,
    next: Next,
    dispose: Dispose,
    name: String,
}

/// `LLVMDisassembler_Option_PrintImmHex`
const PRINT_HEXADECIMAL: u64 = 2;

impl Llvm {
    fn new(library: Library, target: &str, wave64: bool) -> Result<Self> {
        let name = library.describe();
        let missing = |error: rocm_loader::Error| format!("{name}: {error}");
        // SAFETY: the signatures are those of LLVM's headers, `Target.h` and `Disassembler.h`, the same in all releases from 8 on.
        let (info, machine, disassembler, create, next, options, dispose) = unsafe {
            (
                library.function::<Initialize>(c"LLVMInitializeAMDGPUTargetInfo", "5.7").map_err(missing)?,
                library.function::<Initialize>(c"LLVMInitializeAMDGPUTargetMC", "5.7").map_err(missing)?,
                library.function::<Initialize>(c"LLVMInitializeAMDGPUDisassembler", "5.7").map_err(missing)?,
                library.function::<Create>(c"LLVMCreateDisasmCPUFeatures", "5.7").map_err(missing)?,
                library.function::<Next>(c"LLVMDisasmInstruction", "5.7").map_err(missing)?,
                library.function::<SetOptions>(c"LLVMSetDisasmOptions", "5.7").map_err(missing)?,
                library.function::<Dispose>(c"LLVMDisasmDispose", "5.7").map_err(missing)?,
            )
        };
        // SAFETY: each may be called repeatedly, and this program has one thread.
        unsafe {
            info();
            machine();
            disassembler();
        }
        let mut parts = target.split(':');
        let processor = parts.next().unwrap_or_default();
        let mut features: Vec<String> = parts.map(feature).collect();
        if wave64 {
            features.push("+wavefrontsize64".to_owned());
        }
        let text = |text: &str| CString::new(text).map_err(|_| format!("the architecture {target:?} has a NUL"));
        let (processor, features) = (text(processor)?, text(&features.join(","))?);
        // SAFETY: C strings, which LLVM copies, and no callbacks.
        let context = unsafe {
            create(
                c"amdgcn-amd-amdhsa".as_ptr(),
                processor.as_ptr(),
                features.as_ptr(),
                std::ptr::null_mut(),
                0,
                None,
                None,
            )
        };
        let context = NonNull::new(context).ok_or_else(|| format!("{name} cannot disassemble for {target}"))?;
        // SAFETY: a live context.
        unsafe { options(context.as_ptr(), PRINT_HEXADECIMAL) };
        Ok(Self { context, next, dispose, name })
    }

    fn next(&self, address: u64, code: &[u8]) -> Option<(usize, String)> {
        /// Longer than any instruction, in bytes.
        const MOST: usize = 32;
        let mut bytes = code.get(..MOST).unwrap_or(code).to_vec();
        let mut text = [0_u8; 512];
        // SAFETY: a live context, and bytes and a text buffer with their sizes.
        let size = unsafe {
            (self.next)(
                self.context.as_ptr(),
                bytes.as_mut_ptr(),
                bytes.len() as u64,
                address,
                text.as_mut_ptr().cast(),
                text.len(),
            )
        };
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let text = String::from_utf8_lossy(&text[..end]).trim().replace('\t', " ");
        (1..=bytes.len()).contains(&size).then_some((size, text))
    }
}

/// Returns LLVM's name for a feature: `xnack-` is `-xnack`.
fn feature(feature: &str) -> String {
    match (feature.strip_suffix('+'), feature.strip_suffix('-')) {
        (Some(name), _) => format!("+{name}"),
        (_, Some(name)) => format!("-{name}"),
        _ => format!("+{feature}"),
    }
}

impl Drop for Llvm {
    fn drop(&mut self) {
        // SAFETY: a live context, disposed of once.
        unsafe { (self.dispose)(self.context.as_ptr()) };
    }
}
