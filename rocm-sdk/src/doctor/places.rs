//! The places of the search, and their content.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::problem::Problems;
use crate::libraries;
use rocm_loader::LibrarySpec;
use rocm_loader::installs;
use rocm_loader::report::{Origin, Reason};
use rocm_loader::version::{Release, release_of_file};
use rocm_loader::{Installation, Search};

/// One place of the search, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The step of the search: `ROCM_PATH`, `/opt`...
    pub step: String,
    /// The path; characters that are not Unicode are replaced.
    pub path: String,
    /// Whether it exists.
    pub present: bool,
    /// Why it is not searched, if it is rejected.
    pub refused: Option<String>,
    /// The release that it states: `ROCm 7.2.4`.
    pub release: Option<String>,
    /// Number of ROCm's libraries in it.
    pub libraries: usize,
    /// Dangling links in it, with their targets.
    pub dangling: Vec<(String, String)>,
    #[serde(skip)]
    pub(crate) root: PathBuf,
    #[serde(skip)]
    named: bool,
    /// What to do about a rejection.
    #[serde(skip)]
    todo: Option<String>,
}

impl Place {
    pub(crate) fn all(search: &Search) -> Vec<Self> {
        let place = |step| match step {
            Ok(installation) => Self::of(&installation),
            Err(attempt) => {
                let attempt: rocm_loader::report::Attempt = attempt;
                let variable = match attempt.origin {
                    Origin::Variable(name) | Origin::Wheel(name) => name,
                    _ => installs::VARIABLE,
                };
                Self {
                    step: attempt.origin.to_string(),
                    root: PathBuf::from(&attempt.target),
                    path: attempt.target,
                    present: false,
                    refused: attempt.failure.as_ref().filter(|r| **r != Reason::NotThere).map(Reason::to_string),
                    release: None,
                    libraries: 0,
                    dangling: Vec::new(),
                    named: false,
                    todo: match attempt.failure {
                        Some(Reason::Unfinished { release }) => {
                            Some(format!("run `rocm-sdk install {release}` again, or `rm -r` the directory"))
                        }
                        // Reported with the libraries.
                        Some(Reason::Unreadable { .. }) => None,
                        _ => Some(format!("set {variable} to an absolute path, or `unset` it")),
                    },
                }
            }
        };
        search.steps().into_iter().map(place).collect()
    }

    fn of(installation: &Installation) -> Self {
        let mut place = Self {
            step: installation.origin.to_string(),
            path: installation.root.display().to_string(),
            root: installation.root.clone(),
            present: installation.root.is_dir(),
            refused: None,
            release: release(installation).as_ref().map(ToString::to_string),
            libraries: 0,
            dangling: Vec::new(),
            todo: None,
            named: matches!(installation.origin, Origin::Explicit | Origin::Variable(_)),
        };
        for spec in libraries::ALL {
            let files: Vec<PathBuf> = files_of(installation, spec).collect();
            place.libraries += usize::from(files.iter().any(|file| file.is_file()));
            for file in files {
                if let Some(target) = fs::read_link(&file).ok().filter(|_| !file.exists()) {
                    place.dangling.push((file.display().to_string(), target.display().to_string()));
                }
            }
        }
        place.dangling.dedup();
        place
    }

    pub(crate) fn judge(places: &[Self], problems: &mut Problems) {
        for place in places {
            if let (Some(refused), Some(todo)) = (&place.refused, &place.todo) {
                problems.warning(format!("{} [{}]: {refused}", place.path, place.step), todo);
            }
            // A variable that names nothing is reported with the variables.
            if place.named && place.libraries == 0 && (place.present || place.step == Origin::Explicit.to_string()) {
                let what = if place.present { "has none of ROCm's libraries" } else { "does not exist" };
                problems.warning(
                    format!("{} [{}] {what}", place.path, place.step),
                    "name the directory that contains ROCm's `lib`; if this is the one, its installation is incomplete: install it again",
                );
            }
            for (link, target) in &place.dangling {
                problems.error(
                    format!("{link} leads to {target}, which does not exist"),
                    "incompletely installed or removed: reinstall its package, or remove the link",
                );
            }
        }
    }
}

/// Returns the possible files of a library in an installation, for each of its names.
fn files_of<'a>(installation: &'a Installation, spec: &'static LibrarySpec) -> impl Iterator<Item = PathBuf> + 'a {
    let own = spec.directories().iter().map(|dir| installation.root.join(dir));
    own.chain(installation.library_dirs()).flat_map(|dir| spec.file_names().map(move |name| dir.join(name)))
}

/// Returns the release that it states, otherwise the one in the file name of its HIP runtime.
fn release(installation: &Installation) -> Option<Release> {
    installation.release().or_else(|| {
        let hip = files_of(installation, &libraries::AMDHIP64).find(|file| file.is_file())?;
        release_of_file(&hip, true)
    })
}

/// Returns the place that contains a file.
pub(crate) fn place_of<'a>(places: &'a [Place], file: &Path) -> Option<&'a Place> {
    places.iter().filter(|place| file.starts_with(&place.root)).max_by_key(|place| place.root.as_os_str().len())
}
