//! Prepares the source of `core` for the device: panic messages are texts without values.
//!
//! `core::fmt` calls through pointers, which needs a stack of unknown size, and is 200 KB of code. So a kernel's panic
//! handler formats nothing, and `expect("text")`, which `core` formats, would lose its text.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Files of `core/src`, the text to replace, and the replacement. Text that another release of Rust does not contain
/// stays unchanged: only its message is lost.
const CHANGES: &[(&str, &str, &str)] = &[
    (
        "option.rs",
        "    panic_display(&msg)\n",
        "    // SAFETY: the text is read before this ends.\n    panic(unsafe { crate::mem::transmute::<&str, &'static str>(msg) })\n",
    ),
    (
        "result.rs",
        "    panic!(\"{msg}: {error:?}\");\n",
        "    let _ = error;\n    // SAFETY: the text is read before this ends.\n    \
         crate::panicking::panic(unsafe { crate::mem::transmute::<&str, &'static str>(msg) })\n",
    ),
    (
        "panicking.rs",
        "    panic!(\"index out of bounds: the len is {len} but the index is {index}\")\n",
        "    let _ = (index, len);\n    panic(\"index out of bounds\")\n",
    ),
    (
        "panicking.rs",
        "    match args {\n        Some(args) => panic!(\n            r#\"assertion",
        "    if true {\n        let _ = (left, right, args);\n        panic(match kind {\n            \
         AssertKind::Eq => \"assertion `left == right` failed\",\n            \
         AssertKind::Ne => \"assertion `left != right` failed\",\n            \
         AssertKind::Match => \"assertion `left matches right` failed\",\n        })\n    }\n    \
         match args {\n        Some(args) => panic!(\n            r#\"assertion",
    ),
];

/// Creates the folder `library` in `folder`, with the source of `core`, from the compiler's. Unchanged files are links.
#[cfg(unix)]
pub(crate) fn prepare(library: &Path, folder: &Path) -> Result<PathBuf> {
    let error = |path: &Path| {
        let path = path.to_owned();
        move |reason| Error::File { path, reason }
    };
    let link_all = |from: &Path, to: &Path, but: &[&str]| {
        fs::create_dir_all(to).map_err(error(to))?;
        for entry in fs::read_dir(from).map_err(error(from))? {
            let entry = entry.map_err(error(from))?;
            let name = entry.file_name();
            if !but.iter().any(|other| name == *other) {
                let place = to.join(&name);
                std::os::unix::fs::symlink(entry.path(), &place).map_err(error(&place))?;
            }
        }
        Ok(())
    };
    let library = fs::canonicalize(library).map_err(error(library))?;
    let made = folder.join("library");
    link_all(&library, &made, &["core"])?;
    link_all(&library.join("core"), &made.join("core"), &["src"])?;
    let changed: Vec<&str> = CHANGES.iter().map(|(file, ..)| *file).collect();
    let (from, to) = (library.join("core/src"), made.join("core/src"));
    link_all(&from, &to, &changed)?;
    for file in ["option.rs", "result.rs", "panicking.rs"] {
        let text = fs::read_to_string(from.join(file)).map_err(error(&from.join(file)))?;
        let of_file = CHANGES.iter().filter(|(name, ..)| *name == file);
        let text = of_file.fold(text, |text, (_, old, new)| text.replacen(old, new, 1));
        fs::write(to.join(file), text).map_err(error(&to.join(file)))?;
    }
    Ok(made)
}

/// On platforms without links, uses the compiler's own source.
#[cfg(not(unix))]
pub(crate) fn prepare(library: &Path, _: &Path) -> Result<PathBuf> {
    Ok(library.to_owned())
}
