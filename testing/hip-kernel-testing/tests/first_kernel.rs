//! The page "Your first kernel in Rust" works as pasted.

use std::path::{Path, PathBuf};
use std::process::Command;

use hip_kernel_build::Toolchain;

const PAGE: &str = include_str!("../../../hip-kernel/FIRST_KERNEL.md");

/// The code blocks of a language, each with the preceding text.
fn blocks(language: &str) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    let mut rest = PAGE;
    while let Some((before, block)) = rest.split_once("\n```") {
        let (kind, block) = block.split_once('\n').unwrap();
        let (code, after) = block.split_once("\n```").unwrap();
        if kind == language {
            found.push((before, code));
        }
        rest = after;
    }
    found
}

/// Runs a line of the page, in a folder.
fn shell(line: &str, folder: &Path, environment: &[(&str, &str)]) -> (String, String) {
    let (success, out, err) = run(line, folder, environment);
    assert!(success, "{line}:\n{out}{err}");
    (out, err)
}

/// Runs a line that must fail.
fn fails(line: &str, folder: &Path, environment: &[(&str, &str)]) -> (String, String) {
    let (success, out, err) = run(line, folder, environment);
    assert!(!success, "{line}:\n{out}{err}");
    (out, err)
}

fn run(line: &str, folder: &Path, environment: &[(&str, &str)]) -> (bool, String, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    // The program of an earlier test run is rebuilt only where something changed.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-kernel");
    let mut command = Command::new("sh");
    command.args(["-ec", &line.replace("../rocm-for-rust", root.to_str().unwrap())]).current_dir(folder);
    command.env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true").env("HIP_RS_BACKEND", "sim");
    command.env_remove("HIP_KERNEL_BUILD").env_remove("RUSTFLAGS").envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_page_works_as_pasted() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    let [(_, setup), (_, program)] = blocks("sh")[..] else { panic!("the page has other commands") };
    // The part that needs the user's network: rustup, and the versions in the workspace's lock file.
    let lines: Vec<_> = setup.lines().filter(|line| !line.starts_with("rustup ")).collect();
    assert_eq!(lines.len() + 1, setup.lines().count(), "rustup is called once");
    shell(lines[0].split(" && ").next().unwrap(), empty.path(), &[]);
    let package = empty.path().join("twice");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"), package.join("Cargo.lock")).unwrap();
    lines[1..].iter().for_each(|line| drop(shell(line, &package, &[])));
    let files = blocks("rust,ignore");
    assert_eq!(files.len(), 3);
    for (before, code) in files {
        // The last name before the block: "Create `src/kernels.rs`:".
        let name = before.trim_end().trim_end_matches("`:").rsplit('`').next().unwrap();
        assert!(name.ends_with(".rs") && code.lines().count() < 25, "{name}");
        std::fs::write(package.join(name), code).unwrap();
    }
    assert!(std::fs::read_to_string(package.join("build.rs")).unwrap().lines().count() <= 5);

    let [(_, expected)] = blocks("text")[..] else { panic!("the page has other output") };
    let (out, _) = shell(program, &package, &[]);
    assert_eq!(out.trim_end(), expected);
    // Without a compiler, the committed bundle is used, and Cargo reports that.
    let bundle: PathBuf = package.join("kernels.hipfb");
    assert!(bundle.is_file());
    let (out, err) = shell("cargo run", &package, &[("HIP_KERNEL_RUSTC", "/nowhere/rustc")]);
    assert_eq!(out.trim_end(), expected);
    assert!(err.contains("warning: twice@0.1.0: src/kernels.rs: taken from kernels.hipfb (/nowhere/rustc: "), "{err}");
    code_is_of_its_source(&package, expected);
}

