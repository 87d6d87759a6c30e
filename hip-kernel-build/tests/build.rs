//! Builds of kernels: rejected code, and builds without a compiler.

use std::path::Path;

use hip_kernel_build::{Build, Error, Made, Panics, Toolchain};

fn make(build: Build) -> Result<Made, Error> {
    let folder = tempfile::tempdir().unwrap();
    // The folder of this workspace's build scripts: this program is `target/debug/deps/build-HASH`.
    let program = std::env::current_exe().unwrap();
    build.make(&folder.path().join("out"), &program.ancestors().nth(2).unwrap().join("hip-kernel"))
}

fn source(folder: &Path, text: &str) -> Build {
    let path = folder.join("kernels.rs");
    std::fs::write(&path, format!("use hip_kernel::prelude::*;\n{text}")).unwrap();
    Build::new(path).archs(["gfx90a"])
}

#[test]
fn input_that_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(make(Build::new("nowhere.rs").archs(["gfx90a"])), Err(Error::File { .. })));
    let kernels = source(folder.path(), "");
    assert!(matches!(make(Build::new(folder.path().join("kernels.rs"))), Err(Error::Invalid(_))));
    let error = make(kernels.archs(["sm_90"])).unwrap_err().to_string();
    assert!(error.contains("sm_90"), "{error}");
}

