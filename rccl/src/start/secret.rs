//! The secret that ranks share, and random numbers.

use std::io::{self, Read as _};

use super::Error;

/// The secret that ranks of a program share.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub(crate) [u8; 32]);

impl Secret {
    /// Creates a secret from any text.
    ///
    /// # Errors
    /// [`Error::Environment`] for a text of less than 16 bytes.
    pub fn new(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if text.len() < 16 {
            return Err(Error::environment("RCCL_RS_SECRET", None, "a secret of at least 16 bytes is needed"));
        }
        Ok(Self(blake3::derive_key("rccl 2026-11 ranks of one program", text.as_bytes())))
    }

    /// Generates a new secret, as text.
    ///
    /// # Errors
    /// [`Error::Connection`] if the system cannot provide random numbers.
    pub fn generate() -> Result<String, Error> {
        let random: [u8; 32] = random().map_err(|error| Error::connection("/dev/urandom", error))?;
        Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(super) fn from_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, Error> {
        if let Some(text) = variable("RCCL_RS_SECRET") {
            return Self::new(&text);
        }
        let Some(path) = variable("RCCL_RS_SECRET_FILE") else {
            let needed = "set it, or RCCL_RS_SECRET_FILE, to the same text on all ranks: it keeps strangers out";
            return Err(Error::environment("RCCL_RS_SECRET", None, needed));
        };
        let text = std::fs::read_to_string(&path).map_err(|error| {
            Error::environment("RCCL_RS_SECRET_FILE", Some(path.clone()), format!("a file that can be read ({error})"))
        })?;
        Self::new(&text)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Returns random bytes of the system.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
