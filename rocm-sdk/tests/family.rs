//! The detected GPUs, and the target family that follows.
#![cfg(target_os = "linux")]

#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use rocm_sdk::{Error, FamilySource, GpuKind, GpuSource, GpuTarget, Search, TargetDetection};
use support::{Tree, in_child, is_child};

const SITE: &str = "venv/lib/python3.12/site-packages";

fn with_variables(variables: &[(&str, PathBuf)]) -> Search {
    let variables: HashMap<String, OsString> =
        variables.iter().map(|(k, v)| ((*k).to_owned(), v.clone().into())).collect();
    Search::nowhere().environment(move |name| variables.get(name).cloned())
}

/// Makes a driver's folder with these nodes: `gfx_target_version` of each, 0 for a CPU.
fn driver(tree: &Tree, nodes: &[(u32, u32)]) {
    for (number, version) in nodes {
        let text = format!("cpu_cores_count 0\nsimd_count 440\ngfx_target_version {version}\nvendor_id 4098\n");
        tree.write(&format!("sys/class/kfd/kfd/topology/nodes/{number}/properties"), text);
    }
}

/// Makes an installation with programs, which are shell scripts.
fn tool(tree: &Tree, path: &str, script: &str) -> PathBuf {
    tree.write("rocm/.info/version", "7.2.4");
    tree.script(path, script)
}

fn detection(tree: &Tree, search: Search) -> TargetDetection {
    TargetDetection::new(search).sysfs(Some(tree.path("sys")))
}

fn of_rocm(tree: &Tree) -> TargetDetection {
    detection(tree, Search::nowhere().root(tree.path("rocm")))
}

fn names(targets: &[GpuTarget]) -> Vec<String> {
    targets.iter().map(ToString::to_string).collect()
}

#[test]
fn the_drivers_nodes_in_their_order() {
    let tree = Tree::new();
    // As text, 10 sorts before 2.
    driver(&tree, &[(0, 0), (1, 0), (2, 90_402), (3, 90_402), (9, 90_010), (10, 110_003), (11, 120_001), (12, 90_012)]);
    tree.write("sys/class/kfd/kfd/topology/nodes/generation_id", "1");
    let gpus = detection(&tree, Search::nowhere()).gpus();
    assert_eq!(names(&gpus.targets), ["gfx942", "gfx942", "gfx90a", "gfx1103", "gfx1201", "gfx90c"]);
    let kinds = [GpuKind::DataCentre, GpuKind::DataCentre, GpuKind::DataCentre, GpuKind::Integrated, GpuKind::Discrete];
    assert_eq!(gpus.targets.iter().map(GpuTarget::kind).take(5).collect::<Vec<_>>(), kinds);
    assert_eq!(gpus.source, Some(GpuSource::Driver(tree.path("sys/class/kfd/kfd/topology/nodes"))));
    assert!(gpus.failures.is_empty());
}

#[test]
fn no_driver_and_a_damaged_one() {
    let tree = Tree::new();
    let gpus = detection(&tree, Search::nowhere()).gpus();
    assert!(gpus.targets.is_empty() && gpus.source.is_none() && gpus.failures.is_empty());
    driver(&tree, &[(0, 0)]);
    assert_eq!(detection(&tree, Search::nowhere()).gpus().source, None, "a processor is no GPU");
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties", "gfx_target_version nine\n");
    tree.write("sys/class/kfd/kfd/topology/nodes/2/name", "");
    tree.write("sys/class/kfd/kfd/topology/nodes/3/properties", "simd_count 4\n");
    driver(&tree, &[(4, 100_300)]);
    let gpus = detection(&tree, Search::nowhere()).gpus();
    assert_eq!(names(&gpus.targets), ["gfx1030"]);
    let [(one, why), (two, _)] = &gpus.failures[..] else { panic!("{:?}", gpus.failures) };
    assert!(one.ends_with("1/properties") && why.contains("gfx_target_version") && two.ends_with("2/properties"));
    assert!(TargetDetection::new(Search::nowhere()).sysfs(None).gpus().targets.is_empty());
}

