//! Links the files of `rocm-sdk-device-*` wheels, kernels for one GPU each, into the devel tree, as those wheels list
//! them.

use std::fs;
use std::path::{Path, PathBuf};

use super::Skipped;
use super::error::Error;
use super::lock::Lock;
use super::names::{components, is_sibling};
use super::record::Record;
use super::unpack::{hard_link, inside_sibling, symlink};
use super::wheel::{self, Wheel};
use super::{Progress, Step};

/// The file that TheRock's Python locks too.
const LOCK: &str = ".devel_reconcile.lock";

/// A link that a device wheel requests.
struct Plan {
    record: PathBuf,
    links: Vec<Link>,
}

struct Link {
    /// The link's path in the devel tree.
    place: PathBuf,
    /// The target as the wheel writes it, relative to the link.
    target: String,
    /// The wheel's own file.
    source: PathBuf,
    /// The link's row in RECORD.
    row: String,
}

impl Link {
    fn is_made(&self) -> bool {
        match fs::symlink_metadata(&self.place) {
            Ok(found) if found.is_file() => same_file(&self.place, &self.source),
            _ => false,
        }
    }
}

/// Links the files that are not linked yet, and returns their number. If there are none, it is cheap and takes no lock.
pub(super) fn link(
    site_packages: &Path,
    root: &Path,
    version: Option<&str>,
    skipped: &mut Vec<Skipped>,
    progress: &mut dyn FnMut(Progress),
) -> Result<usize, Error> {
    let mut plans = Vec::new();
    for wheel in wheel::installed(site_packages) {
        if wheel.name != "rocm-sdk-device" && !wheel.name.starts_with("rocm-sdk-device-") {
            continue;
        }
        match version {
            Some(version) if without_post(version) != without_post(&wheel.version) => {
                let why = format!("it is {}, the devel tree {version}: install the same version", wheel.version);
                skipped.push(Skipped { what: wheel.name, why });
            }
            _ => plans.extend(plan(site_packages, root, &wheel, skipped)?),
        }
    }
    let mut done = true;
    for plan in &plans {
        let recorded = Record::read(&plan.record)?.has_all(plan.links.iter().map(|l| l.row.as_str()));
        done &= recorded && plan.links.iter().all(Link::is_made);
    }
    if done {
        return Ok(0);
    }
    let waiting = || progress(Progress { step: Step::Waiting, done: 0, total: 0 });
    let _lock = Lock::take(&root.join(LOCK), true, waiting)?;
    let mut made = 0;
    let total = plans.iter().map(|plan| plan.links.len() as u64).sum();
    for plan in &plans {
        let mut record = Record::read(&plan.record)?;
        plan.links.iter().for_each(|link| record.add(&link.row));
        // Recorded before the links are made: an unrecorded link would outlive the wheel.
        record.write()?;
        for link in plan.links.iter().filter(|link| !link.is_made()) {
            make(root, link)?;
            made += 1;
            progress(Progress { step: Step::DeviceFiles, done: made as u64, total });
        }
    }
    Ok(made)
}

fn plan(site_packages: &Path, root: &Path, wheel: &Wheel, skipped: &mut Vec<Skipped>) -> Result<Option<Plan>, Error> {
    let Some(record) = wheel.record() else {
        let why = "it has no RECORD to which its links could be added".to_owned();
        skipped.push(Skipped { what: wheel.name.clone(), why });
        return Ok(None);
    };
    let lists: Vec<String> = {
        let record = Record::read(&record)?;
        let mut lists: Vec<_> = record.names().filter(|name| is_list(name)).map(str::to_owned).collect();
        lists.sort();
        lists
    };
    let mut links = Vec::new();
    for list in lists {
        let list = site_packages.join(list);
        if !list.is_file() {
            continue;
        }
        for (relative, target) in read_list(&list)? {
            let refused = |why: String| Error::refused(&list, format!("{relative} -> {target}").as_bytes(), why);
            let below = components(relative.as_bytes()).map_err(refused)?;
            let sibling = sibling_of(&below, &target).map_err(refused)?;
            let package = root.file_name().unwrap_or_default().to_string_lossy();
            match inside_sibling(site_packages, &sibling).map_err(refused)? {
                Some(source) if source.is_file() => links.push(Link {
                    place: root.join(below.join("/")),
                    row: format!("{package}/{}", below.join("/")),
                    target,
                    source,
                }),
                _ => skipped.push(Skipped {
                    what: format!("{}: {relative}", wheel.name),
                    why: format!("{sibling} is missing: reinstall the wheel"),
                }),
            }
        }
    }
    Ok((!links.is_empty()).then_some(Plan { record, links }))
}

