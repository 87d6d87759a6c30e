//! The sources of kernels: the headers that they include, and copies whose shifts are those of NVIDIA's GPUs.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Component, Path, PathBuf};

use cuda_compat::nvrtc::in_hip;

/// A source, with the headers that it includes from folders.
#[derive(Debug)]
pub(super) struct Sources {
    /// Paths, without `.` and `..`, and texts. Includes in branches that are not compiled are in it, too.
    pub(super) files: BTreeMap<PathBuf, String>,
    /// The source itself.
    pub(super) source: PathBuf,
}

impl Sources {
    /// Reads a source, the headers that are named in it, and those before it.
    pub(super) fn read(source: &Path, before: &[String], folders: &[PathBuf]) -> Result<Self, String> {
        let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        let folders = folders.iter().map(|folder| absolute(folder)).collect::<Result<Vec<_>, _>>()?;
        let source = absolute(source)?;
        let mut files = BTreeMap::new();
        let mut left = VecDeque::from([source.clone()]);
        let here = absolute(Path::new("."))?;
        for name in before {
            left.extend(find(name, Some(&here), &folders));
        }
        while let Some(path) = left.pop_front() {
            if files.contains_key(&path) {
                continue;
            }
            let bytes = std::fs::read(&path).map_err(|error| failed(&path, error))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            for (name, is_quoted) in included(&text) {
                left.extend(find(name, path.parent().filter(|_| is_quoted), &folders));
            }
            files.insert(path, text);
        }
        Ok(Self { files, source })
    }

    pub(super) fn text(&self) -> &str {
        &self.files[&self.source]
    }

    /// The headers.
    pub(super) fn headers(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().filter(|path| **path != self.source).map(PathBuf::as_path)
    }

    /// Writes copies of the headers below a folder, at their paths, with saturating shifts.
    pub(super) fn write_below(&self, folder: &Path) -> Result<(), String> {
        let failed = |path: &Path, error: std::io::Error| format!("cannot write {}: {error}", path.display());
        for path in self.headers() {
            let to = below(folder, path);
            let parent = to.parent().unwrap_or(folder);
            std::fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
            std::fs::write(&to, in_hip(&self.files[path])).map_err(|error| failed(&to, error))?;
        }
        Ok(())
    }
}

/// Returns the place of the copy of an absolute path.
pub(super) fn below(folder: &Path, path: &Path) -> PathBuf {
    folder.join(path.components().filter(|part| matches!(part, Component::Normal(_))).collect::<PathBuf>())
}

/// Returns an absolute path without `.` and `..`.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, String> {
    let absolute = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut plain = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Ok(plain)
}

/// Returns the file of an include; `None` for a header of the compiler, or a missing one.
fn find(name: &str, beside: Option<&Path>, folders: &[PathBuf]) -> Option<PathBuf> {
    let mut folders = beside.into_iter().chain(folders.iter().map(PathBuf::as_path));
    folders.find_map(|folder| absolute(&folder.join(name)).ok().filter(|path| path.is_file()))
}

/// Returns the names in a text's include directives, and whether they are in quotes.
fn included(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.lines().filter_map(|line| {
        let name = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        let (close, is_quoted) = if name.starts_with('"') { ('"', true) } else { ('>', false) };
        let name = name.strip_prefix(['"', '<'])?;
        Some((&name[..name.find(close)?], is_quoted))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_followed_and_copied() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let source =
            put("src/k.cu", "#include \"a.cuh\"\n # include <lib.h> // x\n#include <missing>\n#include MACRO\n");
        put("src/a.cuh", "#include \"../other/b.cuh\"\n");
        put("other/b.cuh", "#include \"a.cuh\"\nint f(int n) { return 1 << n; }\n");
        put("include/lib.h", "#include \"deep/c.h\"\n");
        put("include/deep/c.h", "#include \"../lib.h\"\n");
        put("first.h", "");
        let first = folder.path().join("first.h").display().to_string();
        let include = folder.path().join("other/../include");
        let sources = Sources::read(&source, &[first], &[include]).unwrap();
        let names: Vec<&Path> = sources.headers().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
        let expected = ["first.h", "include/deep/c.h", "include/lib.h", "other/b.cuh", "src/a.cuh"];
        assert_eq!(names, expected.map(Path::new));
        let copies = folder.path().join("copies");
        sources.write_below(&copies).unwrap();
        let copy = std::fs::read_to_string(below(&copies, &folder.path().join("other/b.cuh"))).unwrap();
        assert!(copy.contains("1 <<") && copy != sources.files[&folder.path().join("other/b.cuh")], "{copy}");
        assert!(Sources::read(Path::new("/no/such.cu"), &[], &[]).unwrap_err().starts_with("/no/such.cu: "));
    }
}
