//! NVRTC's programs: the source with the prelude before it, and a log that extends HIPRTC's.

#![allow(non_snake_case, reason = "names are C's")]

use core::ffi::{CStr, c_char, c_int};
use std::collections::HashMap;
use std::ffi::CString;
use std::ptr::null;
use std::slice::from_raw_parts;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rocm_loader::clang_log::errors_first;

use crate::generated::nvrtc::*;

use super::options::{ALL_LANES, ARCH, DIVERGENT, LANES, translate_options};
use super::{cub, lanes, messages, operators, prelude, ptx, shifts};
use crate::device::{self, WarpSize, warp_size};
use crate::driver::image;

/// Data about a program in addition to HIPRTC's.
#[derive(Default)]
struct Program {
    name: String,
    source: String,
    /// The reason that it is not passed to HIPRTC.
    refused: Option<&'static str>,
    /// Whether the last compilation was refused for its collectives.
    is_divergent: bool,
    /// The log before HIPRTC's.
    log: String,
}

/// Programs by handle. A program that other code made with HIPRTC is not in the map.
static PROGRAMS: LazyLock<Mutex<HashMap<usize, Program>>> = LazyLock::new(Mutex::default);

fn programs() -> MutexGuard<'static, HashMap<usize, Program>> {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns this many C strings; `None` if one is null.
///
/// # Safety
/// Unless null, `pointers` must point to this many C strings or null pointers, which live as long as the result.
unsafe fn strings<'a>(count: c_int, pointers: *const *const c_char) -> Option<Vec<&'a CStr>> {
    let count = usize::try_from(count).ok()?;
    if count == 0 {
        return Some(Vec::new());
    }
    if pointers.is_null() {
        return None;
    }
    // SAFETY: the caller ensures that there are this many.
    let pointers = unsafe { from_raw_parts(pointers, count) };
    // SAFETY: it is not null, so it is a C string.
    pointers.iter().map(|pointer| (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(*pointer) })).collect()
}

/// Returns CUDA C++ with HIP C++ in the place of PTX, with shifts that saturate, and with its own operators preferred. Lines stay the
/// same. [`nvrtcCreateProgram`] does it to the program and to its headers; it is for headers that the compiler opens itself.
pub fn in_hip(source: &str) -> String {
    operators::preferred(&shifts::saturating(&ptx::translated(source)))
}

/// Creates a program of CUDA C++, with the [prelude](super#kernels) before it.
///
/// [`nvrtcCompileProgram`] rejects PTX, and its log explains what to do. A null pointer or a negative number of headers
/// is `NVRTC_ERROR_INVALID_INPUT`.
///
/// # Safety
/// `prog` must be valid for the write, `src` a C string, and `name` a C string or null. `headers` and `includeNames`
/// must point to `numHeaders` C strings.
#[doc(alias("hiprtcCreateProgram"))]
pub unsafe extern "C" fn nvrtcCreateProgram(
    prog: *mut nvrtcProgram,
    src: *const c_char,
    name: *const c_char,
    numHeaders: c_int,
    headers: *const *const c_char,
    includeNames: *const *const c_char,
) -> nvrtcResult {
    if prog.is_null() || src.is_null() {
        return NVRTC_ERROR_INVALID_INPUT;
    }
    // SAFETY: the caller ensures that there are as many C strings.
    let Some(texts) = (unsafe { strings(numHeaders, headers) }) else { return NVRTC_ERROR_INVALID_INPUT };
    // SAFETY: the same.
    let Some(names) = (unsafe { strings(numHeaders, includeNames) }) else { return NVRTC_ERROR_INVALID_INPUT };
    // SAFETY: the caller ensures that it is a C string.
    let source = unsafe { CStr::from_ptr(src) }.to_string_lossy().into_owned();
    // SAFETY: the same, unless it is null.
    let named = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
    let refused = image::explain(source.as_bytes());

    let is_callers = |ours: &str| names.iter().any(|name| name.to_bytes() == ours.as_bytes());
    let cub = cub::headers(&source);
    let mut ours = prelude::headers(is_callers, cub::is_used(&source));
    ours.extend(cub.into_iter().filter(|(name, _)| !is_callers(name)));
    let owned = |text: &str| CString::new(text).unwrap_or_default();
    let ours: Vec<(CString, CString)> = ours.iter().map(|(name, text)| (owned(name), owned(text))).collect();
    let all_names = names.iter().copied().chain(ours.iter().map(|(name, _)| name.as_c_str()));
    let theirs: Vec<CString> = texts.iter().map(|text| owned(&in_hip(&text.to_string_lossy()))).collect();
    let all_texts = theirs.iter().map(CString::as_c_str).chain(ours.iter().map(|(_, text)| text.as_c_str()));
    let all_names: Vec<*const c_char> = all_names.map(CStr::as_ptr).collect();
    let all_texts: Vec<*const c_char> = all_texts.map(CStr::as_ptr).collect();
    let Ok(count) = c_int::try_from(all_names.len()) else { return NVRTC_ERROR_INVALID_INPUT };

    let program =
        Program { name: named.unwrap_or_else(|| "default_program".to_owned()), source, refused, ..Program::default() };
    // HIPRTC rejects an empty program.
    let text = owned(&prelude::with_prelude(&if refused.is_some() { String::new() } else { in_hip(&program.source) }));
    // SAFETY: C strings that live until the end; the caller ensures the rest.
    let status = unsafe {
        hiprtc_sys::hiprtcCreateProgram(prog, text.as_ptr(), name, count, all_texts.as_ptr(), all_names.as_ptr())
    };
    if status == NVRTC_SUCCESS {
        // SAFETY: the call has written it.
        programs().insert(unsafe { prog.read() } as usize, program);
    }
    status
}

