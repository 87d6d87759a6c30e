//! CUDA C++, in files and in Rust strings; PTX; build commands.

use cuda_compat::nvrtc::lanes;

use crate::report::{Findings, Kind, Place, Verdict};
use crate::{device, names};

/// The advice for projects that use NVCC.
pub(crate) const NVCC: &str = "`cuda-compat env -- cargo build` puts a stand-in on the path: kernels become code of AMD GPUs, functions of the host need ROCm's clang. Or compile kernels by `nvrtc` when the program runs, or write them in Rust (`hip-kernel-build`)";
/// The advice for PTX.
const PTX: &str = "AMD GPUs have no PTX: compile the CUDA C++ that it came from by `nvrtc` when the program runs, or by hipcc to a code object";

/// The item for code that assumes warps of 32 lanes, and its verdict.
const LANES: &str = "code for 32 lanes";
const LANES_ARE: &str = "`nvrtc` makes two warps of each wave of 64 lanes, so it is right; with --warp-size=native, and by hipcc, it is not. `cuda_compat::nvrtc::lanes::find` explains each place";

/// Returns whether a string is CUDA C++.
pub(crate) fn is_kernel(text: &str) -> bool {
    text.contains("__global__")
        || text.contains("extern \"C\" __device__")
        || text.contains("__device__ ") && text.contains('{')
}

/// The position of source in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: usize,
    /// The column of the literal; 0 if the whole file is the source.
    pub(crate) column: usize,
    /// Whether lines of the source are lines of the file.
    pub(crate) is_literal: bool,
}

impl Start<'_> {
    fn place(&self, line: usize, column: usize) -> Place {
        let file = self.file.to_owned();
        match (self.is_literal, line) {
            // The first line of a literal starts after its quote; the literal's column is close enough.
            (true, 1) if self.column > 0 => Place { file, line: self.line, column: self.column },
            (true, _) => Place { file, line: self.line + line - 1, column },
            (false, _) => Place { file, line: self.line, column: self.column },
        }
    }
}

/// Reads CUDA C++.
pub(crate) fn read(source: &str, start: &Start<'_>, findings: &mut Findings) {
    for found in lanes::find(source) {
        let place = start.place(found.line, found.column);
        if found.advice.contains("PTX") {
            findings.add(Kind::Kernel, "inline PTX (asm)", place, || Verdict::missing(found.advice));
        } else {
            findings.add(Kind::Kernel, LANES, place, || Verdict::differs(LANES_ARE));
        }
    }
    let words = words(source);
    let defined = |name: &str| words.iter().any(|word| word.defines && word.text == name);
    for word in &words {
        let place = || start.place(word.line, word.column);
        match word.text {
            "#include" => {
                let name = format!("#include <{}>", word.rest);
                if let Some(verdict) = device::header(word.rest) {
                    findings.add(Kind::Kernel, &name, place(), || verdict);
                }
            }
            "<<<" => host(place(), findings),
            name => {
                if let Some(verdict) = device::name(name).filter(|_| !defined(name)) {
                    findings.add(Kind::Kernel, name, place(), || verdict);
                } else if names::is_known(name) && name.starts_with("cuda") && word.is_call {
                    host(place(), findings);
                } else if let Some((library, advice)) = names::library(name).filter(|_| word.is_call) {
                    findings.add(Kind::Kernel, library, place(), || Verdict::missing(format!("not mapped: {advice}")));
                }
            }
        }
    }
}

/// Adds host code in CUDA C++.
fn host(place: Place, findings: &mut Findings) {
    findings.add(Kind::Kernel, "host code in CUDA C++", place, || {
        Verdict::missing("launch the kernel from Rust, or convert the file by hipify-perl and compile it by hipcc")
    });
}

/// A word of C++.
struct Word<'a> {
    text: &'a str,
    /// The included header.
    rest: &'a str,
    line: usize,
    column: usize,
    is_call: bool,
    /// Whether it is the name in a `#define`.
    defines: bool,
}

