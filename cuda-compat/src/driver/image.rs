//! Images for NVIDIA GPUs, which AMD GPUs cannot run: PTX, cubins and fat binaries.

#![allow(non_snake_case, reason = "names are C's")]

use core::ffi::{CStr, c_char, c_uint, c_void};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::sync::{Mutex, PoisonError};

use hip_sys::{
    hipError_t, hipErrorInvalidImage, hipErrorInvalidKernelFile, hipErrorInvalidValue, hipErrorNoBinaryForGpu,
    hipJitOption, hipJitOptionErrorLogBuffer, hipJitOptionErrorLogBufferSizeBytes, hipModule_t,
};
#[cfg(feature = "rocm-7-1")]
use hip_sys::{hipLibrary_t, hipLibraryOption};

use super::text;

const PTX: &str = "this is PTX, which AMD GPUs cannot run: give the CUDA C++ source to nvrtc (nvrtcGetPTX returns code of AMD's), \
                   or load a code object that hipcc --genco or hiprtc compiled";
const CUBIN: &str =
    "this is a cubin of NVIDIA's, which AMD GPUs cannot run: compile the CUDA C++ source by nvrtc, or by hipcc --genco";
const FATBIN: &str = "this is a fat binary of NVIDIA's, which AMD GPUs cannot run: compile the CUDA C++ source by nvrtc, or by hipcc --genco";
/// The magic numbers of a fat binary, and of the struct that contains its address.
const FATBIN_MAGIC: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const WRAPPER_MAGIC: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
/// The machine field of the ELF header of cubins.
const EM_CUDA: [u8; 2] = 190_u16.to_le_bytes();
const MACHINE: usize = 18;

/// Explains why AMD GPUs cannot run an image, and what to do, if it is PTX, a cubin or an NVIDIA fat binary; otherwise
/// `None`.
///
/// ```
/// use cuda_compat::driver::image::explain;
///
/// assert!(explain(b"//\n.version 8.0\n.target sm_80\n").unwrap().contains("PTX"));
/// assert_eq!(explain(b"__global__ void f() {}"), None);
/// ```
pub fn explain(image: &[u8]) -> Option<&'static str> {
    kind(|at| image.get(at).copied()).map(|kind| kind.1)
}

/// Returns the status for an NVIDIA image and the reason. Bytes are read in order, and none after the one that decides.
pub(crate) fn kind(byte: impl Fn(usize) -> Option<u8>) -> Option<(hipError_t, &'static str)> {
    let is =
        |place: usize, text: &[u8]| text.iter().enumerate().all(|(at, expected)| byte(place + at) == Some(*expected));
    if is(0, &FATBIN_MAGIC) || is(0, &WRAPPER_MAGIC) {
        return Some((hipErrorNoBinaryForGpu, FATBIN));
    }
    if is(0, b"\x7fELF") {
        return is(MACHINE, &EM_CUDA).then_some((hipErrorNoBinaryForGpu, CUBIN));
    }
    let mut at = 0;
    loop {
        match byte(at)? {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'/' if is(at, b"//") => {
                while byte(at)? != b'\n' {
                    // The end of a C string.
                    if byte(at)? == 0 {
                        return None;
                    }
                    at += 1;
                }
            }
            b'/' if is(at, b"/*") => {
                at += 2;
                while !is(at, b"*/") {
                    if byte(at)? == 0 {
                        return None;
                    }
                    at += 1;
                }
                at += 2;
            }
            _ => return is(at, b".version").then_some((hipErrorInvalidKernelFile, PTX)),
        }
    }
}

/// Returns the image that HIP loads: the decoded one of a text, otherwise the same.
///
/// # Errors
/// The status for an NVIDIA image or a damaged text, and the reason.
///
/// # Safety
/// It must be null, a code object, a bundle, a fat binary, a text of [`text::encode`], or a C string.
unsafe fn image_at(image: *const c_void) -> Result<*const c_void, (hipError_t, &'static str)> {
    if image.is_null() {
        return Ok(image);
    }
    // SAFETY: binary images have more bytes than are read; text is not read after its end.
    let byte = |at| Some(unsafe { image.cast::<u8>().add(at).read() });
    if let Some(decoded) = text::decode_by(byte).map_err(|_| (hipErrorInvalidImage, text::DAMAGED))? {
        return Ok(kept(decoded).as_ptr().cast());
    }
    kind(byte).map_or(Ok(image), Err)
}

