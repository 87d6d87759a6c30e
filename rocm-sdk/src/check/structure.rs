//! Checks that the layout of an installation is as documented.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::report::{Collector, Finding};
use super::subject::{Package, Subject};
use rocm_loader::folders::names_in;

const GROUP: &str = "layout";

pub(super) fn check(subject: &Subject, collector: &mut Collector<'_>) {
    collector.check(GROUP, "says which release it is", || match subject.layout.release() {
        Some(_) => Finding::Ok,
        None => Finding::Fail(format!(
            "{}: no .info/version, no wheel's *.dist-info, no version in the HIP library's name",
            subject.layout.root().display()
        )),
    });
    match subject.site_packages() {
        Some(site) => check_wheels(subject, site, collector),
        None => check_prefix(subject, collector),
    }
}

fn check_prefix(subject: &Subject, collector: &mut Collector<'_>) {
    let layout = &subject.layout;
    directory(collector, "has its libraries", layout.lib());
    // Files that only development packages contain.
    for (name, path, part) in [
        ("has programs", layout.bin(), "programs"),
        ("has headers", layout.include(), "headers"),
        ("has CMake packages", layout.cmake(), "CMake packages"),
    ] {
        collector.check(GROUP, name, || match path.is_dir() {
            true => Finding::Ok,
            false => Finding::Skipped(format!("no {}: the packages with {part} are not installed", path.display())),
        });
    }
}

fn directory(collector: &mut Collector<'_>, name: &str, path: &Path) {
    collector.check(GROUP, name, || match path.is_dir() {
        true => Finding::Ok,
        false => Finding::Fail(format!("no directory {}: install the package again", path.display())),
    });
}

fn check_wheels(subject: &Subject, site: &Path, collector: &mut Collector<'_>) {
    collector.check(GROUP, "the package rocm_sdk is next to the others", || is_package(site, "rocm_sdk", "rocm"));
    let core = subject.package("core");
    collector.check(GROUP, "the core package exists", || match core {
        Some(core) => is_package(site, &name_of(core), "rocm-sdk-core"),
        None => Finding::Fail(format!("no _rocm_sdk_core in {}; `pip install rocm-sdk-core`", site.display())),
    });
    collector.check(GROUP, "the packages are of one version", || one_version(site));
    let libraries: Vec<_> = subject.packages.iter().filter(|p| p.name.starts_with("libraries")).collect();
    if libraries.is_empty() {
        let why = "not installed: `pip install rocm[libraries]` brings rocBLAS and the like".to_owned();
        collector.add(GROUP, "the libraries package exists", Finding::Skipped(why), 0.0);
    }
    check_devel(subject, site, &libraries, collector);
}

fn name_of(package: &Package) -> String {
    package.root.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Checks that a package has files of its own and is not just a directory.
fn is_package(site: &Path, name: &str, wheel: &str) -> Finding {
    let file = site.join(name).join("__init__.py");
    match file.is_file() {
        true => Finding::Ok,
        false => Finding::Fail(format!("no {}: `pip install --force-reinstall {wheel}`", file.display())),
    }
}

/// Checks that the wheels have one version: wheels of different versions do not find each other's libraries.
fn one_version(site: &Path) -> Finding {
    let mut versions: Vec<(String, String)> = names_in(site, |name| name.ends_with(".dist-info"))
        .iter()
        .filter_map(|name| {
            let (wheel, version) = name.strip_suffix(".dist-info")?.rsplit_once('-')?;
            let ours = wheel == "rocm" || wheel.starts_with("rocm_sdk_") || wheel == "rocm_profiler";
            // A `.post` version is a later build of the same release.
            let version = version.split(".post").next().unwrap_or(version);
            ours.then(|| (wheel.to_owned(), version.to_owned()))
        })
        .collect();
    versions.sort();
    match versions.first() {
        None => Finding::Skipped("no wheel has a *.dist-info".to_owned()),
        Some((_, first)) if versions.iter().all(|(_, version)| version == first) => Finding::Ok,
        Some(_) => {
            let all: Vec<_> = versions.iter().map(|(wheel, version)| format!("{wheel} {version}")).collect();
            Finding::Fail(format!("{}; install them all in one version", all.join(", ")))
        }
    }
}

fn check_devel(subject: &Subject, site: &Path, libraries: &[&Package], collector: &mut Collector<'_>) {
    let Some(devel) = subject.packages.iter().find(|p| p.name.starts_with("devel")) else {
        let installed = site.join("rocm_sdk_devel/__init__.py").is_file();
        let why = match installed {
            true => "not expanded yet: `rocm-sdk init` does it",
            false => "not installed: `pip install rocm[devel]` brings headers, CMake files and compilers",
        };
        collector.add(GROUP, "the devel tree exists", Finding::Skipped(why.to_owned()), 0.0);
        return;
    };
    collector.check(GROUP, "the package rocm_sdk_devel is next to the others", || {
        is_package(site, "rocm_sdk_devel", "rocm-sdk-devel")
    });
    for path in ["bin", "include", "lib/cmake/hip/hip-config.cmake", "llvm/bin/clang++"] {
        collector.check(GROUP, format!("the devel tree has {path}"), || match devel.root.join(path).exists() {
            true => Finding::Ok,
            false => Finding::Fail(format!("no {path} in {}; reinstall rocm[devel]", devel.root.display())),
        });
    }
    for package in libraries {
        let name = format!("the devel tree has the files of {}", package.name);
        collector.check(GROUP, name, || mirrored(package, devel, libraries.len() > 1));
    }
}

/// Checks that every file of the libraries package is in the devel tree too, as the same file. If there are several
/// such packages, for GPUs of several families, the devel tree belongs to one of them.
fn mirrored(package: &Package, devel: &Package, one_of_several: bool) -> Finding {
    let (mut missing, mut different) = (Vec::new(), Vec::new());
    let mut same = 0;
    let mut ahead = vec![package.root.clone()];
    while let Some(directory) = ahead.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(relative) = path.strip_prefix(&package.root) else { continue };
            let name = entry.file_name();
            let own = relative == Path::new("__init__.py") || relative == Path::new(".devel_links");
            if own || name == "__pycache__" {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                ahead.push(path);
                continue;
            }
            match (fs::metadata(&path), fs::metadata(devel.root.join(relative))) {
                (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()) => same += 1,
                (Ok(_), Ok(_)) => different.push(relative.to_owned()),
                (Ok(_), Err(_)) => missing.push(relative.to_owned()),
                (Err(_), _) => {}
            }
        }
    }
    let told = [("missing there", missing), ("another file there", different)];
    let told: Vec<_> = told.into_iter().filter(|(_, paths)| !paths.is_empty()).map(|(what, p)| list(what, p)).collect();
    match told.is_empty() {
        true => Finding::Ok,
        false if same == 0 && one_of_several => Finding::Skipped("the devel tree is for another GPU family".to_owned()),
        false => Finding::Fail(format!("{}; `rocm-sdk init` links them", told.join("\n"))),
    }
}

fn list(what: &str, mut paths: Vec<PathBuf>) -> String {
    paths.sort();
    let shown: Vec<_> = paths.iter().take(10).map(|path| path.display().to_string()).collect();
    let more = paths.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}: {what}", shown.join(", "))
}
