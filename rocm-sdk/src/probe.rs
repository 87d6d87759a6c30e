//! The result of a search for one library, as plain data.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use rocm_loader::LibrarySpec;
use rocm_loader::Search;
use rocm_loader::report::{Attempt, Origin, Reason};

/// The result of a search for one library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Probe {
    /// Its short name.
    pub library: String,
    /// The library, if it was opened.
    pub found: Option<Found>,
    /// The library, if only a program that is started by a command can open it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<Through>,
    /// A short reason why it was not opened.
    pub reason: Option<String>,
    /// Each step of the search.
    pub steps: Vec<Step>,
}

/// A library that was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Found {
    /// The file, if the loader reports it; characters that are not Unicode are replaced.
    pub path: Option<String>,
    /// Its soname.
    pub soname: Option<String>,
    /// Its release: `ROCm 7.2.4`, or `HIP 7.2.53211` if only HIP's own version is known.
    pub release: Option<String>,
    /// The same as a number alone.
    pub version: Option<String>,
    /// The step of the search that found it: `ROCM_PATH`, `/opt`, `system loader`...
    pub step: String,
    /// Whether the soname is of a release that this crate knows.
    pub known: bool,
}

/// A library of `rocm-sdk install` that needs a newer C library than this machine has. Its installation has one, and a
/// program that is started by [`run`](Self::run) uses that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Through {
    /// The library.
    pub library: Found,
    /// The command: `rocm-sdk run 7.2 -- PROGRAM`.
    pub run: String,
    /// The C or C++ library that it needs: `glibc 2.38`.
    pub needed: String,
    /// The version that this machine has, if it is known: `2.36`.
    pub available: Option<String>,
}

/// One step of the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Step {
    /// Why it was tried: `ROCM_PATH`, `/opt`...
    pub step: String,
    /// The path, soname or variable value that was tried.
    pub target: String,
    /// Whether that was opened.
    pub opened: bool,
    /// The kind of fault, if something was found that cannot be used.
    pub fault: Option<Fault>,
    /// The reason why not, or a remark.
    pub remark: Option<String>,
}

/// A fault of a library that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fault {
    /// It is not a library, or is a directory.
    NotALibrary,
    /// It is built for another processor.
    WrongArchitecture,
    /// Its release is too old.
    TooOld,
    /// This user may not read it.
    Unreadable,
    /// A dependency was not found.
    DependencyMissing,
    /// It is built for a newer system than this one.
    SystemTooOld,
    /// It would mix two installations in one process.
    OtherInstallation,
    /// The loader rejects it.
    Refused,
    /// Opening it terminated the process, or took too long.
    Crashed,
}

impl Probe {
    /// Searches for the library and opens it in this process, where it stays open. Dependencies that are open already
    /// are not searched for: use one process per library to find out what happens in a new program.
    pub fn run(search: &Search, spec: &'static LibrarySpec) -> Self {
        let (found, report) = match search.open(spec) {
            Ok(library) => {
                let found = Found {
                    path: library.path().map(|path| path.display().to_string()),
                    soname: library.soname().map(str::to_owned),
                    release: library.release().map(ToString::to_string),
                    version: library.release().map(|release| release.version.to_string()),
                    step: library.origin().to_string(),
                    known: library.is_known_release(),
                };
                (Some(found), Some(library.report().clone()))
            }
            Err(error) => (None, error.report().cloned()),
        };
        let attempts = report.as_ref().map_or(&[][..], |report| report.attempts());
        let fault = report.as_ref().and_then(|report| report.first_fault());
        let reason = match fault {
            _ if found.is_some() => None,
            Some((attempt, reason)) => Some(format!("{}: {reason}", attempt.target)),
            None => Some(match attempts.iter().find(|a| is_refusal(a)) {
                Some(refused) => format!("not found; {refused}"),
                None => "not found".to_owned(),
            }),
        };
        let through = if found.is_none() { Through::of(search, spec, fault) } else { None };
        let steps = attempts.iter().map(Step::from).collect();
        Self { library: spec.name().to_owned(), found, through, reason, steps }
    }

    /// Returns the probe of a library that could not be opened: opening it ended the process, or took too long. Its
    /// location comes from looking at files alone.
    pub fn crashed(search: &Search, spec: &'static LibrarySpec, reason: &str) -> Self {
        let found = search.find(spec).ok();
        let target = match &found {
            Some(found) => found.path().display().to_string(),
            None => spec.unversioned().to_owned(),
        };
        let remark = Some(reason.to_owned());
        let reason = format!("{target}: {reason}");
        let step = Step {
            step: found.as_ref().map_or_else(|| "opening".to_owned(), |found| found.origin().to_string()),
            target,
            opened: false,
            fault: Some(Fault::Crashed),
            remark,
        };
        let mut steps: Vec<Step> = found.iter().flat_map(|found| found.report().attempts()).map(Step::from).collect();
        steps.retain(|step| !step.opened);
        steps.push(step);
        Self { library: spec.name().to_owned(), found: None, through: None, reason: Some(reason), steps }
    }

    /// Returns the library that programs can open: as usual, or if they are started by the command of [`Through`].
    pub fn usable(&self) -> Option<&Found> {
        self.found.as_ref().or_else(|| self.through.as_ref().map(|through| &through.library))
    }

    /// Returns the steps that found something unusable, in the order of the search.
    pub fn faults(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.fault.is_some())
    }
}

