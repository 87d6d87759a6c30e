//! Entries: one file each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::key::Key;

/// What entries begin with; another number is another format.
const MAGIC: &[u8; 16] = b"hiprtc cache 01\n";
/// Bytes before the fields: the magic, the key, a hash of the rest.
const HEADER: usize = 16 + 32 + 32;
/// What the names of entries end with.
const EXTENSION: &str = "code";

/// What an entry holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) code: Vec<u8>,
    pub(crate) log: String,
    /// Name expressions and their lowered names.
    pub(crate) lowered: Vec<(String, String)>,
}

impl Stored {
    fn fields(&self) -> Vec<u8> {
        let names = self.lowered.iter().flat_map(|(expression, name)| [expression.as_bytes(), name.as_bytes()]);
        let mut bytes = Vec::new();
        for field in [self.code.as_slice(), self.log.as_bytes()].into_iter().chain(names) {
            bytes.extend_from_slice(&(field.len() as u64).to_le_bytes());
            bytes.extend_from_slice(field);
        }
        bytes
    }

    /// The same back; `None` if these are no such fields.
    fn parse(mut bytes: &[u8]) -> Option<Self> {
        let mut next = || -> Option<Option<&[u8]>> {
            if bytes.is_empty() {
                return Some(None);
            }
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let (field, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            bytes = rest;
            Some(Some(field))
        };
        let text = |field: &[u8]| String::from_utf8(field.to_vec()).ok();
        let (code, log) = (next()??.to_vec(), text(next()??)?);
        let mut lowered = Vec::new();
        while let Some(expression) = next()? {
            lowered.push((text(expression)?, text(next()??)?));
        }
        Some(Self { code, log, lowered })
    }
}

/// Where the entry of a key is.
pub(super) fn place(directory: &Path, key: &Key) -> PathBuf {
    let name = key.name();
    directory.join(&name[..2]).join(name).with_extension(EXTENSION)
}

/// Makes a folder that is the user's alone.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The entry at `place`, if it is whole and of this key. It counts as used.
pub(super) fn read(place: &Path, key: &Key) -> Option<Stored> {
    let file = fs::File::open(place).ok()?;
    if !is_own(&file.metadata().ok()?) {
        return None;
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut &file, &mut bytes).ok()?;
    let stored = parse(&bytes, key);
    if stored.is_some() {
        // Where that is not possible it is removed earlier.
        let times = fs::FileTimes::new().set_modified(SystemTime::now());
        let _ = file.set_times(times);
    }
    stored
}

/// Whether only this user can have written it: it holds code.
#[cfg(unix)]
fn is_own(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0
}

#[cfg(not(unix))]
fn is_own(_: &fs::Metadata) -> bool {
    true
}

fn parse(bytes: &[u8], key: &Key) -> Option<Stored> {
    let (header, fields) = bytes.split_at_checked(HEADER)?;
    let is_ours = header.starts_with(MAGIC) && header[16..48] == *key.bytes();
    (is_ours && header[48..] == *blake3::hash(fields).as_bytes()).then(|| Stored::parse(fields))?
}

/// Writes an entry: whole, or not at all.
pub(super) fn write(place: &Path, key: &Key, stored: &Stored) -> io::Result<()> {
    use std::io::Write as _;

    let folder = place.parent().unwrap_or(place);
    make_folder(folder)?;
    let fields = stored.fields();
    // A name that no other process or thread uses.
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let beside = place.with_extension(format!("{}-{number}.new", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&beside).and_then(|mut file| {
        for part in [&MAGIC[..], key.bytes(), blake3::hash(&fields).as_bytes(), &fields] {
            file.write_all(part)?;
        }
        drop(file);
        fs::rename(&beside, place)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Files of a cache, with what they are called, their bytes and when they were used. Others' files are not looked at.
fn files(directory: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let shards = entries(directory).filter(|shard| {
        let name = shard.file_name();
        let name = name.to_string_lossy();
        name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    let files = shards.flat_map(|shard| entries(&shard.path()).collect::<Vec<_>>());
    files
        .filter_map(|file| {
            let data = file.metadata().ok()?;
            let known = [EXTENSION, "lock", "new"].map(Some);
            let path = file.path();
            let ours = known.contains(&path.extension().and_then(|extension| extension.to_str()));
            (ours && data.is_file()).then(|| Some((path, data.len(), data.modified().ok()?)))?
        })
        .collect()
}

/// Removes the entries that were not used for longest, until nine tenths of the limit are left; not the one at `keep`.
pub(super) fn evict(directory: &Path, limit: u64, keep: &Path) {
    let mut files = files(directory);
    let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    if total <= limit {
        return;
    }
    files.sort_by_key(|(_, _, used)| *used);
    for (path, bytes, _) in files {
        if total <= limit / 10 * 9 {
            return;
        }
        let is_entry = path.extension().is_some_and(|extension| extension == EXTENSION);
        if is_entry && path != keep && fs::remove_file(&path).is_ok() {
            total -= bytes;
        }
    }
}

/// Removes all entries.
pub(super) fn clear(directory: &Path) -> io::Result<()> {
    for (path, ..) in files(directory) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sample() -> Stored {
        Stored { code: vec![7; 100], log: "a log".into(), lowered: vec![("f<int>".into(), "_Z1f".into())] }
    }

    /// Whatever byte is changed, wherever it is cut off: it is not taken for an entry.
    #[test]
    fn damaged_and_foreign_entries_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::of_bytes(b"x");
        let place = place(folder.path(), &key);
        write(&place, &key, &sample()).unwrap();
        assert_eq!(read(&place, &key), Some(sample()));
        let bytes = fs::read(&place).unwrap();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert_eq!(parse(&bad, &key), None, "byte {at}");
            assert_eq!(parse(&bytes[..at], &key), None, "cut off at {at}");
        }
        assert_eq!(parse(&bytes, &Key::of_bytes(b"y")), None, "of another key");
        fs::write(&place, "foreign").unwrap();
        assert_eq!(read(&place, &key), None);
        write(&place, &key, &sample()).unwrap();
        assert_eq!(read(&place, &key), Some(sample()), "replaced");
    }

    #[cfg(unix)]
    #[test]
    fn entries_are_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let key = Key::of_bytes(b"x");
        let directory = folder.path().join("cache");
        let place = place(&directory, &key);
        write(&place, &key, &sample()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&directory), mode(place.parent().unwrap()), mode(&place)), (0o700, 0o700, 0o600));
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let keys: Vec<Key> = (0..5_u8).map(|n| Key::of_bytes(&[n])).collect();
        let places: Vec<PathBuf> = keys.iter().map(|key| place(folder.path(), key)).collect();
        for (n, (key, place)) in keys.iter().zip(&places).enumerate() {
            write(place, key, &sample()).unwrap();
            let file = fs::File::options().append(true).open(place).unwrap();
            let used = SystemTime::now() - Duration::from_secs(1000 - n as u64);
            file.set_times(fs::FileTimes::new().set_modified(used)).unwrap();
        }
        let other = places[0].parent().unwrap().join("somebody's.txt");
        fs::write(&other, vec![0; 100_000]).unwrap();
        assert!(read(&places[0], &keys[0]).is_some(), "used now");
        let bytes = fs::metadata(&places[0]).unwrap().len();
        evict(folder.path(), 5 * bytes, &places[4]);
        assert!(places.iter().all(|place| place.exists()), "within the limit");
        evict(folder.path(), 4 * bytes, &places[4]);
        let left: Vec<bool> = places.iter().map(|place| place.exists()).collect();
        assert_eq!(left, [true, false, false, true, true]);
        assert!(other.exists());
    }
}