/// Keeps an image as long as the process runs: HIP may read it while the module is loaded. The same image is kept once.
fn kept(image: Vec<u8>) -> &'static [u8] {
    static IMAGES: Mutex<BTreeSet<&'static [u8]>> = Mutex::new(BTreeSet::new());
    let mut images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = images.get(&image[..]) {
        return kept;
    }
    let image: &'static [u8] = image.leak();
    images.insert(image);
    image
}

/// Loads a module: a code object, a bundle, the result of `nvrtcGetPTX`, or a [text of the stand-in](super::text) for nvcc.
///
/// PTX is `CUDA_ERROR_INVALID_PTX`, and another NVIDIA image `CUDA_ERROR_NO_BINARY_FOR_GPU`: [`explain`] returns what
/// to do.
///
/// # Safety
/// `module` must be valid for the write, and `image` a code object, a bundle or a C string.
#[doc(alias("hipModuleLoadData"))]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut hipModule_t, image: *const c_void) -> hipError_t {
    // SAFETY: the caller's contract.
    match unsafe { image_at(image) } {
        Err((status, _)) => status,
        // SAFETY: the same.
        Ok(image) => unsafe { hip_sys::hipModuleLoadData(module, image) },
    }
}

/// Loads a fat binary, as [`cuModuleLoadData`] does.
///
/// # Safety
/// The requirements of [`cuModuleLoadData`].
#[doc(alias("hipModuleLoadFatBinary"))]
#[cfg(feature = "rocm-7-1")]
pub unsafe extern "C" fn cuModuleLoadFatBinary(module: *mut hipModule_t, fatCubin: *const c_void) -> hipError_t {
    // SAFETY: the caller's contract.
    match unsafe { image_at(fatCubin) } {
        Err((status, _)) => status,
        // SAFETY: the same.
        Ok(image) => unsafe { hip_sys::hipModuleLoadFatBinary(module, image) },
    }
}

/// Loads a module as [`cuModuleLoadData`] does. For an NVIDIA image, the advice is written to the buffer of
/// `CU_JIT_ERROR_LOG_BUFFER`.
///
/// # Safety
/// The requirements of [`cuModuleLoadData`]. There must be `numOptions` options and values, and a buffer of the size
/// that they state.
#[doc(alias("hipModuleLoadDataEx"))]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut hipModule_t,
    image: *const c_void,
    numOptions: c_uint,
    options: *mut hipJitOption,
    optionValues: *mut *mut c_void,
) -> hipError_t {
    // SAFETY: the caller's contract.
    match unsafe { image_at(image) } {
        // SAFETY: the same.
        Ok(image) => unsafe { hip_sys::hipModuleLoadDataEx(module, image, numOptions, options, optionValues) },
        // SAFETY: the same.
        Err((status, why)) => unsafe { refused(status, why, numOptions, options, optionValues) },
    }
}

/// Writes why an image is rejected to the buffer of `CU_JIT_ERROR_LOG_BUFFER`, if there is one, and returns the status.
///
/// # Safety
/// There must be `count` options and values, and a buffer of the size that they state.
unsafe fn refused(
    status: hipError_t,
    why: &str,
    count: c_uint,
    options: *mut hipJitOption,
    values: *mut *mut c_void,
) -> hipError_t {
    if count > 0 && (options.is_null() || values.is_null()) {
        return hipErrorInvalidValue;
    }
    let (mut buffer, mut size) = (None, None);
    for at in 0..count as usize {
        // SAFETY: the caller ensures that there are this many.
        let (option, value) = unsafe { (options.add(at).read(), values.add(at)) };
        match option {
            // SAFETY: the same.
            _ if option == hipJitOptionErrorLogBuffer => buffer = Some(unsafe { value.read() }.cast::<u8>()),
            _ if option == hipJitOptionErrorLogBufferSizeBytes => size = Some(value),
            _ => {}
        }
    }
    if let (Some(buffer), Some(size)) = (buffer, size) {
        // SAFETY: the same. The value is the size itself, instead of a pointer.
        let room = unsafe { size.read() } as usize & 0xffff_ffff;
        if !buffer.is_null() && room > 0 {
            let length = why.len().min(room - 1);
            // SAFETY: the caller ensures that the buffer has this size.
            unsafe {
                buffer.copy_from_nonoverlapping(why.as_ptr(), length);
                buffer.add(length).write(0);
                size.write((length + 1) as *mut c_void);
            }
        }
    }
    status
}

