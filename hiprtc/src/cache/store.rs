//! Entries: one file each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::key::Key;

/// The first bytes of an entry; another number means another format.
const MAGIC: &[u8; 16] = b"hiprtc cache 01\n";
/// Bytes before the fields: the magic, the key, a hash of the rest.
const HEADER: usize = 16 + 32 + 32;
/// File extension of entries.
const EXTENSION: &str = "code";

/// The content of an entry.
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

    /// Parses the fields; `None` if the bytes are not valid fields.
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

/// Returns the path of a key's entry.
pub(super) fn place(directory: &Path, key: &Key) -> PathBuf {
    let name = key.name();
    directory.join(&name[..2]).join(name).with_extension(EXTENSION)
}

/// Creates a folder that only the user can access.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Reads the entry at `place`, if it is complete and belongs to this key, and marks it as used.
pub(super) fn read(place: &Path, key: &Key) -> Option<Stored> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    // Opening a foreign pipe of this name would block.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.open(place).ok()?;
    let data = file.metadata().ok()?;
    if !data.is_file() || !is_own(&data) {
        return None;
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut &file, &mut bytes).ok()?;
    let stored = parse(&bytes, key);
    if stored.is_some() {
        // If the time cannot be set, the entry is evicted earlier.
        let times = fs::FileTimes::new().set_modified(SystemTime::now());
        let _ = file.set_times(times);
    }
    stored
}

/// Returns whether only this user can write the file. The cache holds code, so anything else is ignored.
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

/// Writes an entry, completely or not at all.
pub(super) fn write(place: &Path, key: &Key, stored: &Stored) -> io::Result<()> {
    use std::io::Write as _;

    let folder = place.parent().unwrap_or(place);
    make_folder(folder)?;
    let fields = stored.fields();
    let (mut file, beside) = new_file(place)?;
    let hash = blake3::hash(&fields);
    let parts = [&MAGIC[..], key.bytes(), hash.as_bytes(), &fields];
    let written = parts.into_iter().try_for_each(|part| file.write_all(part));
    drop(file);
    let written = written.and_then(|()| fs::rename(&beside, place));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Creates a temporary file next to an entry. The cache may be shared with processes that have the same number in other
/// containers, and a killed process may have left its file: the name must not exist yet.
fn new_file(place: &Path) -> io::Result<(fs::File, PathBuf)> {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let beside = place.with_extension(format!("{}-{number}.new", std::process::id()));
        match options.open(&beside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, beside)),
        }
    }
}

/// Returns the files of a cache with their names, sizes and times of last use. Other files in the directory are
/// skipped.
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

