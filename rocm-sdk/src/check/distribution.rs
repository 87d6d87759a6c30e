//! `share/therock/dist_info.json`, which says for which GPUs a distribution is built.

use std::fs;
use std::io::ErrorKind;

use serde_json::Value;

use super::Subject;
use super::report::{Collector, Finding};

const FILE: &str = "share/therock/dist_info.json";

pub(super) fn check(subject: &Subject, collector: &mut Collector<'_>) {
    let core = subject.package("core").map_or(subject.layout.root(), |core| &core.root);
    let path = core.join(FILE);
    collector.check("distribution", "dist_info.json is valid", || match fs::read(&path) {
        Ok(bytes) => judge(&bytes).map_err(|why| format!("{}: {why}", path.display())).into(),
        Err(error) if error.kind() == ErrorKind::NotFound && !subject.is_wheels() => {
            Finding::Skipped("this kind of installation need not have one".to_owned())
        }
        Err(error) => Finding::Fail(format!("{}: {error}; install rocm-sdk-core again", path.display())),
    });
}

fn judge(bytes: &[u8]) -> Result<(), String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| format!("no JSON: {e}"))?;
    let targets = value.get("dist_amdgpu_targets").ok_or("\"dist_amdgpu_targets\" is missing")?;
    let targets = targets.as_str().ok_or("\"dist_amdgpu_targets\" is no text")?;
    let mut names = targets.split([';', ',', ' ']).filter(|name| !name.is_empty()).peekable();
    if names.peek().is_none() {
        return Err("\"dist_amdgpu_targets\" names no GPU".to_owned());
    }
    match names.find(|name| !is_target(name)) {
        Some(odd) => Err(format!("\"{odd}\" in \"dist_amdgpu_targets\" is no GPU, such as gfx942")),
        None => Ok(()),
    }
}

/// `gfx942`, `gfx90a:xnack+`, `gfx9-4-generic`
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
    fn good_ones_are_told_from_bad_ones() {
        for good in ["gfx942", "gfx942;gfx1100", "gfx90a:sramecc+:xnack-, gfx9-4-generic", "gfx1100 gfx1201"] {
            assert_eq!(judge(format!("{{\"dist_amdgpu_targets\": \"{good}\"}}").as_bytes()), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("", "no JSON"),
            ("{", "no JSON"),
            ("[]", "missing"),
            ("{}", "missing"),
            ("{\"dist_amdgpu_targets\": 7}", "no text"),
            ("{\"dist_amdgpu_targets\": \"\"}", "names no GPU"),
            ("{\"dist_amdgpu_targets\": \"${GPU_TARGETS}\"}", "is no GPU"),
            ("{\"dist_amdgpu_targets\": \"gfx942;gfxx\"}", "is no GPU"),
            ("{\"dist_amdgpu_targets\": \"sm_90\"}", "is no GPU"),
        ] {
            let error = judge(bad.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
