//! `doctor` on machines of every kind, which consist of files.
#![cfg(all(feature = "cli", target_os = "linux"))]

mod cli_common;
#[path = "../../rocm-loader/tests/support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use cli_common::{Ended, Run, json, on, rocm_sdk};
use serde_json::Value;
use support::{OWN, Tree, for_a_newer_system};

/// Sets the user: not the owner of any file, and in the groups with these numbers.
fn user(tree: &Tree, gids: &str) {
    let status = format!("Name:\tx\nUid:\t4242\t4242\t4242\t4242\nGid:\t4242\t4242\t4242\t4242\nGroups:\t{gids} \n");
    tree.write("proc/self/status", status);
}

/// Returns the group of this test's files.
fn gid(tree: &Tree) -> u32 {
    fs::metadata(tree.root()).unwrap().gid()
}

fn mode(tree: &Tree, path: &str, mode: u32) {
    fs::set_permissions(tree.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// Makes a machine with an MI250X, its driver and ROCm 7.2.4, without problems.
fn machine() -> Tree {
    let tree = Tree::new();
    let owner = fs::metadata(tree.root()).unwrap();
    tree.write("etc/passwd", format!("chief:x:{}:0::/:\nme:x:4242:4242::/home/me:/bin/sh\n", owner.uid()));
    tree.write("etc/group", format!("render:x:{}:you\nme:x:4242:\nvideo:x:4444:me,you\n", owner.gid()));
    user(&tree, &format!("{} 4444", owner.gid()));
    tree.write("proc/sys/kernel/osrelease", "6.8.0-48-generic\n");
    tree.write("sys/module/amdgpu/version", "6.12.12\n");
    let nodes = "sys/class/kfd/kfd/topology/nodes";
    tree.write(&format!("{nodes}/0/properties"), "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n");
    let gpu = "cpu_cores_count 0\nsimd_count 440\nsimd_per_cu 4\ngfx_target_version 90010\nvendor_id 4098\n\
               device_id 29704\nlocation_id 49408\ndomain 0\ndrm_render_minor 128\n";
    tree.write(&format!("{nodes}/1/properties"), gpu);
    tree.write(&format!("{nodes}/1/mem_banks/0/properties"), "heap_type 1\nsize_in_bytes 68702699520\n");
    tree.write(&format!("{nodes}/1/mem_banks/1/properties"), "heap_type 0\nsize_in_bytes 4096\n");
    let pci = "sys/bus/pci/devices/0000:c1:00.0";
    tree.write(&format!("{pci}/vendor"), "0x1002\n");
    tree.write(&format!("{pci}/device"), "0x7408\n");
    tree.write(&format!("{pci}/class"), "0x038000\n");
    tree.link("../../../bus/pci/drivers/amdgpu", &format!("{pci}/driver"));
    // Neither is an AMD GPU.
    for (address, vendor, class) in [("0000:00:01.0", "0x1002", "0x060400"), ("0000:02:00.0", "0x10de", "0x030000")] {
        tree.write(&format!("sys/bus/pci/devices/{address}/vendor"), vendor);
        tree.write(&format!("sys/bus/pci/devices/{address}/class"), class);
    }
    for node in ["dev/kfd", "dev/dri/renderD128"] {
        tree.write(node, "");
        mode(&tree, node, 0o660);
    }
    rocm(&tree, "opt/rocm", "7.2.4", 7);
    tree
}

/// Writes the HIP runtime and its compiler.
fn rocm(tree: &Tree, root: &str, release: &str, major: u32) {
    for name in ["amdhip64", "hiprtc"] {
        let soname = format!("lib{name}.so.{major}");
        tree.stub(&format!("{root}/lib/{soname}"), &soname, 0);
    }
    tree.write(&format!("{root}/.info/version"), release);
}

/// Returns the errors and warnings: `severity: problem -> what to do`, with the tree's path as T.
fn problems(tree: &Tree, run: Run) -> (Option<i32>, Vec<String>) {
    let ended = run.arg("--json").end();
    assert_eq!(ended.stderr, "");
    let diagnosis = json(&ended.stdout);
    let text = |problem: &Value, key: &str| problem[key].as_str().unwrap().to_owned();
    let told = diagnosis["problems"].as_array().unwrap().iter().map(|p| {
        let told = format!("{}: {} -> {}", text(p, "severity"), text(p, "problem"), text(p, "todo"));
        told.replace(&tree.root().display().to_string(), "T")
    });
    let told: Vec<String> = told.collect();
    let errors = told.iter().any(|line| line.starts_with("error"));
    assert_eq!((diagnosis["usable"].as_bool(), ended.code), (Some(!errors), Some(i32::from(errors))), "{told:#?}");
    (ended.code, told)
}

/// Returns the only problem.
#[track_caller]
fn problem(tree: &Tree, run: Run) -> String {
    let (_, mut told) = problems(tree, run);
    assert_eq!(told.len(), 1, "{told:#?}");
    told.remove(0)
}

fn doctor(tree: &Tree) -> Run {
    on(tree.root(), "doctor")
}

#[test]
fn a_machine_where_all_is_well_in_full() {
    let tree = machine();
    let said = doctor(&tree).env("ROCM_PATH", tree.path("opt/rocm")).env("HIP_LAUNCH_BLOCKING", "1").says();
    let expected = "\
Places, in the order of the search
   1. T/opt/rocm [ROCM_PATH]: ROCm 7.2.4, 2 libraries
   2. the system loader

Libraries
  amdhip64  libamdhip64.so.7  ROCm 7.2.4  ROCM_PATH  T/opt/rocm/lib/libamdhip64.so.7
  hiprtc    libhiprtc.so.7    ROCm 7.2.4  ROCM_PATH  T/opt/rocm/lib/libhiprtc.so.7
  not found: ABSENT

Search for the HIP runtime, amdhip64
   1. T/opt/rocm/lib64 [ROCM_PATH]: not found
   2. T/opt/rocm/lib/ARCH-linux-gnu [ROCM_PATH]: not found
   3. T/opt/rocm/core/lib [ROCM_PATH]: not found
   4. T/opt/rocm/lib/libamdhip64.so.7 [ROCM_PATH]: opened

Driver
  kernel: 6.8.0-48-generic
  amdgpu: loaded, version 6.12.12
  compute (/sys/class/kfd): available
  AMD GPU 0x7408 at 0000:c1:00.0: amdgpu
  /dev/kfd: mode 660, owner chief, group render: may be opened
  /dev/dri/renderD128: mode 660, owner chief, group render: may be opened
  user: me, in the groups GROUPS

GPUs
  gfx90a at 0000:c1:00.0: model 0x7408, 110 compute units, 63.9 GiB, /dev/dri/renderD128

Variables
  ROCM_PATH=\"T/opt/rocm\" (the ROCm installation to use)
  HIP_LAUNCH_BLOCKING=\"1\" (1: a launch returns after its kernel has finished)

Problems
  none

Programs can use a GPU, with ROCm from T/opt/rocm.
";
    let absent = rocm_sdk::libraries::ALL.iter().map(|spec| spec.name());
    let absent: Vec<&str> = absent.filter(|name| !["amdhip64", "hiprtc"].contains(name)).collect();
    let groups = if gid(&tree) < 4242 { "render, me, video" } else { "me, video, render" };
    let expected = expected.replace("ABSENT", &absent.join(", ")).replace("GROUPS", groups);
    let expected = expected.replace("ARCH", std::env::consts::ARCH);
    assert_eq!(said.replace(&tree.root().display().to_string(), "T"), expected);
}

#[test]
fn the_same_as_data() {
    let tree = machine();
    let diagnosis = json(&doctor(&tree).arg("--json").says());
    assert_eq!(diagnosis["usable"], true);
    assert_eq!(diagnosis["rocm_sdk"], env!("CARGO_PKG_VERSION"));
    let gpu = serde_json::json!([{
        "node": 1, "target": "gfx90a", "pci": "0000:c1:00.0", "device": "0x7408", "product": null, "compute_units": 110,
        "memory": 68_702_699_520_u64, "render_node": "/dev/dri/renderD128",
    }]);
    assert_eq!(diagnosis["gpus"], gpu);
    let kfd = serde_json::json!({
        "path": "/dev/kfd", "permissions": { "mode": "660", "owner": "chief", "group": "render" }, "usable": true,
    });
    assert_eq!(diagnosis["driver"]["nodes"][0], kfd);
    assert_eq!(diagnosis["places"][0]["release"], "ROCm 7.2.4");
    assert_eq!(diagnosis["libraries"].as_array().unwrap().len(), rocm_sdk::libraries::ALL.len());
}

/// GPUs are listed in the order of the driver's numbers, each with its properties.
#[test]
fn several_gpus() {
    let tree = machine();
    let node = "sys/class/kfd/kfd/topology/nodes/10";
    let gpu = "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\ndevice_id 29857\nlocation_id 809\ndomain 1\ndrm_render_minor 129\n";
    tree.write(&format!("{node}/properties"), gpu);
    tree.write("sys/bus/pci/devices/0001:03:05.1/product_name", "AMD Instinct MI300X\n");
    tree.write("dev/dri/renderD129", "");
    mode(&tree, "dev/dri/renderD129", 0o660);
    let said = doctor(&tree).says();
    let expected = "\
GPUs
  gfx90a at 0000:c1:00.0: model 0x7408, 110 compute units, 63.9 GiB, /dev/dri/renderD128
  gfx942 at 0001:03:05.1: AMD Instinct MI300X, 304 compute units, /dev/dri/renderD129
";
    assert!(said.contains(expected), "{said}");
    // Half of what a variable may name; the second is the last.
    let told = problem(&tree, doctor(&tree).env("HIP_VISIBLE_DEVICES", "1,2"));
    assert!(told.starts_with("warning: HIP_VISIBLE_DEVICES=1,2: \"2\" is not a GPU of this machine"), "{told}");
    let told = problem(&tree, doctor(&tree).env("ROCR_VISIBLE_DEVICES", "1").env("HIP_VISIBLE_DEVICES", "1"));
    assert!(told.starts_with("error: HIP_VISIBLE_DEVICES=1 hides every GPU"), "{told}");
}

/// Each problem with what to do.
#[test]
fn device_nodes_that_may_not_be_opened() {
    let tree = machine();
    let group = gid(&tree);
    let denied = |node: &str, mode: &str, todo: &str| {
        format!("error: me may not open {node} (mode {mode}, owner chief, group render) -> {todo}")
    };
    let both = |todo: &str| vec![denied("/dev/kfd", "660", todo), denied("/dev/dri/renderD128", "660", todo)];
    // Not a member of the group.
    user(&tree, "4444");
    assert_eq!(problems(&tree, doctor(&tree)).1, both("`sudo usermod -a -G render me`, then log out and in again"));
    // A member since the last login.
    tree.write("etc/group", format!("render:x:{group}:you,me\n"));
    let since = "me is in the group render since after this session began: log out and in again";
    assert_eq!(problems(&tree, doctor(&tree)).1, both(since));
    // A group without a name, as in a container.
    tree.write("etc/group", "me:x:4242:\n");
    let (_, told) = problems(&tree, doctor(&tree));
    let todo = format!("start the container with `--group-add {group}`: the group has no name in here");
    assert!(told.len() == 2 && told.iter().all(|line| line.ends_with(&todo)), "{told:#?}");
    // No groups at all.
    tree.write("etc/group", format!("render:x:{group}:\n"));
    user(&tree, &group.to_string());
    mode(&tree, "dev/kfd", 0o600);
    let told = problem(&tree, doctor(&tree));
    assert!(told.starts_with("error: me may not open /dev/kfd (mode 600") && told.contains("udev"), "{told}");
    // The group of root cannot be joined, either.
    mode(&tree, "dev/kfd", 0o660);
    tree.write("etc/group", format!("root:x:{group}:\n"));
    user(&tree, "4444");
    let (_, told) = problems(&tree, doctor(&tree));
    assert!(told.len() == 2 && told.iter().all(|line| line.contains("udev")), "{told:#?}");
    tree.write("etc/group", format!("render:x:{group}:\n"));
    user(&tree, &group.to_string());
    // Read access alone is not enough; and the owner needs no group.
    mode(&tree, "dev/kfd", 0o444);
    assert!(problem(&tree, doctor(&tree)).contains("may not open /dev/kfd (mode 444"));
    mode(&tree, "dev/kfd", 0o600);
    let owner = fs::metadata(tree.root()).unwrap().uid();
    tree.write("proc/self/status", format!("Uid:\t1\t{owner}\t1\t1\nGid:\t1\t1\t1\t1\nGroups:\t1 {group}\n"));
    assert_eq!(problems(&tree, doctor(&tree)), (Some(0), vec![]));
}

#[test]
fn device_nodes_that_are_missing() {
    let container =
        "in a container, start it with `--device /dev/kfd --device /dev/dri`; elsewhere `sudo udevadm trigger`";
    let tree = machine();
    fs::remove_file(tree.path("dev/kfd")).unwrap();
    let expected = format!("error: /dev/kfd is missing though the driver shows a GPU -> {container}");
    assert_eq!(problem(&tree, doctor(&tree)), expected);
    fs::remove_file(tree.path("dev/dri/renderD128")).unwrap();
    let (_, told) = problems(&tree, doctor(&tree));
    let render =
        format!("error: /dev/dri/renderD128 is missing, which the gfx90a at 0000:c1:00.0 needs -> {container}");
    assert_eq!(told, [expected, render]);
    // Docker creates this for a missing device that is mounted as a volume.
    let tree = machine();
    fs::remove_file(tree.path("dev/kfd")).unwrap();
    fs::create_dir(tree.path("dev/kfd")).unwrap();
    assert!(problem(&tree, doctor(&tree)).starts_with("error: /dev/kfd is a directory -> "));
    assert_eq!(json(&doctor(&tree).arg("--json").end().stdout)["driver"]["nodes"][0]["usable"], false);
}

#[test]
fn drivers_that_are_missing() {
    let tree = machine();
    let pci = "sys/bus/pci/devices/0000:c1:00.0";
    fs::remove_dir_all(tree.path("sys/class")).unwrap();
    let told = problem(&tree, doctor(&tree));
    assert!(
        told.starts_with("error: the kernel driver amdgpu does not support compute: /sys/class/kfd is missing -> "),
        "{told}"
    );
    tree.write("sys/class/kfd/kfd/topology/nodes/0/properties", "gfx_target_version 0\n");
    let told = problem(&tree, doctor(&tree));
    assert!(told.starts_with("error: the kernel driver amdgpu lists no GPU with compute support -> "), "{told}");
    fs::remove_dir_all(tree.path("sys/class")).unwrap();
    fs::remove_dir_all(tree.path("sys/module")).unwrap();
    fs::remove_file(tree.path(pci).join("driver")).unwrap();
    let told = problem(&tree, doctor(&tree));
    let expected = "error: there is an AMD GPU at 0000:c1:00.0, but the kernel driver amdgpu is not loaded -> `sudo modprobe amdgpu`";
    assert!(told.starts_with(expected), "{told}");
    // An MI300X has no display, and states that class.
    tree.write(&format!("{pci}/class"), "0x120000\n");
    assert!(problem(&tree, doctor(&tree)).starts_with(expected));
    tree.link("../drivers/vfio-pci", &format!("{pci}/driver"));
    let told = problem(&tree, doctor(&tree));
    assert!(
        told.starts_with("error: the AMD GPU 0000:c1:00.0 is given to virtual machines (driver vfio-pci) -> "),
        "{told}"
    );
    fs::remove_dir_all(tree.path(pci)).unwrap();
    let told = problem(&tree, doctor(&tree));
    assert!(
        told.starts_with("error: this machine has no AMD GPU -> ")
            && told.contains("`hip-sim run --rocm 7.2 -- PROGRAM`"),
        "{told}"
    );
}

#[test]
fn windows_subsystem_for_linux() {
    let tree = Tree::new();
    tree.write("dev/dxg", "");
    rocm(&tree, "opt/rocm", "7.2.4", 7);
    let said = doctor(&tree).says();
    assert!(said.contains("/dev/dxg: available, this is WSL") && said.contains("Programs can use a GPU"), "{said}");
}

#[test]
fn nothing_installed() {
    let tree = machine();
    fs::remove_dir_all(tree.path("opt")).unwrap();
    let told = problem(&tree, doctor(&tree));
    assert!(told.starts_with("error: the HIP runtime (amdhip64) is not found -> `rocm-sdk install 7.2`"), "{told}");
    let said = doctor(&tree).end().stdout;
    assert!(
        said.contains(
            "   1. T/opt/rocm [/opt]: not found\n   2. the system loader\n"
                .replace('T', tree.root().to_str().unwrap())
                .as_str()
        ),
        "{said}"
    );
}

#[test]
fn half_installed() {
    let tree = machine();
    // Without the compiler.
    fs::remove_file(tree.path("opt/rocm/lib/libhiprtc.so.7")).unwrap();
    let told = problem(&tree, doctor(&tree));
    assert!(told.starts_with("warning: the run-time compiler (hiprtc) is not found"), "{told}");
    // A link whose target is missing.
    tree.link("libhiprtc.so.7.2.70204", "opt/rocm/lib/libhiprtc.so.7");
    let (code, told) = problems(&tree, doctor(&tree));
    let link = "error: T/opt/rocm/lib/libhiprtc.so.7 leads to libhiprtc.so.7.2.70204, which does not exist -> ";
    assert!(code == Some(1) && told.len() == 2 && told[0].starts_with(link), "{told:#?}");
    // A named place that exists but is empty.
    let tree = machine();
    fs::create_dir_all(tree.path("empty/lib")).unwrap();
    let told = problem(&tree, doctor(&tree).env("ROCM_PATH", tree.path("empty")));
    assert!(told.starts_with("warning: T/empty [ROCM_PATH] has none of ROCm's libraries -> "), "{told}");
    let told = problem(&tree, doctor(&tree).env("HIP_PATH", tree.path("missing")));
    let expected = "warning: HIP_PATH names T/missing, which is not a directory -> set HIP_PATH to an existing directory, or `unset HIP_PATH`";
    assert_eq!(told, expected);
    let told = problem(&tree, doctor(&tree).env("ROCM_PATH", "opt/rocm"));
    assert_eq!(
        told,
        "warning: opt/rocm [ROCM_PATH]: rejected: a relative path -> set ROCM_PATH to an absolute path, or `unset` it"
    );
    // It is not a problem if this command has installed nothing.
    assert_eq!(problems(&tree, doctor(&tree).env("ROCM_SDK_INSTALL_DIR", tree.path("none"))), (Some(0), vec![]));
    // An interrupted installation.
    tree.write("mine/6.4/usr/lib/libamdhip64.so.6", "");
    let told = problem(&tree, doctor(&tree).env("ROCM_SDK_INSTALL_DIR", tree.path("mine")));
    assert!(
        told.contains("T/mine/6.4 [rocm-sdk install]: incomplete") && told.contains("`rocm-sdk install 6.4`"),
        "{told}"
    );
}

#[test]
fn libraries_that_are_no_use() {
    let tree = machine();
    // A broken library is skipped for a working one.
    tree.write("bad/lib/libamdhip64.so.7", "hello");
    let told = problem(&tree, doctor(&tree).env("ROCM_PATH", tree.path("bad")));
    let expected = "warning: T/bad/lib/libamdhip64.so.7: not a shared library but text; T/opt/rocm/lib/libamdhip64.so.7 is used instead -> ";
    assert!(told.starts_with(expected), "{told}");
    if cfg!(target_arch = "x86_64") {
        tree.patched("opt/rocm/lib/libhiprtc.so.7", "libhiprtc.so.7", 18, &[183, 0]);
        let told = problem(&tree, doctor(&tree));
        let expected = "error: T/opt/rocm/lib/libhiprtc.so.7: built for AArch64, but this program runs on x86-64 -> install ROCm for this machine's processor";
        assert!(told.starts_with(expected), "{told}");
    }
    fs::remove_file(tree.path("opt/rocm/lib/libhiprtc.so.7")).unwrap();
    tree.link("libhiprtc.so", "opt/rocm/lib/libhiprtc.so.7");
    tree.link("libhiprtc.so.7", "opt/rocm/lib/libhiprtc.so");
    let (_, told) = problems(&tree, doctor(&tree));
    let expected = "error: T/opt/rocm/lib/libhiprtc.so.7: cannot be read: Too many levels of symbolic links (os error 40) -> \
                    remove the link, and reinstall its package";
    assert!(told.iter().any(|line| line == expected), "{told:#?}");
    ["libhiprtc.so", "libhiprtc.so.7"]
        .iter()
        .for_each(|name| fs::remove_file(tree.path("opt/rocm/lib").join(name)).unwrap());
    tree.library(
        "opt/rocm/lib/libhiprtc.so.7",
        "libhiprtc.so.7",
        "__attribute__((constructor)) static void f(void) { __builtin_trap(); }",
    );
    let told = problem(&tree, doctor(&tree));
    assert!(told.starts_with("error: T/opt/rocm/lib/libhiprtc.so.7: opening it ended the process: signal: "), "{told}");
}

/// Copies this machine's C library to its usual place in the system, so that dependencies resolve there.
fn with_c_library(tree: &Tree) {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    for name in ["libc.so", "ld-linux"] {
        let path = maps
            .lines()
            .filter_map(|line| line.split_whitespace().last())
            .find(|path| path.rsplit('/').next().is_some_and(|file| file.starts_with(name)));
        let path = path.unwrap();
        tree.link(path, &format!("lib/{}", path.rsplit('/').next().unwrap()));
    }
}

/// HIPRTC depends on Comgr, and Comgr on an LLVM that does not exist: the cause is reported once, with everything that
/// it breaks.
#[test]
#[cfg(target_env = "gnu")]
fn a_dependency_that_is_missing() {
    let tree = machine();
    with_c_library(&tree);
    tree.stub("built/libLLVM.so.22.1", "libLLVM.so.22.1", 0);
    let needs = |library: &std::path::Path| ["-Wl,--no-as-needed".to_owned(), library.display().to_string()];
    let link = |path: &str, soname: &str, needed: &std::path::Path| {
        let flags = needs(needed);
        tree.library_with(path, soname, "int f;", &flags.each_ref().map(String::as_str))
    };
    let comgr = link("opt/rocm/lib/libamd_comgr.so.3", "libamd_comgr.so.3", &tree.path("built/libLLVM.so.22.1"));
    link("opt/rocm/lib/libhiprtc.so.7", "libhiprtc.so.7", &comgr);
    let told = problem(&tree, doctor(&tree));
    let expected = "error: libLLVM.so.22.1 is not found by the loader: libamd_comgr.so.3 needs it, so amd_comgr and hiprtc are of no use -> ";
    assert!(told.starts_with(expected) && told.contains("Debian's libllvm"), "{told}");
    // In another directory of the installation it is found, although the loader does not search there.
    tree.stub("opt/rocm/llvm/lib/libLLVM.so.22.1", "libLLVM.so.22.1", 0);
    assert_eq!(problems(&tree, doctor(&tree)), (Some(0), vec![]));
    // Libraries of other projects are left to the loader.
    tree.stub("built/libquite_other.so.4", "libquite_other.so.4", 0);
    link("opt/rocm/lib/libhiprtc.so.7", "libhiprtc.so.7", &tree.path("built/libquite_other.so.4"));
    tree.stub("opt/rocm/llvm/lib/libquite_other.so.4", "libquite_other.so.4", 0);
    let told = problem(&tree, doctor(&tree));
    assert!(told.ends_with(" -> it is in T/opt/rocm/llvm/lib: put that into LD_LIBRARY_PATH"), "{told}");
    let run = doctor(&tree).env("LD_LIBRARY_PATH", tree.path("opt/rocm/llvm/lib"));
    assert_eq!(problems(&tree, run), (Some(0), vec![]));
    // Not found if a C library would be loaded with it.
    tree.write("opt/rocm/llvm/lib/libc.so.6", "");
    assert!(problem(&tree, doctor(&tree)).contains("install the package that has libquite_other.so.4"));
}

/// A library of an older release depends on another runtime than the one that programs open.
#[test]
fn two_runtimes_in_one_program() {
    let tree = machine();
    rocm(&tree, "opt/rocm-6.4.3", "6.4.3-128", 6);
    let old = tree.path("opt/rocm-6.4.3/lib/libamdhip64.so.6").display().to_string();
    let flags = ["-Wl,--no-as-needed", &old, "-Wl,-rpath,$ORIGIN"];
    tree.library_with("opt/rocm-6.4.3/lib/libhipblas.so.2", "libhipblas.so.2", "int f;", &flags);
    let (code, told) = problems(&tree, doctor(&tree));
    assert_eq!(told.len(), 2, "{told:#?}");
    let releases = "error: libraries of different releases would be loaded together: ROCm 7.2 in T/opt/rocm/lib: amdhip64 and hiprtc; \
                    ROCm 6.4 in T/opt/rocm-6.4.3/lib: hipblas -> set ROCM_PATH to one installation";
    let twice = "error: amdhip64 twice in one program: T/opt/rocm/lib/libamdhip64.so.7 by the search, and \
                 T/opt/rocm-6.4.3/lib/libamdhip64.so.6 with hipblas -> ";
    assert!(code == Some(1) && told[0].starts_with(releases) && told[1].starts_with(twice), "{told:#?}");
    // An installation that has both is fine.
    let run = doctor(&tree).env("ROCM_PATH", tree.path("opt/rocm-6.4.3"));
    assert_eq!(problems(&tree, run), (Some(0), vec![]));
}

/// The same release twice: a program uses only one of them.
#[test]
fn libraries_of_two_installations() {
    let tree = machine();
    rocm(&tree, "opt/rocm-7.2.4", "7.2.4", 7);
    let blas = tree.stub("opt/rocm-7.2.4/lib/libhipblas.so.3", "libhipblas.so.3", 0);
    let told = problem(&tree, doctor(&tree));
    let expected = "error: hipblas would come from T/opt/rocm-7.2.4/lib, but the HIP runtime from T/opt/rocm/lib/libamdhip64.so.7: ";
    assert!(told.starts_with(expected) && told.contains(" -> set ROCM_PATH to one installation"), "{told}");
    let run = doctor(&tree).env("ROCM_PATH", tree.path("opt/rocm-7.2.4"));
    assert_eq!(problems(&tree, run), (Some(0), vec![]));
    // A library that names the runtime's directory belongs to the runtime's installation.
    let hip = tree.path("opt/rocm/lib/libamdhip64.so.7").display().to_string();
    let rpath = format!("-Wl,-rpath,{}", tree.path("opt/rocm/lib").display());
    std::fs::remove_file(blas).unwrap();
    std::fs::remove_dir_all(tree.path("opt/rocm-7.2.4")).unwrap();
    let flags = ["-Wl,--no-as-needed", &hip, &rpath];
    tree.library_with("blas/libhipblas.so.3", "libhipblas.so.3", "int f;", &flags);
    let run = doctor(&tree).env("LD_LIBRARY_PATH", tree.path("blas"));
    assert_eq!(problems(&tree, run), (Some(0), vec![]));
}

/// The state after a cluster's `module load`.
#[test]
fn another_installation_in_the_loaders_path() {
    let tree = machine();
    rocm(&tree, "module/rocm", "7.2.4", 7);
    let run = || doctor(&tree).env("LD_LIBRARY_PATH", tree.path("module/rocm/lib"));
    let told = problem(&tree, run());
    let expected = "warning: LD_LIBRARY_PATH has T/module/rocm/lib, of another ROCm than the HIP runtime T/opt/rocm/lib/libamdhip64.so.7: ";
    assert!(told.starts_with(expected), "{told}");
    assert_eq!(problems(&tree, run().env("ROCM_PATH", tree.path("module/rocm"))), (Some(0), vec![]));
    // A library that only the other installation has is an error that names both.
    let base = tree.stub("module/rocm/lib/librocblas.so.5", "librocblas.so.5", 0).display().to_string();
    tree.library_with("opt/rocm/lib/libhipblas.so.3", "libhipblas.so.3", "int f;", &["-Wl,--no-as-needed", &base]);
    let (code, told) = problems(&tree, run());
    let mixed = "would mix two ROCm installations in one process: librocblas.so.5 would come from \
                 T/module/rocm/lib/librocblas.so.5, not from T/opt/rocm/lib";
    assert!(
        code == Some(1) && told.iter().any(|line| line.starts_with("error: ") && line.contains(mixed)),
        "{told:#?}"
    );
}

/// Several copies of compilers, whose symbols have versions, can be loaded together.
#[test]
fn copies_that_do_no_harm() {
    let tree = machine();
    tree.stub("opt/rocm/lib/llvm/lib/libLLVM.so.22.1", "libLLVM.so.22.1", 0);
    let llvm = tree.stub("other/libLLVM.so.20.1", "libLLVM.so.20.1", 0).display().to_string();
    let rpath = format!("-Wl,-rpath,{}", tree.path("other").display());
    let flags = ["-Wl,--no-as-needed", &llvm, &rpath];
    tree.library_with("opt/rocm/lib/libamd_comgr.so.3", "libamd_comgr.so.3", "int f;", &flags);
    assert_eq!(problems(&tree, doctor(&tree)), (Some(0), vec![]));
    // A broken file is not ROCm's.
    tree.write("opt/rocm/lib/llvm/lib/libclang.so.22.1", "no library");
    tree.write("opt/rocm/lib/llvm/lib/libclang.so", "no library");
    let (code, told) = problems(&tree, doctor(&tree));
    assert!(
        code == Some(0)
            && !told.is_empty()
            && told.iter().all(|line| line.starts_with("warning: ") && line.contains("libclang")),
        "{told:#?}"
    );
}

/// A newer release is used all the same, and reported.
#[test]
fn a_release_newer_than_any_known() {
    let tree = machine();
    tree.write("opt/rocm/.info/version", "10.7.1");
    let (code, told) = problems(&tree, doctor(&tree));
    let newer = "warning: ROCm 10.7 in T/opt/rocm/lib is newer than any release known here: its functions are called as \
                 those of ROCm 10.0 (amdhip64 and hiprtc) -> update these crates";
    assert!(code == Some(0) && told.len() == 1 && told[0].starts_with(newer), "{told:#?}");
}

/// Different releases with the same major number may work together.
#[test]
fn releases_that_differ_a_little() {
    let tree = machine();
    tree.stub("opt/rocm-7.0.2/lib/librccl.so.1", "librccl.so.1", 0);
    tree.write("opt/rocm-7.0.2/.info/version", "7.0.2");
    let told = problem(&tree, doctor(&tree));
    assert!(
        told.starts_with("warning: libraries of different releases would be loaded together: ROCm 7.2 in"),
        "{told}"
    );
}

/// A library built on a newer system, and one with all of that system's libraries next to it.
#[test]
#[cfg(all(target_env = "gnu", target_arch = "x86_64"))]
fn a_c_library_that_is_too_old() {
    let tree = machine();
    with_c_library(&tree);
    let versions = tree.write("versions", "GLIBC_9.99 { global: of_the_future; };");
    let script = format!("-Wl,--version-script,{}", versions.display());
    let flags = ["-nostdlib", &script];
    let future = tree.library_with("future/libc.so.6", "libc.so.6", "int of_the_future(void) { return 1; }", &flags);
    let future = future.display().to_string();
    let c = "int of_the_future(void); int f(void) { return of_the_future(); }";
    tree.library_with("opt/rocm/lib/libhiprtc.so.7", "libhiprtc.so.7", c, &["-nostdlib", &future]);
    let told = problem(&tree, doctor(&tree));
    let start = "error: T/lib/libc.so.6 is too old: it has GLIBC_2.";
    let end = "libhiprtc.so.7 needs GLIBC_9.99, so hiprtc cannot be loaded -> take an older ROCm or a newer Linux";
    assert!(told.starts_with(start) && told.contains(end), "{told}");

    tree.link("../../../future/libc.so.6", "opt/rocm/lib/libc.so.6");
    tree.write("opt/rocm/lib/ld-linux-x86-64.so.2", "");
    let told = problem(&tree, doctor(&tree));
    let expected = "error: the libraries in T/opt/rocm/lib go with the C library that is there too, not with this machine's: a program \
                    that is started as usual cannot load hiprtc -> start it by `T/opt/rocm/lib/ld-linux-x86-64.so.2 --library-path T/opt/rocm/lib PROGRAM`";
    assert_eq!(told, expected);
}

/// After `rocm-sdk install` on an older distribution: programs can use a GPU, and the doctor says once how they are
/// started.
#[test]
#[cfg(all(target_env = "gnu", target_arch = "x86_64"))]
fn an_installation_for_a_newer_system() {
    let tree = machine();
    fs::remove_dir_all(tree.path("opt")).unwrap();
    for_a_newer_system(&tree);
    let run = || doctor(&tree).env("ROCM_SDK_INSTALL_DIR", tree.path("own"));
    let told = problem(&tree, run());
    let expected = "warning: the libraries in T/own/7.2/usr/lib/x86_64-linux-gnu need a newer C library than this machine has, and have it \
                    beside them: a program that is started as usual cannot load them -> start programs by `rocm-sdk run 7.2 -- PROGRAM`";
    assert_eq!(told, expected);
    let said = run().says().replace(&tree.root().display().to_string(), "T");
    let line = "  amdhip64  libamdhip64.so.7  ROCm 7.2.4  rocm-sdk install  T/own/7.2/usr/lib/x86_64-linux-gnu/libamdhip64.so.7\n";
    let last = "\nPrograms can use a GPU, with ROCm from T/own/7.2/usr, if they are started by `rocm-sdk run 7.2 -- PROGRAM`.\n";
    assert!(said.contains(line) && said.ends_with(last), "{said}");
    // The problem and the last line.
    assert_eq!(said.matches("rocm-sdk run").count(), 2, "{said}");
    // Something that is missing there, too, is an error.
    fs::remove_file(tree.path(OWN).join("libamdhip64.so.7")).unwrap();
    let (_, told) = problems(&tree, run());
    assert!(told[0].starts_with("error: the HIP runtime (amdhip64) is not found"), "{told:#?}");
}

#[test]
fn variables_that_hide_gpus() {
    let tree = machine();
    let told = |name: &str, value: &str| problems(&tree, doctor(&tree).env(name, value)).1;
    for (name, value) in [("HIP_VISIBLE_DEVICES", "-1"), ("ROCR_VISIBLE_DEVICES", ""), ("CUDA_VISIBLE_DEVICES", "3")] {
        let expected = format!("error: {name}={value} hides every GPU -> `unset {name}`; the only GPU is number 0");
        assert_eq!(told(name, value), [expected]);
    }
    assert!(told("HIP_VISIBLE_DEVICES", "").is_empty() && told("HIP_VISIBLE_DEVICES", "0").is_empty());
    let warned = told("HSA_OVERRIDE_GFX_VERSION", "10.3.0");
    assert!(warned[0].starts_with("warning: HSA_OVERRIDE_GFX_VERSION=10.3.0: the gfx90a is treated as a gfx1030 -> "));
    assert!(told("HSA_OVERRIDE_GFX_VERSION", "9.0.10").is_empty());
    assert!(told("HSA_OVERRIDE_GFX_VERSION", "gfx1030")[0].contains("is not of the form"));
    for odd in ["/x:", ":/x", "/x:lib:/y", "."] {
        let warned = told("LD_LIBRARY_PATH", odd);
        assert!(warned.len() == 1, "{warned:?}");
        assert!(warned[0].starts_with(&format!("warning: LD_LIBRARY_PATH={odd} has an entry")), "{warned:?}");
    }
    assert!(told("LD_LIBRARY_PATH", "").is_empty() && told("LD_LIBRARY_PATH", "/x:/y").is_empty());
}

/// Runs on this machine, whatever its state.
#[test]
fn this_machine_is_survived() {
    let Ended { code, stdout, stderr } = rocm_sdk("doctor").end();
    assert!(matches!(code, Some(0 | 1)) && stderr.is_empty(), "{stderr}");
    assert_eq!(code == Some(0), stdout.contains("\nPrograms can use a GPU"), "{stdout}");
    let sections = ["Places,", "Libraries", "Search for", "Driver", "GPUs", "Variables", "Problems"];
    let places = sections.map(|section| stdout.find(&format!("\n{section}")).or(stdout.find(section)));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{stdout}");
}

#[test]
fn a_distribution_for_other_gpus() {
    let tree = machine();
    let info = tree.write("opt/rocm/share/therock/dist_info.json", r#"{"dist_amdgpu_targets": "gfx942;gfx950"}"#);
    let told = problem(&tree, doctor(&tree));
    assert!(
        told.starts_with(
            "warning: the libraries of T/opt/rocm have no code for the gfx90a: they are built for gfx942, gfx950 -> "
        ),
        "{told}"
    );
    fs::write(&info, r#"{"dist_amdgpu_targets": "gfx90a;gfx942"}"#).unwrap();
    assert_eq!(problems(&tree, doctor(&tree)), (Some(0), vec![]));
    fs::write(&info, "").unwrap();
    assert!(problem(&tree, doctor(&tree)).starts_with("warning: T/opt/rocm/share/therock/dist_info.json"));
}

/// The system loader finds it, but not its dependency.
#[test]
#[cfg(target_env = "gnu")]
fn a_library_of_the_system_that_lacks_another() {
    let tree = Tree::new();
    tree.stub("built/libnuma.so.1", "libnuma.so.1", 0);
    let numa = tree.path("built/libnuma.so.1").display().to_string();
    tree.library_with("x/libamdhip64.so.7", "libamdhip64.so.7", "int f;", &["-Wl,--no-as-needed", &numa]);
    let diagnosis = json(&rocm_sdk("doctor --json").env("LD_LIBRARY_PATH", tree.path("x")).end().stdout);
    let problem =
        diagnosis["problems"].as_array().unwrap().iter().find(|p| p["problem"].as_str().unwrap().contains("libnuma"));
    let Some(problem) = problem else {
        // This machine has the dependency.
        return assert!(
            std::process::Command::new("ldconfig")
                .arg("-p")
                .output()
                .is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains("libnuma.so.1"))
        );
    };
    assert_eq!(
        problem["problem"],
        "libnuma.so.1 is not found by the loader: libamdhip64.so.7 needs it, so amdhip64 is of no use"
    );
    assert_eq!(problem["todo"], "install it: Debian's libnuma1; Fedora's numactl-libs");
}

/// Scripts read these names: removing or changing one breaks them.
#[test]
fn the_names_in_its_json() {
    let tree = machine();
    fs::remove_file(tree.path("dev/kfd")).unwrap();
    let text = doctor(&tree).env("ROCM_PATH", tree.path("opt/rocm")).arg("--json").end().stdout;
    let expected = "rocm_sdk usable places places[].step places[].path places[].present places[].refused places[].release \
        places[].libraries places[].dangling libraries libraries[].library libraries[].found libraries[].found.path \
        libraries[].found.soname libraries[].found.release libraries[].found.version libraries[].found.step \
        libraries[].found.known libraries[].reason libraries[].steps libraries[].steps[].step \
        libraries[].steps[].target libraries[].steps[].opened libraries[].steps[].fault libraries[].steps[].remark \
        driver driver.kernel driver.loaded driver.version driver.compute driver.wsl driver.pci driver.pci[].address \
        driver.pci[].device driver.pci[].driver driver.nodes driver.nodes[].path driver.nodes[].permissions \
        driver.nodes[].usable driver.nodes[].permissions.mode driver.nodes[].permissions.owner \
        driver.nodes[].permissions.group driver.user driver.user.name driver.user.uid driver.user.groups gpus \
        gpus[].node gpus[].target gpus[].pci gpus[].device gpus[].product gpus[].compute_units gpus[].memory \
        gpus[].render_node variables variables[].name variables[].value variables[].meaning rust_kernels \
        problems \
        problems[].severity problems[].problem problems[].todo";
    let expected = expected.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cli_common::keys(&text), expected, "{text}");
}

/// Makes a fake compiler that answers the queries.
fn rust(tree: &Tree, release: &str, targets: &str) -> std::path::PathBuf {
    let said = format!("rustc {release}\nrelease: {release}\nhost: x86_64-unknown-linux-gnu");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n-vV) echo '{said}';;\n*list) echo {targets};;\n*sysroot) echo {};;\nesac\n",
        tree.path("rust").display()
    );
    tree.program("rust/bin/rustc", script)
}