/// Age after which a temporary file counts as left by a killed process. Times further in the future than this come from
/// a wrong clock.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Removes the files of killed processes. If the cache exceeds its limit, also removes the least recently used entries,
/// except the one at `keep`, until nine tenths of the limit are left.
pub(super) fn evict(directory: &Path, limit: u64, keep: &Path) {
    let now = SystemTime::now();
    let is_entry = |path: &Path| path.extension().is_some_and(|extension| extension == EXTENSION);
    let (mut entries, others): (Vec<_>, Vec<_>) = files(directory).into_iter().partition(|(path, ..)| is_entry(path));
    for (path, _, written) in others {
        if now.duration_since(written).is_ok_and(|age| age > PATIENCE) {
            let _ = fs::remove_file(path);
        }
    }
    let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
    if total <= limit {
        return;
    }
    // Entries with times in the future would stay until then, and newly written ones would be removed first.
    entries.sort_by_key(|(_, _, used)| if *used > now + PATIENCE { SystemTime::UNIX_EPOCH } else { *used });
    for (path, bytes, _) in entries {
        if total <= limit / 10 * 9 {
            return;
        }
        if path != keep && fs::remove_file(&path).is_ok() {
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
    use super::*;

    fn sample() -> Stored {
        Stored { code: vec![7; 100], log: "a log".into(), lowered: vec![("f<int>".into(), "_Z1f".into())] }
    }

    /// Any changed byte and any truncation is detected.
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

    fn set_used(path: &Path, used: SystemTime) {
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_times(fs::FileTimes::new().set_modified(used)).unwrap();
    }

    /// The clock was one day ahead when the first entry was used.
    #[test]
    fn a_clock_that_goes_backwards_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let keys = [b"a", b"b", b"c"].map(|name| Key::of_bytes(name));
        let places = [0, 1, 2].map(|n| place(folder.path(), &keys[n]));
        (0..3).for_each(|n| write(&places[n], &keys[n], &sample()).unwrap());
        set_used(&places[0], SystemTime::now() + Duration::from_secs(86_400));
        let bytes = fs::metadata(&places[0]).unwrap().len();
        evict(folder.path(), 3 * bytes - 1, &places[2]);
        assert_eq!([0, 1, 2].map(|n| places[n].exists()), [false, true, true]);
        set_used(&places[1], SystemTime::now() + Duration::from_secs(86_400));
        set_used(&places[2], SystemTime::now() - Duration::from_secs(5));
        assert_eq!(read(&places[1], &keys[1]), Some(sample()), "and it has a time of now");
        evict(folder.path(), 2 * bytes - 1, Path::new("none"));
        assert_eq!([1, 2].map(|n| places[n].exists()), [true, false]);
    }

    #[test]
    fn what_killed_processes_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::of_bytes(b"x");
        let place = place(folder.path(), &key);
        write(&place, &key, &sample()).unwrap();
        let left = ["new", "lock"].map(|extension| place.with_extension(format!("1-0.{extension}")));
        left.iter().for_each(|path| fs::write(path, vec![0; 1000]).unwrap());
        // They do not count as entries, so that no entry is removed in their place.
        evict(folder.path(), fs::metadata(&place).unwrap().len(), Path::new("none"));
        assert!(left.iter().all(|path| path.exists()) && place.exists(), "in use, perhaps");
        left.iter().for_each(|path| set_used(path, SystemTime::now() - 2 * PATIENCE));
        evict(folder.path(), u64::MAX, Path::new("none"));
        assert!(!left.iter().any(|path| path.exists()) && place.exists());
    }

    /// A process with the same number has left the file that this one would write next.
    #[test]
    fn files_of_others_are_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("x.code");
        let (_, first) = new_file(&place).unwrap();
        let number: u64 =
            first.to_str().unwrap().rsplit_once('-').unwrap().1.strip_suffix(".new").unwrap().parse().unwrap();
        let others: Vec<PathBuf> =
            (1..20).map(|n| place.with_extension(format!("{}-{}.new", std::process::id(), number + n))).collect();
        others.iter().for_each(|path| fs::write(path, "other").unwrap());
        let (_, second) = new_file(&place).unwrap();
        assert!(!others.contains(&second), "{second:?}");
        assert!(others.iter().all(|path| fs::read(path).unwrap() == b"other"));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_folders_in_the_place_of_an_entry_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::of_bytes(b"x");
        let place = place(folder.path(), &key);
        make_folder(place.parent().unwrap()).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&place).status();
        if made.is_ok_and(|status| status.success()) {
            assert_eq!(read(&place, &key), None);
            write(&place, &key, &sample()).unwrap();
            assert_eq!(read(&place, &key), Some(sample()), "replaced");
            fs::remove_file(&place).unwrap();
        }
        // A non-empty folder cannot be replaced: no entry is written, and no temporary file is left.
        fs::create_dir(&place).unwrap();
        fs::write(place.join("file"), "").unwrap();
        assert_eq!(read(&place, &key), None);
        assert!(write(&place, &key, &sample()).is_err());
        assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
    }

    /// Runs in a process whose files are limited to 512 bytes: as on a full disk, only a part is written.
    #[cfg(unix)]
    #[test]
    fn a_full_disk_leaves_nothing_behind() {
        const INSIDE: &str = "HIPRTC_TEST_FULL";
        let Some(folder) = std::env::var_os(INSIDE) else {
            let folder = tempfile::tempdir().unwrap();
            let program = std::env::args_os().next().unwrap();
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""]).arg(program);
            shell.args(["--exact", "cache::store::tests::a_full_disk_leaves_nothing_behind", "--nocapture"]);
            let output = shell.env(INSIDE, folder.path()).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success() && text.contains("refused"), "{text}");
            return;
        };
        let key = Key::of_bytes(b"x");
        let place = place(Path::new(&folder), &key);
        let large = Stored { code: vec![7; 100_000], ..sample() };
        let error = write(&place, &key, &large).unwrap_err();
        println!("refused: {error}");
        assert_eq!(read(&place, &key), None);
        assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 0);
        // A compilation still returns its result.
        let cache = crate::cache::Cache::at(folder);
        assert_eq!(cache.get_or_make(&key, || Ok::<_, ()>(large.clone()), || true), Ok((large, false)));
        write(&place, &key, &Stored::default()).unwrap();
    }
}
