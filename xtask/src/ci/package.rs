//! The step `package`.

use anyhow::{Result, ensure};

use crate::bench;
use crate::workspace;

/// Packs every published crate and checks that it contains the files that users need.
pub(super) fn package() -> Result<()> {
    for package in workspace::published()? {
        let manifest = std::fs::read_to_string(package.folder.join("Cargo.toml"))?;
        let root = std::fs::read_to_string(package.folder.join("src/lib.rs"))?;
        let badges = manifest.contains(r#"rustdoc-args = ["--cfg", "docsrs"]"#)
            && root.contains("#![cfg_attr(docsrs, feature(doc_cfg))]");
        ensure!(badges, "docs.rs shows no feature badges for {}: see hip's Cargo.toml and lib.rs", package.name);
    }
    for (name, archive) in bench::pack(&workspace::published()?)? {
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"] {
            ensure!(archive.files.iter().any(|packed| packed == file), "the package of {name} lacks {file}");
        }
        let tests: Vec<&String> = archive.files.iter().filter(|file| file.starts_with("tests/")).collect();
        let documented =
            |file: &&String| ["globals", "kernels"].iter().any(|kernel| file.contains(&format!("/{kernel}.gfx90a.co")));
        ensure!(
            name != "hip" || tests.iter().all(documented),
            "the package of hip has more than its doc tests need: {tests:?}"
        );
    }
    Ok(())
}
