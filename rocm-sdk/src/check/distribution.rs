//! Checks `share/therock/dist_info.json`, which lists the GPUs that a distribution is built for.

use super::report::{Collector, Finding};
use super::subject::Subject;
use crate::distribution::Distribution;

pub(super) fn check(subject: &Subject, collector: &mut Collector<'_>) {
    let root = subject.package("core").map_or(subject.layout.root(), |core| &core.root);
    collector.check("distribution", "dist_info.json is valid", || match Distribution::at(root) {
        Ok(Some(distribution)) => {
            judge(&distribution.targets()).map_err(|why| format!("{}: {why}", distribution.path().display())).into()
        }
        Ok(None) if subject.is_wheels() => {
            Finding::Fail(format!("{}: it has none; install rocm-sdk-core again", root.display()))
        }
        Ok(None) => Finding::Skipped("this kind of installation need not have one".to_owned()),
        Err(error) => Finding::Fail(error.to_string()),
    });
}

fn judge(targets: &[String]) -> Result<(), String> {
    if targets.is_empty() {
        return Err("\"dist_amdgpu_targets\" names no GPU".to_owned());
    }
    match targets.iter().find(|name| !is_target(name)) {
        Some(odd) => Err(format!("\"{odd}\" in \"dist_amdgpu_targets\" is not a GPU name such as gfx942")),
        None => Ok(()),
    }
}

/// Returns whether the name has the form of a target: `gfx942`, `gfx90a:xnack+`, `gfx9-4-generic`.
fn is_target(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name);
    let Some(number) = name.strip_prefix("gfx") else { return false };
    let number = number.strip_suffix("-generic").map_or(number.to_owned(), |number| number.replace('-', ""));
    number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_from_other_names() {
        for good in ["gfx942", "gfx90a:sramecc+:xnack-", "gfx9-4-generic", "gfx1100", "gfx90c"] {
            assert_eq!(judge(&[good.to_owned()]), Ok(()), "{good}");
        }
        assert!(judge(&[]).unwrap_err().contains("names no GPU"));
        for bad in ["${GPU_TARGETS}", "gfxx", "gfx", "gfx94X", "gfx94X-dcgpu", "sm_90", ""] {
            assert!(judge(&["gfx942".to_owned(), bad.to_owned()]).unwrap_err().contains("is not a GPU"), "{bad}");
        }
    }
}