/// Compiles a program. [`translate_options`] translates NVRTC's options.
///
/// The log lists the options that have no effect, and the code that assumes warps of 32 lanes ([`lanes::find`]): as
/// warnings with `--warp-size=native`, otherwise as notes, because the code is then right. `-w` omits both.
///
/// A collective that the lanes of a warp do not reach together is `NVRTC_ERROR_COMPILATION`: see [Warps](super#warps).
///
/// An option that is null, or not UTF-8, is `NVRTC_ERROR_INVALID_OPTION`, and so is a negative number of them. PTX is
/// `NVRTC_ERROR_COMPILATION`.
///
/// # Safety
/// The program must be alive, and `options` must have `numOptions` C strings.
#[doc(alias("hiprtcCompileProgram"))]
pub unsafe extern "C" fn nvrtcCompileProgram(
    prog: nvrtcProgram,
    numOptions: c_int,
    options: *const *const c_char,
) -> nvrtcResult {
    // SAFETY: the caller ensures that there are this many.
    let Some(given) = (unsafe { strings(numOptions, options) }) else { return NVRTC_ERROR_INVALID_OPTION };
    let Ok(given) = given.into_iter().map(CStr::to_str).collect::<Result<Vec<_>, _>>() else {
        return NVRTC_ERROR_INVALID_OPTION;
    };
    let mut translated = translate_options(given);
    let source = programs().get(&(prog as usize)).map_or_else(String::new, |program| program.source.clone());
    let has_cub = cub::is_used(&source);
    complete(&mut translated.options, has_cub);
    if has_cub {
        translated.options.extend(cub::folders().iter().map(|folder| format!("-isystem{}", folder.display())));
    }
    if let Some(program) = programs().get_mut(&(prog as usize)) {
        program.is_divergent = false;
        if let Some(why) = program.refused {
            program.log = format!("{}:1:1: error: {why}\n", program.name);
            return NVRTC_ERROR_COMPILATION;
        }
        program.log = log(program, &translated.options, &translated.ignored);
        if let Some(refused) = divergent(program, &translated.options) {
            program.log += &refused;
            program.is_divergent = true;
            return NVRTC_ERROR_COMPILATION;
        }
    }
    let Ok(options) = translated.options.into_iter().map(CString::new).collect::<Result<Vec<CString>, _>>() else {
        return NVRTC_ERROR_INVALID_OPTION;
    };
    let mut pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let Ok(count) = c_int::try_from(pointers.len()) else { return NVRTC_ERROR_INVALID_OPTION };
    pointers.push(null());
    // SAFETY: the caller's contract, and the C strings live until the end.
    let status = unsafe { hiprtc_sys::hiprtcCompileProgram(prog, count, pointers.as_ptr()) };
    // SAFETY: the caller ensures that it is alive.
    let theirs = unsafe { hiprtc_log(prog) };
    if let (false, Ok(true), Some(program)) =
        (status == NVRTC_SUCCESS, theirs.map(|log| log.is_empty()), programs().get_mut(&(prog as usize)))
    {
        program.log += &format!("error: HIPRTC returned {status:?}, without a message\n");
    }
    status
}

