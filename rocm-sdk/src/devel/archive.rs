//! Reads `_devel.tar.xz` and `_devel.tar`, entry by entry, with limits against damaged and hostile archives.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use lzma_rust2::XzReader;
use tar::EntryType;

use super::error::Error;

/// Maximum size of an entry's headers, long names and the padding before them.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Maximum size of the zeros after the end: tar pads an archive to whole records, usually of 10 KiB.
const MAX_PADDING_BYTES: u64 = 64 << 20;
/// Memory limit of xz. The dictionary of `xz -9` takes 64 MiB.
const MAX_XZ_KIB: u32 = 512 << 10;

/// The kind of an entry, before its name is checked.
pub(super) enum Kind {
    Directory,
    File {
        executable: bool,
    },
    /// A symbolic link with its target.
    Link(Vec<u8>),
    /// A hard link to an earlier entry.
    HardLink(Vec<u8>),
}

/// Finds the archive in the package's directory.
pub(super) fn find(package: &Path) -> Option<PathBuf> {
    ["_devel.tar.xz", "_devel.tar"].into_iter().map(|name| package.join(name)).find(|path| path.is_file())
}

/// Calls `each` with every entry's raw name, kind and content. `read` receives the number of bytes read from the
/// archive's file, which also changes while an entry's content is read.
pub(super) fn for_each(
    archive: &Path,
    read: &Rc<Cell<u64>>,
    mut each: impl FnMut(&[u8], Kind, Option<u64>, &mut dyn Read, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let damaged = |error: io::Error| Error::Damaged { archive: archive.to_owned(), why: explain(&error) };
    let file = File::open(archive).map_err(Error::io("open", archive))?;
    let counted = Counted { inner: BufReader::with_capacity(1 << 17, file), read: Rc::clone(read) };
    let plain: Box<dyn Read> = if archive.extension().is_some_and(|e| e == "xz") {
        Box::new(XzReader::new_mem_limit(counted, true, MAX_XZ_KIB))
    } else {
        Box::new(counted)
    };
    let state = Rc::new(State { allowance: Cell::new(MAX_HEADER_BYTES), at_end: Cell::new(false) });
    let mut tar = tar::Archive::new(Bounded { inner: plain, state: Rc::clone(&state) });
    let mut entries = tar.entries().map_err(damaged)?;
    loop {
        state.allowance.set(MAX_HEADER_BYTES);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(damaged)?;
        let name = entry.path_bytes().into_owned();
        let header = entry.header();
        let refused = |why: &str| Error::refused(archive, &name, why);
        let target = || entry.link_name_bytes().map(|t| t.into_owned()).unwrap_or_default();
        let kind = match header.entry_type() {
            // In the oldest archives a directory is a file whose name ends in `/`.
            EntryType::Regular | EntryType::Continuous if name.ends_with(b"/") => Kind::Directory,
            EntryType::Regular | EntryType::Continuous => {
                Kind::File { executable: header.mode().map_err(damaged)? & 0o100 != 0 }
            }
            EntryType::Directory => Kind::Directory,
            EntryType::Symlink => Kind::Link(target()),
            EntryType::Link => Kind::HardLink(target()),
            // It does not describe a file.
            EntryType::XGlobalHeader => continue,
            EntryType::Char | EntryType::Block => return Err(refused("a device")),
            EntryType::Fifo => return Err(refused("a pipe")),
            EntryType::GNUSparse => return Err(refused("a sparse file")),
            other => return Err(refused(&format!("an entry of the unknown type {:?}", other.as_byte() as char))),
        };
        let size = entry.size();
        if size > 0 && !matches!(kind, Kind::File { .. }) {
            return Err(refused("content in an entry that is not a file"));
        }
        let modified = header.mtime().ok();
        state.allowance.set(u64::MAX);
        each(&name, kind, modified, &mut entry, size)?;
    }
    if state.at_end.get() {
        // A complete archive ends with a zero block; this one just stops.
        return Err(damaged(io::ErrorKind::UnexpectedEof.into()));
    }
    // The rest is padding. Reading it makes xz verify its checksums.
    let mut rest = tar.into_inner();
    let mut buffer = [0; 1 << 16];
    state.allowance.set(MAX_PADDING_BYTES);
    loop {
        match rest.read(&mut buffer).map_err(damaged)? {
            0 => return Ok(()),
            n if buffer[..n].iter().any(|&b| b != 0) => {
                let why = "something follows the end of the archive".to_owned();
                return Err(Error::Damaged { archive: archive.to_owned(), why });
            }
            _ => {}
        }
    }
}

/// Returns a readable message for a read error: the reader's own messages describe its internals.
pub(super) fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is cut short".to_owned(),
        // The reader's message may quote the archive.
        _ => {
            let words = error.to_string().replace(char::is_control, " ");
            format!("it is damaged: {}", words.chars().take(200).collect::<String>())
        }
    }
}

/// Counts the bytes read from the file.
struct Counted<R> {
    inner: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

struct State {
    /// The number of bytes that may still be read.
    allowance: Cell<u64>,
    at_end: Cell<bool>,
}

/// Reads no more than allowed: a header that announces a name of gigabytes is an error, and allocates nothing.
struct Bounded<R> {
    inner: R,
    state: Rc<State>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let allowance = self.state.allowance.get();
        if allowance == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a header that is too long"));
        }
        let most = usize::try_from(allowance).unwrap_or(usize::MAX).min(buffer.len());
        let n = self.inner.read(&mut buffer[..most])?;
        self.state.at_end.set(n == 0 && !buffer.is_empty());
        if allowance != u64::MAX {
            self.state.allowance.set(allowance - n as u64);
        }
        Ok(n)
    }
}
