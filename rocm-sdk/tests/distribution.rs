//! The description of a distribution.
#![cfg(all(target_os = "linux", feature = "distribution"))]

#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use rocm_sdk::{Distribution, Error, Layout, Search, SearchExt as _};
use support::Tree;

const INFO: &str = "share/therock/dist_info.json";
const MANIFEST: &str = "share/therock/therock_manifest.json";

fn why(tree: &Tree) -> String {
    match Distribution::at(tree.root()) {
        Err(Error::Distribution { path, why }) => {
            assert!(path.starts_with(tree.root()));
            why
        }
        other => panic!("{other:?}"),
    }
}

/// Files as CMake and TheRock's script write them.
#[test]
fn targets_and_manifest() {
    let tree = Tree::new();
    assert!(Distribution::at(tree.root()).unwrap().is_none());
    let path = tree.write(INFO, "{\n  \"dist_amdgpu_targets\" : \"gfx942;gfx90a:xnack+;gfx942\"\n}");
    let distribution = Distribution::at(tree.root()).unwrap().unwrap();
    assert_eq!(distribution.path(), path);
    assert_eq!(distribution.targets(), ["gfx942", "gfx90a:xnack+"]);
    assert_eq!(distribution.targets_text(), "gfx942;gfx90a:xnack+;gfx942", "as rocm-sdk targets prints it");
    for (target, has) in
        [("gfx942", true), ("gfx942:xnack-", true), ("gfx90a:xnack+", true), ("gfx90a", false), ("gfx94", false)]
    {
        assert_eq!(distribution.has_target(target), has, "{target}");
    }
    assert_eq!((distribution.commit(), distribution.rocm_version(), distribution.sources().len()), (None, None, 0));
    let manifest = r#"{
        "the_rock_commit": "0123abcd", "rocm_version": "7.10.0", "rocm_package_version": "7.10.0a20251120", "github_run_id": "7",
        "submodules": [
            { "submodule_name": "a", "submodule_path": "rocm-libraries", "submodule_url": "u", "pin_sha": "77", "patches": [] },
            { "submodule_name": "b", "submodule_path": "rocm-systems", "submodule_url": "u", "pin_sha": null, "patches": ["x"] }
        ]
    }"#;
    tree.write(MANIFEST, manifest);
    let distribution = Distribution::at(tree.root()).unwrap().unwrap();
    assert_eq!((distribution.commit(), distribution.rocm_version()), (Some("0123abcd"), Some("7.10.0")));
    assert_eq!(distribution.package_version(), Some("7.10.0a20251120"));
    assert_eq!(distribution.sources(), [("rocm-libraries", Some("77")), ("rocm-systems", None)]);
    assert_eq!(distribution.entry("github_run_id").as_deref(), Some("7"));
    assert_eq!(distribution.entry("nothing"), None);
    assert!(distribution.entry("submodules").unwrap().starts_with('['));
    assert_eq!(distribution.keys().next(), Some("dist_amdgpu_targets"));
}

#[test]
fn other_ways_to_write_the_targets() {
    for (json, targets, text) in [
        (r#"{"dist_amdgpu_targets": ["gfx942", 7, "gfx950"]}"#, &["gfx942", "gfx950"][..], "gfx942;gfx950"),
        (r#"{"dist_amdgpu_targets": "gfx942, gfx950", "more": 1}"#, &["gfx942", "gfx950"], "gfx942, gfx950"),
        (r#"{"dist_amdgpu_targets": ""}"#, &[], ""),
    ] {
        let tree = Tree::new();
        tree.write(INFO, json);
        let distribution = Distribution::at(tree.root()).unwrap().unwrap();
        assert_eq!(
            (distribution.targets(), distribution.targets_text().as_str()),
            (targets.iter().map(ToString::to_string).collect(), text)
        );
    }
}

#[test]
fn what_is_damaged_is_told() {
    for (json, told) in [
        ("", "not JSON"),
        ("{\"dist_amdgpu_targets\": \"gfx9", "not JSON"),
        ("[1]", "not an object but a list"),
        ("{}", "dist_amdgpu_targets is missing"),
        ("{\"dist_amdgpu_targets\": null}", "dist_amdgpu_targets is null"),
        ("{\"dist_amdgpu_targets\": {}}", "dist_amdgpu_targets is an object"),
    ] {
        let tree = Tree::new();
        tree.write(INFO, json);
        assert!(why(&tree).contains(told), "{json}: {}", why(&tree));
    }
    let tree = Tree::new();
    tree.write(&format!("{INFO}/x"), "");
    assert!(why(&tree).contains("cannot be read"), "{}", why(&tree));
    let tree = Tree::new();
    tree.write(INFO, "{\"dist_amdgpu_targets\": \"gfx942\"}");
    tree.write(MANIFEST, "{");
    assert!(why(&tree).contains("not JSON"));
    let message = Distribution::at(tree.root()).unwrap_err().to_string();
    assert!(message.contains(MANIFEST) && message.ends_with("install ROCm again"), "{message}");
    let tree = Tree::new();
    tree.link("gone.json", INFO);
    assert!(Distribution::at(tree.root()).unwrap().is_none(), "a dangling link");
}

#[test]
fn of_layouts() {
    let tree = Tree::new();
    let site = "venv/lib/python3.12/site-packages";
    tree.write(&format!("{site}/_rocm_sdk_core/lib/libamdhip64.so.7"), "");
    tree.write(&format!("{site}/_rocm_sdk_core/{INFO}"), "{\"dist_amdgpu_targets\": \"gfx1151\"}");
    tree.write(&format!("{site}/_rocm_sdk_devel/include/x.h"), "");
    let layout = Search::nowhere().root(tree.path(site).join("_rocm_sdk_core")).layout().unwrap();
    assert!(layout.root().ends_with("_rocm_sdk_devel"));
    assert_eq!(layout.distribution().unwrap().unwrap().targets(), ["gfx1151"]);
    tree.write("opt/rocm/.info/version", "6.4.3");
    assert!(Layout::at(tree.path("opt/rocm")).unwrap().distribution().unwrap().is_none());
}
