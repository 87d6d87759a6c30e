//! Small text files of an installation. Anything may lie at their paths.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Larger than any such file.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Reads the text of a regular file of a reasonable size.
pub fn read(path: &Path) -> io::Result<String> {
    // Checked before the file is opened: opening a pipe would block until it has a writer.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    if metadata.len() > MOST_BYTES {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("{} bytes long", metadata.len())));
    }
    let mut text = String::new();
    File::open(path)?.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