/// Returns the report on kernels in Rust, as text and as JSON, with the tree's path as T.
fn kernels(tree: &Tree, rustc: &std::path::Path) -> (String, Value) {
    let run = |arguments: &str| {
        let run = rocm_sdk(arguments).env("HIP_KERNEL_RUSTC", rustc).env("ROCM_PATH", tree.path("none"));
        run.end().stdout.replace(&tree.root().display().to_string(), "T")
    };
    let text = run("doctor");
    let (_, text) = text.split_once("\nKernels in Rust\n  ").unwrap_or_else(|| panic!("{text}"));
    (text.lines().next().unwrap().to_owned(), json(&run("doctor --json"))["rust_kernels"].clone())
}

#[test]
fn what_kernels_in_rust_need() {
    let tree = Tree::new();
    let (said, _) = kernels(&tree, &tree.path("nowhere/rustc"));
    assert!(said.starts_with("cannot be built, only taken from bundles: T/nowhere/rustc: "), "{said}");
    let target = "amdgcn-amd-amdhsa";
    let (said, _) = kernels(&tree, &rust(&tree, "1.94.1", target));
    assert!(said.ends_with("Rust 1.94.1 is too old: 1.95 or newer is needed (`rustup update`)"), "{said}");
    let (said, _) = kernels(&tree, &rust(&tree, "1.96.0", "x86_64-unknown-linux-gnu"));
    assert!(said.ends_with("Rust 1.96.0 (T/rust/bin/rustc) has no target amdgcn-amd-amdhsa"), "{said}");
    let rustc = rust(&tree, "1.96.0", target);
    tree.write("rust/lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld", "");
    let (said, diagnosis) = kernels(&tree, &rustc);
    assert!(said.contains("Rust 1.96.0 without the source of `core`: `rustup component add rust-src`, or"), "{said}");
    assert_eq!((&diagnosis["available"], &diagnosis["compiler"]), (&Value::from(false), &Value::Null));
    tree.write("rust/lib/rustlib/src/rust/library/core/src/lib.rs", "");
    let (said, diagnosis) = kernels(&tree, &rustc);
    let source = "T/rust/lib/rustlib/src/rust/library";
    let expected = format!("can be built: Rust 1.96.0 (T/rust/bin/rustc), with the source of `core` in {source}");
    assert_eq!(said, expected);
    let expected = serde_json::json!({
        "available": true, "compiler": "T/rust/bin/rustc", "release": "1.96.0", "source": source, "missing": null,
    });
    assert_eq!(diagnosis, expected);
    // Another system's compiler is not queried.
    assert_eq!(json(&on(tree.root(), "doctor --json").end().stdout)["rust_kernels"], Value::Null);
}
