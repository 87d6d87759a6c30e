//! Checks that every shared library loads, and which libraries lack dependencies.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::files::{self, Files};
use super::process::Starter;
use super::report::{Collector, Finding};
use super::subject::{Package, Subject};
use super::task::Task;
use crate::doctor::loader::{Closure, Loader};
use rocm_loader::elf;
use rocm_loader::report::Reason;

/// Libraries that cannot be loaded alone, by a part of their path.
const NOT_ALONE: &[(&str, &str)] = &[
    ("clang_rt", "a run-time library of the compiler, for programs built with its sanitizers"),
    ("libLLVMOffload", "for LLVM's own tools"),
    ("lib/roctracer/", "a tool that is loaded ahead of a program"),
    ("share/roctracer/", "a tool that is loaded ahead of a program"),
    ("lib/rocprofiler-sdk/", "a tool that is loaded ahead of a program"),
    ("libexec/rocprofiler-sdk/", "a tool that is loaded ahead of a program"),
    ("libpyrocpd", "a Python module"),
    ("libpyroctx", "a Python module"),
    (".abi3.so", "a Python module"),
    (".cpython-", "a Python module"),
    ("libtest_linking_lib", "part of a test"),
    ("opencl", "for the system's OpenCL loader"),
];

/// Dependencies that only users of the library need.
const OPTIONAL: &[(&str, &str)] = &[("libhipsolver_fortran", "libgfortran.so")];

/// Checks that processes can be started at all.
pub(super) fn check_starting(subject: &Subject, collector: &mut Collector<'_>) -> bool {
    collector.check("loader", "a process can be started for each library", || {
        match subject.starter.run(&Task::Nothing, &[]) {
            Finding::Fail(why) => {
                let how = match subject.starter.foreign() {
                    Some(directory) => format!("by way of the loader in {}", directory.display()),
                    None => "as usual".to_owned(),
                };
                Finding::Fail(format!("this program, started {how}: {why}; no library was tried"))
            }
            other => other,
        }
    })
}

/// A library to check.
struct Job<'a> {
    group: &'a str,
    name: String,
    path: PathBuf,
    /// The finding, if it is known without loading the library.
    known: Option<Finding>,
}

pub(super) fn check(subject: &Subject, collector: &mut Collector<'_>) {
    for package in &subject.packages {
        let found = files::find(subject, package);
        check_files(package, &found, collector);
        let jobs: Vec<Job<'_>> = found
            .libraries
            .iter()
            .map(|path| Job {
                group: &package.name,
                name: relative(package, path),
                path: path.clone(),
                known: judge_file(path, &relative(package, path), &subject.loader),
            })
            .collect();
        run(jobs, subject, collector);
    }
}

fn relative(package: &Package, path: &Path) -> String {
    path.strip_prefix(&package.root).unwrap_or(path).display().to_string()
}

fn check_files(package: &Package, found: &Files, collector: &mut Collector<'_>) {
    let group = package.name.as_str();
    collector.check(group, "has shared libraries", || match found.libraries.is_empty() {
        false => Finding::Ok,
        true => Finding::Fail(format!("there is none in {}: install the package again", package.root.display())),
    });
    for (path, error) in &found.unreadable {
        let todo = match error.kind() {
            std::io::ErrorKind::PermissionDenied => "`chmod a+rX` lets everybody read it",
            _ => "install the package again that has it",
        };
        let why = format!("{}: {error}; {todo}", path.display());
        collector.add(group, format!("can be read: {}", relative(package, path)), Finding::Fail(why), 0.0);
    }
    for path in &found.dangling {
        let target = std::fs::read_link(path).unwrap_or_default();
        let why = format!("the link {} leads to {}, which does not exist", path.display(), target.display());
        // The devel tree has links to wheels that need not be installed.
        let into_other = path.parent().is_some_and(|above| !stays_inside(&package.root, above, &target));
        let finding = match group.starts_with("devel") && into_other {
            true => Finding::Skipped(format!("{why}: it belongs to a wheel that is not installed")),
            false => Finding::Fail(format!("{why}; install the package again that has it")),
        };
        collector.add(group, format!("exists: {}", relative(package, path)), finding, 0.0);
    }
}

/// Decides by the text of the path, since the link's target does not exist.
fn stays_inside(root: &Path, above: &Path, target: &Path) -> bool {
    let depth = above.strip_prefix(root).map_or(0, |below| below.components().count());
    let ups = target.components().take_while(|c| *c == std::path::Component::ParentDir).count();
    !target.is_absolute() && ups <= depth
}

