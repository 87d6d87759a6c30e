//! Only signatures of the archive's keys are trusted.

use std::fs;
use std::path::Path;

use rocm_sdk::install::debian::Archive;
use rocm_sdk::install::{Error, Installer, Silent};

use crate::http::Server;
use crate::repository::{Repository, Signed};
use crate::{apart, names};

/// The installation is rejected, and nothing is left afterwards.
fn refused(repository: &Repository, folder: &Path, why: &str) {
    refused_from(repository.archive(), folder, why);
}

fn refused_from(archive: Archive, folder: &Path, why: &str) {
    let installer = Installer::new(folder).archive(archive);
    let error = installer.clone().release("7.2").unwrap().run(&mut Silent).unwrap_err();
    assert!(matches!(error, Error::Untrusted { .. }), "{error}");
    assert!(error.to_string().contains(why), "{error}\n(expected: {why})");
    assert!(names(folder).iter().all(|name| name.starts_with('.')), "{:?}", names(folder));
    assert!(installer.installed().unwrap().is_empty());
}

/// Serves the archive by HTTP: apt 3 reports less about files that it copies from a folder.
fn served(repository: &Repository) -> Archive {
    Archive { mirror: Server::new(repository.folder().to_owned(), "").uri(), ..repository.archive() }
}

#[test]
fn lists_that_nobody_or_another_has_signed_are_refused() {
    let Some(mut repository) = Repository::rocm() else { return };
    let folder = tempfile::tempdir().unwrap();
    for signed in [Signed::Not, Signed::ByAnother] {
        repository.signed = signed;
        repository.publish();
        refused(&repository, folder.path(), "not signed");
    }
    // A new folder and one with earlier, good lists give the same result.
    repository.signed = Signed::Rightly;
    repository.publish();
    repository.installer(folder.path()).release("7.2").unwrap().run(&mut Silent).unwrap();
    repository.signed = Signed::Not;
    repository.publish();
    let update = repository.installer(folder.path()).release("7.2").unwrap().update(true);
    assert!(matches!(update.run(&mut Silent), Err(Error::Untrusted { .. })));
    assert_eq!(repository.installer(folder.path()).installed().unwrap().len(), 1, "what was there stays");
}

#[test]
fn a_signature_that_does_not_fit_is_refused() {
    let Some(repository) = Repository::rocm() else { return };
    let folder = tempfile::tempdir().unwrap();
    for suite in ["sid", "experimental"] {
        let signed = repository.lists(suite).join("InRelease");
        let text = fs::read_to_string(&signed).unwrap();
        fs::write(&signed, text.replace("Label: A test", "Label: A fake")).unwrap();
    }
    refused(&repository, folder.path(), "sid");
}

#[test]
fn a_list_of_packages_that_was_changed_after_signing_is_refused() {
    if apart("trust::a_list_of_packages_that_was_changed_after_signing_is_refused") {
        return;
    }
    let Some(repository) = Repository::rocm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let list = repository.lists("sid").join("main/binary-amd64/Packages");
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, text.replace("Version: 7.2.4", "Version: 7.2.5")).unwrap();
    refused_from(served(&repository), folder.path(), "Hash Sum mismatch");
}

#[test]
fn the_signed_list_of_another_suite_is_refused() {
    let Some(mut repository) = Repository::rocm() else { return };
    let folder = tempfile::tempdir().unwrap();
    repository.suite = Some("bookworm");
    repository.publish();
    refused(&repository, folder.path(), "another suite");
}

#[test]
fn lists_that_have_run_out_are_refused() {
    if apart("trust::lists_that_have_run_out_are_refused") {
        return;
    }
    let Some(mut repository) = Repository::rocm() else { return };
    let folder = tempfile::tempdir().unwrap();
    repository.valid_until = Some("Sat, 08 Jan 2022 00:00:00 UTC");
    repository.publish();
    refused(&repository, folder.path(), "expired");
}

#[test]
fn a_package_that_is_not_what_was_signed_is_refused() {
    if apart("trust::a_package_that_is_not_what_was_signed_is_refused") {
        return;
    }
    let Some(repository) = Repository::rocm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = repository.file("libamdhip64-7");
    let genuine = fs::read(&file).unwrap();

    // The right size with one changed byte; shorter; longer.
    let mut changed = genuine.clone();
    *changed.last_mut().unwrap() ^= 1;
    for content in [&changed[..], &genuine[..genuine.len() - 10], &[&genuine[..], b"more"].concat()] {
        fs::write(&file, content).unwrap();
        refused_from(served(&repository), folder.path(), "libamdhip64-7");
    }

    // apt does not check files that are already downloaded, so this crate does.
    fs::write(&file, &genuine).unwrap();
    let archives = folder.path().join(".apt/archives");
    let downloaded = archives.join(file.file_name().unwrap());
    fs::write(&downloaded, &changed).unwrap();
    refused(&repository, folder.path(), "different from the signed package list");
    assert!(!downloaded.exists());
    repository.installer(folder.path()).release("7.2").unwrap().run(&mut Silent).unwrap();
}