/// Returns the words of C++ outside of comments and strings; `<<<` and `#include` are words, too.
fn words(source: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let bytes = source.as_bytes();
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    let mut defines = false;
    while at < bytes.len() {
        let rest = &bytes[at..];
        match rest[0] {
            b'\n' => {
                at += 1;
                (line, line_start) = (line + 1, at);
                defines = false;
            }
            b'/' if rest.starts_with(b"//") => at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"/*") => {
                let end = rest.windows(2).skip(2).position(|two| two == b"*/").map_or(rest.len(), |end| end + 4);
                for (index, _) in rest[..end].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
                    (line, line_start) = (line + 1, at + index + 1);
                }
                at += end;
            }
            quote @ (b'"' | b'\'') => {
                let mut end = 1;
                while end < rest.len() && rest[end] != quote && rest[end] != b'\n' {
                    end += if rest[end] == b'\\' { 2 } else { 1 };
                }
                at += (end + 1).min(rest.len());
                // Counts a line break inside as one line.
                if rest.get(end) == Some(&b'\n') {
                    (line, line_start) = (line + 1, at);
                }
            }
            b'#' => {
                let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                let directive = source.get(at + 1..at + end).unwrap_or_default().trim();
                if let Some(header) = directive.strip_prefix("include") {
                    let header = header.trim().trim_start_matches(['<', '"']);
                    let header = header.split(['>', '"']).next().unwrap_or_default();
                    let column = at - line_start + 1;
                    words.push(Word { text: "#include", rest: header, line, column, is_call: false, defines: false });
                    at += end;
                } else {
                    defines = directive.starts_with("define");
                    at += 1;
                }
            }
            b'<' if rest.starts_with(b"<<<") => {
                let column = at - line_start + 1;
                words.push(Word { text: "<<<", rest: "", line, column, is_call: false, defines: false });
                at += 3;
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let end = rest.iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'_').unwrap_or(rest.len());
                let text = source.get(at..at + end).unwrap_or_default();
                let column = at - line_start + 1;
                let is_call = rest[end..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'(');
                let is_name = defines && text != "define";
                words.push(Word { text, rest: "", line, column, is_call, defines: is_name });
                defines = defines && !is_name;
                at += end;
            }
            byte if byte.is_ascii_digit() => {
                at += rest.iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'.').unwrap_or(rest.len());
            }
            _ => at += 1,
        }
    }
    words
}

/// Libraries that a build script links.
const LINKED: &[&str] = &[
    "cuda",
    "cudart",
    "cudart_static",
    "cudadevrt",
    "nvrtc",
    "nvrtc_static",
    "cublas",
    "cublasLt",
    "cublas_static",
    "curand",
    "cusparse",
    "cufft",
    "cusolver",
    "nccl",
    "cufile",
    "nvToolsExt",
    "nvidia-ml",
    "cudnn",
    "cupti",
    "nvptxcompiler_static",
];

/// Variables that locate CUDA, or select an architecture.
const VARIABLES: &[&str] = &[
    "CUDA_PATH",
    "CUDA_HOME",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "CUDA_COMPUTE_CAP",
    "CUDA_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
];

/// Reads a Rust string that is not CUDA C++: build commands, PTX files. `is_command`: it may be the name of a program.
pub(crate) fn build(text: &str, place: Place, is_command: bool, findings: &mut Findings) {
    if text.contains(".visible .entry") || text.contains(".target sm_") {
        findings.add(Kind::Build, "PTX in a string", place, || Verdict::missing(PTX));
    } else if let Some(library) = linked(text) {
        findings.add(Kind::Build, &format!("link to {library}"), place, || {
            Verdict::differs("nothing is linked: remove the line; ROCm's library is loaded on the first call")
        });
    } else if is_command && (text == "nvcc" || text.ends_with("/nvcc")) {
        findings.add(Kind::Build, "nvcc", place, || Verdict::differs(NVCC));
    } else if VARIABLES.contains(&text) {
        findings.add(Kind::Build, text, place, || {
            Verdict::differs(match text {
                "CUDA_VISIBLE_DEVICES" => "HIP reads it, too; HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES come first",
                "CUDA_COMPUTE_CAP" => {
                    "architectures of NVIDIA have no meaning: code is compiled for the current device"
                }
                _ => "no build needs an installation; when the program runs, ROCM_PATH is read",
            })
        });
    } else if !text.contains(|c: char| c.is_whitespace() || c == '{') && text.len() > 4 && text.ends_with(".ptx") {
        findings.add(Kind::Build, "PTX file", place, || Verdict::missing(PTX));
    }
}

/// Returns the CUDA library that a line for Cargo links.
fn linked(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("rustc-link-lib=")?;
    let library = rest.rsplit('=').next()?.trim();
    LINKED.contains(&library).then_some(library)
}

/// Adds a file that is not source code.
pub(crate) fn binary(place: Place, extension: &str, findings: &mut Findings) {
    match extension {
        "ptx" => findings.add(Kind::Build, "PTX file", place, || Verdict::missing(PTX)),
        _ => findings.add(Kind::Build, "compiled CUDA code (cubin, fatbin)", place, || {
            Verdict::missing("machine code of NVIDIA: compile the source by `nvrtc` or hipcc")
        }),
    }
}
