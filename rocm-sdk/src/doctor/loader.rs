//! Predicts how the system loader would load a library, without loading it: the file of each dependency, which are
//! missing, and which are too old. The loader itself stops at the first problem, and runs code of the libraries that it
//! loads.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::requirements::{Requirements, requirements};

/// The order in which glibc's loader looks for a dependency: `DT_RPATH`, `LD_LIBRARY_PATH`, `DT_RUNPATH`, its cache,
/// the default directories. Files next to the library that needs them come last: this crate opens them in that case.
pub(crate) struct Loader {
    root: PathBuf,
    library_path: Vec<PathBuf>,
    cache: HashMap<String, Vec<PathBuf>>,
    defaults: Vec<PathBuf>,
    read: RefCell<HashMap<PathBuf, Option<Rc<Requirements>>>>,
}

/// A library with all its dependencies.
#[derive(Debug, Default)]
pub(crate) struct Closure {
    /// The requested name and the file of each, the library itself first.
    pub(crate) loaded: Vec<(String, PathBuf)>,
    pub(crate) missing: Vec<Missing>,
    pub(crate) outdated: Vec<Outdated>,
}

/// A dependency that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) name: String,
    pub(crate) needed_by: PathBuf,
}

/// A dependency that lacks a symbol version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outdated {
    pub(crate) path: PathBuf,
    /// `GLIBC_2.38`
    pub(crate) version: String,
    /// Its newest version of that family, `GLIBC_2.36`.
    pub(crate) newest: Option<String>,
    pub(crate) needed_by: PathBuf,
}

struct Object {
    path: PathBuf,
    requirements: Rc<Requirements>,
    /// The object that needs it.
    parent: Option<usize>,
}

impl Loader {
    /// Creates the loader of the system whose root directory is `root`, with this `LD_LIBRARY_PATH`.
    pub(crate) fn new(root: &Path, library_path: Option<&OsStr>) -> Self {
        let split = |paths: &OsStr| -> Vec<PathBuf> {
            paths.as_bytes().split(|b| matches!(b, b':' | b';')).map(directory).collect()
        };
        let cache = fs::read(root.join("etc/ld.so.cache")).map(|bytes| read_cache(&bytes)).unwrap_or_default();
        Self {
            root: root.to_owned(),
            library_path: library_path.filter(|p| !p.is_empty()).map(split).unwrap_or_default(),
            cache,
            defaults: DEFAULTS.iter().map(|dir| root.join(dir)).collect(),
            read: RefCell::default(),
        }
    }

    /// Returns the same loader, with `directory` before those of `LD_LIBRARY_PATH`.
    pub(crate) fn with(&self, directory: &Path) -> Self {
        Self {
            root: self.root.clone(),
            library_path: std::iter::once(directory.to_owned()).chain(self.library_path.iter().cloned()).collect(),
            cache: self.cache.clone(),
            defaults: self.defaults.clone(),
            read: RefCell::new(self.read.borrow().clone()),
        }
    }

    /// Returns the directories of `LD_LIBRARY_PATH`.
    pub(crate) fn library_path(&self) -> &[PathBuf] {
        &self.library_path
    }

    /// Returns whether it searches `directory` for every library.
    pub(crate) fn leads_to(&self, directory: &Path) -> bool {
        let same = |dir: &PathBuf| {
            dir == directory
                || fs::canonicalize(dir).is_ok_and(|dir| fs::canonicalize(directory).is_ok_and(|other| dir == other))
        };
        self.library_path.iter().chain(&self.defaults).any(same)
    }