/// None of these must compile.
#[test]
fn what_the_device_cannot_do_does_not_build() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let error = make(source(folder.path(), "").archs(["gfx9999"])).unwrap_err().to_string();
    assert!(error.contains("does not know gfx9999. It knows ") && error.contains("gfx90a, "), "{error}");
    let missing = "unsafe extern \"C\" { safe fn exp(x: f64) -> f64; }\n\
                   #[kernel] pub fn bad(mut x: DisjointSlice<f64>) { if let Some((_, x)) = x.mine() { *x = exp(*x); } }";
    match make(source(folder.path(), missing)) {
        Err(Error::Missing { functions, .. }) => assert_eq!(functions, ["exp"]),
        other => panic!("{other:?}"),
    }
    for (text, part) in [
        ("#[kernel] pub fn bad(x: &mut [f32]) { x[0] = 1.0; }", "DisjointSlice"),
        ("#[kernel] pub fn bad(x: *mut f32) {}", "unsafe fn"),
        ("#[kernel] pub fn bad() -> u32 { 1 }", "returns nothing"),
        ("#[kernel] pub fn bad<T>(x: &[T]) {}", "name the instances"),
        ("#[kernel(<f32>)] pub fn bad(x: &[f32]) {}", "not generic"),
        ("#[kernel(same_len(x, z))] pub fn bad(x: &[f32], y: &[f32]) {}", "`z` is not a parameter"),
        ("#[kernel(max_threads(4000))] pub fn bad(x: &[f32]) {}", "from 1 to 1024"),
        ("#[kernel] pub fn bad(a: SharedSlice<u32>, b: Shared<[u32; 4]>) {}", "last of the shared"),
        ("pub struct S(f32, u8);\n#[kernel] pub fn bad(s: S) {}", "cannot be a parameter"),
        ("#[derive(Clone, Copy, DeviceCopy)] pub struct S { x: f32 }", "repr(C)"),
        ("#[derive(Clone, Copy, DeviceCopy)] #[repr(u32)] pub enum E { A(u32), B }", "variants with fields"),
        ("#[kernel] pub fn bad(out: Printer) { printf!(out, \"{} {}\", 1u32); }", "more `{}` than arguments"),
        ("pub struct S([u64; 40]);\n#[kernel] pub fn bad(s: S) {}", "cannot be a parameter"),
        (
            "#[derive(Clone, Copy, DeviceCopy)] #[repr(C)] pub struct S([u64; 40]);\n#[kernel] pub fn bad(s: S) {}",
            "too large to be passed",
        ),
        // Data that is only plain on the host: the device would follow an address that the host wrote.
        (
            "#[cfg(target_arch = \"amdgpu\")] pub type Word = &'static Atomic<u32>;\n\
             #[cfg(not(target_arch = \"amdgpu\"))] pub type Word = u64;\n\
             #[kernel] pub fn bad(words: &[Word]) {}",
            "is not plain data",
        ),
        (
            "#[cfg(target_arch = \"amdgpu\")] pub type Word = &'static u32;\n\
             #[cfg(not(target_arch = \"amdgpu\"))] pub type Word = u64;\n\
             #[derive(Clone, Copy, DeviceCopy)] #[repr(C)] pub struct S { word: Word }\n\
             #[kernel] pub fn bad(s: S) {}",
            "is not plain data",
        ),
        (
            "#[derive(Clone, Copy, DeviceCopy)] #[repr(C)] pub struct S { a: u8, b: u32 }\n\
             #[kernel] pub fn bad(s: &[S]) {}",
            "the type has padding",
        ),
        ("#[kernel] pub fn bad(x: &[bool]) {}", "is not plain data"),
        ("#[kernel] pub fn bad(x: &[Option<core::num::NonZeroU32>]) {}", "is not plain data"),
        // The device aligns it differently.
        ("#[kernel] pub fn bad(x: &[u128]) {}", "is not plain data"),
        ("#[kernel] pub fn bad(f: fn(u32) -> u32) {}", "cannot be a parameter"),
        ("#[kernel] pub fn bad(x: Option<&u32>) {}", "cannot be a parameter"),
        ("#[kernel] pub fn bad(x: &'static [u32]) {}", "gone after the launch"),
        ("#[kernel] pub fn bad(x: char) {}", "cannot be a parameter"),
        // The representation of one type's value is not a value of another type.
        (
            "#[derive(Clone, Copy, DeviceCopy)] #[repr(u32)] pub enum Two { A, B }\n\
             #[kernel] pub fn bad(x: u32) { let _: Two = hip_kernel::Value::from_abi(hip_kernel::Value::to_abi([x])); }",
            "unsafe function",
        ),
        ("#[kernel] pub fn bad(x: DisjointSlice<char>) {}", "is not plain data"),
        ("#[kernel] pub fn bad(x: DisjointSlice<core::num::NonZeroU32>) {}", "is not plain data"),
        ("pub struct DisjointSlice<T>(T);\n#[kernel] pub fn bad(x: DisjointSlice<u32>) {}", "Writes"),
    ] {
        match make(source(folder.path(), text)) {
            Err(Error::Compilation { log, .. }) => assert!(log.contains(part), "{text}: {log}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// Attributes that are not `unsafe` in older editions could put records, kernels and functions of the device library
/// into the code.
#[test]
fn attributes_of_symbols_are_unsafe_in_every_edition() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (text, part) in [
        ("#[used] #[link_section = \".hip_kernel\"] pub static FORGED: [u8; 64] = [0; 64];", "link_section"),
        ("#[no_mangle] pub extern \"C\" fn hk_barrier() {}", "no_mangle"),
        ("#[allow(unsafe_attr_outside_unsafe)] #[export_name = \"hk_barrier\"] pub extern \"C\" fn f() {}", "forbid"),
    ] {
        match make(source(folder.path(), text).edition("2021")) {
            Err(Error::Compilation { log, .. }) => assert!(log.contains(part), "{text}: {log}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// A function that is only called through `dyn` writes to its frame before it can check the stack.
#[test]
fn a_stack_has_room_for_the_largest_call() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = |stack: &str| {
        let text = "pub trait Pick { fn pick(&self, i: usize) -> u8; }\n\
                    pub struct One; pub struct Two;\n\
                    impl Pick for One { fn pick(&self, i: usize) -> u8 { let mut all = [1; 100_000];\n\
                    for k in 0..i { all[i * k * k % 100_000] = k as u8; } all[i * 5 % 100_000] } }\n\
                    impl Pick for Two { fn pick(&self, i: usize) -> u8 { i as u8 } }\n\
                    #[kernelSTACK] pub fn pick(mut y: DisjointSlice<u8>) {\n\
                    y.set(|i| { let all: [&dyn Pick; 2] = [&One, &Two]; all[i % 2].pick(i) });\n}";
        source(folder.path(), &text.replace("STACK", stack))
    };
    match make(kernel("")) {
        Err(Error::Stack { kernels, .. }) => assert_eq!(kernels, ["pick"]),
        other => panic!("{other:?}"),
    }
    let needed = match make(kernel("(stack(16384))")) {
        Err(Error::StackTooSmall { kernels, .. }) => {
            let [(name, 16384, needed)] = &kernels[..] else { panic!("{kernels:?}") };
            assert!(name == "pick" && (100_000..104_000).contains(needed), "{kernels:?}");
            *needed
        }
        other => panic!("{other:?}"),
    };
    make(kernel(&format!("(stack({needed}))"))).unwrap();
    // Waves of 32 lanes use other instructions for the stack.
    let made = make(kernel("(stack(110_000))").archs(["gfx1100", "gfx1201"])).unwrap();
    assert!(made.ir.len() == 3 && made.ir.iter().all(|(_, ir)| ir.contains("instrument-function-entry-inlined")));
}

/// If a compiler is available, all shipped architectures are compiled, and the code contains no folder of this machine.
#[test]
fn kernels_are_built_for_all_architectures() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "#[kernel] pub fn add(a: &[f32], mut c: DisjointSlice<f32>) { c.set(|i| a[i] + 1.0); }";
    let made = make(source(folder.path(), text).archs(["gfx942", "gfx1100", "gfx1201"])).unwrap();
    assert_eq!(made.committed, None);
    let archs = hiprtc::Bundle::parse(&made.bundle).unwrap().architectures();
    assert_eq!(archs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["gfx90a", "gfx942", "gfx1100", "gfx1201"]);
    let toolchain = Toolchain::find().unwrap();
    let library = toolchain.library.to_string_lossy().into_owned();
    assert!(!made.bundle.windows(library.len()).any(|part| part == library.as_bytes()));
}

/// The device's compiler gets the given features, `cfg`s, edition and checks.
#[test]
fn the_source_is_read_as_the_crate_reads_it() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "#[cfg(feature = \"double\")] pub type Real = f64;\n\
                #[cfg(not(feature = \"double\"))] pub type Real = f32;\n\
                #[kernel] pub fn scale(mut y: DisjointSlice<Real>) { y.set(|i| i as Real * 0.5); }\n\
                #[cfg(fast)] #[kernel] pub fn quick(mut y: DisjointSlice<u32>, by: u32) { y.set(|i| i as u32 + by); }";
    let build = || source(folder.path(), text);
    let has = |made: &Made, part: &str| made.bundle.windows(part.len()).any(|bytes| bytes == part.as_bytes());
    let plain = make(build()).unwrap();
    assert!(!plain.ir[0].1.contains("double") && !has(&plain, "quick"));
    let made = make(build().cfg("feature=\"double\"").cfg("fast")).unwrap();
    assert!(made.ir[0].1.contains("double") && has(&made, "quick"));
    let checks = |made: &Made| made.ir[0].1.contains("attempt to add with overflow");
    assert!(!checks(&made));
    let checked = make(build().cfg("fast").debug_assertions(true)).unwrap();
    assert!(checks(&checked));
    // `gen` is a keyword of the edition 2024.
    let text = "fn gen() -> u32 { 1 }\n#[kernel] pub fn number(mut y: DisjointSlice<u32>) { y.set(|_| gen()); }";
    let old = || source(folder.path(), text);
    make(old().edition("2021")).unwrap();
    assert!(matches!(make(old()), Err(Error::Compilation { .. })));
}

/// The same source gives the same bytes in each folder.
#[test]
fn bundles_are_reproducible() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let text = "#[kernel] pub fn fill(mut y: DisjointSlice<u32>) { y.set(|i| i as u32); }";
    let code = || {
        let folder = tempfile::tempdir().unwrap();
        let made = make(source(folder.path(), text)).unwrap();
        // The names of the files follow the code; they are in another folder here.
        let end = made.bundle.windows(13).position(|bytes| bytes == b"hip-kernel 1\n").unwrap();
        made.bundle[..end].to_vec()
    };
    assert!(code() == code());
}

/// With line tables the code contains its source lines, with file names without this machine's folders; by default it
/// contains none.
#[test]
fn line_tables_name_the_source() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "#[kernel]\npub unsafe fn store(x: *mut u32) {\n    unsafe { *x = 1 };\n}";
    let has = |made: &Made, part: &str| made.bundle.windows(part.len()).any(|bytes| bytes == part.as_bytes());
    let plain = make(source(folder.path(), text)).unwrap();
    assert!(!has(&plain, ".debug_line"));
    let made = make(source(folder.path(), text).debug_lines(true)).unwrap();
    assert!(has(&made, ".debug_line") && has(&made, "kernels.rs"));
    // The line of the store, after the one that `source` adds.
    assert!(made.ir[0].1.contains("!DILocation(line: 4,"), "{}", made.ir[0].1);
    let library = Toolchain::find().unwrap().library;
    assert!(!has(&made, &library.to_string_lossy()));
}

/// `printf!` and messages without values do not link `core::fmt`, nor do messages with values if panics trap.
#[test]
fn text_takes_little_code() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = |check: &str| {
        let text = "#[kernel] pub fn say(x: &[f32], out: Printer) {\n\
                    let i = global_idx().x as usize;\n\
                    CHECK\n\
                    printf!(out, \"{}: {:.3} {:x}\\n\", i, x[i], i);\n}";
        source(folder.path(), &text.replace("CHECK", check))
    };
    let with_values = "assert!(x[i] > 0.0, \"element {i} is {}\", x[i]);";
    let small = |build: Build| {
        let made = make(build).unwrap();
        assert!(made.bundle.len() < 40_000, "{} bytes", made.bundle.len());
        made
    };
    small(kernel("assert!(x[i] > 0.0, \"not positive\");"));
    small(kernel(with_values).panics(Panics::Trap));
    let made = small(kernel(""));
    let [(arch, ir)] = &made.ir[..] else { panic!("{:?}", made.ir) };
    assert!(arch == "gfx90a" && ir.contains("amdgpu_kernel void @say("), "{ir}");
}

