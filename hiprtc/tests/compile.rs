//! Compilation with a real HIPRTC. Without one, each test reports that it is skipped, and why.

mod common;

use common::compiler_or_skip;
use hiprtc::{Bundle, CppStandard, Error, OptLevel, Options, Origin, Program};

const SCALE: &str = r#"extern "C" __global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }"#;
const ARCHITECTURES: [&str; 4] = ["gfx90a", "gfx942", "gfx1030", "gfx1100"];

/// `e_flags & EF_AMDGPU_MACH` of the processors above.
fn machine(code: &[u8]) -> u32 {
    u32::from(code[48])
}

#[test]
fn code_for_four_architectures() {
    if !compiler_or_skip("code_for_four_architectures") {
        return;
    }
    for (arch, flag) in ARCHITECTURES.into_iter().zip([0x3f, 0x4c, 0x36, 0x41]) {
        let code = Program::new("scale.hip", SCALE).arch(arch).compile().unwrap();
        assert!(code.as_bytes().starts_with(b"\x7fELF"));
        assert_eq!(machine(code.as_bytes()), flag, "{arch}");
        assert_eq!(code.arch().to_string(), arch);
        assert!(matches!(code.origin(), Origin::Compiled));
    }
}

#[test]
fn features_of_the_architecture_reach_the_code() {
    if !compiler_or_skip("features_of_the_architecture_reach_the_code") {
        return;
    }
    let flags = |arch| {
        let code = Program::new("scale.hip", SCALE).arch(arch).compile().unwrap();
        // EF_AMDGPU_FEATURE_XNACK_V4: 0x100 any, 0x200 off, 0x300 on.
        u32::from(code.as_bytes()[49]) & 3
    };
    assert_eq!(flags("gfx90a"), 1);
    assert_eq!(flags("gfx90a:xnack-"), 2);
    assert_eq!(flags("gfx90a:sramecc+:xnack+"), 3);
}

#[test]
fn an_error_has_the_compilers_words_and_line() {
    if !compiler_or_skip("an_error_has_the_compilers_words_and_line") {
        return;
    }
    let source = "extern \"C\" __global__ void f(int *x) {\n\n    *x = nonsense;\n}\n";
    let error = Program::new("broken.hip", source).arch("gfx90a").compile().unwrap_err();
    let log = error.log().unwrap();
    assert!(log.contains("broken.hip:3:") && log.contains("nonsense"), "{log}");
    assert!(!log.ends_with('\0'));
    let found = error.diagnostics();
    let first = &found[0];
    assert_eq!((first.file.as_deref(), first.line, first.column), (Some("broken.hip"), Some(3), Some(10)), "{log}");
    assert_eq!(first.severity, hiprtc::Severity::Error);
    assert!(first.message.contains("nonsense"), "{first}");
    assert_eq!(first.source.as_deref(), Some("    *x = nonsense;"), "{log}");
    assert!(first.marks.as_deref().is_some_and(|marks| marks.starts_with("         ^")), "{log}");
    let text = error.to_string();
    assert!(text.contains("gfx90a") && text.contains(log), "{text}");
    assert!(!error.is_unavailable());
}

/// Comgr's cache compiles what the preprocessor has made of the source.
#[test]
fn places_behind_macros_are_those_of_the_source() {
    if !compiler_or_skip("places_behind_macros_are_those_of_the_source") {
        return;
    }
    let line = "extern \"C\" __global__ void f(int *x) { x[0] = LONG_ONE; int y = WRONG; }";
    let program = |wrong: &str| {
        let source = format!("#define LONG_ONE (1 + 2 + 3 + 4 + 5)\n#define WRONG {wrong}\n{line}\n");
        Program::new("macro.hip", source).arch("gfx90a").options(Options::new().raw("-Wunused-variable")).uncached()
    };
    let (error, code) = (program("nonsense").compile().unwrap_err(), program("1").compile().unwrap());
    for (found, at) in [(error.diagnostics(), "WRONG"), (code.diagnostics(), "y = ")] {
        let column = line.find(at).unwrap() as u32 + 1;
        let first = &found[0];
        assert_eq!((first.line, first.column), (Some(3), Some(column)), "{first}");
        assert_eq!(first.source.as_deref(), Some(line), "{first}");
    }
}

#[test]
fn warnings_come_with_the_code() {
    if !compiler_or_skip("warnings_come_with_the_code") {
        return;
    }
    let source = "#warning look here\nextern \"C\" __global__ void f() {}\n";
    let code = Program::new("warn.hip", source).arch("gfx90a").compile().unwrap();
    assert!(code.log().contains("look here"), "{}", code.log());
    let found = code.diagnostics();
    assert_eq!(found.len(), 1, "{}", code.log());
    assert_eq!((found[0].severity, found[0].line), (hiprtc::Severity::Warning, Some(1)));
}

#[test]
fn processors_and_features_that_the_compiler_does_not_know_are_errors() {
    if !compiler_or_skip("processors_and_features_that_the_compiler_does_not_know_are_errors") {
        return;
    }
    // HIPRTC 6.4 and 5.7 end the process on the first of these.
    for arch in ["gfx9999", "gfx1100:xnack+", "gfx90c:sramecc-"] {
        let error = Program::new("scale.hip", SCALE).arch(arch).compile().unwrap_err();
        assert!(matches!(&error, Error::UnsupportedArch { .. }), "{error}");
        assert!(error.to_string().contains(arch) && error.to_string().contains("gfx90a"), "{error}");
    }
}