    /// Returns the library file `path` with all its dependencies.
    pub(crate) fn closure(&self, path: &Path) -> Closure {
        let mut found = Closure::default();
        let Some(requirements) = self.read(path) else { return found };
        let name = requirements.dynamic.soname.clone().unwrap_or_else(|| path.display().to_string());
        found.loaded.push((name.clone(), path.to_owned()));
        let mut known = HashSet::from([name]);
        let mut objects = vec![Object { path: path.to_owned(), requirements, parent: None }];
        let mut queue = VecDeque::from([0]);
        while let Some(at) = queue.pop_front() {
            let requirements = Rc::clone(&objects[at].requirements);
            for name in &requirements.dynamic.needed {
                if !known.insert(name.clone()) {
                    continue;
                }
                match self.find(name, &objects, at) {
                    Some((path, requirements)) => {
                        known.extend(requirements.dynamic.soname.clone());
                        found.loaded.push((name.clone(), path.clone()));
                        queue.push_back(objects.len());
                        objects.push(Object { path, requirements, parent: Some(at) });
                    }
                    None => found.missing.push(Missing { name: name.clone(), needed_by: objects[at].path.clone() }),
                }
            }
        }
        self.check_versions(&objects, &mut found);
        found
    }

    fn check_versions(&self, objects: &[Object], found: &mut Closure) {
        for object in objects {
            for (library, version) in &object.requirements.versions_needed {
                let Some((_, path)) = found.loaded.iter().find(|(name, _)| name == library) else { continue };
                let Some(defined) = self.read(path) else { continue };
                // A library without versions is accepted as it is.
                if defined.versions_defined.is_empty() || defined.versions_defined.contains(version) {
                    continue;
                }
                found.outdated.push(Outdated {
                    newest: newest_like(version, &defined.versions_defined),
                    path: path.clone(),
                    version: version.clone(),
                    needed_by: object.path.clone(),
                });
            }
        }
    }

    /// Returns the file that is loaded as `name` for the object `at`.
    fn find(&self, name: &str, objects: &[Object], at: usize) -> Option<(PathBuf, Rc<Requirements>)> {
        let usable = |path: PathBuf| self.read(&path).map(|requirements| (path, requirements));
        if name.contains('/') {
            return usable(PathBuf::from(name));
        }
        let object = &objects[at];
        let mut directories = Vec::new();
        if object.requirements.runpath.is_none() {
            // The run paths of all ancestors count too.
            let mut ancestor = Some(at);
            while let Some(n) = ancestor {
                let object = &objects[n];
                let rpath = object.requirements.rpath.as_deref().filter(|_| object.requirements.runpath.is_none());
                directories.extend(rpath.map(|rpath| expand(rpath, &object.path)).unwrap_or_default());
                ancestor = object.parent;
            }
        }
        directories.extend(self.library_path.iter().cloned());
        directories.extend(object.requirements.runpath.as_deref().map(|p| expand(p, &object.path)).unwrap_or_default());
        let cached = self.cache.get(name).into_iter().flatten().map(|path| below(&self.root, path));
        let candidates = directories.iter().map(|dir| dir.join(name)).chain(cached);
        let defaults = self.defaults.iter().map(|dir| dir.join(name));
        let beside = object.path.parent().map(|dir| dir.join(name));
        candidates.chain(defaults).chain(beside).find_map(usable)
    }

    /// Returns the file that a program gets if it asks for the library `name`.
    pub(crate) fn locate(&self, name: &str) -> Option<PathBuf> {
        let cached = self.cache.get(name).into_iter().flatten().map(|path| below(&self.root, path));
        let directories = |dirs: &[PathBuf]| dirs.iter().map(|dir| dir.join(name)).collect::<Vec<_>>();
        let candidates = directories(&self.library_path).into_iter().chain(cached).chain(directories(&self.defaults));
        candidates.into_iter().find(|path| self.read(path).is_some())
    }

    /// Returns `None` if the file is not a library for this machine: the loader skips it.
    pub(crate) fn read(&self, path: &Path) -> Option<Rc<Requirements>> {
        if let Some(known) = self.read.borrow().get(path) {
            return known.clone();
        }
        let regular = || File::open(path).ok().filter(|file| file.metadata().is_ok_and(|m| m.is_file()));
        let read = regular().and_then(|mut file| requirements(&mut file).ok()).map(Rc::new);
        self.read.borrow_mut().insert(path.to_owned(), read.clone());
        read
    }
}