#[test]
fn tools_come_before_the_driver() {
    let tree = Tree::new();
    driver(&tree, &[(1, 90_402), (2, 90_402)]);
    let path =
        tool(&tree, "rocm/bin/offload-arch", "echo gfx90a:sramecc+:xnack-; echo gfx1100; echo note; echo gfx000");
    let gpus = of_rocm(&tree).gpus();
    assert_eq!(names(&gpus.targets), ["gfx90a:sramecc+:xnack-", "gfx1100"]);
    assert_eq!((gpus.targets[0].name.as_str(), gpus.targets[0].features.as_str()), ("gfx90a", "sramecc+:xnack-"));
    assert_eq!(gpus.source, Some(GpuSource::Tool(path)));
    assert_eq!(names(&of_rocm(&tree).tools(false).gpus().targets), ["gfx942", "gfx942"]);
    // A set-uid program starts none of them.
    let search = Search::nowhere().root(tree.path("rocm")).set_uid(true);
    assert_eq!(names(&detection(&tree, search).gpus().targets), ["gfx942", "gfx942"]);
}

#[test]
fn tools_that_fail_are_passed_over_and_told() {
    let tree = Tree::new();
    driver(&tree, &[(1, 90_402)]);
    let fails = tool(&tree, "rocm/bin/offload-arch", "echo gfx90a; exit 3");
    let silent = tool(&tree, "rocm/llvm/bin/amdgpu-arch", "exit 0");
    let broken = tree.program("rocm/llvm/bin/offload-arch", "#!/no/such/interpreter\n");
    let gpus = of_rocm(&tree).gpus();
    assert_eq!(names(&gpus.targets), ["gfx942"], "the driver tells");
    let failures: HashMap<_, _> = gpus.failures.into_iter().collect();
    assert!(failures[&fails].contains("exit status: 3"), "{failures:?}");
    assert!(failures[&broken].contains("cannot be started"), "{failures:?}");
    assert_eq!((failures[&silent].as_str(), failures.len()), ("names no GPU", 3));
    let last = tool(&tree, "rocm/bin/rocm_agent_enumerator", "echo gfx000; echo gfx1201");
    let gpus = of_rocm(&tree).gpus();
    assert_eq!((names(&gpus.targets), gpus.source), (vec!["gfx1201".to_owned()], Some(GpuSource::Tool(last))));
}

#[test]
fn a_tool_that_hangs_is_ended() {
    let tree = Tree::new();
    let path = tool(&tree, "rocm/bin/offload-arch", "echo $$ > \"$0.pid\"; exec sleep 100000");
    // A busy machine may need longer to start a shell, so the time is increased.
    for seconds in [1, 4, 16, 64, 256] {
        let gpus = of_rocm(&tree).time_limit(Duration::from_secs(seconds)).gpus();
        assert_eq!(gpus.failures, [(path.clone(), format!("no answer within {seconds} s"))]);
        let pid = std::fs::read_to_string(path.with_extension("pid")).unwrap_or_default();
        if !pid.is_empty() {
            return assert!(!PathBuf::from("/proc").join(pid.trim()).exists(), "it has ended");
        }
    }
    panic!("the tool does not start");
}

#[test]
fn the_same_program_under_two_names_is_asked_once() {
    let tree = Tree::new();
    tool(&tree, "rocm/lib/llvm/bin/offload-arch", "exit 1");
    tree.link("../lib/llvm/bin/offload-arch", "rocm/bin/offload-arch");
    tree.link("offload-arch", "rocm/lib/llvm/bin/amdgpu-arch");
    assert_eq!(of_rocm(&tree).gpus().failures.len(), 1);
}

#[test]
fn the_variable_decides() {
    let tree = Tree::new();
    driver(&tree, &[(1, 90_402)]);
    let set = |family: &str| detection(&tree, with_variables(&[("ROCM_SDK_TARGET_FAMILY", family.into())]));
    let family = set(" gfx110X-all ").family().unwrap();
    assert_eq!((family.to_string().as_str(), family.source), ("gfx110X-all", FamilySource::Variable));
    assert_eq!(set("").family().unwrap().name, "gfx942", "empty is unset");
    let error = set("gfx110X").available(["gfx110X-all", "gfx94X-dcgpu"]).family().unwrap_err();
    assert!(matches!(&error, Error::UnknownFamily { family, .. } if family == "gfx110X"), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("ROCM_SDK_TARGET_FAMILY=gfx110X") && message.contains("gfx110X-all, gfx94X-dcgpu"),
        "{message}"
    );
    let search = with_variables(&[("ROCM_SDK_TARGET_FAMILY", "gfx110X-all".into())]).set_uid(true);
    assert_eq!(detection(&tree, search).family().unwrap().name, "gfx942");
}

