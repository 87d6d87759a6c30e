//! Files with code objects, and checking them on all cores.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use amdgpu_sim::bundle::{self, Bundle};
use amdgpu_sim::{Arch, LoadError, TargetId};
use anyhow::{Context, Result, anyhow, bail};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};
use rayon::prelude::*;

use crate::check::{Checker, Counts};

/// The approximate size of the pieces in which code is distributed to the cores.
const PIECE: usize = 1 << 18;

/// The amount of work, and how to do it.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The number of bytes of each code object that are checked, in pieces distributed over it; `None` for all.
    sample: Option<usize>,
    /// Whether the pieces of a code object are distributed to all cores.
    parallel: bool,
    /// Called with the number of completed bytes of the file.
    done: &'a (dyn Fn(u64) + Sync),
}

impl<'a> Work<'a> {
    /// Checks at most `sample` bytes of each code object, or all without a sample. Calls `done` with the number of
    /// completed bytes of the file.
    pub fn new(sample: Option<usize>, done: &'a (dyn Fn(u64) + Sync)) -> Self {
        Self { sample, parallel: true, done }
    }
}

/// The architecture for code with this target.
#[must_use]
pub fn arch_of(target: &TargetId) -> Option<Arch> {
    Arch::ALL.into_iter().find(|arch| arch.name() == target.processor)
}

/// The files with a library's code objects: the library itself, and the files in its folder `NAME/.../library`.
///
/// # Errors
/// Returns an error if the library does not exist or a folder cannot be read.
pub fn files_of(library: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let prefix = format!("lib{library}.so.");
    let entries = |folder: &Path| -> Result<Vec<PathBuf>> {
        let all = std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        all.map(|entry| Ok(entry?.path())).collect()
    };
    let mut found: Vec<PathBuf> = entries(folder)?;
    found.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        // `librccl.so.1`, but not also its link target, `librccl.so.1.0`.
        name.strip_prefix(&prefix).is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit()))
    });
    if found.len() != 1 {
        bail!("{} files are called {prefix}N in {}", found.len(), folder.display());
    }
    let mut open = vec![folder.join(library)];
    while let Some(folder) = open.pop().filter(|folder| folder.is_dir()) {
        for path in entries(&folder)? {
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
            if path.is_dir() {
                open.push(path);
            } else if matches!(ending, "co" | "hsaco") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Compares the code in one file. Returns the results for each processor, in the order of [`Arch::ALL`].
///
/// # Errors
/// Returns an error if the file cannot be read, contains no code or damaged code, or if there is no LLVM to compare
/// with.
pub fn check_file(path: &Path, work: &Work<'_>) -> Result<[Counts; 2]> {
    let bytes = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let found = Mutex::new([Counts::default(), Counts::default()]);
    let checked = if TargetId::of_elf(&bytes).is_some() {
        let checked = check_code(&bytes, &name, work, &found);
        (work.done)(bytes.len() as u64);
        checked
    } else {
        let bundles = bundle::bundles(&bytes).map_err(|e| anyhow!(e));
        bundles.and_then(|bundles| {
            let rest = bytes.len() - bundles.iter().map(|b| b.bytes().len()).sum::<usize>();
            (work.done)(rest as u64);
            let check = |bundle: &Bundle<'_>, parallel| {
                let checked = check_bundle(bundle, &name, &Work { parallel, ..*work }, &found);
                (work.done)(bundle.bytes().len() as u64);
                checked
            };
            // Never both: a thread that waits for pieces would start another bundle and keep this one in memory.
            if bundles.len() > rayon::current_num_threads() {
                bundles.par_iter().try_for_each(|bundle| check(bundle, false))
            } else {
                bundles.iter().try_for_each(|bundle| check(bundle, true))
            }
        })
    };
    checked.with_context(|| format!("in {}", path.display()))?;
    found.into_inner().map_err(|_| anyhow!("a thread has panicked"))
}

fn check_bundle(bundle: &Bundle<'_>, name: &str, work: &Work<'_>, found: &Mutex<[Counts; 2]>) -> Result<()> {
    let mut checked = Ok(());
    let ours = |entry: &bundle::Entry| entry.size > 0 && entry.target.as_ref().is_some_and(|t| arch_of(t).is_some());
    let read: Result<(), LoadError> = bundle.for_each(ours, |entry, code: Cow<'_, [u8]>| {
        if checked.is_ok() {
            let place = format!("{name}, {} at {:#x}", entry.id, entry.offset);
            checked = check_code(&code, &place, work, found);
        }
    });
    read?;
    checked
}

/// Compares a code object, if it is for one of the processors.
fn check_code(code: &[u8], name: &str, work: &Work<'_>, found: &Mutex<[Counts; 2]>) -> Result<()> {
    let Some(arch) = TargetId::of_elf(code).as_ref().and_then(arch_of) else { return Ok(()) };
    let pieces = pieces(code).with_context(|| format!("in {name}"))?;
    let wanted = work.sample.map_or(pieces.len(), |bytes| bytes.div_ceil(PIECE).min(pieces.len()).max(1));
    let chosen: Vec<_> = (0..wanted).map(|i| pieces[i * pieces.len() / wanted]).collect();
    let check = |(address, text): (u64, &[u8])| {
        with_checker(arch, |checker| {
            checker.check(text, &|offset| format!("{name}: {:#x}", address + offset as u64));
            checker.counts()
        })
    };
    let all: Result<Vec<Counts>> = match work.parallel {
        true => chosen.into_par_iter().map(check).collect(),
        false => chosen.into_iter().map(check).collect(),
    };
    let mut found = found.lock().map_err(|_| anyhow!("a thread has panicked"))?;
    let counts = &mut found[arch as usize];
    counts.code_objects += 1;
    all?.into_iter().for_each(|piece| counts.add(piece));
    Ok(())
}

/// Calls `work` with this thread's checker for `arch`.
fn with_checker<R>(arch: Arch, work: impl FnOnce(&mut Checker) -> R) -> Result<R> {
    thread_local! {
        static CHECKERS: std::cell::RefCell<[Option<Checker>; 2]> = const { std::cell::RefCell::new([None, None]) };
    }
    CHECKERS.with_borrow_mut(|checkers| {
        let checker = match &mut checkers[arch as usize] {
            Some(checker) => checker,
            empty => empty.insert(Checker::new(arch)?),
        };
        Ok(work(checker))
    })
}

/// The executable sections of a code object, in pieces that start at functions and so at an instruction: address and
/// bytes.
fn pieces(code: &[u8]) -> Result<Vec<(u64, &[u8])>> {
    let file = object::File::parse(code)?;
    let mut starts: Vec<u64> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|s| s.kind() == object::SymbolKind::Text)
        .map(|s| s.address())
        .collect();
    starts.sort_unstable();
    let mut pieces = Vec::new();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let (mut text, mut address) = (section.data()?, section.address());
        for &start in &starts {
            let len = start.saturating_sub(address) as usize;
            if len >= PIECE && len < text.len() && start % 4 == 0 {
                let (piece, rest) = text.split_at(len);
                pieces.push((address, piece));
                (text, address) = (rest, start);
            }
        }
        if !text.is_empty() {
            pieces.push((address, text));
        }
    }
    if pieces.is_empty() {
        bail!("no executable section");
    }
    Ok(pieces)
}
