//! Installations from a small archive of our own: the whole way through apt and dpkg-deb, with no network.
#![cfg(all(feature = "install", target_os = "linux", target_arch = "x86_64"))]
#![allow(unreachable_pub)] // The modules are of this program alone.

mod hostile;
mod interrupted;
mod repository;
mod trust;
mod whole;

use std::fs;
use std::path::Path;

/// Names in a folder, in order; none if it is not there.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
