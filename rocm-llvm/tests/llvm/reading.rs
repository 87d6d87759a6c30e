//! Reading and writing IR and bitcode, and linking modules.

use rocm_llvm::llvm::{Context, Error};

use crate::support::{llvm, machine, saxpy, scratch};

const ADD: &str = "define i32 @add(i32 %a, i32 %b) {\n  %sum = add i32 %a, %b\n  ret i32 %sum\n}\n";
const USE: &str = "declare i32 @add(i32, i32)\n\
    define i32 @twice(i32 %a) {\n  %sum = call i32 @add(i32 %a, i32 %a)\n  ret i32 %sum\n}\n";
/// All of LLVM 17 to 22 read through the null.
const FLAGS: &str = "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"Objective-C Garbage Collection\", null}\n";

fn parse_error(result: rocm_llvm::llvm::Result<rocm_llvm::llvm::Module<'_>>) -> String {
    match result {
        Err(Error::Parse { name, message }) => format!("{name}: {message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bad_text_is_an_error_with_its_line() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let wrong = "define i32 @f() {\n  ret i33 0\n}\n";
    let error = parse_error(context.parse_ir("wrong.ll", wrong));
    assert!(error.contains("wrong.ll:2:") && error.contains("i33"), "{error}");
    for text in ["", "  \n", "define", "@x = global", "\u{1}\u{2}", "define void @f() { call void @g() ret void }", "{"]
    {
        parse_error(context.parse_ir(text, text));
    }
    // Valid text, invalid IR: the parser's own checks or the verifier's.
    let undominated = "define i32 @f() {\n  %a = add i32 %b, 1\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n";
    assert!(matches!(context.parse_ir("loop.ll", undominated), Err(Error::Verify { .. } | Error::Parse { .. })));
    assert!(context.parse_ir("bad layout.ll", "target datalayout = \"nonsense\"\n").is_err());
    assert!(matches!(context.parse_ir("a\0b", ADD), Err(Error::Null { at: 1, .. })));
    assert!(matches!(context.parse_ir("null.ll", "\0\0\0"), Err(Error::Null { at: 0, .. })));
    // The context still works.
    assert_eq!(context.parse_ir("add.ll", ADD).unwrap().functions().len(), 1);
}

/// LLVM converts what older releases wrote before its verifier sees it, and trusts its form.
#[test]
fn text_that_crashes_llvm_is_an_error() {
    let Some(library) = llvm() else { return };
    let context = Context::new().unwrap();
    let call = |name: &str, result: &str, parameters: &str, arguments: &str| {
        format!(
            "declare {result} @llvm.{name}({parameters})\n\
             define void @f() {{\n  call {result} @llvm.{name}({arguments})\n  ret void\n}}\n"
        )
    };
    let mut crashes = 0;
    for text in [
        call("dbg.value", "i32", "i32", "i32 1"),
        call("stackprotectorcheck", "i32", "i32", "i32 1"),
        call("amdgcn.ldexp.f32", "void", "", ""),
        call("amdgcn.ds.fadd.f32", "i32", "i32", "i32 1"),
        call("x86.sse.sqrt.ss", "void", "", ""),
        call("objectsize.i32.p0", "void", "", ""),
        FLAGS.to_owned(),
        "define void @f() {\n  br label %a\na:\n  br label %a, !llvm.loop !0\n}\n!0 = !{}\n".to_owned(),
    ] {
        match context.parse_ir("old.ll", &text) {
            Err(Error::Parse { message, .. }) => crashes += u32::from(message.contains("LLVM crashed")),
            Err(Error::Verify { .. } | Error::Fatal { .. }) | Ok(_) => {}
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(crashes > 0, "LLVM {}", library.version());
    // Notes on NVIDIA's kernels.
    let notes = |node: &str| format!("declare void @k(ptr)\n!nvvm.annotations = !{{!0}}\n!0 = {node}\n");
    for wrong in ["!{}", "!{ptr @k, !\"kernel\"}", "!{ptr @k, null, i32 1}", "!{ptr @k, i32 1, i32 1}"] {
        let error = parse_error(context.parse_ir("notes.ll", notes(wrong)));
        assert!(error.contains("!nvvm.annotations") && error.contains("node 0"), "{error}");
    }
    let module = context.parse_ir("notes.ll", notes("!{ptr @k, !\"kernel\", i32 1, !\"maxntidx\", i32 64}")).unwrap();
    assert!(module.function("k").unwrap().is_some());
}

/// Each call has a child process of its own.
#[test]
fn texts_are_read_by_many_threads() {
    if llvm().is_none() {
        return;
    }
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let context = Context::new().unwrap();
                    assert_eq!(context.parse_ir("add.ll", ADD).unwrap().functions().len(), 1);
                    assert!(parse_error(context.parse_ir("flags.ll", FLAGS)).contains("LLVM crashed"));
                }
            });
        }
    });
}

