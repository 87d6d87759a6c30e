//! Compiled code, kept on disk: a program that was compiled before, by this process or another, is not compiled again.
//!
//! The cache is on by default. [`disable`] turns it off for the process, the variable `HIPRTC_CACHE=off` for a program
//! that does not, and [`Program::uncached`](crate::Program::uncached) for one program. `HIPRTC_CACHE` can also name the
//! directory; the default is that of the user's caches (`~/.cache/hiprtc` on Linux). A relative path in the variable
//! turns the cache off.
//!
//! Equal keys mean equal code: the key is a BLAKE3 hash of the source with its name, the headers (including the current
//! content of those that `#include` finds by `-I`), the options, name expressions, architecture, the compiler's files
//! and the variables that it reads. Headers of the compiler or the system count as parts of the compiler. The cache
//! skips sources that ask for date or time, include by macro or contain assembly that includes files, and options that
//! read or write other files.
//!
//! Entries are written to a temporary file and renamed, are private to the user (0700, 0600) and are hashed: one that
//! is damaged, truncated or foreign is ignored and replaced. If several processes want the same code at once, one
//! compiles. The least recently used entries are removed when the cache exceeds its limit.
//!
//! A second layer, in memory, keeps the modules that [`Program::load`](crate::Program::load) has loaded: the same
//! program and device give the same [`Module`](hip::Module) again, without reading the entry, loading it or allocating
//! memory on the device. Only headers that `-I` leads to are read again, to see whether they have changed. It keeps at
//! most 1024 modules ([`Cache::module_limit`]). It frees those that are not used elsewhere with
//! [`Cache::clear_modules`], and when the cache is turned off or another one is set. Without a cache, nothing is kept
//! in memory either.
//!
//! ```
//! use hiprtc::cache::{self, Cache};
//!
//! let directory = std::env::temp_dir().join("hiprtc-cache-example");
//! cache::set(Some(Cache::at(&directory).limit(64 << 20)));
//! // ... Program::compile
//! let cache = cache::current().expect("set above");
//! println!("{} hits, {} misses in {}", cache.stats().hits, cache.stats().misses, cache.directory().display());
//! cache.clear()?;
//! # let _ = std::fs::remove_dir_all(&directory);
//! # Ok::<(), std::io::Error>(())
//! ```

mod key;
mod lock;
mod modules;
mod store;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use crate::loaded::Loaded;

pub(crate) use key::Key;
use key::VARIABLE;
pub(crate) use modules::Modules;
pub(crate) use store::Stored;

/// Limit in bytes of a cache for which none is set.
const USUAL_LIMIT: u64 = 1 << 30;

/// A directory with compiled code.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
    limit: u64,
    hits: AtomicU64,
    misses: AtomicU64,
    modules: Modules<Loaded>,
}

/// The activity of a [`Cache`] in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Compilations that were not necessary.
    pub hits: u64,
    /// Compilations whose result was not stored.
    pub misses: u64,
    /// Loads that were not necessary: the module was in memory.
    pub module_hits: u64,
    /// Loads whose module was not in memory.
    pub module_misses: u64,
    /// Modules in memory.
    pub modules: usize,
}

impl Cache {
    /// Returns the cache in `directory`, which is created on first use.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        let (hits, misses) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { directory, limit: USUAL_LIMIT, hits, misses, modules: Modules::default() }
    }

    /// Sets the maximum size in bytes. The default is 1 GiB.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets the maximum number of modules in memory. The default is 1024, and 0 turns this layer off. A new module
    /// replaces the least recently used one.
    #[must_use]
    pub fn module_limit(mut self, modules: usize) -> Self {
        self.modules.limit = modules;
        self
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns how often this process found and did not find code.
    pub fn stats(&self) -> Stats {
        let (module_hits, module_misses, modules) = self.modules.counts();
        let (hits, misses) = (self.hits.load(Relaxed), self.misses.load(Relaxed));
        Stats { hits, misses, module_hits, module_misses, modules }
    }

    /// Removes the modules from memory. Each is unloaded when nothing else uses it.
    pub fn clear_modules(&self) {
        self.modules.clear();
    }

    pub(crate) fn modules(&self) -> &Modules<Loaded> {
        &self.modules
    }

    /// Removes all entries, and the modules from memory.
    ///
    /// # Errors
    /// If a file cannot be removed. A directory that does not exist is empty.
    pub fn clear(&self) -> io::Result<()> {
        self.clear_modules();
        store::clear(&self.directory)
    }

    /// Returns the value stored under a key, or makes and stores it; true if it was stored already. It is stored if the
    /// key `is_current` afterwards: a header may have changed in the meantime. A value that cannot be stored, for
    /// example on a full disk, is returned all the same.
    pub(crate) fn get_or_make<E>(
        &self,
        key: &Key,
        make: impl FnOnce() -> Result<Stored, E>,
        is_current: impl FnOnce() -> bool,
    ) -> Result<(Stored, bool), E> {
        let place = store::place(&self.directory, key);
        if let Some(found) = store::read(&place, key) {
            self.hits.fetch_add(1, Relaxed);
            return Ok((found, true));
        }
        // Another process may be compiling it, or have stored it in the meantime.
        let lock = lock::Lock::take(&place);
        if let Some(found) = lock.as_ref().and_then(|_| store::read(&place, key)) {
            self.hits.fetch_add(1, Relaxed);
            return Ok((found, true));
        }
        self.misses.fetch_add(1, Relaxed);
        let made = make()?;
        if is_current() && store::write(&place, key, &made).is_ok() {
            store::evict(&self.directory, self.limit, &place);
        }
        drop(lock);
        Ok((made, false))
    }
}