/// Loads a library as [`cuModuleLoadDataEx`] loads a module.
///
/// # Safety
/// The requirements of [`cuModuleLoadDataEx`], with `library` instead of the module, and as many library options as
/// stated.
#[doc(alias("hipLibraryLoadData"))]
#[cfg(feature = "rocm-7-1")]
pub unsafe extern "C" fn cuLibraryLoadData(
    library: *mut hipLibrary_t,
    code: *const c_void,
    jitOptions: *mut hipJitOption,
    jitOptionsValues: *mut *mut c_void,
    numJitOptions: c_uint,
    libraryOptions: *mut hipLibraryOption,
    libraryOptionValues: *mut *mut c_void,
    numLibraryOptions: c_uint,
) -> hipError_t {
    // SAFETY: the caller's contract.
    match unsafe { image_at(code) } {
        // SAFETY: the same.
        Err((status, why)) => unsafe { refused(status, why, numJitOptions, jitOptions, jitOptionsValues) },
        // SAFETY: the same.
        Ok(code) => unsafe {
            hip_sys::hipLibraryLoadData(
                library,
                code,
                jitOptions,
                jitOptionsValues,
                numJitOptions,
                libraryOptions,
                libraryOptionValues,
                numLibraryOptions,
            )
        },
    }
}

/// Loads a library from a file, as [`cuLibraryLoadData`] does.
///
/// # Safety
/// The requirements of [`cuLibraryLoadData`], with a C string for the file's name, or null, which is an error.
#[doc(alias("hipLibraryLoadFromFile"))]
#[cfg(feature = "rocm-7-1")]
pub unsafe extern "C" fn cuLibraryLoadFromFile(
    library: *mut hipLibrary_t,
    fileName: *const c_char,
    jitOptions: *mut hipJitOption,
    jitOptionsValues: *mut *mut c_void,
    numJitOptions: c_uint,
    libraryOptions: *mut hipLibraryOption,
    libraryOptionValues: *mut *mut c_void,
    numLibraryOptions: c_uint,
) -> hipError_t {
    // SAFETY: the caller's contract.
    match unsafe { image_of_file(fileName) } {
        // SAFETY: the same.
        Err((status, why)) => unsafe { refused(status, why, numJitOptions, jitOptions, jitOptionsValues) },
        // SAFETY: the same, with a whole image.
        Ok(Some(image)) => unsafe {
            hip_sys::hipLibraryLoadData(
                library,
                image.as_ptr().cast(),
                jitOptions,
                jitOptionsValues,
                numJitOptions,
                libraryOptions,
                libraryOptionValues,
                numLibraryOptions,
            )
        },
        // SAFETY: the same.
        Ok(None) => unsafe {
            hip_sys::hipLibraryLoadFromFile(
                library,
                fileName,
                jitOptions,
                jitOptionsValues,
                numJitOptions,
                libraryOptions,
                libraryOptionValues,
                numLibraryOptions,
            )
        },
    }
}

/// Returns the decoded image of a file with a text, or `None` for a file that HIP reads itself. HIP also reports a file that
/// cannot be read.
///
/// # Errors
/// Those of [`image_at`].
///
/// # Safety
/// The name must be a C string or null.
unsafe fn image_of_file(name: *const c_char) -> Result<Option<&'static [u8]>, (hipError_t, &'static str)> {
    if name.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller ensures that it is a C string.
    let Ok(name) = unsafe { CStr::from_ptr(name) }.to_str() else { return Ok(None) };
    let start = |most: u64| {
        let mut start = Vec::new();
        File::open(name)?.take(most).read_to_end(&mut start)?;
        std::io::Result::Ok(start)
    };
    let Ok(mut bytes) = start(1 << 16) else { return Ok(None) };
    if bytes.starts_with(text::MAGIC.as_bytes()) {
        bytes = start(u64::MAX).unwrap_or(bytes);
        let decoded = text::decode(&bytes).map_err(|_| (hipErrorInvalidImage, text::DAMAGED))?;
        return Ok(decoded.map(kept));
    }
    kind(|at| bytes.get(at).copied()).map_or(Ok(None), Err)
}

