//! `nvcc`: kernels by HIPRTC, as text; objects by ROCm's clang.

use std::ffi::CString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cuda_compat::driver::text;
use cuda_compat::nvrtc::result;
use hip::Arch;
use hiprtc::BundleWriter;

use super::job::{Job, NAMES, Phase, Temporary, name};
use super::tool::{self, Tool};
use super::{host, options, ptxas, source};

pub(super) fn run(arguments: Vec<String>) -> Result<ExitCode, String> {
    let flags = |name: &str| std::env::var(name).map(|text| options::words(&text)).unwrap_or_default();
    let again = arguments.clone();
    let all = [flags("NVCC_PREPEND_FLAGS"), arguments, flags("NVCC_APPEND_FLAGS")].concat();
    let job = Job::new(all)?;
    match job.phase {
        Phase::Help => tool::print(&options::help())?,
        Phase::Version => tool::print(&Tool::Nvcc.version())?,
        Phase::Codes(kind) => tool::print(&NAMES.map(|number| format!("{kind}_{number}\n")).concat())?,
        Phase::Program => {
            return Err(
                "linking of programs is not supported: choose --ptx, -c or --lib, and link with the host's compiler; \
                        `nvcc --help` lists the options"
                    .to_owned(),
            );
        }
        _ if job.files.is_empty() => return Err("no files are given; `nvcc --help` lists the options".to_owned()),
        Phase::Text(ending) => texts(&job, ending, again)?,
        Phase::Dependencies => {
            for file in &job.files {
                let sources = job.sources(file)?;
                let target = job.depends_target.clone().unwrap_or_else(|| name(file, "o"));
                let rule = job.rule(&target, file, &sources);
                match job.depends_file.as_ref().or(job.output.as_ref()) {
                    Some(path) => tool::write(path, rule.as_bytes())?,
                    None => tool::print(&rule)?,
                }
            }
        }
        Phase::Object | Phase::Preprocess => {
            for file in &job.files {
                host::compile(&job, file)?;
                if job.depends {
                    job.write_rule(file, &job.output_of(file, "o")?)?;
                }
            }
        }
        Phase::DeviceLink => host::device_link(&job)?,
        Phase::Library => host::library(&job)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Compiles kernels to texts.
fn texts(job: &Job, ending: &str, arguments: Vec<String>) -> Result<(), String> {
    for file in &job.files {
        let output = job.output_of(file, ending)?;
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("ptx" | "cubin" | "fatbin") => ptxas::copy(file, &output)?,
            Some("cu") => compile_to_text(job, file, &output, &arguments)?,
            _ if job.language.as_deref() == Some("cu") => compile_to_text(job, file, &output, &arguments)?,
            _ => {
                return Err(format!(
                    "{}: kernels are in files ending in .cu; -x cu reads another as one",
                    file.display()
                ));
            }
        }
    }
    Ok(())
}

fn compile_to_text(job: &Job, file: &Path, output: &Path, arguments: &[String]) -> Result<(), String> {
    // Before anything is written: the process may be replaced.
    if !job.is_dry() {
        tool::available(Tool::Nvcc, arguments).map_err(|error| format!("kernels are compiled by HIPRTC: {error}"))?;
    }
    let targets = job.targets()?;
    let sources = job.sources(file)?;
    let copies = Temporary::new()?;
    sources.write_below(&copies.0)?;
    let mut options = job.common.clone();
    options.extend(job.device.iter().cloned());
    options.push(format!("--gpu-architecture=compute_{}", job.cuda_arch()));
    let beside = sources.source.parent().unwrap_or(Path::new("/")).to_owned();
    let folders: Vec<PathBuf> =
        job.folders().iter().map(|folder| source::absolute(folder)).collect::<Result<_, _>>()?;
    // The copies come first; what is not in them, such as a name that a macro makes, is found in the original folders.
    options.push(format!("-iquote{}", source::below(&copies.0, &beside).display()));
    options.push(format!("-iquote{}", beside.display()));
    options.extend(folders.iter().map(|folder| format!("-I{}", source::below(&copies.0, folder).display())));
    options.extend(folders.iter().map(|folder| format!("-I{}", folder.display())));
    for name in &job.before {
        options.extend(["-include".to_owned(), name.clone()]);
    }
    let mut bundle = BundleWriter::new();
    for target in &targets {
        job.say(&format!("{} for {target}: HIPRTC with {}", file.display(), options.join(" ")));
        if job.is_dry() {
            continue;
        }
        let code = compile(file, sources.text(), &options, target, &copies.0)?;
        bundle = bundle.add(target.clone(), code);
    }
    if job.is_dry() {
        return Ok(());
    }
    let names = targets.iter().map(Arch::to_string).collect::<Vec<_>>().join(", ");
    tool::write(output, text::encode(&bundle.to_bytes(), &format!("for {names}")).as_bytes())?;
    if job.depends {
        job.write_rule(file, output)?;
    }
    Ok(())
}

/// Compiles a source for one architecture. Messages are written to stderr.
fn compile(file: &Path, source: &str, options: &[String], arch: &Arch, copies: &Path) -> Result<Vec<u8>, String> {
    let path = file.display().to_string();
    let short = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let no_null = |text: &str| CString::new(text).map_err(|_| format!("{path}: a null byte in the source"));
    let failed = |error: result::NvrtcError| format!("{path}: HIPRTC: {error}");
    let program = result::create_program(&no_null(source)?, Some(&no_null(&short)?)).map_err(failed)?;
    let options: Vec<String> = options.iter().cloned().chain([format!("--gpu-architecture={arch}")]).collect();
    // SAFETY: the program is alive until the end.
    let (compiled, log) = unsafe { (result::compile_program(program, &options), result::get_program_log(program)) };
    let log = log.map_err(failed)?.iter().map(|byte| byte.to_ne_bytes()[0]).collect::<Vec<u8>>();
    let log = String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned();
    let _ = write!(std::io::stderr(), "{}", named(&log.replace(&copies.display().to_string(), ""), &short, &path));
    // SAFETY: the same.
    let code = compiled.and_then(|()| unsafe { result::get_ptx(program) });
    // SAFETY: it is not used again.
    let _ = unsafe { result::destroy_program(program) };
    let code = code.map_err(|error| format!("{path} does not compile for {arch}: {error}"))?;
    Ok(code.iter().map(|byte| byte.to_ne_bytes()[0]).collect())
}

/// Returns a log with the path of the source as the caller gave it: compilers name it without its folder, or in one of theirs.
fn named(log: &str, short: &str, path: &str) -> String {
    let mut named = String::new();
    for line in log.split_inclusive('\n') {
        let mut rest = line;
        while let Some(at) = rest.find(&format!("{short}:")) {
            let (before, after) = (&rest[..at], &rest[at + short.len()..]);
            let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
            let folder = &before[start..];
            let is_source = folder.is_empty() || folder.ends_with("/input/");
            named += if is_source { &before[..start] } else { before };
            named += if is_source { path } else { short };
            rest = after;
        }
        named += rest;
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_have_the_path_of_the_source() {
        let log =
            "In file included from /tmp/comgr-1/input/k.cu:1:\n/a/other/k.cu:1:2: error\nk.cu:3:1: note: k.cuh:4\n";
        let expected = "In file included from src/k.cu:1:\n/a/other/k.cu:1:2: error\nsrc/k.cu:3:1: note: k.cuh:4\n";
        assert_eq!(named(log, "k.cu", "src/k.cu"), expected);
    }
}