/// The page's program, with kernels that the device could interpret differently from the host.
fn code_is_of_its_source(package: &Path, expected: &str) {
    let append = |name: &str, text: &str| {
        let path = package.join(name);
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + text).unwrap();
    };
    append("Cargo.toml", "\n[features]\ndouble = []\n");
    let kernels = |device: &str| {
        let text = format!(
            "use hip_kernel::prelude::*;\n{device}\n\
             #[cfg(all(feature = \"double\", not(target_arch = \"amdgpu\")))] pub type Real = f64;\n\
             #[cfg(not(feature = \"double\"))] pub type Real = f32;\n\
             #[kernel(same_len(x, y))] pub fn scale(a: Real, x: &[Real], mut y: DisjointSlice<Real>) {{ y.set(|i| a * x[i]); }}\n"
        );
        std::fs::write(package.join("src/kernels.rs"), text).unwrap();
    };
    // The committed bundle is from another source.
    kernels("#[cfg(all(feature = \"double\", target_arch = \"amdgpu\"))] pub type Real = f64;");
    let (_, err) = fails("cargo build", package, &[("HIP_KERNEL_RUSTC", "/nowhere/rustc")]);
    assert!(err.contains("kernels.hipfb is stale: these have changed since: src/kernels.rs"), "{err}");
    assert!(err.contains("HIP_KERNEL_BUILD=update cargo build -p twice"), "{err}");
    // With a compiler this is only a warning, and the feature reaches the device.
    let main = package.join("src/main.rs");
    std::fs::write(&main, std::fs::read_to_string(&main).unwrap().replace("1.0f32", "1.0")).unwrap();
    let (out, err) = shell("cargo run --features double", package, &[]);
    assert_eq!(out.trim_end(), expected);
    assert!(err.contains("warning: twice@0.1.0: src/kernels.rs: kernels.hipfb is stale"), "{err}");
    // The build script sets a `cfg` and writes kernels.
    let script = package.join("build.rs");
    let text = std::fs::read_to_string(&script).unwrap();
    let (before, after) = text.split_once("{\n").unwrap();
    std::fs::write(&script, format!("{before}{{\n{SCRIPT}\n{after}")).unwrap();
    // Kernels that the device interprets differently cannot be loaded, whatever the sizes are. In this edition, `gen` is an identifier.
    let manifest = package.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    assert!(text.contains("edition = \"2024\""), "{text}");
    std::fs::write(&manifest, text.replace("edition = \"2024\"", "edition = \"2021\"")).unwrap();
    std::fs::write(package.join("src/kernels.rs"), OTHERWISE).unwrap();
    std::fs::write(&main, LOADS).unwrap();
    let (out, _) = shell("cargo run", package, &[]);
    let lines: Vec<_> = out.lines().collect();
    let expected = [
        "\"size1\" cannot be loaded: parameter `x: &[Size]`: the type has 2 bytes (alignment 2) in the code, 8 bytes (alignment 8) on the host",
        "\"same_size\" cannot be loaded: parameter `x: &[Word]`: the code has another type of this name",
        "\"by_value\" cannot be loaded: parameter `x: Word`: the code has another type of this name",
        "\"variant\" cannot be loaded: parameter `mode: Mode`: the code has another type of this name",
        "\"field\" cannot be loaded: parameter `pair: Pair`: the code has another type of this name",
        "\"chunk\" cannot be loaded: parameter `y: DisjointChunks<u32, N>`: the code has another type of this name",
        "\"tile\" cannot be loaded: parameter `tile: Shared<[u32; N]>`: the type has 16 bytes (alignment 4) in the code, 8 bytes",
        "Ok",
        "\"contract\" cannot be loaded: the code was compiled with `same_len(x, y)` in `#[kernel]`, the signature has nothing",
        "\"unwinds\" cannot be loaded: parameter `x: OfPanics`: the type has 8 bytes (alignment 8) in the code, 4 bytes",
        "\"callable\" cannot be loaded: the code was compiled with `unsafe` in `#[kernel]`, the signature has nothing",
        "\"scripted\" cannot be loaded: parameter `x: OfScript`: the type has 4 bytes (alignment 4) in the code, 8 bytes",
        "\"environment\" cannot be loaded: parameter `y: DisjointChunks<u32, M>`: the code has another type of this name",
        "Ok",
        "[16, 17, 18]",
    ];
    assert_eq!(lines.len(), expected.len(), "{out}");
    for (line, part) in lines.iter().zip(expected) {
        assert!(line.contains(part), "{line}");
    }
}

/// Names that the two compilers resolve to different types, and one that they resolve to the same.
const OTHERWISE: &str = r#"use hip_kernel::prelude::*;

macro_rules! two {
    ($($name:ident: $device:ty, $host:ty;)*) => {$(
        #[cfg(target_arch = "amdgpu")]
        pub type $name = $device;
        #[cfg(not(target_arch = "amdgpu"))]
        pub type $name = $host;
    )*};
}

two! { Size: u16, u64; Word: f64, u64; }

