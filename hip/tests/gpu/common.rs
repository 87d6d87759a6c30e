//! What the tests need: the device, the kernels, and a process of their own.

use std::process::Command;

use hip::{Backend, Device, Kernel, Module};

const KERNELS_GFX90A: &[u8] = include_bytes!("../kernels/kernels.gfx90a.co");
const KERNELS_GFX942: &[u8] = include_bytes!("../kernels/kernels.gfx942.co");
const IMAGES_GFX90A: &[u8] = include_bytes!("../kernels/images.gfx90a.co");
pub(crate) const KERNELS_GFX1100: &[u8] = include_bytes!("../kernels/kernels.gfx1100.co");

/// Says that a test is skipped, past libtest's capture, which shows nothing of tests that pass; `cargo xtask test` counts it.
pub(crate) fn skipped(why: &dyn std::fmt::Display) {
    use std::io::Write as _;
    let why = why.to_string();
    let _ = writeln!(std::io::stdout(), "SKIPPED: {}", why.lines().next().unwrap_or_default());
}

/// What came back, unless the backend cannot do it.
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

/// The kernels of `tests/kernels` for this device, or for gfx90a if there are none.
pub(crate) fn kernels(device: &Device) -> &'static [u8] {
    match device.properties().unwrap().arch.name() {
        "gfx942" => KERNELS_GFX942,
        _ => KERNELS_GFX90A,
    }
}

/// The kernels of `tests/kernels`, if they are for this device.
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

/// The device to test on, if it has images.
pub(crate) fn images() -> Option<Device> {
    let device = device()?;
    if device.has_images().unwrap() {
        return Some(device);
    }
    skipped(&format_args!("{device} has no images"));
    None
}

/// A kernel of `images.hip`, if they are for this device.
pub(crate) fn image_kernel(device: &Device, name: &str) -> Option<Kernel> {
    Some(image_module(device)?.kernel(name).unwrap())
}

/// The kernels of `images.hip`, if they are for this device.
pub(crate) fn image_module(device: &Device) -> Option<Module> {
    match Module::load(device, IMAGES_GFX90A) {
        Ok(module) => Some(module),
        Err(error @ hip::Error::Architecture { .. }) => {
            skipped(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs one test of this program again in a process of its own, with environment variables set, where the test finds
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

/// Waits for what comes to be by itself: destructors leave it to another thread.
pub(crate) fn eventually(what: &str, test: impl Fn() -> bool) {
    use std::io::Write as _;
    // What hangs is named; the watchdog of the step ends it.
    let mut when = Some(std::time::Instant::now() + std::time::Duration::from_secs(60));
    while !test() {
        std::thread::sleep(std::time::Duration::from_millis(1));
        if when.is_some_and(|when| std::time::Instant::now() > when) {
            when = None;
            // Past libtest's capture.
            let _ = writeln!(std::io::stderr(), "{what}: not yet after a minute");
        }
    }
}

/// Ends threads that look at it, whatever becomes of the one that has this.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a std::sync::atomic::AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Names what hangs, if it is not dropped within a minute. The watchdog of the step ends it: a busy machine may take
/// longer.
pub(crate) struct Watchdog(Option<std::sync::mpsc::Sender<()>>);

impl Watchdog {
    pub(crate) fn new(what: &'static str) -> Self {
        use std::sync::mpsc::{RecvTimeoutError, channel};
        let (alive, gone) = channel::<()>();
        std::thread::spawn(move || {
            if gone.recv_timeout(std::time::Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                use std::io::Write as _;
                // Past libtest's capture.
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
