//! printf in kernels, by AMD's runtime: its lines are read from a process of their own. The embedded runtime has none.

use std::process::Command;

use crate::device::{self, Module, args};

const CHILD: &str = "CUDA_COMPAT_PRINTS";

#[test]
fn lines_of_kernels_reach_the_standard_output() {
    if !device::start() {
        return;
    }
    if device::is_embedded() {
        device::skip("the embedded runtime has no printf");
        return;
    }
    if std::env::var_os(CHILD).is_some() {
        let module = Module::of("prints.cu", include_str!("prints.cu"));
        module.run("prints", 3, 64, args![7_i32]);
        return;
    }
    // This very test, with the loader that this process was started by.
    let words = std::fs::read("/proc/self/cmdline").unwrap();
    let words: Vec<String> =
        words.split(|byte| *byte == 0).map(|word| String::from_utf8(word.to_vec()).unwrap()).collect();
    let program = std::env::args().next().unwrap();
    let until = words.iter().position(|word| *word == program).expect("the program is in its own command line");
    let mut child = Command::new(&words[0]);
    child.args(&words[1..=until]).args([
        "--exact",
        "prints::lines_of_kernels_reach_the_standard_output",
        "--nocapture",
    ]);
    if until == 0 {
        child = Command::new(&program);
        child.args(["--exact", "prints::lines_of_kernels_reach_the_standard_output", "--nocapture"]);
    }
    let output = child.env(CHILD, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for block in 0..3 {
        assert_eq!(text.matches(&format!("block {block} of 3:  3.50 done\n")).count(), 1, "{text}");
    }
}