/// The cache of the process, once it was requested or set.
static CURRENT: RwLock<Option<Option<Arc<Cache>>>> = RwLock::new(None);

/// Returns the cache that this process uses; `None` if it is turned off, or the user has no directory for caches.
pub fn current() -> Option<Arc<Cache>> {
    if let Some(cache) = &*CURRENT.read().unwrap_or_else(PoisonError::into_inner) {
        return cache.clone();
    }
    let mut current = CURRENT.write().unwrap_or_else(PoisonError::into_inner);
    current.get_or_insert_with(|| usual(std::env::var_os(VARIABLE)).map(Arc::new)).clone()
}

/// Sets the cache that this process uses from now on; `None` turns it off.
pub fn set(cache: Option<Cache>) {
    let before = CURRENT.write().unwrap_or_else(PoisonError::into_inner).replace(cache.map(Arc::new));
    // May unload its modules, with no lock held.
    drop(before);
}

/// Turns the cache off for this process.
pub fn disable() {
    set(None);
}

/// Returns the cache that the variable names, otherwise the user's.
fn usual(variable: Option<std::ffi::OsString>) -> Option<Cache> {
    match variable {
        Some(value) if value.is_empty() || value == "off" || value == "0" => None,
        Some(value) => {
            let path = PathBuf::from(value);
            // A relative path would depend on the program's current directory.
            path.is_absolute().then(|| Cache::at(path))
        }
        None => directories::ProjectDirs::from("", "", "hiprtc").map(|dirs| Cache::at(dirs.cache_dir())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_moves_the_cache_or_turns_it_off() {
        let path = std::env::temp_dir();
        assert_eq!(usual(Some(path.clone().into())).unwrap().directory(), path);
        for off in ["", "0", "off", "relative/path"] {
            assert!(usual(Some(off.into())).is_none(), "{off:?}");
        }
    }

    #[test]
    fn what_is_stored_is_found_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("deep/cache"));
        let key = Key::of_bytes(b"one");
        let stored = Stored {
            code: b"code".to_vec(),
            log: "warning".to_owned(),
            lowered: vec![("f<int>".into(), "_Zf".into())],
        };
        let get =
            |fail: bool| cache.get_or_make(&key, || if fail { Err("not there") } else { Ok(stored.clone()) }, || true);
        assert_eq!(get(true), Err("not there"));
        assert_eq!(get(false), Ok((stored.clone(), false)));
        assert_eq!(get(true), Ok((stored.clone(), true)));
        assert_eq!(cache.stats(), Stats { hits: 1, misses: 2, ..Stats::default() });
        cache.clear().unwrap();
        assert_eq!(get(true), Err("not there"));
        // A header changed during the compilation.
        let changed = cache.get_or_make(&key, || Ok::<_, ()>(stored.clone()), || false);
        assert_eq!(changed, Ok((stored.clone(), false)));
        assert_eq!(get(true), Err("not there"));
        Cache::at(folder.path().join("nothing")).clear().unwrap();
    }

    /// One thread compiles; the others wait for it.
    #[test]
    fn one_of_many_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let made = AtomicU64::new(0);
        let key = Key::of_bytes(b"shared");
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let cache = Cache::at(folder.path());
                    let result = cache.get_or_make(
                        &key,
                        || {
                            made.fetch_add(1, Relaxed);
                            std::thread::sleep(std::time::Duration::from_millis(50));
                            Ok::<_, ()>(Stored { code: b"code".to_vec(), ..Stored::default() })
                        },
                        || true,
                    );
                    assert_eq!(result.unwrap().0.code, b"code");
                });
            }
        });
        let most = if cfg!(unix) { 1 } else { 16 };
        assert!(made.load(Relaxed) <= most);
    }

    /// The same for a short compilation, whenever the other threads arrive.
    #[test]
    fn one_of_many_makes_it_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let start = std::sync::Barrier::new(8);
        for round in 0..100_u32 {
            let key = Key::of_bytes(&round.to_le_bytes());
            let before = cache.stats().misses;
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        start.wait();
                        cache.get_or_make(&key, || Ok::<_, ()>(Stored::default()), || true).unwrap();
                    });
                }
            });
            assert!(!cfg!(unix) || cache.stats().misses == before + 1, "round {round}");
        }
    }

    /// If nothing can be written, there is no cache and no error.
    #[test]
    fn a_directory_that_cannot_be_made_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let cache = Cache::at(file.join("cache"));
        let stored = Stored { code: b"code".to_vec(), ..Stored::default() };
        for _ in 0..2 {
            let result = cache.get_or_make(&Key::of_bytes(b"x"), || Ok::<_, ()>(stored.clone()), || true);
            assert_eq!(result, Ok((stored.clone(), false)));
        }
    }
}