#[test]
fn bitcode_is_read_back() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = saxpy(&context, &machine("gfx90a"));
    let bitcode = module.to_bitcode().unwrap();
    let other = Context::new().unwrap();
    // SAFETY: LLVM wrote it.
    let again = unsafe { other.parse_bitcode("saxpy.bc", &bitcode) }.unwrap();
    let body = |text: String| text.split_once("source_filename").unwrap().1.to_owned();
    assert_eq!(body(again.to_string()), body(module.to_string()));
    let kernel = again.function("saxpy").unwrap().unwrap();
    let names: Vec<_> = kernel.blocks().iter().map(|block| block.name()).collect();
    assert_eq!(names, ["entry", "body", "end"]);
    assert!(kernel.blocks()[0].instructions()[0].to_string().contains("@llvm.amdgcn.workgroup.id.x()"));
    // The reader of text rejects it.
    assert!(parse_error(other.parse_ir("saxpy.bc", &bitcode)).contains("parse_bitcode"));
}

#[test]
fn bad_and_truncated_bitcode_is_an_error() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let bitcode = saxpy(&context, &machine("gfx90a")).to_bitcode().unwrap();
    for bytes in
        [&b""[..], b"BC", b"not bitcode at all", b"\x7fELF", ADD.as_bytes(), b"BC\xc0\xde", b"BC\xc0\xde\0\0\0\0"]
    {
        // SAFETY: not bitcode, or no more than its first word.
        parse_error(unsafe { context.parse_bitcode("bad.bc", bytes) });
    }
    // Every length that is a multiple of bitcode's words, and some others: none crashes.
    let lengths = (4..bitcode.len()).filter(|at| at % 4 == 0 || at % 53 == 0);
    let (mut refused, mut read) = (0, 0);
    for length in lengths {
        // SAFETY: LLVM wrote it; it is truncated.
        match unsafe { context.parse_bitcode("truncated.bc", &bitcode[..length]) } {
            Ok(_) => read += 1,
            Err(Error::Parse { .. } | Error::Verify { .. } | Error::Fatal { .. }) => refused += 1,
            Err(other) => panic!("{length} bytes: {other}"),
        }
    }
    // The last blocks are tables of symbols and strings, without which LLVM can read a module.
    assert!(refused > 100 && read < refused / 4, "{refused} refused, {read} read of {}", bitcode.len());
    // SAFETY: LLVM wrote it.
    unsafe { context.parse_bitcode("whole.bc", &bitcode) }.unwrap();
}

/// Changed text gives an error or another module: safe code can pass anything to LLVM's reader of text.
#[test]
fn changed_text_is_an_error_or_a_module() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let text = saxpy(&context, &machine("gfx90a")).to_string().into_bytes();
    // A Lehmer generator, so that each run tries the same text.
    let mut state = 48_271_u64;
    let mut random = |below: usize| {
        state = state * 48_271 % 0x7fff_ffff;
        state as usize % below
    };
    let (mut refused, mut read) = (0, 0);
    for _ in 0..500 {
        let mut changed = text.clone();
        for _ in 0..=random(3) {
            let (at, from) = (random(changed.len()), random(text.len()));
            match random(3) {
                0 => changed[at] ^= 1 << random(7),
                1 => drop(changed.splice(at..(at + random(12)).min(changed.len()), [])),
                _ => drop(changed.splice(at..at, text[from..(from + random(24)).min(text.len())].to_vec())),
            }
        }
        match context.parse_ir("changed.ll", &changed) {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 80 && read > 16, "{refused} refused, {read} read");
}

#[test]
fn modules_are_linked() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let mut module = context.parse_ir("use.ll", USE).unwrap();
    module.link(context.parse_ir("add.ll", ADD).unwrap()).unwrap();
    assert!(!module.function("add").unwrap().unwrap().is_declaration());
    assert_eq!(module.functions().len(), 2);
    // A second definition.
    let before = module.to_string();
    let error = module.link(context.parse_ir("again.ll", ADD).unwrap()).unwrap_err();
    assert!(matches!(&error, Error::LinkModules { message, .. } if message.contains("add")), "{error}");
    assert_eq!(module.to_string(), before, "a link that failed changed the module");
    // Conflicting flags.
    let flagged = |value| {
        let module = context.module("flags").unwrap();
        module.add_flag("amdhsa_code_object_version", value).unwrap();
        module
    };
    module.link(flagged(500)).unwrap();
    let error = module.link(flagged(600)).unwrap_err();
    assert!(error.to_string().contains("amdhsa_code_object_version"), "{error}");
    // An invalid module.
    assert!(matches!(module.link(scratch(&context)), Err(Error::Verify { .. })));
    module.verify().unwrap();
}

#[test]
fn warnings_are_kept() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let with =
        |layout: &str| context.parse_ir("layout.ll", format!("target datalayout = \"{layout}\"\n{USE}")).unwrap();
    let mut module = with("e-p:64:64");
    let other = format!("target datalayout = \"e-p:32:32\"\n{ADD}");
    module.link(context.parse_ir("other.ll", other).unwrap()).unwrap();
    let warnings = context.take_diagnostics();
    assert!(warnings.iter().any(|d| d.message.contains("data layout")), "{warnings:?}");
    assert!(context.take_diagnostics().is_empty());
}
