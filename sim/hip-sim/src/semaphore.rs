//! Semaphores of other APIs, by file descriptor.
//!
//! Below the software GPU there is no driver that knows what a descriptor refers to. It supports two kinds:
//! - A binary semaphore (`hipExternalSemaphoreHandleTypeOpaqueFd`) is an `eventfd`, which is signalled when its count
//!   is not zero. A signal adds one; a wait resets it (an `EFD_SEMAPHORE` is decremented).
//! - A timeline (`hipExternalSemaphoreHandleTypeTimelineSemaphoreFd`) is a readable and writable file. Its first eight
//!   bytes are [`TIMELINE`], the next eight its value in little-endian order. A signal writes the value, which must be
//!   larger than the previous one; a wait polls until the value is reached. It can be a `memfd`, a file in `/dev/shm`,
//!   or any other file.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_sys::rocm_7_2::{hipErrorInvalidValue, hipErrorUnknown};

use crate::fault::Failure;
use crate::patience::Patience;
use crate::status::Refusal;

/// The first bytes of a timeline's file.
const TIMELINE: [u8; 8] = *b"HIPTIME1";

/// The declared kind of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Binary,
    Timeline,
}

/// The semaphore behind a `hipExternalSemaphore_t`.
pub(crate) struct Semaphore {
    what: What,
    file: File,
    /// Held between reading the value and acting on it.
    turn: Mutex<()>,
}

impl Semaphore {
    /// Takes ownership of a descriptor if it is such a semaphore. Otherwise the caller keeps it.
    pub(crate) fn take(descriptor: RawFd, what: What) -> Result<Self, Refusal> {
        let refused = |why: String| {
            Err(Refusal::new(hipErrorInvalidValue, format!("descriptor {descriptor} is no {what:?} semaphore: {why}")))
        };
        let target = match std::fs::read_link(format!("/proc/self/fd/{descriptor}")) {
            Ok(target) => target,
            Err(error) => return refused(error.to_string()),
        };
        let is_event = target.as_os_str() == "anon_inode:[eventfd]";
        if is_event != (what == What::Binary) {
            return refused(format!(
                "it is {}; a binary one is an eventfd, a timeline a file that begins with {}",
                target.display(),
                TIMELINE.escape_ascii()
            ));
        }
        // SAFETY: it is open; the caller of HIP passes its ownership, and until the end of this function it is given back.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
        let semaphore = Self { what, file, turn: Mutex::default() };
        let mut start = [0; 8];
        let found = match what {
            What::Binary => Ok(()),
            What::Timeline => semaphore.file.read_exact_at(&mut start, 0).and_then(|()| semaphore.value().map(drop)),
        };
        let why = match found {
            Ok(()) if what == What::Binary || start == TIMELINE => return Ok(semaphore),
            Ok(()) => format!("it begins with {} in place of {}", start.escape_ascii(), TIMELINE.escape_ascii()),
            Err(error) => error.to_string(),
        };
        let _ = std::os::fd::IntoRawFd::into_raw_fd(semaphore.file);
        refused(why)
    }

    /// The value of a timeline.
    fn value(&self) -> std::io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, 8)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn failed(&self, doing: &str, error: &std::io::Error) -> Failure {
        Failure::new(hipErrorUnknown, format!("{doing} a {:?} semaphore of another API: {error}", self.what))
    }

    /// Signals the semaphore. A timeline's value becomes `value`.
    pub(crate) fn signal(&self, value: u64) -> Result<(), Failure> {
        let failed = |error| self.failed("signalling", &error);
        if self.what == What::Binary {
            return (&self.file).write_all(&1_u64.to_ne_bytes()).map_err(failed);
        }
        let _turn = self.turn();
        let before = self.value().map_err(failed)?;
        if value <= before {
            let text =
                format!("a timeline of another API is signalled with {value}, and is at {before}: it has to grow");
            return Err(Failure::new(hipErrorInvalidValue, text));
        }
        self.file.write_all_at(&value.to_le_bytes(), 8).map_err(failed)
    }

    /// Waits until the semaphore is signalled, or a timeline has reached `value`. Calls `goes_on` regularly, and stops
    /// waiting with the error that it returns.
    pub(crate) fn wait(&self, value: u64, mut goes_on: impl FnMut() -> Result<(), Failure>) -> Result<(), Failure> {
        let failed = |error| self.failed("waiting for", &error);
        let mut patience = Patience::default();
        loop {
            goes_on()?;
            let done = match self.what {
                What::Timeline => self.value().map(|found| found >= value),
                What::Binary => self.take_signal(),
            };
            if done.map_err(failed)? {
                return Ok(());
            }
            patience.pause();
        }
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Consumes the signal of a binary semaphore, if it is signalled.
    fn take_signal(&self) -> std::io::Result<bool> {
        let _turn = self.turn();
        if !self.is_signalled()? {
            return Ok(false);
        }
        match (&self.file).read_exact(&mut [0; 8]) {
            // Another process has consumed the signal first.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
            read => read.map(|()| true),
        }
    }

    fn is_signalled(&self) -> std::io::Result<bool> {
        let mut asked = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which is valid for reads and writes.
        match unsafe { libc::poll(&mut asked, 1, 0) } {
            -1 => match std::io::Error::last_os_error() {
                error if error.kind() == std::io::ErrorKind::Interrupted => Ok(false),
                error => Err(error),
            },
            found => Ok(found > 0),
        }
    }
}