#[test]
fn families_of_targets() {
    for (version, available, family) in [
        (90_402, &["gfx110X-all", "gfx94X-dcgpu"][..], "gfx94X-dcgpu"),
        (90_402, &["gfx94X-dcgpu", "gfx94X-all"], "gfx94X-all"),
        (90_402, &["gfx90a", "gfx942"], "gfx942"),
        (90_402, &["gfx942:xnack+"], "gfx942:xnack+"),
        (90_402, &["gfx11", "dcgpu-all"], "dcgpu-all"),
        (90_500, &["gfx950-dcgpu", "gfx94X-dcgpu"], "gfx950-dcgpu"),
        (90_010, &["gfx908-dcgpu", "gfx90a-dcgpu"], "gfx90a-dcgpu"),
        (110_000, &["gfx110X-igpu", "gfx110X-dgpu"], "gfx110X-dgpu"),
        (110_003, &["gfx110X-dgpu", "gfx110X-igpu"], "gfx110X-igpu"),
        (110_501, &["gfx1150", "gfx1151"], "gfx1151"),
        (120_500, &["gfx125X-dcgpu"], "gfx125X-dcgpu"),
        (120_001, &["gfx120X-all"], "gfx120X-all"),
    ] {
        let tree = Tree::new();
        driver(&tree, &[(0, 0), (1, version)]);
        let found = detection(&tree, Search::nowhere()).available(available.iter().copied()).family().unwrap();
        assert_eq!(found.name, family, "{version}");
        assert!(matches!(found.source, FamilySource::Gpu(_, GpuSource::Driver(_))));
    }
}

/// The choice does not depend on the order of the nodes and of the available families.
#[test]
fn of_several_gpus_the_choice_is_stable() {
    let available = ["gfx103X-dgpu", "gfx110X-all", "gfx94X-dcgpu", "gfx120X-all"];
    let mut reversed = available;
    reversed.reverse();
    for (nodes, family) in [
        // An integrated GPU, two graphics cards, a data-centre GPU.
        (&[(1, 110_003), (2, 100_300), (3, 120_001), (4, 90_402)][..], "gfx94X-dcgpu"),
        (&[(1, 90_402), (2, 110_003)], "gfx94X-dcgpu"),
        // The first of several equal ones, even if an earlier one has no family here.
        (&[(1, 110_003), (2, 100_300), (3, 120_001)], "gfx103X-dgpu"),
        (&[(1, 110_003), (2, 120_001), (3, 100_300)], "gfx120X-all"),
        (&[(1, 90_010), (2, 120_001), (3, 100_300)], "gfx120X-all"),
        (&[(1, 110_003)], "gfx110X-all"),
    ] {
        let tree = Tree::new();
        driver(&tree, nodes);
        for families in [available, reversed] {
            for _ in 0..8 {
                let found = detection(&tree, Search::nowhere()).available(families).family().unwrap();
                assert_eq!(found.name, family, "{nodes:?}");
            }
        }
        assert_eq!(detection(&tree, Search::nowhere()).gpus().targets.len(), nodes.len(), "all can be asked for");
    }
}

#[test]
fn where_no_gpu_decides_the_default_does() {
    let tree = Tree::new();
    let none = detection(&tree, Search::nowhere());
    let family = none.clone().default_family("gfx94X-dcgpu").family().unwrap();
    assert_eq!((family.name.as_str(), family.source), ("gfx94X-dcgpu", FamilySource::Default));
    let error = none.family().unwrap_err();
    assert_eq!(error.to_string(), "no target family: no GPU was found; set ROCM_SDK_TARGET_FAMILY");
    driver(&tree, &[(1, 90_010)]);
    tree.write("sys/class/kfd/kfd/topology/nodes/2/properties", "gfx_target_version -\n");
    let others = none.available(["gfx110X-all", "gfx120X-all"]);
    let error = others.family().unwrap_err().to_string();
    assert!(error.starts_with("no target family: the distribution has none for gfx90a; set ROCM_SDK_TARGET_FAMILY to one of gfx110X-all, gfx120X-all\n"), "{error}");
    assert!(error.contains("nodes/2/properties: gfx_target_version"), "{error}");
    assert_eq!(others.default_family("gfx120X-all").family().unwrap().source, FamilySource::Default);
}

