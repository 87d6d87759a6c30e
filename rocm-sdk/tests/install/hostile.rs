//! Packages, even signed ones, that try to write elsewhere.

use std::fs;
use std::path::Path;

use rocm_sdk::install::{Error, Silent};

use crate::names;
use crate::repository::{Deb, LIBRARIES, Repository};

/// The kind of a member of a tar file.
enum Member<'a> {
    File(&'a str),
    Link(&'a str),
    Fifo,
}

/// Makes a tar file with any names.
fn tar(members: &[(&str, Member<'_>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, member) in members {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(0o644);
        let content = match member {
            Member::File(content) => content.as_bytes(),
            Member::Link(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
                b""
            }
            Member::Fifo => {
                header.set_entry_type(tar::EntryType::Fifo);
                b""
            }
        };
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Installs with one more package that has these members; returns the result, unless something was written outside.
fn with(members: &[(&str, Member<'_>)], outside: &Path) -> Option<Result<(), Error>> {
    let mut repository = Repository::rocm()?;
    repository.add_raw(&Deb::new("librocrand1", "7.2.4-1"), &tar(members));
    repository.publish();
    let folder = outside.join("inside");
    let done = repository.installer(&folder).release("7.2").unwrap().with(["rocrand"]).run(&mut Silent);
    assert_eq!(names(outside), ["inside"], "something was written outside");
    assert_eq!(done.is_ok(), folder.join("7.2").exists());
    Some(done.map(drop))
}

#[test]
fn names_that_lead_out_of_the_tree_are_refused() {
    for name in ["../../evil", "./usr/../../../evil", "usr/lib/../../../../evil"] {
        let outside = tempfile::tempdir().unwrap();
        let Some(done) = with(&[("./usr/share/x", Member::File("x")), (name, Member::File("evil"))], outside.path())
        else {
            return;
        };
        assert!(matches!(&done, Err(Error::Hostile { package, .. }) if package.contains("librocrand1")), "{done:?}");
    }
}

#[test]
fn an_absolute_name_stays_inside() {
    let outside = tempfile::tempdir().unwrap();
    let name = format!("{}/evil", outside.path().display());
    let Some(done) = with(&[(&name, Member::File("evil"))], outside.path()) else { return };
    done.unwrap();
    assert!(outside.path().join("inside/7.2").join(&name[1..]).exists());
}

#[test]
fn a_link_is_not_written_through() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().to_str().unwrap().to_owned();
    for target in [target.as_str(), "../../.."] {
        let members = [("usr/share/way", Member::Link(target)), ("usr/share/way/evil", Member::File("evil"))];
        let Some(done) = with(&members, outside.path()) else { return };
        assert!(matches!(done, Err(Error::Hostile { .. })), "{done:?}");
        fs::remove_dir_all(outside.path().join("inside")).unwrap();
    }
}

#[test]
fn a_link_of_one_package_is_not_written_through_by_another() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("inside");
    for target in [outside.path().to_str().unwrap(), "../../../.."] {
        let Some(mut repository) = Repository::rocm() else { return };
        repository.add(Deb::new("libevil1", "1").link(&format!("{LIBRARIES}/way"), target));
        let rand = Deb::new("librocrand1", "7.2.4-1").needs("libevil1");
        repository.add(rand.file(&format!("{LIBRARIES}/way/evil"), "evil"));
        repository.publish();
        let done = repository.installer(&folder).release("7.2").unwrap().with(["rocrand"]).run(&mut Silent);
        // Whichever of the two is unpacked first.
        assert!(done.is_err(), "{done:?}");
        assert_eq!(names(outside.path()), ["inside"]);
        assert!(!folder.join("7.2").exists());
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let Some(done) = with(&[("usr/share/pipe", Member::Fifo)], outside.path()) else { return };
    assert!(matches!(&done, Err(Error::Hostile { why, .. }) if why.contains("neither file")), "{done:?}");
}

#[test]
fn a_file_that_is_no_package_is_refused() {
    let Some(mut repository) = Repository::rocm() else { return };
    let outside = tempfile::tempdir().unwrap();
    repository.add_raw(&Deb::new("librocrand1", "7.2.4-1"), b"no tar file, but signed");
    repository.publish();
    let done = repository.installer(outside.path()).release("7.2").unwrap().with(["rocrand"]).run(&mut Silent);
    assert!(matches!(done, Err(Error::Hostile { .. })), "{done:?}");
}

#[test]
fn a_forged_list_of_packages_does_not_count() {
    let outside = tempfile::tempdir().unwrap();
    let members = [(".packages", Member::File("Sets: forged\n")), ("usr/.info/version", Member::File("99.0\n"))];
    let Some(done) = with(&members, outside.path()) else { return };
    done.unwrap();
    let installed = rocm_sdk::install::Installer::new(outside.path().join("inside")).installed().unwrap();
    assert_eq!(installed[0].version(), Some("7.2.4"));
    assert_eq!(installed[0].libraries().collect::<Vec<_>>(), ["rocrand"]);
}