/// Adds the options that were not given: the size of warps, `__CUDA_ARCH__` and the architecture. For all
/// programs, arguments and results of functions need no value, and braces may narrow, as with NVIDIA's compiler.
fn complete(options: &mut Vec<String>, has_cub: bool) {
    // Without the headers of this machine, of which NVRTC has none either.
    let of_all = [
        "-Xclang",
        "-no-enable-noundef-analysis",
        "-Wno-overloaded-shift-op-parentheses",
        "-Wno-c++11-narrowing",
        "-nostdinc",
    ];
    let count = if has_cub { of_all.len() - 1 } else { of_all.len() };
    options.splice(0..0, of_all[..count].iter().map(|option| (*option).to_owned()));
    let lacks = |options: &[String], starts: &[&str]| {
        !options.iter().any(|option| starts.iter().any(|start| option.starts_with(start)))
    };
    if lacks(options, &[LANES]) && warp_size() == WarpSize::Native {
        options.push(ALL_LANES.to_owned());
    }
    let target = ["--offload-arch", "--gpu-architecture"];
    if !lacks(options, &target) {
        // An architecture of AMD has no number of CUDA's: it is that of all devices. Without one, it is NVRTC's default, in the prelude.
        if lacks(options, &[ARCH]) {
            options.push(format!("{ARCH}{}", device::arch()));
        }
        return;
    }
    // HIPRTC queries the HIP of its own release, which is not the one in use on the software GPU.
    options.extend(current_architecture().map(|arch| format!("--offload-arch={arch}")));
}

/// Returns the architecture of the current device, or of an earlier one if HIP fails, as it does after a fault of a
/// kernel. `None` if there is no device, which HIPRTC then reports.
fn current_architecture() -> Option<String> {
    static LAST: Mutex<Option<String>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let current = hip::Device::current().and_then(|device| device.properties());
    if let Ok(properties) = current {
        *last = Some(properties.arch.to_string());
    }
    last.clone()
}

/// Maximum number of positions of one program that its log lists.
const PLACES: usize = 50;

/// Returns the part of the log before HIPRTC's.
fn log(program: &Program, options: &[String], ignored: &[String]) -> String {
    if options.iter().any(|option| option == "-w") {
        return String::new();
    }
    let mut log = String::new();
    for option in ignored {
        log += &format!("warning: the option {option} has no meaning for AMD GPUs, and is ignored\n");
    }
    let arch = options.iter().filter_map(|option| option.strip_prefix(ARCH)).next_back();
    if let Some(arch) = arch.and_then(|arch| arch.parse::<u32>().ok()).filter(|arch| *arch > device::arch()) {
        let (major, minor) = device::COMPUTE_CAPABILITY;
        log += &format!(
            "warning: __CUDA_ARCH__ is {arch}, and the device's compute capability is {major}.{minor}: code for newer GPUs can need what AMD GPUs lack\n"
        );
    }
    let found = if has_32_lanes(options) { Vec::new() } else { lanes::find(&program.source) };
    let native = options.iter().any(|option| option == ALL_LANES);
    for place in found.iter().filter(|place| !place.is_refused() && !place.is_ptx()).take(PLACES) {
        let lanes::Finding { line, column, what, advice, .. } = place;
        log += &match native || place.needs_change() {
            true => format!("{}:{line}:{column}: warning: {what}: {advice}\n", program.name),
            false => format!("{}:{line}:{column}: note: {what}: right as long as warps have 32 lanes\n", program.name),
        };
    }
    if found.len() > PLACES {
        log += &format!("{}: note: {} more places assume 32 lanes\n", program.name, found.len() - PLACES);
    }
    log
}

/// Returns the errors for collectives that the lanes of a warp do not reach together; `None` if there are none, or if
/// they are allowed.
fn divergent(program: &Program, options: &[String]) -> Option<String> {
    if options.iter().any(|option| option == DIVERGENT) {
        return None;
    }
    let found = lanes::find(&program.source);
    let errors =
        found.iter().filter(|place| place.is_refused()).map(|lanes::Finding { line, column, what, advice, .. }| {
            format!(
                "{}:{line}:{column}: error: {what}: {advice}; --divergent-collectives=true compiles it\n",
                program.name
            )
        });
    Some(errors.collect::<String>()).filter(|errors| !errors.is_empty())
}

/// Returns whether the options name a GPU whose waves have 32 lanes: gfx10 and newer.
fn has_32_lanes(options: &[String]) -> bool {
    let mut targets = options.iter().filter_map(|option| option.strip_prefix("--offload-arch=gfx"));
    targets
        .next_back()
        .is_some_and(|target| target.starts_with("10") || target.starts_with("11") || target.starts_with("12"))
}

