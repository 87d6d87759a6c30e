//! Finds the source of the device library: next to this crate, in a checkout, a vendored folder or Cargo's registry.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::manifest::Hash;

pub(crate) struct Sources {
    /// The folder of `hip-kernel`.
    pub(crate) device: PathBuf,
    /// The folder of `hip-kernel-macros`.
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

    /// Returns all files that are compiled.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut all = Vec::new();
        for folder in [self.device.join("src"), self.device.join("ir"), self.macros.join("src")] {
            let error = |reason| Error::File { path: folder.clone(), reason };
            let mut files =
                fs::read_dir(&folder).map_err(error)?.flatten().map(|entry| entry.path()).collect::<Vec<_>>();
            files.sort();
            all.extend(files);
        }
        Ok(all)
    }

    /// Returns the hash of all files that are compiled for the device: the same in each checkout.
    pub(crate) fn hash(&self) -> Result<String> {
        /// Files that are only used on the host.
        const HOST: [&str; 2] = ["host.rs", "code.rs"];
        let mut hash = Hash::new();
        for file in self.files()? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if file.parent() == Some(&self.device.join("src")) && HOST.contains(&&*name) {
                continue;
            }
            hash.add(name.as_bytes());
            hash.file(&file)?;
        }
        Ok(hash.hex())
    }
}
