//! A topic's kernels at every optimisation level and for every architecture.

use std::fmt;
use std::io::Read as _;
use std::sync::Arc;

use amdgpu_sim::{Arch, Config, Gpu, Misaligned, Module};
use hiprtc::{Options, Program};

use crate::common::load;

/// The compilation level of a topic's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) arch: Arch,
    pub(crate) optimisation: u8,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -O{}", self.arch, self.optimisation)
    }
}

/// The compiler options besides the level: no fusing of `a * b + c`, so that every result is defined exactly. `cargo
/// xtask kernels` builds the committed code with the same options.
const OPTIONS: [&str; 2] = ["-std=c++17", "-ffp-contract=off"];

/// The levels whose code is committed with the sources.
const KEPT: [Level; 3] = [
    Level { arch: Arch::Gfx90a, optimisation: 0 },
    Level { arch: Arch::Gfx90a, optimisation: 3 },
    Level { arch: Arch::Gfx942, optimisation: 3 },
];

/// Runs and checks a topic's kernels.
pub(crate) type Check = fn(Level, &Gpu, &Arc<Module>);

fn run(level: Level, code: &[u8], check: Check) {
    let gpu = Gpu::new(Config {
        arch: level.arch,
        instruction_budget: Some(50_000_000),
        misaligned: Misaligned::Allow,
        ..Config::default()
    });
    let module = load(&gpu, code);
    check(level, &gpu, &module);
    drop(module);
    assert_eq!(gpu.memory().used(), 0, "{level}: memory that was not given back");
}

/// Runs the committed code objects of a topic (compressed by xz to a sixth), in the order of [`KEPT`]; some have none
/// for gfx942.
pub(crate) fn kept(code: &[&[u8]], check: Check) {
    for (level, compressed) in KEPT.into_iter().zip(code) {
        let mut code = Vec::new();
        lzma_rust2::XzReader::new(*compressed, false).read_to_end(&mut code).unwrap();
        run(level, &code, check);
    }
}

/// Compiles a topic's source at all levels for `architectures` with the available HIPRTC, and runs it.
pub(crate) fn compiled(name: &str, source: &str, architectures: &[Arch], check: Check) {
    for arch in architectures.iter().copied() {
        for optimisation in 0..=3 {
            let level = Level { arch, optimisation };
            let options = OPTIONS.into_iter().fold(Options::new(), Options::raw).raw(format!("-O{optimisation}"));
            let program = Program::new(format!("{name}.hip"), source).arch(arch).options(options);
            let code = program.compile().unwrap_or_else(|error| panic!("{level}: {error}"));
            run(level, code.as_bytes(), check);
        }
    }
}

/// The files that the fetched tree must contain.
pub(crate) const FILES: [&str; 2] = ["libhiprtc.so.7", "libamd_comgr.so.3"];

/// Defines the tests of a topic: `NAME.hip`, and a function that runs its kernels and checks their results. Optionally
/// with a separate source, whose code is not committed.
macro_rules! topic {
    ($name:literal, $check:path) => {
        #[test]
        fn code_that_is_kept() {
            $crate::levels::kept(
                &[
                    include_bytes!(concat!("code/", $name, "-gfx90a-O0.co.xz")),
                    include_bytes!(concat!("code/", $name, "-gfx90a-O3.co.xz")),
                    include_bytes!(concat!("code/", $name, "-gfx942-O3.co.xz")),
                ],
                $check,
            );
        }

        $crate::levels::topic!($name, include_str!(concat!($name, ".hip")), $check);
    };
    ($name:literal, $source:expr, $check:path) => {
        #[test]
        fn code_compiled_now() {
            let path = concat!(module_path!(), "::code_compiled_now");
            if !sys_testing::child::run_with_libraries(path, "7.2", &$crate::levels::FILES) {
                $crate::levels::compiled($name, $source, &amdgpu_sim::Arch::ALL, $check);
            }
        }
    };
}
pub(crate) use topic;

/// The same for a topic that needs instructions which gfx942 lacks.
macro_rules! only_gfx90a {
    ($name:literal, $check:path) => {
        #[test]
        fn code_that_is_kept() {
            $crate::levels::kept(
                &[
                    include_bytes!(concat!("code/", $name, "-gfx90a-O0.co.xz")),
                    include_bytes!(concat!("code/", $name, "-gfx90a-O3.co.xz")),
                ],
                $check,
            );
        }

        #[test]
        fn code_compiled_now() {
            let path = concat!(module_path!(), "::code_compiled_now");
            if !sys_testing::child::run_with_libraries(path, "7.2", &$crate::levels::FILES) {
                let source = include_str!(concat!($name, ".hip"));
                $crate::levels::compiled($name, source, &[amdgpu_sim::Arch::Gfx90a], $check);
            }
        }
    };
}
pub(crate) use only_gfx90a;
