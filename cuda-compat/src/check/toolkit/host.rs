//! Objects with code of the host, by ROCm's clang; files without device code, and libraries, by the host's own tools.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_compat::nvrtc::headers_for_clang;

use super::job::{Job, Phase, Temporary, capability};
use super::tool;

/// Compiles or preprocesses a file.
pub(super) fn compile(job: &Job, file: &Path) -> Result<(), String> {
    let copies = Temporary::new()?;
    let is_cuda = match (job.language.as_deref(), file.extension().and_then(|ending| ending.to_str())) {
        (Some(language), _) => language == "cu",
        (None, ending) => ending == Some("cu"),
    };
    if is_cuda && job.phase != Phase::Preprocess && omits_host_code() {
        job.say(&format!("{}: an object without code, as {} is {}", file.display(), tool::HOST_CODE, tool::OMIT));
        return empty(job, &copies.0, &job.output_of(file, "o")?);
    }
    let mut command = if is_cuda { rocm_clang(job, &copies.0)? } else { Command::new(host_compiler(job, file)) };
    if let (false, Some(language)) = (is_cuda, &job.language) {
        command.args(["-x", language]);
    }
    command.args(&job.common).args(&job.host);
    for folder in job.folders() {
        command.arg("-I").arg(folder);
    }
    for header in job.headers_before() {
        command.args(["-include", header]);
    }
    if job.phase == Phase::Preprocess {
        command.arg("-E");
        if is_cuda {
            command.arg("--offload-host-only");
        }
        if let Some(output) = job.output() {
            command.arg("-o").arg(output);
        }
    } else {
        command.arg("-c").arg("-o").arg(job.output_of(file, "o")?);
    }
    run(job, command.arg(file))
}

/// Writes an object without code: what nvcc's device linker makes is in the objects of ROCm's clang already.
pub(super) fn device_link(job: &Job) -> Result<(), String> {
    let output = job.output().ok_or("-dlink needs -o")?;
    empty(job, &Temporary::new()?.0, output)
}

/// Writes an object without code, by way of a folder for the source.
fn empty(job: &Job, folder: &Path, output: &Path) -> Result<(), String> {
    let empty = folder.join("empty.c");
    std::fs::write(&empty, "").map_err(|error| format!("cannot write {}: {error}", empty.display()))?;
    let mut command = Command::new(host_compiler(job, &empty));
    run(job, command.args(&job.host).arg("-c").arg("-o").arg(output).arg(&empty))
}

/// Returns whether functions of the host in .cu files are left out.
fn omits_host_code() -> bool {
    std::env::var_os(tool::HOST_CODE).is_some_and(|value| value == tool::OMIT)
}

/// Makes a static library of objects, and of sources, which are compiled first.
pub(super) fn library(job: &Job) -> Result<(), String> {
    let output = job.output().ok_or("--lib needs -o")?;
    let objects = Temporary::new()?;
    let mut members = Vec::new();
    for (at, file) in job.files.iter().enumerate() {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("o" | "obj" | "a") => members.push(file.clone()),
            _ => {
                return Err(format!(
                    "{}: file {} of a library is not an object: compile it with -c",
                    file.display(),
                    at + 1
                ));
            }
        }
    }
    // `ar` would keep members of an older library.
    let new = objects.0.join("new.a");
    let program = job.archiver.clone().unwrap_or_else(|| PathBuf::from(std::env::var_os("AR").unwrap_or("ar".into())));
    let mut command = Command::new(program);
    command.arg("crs").args(&job.archive).arg(&new).args(&members);
    run(job, &mut command)?;
    if job.is_dry() {
        return Ok(());
    }
    let bytes = std::fs::read(&new).map_err(|error| format!("{}: {error}", new.display()))?;
    tool::write(output, &bytes)
}

/// Returns the host's compiler: that of -ccbin, which may be its folder, then of NVCC_CCBIN, `CXX` or `CC`.
fn host_compiler(job: &Job, file: &Path) -> PathBuf {
    let is_c = match &job.language {
        Some(language) => language == "c",
        None => file.extension().is_some_and(|ending| ending == "c"),
    };
    let (variable, name) = if is_c { ("CC", "cc") } else { ("CXX", "c++") };
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let compiler = job.compiler.clone().or_else(|| named("NVCC_CCBIN")).or_else(|| named(variable));
    match compiler {
        Some(folder) if folder.is_dir() => folder.join(name),
        Some(compiler) => compiler,
        None => name.into(),
    }
}

/// Returns ROCm's clang with the options for code of the host and the device.
fn rocm_clang(job: &Job, folder: &Path) -> Result<Command, String> {
    let targets = job.targets()?;
    let first = targets.first().ok_or("no architecture")?;
    let (path, root) = hiprtc::build::find_clang(first, folder).map_err(|error| {
        format!(
            "functions of the host in .cu files are compiled by ROCm's clang, and none is usable: {error}\n\
             Install the package hipcc of a ROCm release, or set ROCM_PATH to one that has it. Kernels alone need only \
             HIPRTC: --ptx. `cuda-compat env --omit-host-code` leaves these functions out"
        )
    })?;
    let mut command = Command::new(path);
    if let Some(root) = root {
        command.arg(format!("--rocm-path={}", root.display()));
    }
    let headers = folder.join("include");
    write_headers(&headers)?;
    command.args(["-x", "hip"]).args(&job.clang);
    command.args(job.lanes().map(|lanes| format!("-DCUDA_COMPAT_WARP_SIZE={lanes}")));
    command.arg(format!("-DCUDA_COMPAT_ARCH={}0", job.cuda_arch()));
    command.arg(format!("-DCUDA_COMPAT_CAPABILITY={}", capability()));
    // Results of HIP's functions may not be ignored, unlike CUDA's.
    command.args(["-DCUDA_COMPAT_HOST", "-Wno-unused-value", "-Wno-unused-result", "-Wno-c++11-narrowing"]);
    // Includes in angle brackets and in quotes find them before those of an installed CUDA.
    command.arg("-I").arg(&headers).args(["-include", "hip/hip_runtime.h", "-include", "cuda_compat/prelude.h"]);
    command.args(targets.iter().map(|arch| format!("--offload-arch={arch}")));
    Ok(command)
}

/// Runs a program, and returns an error if it fails.
fn run(job: &Job, command: &mut Command) -> Result<(), String> {
    job.say(&format!("{command:?}"));
    if job.is_dry() {
        return Ok(());
    }
    let program = PathBuf::from(command.get_program());
    let status = command.status().map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", program.display())) }
}

/// Writes CUDA's headers, over HIP's.
fn write_headers(folder: &Path) -> Result<(), String> {
    let names = ("cuda_compat/names.h".to_owned(), names());
    for (name, text) in headers_for_clang().into_iter().chain([names]) {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Returns macros for the names of the driver and the runtime that HIP has under its own.
fn names() -> String {
    let mut names = String::from("#pragma once\n");
    let mut known = BTreeSet::new();
    for line in include_str!("../../generated/names.tsv").lines() {
        // The module, the sort, the name, its fate, a feature, HIP's name.
        let fields: Vec<&str> = line.split('\t').collect();
        if let ["driver" | "runtime", _, name, "same", _, hip] = fields[..] {
            if hip.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name != hip && known.insert(name) {
                names += &format!("#define {name} {hip}\n");
            }
        }
    }
    names
}
