//! Checks that the programs run.

use std::path::{Path, PathBuf};

use super::process::{Ended, How, ending};
use super::report::{Collector, Finding};
use super::subject::Subject;

/// A program and its expected output.
struct Script {
    name: &'static str,
    arguments: &'static [&'static str],
    says: &'static str,
    /// Whether it needs the driver, without which it may fail.
    asks_driver: bool,
    /// Whether AMD's wheels always contain it.
    in_wheels: bool,
}

const fn script(name: &'static str, arguments: &'static [&'static str], says: &'static str) -> Script {
    Script { name, arguments, says, asks_driver: false, in_wheels: true }
}

impl Script {
    const fn asking_the_driver(mut self) -> Self {
        self.asks_driver = true;
        self
    }

    const fn not_in_all_wheels(mut self) -> Self {
        self.in_wheels = false;
        self
    }
}

const SCRIPTS: &[Script] = &[
    script("amdclang", &["--help"], "clang LLVM compiler"),
    script("amdclang++", &["--help"], "clang LLVM compiler"),
    script("amdclang-cpp", &["--help"], "clang LLVM compiler"),
    script("amdclang-cl", &["-help"], "clang LLVM compiler"),
    script("amdflang", &["--help"], "LLVM compiler"),
    script("amdlld", &["-flavor", "ld.lld", "--help"], "USAGE:"),
    script("hipcc", &["--help"], "clang LLVM compiler"),
    script("hipconfig", &[], "HIP version"),
    script("hipify-clang", &["--help"], "USAGE:"),
    script("hipify-perl", &["--help"], "USAGE:"),
    script("offload-arch", &["--help"], "").not_in_all_wheels(),
    script("amd-smi", &[], "AMD-SMI").asking_the_driver(),
    script("rocm_agent_enumerator", &[], "").asking_the_driver(),
    script("rocminfo", &[], "").asking_the_driver(),
    script("rocm-smi", &[], "Management").asking_the_driver(),
];

pub(super) fn check(subject: &Subject, collector: &mut Collector<'_>) {
    let directories = directories(subject);
    let group = "programs";
    for script in SCRIPTS {
        let command = [&[script.name], script.arguments].concat().join(" ");
        collector.check(group, format!("runs: {command}"), || {
            match directories.iter().map(|directory| directory.join(script.name)).find(|path| path.exists()) {
                Some(program) => run(subject, script, &program),
                None if subject.is_wheels() && script.in_wheels => {
                    let places: Vec<_> = directories.iter().map(|d| d.display().to_string()).collect();
                    Finding::Fail(format!("it is not in {}; install rocm-sdk-core again", places.join(", ")))
                }
                None => Finding::Skipped("not installed".to_owned()),
            }
        });
    }
}

/// Returns the directories of the programs. For wheels, the environment's own comes first, where pip puts the launchers
/// of a package's programs.
fn directories(subject: &Subject) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    // PREFIX/lib/python3.12/site-packages
    if let Some(prefix) = subject.site_packages().and_then(|site| site.ancestors().nth(3)) {
        directories.push(prefix.join("bin"));
        return directories;
    }
    directories.push(subject.layout.bin());
    directories.push(subject.layout.llvm().join("bin"));
    directories
}

fn run(subject: &Subject, script: &Script, program: &Path) -> Finding {
    let ended = match subject.starter.run_program(program, script.arguments) {
        Ok(ended) => ended,
        Err(finding) => return finding,
    };
    match judge(script, &ended) {
        Ok(()) => Finding::Ok,
        Err(why) if script.asks_driver && !Path::new("/dev/kfd").exists() && exited(&ended) => {
            Finding::Skipped(format!("without the GPU driver it {why}"))
        }
        // A program locates its directory by its executable, which is the loader in this case.
        Err(why) if subject.starter.foreign().is_some() && has_loaded(&ended) => Finding::Skipped(format!(
            "started by way of the installation's own loader it {why}: it may not find its files that way"
        )),
        Err(why) => {
            let said = ended.last_words().map(|words| format!("; it said: {words}")).unwrap_or_default();
            Finding::Fail(format!("{} {why}{said}", program.display()))
        }
    }
}

/// Returns whether the program exited on its own, and not because it is missing or not executable.
fn exited(ended: &Ended) -> bool {
    let code = match &ended.how {
        How::Exited(status) => status.code(),
        How::TimedOut(_) => None,
    };
    has_loaded(ended) && !matches!(code, Some(126 | 127))
}

/// Returns whether the program exited on its own, not by a signal and not because a library is missing.
fn has_loaded(ended: &Ended) -> bool {
    let loaded = !ended.said.contains("error while loading shared libraries");
    loaded && matches!(&ended.how, How::Exited(status) if status.code().is_some())
}

fn judge(script: &Script, ended: &Ended) -> Result<(), String> {
    match &ended.how {
        How::TimedOut(limit) => Err(format!("gave no answer within {} s", limit.as_secs_f32())),
        How::Exited(status) if !status.success() => Err(ending(*status)),
        How::Exited(_) if !ended.said.contains(script.says) => Err(format!("did not say \"{}\"", script.says)),
        How::Exited(_) => Ok(()),
    }
}
