//! `rocm-llvm extract`.

use std::path::PathBuf;

use super::file::File;
use super::output::{Result, print};

/// Write each code object of a file into a file of its own.
///
/// The files are named FILE.BUNDLE.ARCH.co, as in libfoo.so.0.gfx90a.co; a colon in an architecture becomes a dash.
/// Existing files are not replaced, unless --force is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Extract {
    /// An offload bundle, host library or program
    file: PathBuf,
    /// The directory to write to; it is created
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Only code for this architecture: gfx90a, or gfx90a:xnack-
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// Replace files
    #[arg(long)]
    force: bool,
}

impl Extract {
    pub(crate) fn run(&self) -> Result<()> {
        let file = File::read(&self.file)?;
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut written = 0;
        let mut made = false;
        file.for_each(|code| {
            if !code.is_for(self.arch.as_deref()) {
                return Ok(());
            }
            if !made {
                std::fs::create_dir_all(&self.output)
                    .map_err(|error| format!("cannot create {}: {error}", self.output.display()))?;
                made = true;
            }
            let target = code.target().unwrap_or_else(|| "unknown".to_owned());
            // The file controls the name of its entries: it must not leave the directory.
            let plain = |c: char| if c.is_ascii_alphanumeric() || "-+_.".contains(c) { c } else { '-' };
            let target: String = target.chars().map(plain).collect();
            let path = self.output.join(format!("{name}.{}.{target}.co", code.bundle.unwrap_or(0)));
            let mut options = std::fs::OpenOptions::new();
            match self.force {
                true => options.write(true).create(true).truncate(true),
                false => options.write(true).create_new(true),
            };
            let shown = path.display();
            let mut to = options.open(&path).map_err(|error| format!("cannot create {shown}: {error}"))?;
            std::io::Write::write_all(&mut to, code.bytes).map_err(|error| format!("cannot write {shown}: {error}"))?;
            written += 1;
            print(&format!("{shown}\n"))
        })?;
        match (written, &self.arch) {
            (0, Some(arch)) => Err(format!("{} has no code for {arch}", file.path)),
            (0, None) => Err(format!("{} has no code for AMD GPUs", file.path)),
            _ => Ok(()),
        }
    }
}
