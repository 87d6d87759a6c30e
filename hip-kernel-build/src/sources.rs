//! Where the source of the device library is: beside this crate, in a checkout, a vendored folder or Cargo's registry.

use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

pub(crate) struct Sources {
    /// `hip-kernel`
    pub(crate) device: PathBuf,
    /// `hip-kernel-macros`
    pub(crate) macros: PathBuf,
}

impl Sources {
    pub(crate) fn find() -> Result<Self> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let beside = |name: &str| {
            let folder = own.parent().unwrap_or(own);
            let all = [folder.join(name), folder.join(format!("{name}-{}", env!("CARGO_PKG_VERSION")))];
            all.into_iter().find(|path| path.join("src/lib.rs").is_file()).ok_or_else(|| {
                let version = env!("CARGO_PKG_VERSION");
                Error::Unavailable(format!(
                    "{name} {version} is not beside {}: use the same version of hip-kernel and hip-kernel-build",
                    own.display()
                ))
            })
        };
        Ok(Self { device: beside("hip-kernel")?, macros: beside("hip-kernel-macros")? })
    }

    /// Of all that is compiled.
    pub(crate) fn hash(&self) -> Result<u64> {
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        for folder in [self.device.join("src"), self.device.join("ir"), self.macros.join("src")] {
            let error = |reason| Error::File { path: folder.clone(), reason };
            let mut files =
                fs::read_dir(&folder).map_err(error)?.flatten().map(|entry| entry.path()).collect::<Vec<_>>();
            files.sort();
            for file in files {
                fs::read(&file).map_err(|reason| Error::File { path: file.clone(), reason })?.hash(&mut hasher);
            }
        }
        Ok(hasher.finish())
    }
}