/// They differ between distributions; all are tried.
const DEFAULTS: &[&str] = &[
    #[cfg(target_arch = "x86_64")]
    "lib/x86_64-linux-gnu",
    #[cfg(target_arch = "x86_64")]
    "usr/lib/x86_64-linux-gnu",
    #[cfg(target_arch = "aarch64")]
    "lib/aarch64-linux-gnu",
    #[cfg(target_arch = "aarch64")]
    "usr/lib/aarch64-linux-gnu",
    "lib64",
    "usr/lib64",
    "lib",
    "usr/lib",
];

/// Returns the absolute path `path` as seen from outside of the system whose root is `root`.
pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Parses an entry of a list of directories; an empty one is the current directory.
fn directory(bytes: &[u8]) -> PathBuf {
    PathBuf::from(if bytes.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(bytes) })
}

/// Returns the directories of an rpath of `library`.
fn expand(rpath: &str, library: &Path) -> Vec<PathBuf> {
    let origin = library.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let lib = DEFAULTS[0];
    let put = |entry: &str, name: &str, value: &str| {
        entry.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
    };
    rpath.split(':').filter(|e| !e.is_empty()).map(|e| put(&put(e, "ORIGIN", &origin), "LIB", lib).into()).collect()
}

/// Returns the newest version in `defined` of the same family as `version`: `GLIBC_2.36` for `GLIBC_2.38`.
fn newest_like(version: &str, defined: &[String]) -> Option<String> {
    let (family, _) = version.rsplit_once('_')?;
    let numbers = |v: &str| -> Option<Vec<u32>> {
        v.strip_prefix(family)?.strip_prefix('_')?.split('.').map(|n| n.parse().ok()).collect()
    };
    defined.iter().filter(|v| numbers(v).is_some()).max_by_key(|v| numbers(v)).cloned()
}

const CACHE_MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const CACHE_HEADER: usize = 48;
const CACHE_ENTRY: usize = 24;