/// Returns HIPRTC's log of a program.
///
/// # Safety
/// The program must be alive.
unsafe fn hiprtc_log(prog: nvrtcProgram) -> Result<Vec<u8>, nvrtcResult> {
    let mut size = 0;
    // SAFETY: the caller ensures that it is alive; room for the result.
    let status = unsafe { hiprtc_sys::hiprtcGetProgramLogSize(prog, &mut size) };
    if status != NVRTC_SUCCESS {
        return Err(status);
    }
    let mut log = vec![0_u8; size + 1];
    // SAFETY: the same; there is room for the size.
    let status = unsafe { hiprtc_sys::hiprtcGetProgramLog(prog, log.as_mut_ptr().cast()) };
    if status != NVRTC_SUCCESS {
        return Err(status);
    }
    log.truncate(log.iter().position(|byte| *byte == 0).unwrap_or(log.len()));
    Ok(log)
}

/// Returns a program's log: this crate's part, HIPRTC's, and a null byte, as in NVRTC.
///
/// # Safety
/// The program must be alive.
unsafe fn full_log(prog: nvrtcProgram) -> Result<Vec<u8>, nvrtcResult> {
    let (own, is_refused, name, source) = match programs().get(&(prog as usize)) {
        Some(program) => {
            let is_refused = program.refused.is_some() || program.is_divergent;
            (program.log.clone(), is_refused, program.name.clone(), program.source.clone())
        }
        None => Default::default(),
    };
    let theirs = match is_refused {
        true => String::new(),
        false => {
            // SAFETY: the caller ensures that it is alive.
            let theirs = unsafe { hiprtc_log(prog) }?;
            messages::of_source(&String::from_utf8_lossy(&theirs), &name, &source)
        }
    };
    let mut log = errors_first(&(own + &theirs)).into_bytes();
    log.push(0);
    Ok(log)
}

/// Writes the size of the last compilation's log in bytes, including the null byte at its end.
///
/// # Safety
/// The program must be alive, and `logSizeRet` valid for the write, or null, which is an error.
#[doc(alias("hiprtcGetProgramLogSize"))]
pub unsafe extern "C" fn nvrtcGetProgramLogSize(prog: nvrtcProgram, logSizeRet: *mut usize) -> nvrtcResult {
    if prog.is_null() || logSizeRet.is_null() {
        return NVRTC_ERROR_INVALID_INPUT;
    }
    // SAFETY: the caller ensures that it is alive.
    match unsafe { full_log(prog) } {
        Ok(log) => {
            // SAFETY: the caller ensures that it is valid.
            unsafe { logSizeRet.write(log.len()) };
            NVRTC_SUCCESS
        }
        Err(status) => status,
    }
}

/// Writes the log of the last compilation: the messages of [`nvrtcCompileProgram`], HIPRTC's messages, and a null byte.
///
/// # Safety
/// The program must be alive, and `log` valid for as many bytes as [`nvrtcGetProgramLogSize`] returns, or null, which
/// is an error.
#[doc(alias("hiprtcGetProgramLog"))]
pub unsafe extern "C" fn nvrtcGetProgramLog(prog: nvrtcProgram, log: *mut c_char) -> nvrtcResult {
    if prog.is_null() || log.is_null() {
        return NVRTC_ERROR_INVALID_INPUT;
    }
    // SAFETY: the caller ensures that it is alive.
    match unsafe { full_log(prog) } {
        Ok(text) => {
            // SAFETY: the caller ensures that there is room.
            unsafe { log.copy_from_nonoverlapping(text.as_ptr().cast(), text.len()) };
            NVRTC_SUCCESS
        }
        Err(status) => status,
    }
}