#[derive(Clone, Copy, DeviceCopy)]
#[repr(u32)]
pub enum Mode {
    Add = 1,
    #[cfg(not(target_arch = "amdgpu"))]
    Multiply = 2,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
pub struct Pair {
    #[cfg(target_arch = "amdgpu")]
    first: u32,
    second: u32,
    #[cfg(not(target_arch = "amdgpu"))]
    first: u32,
}

pub const N: usize = if cfg!(target_arch = "amdgpu") { 4 } else { 2 };
pub const CHECKED: usize = if cfg!(debug_assertions) { 2 } else { 4 };

#[kernel] pub fn size1(x: &[Size], mut y: DisjointSlice<u32>) { y.set(|i| x[i] as u32); }
#[kernel] pub fn same_size(x: &[Word], mut y: DisjointSlice<u32>) { y.set(|i| x[i] as u32); }
#[kernel] pub fn by_value(x: Word, mut y: DisjointSlice<u32>) { y.set(|_| x as u32); }
#[kernel] pub fn variant(mode: Mode, mut y: DisjointSlice<u32>) { y.set(|_| mode as u32); }
#[kernel] pub fn field(pair: Pair, mut y: DisjointSlice<u32>) { y.set(|_| pair.first + pair.second); }
#[kernel] pub fn chunk(mut y: DisjointChunks<u32, N>) { y.mine().1.fill(1); }
#[kernel] pub fn tile(mut y: DisjointSlice<u32>, tile: Shared<[u32; N]>) { y.set(|_| tile.as_ptr() as u32); }
#[kernel] pub fn same(mut y: DisjointChunks<u32, CHECKED>) { y.mine().1.fill(1); }

#[cfg_attr(target_arch = "amdgpu", kernel(same_len(x, y)))]
#[cfg_attr(not(target_arch = "amdgpu"), kernel)]
pub fn contract(x: &[u32], mut y: DisjointSlice<u32>) { y.set(|i| x[i]); }

#[cfg(panic = "abort")] pub type OfPanics = u64;
#[cfg(not(panic = "abort"))] pub type OfPanics = u32;
#[kernel] pub fn unwinds(x: OfPanics, mut y: DisjointSlice<u32>) { y.set(|_| x as u32); }

#[cfg(scripted)] pub type OfScript = u64;
#[cfg(not(scripted))] pub type OfScript = u32;
#[kernel] pub fn scripted(x: OfScript, mut y: DisjointSlice<u32>) { y.set(|_| x as u32); }

pub const M: usize = if option_env!("OPT_LEVEL").is_some() { 4 } else { 2 };
#[kernel] pub fn environment(mut y: DisjointChunks<u32, M>) { y.mine().1.fill(1); }

include!(concat!(env!("OUT_DIR"), "/more.rs"));

macro_rules! callable { ($($unsafe:tt)*) => {
    #[kernel] pub $($unsafe)* fn callable(x: &[u32], n: usize, mut y: DisjointSlice<u32>) { y.set(|_| at(x, n)); }
} }
#[cfg(target_arch = "amdgpu")] callable!(unsafe);
#[cfg(not(target_arch = "amdgpu"))] callable!();
pub fn at(x: &[u32], n: usize) -> u32 { x[n] }

fn gen(gen: u32) -> u32 { gen + 1 }

#[kernel(same_len(x, r#try))]
pub fn r#type(x: &[u32], gen: u32, mut r#try: DisjointSlice<u32>) { r#try.set(|i| self::gen(gen) + x[i]); }
"#;

/// The work of a build script before it compiles the kernels. Cargo reads its `cfg`s later.
const SCRIPT: &str = r##"    println!("cargo::rustc-check-cfg=cfg(scripted)\ncargo::rustc-cfg=scripted");
    let more = "#[kernel] pub fn generated(x: &[u32], mut y: DisjointSlice<u32>) { y.set(|i| x[i]); }";
    std::fs::write(std::path::Path::new(&std::env::var_os("OUT_DIR").unwrap()).join("more.rs"), more).unwrap();"##;

const LOADS: &str = r#"#![forbid(unsafe_code)]
mod kernels;

fn main() {
    hip::sim_if_no_gpu().unwrap();
    let code = hip_kernel::code!("kernels").load(&hip::Device::get(0).unwrap()).unwrap();
    macro_rules! load {
        ($($kernel:ident)*) => {$(
            println!("{}", kernels::$kernel::load(&code).map_or_else(|error| error.to_string(), |_| "Ok".to_owned()));
        )*};
    }
    load!(Size1 SameSize ByValue Variant Field Chunk Tile Same Contract Unwinds Callable Scripted Environment Generated);
    let device = hip::Device::get(0).unwrap();
    let stream = hip::Stream::new(&device).unwrap();
    let x = hip::DeviceBuffer::from_slice(&device, &[1, 2, 3]).unwrap();
    let mut y = hip::DeviceBuffer::<u32>::zeroed(&device, 3).unwrap();
    let config = hip::LaunchConfig::for_elements(3, 64);
    kernels::Type::load(&code).unwrap().launch(&stream, config, &x, 14, &mut y).unwrap();
    println!("{:?}", y.to_vec().unwrap());
}
"#;
