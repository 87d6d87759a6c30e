//! Compiling, buffers and launches, under CUDA's names.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_char, c_void};
use std::io::Write as _;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use cuda_compat::driver::*;
use cuda_compat::nvrtc::*;

/// The software GPU's architecture: HIPRTC finds no device to ask for it where the embedded runtime is in use.
const TARGET: &str = "--gpu-architecture=gfx90a";

/// Returns whether the embedded runtime is in use, and not AMD's.
pub(crate) fn is_embedded() -> bool {
    std::env::var("HIP_RS_BACKEND").is_ok_and(|backend| backend == "sim")
}

pub(crate) fn skip(why: &str) -> bool {
    // Past libtest's capture, which shows nothing of tests that pass; `cargo xtask test` counts it.
    let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
    false
}

/// Returns whether there are a compiler and a device; makes the device's context current.
pub(crate) fn start() -> bool {
    if std::env::var_os("ROCM_RS_RELEASE").is_none() {
        return skip("kernels need a HIPRTC: cargo xtask test 'cuda-compat 7.2'");
    }
    static BACKEND: Once = Once::new();
    let backend = if is_embedded() { hip::Backend::Sim } else { hip::Backend::Rocm };
    BACKEND.call_once(|| hip::select_backend(backend).unwrap());
    let mut context = null_mut();
    // SAFETY: room for the result; the device exists.
    unsafe {
        ok(cuInit(0));
        ok(cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(cuCtxSetCurrent(context));
    }
    true
}

#[track_caller]
pub(crate) fn ok(status: CUresult) {
    assert_eq!(status, CUDA_SUCCESS, "{:?}", is_embedded().then(hip_sim::last_fault).flatten());
}

/// Types that are their bytes.
///
/// # Safety
/// No padding, and any bytes are a value.
pub(crate) unsafe trait Plain: Copy + Default {}
macro_rules! plain {
    ($($type:ty)*) => {$(
        // SAFETY: a number.
        unsafe impl Plain for $type {}
    )*};
}
plain!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

/// Memory on the device.
pub(crate) struct Buffer(CUdeviceptr);

impl Buffer {
    pub(crate) fn of<T: Plain>(values: &[T]) -> Self {
        let mut pointer = 0;
        // SAFETY: room for the result, and a source of the size.
        unsafe {
            ok(cuMemAlloc(&mut pointer, size_of_val(values)));
            ok(cuMemcpyHtoD(pointer, values.as_ptr().cast(), size_of_val(values)));
        }
        Self(pointer)
    }

    /// A null pointer.
    pub(crate) fn none() -> Self {
        Self(0)
    }

    /// So many zeros.
    pub(crate) fn zeros<T: Plain>(count: usize) -> Self {
        Self::of(&vec![T::default(); count])
    }

    /// The first values. Waits for kernels.
    pub(crate) fn read<T: Plain>(&self, count: usize) -> Vec<T> {
        let mut values = vec![T::default(); count];
        // SAFETY: a destination of the size.
        unsafe { ok(cuMemcpyDtoH(values.as_mut_ptr().cast(), self.0, count * size_of::<T>())) };
        values
    }

    pub(crate) fn address(&self) -> CUdeviceptr {
        self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated, or is null, which frees nothing; work that uses it has been waited for.
        unsafe { cuMemFree(self.0) };
    }
}

/// An argument of a kernel, as bytes.
pub(crate) struct Argument(Vec<u8>);

impl Argument {
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&Buffer> for Argument {
    fn from(buffer: &Buffer) -> Self {
        Self(buffer.0.to_ne_bytes().to_vec())
    }
}
macro_rules! argument {
    ($($type:ty)*) => {$(
        impl From<$type> for Argument {
            fn from(value: $type) -> Self {
                Self(value.to_ne_bytes().to_vec())
            }
        }
    )*};
}
argument!(u8 u16 u32 i32 u64 f32 f64);

/// `args![&buffer, 3_u32]`
macro_rules! args {
    ($($argument:expr),* $(,)?) => { &mut [$($crate::device::Argument::from($argument)),*] };
}
pub(crate) use args;

/// The result of a compilation: the status, the log, and on success the code and lowered names.
#[derive(Clone)]
pub(crate) struct Compiled {
    pub(crate) status: nvrtcResult,
    pub(crate) log: String,
    pub(crate) code: Vec<u8>,
    pub(crate) lowered: HashMap<String, CString>,
}

/// Compiles a program by NVRTC's functions.
pub(crate) fn compile(name: &str, source: &str, options: &[&str], expressions: &[&str]) -> Compiled {
    let owned = |text: &&str| CString::new(*text).unwrap();
    let (name, source) = (owned(&name), owned(&source));
    let options: Vec<CString> = options.iter().map(owned).collect();
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let expressions: Vec<(&str, CString)> = expressions.iter().map(|text| (*text, owned(text))).collect();
    let (mut program, mut size) = (null_mut(), 0);
    // SAFETY: C strings, places for the results, and buffers of the sizes that NVRTC states.
    unsafe {
        assert_eq!(nvrtcCreateProgram(&mut program, source.as_ptr(), name.as_ptr(), 0, null(), null()), NVRTC_SUCCESS);
        for (_, expression) in &expressions {
            assert_eq!(nvrtcAddNameExpression(program, expression.as_ptr()), NVRTC_SUCCESS);
        }
        let status = nvrtcCompileProgram(program, i32::try_from(options.len()).unwrap(), options.as_ptr());
        assert_eq!(nvrtcGetProgramLogSize(program, &mut size), NVRTC_SUCCESS);
        let mut log = vec![0xff_u8; size];
        assert_eq!(nvrtcGetProgramLog(program, log.as_mut_ptr().cast()), NVRTC_SUCCESS);
        assert_eq!(log.pop(), Some(0), "a C string");
        let log = String::from_utf8(log).unwrap();
        let (mut code, mut lowered) = (Vec::new(), HashMap::new());
        if status == NVRTC_SUCCESS {
            assert_eq!(nvrtcGetPTXSize(program, &mut size), NVRTC_SUCCESS);
            code = vec![0; size];
            assert_eq!(nvrtcGetPTX(program, code.as_mut_ptr().cast()), NVRTC_SUCCESS);
            for (expression, text) in &expressions {
                let mut name = null();
                assert_eq!(nvrtcGetLoweredName(program, text.as_ptr(), &mut name), NVRTC_SUCCESS);
                lowered.insert((*expression).to_owned(), std::ffi::CStr::from_ptr(name).to_owned());
            }
        }
        assert_eq!(nvrtcDestroyProgram(&mut program), NVRTC_SUCCESS);
        Compiled { status, log, code, lowered }
    }
}

/// Kernels that are loaded.
pub(crate) struct Module {
    module: CUmodule,
    lowered: HashMap<String, CString>,
}

impl Module {
    /// Compiles a program that has no errors, once for all tests, and loads it.
    pub(crate) fn of(name: &'static str, source: &str) -> Self {
        static CODE: Mutex<BTreeMap<&str, Arc<OnceLock<Compiled>>>> = Mutex::new(BTreeMap::new());
        let place = CODE.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default().clone();
        let compiled = place.get_or_init(|| compile(name, source, &["--std=c++17", TARGET], &[]));
        assert!(!compiled.log.contains("warning"), "{}", compiled.log);
        Self::load(compiled.clone()).0
    }

    pub(crate) fn with(name: &str, source: &str, options: &[&str], expressions: &[&str]) -> Self {
        let options: Vec<&str> = options.iter().copied().chain([TARGET]).collect();
        let compiled = compile(name, source, &options, expressions);
        assert!(!compiled.log.contains("warning"), "{}", compiled.log);
        Self::load(compiled).0
    }

    /// The same for the current device. Warnings are allowed.
    pub(crate) fn without_target(name: &str, source: &str, options: &[&str]) -> Self {
        Self::load(compile(name, source, options, &[])).0
    }

    /// The same of a program that is not ours, and its code.
    pub(crate) fn compiled(name: &str, source: &str, options: &[&str]) -> (Self, Vec<u8>) {
        let options: Vec<&str> = options.iter().copied().chain([TARGET]).collect();
        Self::load(compile(name, source, &options, &[]))
    }

    fn load(compiled: Compiled) -> (Self, Vec<u8>) {
        assert_eq!(compiled.status, NVRTC_SUCCESS, "{}", compiled.log);
        let mut module = null_mut();
        // SAFETY: room for the result, and a code object.
        unsafe { ok(cuModuleLoadData(&mut module, compiled.code.as_ptr().cast())) };
        (Self { module, lowered: compiled.lowered }, compiled.code)
    }

    pub(crate) fn function(&self, name: &str) -> CUfunction {
        let plain = CString::new(name).unwrap();
        let name = self.lowered.get(name).unwrap_or(&plain);
        let mut function = null_mut();
        // SAFETY: room for the result, a live module, and a C string.
        unsafe { ok(cuModuleGetFunction(&mut function, self.module, name.as_ptr())) };
        function
    }

    /// The address of a variable.
    pub(crate) fn global(&self, name: &str) -> (CUdeviceptr, usize) {
        let (mut pointer, mut size) = (0, 0);
        let name = CString::new(name).unwrap();
        // SAFETY: places for the results, a live module, and a C string.
        unsafe { ok(cuModuleGetGlobal(&mut pointer, &mut size, self.module, name.as_ptr())) };
        (pointer, size)
    }

    /// Launches in one dimension, without shared memory beyond the kernel's own.
    pub(crate) fn run(&self, name: &str, blocks: u32, threads: u32, arguments: &mut [Argument]) {
        self.launch(name, (blocks, 1), (threads, 1), 0, arguments);
    }

    pub(crate) fn launch(
        &self,
        name: &str,
        (gx, gy): (u32, u32),
        block: (u32, u32),
        shared: u32,
        arguments: &mut [Argument],
    ) {
        self.launch_in_three(name, (gx, gy, 1), block, shared, arguments);
    }

    /// Launches a grid of three dimensions.
    pub(crate) fn launch_in_three(
        &self,
        name: &str,
        (gx, gy, gz): (u32, u32, u32),
        (bx, by): (u32, u32),
        shared: u32,
        arguments: &mut [Argument],
    ) {
        let function = self.function(name);
        let mut pointers: Vec<*mut c_void> = arguments.iter_mut().map(|bytes| bytes.0.as_mut_ptr().cast()).collect();
        let (stream, arguments) = (null_mut(), pointers.as_mut_ptr());
        // SAFETY: the arguments are those of the kernel.
        unsafe { ok(cuLaunchKernel(function, gx, gy, gz, bx, by, 1, shared, stream, arguments, null_mut())) };
        // SAFETY: no condition.
        unsafe { ok(cuCtxSynchronize()) };
    }

    /// Launches blocks that can wait for each other.
    pub(crate) fn run_cooperative(&self, name: &str, blocks: u32, threads: u32, arguments: &mut [Argument]) {
        let function = self.function(name);
        let mut pointers: Vec<*mut c_void> = arguments.iter_mut().map(|bytes| bytes.0.as_mut_ptr().cast()).collect();
        // SAFETY: the arguments are those of the kernel.
        unsafe {
            ok(cuLaunchCooperativeKernel(function, blocks, 1, 1, threads, 1, 1, 0, null_mut(), pointers.as_mut_ptr()));
            ok(cuCtxSynchronize());
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: it is alive, and its kernels are done.
        unsafe { cuModuleUnload(self.module) };
    }
}