impl Through {
    fn of(search: &Search, spec: &'static LibrarySpec, fault: Option<(&Attempt, &Reason)>) -> Option<Self> {
        let (Attempt { origin: Origin::Installed, target, .. }, reason) = fault? else { return None };
        let Reason::SystemTooOld { needed, found: available, run: Some(run) } = reason else { return None };
        let library = search.find(spec).ok().filter(|library| library.path() == Path::new(target))?;
        let release = library.release();
        let found = Found {
            path: Some(target.clone()),
            soname: library.soname().map(str::to_owned),
            release: release.as_ref().map(ToString::to_string),
            version: release.map(|release| release.version.to_string()),
            step: library.origin().to_string(),
            known: library.is_known_release(),
        };
        Some(Self { library: found, run: run.clone(), needed: needed.clone(), available: available.clone() })
    }
}

fn is_refusal(attempt: &Attempt) -> bool {
    matches!(attempt.failure, Some(Reason::RelativePath | Reason::SetUid))
}

impl Fault {
    fn of(reason: &Reason) -> Option<Self> {
        match reason {
            Reason::NotAFile | Reason::NotADirectory | Reason::NotElf { .. } => Some(Self::NotALibrary),
            Reason::WrongArchitecture { .. } => Some(Self::WrongArchitecture),
            Reason::WrongMajor { .. } => Some(Self::TooOld),
            Reason::Unreadable { .. } => Some(Self::Unreadable),
            Reason::DependencyMissing { .. } => Some(Self::DependencyMissing),
            Reason::SystemTooOld { .. } => Some(Self::SystemTooOld),
            Reason::OtherInstallation { .. } => Some(Self::OtherInstallation),
            Reason::Loader { .. } => Some(Self::Refused),
            Reason::NotThere
            | Reason::NotAnInstallation
            | Reason::Unfinished { .. }
            | Reason::RelativePath
            | Reason::SetUid => None,
            // A reason added by a newer version of the loader crate.
            _ => Some(Self::Refused),
        }
    }
}

impl From<&Attempt> for Step {
    fn from(attempt: &Attempt) -> Self {
        Self {
            step: attempt.origin.to_string(),
            target: attempt.target.clone(),
            opened: attempt.failure.is_none(),
            fault: attempt.failure.as_ref().and_then(Fault::of),
            remark: attempt
                .failure
                .as_ref()
                .map(|reason| remark(attempt.origin, reason))
                .or_else(|| attempt.note.clone()),
        }
    }
}

/// Returns the reason as text. The command that starts programs on an installation is not repeated for each library:
/// [`Through`] has it.
fn remark(origin: Origin, reason: &Reason) -> String {
    match reason {
        Reason::SystemTooOld { needed, found, run: Some(_) } if origin == Origin::Installed => {
            Reason::SystemTooOld { needed: needed.clone(), found: found.clone(), run: None }.to_string()
        }
        reason => reason.to_string(),
    }
}

/// Returns how programs use the libraries that need a newer C library than this machine has, if there are any.
pub fn how_to_run<'a>(probes: impl IntoIterator<Item = &'a Probe>) -> Option<String> {
    let all: Vec<&Through> = probes.into_iter().filter_map(|probe| probe.through.as_ref()).collect();
    let numbers = |needed: &str| -> Vec<u32> {
        needed.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    let newest = all.iter().max_by_key(|through| numbers(&through.needed))?;
    let needed = match all.iter().any(|through| through.needed != newest.needed) {
        true => format!("up to {}", newest.needed),
        false => newest.needed.clone(),
    };
    let available = newest.available.as_ref().map(|version| format!(", not {version}")).unwrap_or_default();
    let commands: BTreeSet<String> = all.iter().map(|through| format!("`{}`", through.run)).collect();
    let commands: Vec<String> = commands.into_iter().collect();
    Some(format!(
        "{} of these need a newer C library than this machine has ({needed}{available}). Their installation has it: start programs by {}",
        all.len(),
        commands.join(" or ")
    ))
}

/// Returns a line for each library: short name, soname, release, step of the search and file, or why it was not found.
pub fn table<'a>(probes: impl IntoIterator<Item = &'a Probe>) -> String {
    let rows: Vec<[&str; 5]> = probes.into_iter().map(Probe::row).collect();
    let found = |row: &&[&str; 5]| !row[1].is_empty();
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| column == 0 || found(row)).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths = [0, 1, 2, 3].map(width);
    let mut text = String::new();
    for row in &rows {
        let columns = if found(&row) { 4 } else { 1 };
        for (cell, width) in row.iter().zip(widths).take(columns) {
            text += &format!("{cell:width$}  ");
        }
        text += row[4];
        text.push('\n');
    }
    text
}

impl Probe {
    /// Only the first and the last if there is no library.
    fn row(&self) -> [&str; 5] {
        let Some(found) = self.usable() else {
            return [&self.library, "", "", "", self.reason.as_deref().unwrap_or("not found")];
        };
        let soname = match found.soname.as_deref() {
            Some(soname) if !soname.is_empty() => soname,
            _ => "no soname",
        };
        let release = match (found.release.as_deref(), found.known) {
            (Some(release), _) => release,
            (None, true) => "release unknown",
            (None, false) => "release and soname unknown",
        };
        [&self.library, soname, release, &found.step, found.path.as_deref().unwrap_or("path unknown")]
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]: ", self.target, self.step)?;
        match (self.opened, &self.remark) {
            (true, None) => f.write_str("opened"),
            (true, Some(remark)) => write!(f, "opened {remark}"),
            (false, remark) => f.write_str(remark.as_deref().unwrap_or("not opened")),
        }
    }
}
