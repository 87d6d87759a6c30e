//! Checks that `initialize_process` works as documented, each behaviour in a separate process.

use semver::VersionReq;

use super::report::{Collector, Finding};
use super::subject::Subject;
use super::task::{PRELOADED, Task, in_short};
use crate::LoadError;
use crate::error::Error;
use crate::initialize::{Initialized, initialize_process};
use crate::libraries;
use rocm_loader::version::Release;

const GROUP: &str = "initialize_process";
const HIP: &str = "amdhip64";
const HIPRTC: &str = "hiprtc";

struct Case {
    name: &'static str,
    /// The variable's value.
    variable: Option<&'static str>,
    needs: &'static [&'static str],
    run: fn() -> Result<(), String>,
}

const CASES: &[Case] = &[
    Case { name: "preloads libraries by name", variable: None, needs: &[HIP], run: by_name },
    Case {
        name: "preloads the libraries that the variable names",
        variable: Some(HIP),
        needs: &[HIP],
        run: by_variable,
    },
    Case {
        name: "preloads the libraries that the variable names, with commas",
        variable: Some(" ,amdhip64, ,hiprtc,"),
        needs: &[HIP, HIPRTC],
        run: both_by_variable,
    },
    Case {
        name: "preloads the libraries that the variable names, with semicolons",
        variable: Some(" ;amdhip64; ;hiprtc;"),
        needs: &[HIP, HIPRTC],
        run: both_by_variable,
    },
    Case { name: "ignores the variable if requested", variable: Some(HIP), needs: &[], run: variable_unheeded },
    Case { name: "says which variable is wrong", variable: Some("no-such-library"), needs: &[], run: wrong_variable },
    Case { name: "accepts the installed release", variable: None, needs: &[], run: same_release },
    Case { name: "accepts every release for *", variable: None, needs: &[], run: any_release },
    Case { name: "accepts a release that meets a requirement", variable: None, needs: &[], run: required_release },
    Case { name: "reports another release", variable: None, needs: &[], run: other_release },
    Case { name: "fails for another release if requested", variable: None, needs: &[], run: other_release_fails },
];

pub(super) fn check(subject: &Subject, collector: &mut Collector<'_>) {
    let search = subject.layout.search();
    let absent = |names: &[&'static str]| names.iter().find(|name| search.find(**name).is_err()).copied();
    for case in CASES {
        let variable = case.variable.map(|value| (PRELOADED, value));
        collector.check(GROUP, case.name, || match absent(case.needs) {
            // An installation without the runtime is useless, but it can lack the run-time compiler.
            Some(name) if name != HIP => Finding::Skipped(format!("{name} is missing")),
            _ => subject.starter.run(&Task::Initialize(case.name.to_owned()), variable.as_slice()),
        });
    }
    for spec in libraries::ALL {
        let name = format!("preloads {}", spec.name());
        collector.check("preload", name, || match search.find(spec.name()) {
            Ok(_) => subject.starter.run(&Task::Preload(spec.name().to_owned()), &[]),
            Err(LoadError::NotFound { .. }) if !spec.is_on_this_platform() => {
                Finding::Skipped("not for this platform".to_owned())
            }
            Err(LoadError::NotFound { .. }) => Finding::Skipped("not installed".to_owned()),
            Err(error) => Finding::Fail(in_short(&error)),
        });
    }
}

/// Runs the check in the process that was started for it.
pub(super) fn run(name: &str) -> Result<(), String> {
    let case = CASES.iter().find(|case| case.name == name).ok_or("no such check")?;
    (case.run)()
}

fn by_name() -> Result<(), String> {
    has(&done(initialize_process().preload([HIP]).run())?, &[HIP])
}

fn by_variable() -> Result<(), String> {
    has(&done(initialize_process().run())?, &[HIP])
}

fn both_by_variable() -> Result<(), String> {
    has(&done(initialize_process().run())?, &[HIP, HIPRTC])
}

fn variable_unheeded() -> Result<(), String> {
    has(&done(initialize_process().env_override(false).run())?, &[])
}

fn wrong_variable() -> Result<(), String> {
    match initialize_process().run() {
        Err(error @ Error::PreloadVariable { .. }) if error.to_string().contains(PRELOADED) => Ok(()),
        other => Err(unexpected(&other, "an error that names the variable")),
    }
}

fn same_release() -> Result<(), String> {
    let release = release()?;
    content(initialize_process().check_version(release.text).fail_on_version_mismatch(true).run())
}

fn any_release() -> Result<(), String> {
    release()?;
    content(initialize_process().check_version("*").fail_on_version_mismatch(true).run())
}

fn required_release() -> Result<(), String> {
    let version = release()?.in_rocms_count();
    let requirement = format!(">={}.{}, <{}", version.major, version.minor, version.major + 1);
    let requirement = VersionReq::parse(&requirement).map_err(|e| e.to_string())?;
    content(initialize_process().check_version(requirement).fail_on_version_mismatch(true).run())
}

fn other_release() -> Result<(), String> {
    match done(initialize_process().check_version("badversion").run())?.mismatch {
        Some(mismatch) if mismatch.to_string().contains("badversion") => Ok(()),
        other => Err(format!("expected a mismatch with badversion, got {other:?}")),
    }
}

fn other_release_fails() -> Result<(), String> {
    match initialize_process().check_version("badversion").fail_on_version_mismatch(true).run() {
        Err(error @ Error::VersionMismatch { .. }) if error.to_string().contains("badversion") => Ok(()),
        other => Err(unexpected(&other, "an error that names badversion")),
    }
}

fn release() -> Result<Release, String> {
    crate::layout::version().map_err(|error| format!("the release is unknown: {error}"))
}

fn done(result: Result<Initialized, Error>) -> Result<Initialized, String> {
    result.map_err(|error| match &error {
        Error::Load(error) => in_short(error),
        other => other.to_string(),
    })
}

fn content(result: Result<Initialized, Error>) -> Result<(), String> {
    match done(result)?.mismatch {
        None => Ok(()),
        Some(mismatch) => Err(mismatch.to_string()),
    }
}

fn has(done: &Initialized, wanted: &[&str]) -> Result<(), String> {
    let names: Vec<_> = done.preloaded.iter().map(|library| library.spec().name()).collect();
    if names == wanted { Ok(()) } else { Err(format!("{wanted:?} was to be preloaded; {names:?} was")) }
}

fn unexpected(result: &Result<Initialized, Error>, wanted: &str) -> String {
    match result {
        Ok(_) => format!("{wanted} was to come, and there was none"),
        Err(error) => format!("{wanted} was to come, not: {error}"),
    }
}
