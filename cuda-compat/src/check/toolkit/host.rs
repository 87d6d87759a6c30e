//! Objects with code of the host, by ROCm's clang; files without device code, and libraries, by the host's own tools.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::nvcc::{Job, Phase, Temporary};

/// Compiles or preprocesses a file.
pub(super) fn compile(job: &Job, file: &Path) -> Result<(), String> {
    let copies = Temporary::new()?;
    let is_cuda = match (job.language.as_deref(), file.extension().and_then(|ending| ending.to_str())) {
        (Some(language), _) => language == "cu",
        (None, ending) => ending == Some("cu"),
    };
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
    let copies = Temporary::new()?;
    let empty = copies.0.join("empty.c");
    std::fs::write(&empty, "").map_err(|error| format!("cannot write {}: {error}", empty.display()))?;
    let mut command = Command::new(host_compiler(job, &empty));
    run(job, command.args(&job.host).arg("-c").arg("-o").arg(output).arg(&empty))
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
    super::write(output, &bytes)
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
             HIPRTC: --ptx"
        )
    })?;
    let mut command = Command::new(path);
    if let Some(root) = root {
        command.arg(format!("--rocm-path={}", root.display()));
    }
    command.args(["-x", "hip"]).args(&job.clang);
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