/// Returns the finding if the file alone determines it.
fn judge_file(path: &Path, name: &str, loader: &Loader) -> Option<Finding> {
    if let Some((_, why)) = NOT_ALONE.iter().find(|(part, _)| name.contains(part)) {
        return Some(Finding::Skipped((*why).to_owned()));
    }
    for (library, needs) in OPTIONAL.iter().filter(|(library, _)| name.contains(library)) {
        if loader.closure(path).missing.iter().any(|missing| missing.name.starts_with(needs)) {
            return Some(Finding::Skipped(format!("{library} needs {needs}, which few have")));
        }
    }
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return Some(Finding::Fail(format!("{}: {error}", path.display()))),
    };
    match elf::inspect(&mut file) {
        Ok(_) => None,
        Err(Reason::WrongArchitecture { found, .. }) if found.starts_with("AMD GPU") => {
            Some(Finding::Skipped("it is for the GPU".to_owned()))
        }
        Err(Reason::NotElf { .. }) if is_linker_script(path) => {
            Some(Finding::Skipped("a text for the linker, which programs do not load".to_owned()))
        }
        Err(reason) => Some(Finding::Fail(format!("{}: {reason}", path.display()))),
    }
}

fn is_linker_script(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    let text = String::from_utf8(start).unwrap_or_default();
    read.is_ok() && ["INPUT", "GROUP"].iter().any(|word| text.contains(word) && text.contains('('))
}

/// Loads each library in a separate process, as many at a time as there are processors, and reports them in order.
fn run(jobs: Vec<Job<'_>>, subject: &Subject, collector: &mut Collector<'_>) {
    let (sender, receiver) = mpsc::channel();
    let next = AtomicUsize::new(0);
    let unknown: Vec<(usize, &Path)> = jobs
        .iter()
        .enumerate()
        .filter(|(_, job)| job.known.is_none())
        .map(|(n, job)| (n, job.path.as_path()))
        .collect();
    let starter: &Starter = &subject.starter;
    let workers = thread::available_parallelism().map_or(1, usize::from).min(unknown.len());
    let mut known: BTreeMap<usize, (Finding, f64)> = BTreeMap::new();
    let sender = Mutex::new(sender);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((n, path)) = unknown.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    let finding = starter.run(&Task::Open((*path).to_owned()), &[]);
                    let answer = (*n, finding, begun.elapsed().as_secs_f64());
                    let sent = sender.lock().map(|sender| sender.send(answer));
                    if sent.is_err() {
                        return;
                    }
                }
            });
        }
        for (n, job) in jobs.iter().enumerate() {
            let loads = format!("loads: {}", job.name);
            if let Some(finding) = &job.known {
                let finding = match finding {
                    Finding::Skipped(why) => Finding::Skipped(why.clone()),
                    Finding::Fail(why) => Finding::Fail(why.clone()),
                    Finding::Ok => Finding::Ok,
                };
                collector.add(job.group, loads, finding, 0.0);
                continue;
            }
            while !known.contains_key(&n) {
                // Every worker sends an answer for each job that it takes.
                let Ok((answered, finding, seconds)) = receiver.recv() else { return };
                known.insert(answered, (finding, seconds));
            }
            if let Some((finding, seconds)) = known.remove(&n) {
                collector.add(job.group, loads, finding, seconds);
            }
            let needs = format!("has its dependencies: {}", job.name);
            collector.check(job.group, needs, || judge_closure(&subject.loader.closure(&job.path)));
        }
    });
}

/// Reports the missing and outdated dependencies, and the libraries that need them.
fn judge_closure(closure: &Closure) -> Finding {
    let missing = closure
        .missing
        .iter()
        .map(|missing| format!("{} is not found; {} needs it", missing.name, missing.needed_by.display()));
    let outdated = closure.outdated.iter().map(|old| {
        let newest = old.newest.as_deref().map(|v| format!(", at most {v}")).unwrap_or_default();
        let (path, needed_by) = (old.path.display(), old.needed_by.display());
        format!("{path} has no {}{newest}; {needed_by} needs it", old.version)
    });
    let all: Vec<_> = missing.chain(outdated).collect();
    if all.is_empty() { Finding::Ok } else { Finding::Fail(all.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_tree_are_told_from_those_inside() {
        let (root, lib) = (Path::new("/s/_rocm_sdk_devel"), Path::new("/s/_rocm_sdk_devel/lib"));
        assert!(stays_inside(root, lib, Path::new("libx.so.1")));
        assert!(stays_inside(root, lib, Path::new("../share/libx.so.1")));
        assert!(!stays_inside(root, lib, Path::new("../../_rocm_sdk_libraries/lib/libx.so.1")));
        assert!(!stays_inside(root, lib, Path::new("/usr/lib/libx.so.1")));
    }
}
