//! The software GPU is in the build, but is used only on request: in code or by `HIP_RS_BACKEND`.
#![cfg(feature = "sim")]

use hip::{Backend, Device, Error};

/// Returns whether this is the process for the test `name`, with that choice in the environment; if not, starts it and
/// waits.
fn in_child(name: &str, choice: Option<&str>) -> bool {
    const CHILD: &str = "HIP_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name]).env(CHILD, "1");
    command.env_remove("HIP_RS_BACKEND").env_remove("HIP_SIM_TARGET");
    if let Some(choice) = choice {
        command.env("HIP_RS_BACKEND", choice);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

#[test]
fn unasked_it_is_not_used() {
    if !in_child("unasked_it_is_not_used", None) {
        return;
    }
    match Device::get(0) {
        Ok(device) => assert!(!device.is_simulated()),
        Err(Error::Version { .. }) => {}
        Err(error) => {
            assert!(error.is_no_gpu() && error.to_string().contains("HIP_RS_BACKEND=sim"), "{error}");
        }
    }
    assert_eq!(hip::backend().unwrap(), Backend::Rocm);
    // A program that has begun on ROCm stays on ROCm.
    assert_eq!(hip::sim_if_no_gpu().unwrap(), Backend::Rocm);
    assert!(matches!(hip::select_backend(Backend::Sim), Err(Error::BackendInUse { .. })));
}

#[test]
fn the_variable_forbids_it() {
    if in_child("the_variable_forbids_it", Some("rocm")) {
        assert_eq!(hip::sim_if_no_gpu().unwrap(), Backend::Rocm);
    }
}

#[test]
fn the_variable_asks_for_it_and_the_device_says_what_it_is() {
    if !in_child("the_variable_asks_for_it_and_the_device_says_what_it_is", Some("sim")) {
        return;
    }
    assert_eq!(hip::backend().unwrap(), Backend::Sim);
    let device = Device::get(0).unwrap();
    let properties = device.properties().unwrap();
    assert!(device.is_simulated() && properties.name.contains("software GPU"), "{}", properties.name);
    assert_eq!((properties.arch.name(), properties.warp_size), ("gfx90a", 64));
    assert_eq!(properties.shared_memory_per_block, 64 << 10);
}