/// Destroys a program, and sets the handle to null.
///
/// # Safety
/// `prog` must be null, which is an error, or point to a program that is alive.
#[doc(alias("hiprtcDestroyProgram"))]
pub unsafe extern "C" fn nvrtcDestroyProgram(prog: *mut nvrtcProgram) -> nvrtcResult {
    if prog.is_null() {
        return NVRTC_ERROR_INVALID_INPUT;
    }
    // SAFETY: the caller ensures that it can be read. This comes before the call, because a new program may get the same address
    // immediately.
    programs().remove(&(unsafe { prog.read() } as usize));
    // SAFETY: the caller's contract.
    unsafe { hiprtc_sys::hiprtcDestroyProgram(prog) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(source: &str, options: &[&str]) -> String {
        let translated = translate_options(options.iter().copied());
        let program = Program { name: "k.cu".to_owned(), source: source.to_owned(), ..Program::default() };
        log(&program, &translated.options, &translated.ignored)
    }

    #[test]
    fn options_without_a_meaning_are_warned_of() {
        let log = logged("", &["--maxrregcount=32", "-DA", "-arch=sm_80", "-arch=sm_90a"]);
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], "warning: the option --maxrregcount=32 has no meaning for AMD GPUs, and is ignored");
        assert!(lines[1].starts_with("warning: __CUDA_ARCH__ is 900, and the device's compute capability is 8.0"));
        assert_eq!(logged("", &["-arch=sm_80"]), "");
        assert_eq!(logged("", &["--maxrregcount=32", "-w"]), "");
    }

    #[test]
    fn code_for_32_lanes_is_noted_and_warned_of_where_warps_are_waves() {
        let source = "int lane =\n threadIdx.x % 32;";
        assert_eq!(
            logged(source, &[]),
            "k.cu:2:14: note: `% 32` on the index of a thread assumes 32 lanes: right as long as warps have 32 lanes\n"
        );
        let native = logged(source, &["--warp-size=native", "--offload-arch=gfx90a"]);
        assert!(native.starts_with("k.cu:2:14: warning: `% 32`"), "{native}");
        assert!(native.ends_with(": divide by warpSize, and take the remainder of it\n"), "{native}");
        assert_eq!(logged(source, &["--warp-size=native", "-arch=gfx1100"]), "");
        let many = "f(threadIdx.x % 32);\n".repeat(PLACES + 3);
        assert!(logged(&many, &[]).ends_with("k.cu: note: 3 more places assume 32 lanes\n"));
        assert_eq!(logged("asm(\"mma.sync.aligned.m8n8k4 %0;\");", &[]), "", "the compiler reports it");
    }

    #[test]
    fn collectives_that_lanes_do_not_reach_together_are_errors_unless_allowed() {
        let source = "if (lane < 16) v = __shfl_sync(~0u, v, 1);\nelse v = __shfl_sync(~0u, v, 2);";
        let program = Program { name: "k.cu".to_owned(), source: source.to_owned(), ..Program::default() };
        let error = divergent(&program, &[]).unwrap();
        assert!(error.starts_with("k.cu:1:1: error: __shfl_sync for all lanes"), "{error}");
        assert_eq!(divergent(&program, &[DIVERGENT.to_owned()]), None);
        let right = Program { source: source.replace("lane < 16", "n"), ..program };
        assert_eq!(divergent(&right, &[]), None);
    }

    #[test]
    fn bad_arguments_are_errors() {
        let mut program = null_program();
        // SAFETY: the calls only check for null pointers, and read nothing else.
        unsafe {
            let create = nvrtcCreateProgram(std::ptr::null_mut(), c"".as_ptr(), null(), 0, null(), null());
            assert_eq!(create, NVRTC_ERROR_INVALID_INPUT);
            let create = nvrtcCreateProgram(&mut program, null(), null(), 0, null(), null());
            assert_eq!(create, NVRTC_ERROR_INVALID_INPUT);
            let create = nvrtcCreateProgram(&mut program, c"".as_ptr(), null(), -1, null(), null());
            assert_eq!(create, NVRTC_ERROR_INVALID_INPUT);
            let create = nvrtcCreateProgram(&mut program, c"".as_ptr(), null(), 1, null(), null());
            assert_eq!(create, NVRTC_ERROR_INVALID_INPUT);
            assert_eq!(nvrtcCompileProgram(program, 1, null()), NVRTC_ERROR_INVALID_OPTION);
            assert_eq!(nvrtcCompileProgram(program, 1, &null()), NVRTC_ERROR_INVALID_OPTION);
            assert_eq!(nvrtcGetProgramLogSize(program, std::ptr::null_mut()), NVRTC_ERROR_INVALID_INPUT);
            assert_eq!(nvrtcGetProgramLog(program, std::ptr::null_mut()), NVRTC_ERROR_INVALID_INPUT);
            assert_eq!(nvrtcDestroyProgram(std::ptr::null_mut()), NVRTC_ERROR_INVALID_INPUT);
        }
    }

    fn null_program() -> nvrtcProgram {
        std::ptr::null_mut()
    }
}