/// Returns the libraries in `/etc/ld.so.cache`, by name.
fn read_cache(bytes: &[u8]) -> HashMap<String, Vec<PathBuf>> {
    let mut found: HashMap<String, Vec<PathBuf>> = HashMap::new();
    // A cache of an older format may precede it.
    let Some(start) = bytes.windows(CACHE_MAGIC.len()).position(|w| w == CACHE_MAGIC) else { return found };
    let cache = &bytes[start..];
    let number = |at: usize| -> Option<usize> {
        Some(u32::from_ne_bytes(cache.get(at..at.checked_add(4)?)?.try_into().ok()?) as usize)
    };
    let text = |at: usize| -> Option<&[u8]> {
        let rest = cache.get(at..)?;
        Some(&rest[..rest.iter().position(|&b| b == 0)?])
    };
    let count = number(CACHE_MAGIC.len()).unwrap_or(0);
    for entry in (0..count).map_while(|n| CACHE_HEADER.checked_add(n.checked_mul(CACHE_ENTRY)?)) {
        let (Some(name), Some(path)) = (number(entry + 4), number(entry + 8)) else { break };
        let (Some(name), Some(path)) = (text(name), text(path)) else { continue };
        let name = String::from_utf8_lossy(name).into_owned();
        found.entry(name).or_default().push(PathBuf::from(OsStr::from_bytes(path)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(soname: &str, needed: &[&str]) -> Requirements {
        let mut library = Requirements::default();
        library.dynamic.soname = Some(soname.to_owned());
        library.dynamic.needed = needed.iter().map(|name| (*name).to_owned()).collect();
        library
    }

    /// Makes the loader of a system that has exactly these files.
    fn system(library_path: &str, files: &[(&str, Requirements)]) -> Loader {
        let loader = Loader::new(Path::new("/no/such/system"), Some(OsStr::new(library_path)));
        let files = files.iter().map(|(path, library)| (PathBuf::from(path), Some(Rc::new(library.clone()))));
        loader.read.borrow_mut().extend(files);
        loader
    }

    fn loaded(loader: &Loader, path: &str) -> Vec<String> {
        let closure = loader.closure(Path::new(path));
        assert!(closure.missing.is_empty(), "{closure:?}");
        closure.loaded.iter().skip(1).map(|(_, path)| path.display().to_string()).collect()
    }

    #[test]
    fn the_order_of_the_places_of_a_dependency() {
        let mut top = library("top", &["x"]);
        top.runpath = Some("/run".to_owned());
        let x = || library("x", &[]);
        let all = ["/ld", "/run", "/no/such/system/cached", "/no/such/system/lib", "/top"];
        let mut files: Vec<(String, Requirements)> = all.iter().map(|dir| (format!("{dir}/x"), x())).collect();
        files.push(("/top/top".to_owned(), top.clone()));
        let load = |files: &[(String, Requirements)]| {
            let files: Vec<_> = files.iter().map(|(path, library)| (path.as_str(), library.clone())).collect();
            let mut loader = system("/ld", &files);
            loader.cache.insert("x".to_owned(), vec!["/cached/x".into()]);
            loaded(&loader, "/top/top")
        };
        for dir in all {
            assert_eq!(load(&files), [format!("{dir}/x")]);
            files.retain(|(path, _)| *path != format!("{dir}/x"));
        }
        // An rpath comes before all others, but is ignored if there is a runpath.
        files.extend([("/ld/x".to_owned(), x()), ("/r/x".to_owned(), x())]);
        let at = files.iter().position(|(path, _)| path == "/top/top").unwrap();
        files[at].1.rpath = Some("/r".to_owned());
        assert_eq!(load(&files), ["/ld/x"]);
        files[at].1.runpath = None;
        assert_eq!(load(&files), ["/r/x"]);
    }

    /// An ancestor's rpath applies to all objects below it; a runpath on the way does not.
    #[test]
    fn an_rpath_counts_for_all_below_and_a_runpath_does_not() {
        let mut top = library("top", &["middle"]);
        top.rpath = Some("$ORIGIN/deep".to_owned());
        let files = |top: Requirements, middle: Requirements| {
            [
                ("/a/top", top),
                ("/a/deep/middle", middle),
                ("/a/deep/far/x", library("x", &[])),
                ("/a/deep/x2", library("x2", &[])),
            ]
        };
        let middle = library("middle", &["x2"]);
        let loader = system("", &files(top.clone(), middle.clone()));
        assert_eq!(loaded(&loader, "/a/top"), ["/a/deep/middle", "/a/deep/x2"]);
        top.rpath = Some("/a/deep:/a/deep/far".to_owned());
        let mut middle = library("middle", &["x"]);
        assert_eq!(
            loaded(&system("", &files(top.clone(), middle.clone())), "/a/top"),
            ["/a/deep/middle", "/a/deep/far/x"]
        );
        middle.runpath = Some("/elsewhere".to_owned());
        let closure = system("", &files(top.clone(), middle.clone())).closure(Path::new("/a/top"));
        assert_eq!(closure.missing, [Missing { name: "x".to_owned(), needed_by: "/a/deep/middle".into() }]);
        (top.runpath, top.rpath) = (top.rpath, None);
        middle.runpath = None;
        assert_eq!(system("", &files(top, middle)).closure(Path::new("/a/top")).missing.len(), 1);
    }

    /// A loaded library is also found by its soname.
    #[test]
    fn a_soname_is_found_once() {
        let files = [
            ("/l/top", library("top", &["unversioned.so", "versioned.so.1"])),
            ("/l/unversioned.so", library("versioned.so.1", &["top"])),
        ];
        assert_eq!(loaded(&system("", &files), "/l/top"), ["/l/unversioned.so"]);
    }

    #[test]
    fn versions_that_a_dependency_lacks() {
        let mut top = library("top", &["c"]);
        top.versions_needed = ["C_1.2", "C_1.10"].map(|version| ("c".to_owned(), version.to_owned())).to_vec();
        let mut c = library("c", &[]);
        let outdated = |c: &Requirements| {
            let closure = system("", &[("/l/top", top.clone()), ("/l/c", c.clone())]).closure(Path::new("/l/top"));
            closure.outdated.into_iter().map(|o| (o.version, o.newest)).collect::<Vec<_>>()
        };
        // A library without versions is not rejected.
        assert_eq!(outdated(&c), []);
        c.versions_defined = ["C_1.1", "C_1.2", "C_1.9"].map(str::to_owned).to_vec();
        assert_eq!(outdated(&c), [("C_1.10".to_owned(), Some("C_1.9".to_owned()))]);
        c.versions_defined.push("C_1.10".to_owned());
        assert_eq!(outdated(&c), []);
    }

    #[test]
    fn directories_that_the_loader_knows() {
        let loader = system("/mine:/other", &[]);
        let known = |dir: &str| loader.leads_to(Path::new(dir));
        assert!(known("/other") && known("/no/such/system/usr/lib") && !known("/usr/libx"));
        assert!(loader.with(Path::new("/new")).leads_to(Path::new("/new")));
    }

    #[test]
    fn origin_is_the_library_s_directory() {
        let dirs = expand("$ORIGIN/../lib:${ORIGIN}:/opt/x::$ORIGIN", Path::new("/a/b/libx.so"));
        let dirs: Vec<_> = dirs.iter().map(|d| d.to_str().unwrap()).collect();
        assert_eq!(dirs, ["/a/b/../lib", "/a/b", "/opt/x", "/a/b"]);
    }

    #[test]
    fn the_newest_version_is_so_by_number() {
        let defined = ["GLIBC_2.4", "GLIBC_2.36", "GLIBC_2.9", "GLIBC_PRIVATE", "GLIBCXX_3.4"].map(String::from);
        assert_eq!(newest_like("GLIBC_2.38", &defined).as_deref(), Some("GLIBC_2.36"));
        assert_eq!(newest_like("GLIBCXX_3.4.32", &defined).as_deref(), Some("GLIBCXX_3.4"));
        assert_eq!(newest_like("LLVM_19.1", &defined), None);
        assert_eq!(newest_like("odd", &defined), None);
    }

    /// Reads a cache as `ldconfig` writes it, whole and truncated at every byte.
    #[test]
    fn the_cache_is_read_and_damage_survived() {
        let names = [(&b"liba.so.1\0"[..], &b"/x/liba.so.1\0"[..]), (b"libb.so\0", b"/y/libb.so\0")];
        let mut strings: Vec<u8> = Vec::new();
        let mut entries: Vec<u8> = Vec::new();
        let base = CACHE_HEADER + names.len() * CACHE_ENTRY;
        for (name, path) in names {
            let at = (base + strings.len()) as u32;
            for number in [0x0303, at, at + name.len() as u32, 0, 0, 0] {
                entries.extend(number.to_ne_bytes());
            }
            strings.extend(name);
            strings.extend(path);
        }
        let mut cache = b"ld.so-1.7.0\0\0\0\0\0".to_vec();
        cache.extend(CACHE_MAGIC);
        cache.extend((names.len() as u32).to_ne_bytes());
        cache.resize(16 + CACHE_HEADER, 0);
        cache.extend(entries);
        cache.extend(strings);
        let read = read_cache(&cache);
        assert_eq!(read["liba.so.1"], [PathBuf::from("/x/liba.so.1")]);
        assert_eq!(read["libb.so"], [PathBuf::from("/y/libb.so")]);
        for end in 0..cache.len() {
            let _ = read_cache(&cache[..end]);
        }
        cache[16 + CACHE_MAGIC.len()..][..4].fill(0xff);
        let _ = read_cache(&cache);
    }

    /// The cache of this machine, if it has one, contains the C library.
    #[test]
    #[cfg(target_env = "gnu")]
    fn the_c_library_is_found_and_complete() {
        let loader = Loader::new(Path::new("/"), None);
        let defaults = loader.defaults.iter().map(|dir| dir.join("libc.so.6"));
        let cached = loader.cache.get("libc.so.6").cloned().unwrap_or_default();
        let libc = cached.into_iter().chain(defaults).find(|path| loader.read(path).is_some()).unwrap();
        let closure = loader.closure(&libc);
        assert_eq!(closure.loaded[0], ("libc.so.6".to_owned(), libc));
        assert!(closure.missing.is_empty() && closure.outdated.is_empty(), "{closure:?}");
        assert!(closure.loaded[1].0.starts_with("ld-"), "{closure:?}");
        assert!(loader.locate("libc.so.6").is_some() && loader.locate("libc.so.7").is_none());
    }
}
