//! NVRTC, the compiler for NVIDIA's GPUs: its library, the architectures that it supports, and what a program gets.

mod library;
mod options;

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::OnceLock;

use hip::Arch;
use hiprtc_sys::hiprtcResult;

use crate::error::{Error, Result};
use crate::given::{Given, Input};
use crate::handle::Functions;

/// HIP's names for NVRTC, included before every source.
const PRELUDE: &str = include_str!("hip_runtime.h");
/// Its name for NVRTC, which no source includes.
const PRELUDE_NAME: &str = "hiprtc/nvidia.h";

/// HIP's headers and their counterparts. NVRTC does not contain the latter: CUDA's toolkit does.
const HEADERS: [(&str, &str); 4] = [
    ("hip/hip_runtime.h", ""),
    ("hip/hip_fp16.h", "#pragma once\n#include <cuda_fp16.h>\n"),
    (
        "hip/hip_bf16.h",
        "#pragma once\n#include <cuda_bf16.h>\ntypedef __nv_bfloat16 __hip_bfloat16;\ntypedef __nv_bfloat162 __hip_bfloat162;\n",
    ),
    ("hip/hip_cooperative_groups.h", "#pragma once\n#include <cooperative_groups.h>\n"),
];

/// NVRTC, opened.
#[derive(Debug)]
pub(crate) struct Nvrtc {
    functions: Functions,
    /// Major and minor.
    version: (c_int, c_int),
    /// The library's file, if it was not found by the system's loader.
    path: Option<PathBuf>,
    /// The folder of the toolkit's headers.
    include: Option<PathBuf>,
    /// Compute capabilities: 90 is 9.0.
    capabilities: Vec<u32>,
}

/// Returns NVRTC. The result is cached.
pub(crate) fn find() -> Result<&'static Nvrtc> {
    static ANSWER: OnceLock<Result<Nvrtc>> = OnceLock::new();
    ANSWER.get_or_init(Nvrtc::open).as_ref().map_err(Error::clone)
}

/// Returns the number in `sm_90a` or `compute_90`.
fn capability(arch: &Arch) -> Option<u32> {
    let number = arch.name().rsplit('_').next()?;
    number.trim_end_matches(['a', 'f']).parse().ok()
}

impl Nvrtc {
    fn open() -> Result<Self> {
        let opened = library::open()?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are valid for the write.
        let status = unsafe { (opened.version)(&mut major, &mut minor) };
        if status.0 != 0 {
            let report = format!("nvrtcVersion failed ({}) in {}", status.0, opened.described());
            return Err(Error::NoNvrtc { report });
        }
        let capabilities = capabilities(&opened);
        let include = library::include(opened.path.as_deref());
        Ok(Self { functions: opened.functions, version: (major, minor), path: opened.path, include, capabilities })
    }

    pub(crate) fn functions(&'static self) -> &'static Functions {
        &self.functions
    }

    /// Identifies the compiler: the file is described by its size and time elsewhere.
    pub(crate) fn version(&self) -> String {
        format!("NVRTC {}.{}", self.version.0, self.version.1)
    }

    pub(crate) fn path(&self) -> Option<&PathBuf> {
        self.path.as_ref()
    }

    pub(crate) fn supports(&self, arch: &Arch) -> bool {
        capability(arch).is_some_and(|capability| self.capabilities.contains(&capability))
    }

    /// Returns the architectures that the compiler supports.
    pub(crate) fn architectures(&self) -> Vec<String> {
        self.capabilities.iter().map(|capability| format!("sm_{capability}")).collect()
    }

    /// Returns PTX's latest architecture before a device's that is newer than the compiler: the driver compiles that.
    pub(crate) fn arch_for(&self, device: Arch) -> Arch {
        if self.supports(&device) {
            return device;
        }
        let earlier = self.capabilities.iter().filter(|&&other| Some(other) < capability(&device)).max();
        earlier.and_then(|earlier| format!("compute_{earlier}").parse().ok()).unwrap_or(device)
    }

    /// Returns the headers and options of a compilation.
    pub(crate) fn input(&self, arch: &Arch, given: Given<'_>) -> Result<Input> {
        let mut options = vec![
            format!("--gpu-architecture={arch}"),
            // The program's name is not that of a file.
            "--no-source-include".to_owned(),
            format!("--pre-include={PRELUDE_NAME}"),
        ];
        let names =
            |name: &str| given.texts().any(|text| memchr::memmem::find(text.as_bytes(), name.as_bytes()).is_some());
        // HIPRTC has these types built in.
        if names("__half") {
            options.push("--pre-include=hip/hip_fp16.h".to_owned());
        }
        options.extend(options::translate(given.options)?);
        options.extend(self.include.iter().map(|folder| format!("--include-path={}", folder.display())));
        let others = HEADERS.iter().filter(|(name, _)| !given.has_header(name));
        let headers = [&(PRELUDE_NAME, PRELUDE)].into_iter().chain(others);
        let headers = headers.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Ok(Input { headers, options })
    }
}

/// Returns the compute capabilities that the library supports.
fn capabilities(opened: &library::Opened) -> Vec<u32> {
    let mut count = 0;
    // SAFETY: the pointer is valid for the write.
    let status = unsafe { (opened.count_architectures)(&mut count) };
    let mut found = vec![0 as c_int; usize::try_from(count).unwrap_or(0)];
    // SAFETY: there is room for as many numbers as the library has just returned.
    let all = |found: &mut Vec<c_int>| unsafe { (opened.architectures)(found.as_mut_ptr()) };
    if status != hiprtcResult(0) || all(&mut found) != hiprtcResult(0) {
        return Vec::new();
    }
    found.into_iter().filter_map(|capability| u32::try_from(capability).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::HIPRTC;
    use crate::program::Program;

    fn nvrtc() -> Nvrtc {
        Nvrtc {
            functions: HIPRTC,
            version: (12, 9),
            path: None,
            include: Some("/cuda/include".into()),
            capabilities: vec![75, 80, 90, 100],
        }
    }

    #[test]
    fn a_device_that_is_newer_than_the_compiler_gets_ptx() {
        let arch_for = |device: &str| nvrtc().arch_for(device.parse().unwrap()).to_string();
        assert_eq!(
            ["sm_90", "sm_103", "sm_89", "sm_120", "sm_50"].map(arch_for),
            ["sm_90", "compute_100", "compute_80", "compute_100", "sm_50"]
        );
        for (arch, supported) in [("sm_90a", true), ("compute_75", true), ("sm_103", false), ("compute_50", false)] {
            assert_eq!(nvrtc().supports(&arch.parse().unwrap()), supported, "{arch}");
        }
    }

    #[test]
    fn a_program_gets_hips_names_and_its_own_headers_first() {
        let input = |program: &Program| nvrtc().input(&"sm_90".parse().unwrap(), program.given()).unwrap();
        let Input { headers, options } = input(&Program::new("a.hip", "x"));
        let usual =
            "--gpu-architecture=sm_90 --no-source-include --pre-include=hiprtc/nvidia.h --include-path=/cuda/include";
        assert_eq!(options.join(" "), usual);
        assert_eq!(headers.len(), 1 + HEADERS.len());
        let own = Program::new("a.hip", "__half x;").header("hip/hip_bf16.h", "own");
        let Input { headers, options } = input(&own);
        assert!(options.contains(&"--pre-include=hip/hip_fp16.h".to_owned()));
        assert!(!headers.iter().any(|(name, _)| name == "hip/hip_bf16.h"));
    }
}
