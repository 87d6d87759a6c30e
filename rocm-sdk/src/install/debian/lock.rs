//! Locks between processes.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::install::error::{Result, While as _};
use crate::install::host;
use crate::install::progress::{Event, Progress};

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock(fs::File);

impl Lock {
    /// Waits until no other process holds the lock `file`, which is created with its folder if it is missing.
    ///
    /// # Errors
    /// [`Error::Io`](crate::install::Error::Io).
    pub fn hold(file: &Path, progress: &mut dyn Progress) -> Result<Self> {
        let folder = file.parent().unwrap_or(file);
        fs::create_dir_all(folder).while_(|| format!("creating {}", folder.display()))?;
        let locked = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(file);
        let locked = locked.while_(|| format!("creating {}", file.display()))?;
        let doing = || format!("locking {}", file.display());
        if !host::lock(&locked, false).while_(doing)? {
            progress.event(Event::Waiting(folder));
            host::lock(&locked, true).while_(doing)?;
        }
        Ok(Self(locked))
    }

    /// Returns the lock as another program's input: if that program outlives this process, it holds the lock until it
    /// ends.
    pub(crate) fn shared(&self) -> Result<Stdio> {
        self.0.try_clone().map(Stdio::from).while_(|| "sharing a lock".to_owned())
    }
}