#[test]
fn the_families_of_an_installed_distribution() {
    let tree = Tree::new();
    tree.write(&format!("{SITE}/_rocm_sdk_core/lib/libamdhip64.so.7"), "");
    let search = with_variables(&[("VIRTUAL_ENV", tree.path("venv"))]);
    let name = |search: &Search| detection(&tree, search.clone()).family().map(|family| family.name);
    assert!(matches!(name(&search), Err(Error::NoFamily { .. })));
    // The installed wheels.
    tree.write(&format!("{SITE}/_rocm_sdk_libraries_gfx94X_dcgpu/lib/libhipblas.so.3"), "");
    assert_eq!(name(&search).unwrap(), "gfx94X-dcgpu", "the only one");
    tree.write(&format!("{SITE}/_rocm_sdk_libraries_gfx120X_all/lib/libhipblas.so.3"), "");
    assert!(name(&search).is_err());
    driver(&tree, &[(1, 120_001)]);
    assert_eq!(name(&search).unwrap(), "gfx120X-all");
    // The families that the package names.
    let python = "DEFAULT_TARGET_FAMILY: str = \"DEFAULT\"\nAVAILABLE_TARGET_FAMILIES: list[str] = []\n\
        ALL = f(AVAILABLE_TARGET_FAMILIES)\n\nDEFAULT_TARGET_FAMILY = 'gfx110X-all'\n\
        AVAILABLE_TARGET_FAMILIES.append('gfx110X-all')\nAVAILABLE_TARGET_FAMILIES.append(\"gfx101X-dgpu\")\n";
    tree.write(&format!("{SITE}/rocm_sdk/_dist_info.py"), python);
    let family = detection(&tree, search.clone()).family().unwrap();
    assert_eq!((family.name.as_str(), family.source), ("gfx110X-all", FamilySource::Default));
    driver(&tree, &[(2, 100_100)]);
    assert_eq!(name(&search).unwrap(), "gfx101X-dgpu");
    let variable =
        |family: &str| with_variables(&[("VIRTUAL_ENV", tree.path("venv")), ("ROCM_SDK_TARGET_FAMILY", family.into())]);
    assert_eq!(name(&variable("gfx110X-all")).unwrap(), "gfx110X-all");
    assert!(matches!(name(&variable("gfx94X-dcgpu")), Err(Error::UnknownFamily { .. })));
}

/// One wheel with libraries for all targets, and one per target with its code.
#[test]
fn wheels_of_single_targets() {
    let tree = Tree::new();
    tree.write(&format!("{SITE}/_rocm_sdk_core/lib/libamdhip64.so.7"), "");
    tree.write(&format!("{SITE}/_rocm_sdk_libraries/lib/libhipblas.so.3"), "");
    for name in ["device_gfx942", "device_gfx1201", "device_all", "libraries", "core"] {
        tree.write(&format!("{SITE}/rocm_sdk_{name}-10.0.0.dist-info/METADATA"), "");
    }
    driver(&tree, &[(1, 110_000), (2, 120_001)]);
    let detection = detection(&tree, with_variables(&[("VIRTUAL_ENV", tree.path("venv"))]));
    assert_eq!(detection.family().unwrap().name, "gfx1201");
    let Err(Error::NoFamily { available, .. }) = detection.sysfs(None).family() else { panic!() };
    assert_eq!(available, ["gfx1201", "gfx942"]);
}

#[test]
fn the_tools_of_wheels() {
    let tree = Tree::new();
    tree.write(&format!("{SITE}/_rocm_sdk_core/lib/libamdhip64.so.7"), "");
    tree.write(&format!("{SITE}/_rocm_sdk_devel/include/x.h"), "");
    tool(&tree, &format!("{SITE}/_rocm_sdk_core/bin/offload-arch"), "echo gfx1151");
    let search = with_variables(&[("VIRTUAL_ENV", tree.path("venv"))]);
    assert_eq!(names(&detection(&tree, search).gpus().targets), ["gfx1151"]);
}

#[test]
fn the_search_of_the_process() {
    if !is_child() {
        return in_child("the_search_of_the_process", &[("ROCM_SDK_TARGET_FAMILY", "gfx94X-dcgpu")]);
    }
    assert_eq!(rocm_sdk::target_family().unwrap().name, "gfx94X-dcgpu");
}