/// A barrier stays one barrier: LLVM does not copy it to both sides of a branch, where threads of a wave would no
/// longer meet.
#[test]
fn barriers_are_not_copied() {
    if let Err(why) = Toolchain::find() {
        println!("SKIPPED: kernels in Rust cannot be built here: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "#[kernel] pub fn meet(cells: AtomicSlice<u32>) {\n\
                let first = thread_idx().x == 0;\n\
                for _ in 0..2 { barrier(); if first { cells[0].fetch_add(1); } barrier(); cells[1].fetch_add(1); }\n}";
    let made = make(source(folder.path(), text)).unwrap();
    let calls = made.ir[0].1.matches("call void @hk_barrier()").count();
    assert!(calls == 2 || calls == 4, "{calls} barriers of 2, or of 4 in the loop unrolled");
    let line = made.ir[0].1.lines().find(|line| line.contains("declare void @hk_barrier()")).unwrap();
    let (_, group) = line.rsplit_once(' ').unwrap();
    assert!(made.ir[0].1.contains(&format!("attributes {group} = {{ convergent ")), "{line}");
}

/// Compilers without inline assembly for the target reject it.
#[test]
fn inline_assembly_is_refused_before_it_is_supported() {
    let Ok(toolchain) = Toolchain::find() else {
        println!("SKIPPED: kernels in Rust cannot be built here");
        return;
    };
    let minor: u32 = toolchain.release.split('.').nth(1).unwrap().parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = "#[kernel] pub unsafe fn bad() { unsafe { core::arch::asm!(\"s_nop 0\") } }";
    match make(source(folder.path(), text)) {
        Err(Error::Compilation { log, .. }) => assert!(log.contains("inline assembly") && minor < 98, "{log}"),
        Ok(_) => assert!(minor >= 98, "{}", toolchain.release),
        Err(other) => panic!("{other}"),
    }
}

/// Functions of other compilers are linked as LLVM bitcode.
#[test]
fn bitcode_is_linked() {
    let folder = tempfile::tempdir().unwrap();
    let text = "unsafe extern \"C\" { safe fn twice_and_one(x: f32) -> f32; }\n\
                #[kernel] pub fn call(mut y: DisjointSlice<f32>) { y.set(|i| twice_and_one(i as f32)); }";
    let error = make(source(folder.path(), text).link("nowhere.bc")).unwrap_err();
    assert!(matches!(&error, Error::File { path, .. } if path.ends_with("nowhere.bc")), "{error}");
    let (Ok(_), Ok(context)) = (Toolchain::find(), rocm_llvm::llvm::Context::new()) else {
        println!("SKIPPED: kernels in Rust cannot be built here, or there is no LLVM to write bitcode");
        return;
    };
    let ir = "target triple = \"amdgcn-amd-amdhsa\"\n\
              define hidden float @twice_and_one(float %x) #0 {\n\
              %a = fmul float %x, 2.0\n%b = fadd float %a, 1.0\nret float %b\n}\n\
              attributes #0 = { alwaysinline nounwind }\n";
    let bitcode = folder.path().join("functions.bc");
    std::fs::write(&bitcode, context.parse_ir("functions.ll", ir).unwrap().to_bitcode().unwrap()).unwrap();
    let kernels = source(folder.path(), text);
    assert!(matches!(make(kernels.clone()), Err(Error::Missing { functions, .. }) if functions == ["twice_and_one"]));
    let made = make(kernels.link(&bitcode)).unwrap();
    assert!(made.read.contains(&bitcode));
    assert_eq!(hiprtc::Bundle::parse(&made.bundle).unwrap().architectures().len(), 1);
}

/// Without the source of `core`, or with an old compiler, the build reports what to do, or uses the committed bundle.
#[test]
fn what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("rustc");
    let error = Toolchain::find_with(|name| (name == "HIP_KERNEL_RUSTC").then(|| missing.clone().into())).unwrap_err();
    assert!(error.contains(missing.to_str().unwrap()), "{error}");
    let error = Toolchain::find_with(|name| match name {
        "HIP_KERNEL_RUST_SRC" => Some(folder.path().into()),
        other => std::env::var_os(other),
    });
    let error = error.unwrap_err();
    assert!(error.contains("rustup component add rust-src") || error.contains("too old"), "{error}");
}

/// The committed text and bitcode match the tables.
#[test]
fn the_device_library_is_that_of_the_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hip-kernel/ir");
    assert_eq!(std::fs::read_to_string(folder.join("device.ll")).unwrap(), hip_kernel_build::ir::device_ir());
    assert!(std::fs::read(folder.join("device.bc")).unwrap().starts_with(b"BC"));
}
