//! The kernel driver's files as seen by host programs with the preloaded library.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::Path;
use std::process::Command;

/// The output of a program that sees the files of two GPUs.
fn see(program: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let files = hsa_sim::driver_files_with(|name| (name == "HIP_SIM_DEVICES").then(|| "2".to_owned())).unwrap();
    files.write(folder.path()).unwrap();
    run(program, arguments, Some(folder.path()))
}

/// The output of a program with the library preloaded.
fn run(program: &str, arguments: &[&str], folder: Option<&Path>) -> String {
    let mut command = Command::new(program);
    command.args(arguments).env("LD_PRELOAD", env!("CARGO_BIN_EXE_libhip-sim-driver")).env("LC_ALL", "C");
    match folder {
        Some(folder) => command.env("HIP_SIM_DRIVER_FILES", folder),
        None => command.env_remove("HIP_SIM_DRIVER_FILES"),
    };
    let output = command.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{program} {arguments:?}: {err}");
    out
}

#[test]
fn nodes_and_cards_are_listed() {
    assert_eq!(see("ls", &["/sys/class/kfd/kfd/topology/nodes"]), "0\n1\n2\n");
    // The machine's own files there are hidden.
    assert_eq!(see("ls", &["/sys/class/drm/"]), "card0\ncard1\nrenderD128\nrenderD129\nversion\n");
    assert_eq!(see("cat", &["/sys/class/kfd/kfd/topology/nodes/2/gpu_id"]), "4098\n");
    assert_eq!(see("sh", &["-c", "cat < /sys/module/amdgpu/initstate"]), "live\n");
}

#[test]
fn paths_stay_those_of_the_system() {
    let device = "/sys/devices/pci5349:00/5349:00:00.2/5349:02:00.0";
    assert_eq!(see("realpath", &["/sys/class/pci_bus/5349:02/../../5349:02:00.0"]).trim_end(), device);
    assert_eq!(see("readlink", &["-f", "/sys/class/drm/card1/device"]).trim_end(), device);
    assert_eq!(see("readlink", &["/sys/class/kfd/kfd"]), "../../devices/virtual/kfd/kfd\n");
    assert_eq!(see("sh", &["-c", "test -r /dev/kfd && test ! -e /sys/class/kfd/other && echo yes"]), "yes\n");
}

#[test]
fn everything_else_is_the_systems() {
    let folders = ["/sys/class", "/sys", "/proc/self/ns"];
    for folder in folders {
        let plain = String::from_utf8(Command::new("ls").arg(folder).output().unwrap().stdout).unwrap();
        let sorted = |text: &str| {
            let mut names: Vec<_> = text.lines().map(str::to_owned).collect();
            names.sort();
            names
        };
        assert_eq!(sorted(&see("ls", &[folder])), sorted(&plain), "{folder}");
    }
    assert_eq!(see("cat", &["/proc/sys/kernel/ostype"]), "Linux\n");
    // Without the variable the library has no effect.
    let without = run("sh", &["-c", "test -e /sys/class/pci_bus/5349:02 || echo none"], None);
    assert_eq!(without, "none\n");
}
