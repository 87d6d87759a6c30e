//! The compiler for an architecture: HIPRTC for AMD's, NVRTC for NVIDIA's.

use hip::Arch;

use crate::available::hiprtc;
use crate::comgr::Comgr;
use crate::error::{Error, Result};
use crate::given::{Given, Input, Output};
use crate::handle::{Functions, HIPRTC, Output as Get};
#[cfg(feature = "nvidia")]
use crate::nvrtc::{self, Nvrtc};

/// A compiler that is available.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compiler {
    /// HIPRTC, with the Comgr behind it, if that can be queried.
    Hiprtc(Option<&'static Comgr>),
    #[cfg(feature = "nvidia")]
    Nvrtc(&'static Nvrtc),
}

/// Checks whether programs can be compiled on this machine for the GPUs of the backend in use
/// ([`hip::runtime::chosen_backend`]): whether HIPRTC, Comgr and its LLVM are available; for NVIDIA's GPUs, whether NVRTC
/// is.
///
/// `hiprtcCreateProgram` of ROCm 7.2.4 jumps to address 0 if Comgr, or a library that Comgr depends on, is missing. So
/// this function opens Comgr first, under the name that the HIPRTC library uses: in HIPRTC's directory, otherwise by
/// the search of this process. Every function of this crate that compiles calls this first. The result is cached.
///
/// # Errors
/// [`Error::NoHiprtc`], [`Error::NoComgr`] or [`Error::NoNvrtc`]. For all, [`Error::is_unavailable`] is true.
///
/// ```
/// match hiprtc::available() {
///     Ok(()) => println!("kernels can be compiled on this machine"),
///     Err(why) => println!("{why}"),
/// }
/// ```
pub fn available() -> Result<()> {
    Compiler::of(None).map(drop)
}

impl Compiler {
    /// Returns the compiler for an architecture, otherwise for the devices of the backend in use.
    pub(crate) fn of(arch: Option<&Arch>) -> Result<Self> {
        #[cfg(feature = "nvidia")]
        if arch.map_or_else(is_nvidia_chosen, Arch::is_nvidia) {
            return nvrtc::find().map(Self::Nvrtc);
        }
        let _ = arch;
        hiprtc().map(Self::Hiprtc)
    }

    pub(crate) fn functions(self) -> &'static Functions {
        match self {
            Self::Hiprtc(_) => &HIPRTC,
            #[cfg(feature = "nvidia")]
            Self::Nvrtc(nvrtc) => nvrtc.functions(),
        }
    }

    /// Returns the architecture to compile for if a device's is not supported, as far as there is one.
    pub(crate) fn arch_for(self, device: Arch) -> Arch {
        match self {
            Self::Hiprtc(_) => device,
            #[cfg(feature = "nvidia")]
            Self::Nvrtc(nvrtc) => nvrtc.arch_for(device),
        }
    }

    /// Returns `Ok` unless the compiler is known not to support the architecture.
    pub(crate) fn expect(self, arch: &Arch) -> Result<()> {
        let refuse = |known| Err(Error::UnsupportedArch { arch: arch.clone(), known });
        match self {
            Self::Hiprtc(Some(comgr)) if comgr.supports(arch) == Some(false) => refuse(comgr.processors()),
            Self::Hiprtc(_) => Ok(()),
            #[cfg(feature = "nvidia")]
            Self::Nvrtc(nvrtc) if nvrtc.supports(arch) => Ok(()),
            #[cfg(feature = "nvidia")]
            Self::Nvrtc(nvrtc) => refuse(nvrtc.architectures()),
        }
    }

    /// Returns the headers that a program gets in addition to its own, and the compiler's options.
    pub(crate) fn input(self, arch: &Arch, given: Given<'_>, output: Output) -> Result<Input> {
        match self {
            Self::Hiprtc(_) => {
                let mut options = vec![format!("--offload-arch={arch}")];
                options.extend(output.option().map(str::to_owned));
                options.extend_from_slice(given.options);
                Ok(Input { options, ..Input::default() })
            }
            #[cfg(feature = "nvidia")]
            Self::Nvrtc(nvrtc) if output == Output::Code => nvrtc.input(arch, given),
            #[cfg(feature = "nvidia")]
            Self::Nvrtc(_) => Err(Error::Unsupported {
                what: "bitcode for NVIDIA's GPUs",
                reason: "NVRTC compiles to machine code and PTX: compile all functions in one program",
            }),
        }
    }

    /// Returns the function that returns an output, and whether bytes are one.
    pub(crate) fn output(self, arch: &Arch, output: Output) -> (Get, fn(&[u8]) -> bool) {
        let functions = self.functions();
        match output {
            Output::Code if self.is_nvidias() && arch.name().starts_with("compute_") => (functions.text, is_ptx),
            Output::Code => (functions.code, |bytes| bytes.starts_with(b"\x7fELF")),
            Output::Bitcode => (functions.text, |bytes| bytes.starts_with(b"BC\xc0\xde")),
        }
    }

    /// Returns whether options ask that warnings are errors, which the compiler does not know.
    pub(crate) fn checks_warnings(self, options: &[String]) -> bool {
        self.is_nvidias() && options.iter().any(|option| option == "-Werror")
    }

    fn is_nvidias(self) -> bool {
        !matches!(self, Self::Hiprtc(_))
    }
}

/// Returns whether bytes are PTX: text that ends with a zero.
fn is_ptx(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    text.lines().any(|line| line.starts_with(".version")) && text.ends_with('\0')
}

/// Returns whether the devices are NVIDIA's. Chooses no backend.
#[cfg(feature = "nvidia")]
fn is_nvidia_chosen() -> bool {
    matches!(hip::runtime::chosen_backend(), Ok(Some(hip::Backend::Cuda)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_is_told_from_other_text() {
        assert!(is_ptx(b"//\n.version 9.0\n.target sm_90\n\0"));
        for other in [&b"//\n.version 9.0\n"[..], b"\0", b"", b"\x7fELF.version\0", b"\xff\n.version\n\0"] {
            assert!(!is_ptx(other), "{other:?}");
        }
    }
}
