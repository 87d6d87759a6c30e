//! The program of `cuda-compat/CANDLE.md`: built from the text of the page, and run on the software GPU.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::patch;
use crate::paths;
use crate::suites::registry::write;

/// The name by which `--crates` selects it.
pub(super) const NAME: &str = "CANDLE.md";

/// The path of the checkout on the page.
const CHECKOUT: &str = "../rocm-for-rust";

/// Writes the application, and returns its folder.
pub(super) fn application() -> Result<PathBuf> {
    let page = fs::read_to_string(paths::root().join("cuda-compat").join(NAME))?;
    let folder = patch::folder().join("candle-app");
    fs::create_dir_all(folder.join("src"))?;
    for (name, text) in files(&page)? {
        let end = if name == "Cargo.toml" { "\n[workspace]\n" } else { "" };
        let text = text.replace(CHECKOUT, &paths::root().display().to_string());
        write(&folder.join(name), &format!("{text}{end}"))?;
    }
    Ok(folder)
}

/// Returns the page's manifest and program.
fn files(page: &str) -> Result<[(&'static str, &str); 2]> {
    let block = |name: &str| {
        let (_, rest) = page.split_once(&format!("`candle-app/{name}`")).with_context(|| format!("no {name}"))?;
        let (_, rest) = rest.split_once("\n```").context("no code")?;
        let (_, code) = rest.split_once('\n').context("no code")?;
        code.split_once("```").map(|(code, _)| code).context("no end of the code")
    };
    Ok([("Cargo.toml", block("Cargo.toml")?), ("src/main.rs", block("src/main.rs")?)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_files_of_an_application() {
        let page = fs::read_to_string(paths::root().join("cuda-compat").join(NAME)).unwrap();
        let [(_, manifest), (_, program)] = files(&page).unwrap();
        assert!(
            manifest.starts_with("[package]\n")
                && manifest.contains(&format!("path = \"{CHECKOUT}/cuda-compat/cudarc\""))
        );
        assert!(program.starts_with("use candle_core::") && program.ends_with("}\n"), "{program}");
    }
}
