//! The disassembler of rustc's LLVM, through LLVM-C.

use amdgpu_sim::isa::Arch;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

type Initialize = unsafe extern "C" fn();
type Create = unsafe extern "C" fn(
    triple: *const c_char,
    cpu: *const c_char,
    features: *const c_char,
    info: *mut c_void,
    tag_type: c_int,
    get_op_info: *mut c_void,
    look_up_symbol: *mut c_void,
) -> *mut c_void;
type Instruction = unsafe extern "C" fn(
    context: *mut c_void,
    bytes: *mut u8,
    size: u64,
    pc: u64,
    text: *mut c_char,
    text_size: usize,
) -> usize;
type Dispose = unsafe extern "C" fn(context: *mut c_void);

/// An LLVM disassembler for one processor.
pub(crate) struct Disassembler {
    context: *mut c_void,
    instruction: Instruction,
    dispose: Dispose,
    _library: libloading::Library,
}

/// The LLVM release whose text we print; other releases word some operands differently.
const MAJOR: u32 = 22;

/// The release in a name like `libLLVM.so.22.1-rust-1.95.0-stable` or `libLLVM-19-rust-1.85.1-stable.so`.
fn major(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty())?.parse().ok()
}

/// rustc's libLLVM; `None` if rustc was not linked with a shared one.
fn library() -> Option<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
    let sysroot = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let mut found: Vec<PathBuf> = std::fs::read_dir(sysroot.join("lib"))
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libLLVM")))
        // Some are linker scripts: text.
        .filter(|path| std::fs::metadata(path).is_ok_and(|data| data.len() > 1 << 20))
        .collect();
    found.sort();
    found.pop()
}

impl Disassembler {
    /// `None`, after reporting the reason on standard output, if there is no LLVM to compare with.
    pub(crate) fn new(arch: Arch) -> Option<Self> {
        let made = Self::open(arch);
        if let Err(reason) = &made {
            // Not eprintln: the test harness would capture it.
            let _ = writeln!(std::io::stdout(), "SKIPPED: the comparison with LLVM: {reason}");
        }
        made.ok()
    }

    /// Returns an error that states what is missing.
    pub(crate) fn open(arch: Arch) -> Result<Self, String> {
        let path = library().ok_or("this rustc has no shared libLLVM")?;
        match major(&path) {
            Some(MAJOR) => {}
            found => return Err(format!("it is held to LLVM {MAJOR}, and {} is {found:?}", path.display())),
        }
        Self::load(arch, &path).ok_or_else(|| format!("{} has no AMDGPU disassembler", path.display()))
    }

    fn load(arch: Arch, path: &Path) -> Option<Self> {
        // SAFETY: LLVM's initialisers have no preconditions.
        let library = unsafe { libloading::Library::new(path) }.ok()?;
        // They modify lists that all threads share.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _one = ONE_AT_A_TIME.lock();
        for name in ["TargetInfo", "Target", "TargetMC", "Disassembler"] {
            // SAFETY: these functions take and return nothing.
            let initialize =
                unsafe { library.get::<Initialize>(format!("LLVMInitializeAMDGPU{name}").as_bytes()) }.ok()?;
            // SAFETY: they may be called in any order and more than once, by one thread at a time.
            unsafe { initialize() };
        }
        // SAFETY: the types are those of llvm-c/Disassembler.h.
        let create = unsafe { library.get::<Create>(b"LLVMCreateDisasmCPUFeatures") }.ok()?;
        // SAFETY: as above.
        let instruction = *unsafe { library.get::<Instruction>(b"LLVMDisasmInstruction") }.ok()?;
        // SAFETY: as above.
        let dispose = *unsafe { library.get::<Dispose>(b"LLVMDisasmDispose") }.ok()?;
        let cpu = CString::new(arch.name()).ok()?;
        let null = std::ptr::null_mut();
        // SAFETY: the strings are NUL-terminated, the callbacks optional.
        let context = unsafe { create(c"amdgcn-amd-amdhsa".as_ptr(), cpu.as_ptr(), c"".as_ptr(), null, 0, null, null) };
        (!context.is_null()).then_some(Disassembler { context, instruction, dispose, _library: library })
    }

    /// The size and the text of the instruction at the start of `words`, with single spaces.
    ///
    /// `None` if LLVM rejects the words, or prints an instruction with an error in it.
    pub(crate) fn disassemble(&self, words: &[u32]) -> Option<(usize, String)> {
        self.disassemble_at(words, 0)
    }

    /// The same for an instruction at the address `pc`.
    pub(crate) fn disassemble_at(&self, words: &[u32], pc: u64) -> Option<(usize, String)> {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut text = [0 as c_char; 512];
        // SAFETY: `context` is alive, and both buffers have the sizes given.
        let size = unsafe {
            (self.instruction)(self.context, bytes.as_mut_ptr(), bytes.len() as u64, pc, text.as_mut_ptr(), text.len())
        };
        // SAFETY: LLVM ends the text with NUL within the buffer.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().expect("LLVM prints ASCII");
        // It prints `/*Invalid register ...*/` and `; Warning: ... isn't aligned` instead of failing.
        if size == 0 || text.contains("/*") || text.contains("; Warning") {
            return None;
        }
        let mut normal = String::with_capacity(text.len());
        for part in text.split_whitespace() {
            if !normal.is_empty() {
                normal.push(' ');
            }
            normal.push_str(part);
        }
        Some((size, normal))
    }
}

impl Drop for Disassembler {
    fn drop(&mut self) {
        // SAFETY: made by `create`, not used after.
        unsafe { (self.dispose)(self.context) };
    }
}
