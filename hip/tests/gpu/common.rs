//! Common code of the tests: the device, the kernels, and child processes.

use std::process::Command;

use hip::{Backend, Device, Kernel, Module};

const KERNELS_GFX90A: &[u8] = include_bytes!("../kernels/kernels.gfx90a.co");
const KERNELS_GFX942: &[u8] = include_bytes!("../kernels/kernels.gfx942.co");
const IMAGES_GFX90A: &[u8] = include_bytes!("../kernels/images.gfx90a.co");
const KERNELS_NVIDIA: &[u8] = include_bytes!("../kernels/kernels.nvidia.hipfb");
const IMAGES_NVIDIA: &[u8] = include_bytes!("../kernels/images.nvidia.hipfb");
pub(crate) const KERNELS_GFX1100: &[u8] = include_bytes!("../kernels/kernels.gfx1100.co");

/// Reports that a test is skipped. Bypasses libtest's capture, which hides the output of tests that pass; `cargo xtask
/// test` counts the reports.
pub(crate) fn skipped(why: &dyn std::fmt::Display) {
    use std::io::Write as _;
    let why = why.to_string();
    let _ = writeln!(std::io::stdout(), "SKIPPED: {}", why.lines().next().unwrap_or_default());
}

/// Returns the value, unless the backend does not support the call.
pub(crate) fn supported<T>(result: hip::Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error @ (hip::Error::Unsupported { .. } | hip::Error::NoSymbol { .. })) => {
            skipped(&error);
            None
        }
        Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => {
            skipped(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The device to test on.
pub(crate) fn device() -> Option<Device> {
    match hip::sim_if_no_gpu() {
        Ok(_) => Some(Device::get(0).unwrap()),
        Err(error) => {
            assert!(error.is_no_gpu() || matches!(error, hip::Error::Version { .. }), "{error}");
            skipped(&error);
            None
        }
    }
}

/// Returns whether the device is NVIDIA's, whose code does not tell a pointer from a number of 8 bytes.
pub(crate) fn is_nvidia(device: &Device) -> bool {
    device.properties().unwrap().arch.is_nvidia()
}

/// The kernels of `tests/kernels` for this device, or for gfx90a if there are none for it.
pub(crate) fn kernels(device: &Device) -> &'static [u8] {
    match device.properties().unwrap().arch.name() {
        "gfx942" => KERNELS_GFX942,
        sm if sm.starts_with("sm_") => KERNELS_NVIDIA,
        _ => KERNELS_GFX90A,
    }
}

/// Loads the kernels of `tests/kernels`, if there are any for this device.
pub(crate) fn module() -> Option<Module> {
    let device = device()?;
    match Module::load(&device, kernels(&device)) {
        Ok(module) => Some(module),
        Err(error @ hip::Error::Architecture { .. }) if !device.is_simulated() => {
            skipped(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn kernel(name: &str) -> Option<Kernel> {
    Some(module()?.kernel(name).unwrap())
}

/// The device to test on, if it supports images.
pub(crate) fn images() -> Option<Device> {
    let device = device()?;
    if device.has_images().unwrap() {
        return Some(device);
    }
    skipped(&format_args!("{device} has no images"));
    None
}

/// A kernel of `images.hip`, if there are any for this device.
pub(crate) fn image_kernel(device: &Device, name: &str) -> Option<Kernel> {
    Some(image_module(device)?.kernel(name).unwrap())
}

/// Loads the kernels of `images.hip`, if there are any for this device.
pub(crate) fn image_module(device: &Device) -> Option<Module> {
    let is_nvidia = device.properties().unwrap().arch.is_nvidia();
    match Module::load(device, if is_nvidia { IMAGES_NVIDIA } else { IMAGES_GFX90A }) {
        Ok(module) => Some(module),
        Err(error @ hip::Error::Architecture { .. }) => {
            skipped(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs one test of this program again in a child process, with environment variables set. There, the test finds
/// `HIP_TEST_CHILD` set and does its work. Returns `None` without the software GPU.
pub(crate) fn in_child(test: &str, variables: &[(&str, &str)]) -> Option<()> {
    if device()?.is_simulated() {
        assert_eq!(hip::backend().unwrap(), Backend::Sim);
    } else {
        skipped(&"needs the software GPU");
        return None;
    }
    let program = std::env::current_exe().unwrap();
    if program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux")) {
        skipped(&"run by another loader, which a child process would not be");
        return None;
    }
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("HIP_TEST_CHILD", "1")
        .env("HIP_RS_BACKEND", "sim")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{test} in a child process: {text}");
    Some(())
}

pub(crate) fn is_child() -> bool {
    std::env::var_os("HIP_TEST_CHILD").is_some()
}

/// Waits for a condition that another thread brings about, such as the effects of destructors.
pub(crate) fn eventually(what: &str, test: impl Fn() -> bool) {
    use std::io::Write as _;
    // A test that hangs is named here; the watchdog of the step ends it.
    let mut when = Some(std::time::Instant::now() + std::time::Duration::from_secs(60));
    while !test() {
        std::thread::sleep(std::time::Duration::from_millis(1));
        if when.is_some_and(|when| std::time::Instant::now() > when) {
            when = None;
            // Bypasses libtest's capture.
            let _ = writeln!(std::io::stderr(), "{what}: not yet after a minute");
        }
    }
}

/// Ends threads that poll the flag, also if the thread that has this panics.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a std::sync::atomic::AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Names a test that hangs, unless this is dropped within a minute. The watchdog of the step ends it, as a busy machine
/// may take longer.
pub(crate) struct Watchdog(Option<std::sync::mpsc::Sender<()>>);

impl Watchdog {
    pub(crate) fn new(what: &'static str) -> Self {
        use std::sync::mpsc::{RecvTimeoutError, channel};
        let (alive, gone) = channel::<()>();
        std::thread::spawn(move || {
            if gone.recv_timeout(std::time::Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                use std::io::Write as _;
                // Bypasses libtest's capture.
                let _ = writeln!(std::io::stderr(), "{what}: not over after a minute");
            }
        });
        Self(Some(alive))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.take();
    }
}
