// Tests of one level, whose module is imported as `sys`.

use std::ffi::{CStr, c_char, c_void};

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// The library and the version of LLVM in each tree.
const LIBRARY: (&str, u32) = match API_LEVEL.0 {
    ..=5 => ("libLLVM-17.so.1", 17),
    6 => ("libLLVM.so.21.1", 21),
    _ => ("libLLVM.so.22.1", 22),
};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &[LIBRARY.0])
}

/// Takes a string of LLVM.
fn taken(message: *mut c_char) -> String {
    assert!(!message.is_null());
    // SAFETY: a C string that LLVM gave away, and that is not used afterwards.
    unsafe {
        let text = CStr::from_ptr(message).to_str().unwrap().to_owned();
        LLVMDisposeMessage(message);
        text
    }
}

/// A context with a module of one function, `i32 add(i32, i32)`.
struct Adder {
    context: LLVMContextRef,
    module: LLVMModuleRef,
}

impl Adder {
    fn new() -> Self {
        // SAFETY: all handles are live and of one context, the strings are C strings, and the array has two types.
        unsafe {
            let context = LLVMContextCreate();
            let module = LLVMModuleCreateWithNameInContext(c"adder".as_ptr(), context);
            let int = LLVMInt32TypeInContext(context);
            let kind = LLVMFunctionType(int, [int, int].as_mut_ptr(), 2, 0);
            let function = LLVMAddFunction(module, c"add".as_ptr(), kind);
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, c"entry".as_ptr()));
            let sum = LLVMBuildAdd(builder, LLVMGetParam(function, 0), LLVMGetParam(function, 1), c"sum".as_ptr());
            LLVMBuildRet(builder, sum);
            LLVMDisposeBuilder(builder);
            Self { context, module }
        }
    }
}

impl Drop for Adder {
    fn drop(&mut self) {
        // SAFETY: both are live and not used afterwards.
        unsafe {
            LLVMDisposeModule(self.module);
            LLVMContextDispose(self.context);
        }
    }
}

#[test]
fn version_is_that_of_the_file() {
    if run_in_child("version_is_that_of_the_file") {
        return;
    }
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: each is valid for the write.
    unsafe { LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    let path = BINDING.opened().unwrap().path().unwrap().display().to_string();
    assert_eq!(major, LIBRARY.1, "{path}");
    assert!(path.ends_with(LIBRARY.0), "{path}");
}

#[test]
fn a_module_is_built_verified_and_printed() {
    if run_in_child("a_module_is_built_verified_and_printed") {
        return;
    }
    let adder = Adder::new();
    let mut message = std::ptr::null_mut();
    // SAFETY: the module is live, and `message` is valid for the write.
    assert_eq!(unsafe { LLVMVerifyModule(adder.module, LLVMReturnStatusAction, &mut message) }, 0);
    assert_eq!(taken(message), "");
    // SAFETY: the module is live.
    let text = taken(unsafe { LLVMPrintModuleToString(adder.module) });
    assert!(text.contains("define i32 @add(i32 %0, i32 %1)") && text.contains("%sum = add i32 %0, %1"), "{text}");
}

#[test]
fn what_is_wrong_in_a_text_is_told() {
    if run_in_child("what_is_wrong_in_a_text_is_told") {
        return;
    }
    let text = "define i32 @f() {\n  ret i33 0\n}\n";
    let (mut module, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the buffer copies the text, and the parser takes the buffer; both pointers are valid for the writes.
    unsafe {
        let context = LLVMContextCreate();
        let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text.as_ptr().cast(), text.len(), c"wrong.ll".as_ptr());
        assert_ne!(LLVMParseIRInContext(context, buffer, &mut module, &mut message), 0);
        LLVMContextDispose(context);
    }
    let message = taken(message);
    assert!(message.contains("wrong.ll:2:") && message.contains("i33"), "{message}");
}

/// LLVM calls back with the pointer that was passed, and the handler reads the text.
#[test]
fn diagnostics_are_handed_to_a_callback() {
    if run_in_child("diagnostics_are_handed_to_a_callback") {
        return;
    }
    unsafe extern "C" fn handle(diagnostic: LLVMDiagnosticInfoRef, seen: *mut c_void) {
        // SAFETY: LLVM passes a live diagnostic and the pointer that it was given.
        unsafe { (*seen.cast::<Vec<String>>()).push(taken(LLVMGetDiagInfoDescription(diagnostic))) };
    }
    let mut seen: Vec<String> = Vec::new();
    // Invalid bitcode.
    let bytes = *b"not bitcode at all";
    let mut module = std::ptr::null_mut();
    // SAFETY: `seen` and the bytes outlive the context and the buffer, and `module` is valid for the write.
    unsafe {
        let context = LLVMContextCreate();
        LLVMContextSetDiagnosticHandler(context, Some(handle), (&raw mut seen).cast());
        let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.as_ptr().cast(), bytes.len(), c"bytes".as_ptr());
        assert_ne!(LLVMParseBitcodeInContext2(context, buffer, &mut module), 0);
        LLVMDisposeMemoryBuffer(buffer);
        LLVMContextDispose(context);
    }
    assert!(seen.len() == 1 && seen[0].contains("signature"), "{seen:?}");
}

/// A target machine for gfx90a makes an object from it: an ELF file for AMD GPUs.
#[test]
fn an_object_for_gfx90a_is_made() {
    if run_in_child("an_object_for_gfx90a_is_made") {
        return;
    }
    // SAFETY: they take no arguments. C's `LLVMInitializeAllTargets` calls the same functions.
    unsafe {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTarget();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUAsmPrinter();
    }
    let adder = Adder::new();
    let (triple, cpu) = (c"amdgcn-amd-amdhsa", c"gfx90a");
    let (mut target, mut message, mut buffer) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: handles are live, pointers valid for the writes, strings C strings; each handle is disposed of once.
    let object = unsafe {
        assert_ne!(LLVMGetTargetFromTriple(c"pdp11".as_ptr(), &mut target, &mut message), 0);
        assert!(taken(message).contains("pdp11"));
        assert_eq!(LLVMGetTargetFromTriple(triple.as_ptr(), &mut target, &mut message), 0);
        assert_eq!(CStr::from_ptr(LLVMGetTargetName(target)), c"amdgcn");
        let machine = LLVMCreateTargetMachine(
            target,
            triple.as_ptr(),
            cpu.as_ptr(),
            c"".as_ptr(),
            LLVMCodeGenLevelDefault,
            LLVMRelocPIC,
            LLVMCodeModelDefault,
        );
        assert!(!machine.is_null());
        let layout = LLVMCreateTargetDataLayout(machine);
        LLVMSetModuleDataLayout(adder.module, layout);
        LLVMSetTarget(adder.module, triple.as_ptr());
        let failed =
            LLVMTargetMachineEmitToMemoryBuffer(machine, adder.module, LLVMObjectFile, &mut message, &mut buffer);
        assert_eq!(failed, 0);
        let bytes =
            std::slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer)).to_vec();
        LLVMDisposeMemoryBuffer(buffer);
        LLVMDisposeTargetData(layout);
        LLVMDisposeTargetMachine(machine);
        bytes
    };
    assert!(object.starts_with(b"\x7fELF"));
    let half = |at: usize| u16::from_le_bytes([object[at], object[at + 1]]);
    // A relocatable file (1) for AMD GPUs (224), whose flags end in gfx90a's number (0x3f).
    assert_eq!((half(16), half(18), object[48]), (1, 224, 0x3f));
}
