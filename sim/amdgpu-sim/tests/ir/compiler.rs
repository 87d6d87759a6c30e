//! The code generator of rustc's LLVM, through LLVM-C, and the linker next to it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use amdgpu_sim::Arch;
use libloading::Library;

type Pointer = *mut c_void;

/// The LLVM whose intrinsics and attributes the tests use.
const MAJOR: &str = "22";

/// `LLVMObjectFile`, `LLVMRelocPIC`, `LLVMCodeModelDefault`.
const OBJECT: c_int = 1;
const PIC: c_int = 2;
const DEFAULT_MODEL: c_int = 0;

pub(crate) struct Compiler {
    library: Library,
    linker: PathBuf,
}

/// Calls a function of LLVM-C by name and type.
macro_rules! call {
    ($compiler:expr, $name:literal, ($($t:ty),*) $(-> $r:ty)?, $($value:expr),*) => {{
        // SAFETY: the types are those of LLVM-C's headers, and each caller passes live objects and places for results.
        unsafe {
            let function = $compiler.library.get::<unsafe extern "C" fn($($t),*) $(-> $r)?>($name).expect("LLVM-C has it");
            function($($value),*)
        }
    }};
}

/// The text that LLVM left as a message.
fn message(text: *mut c_char) -> String {
    // SAFETY: LLVM terminates its messages with NUL. The message is leaked: a test that gets one fails.
    if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
}

impl Compiler {
    /// `None`, after reporting the reason on standard output, if rustc lacks what is needed.
    pub(crate) fn new() -> Option<Self> {
        let made = Self::open();
        if let Err(reason) = &made {
            sys_testing::skipped(format_args!("kernels from LLVM IR: {reason}"));
        }
        made.ok()
    }

    fn open() -> Result<Self, String> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = Command::new(rustc).args(["--print", "sysroot"]).output().map_err(|e| e.to_string())?;
        let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let inside = |folder: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
        };
        let named = |path: &Path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("libLLVM"));
        let large = |path: &Path| std::fs::metadata(path).is_ok_and(|data| data.len() > 1 << 20);
        let mut found = inside(&sysroot.join("lib"));
        found.retain(|path| named(path) && large(path) && path.to_string_lossy().contains(MAJOR));
        let library = found.first().ok_or(format!("this rustc has no shared libLLVM {MAJOR}"))?;
        let hosts = inside(&sysroot.join("lib/rustlib"));
        let linker = hosts.iter().map(|host| host.join("bin/rust-lld")).find(|path| path.is_file());
        let linker = linker.ok_or("this rustc has no rust-lld")?;
        // SAFETY: LLVM's initialisers have no preconditions.
        let library = unsafe { Library::new(library) }.map_err(|error| error.to_string())?;
        let compiler = Self { library, linker };
        call!(compiler, b"LLVMInitializeAMDGPUTargetInfo", (),);
        call!(compiler, b"LLVMInitializeAMDGPUTarget", (),);
        call!(compiler, b"LLVMInitializeAMDGPUTargetMC", (),);
        call!(compiler, b"LLVMInitializeAMDGPUAsmPrinter", (),);
        call!(compiler, b"LLVMInitializeAMDGPUAsmParser", (),);
        Ok(compiler)
    }

    /// Compiles IR at `-O0` to `-O3` (including the IR passes) and links it to a code object.
    pub(crate) fn compile(&self, ir: &str, arch: Arch, level: u8) -> Vec<u8> {
        let object = self.object(ir, arch, level);
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("kernels.o"), folder.path().join("kernels.co"));
        std::fs::write(&from, object).unwrap();
        let output = Command::new(&self.linker).args(["-flavor", "gnu", "-shared", "-o"]).arg(&to).arg(&from).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(to).unwrap()
    }

    fn object(&self, ir: &str, arch: Arch, level: u8) -> Vec<u8> {
        let context = call!(self, b"LLVMContextCreate", () -> Pointer,);
        let (mut module, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
        let text = call!(
            self, b"LLVMCreateMemoryBufferWithMemoryRangeCopy", (*const c_char, usize, *const c_char) -> Pointer,
            ir.as_ptr().cast(), ir.len(), c"kernels.ll".as_ptr()
        );
        // It takes ownership of the buffer.
        let failed = call!(
            self, b"LLVMParseIRInContext", (Pointer, Pointer, *mut Pointer, *mut *mut c_char) -> c_int,
            context, text, &mut module, &mut error
        );
        assert_eq!(failed, 0, "{}", message(error));
        let triple = c"amdgcn-amd-amdhsa";
        let mut target = std::ptr::null_mut();
        let failed = call!(
            self, b"LLVMGetTargetFromTriple", (*const c_char, *mut Pointer, *mut *mut c_char) -> c_int,
            triple.as_ptr(), &mut target, &mut error
        );
        assert_eq!(failed, 0, "{}", message(error));
        let cpu = CString::new(arch.name()).unwrap();
        let machine = call!(
            self, b"LLVMCreateTargetMachine",
            (Pointer, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Pointer,
            target, triple.as_ptr(), cpu.as_ptr(), c"".as_ptr(), c_int::from(level), PIC, DEFAULT_MODEL
        );
        let layout = call!(self, b"LLVMCreateTargetDataLayout", (Pointer) -> Pointer, machine);
        call!(self, b"LLVMSetModuleDataLayout", (Pointer, Pointer), module, layout);
        call!(self, b"LLVMSetTarget", (Pointer, *const c_char), module, triple.as_ptr());
        let options = call!(self, b"LLVMCreatePassBuilderOptions", () -> Pointer,);
        let passes = CString::new(format!("default<O{level}>")).unwrap();
        let error = call!(
            self, b"LLVMRunPasses", (Pointer, *const c_char, Pointer, Pointer) -> Pointer,
            module, passes.as_ptr(), machine, options
        );
        assert!(error.is_null(), "the passes of -O{level} failed");
        call!(self, b"LLVMDisposePassBuilderOptions", (Pointer), options);
        let (mut buffer, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
        let failed = call!(
            self, b"LLVMTargetMachineEmitToMemoryBuffer",
            (Pointer, Pointer, c_int, *mut *mut c_char, *mut Pointer) -> c_int,
            machine, module, OBJECT, &mut error, &mut buffer
        );
        assert_eq!(failed, 0, "{}", message(error));
        let start = call!(self, b"LLVMGetBufferStart", (Pointer) -> *const u8, buffer);
        let size = call!(self, b"LLVMGetBufferSize", (Pointer) -> usize, buffer);
        // SAFETY: the buffer has that many bytes, and lives until it is disposed of below.
        let object = unsafe { std::slice::from_raw_parts(start, size) }.to_vec();
        call!(self, b"LLVMDisposeMemoryBuffer", (Pointer), buffer);
        call!(self, b"LLVMDisposeTargetData", (Pointer), layout);
        call!(self, b"LLVMDisposeModule", (Pointer), module);
        call!(self, b"LLVMDisposeTargetMachine", (Pointer), machine);
        call!(self, b"LLVMContextDispose", (Pointer), context);
        object
    }
}
