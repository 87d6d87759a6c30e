//! The files of a project.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::report::{Findings, Place, Report};
use crate::{kernels, manifest, rust};

/// Larger files are skipped: they are generated, or data.
const LARGEST: u64 = 32 << 20;

/// The results of reading a project.
pub(crate) struct Project {
    folder: PathBuf,
    files: usize,
    findings: Findings,
    roots: BTreeSet<String>,
    facts: Vec<rust::Facts>,
}

impl Project {
    /// Reads all files.
    ///
    /// # Errors
    /// If the folder cannot be read. A file that cannot be read is a note in the report.
    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let kind = fs::metadata(folder).map_err(|error| format!("reading {}: {error}", folder.display()))?;
        let mut project = Self {
            folder: folder.to_owned(),
            files: 0,
            findings: Findings::default(),
            roots: BTreeSet::from(["cudarc".to_owned()]),
            facts: Vec::new(),
        };
        if kind.is_file() {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            project.file(folder, &name);
            return Ok(project);
        }
        let entries = fs::read_dir(folder).map_err(|error| format!("reading {}: {error}", folder.display()))?;
        let mut stack = vec![(entries, String::new())];
        while let Some((entries, prefix)) = stack.pop() {
            let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            paths.sort();
            for path in paths {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let relative = format!("{prefix}{name}");
                // A symbolic link to a folder can form a cycle, and its target in the project is read anyway.
                let Ok(kind) = fs::symlink_metadata(&path) else { continue };
                if kind.is_dir() {
                    if name.starts_with('.') || name == "target" && path.join("CACHEDIR.TAG").exists() {
                        continue;
                    }
                    match fs::read_dir(&path) {
                        Ok(entries) => stack.push((entries, format!("{relative}/"))),
                        Err(error) => project.findings.note(&relative, format!("not read: {error}")),
                    }
                } else {
                    project.file(&path, &relative);
                }
            }
        }
        Ok(project)
    }

    fn file(&mut self, path: &Path, name: &str) {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_manifest = path.file_name().is_some_and(|name| name == "Cargo.toml");
        if !is_manifest && !["rs", "cu", "cuh", "ptx", "cubin", "fatbin"].contains(&extension) {
            return;
        }
        let size = match fs::metadata(path) {
            Ok(file) if file.is_file() => file.len(),
            // A symbolic link to a folder, or a dangling one.
            Ok(_) => return,
            Err(error) => return self.findings.note(name, format!("not read: {error}")),
        };
        if ["ptx", "cubin", "fatbin"].contains(&extension) {
            self.files += 1;
            let place = Place { file: name.to_owned(), line: 0, column: 0 };
            return kernels::binary(place, extension, &mut self.findings);
        }
        if size > LARGEST {
            return self.findings.note(
                name,
                format!("not read: it has {} MiB, and more than {} are skipped", size >> 20, LARGEST >> 20),
            );
        }
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => return self.findings.note(name, format!("not read: {error}")),
        };
        let text = String::from_utf8(bytes).unwrap_or_else(|error| {
            self.findings.note(name, "not UTF-8: other bytes were replaced");
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        });
        self.files += 1;
        if is_manifest {
            manifest::read(name, &text, &mut self.roots, &mut self.findings);
        } else if extension == "rs" {
            self.facts.push(rust::read(name, &text, &mut self.findings));
        } else {
            let start = kernels::Start { file: name, line: 1, column: 0, is_literal: true };
            kernels::read(&text, &start, &mut self.findings);
        }
    }

    /// Makes the report.
    pub(crate) fn report(mut self) -> Report {
        rust::resolve(&self.facts, &self.roots, &mut self.findings);
        self.findings.report(self.folder.display().to_string(), self.files)
    }
}
