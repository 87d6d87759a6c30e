//! OpenGL's buffers and textures as the device's memory. On ROCm's own runtimes over the software GPU, OpenGL is the
//! workspace's `gl-sim`, which `cargo xtask test` puts where the runtime looks for it.
#![cfg(target_os = "linux")]

mod buffers;
mod common;
mod images;
mod opengl;
mod refused;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use common::{device, image_kernel, kernel, skipped};
use hip::Device;
use hip_gl::{DeviceList, Error};
use opengl::OpenGl;

/// A context on the machine's first display, and the device that it is on.
fn context() -> Option<(OpenGl, Device)> {
    device()?;
    if hip::backend().unwrap() == hip::Backend::Sim {
        skipped(&"the embedded software GPU has no OpenGL");
        return None;
    }
    let opened = OpenGl::new(None);
    let context = opened.map_err(|why| skipped(&format_args!("no OpenGL here: {why}"))).ok()?;
    match hip_gl::devices(DeviceList::All) {
        Ok(devices) => Some((context, devices[0])),
        Err(error @ Error::OpenGl { .. }) if context.vendor() != "gl-sim" => {
            skipped(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a test of this program again in a separate process, in which this returns `Some`. It needs the workspace's
/// software OpenGL: with another library, the result depends on that library.
fn in_process_of_its_own(test: &str) -> Option<()> {
    const INSIDE: &str = "HIP_TEST_GL_ALONE";
    if std::env::var_os(INSIDE).is_some() {
        return Some(());
    }
    let (context, _) = context()?;
    if context.vendor() != "gl-sim" {
        skipped(&"needs the software OpenGL");
        return None;
    }
    // As this was started, by a loader with its arguments or without.
    let line = std::fs::read("/proc/self/cmdline").unwrap();
    let words: Vec<_> = line.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect();
    let own = std::env::args_os().next().unwrap();
    let program = words.iter().position(|word| *word == own).unwrap();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..=program.max(1)][..program]);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(INSIDE, "1");
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{test} in a process of its own: {text}");
    None
}