/// Loads a module from a file, as [`cuModuleLoadData`] does.
///
/// # Safety
/// `module` must be valid for the write, and `fname` a C string or null, which is an error.
#[doc(alias("hipModuleLoad"))]
pub unsafe extern "C" fn cuModuleLoad(module: *mut hipModule_t, fname: *const c_char) -> hipError_t {
    // SAFETY: the caller's contract.
    match unsafe { image_of_file(fname) } {
        Err((status, _)) => status,
        // SAFETY: the same, with a whole image.
        Ok(Some(image)) => unsafe { hip_sys::hipModuleLoadData(module, image.as_ptr().cast()) },
        // SAFETY: the same.
        Ok(None) => unsafe { hip_sys::hipModuleLoad(module, fname) },
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;

    const SOURCE: &CStr = c"// Generated by NVIDIA NVVM Compiler\n/* x */\n\n.version 8.4\n.target sm_80\n";

    #[test]
    fn images_are_told_apart_by_how_they_start() {
        let is_ptx = |image: &[u8]| explain(image) == Some(PTX);
        assert!(is_ptx(SOURCE.to_bytes()) && is_ptx(b".version 7.0"));
        let mut elf = vec![0; 64];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[18] = 224;
        assert_eq!(explain(&elf), None);
        elf[18] = 190;
        assert_eq!(explain(&elf), Some(CUBIN));
        assert_eq!(explain(&[0x50, 0xed, 0x55, 0xba, 1, 0]), Some(FATBIN));
        assert_eq!(explain(&[0xb1, 0x43, 0x62, 0x46]), Some(FATBIN));
        for other in [
            "",
            "\x7fEL",
            "/",
            "/* no end",
            "// no end",
            "// \0.version",
            "__CLANG_OFFLOAD_BUNDLE__",
            ".vers",
            "int x;",
        ] {
            assert_eq!(explain(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn ptx_is_an_error_and_the_log_buffer_says_what_to_do() {
        let mut module = null_mut();
        let (mut log, size) = ([7_u8; 400], 400_usize);
        let mut options = [hipJitOptionErrorLogBuffer, hipJitOptionErrorLogBufferSizeBytes];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), size as *mut c_void];
        let image = SOURCE.as_ptr().cast();
        // SAFETY: room for the result, a C string, and as many options as stated.
        unsafe {
            assert_eq!(cuModuleLoadData(&mut module, image), hipErrorInvalidKernelFile);
            #[cfg(feature = "rocm-7-1")]
            assert_eq!(cuModuleLoadFatBinary(&mut module, image), hipErrorInvalidKernelFile);
            let status = cuModuleLoadDataEx(&mut module, image, 2, options.as_mut_ptr(), values.as_mut_ptr());
            assert_eq!(status, hipErrorInvalidKernelFile);
            assert_eq!(cuModuleLoadDataEx(&mut module, image, 0, null_mut(), null_mut()), hipErrorInvalidKernelFile);
            assert_eq!(cuModuleLoadDataEx(&mut module, image, 1, null_mut(), null_mut()), hipErrorInvalidValue);
        }
        assert_eq!(CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap(), PTX);
        assert_eq!(values[1] as usize, PTX.len() + 1);

        #[cfg(feature = "rocm-7-1")]
        {
            let mut library = null_mut();
            let mut log = [7_u8; 400];
            let mut values = [log.as_mut_ptr().cast::<c_void>(), size as *mut c_void];
            let (names, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            // SAFETY: the same, and no library options.
            let status = unsafe { cuLibraryLoadData(&mut library, image, names, values, 2, null_mut(), null_mut(), 0) };
            assert_eq!(status, hipErrorInvalidKernelFile);
            assert_eq!(CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap(), PTX);
        }

        let mut short = [7_u8; 10];
        let mut values = [short.as_mut_ptr().cast::<c_void>(), 8 as *mut c_void];
        // SAFETY: the same.
        unsafe { cuModuleLoadDataEx(&mut module, image, 2, options.as_mut_ptr(), values.as_mut_ptr()) };
        assert_eq!(&short, b"this is\0\x07\x07");
    }

    #[test]
    fn a_file_with_ptx_is_an_error() {
        let path = std::env::temp_dir().join(format!("cuda-compat-{}.ptx", std::process::id()));
        std::fs::write(&path, SOURCE.to_bytes()).unwrap();
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        let mut module = null_mut();
        // SAFETY: room for the result, and a C string.
        let status = unsafe { cuModuleLoad(&mut module, name.as_ptr()) };
        #[cfg(feature = "rocm-7-1")]
        {
            let (mut library, none) = (null_mut(), null_mut());
            // SAFETY: the same, and no options.
            let status = unsafe {
                cuLibraryLoadFromFile(&mut library, name.as_ptr(), null_mut(), none, 0, null_mut(), null_mut(), 0)
            };
            assert_eq!(status, hipErrorInvalidKernelFile);
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(status, hipErrorInvalidKernelFile);
    }
}