#[test]
fn an_option_that_makes_something_else_is_an_error() {
    if !compiler_or_skip("an_option_that_makes_something_else_is_an_error") {
        return;
    }
    for option in ["-S", "-E", "-fsyntax-only", "-fgpu-rdc", "-x"] {
        let options = Options::new().raw(option);
        match Program::new("scale.hip", SCALE).arch("gfx90a").options(options).compile() {
            Ok(code) => assert!(code.as_bytes().starts_with(b"\x7fELF"), "{option}"),
            Err(error) => assert!(error.to_string().contains(option), "{error}"),
        }
    }
}

#[test]
fn headers_definitions_and_standards_reach_the_compiler() {
    if !compiler_or_skip("headers_definitions_and_standards_reach_the_compiler") {
        return;
    }
    let source = r#"
        #include "outer.h"
        static_assert(OUTER == 1 && INNER == 2, "headers");
        static_assert(GIVEN == 42, "definition");
        static_assert(__cplusplus == 202002L, "standard");
        #ifndef __FAST_MATH__
        #error not fast
        #endif
        extern "C" __global__ void f() {}
    "#;
    let program = |options: Options| {
        Program::new("headers.hip", source)
            .header("outer.h", "#include \"deep/inner.h\"\n#define OUTER 1\n")
            .header("deep/inner.h", "#define INNER 2\n")
            .arch("gfx90a")
            .options(options)
    };
    let options = Options::new().standard(CppStandard::Cpp20).define("GIVEN", 42).fast_math();
    program(options.clone()).compile().unwrap();
    let log = program(options.define("INNER", 3).undefine("GIVEN")).compile().unwrap_err().to_string();
    assert!(log.contains("GIVEN"), "{log}");
}

/// Sources written for hipcc begin with them. HIPRTC has them built in, and some machines also have them as files.
#[test]
fn headers_that_are_built_in_can_be_included() {
    if !compiler_or_skip("headers_that_are_built_in_can_be_included") {
        return;
    }
    let body = "extern \"C\" __global__ void k(__half *x, float *y) { y[0] = __half2float(__hadd(x[0], x[1])); }";
    for includes in ["", "#include <hip/hip_fp16.h>\n", "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n"] {
        let program = Program::new("half.hip", format!("{includes}{body}")).arch("gfx90a");
        assert_ne!(program.compile().unwrap().as_bytes(), b"", "{includes}");
    }
    let missing = Program::new("other.hip", "#include <hip/no_such_header.h>\n").arch("gfx90a").compile().unwrap_err();
    assert!(missing.to_string().contains("hip/no_such_header.h"), "{missing}");
}

#[test]
fn optimisation_levels_change_the_code() {
    if !compiler_or_skip("optimisation_levels_change_the_code") {
        return;
    }
    let size = |level| {
        let options = Options::new().opt_level(level);
        Program::new("scale.hip", SCALE).arch("gfx90a").options(options).compile().unwrap().as_bytes().len()
    };
    assert!(size(OptLevel::O0) > size(OptLevel::O3));
}

#[test]
fn templates_are_instantiated_under_their_lowered_names() {
    if !compiler_or_skip("templates_are_instantiated_under_their_lowered_names") {
        return;
    }
    let source = "namespace my { template<typename T, int N> __global__ void fill(T *x) { x[threadIdx.x] = N; } }";
    let code = Program::new("fill.hip", source)
        .name_expression("my::fill<float, 7>")
        .name_expression("&my::fill<int, 3>")
        .arch("gfx90a")
        .compile()
        .unwrap();
    let name = code.lowered_name("my::fill<float, 7>").unwrap();
    assert!(name.starts_with("_ZN2my4fill"), "{name}");
    assert_ne!(name, code.lowered_name("&my::fill<int, 3>").unwrap());
    let has = |name: &str| code.as_bytes().windows(name.len()).any(|bytes| bytes == name.as_bytes());
    assert!(has(name));
    let error = code.lowered_name("my::fill<double, 1>").unwrap_err();
    assert!(matches!(&error, Error::UnknownName { known, .. } if known.len() == 2), "{error}");
    let error =
        Program::new("fill.hip", source).name_expression("my::nothing<int>").arch("gfx90a").compile().unwrap_err();
    assert!(error.to_string().contains("my::nothing"), "{error}");
}

#[test]
fn a_bundle_has_every_architecture_and_is_the_same_each_time() {
    if !compiler_or_skip("a_bundle_has_every_architecture_and_is_the_same_each_time") {
        return;
    }
    let program = Program::new("scale.hip", SCALE);
    let file = program.compile_bundle(ARCHITECTURES).unwrap();
    assert_eq!(file, program.compile_bundle(ARCHITECTURES).unwrap());
    let bundle = Bundle::parse(&file).unwrap();
    for (arch, flag) in ARCHITECTURES.into_iter().zip([0x3f, 0x4c, 0x36, 0x41]) {
        assert_eq!(machine(bundle.select(&arch.parse().unwrap()).unwrap()), flag);
    }
    let code = hiprtc::compile_or_bundle(&program.arch("gfx942"), b"not needed").unwrap();
    assert!(matches!(code.origin(), Origin::Compiled));
}

#[test]
fn many_threads_may_compile_at_once() {
    if !compiler_or_skip("many_threads_may_compile_at_once") {
        return;
    }
    let want = Program::new("scale.hip", SCALE).arch("gfx90a").compile().unwrap();
    std::thread::scope(|threads| {
        for n in 0..4 {
            let want = &want;
            threads.spawn(move || {
                let code = Program::new("scale.hip", SCALE).arch("gfx90a").compile().unwrap();
                assert_eq!(code.as_bytes(), want.as_bytes());
                let broken = format!("extern \"C\" __global__ void f() {{ error_{n}; }}");
                let error = Program::new("broken.hip", broken).arch("gfx90a").compile().unwrap_err();
                assert!(error.to_string().contains(&format!("error_{n}")), "{error}");
            });
        }
    });
}
