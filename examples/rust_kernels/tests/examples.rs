//! Runs every example on the software GPU, as gfx90a and as gfx942, under its checks of memory and races.
#![cfg(feature = "sim")]

use std::process::Command;

#[path = "../black_scholes_rust.rs"]
mod black_scholes_rust;
#[path = "../histogram_rust.rs"]
mod histogram_rust;
#[path = "../mandelbrot_rust.rs"]
mod mandelbrot_rust;
#[path = "../matmul_rust.rs"]
mod matmul_rust;
#[path = "../nbody_rust.rs"]
mod nbody_rust;
#[path = "../reduce_rust.rs"]
mod reduce_rust;
#[path = "../scan_rust.rs"]
mod scan_rust;
#[path = "../vector_add_rust.rs"]
mod vector_add_rust;

/// A program's `main`.
type Main = fn() -> rocm_examples::Result;

const EXAMPLES: [(&str, Main); 8] = [
    ("black_scholes_rust", black_scholes_rust::main),
    ("histogram_rust", histogram_rust::main),
    ("mandelbrot_rust", mandelbrot_rust::main),
    ("matmul_rust", matmul_rust::main),
    ("nbody_rust", nbody_rust::main),
    ("reduce_rust", reduce_rust::main),
    ("scan_rust", scan_rust::main),
    ("vector_add_rust", vector_add_rust::main),
];

/// Runs all examples in a separate process, on one target.
fn on(target: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "each_example", "--ignored", "--nocapture"]);
    command.env("HIP_SIM_TARGET", target).env("HIP_SIM_CHECK", "memory,race").env("HIP_RS_BACKEND", "sim");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed") && text.contains(target), "{target}:\n{text}");
}

#[test]
fn gfx90a() {
    on("gfx90a");
}

#[test]
fn gfx942() {
    on("gfx942");
}

#[test]
#[ignore = "run by the other tests, with a target"]
fn each_example() {
    assert_eq!(std::env::var("HIP_SIM_CHECK").as_deref(), Ok("memory,race"));
    for (name, main) in EXAMPLES {
        main().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