/// Returns whether the name is that of a list: `PACKAGE/.devel_links/gfx942.json`.
fn is_list(name: &str) -> bool {
    let parts: Vec<_> = name.split('/').collect();
    matches!(parts.as_slice(), [package, ".devel_links", file] if is_sibling(package) && file.ends_with(".json"))
}

fn read_list(list: &Path) -> Result<Vec<(String, String)>, Error> {
    let damaged = |why: String| Error::Damaged { archive: list.to_owned(), why };
    let bytes = fs::read(list).map_err(Error::io("read", list))?;
    let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|e| damaged(format!("no JSON: {e}")))?;
    let links = match value.get("links") {
        None => return Ok(Vec::new()),
        Some(links) => links.as_array().ok_or_else(|| damaged("\"links\" is not a list".to_owned()))?,
    };
    let texts = links.iter().map(|link| {
        let text = |key: &str| link.get(key)?.as_str().map(str::to_owned);
        text("relpath").zip(text("target"))
    });
    texts.collect::<Option<_>>().ok_or_else(|| damaged("a link lacks \"relpath\" or \"target\"".to_owned()))
}

/// Returns the path below site-packages of `target`, which is relative to the file `place` of the devel tree:
/// `../../_rocm_sdk_libraries/lib/x`.
fn sibling_of(place: &[&str], target: &str) -> Result<String, String> {
    let up = "../".repeat(place.len());
    let sibling = target.strip_prefix(&up).ok_or("the target is not in a package next to the devel tree")?;
    let parts = components(sibling.as_bytes())?;
    if !is_sibling(parts[0]) {
        return Err(format!("the target is in {}, which is none of ROCm's packages", parts[0]));
    }
    Ok(parts.join("/"))
}

fn make(root: &Path, link: &Link) -> Result<(), Error> {
    let place = &link.place;
    let above = place.parent().unwrap_or(root);
    check_inside(root, above, link)?;
    fs::create_dir_all(above).map_err(Error::io("create", above))?;
    let new = above.join(".rocm_sdk_devel.link");
    let _ = fs::remove_file(&new);
    if !hard_link(&link.source, &new)? {
        symlink(&link.target, &new, false).map_err(Error::io("link", place))?;
    }
    fs::rename(&new, place).map_err(|e| {
        let _ = fs::remove_file(&new);
        Error::io("link", place)(e)
    })
}

/// Checks that the existing part of the directory is in the tree, and not elsewhere through a link.
fn check_inside(root: &Path, directory: &Path, link: &Link) -> Result<(), Error> {
    let existing = directory.ancestors().find(|d| fs::symlink_metadata(d).is_ok()).unwrap_or(root);
    match (root.canonicalize(), existing.canonicalize()) {
        (Ok(root), Ok(existing)) if existing.starts_with(&root) => Ok(()),
        _ => Err(Error::refused(root, link.row.as_bytes(), "it leads out of the devel tree by a link there")),
    }
}

#[cfg(unix)]
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// This platform does not identify hard links. A copy has the same size and time only if made so deliberately.
#[cfg(not(unix))]
fn same_file(a: &Path, b: &Path) -> bool {
    let what = |path: &Path| fs::metadata(path).and_then(|m| Ok((m.len(), m.modified()?))).ok();
    what(a).is_some() && what(a) == what(b)
}

/// Returns the version without `.post`: `7.10.0.post3` is equivalent to `7.10.0`.
fn without_post(version: &str) -> String {
    match version.split_once(".post") {
        Some((before, after)) if after.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        _ => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn post_releases_do_not_count() {
        for (version, plain) in [
            ("7.10.0", "7.10.0"),
            ("7.10.0.post3", "7.10.0"),
            ("7.10.0.post12.dev1", "7.10.0.dev1"),
            ("7.10.0.poster", "7.10.0.poster"),
        ] {
            assert_eq!(without_post(version), plain);
        }
    }

    #[test]
    fn targets_are_in_a_package_beside() {
        let place = ["lib", "x.co"];
        assert_eq!(
            sibling_of(&place, "../../_rocm_sdk_libraries/lib/x.co"),
            Ok("_rocm_sdk_libraries/lib/x.co".to_owned())
        );
        for target in
            ["../x", "../../pip/x", "/etc/passwd", "../../../etc/passwd", "../../_rocm_sdk_core/../pip/x", "../../"]
        {
            assert!(sibling_of(&place, target).is_err(), "{target}");
        }
    }
}
