//! Objects, assembly, disassembly, and the linker.

use rocm_llvm::llvm::{AddressSpace, Context, Disassembler, Error, Linker, Object, Optimization, TargetMachine, link};

use crate::support::{llvm, machine, saxpy, scratch, skipped};

/// The GPUs that LLVM 17 knows.
const GPUS: [(&str, u8); 4] = [("gfx90a", 0x3f), ("gfx942", 0x4c), ("gfx1030", 0x36), ("gfx1100", 0x41)];

#[test]
fn objects_are_for_the_gpu_asked_for() {
    let Some(library) = llvm() else { return };
    let context = Context::new().unwrap();
    let mut gpus = GPUS.to_vec();
    if library.version().major >= 19 {
        gpus.push(("gfx1201", 0x4e));
    }
    for (gpu, number) in gpus {
        let machine = machine(gpu);
        let module = saxpy(&context, &machine);
        let before = module.to_string();
        let object = machine.emit_object(&module).unwrap();
        assert_eq!(module.to_string(), before, "making code changed the module");
        assert_eq!(object[48], number, "{gpu}");
        let object = Object::parse(&object).unwrap();
        assert!(object.is_relocatable());
        let functions = object.functions().unwrap();
        let names: Vec<_> = functions.iter().map(|code| code.name.as_str()).collect();
        assert_eq!(names, ["saxpy"]);
        // SAFETY: LLVM has just written the code.
        let instructions = unsafe { Disassembler::new(gpu).unwrap().instructions(functions[0].bytes, 0) }.unwrap();
        let texts: Vec<_> = instructions.iter().map(|i| i.text.as_str()).collect();
        assert!(texts.iter().any(|text| text.starts_with("global_store")), "{texts:#?}");
        assert_eq!(texts.iter().filter(|text| text.starts_with("s_endpgm")).count(), 1, "{texts:#?}");
        let assembly = machine.emit_assembly(&module).unwrap();
        assert!(assembly.contains(&format!("amdgcn-amd-amdhsa--{gpu}")), "{assembly}");
    }
}

#[test]
fn features_are_in_the_object() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    // xnack is at bits 8 and 9, sramecc at 10 and 11: 1 any, 2 off, 3 on.
    for (gpu, xnack, sramecc) in [("gfx90a", 1, 1), ("gfx90a:xnack+", 3, 1), ("gfx90a:sramecc+:xnack-", 2, 3)] {
        let machine = machine(gpu);
        let object = machine.emit_object(&saxpy(&context, &machine)).unwrap();
        assert_eq!((object[49] & 3, object[49] >> 2 & 3), (xnack, sramecc), "{gpu}");
    }
}

#[test]
fn unknown_gpus_are_errors() {
    let Some(library) = llvm() else { return };
    for gpu in [
        "",
        "gfx",
        "gfx9999",
        "gfx90",
        "GFX90A",
        "sm_90",
        "native",
        "x86-64",
        "generic",
        "gfx90a:",
        "gfx90a:xnack",
        "gfx90a:nothing+",
        "gfx90a:xnack+:xnack-",
        "gfx1100:sramecc+",
        "gfx90a\0",
        "gfx90a,gfx942",
        "gfx90a:xnack+,+foo",
    ] {
        let error = TargetMachine::new(gpu, Optimization::Default).unwrap_err();
        assert!(matches!(&error, Error::UnknownGpu { version, .. } if *version == library.version()), "{gpu}: {error}");
        assert!(matches!(Disassembler::new(gpu), Err(Error::UnknownGpu { .. })));
    }
    let context = Context::new().unwrap();
    let host = context.parse_ir("host.ll", "target triple = \"x86_64-unknown-linux-gnu\"\n").unwrap();
    let error = machine("gfx90a").emit_object(&host).unwrap_err();
    assert!(error.to_string().contains("x86_64-unknown-linux-gnu"), "{error}");
}

#[test]
fn what_the_gpu_cannot_do_is_an_error() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.module("much").unwrap();
    // More LDS than the GPU has.
    let much = context.i32().array(1 << 20).unwrap();
    let lds = module.add_global("lds", much, AddressSpace::Local).unwrap();
    lds.set_initial_value(much.poison().unwrap()).unwrap();
    let kernel = module.add_kernel("much", &[]).unwrap();
    let b = kernel.append_block("entry").unwrap().builder();
    b.store(context.i32().const_int(1).unwrap(), lds.value()).unwrap().set_volatile(true).unwrap();
    b.ret(None).unwrap();
    drop(b);
    let error = machine("gfx90a").emit_object(&module).unwrap_err();
    assert!(matches!(&error, Error::Emit { gpu, .. } if gpu == "gfx90a"), "{error}");
    assert!(error.to_string().contains("local memory"), "{error}");
    // The context and other machines still work.
    let machine = machine("gfx90a");
    machine.emit_object(&saxpy(&context, &machine)).unwrap();
    assert!(matches!(machine.emit_object(&scratch(&context)), Err(Error::Verify { .. })));
    // An allocation in the wrong memory, which can only be detected with the data layout.
    let early = context.module("early").unwrap();
    let function = early.add_function("f", context.void().function(&[], false).unwrap()).unwrap();
    let b = function.append_block("entry").unwrap().builder();
    b.alloca(context.i32(), "slot").unwrap();
    b.ret(None).unwrap();
    drop(b);
    early.verify().unwrap();
    let error = machine.emit_object(&early).map(|object| object.len()).unwrap_err();
    assert!(matches!(&error, Error::Verify { .. } | Error::Invalid { .. }), "{error}");
}

const ASSEMBLY: &str =
    ".text\n.globl f\n.type f,@function\nf:\n  v_add_f32_e32 v0, v1, v2\n  s_endpgm\n.Lend:\n  .size f, .Lend-f\n";

#[test]
fn assembly_is_assembled_and_disassembled() {
    if llvm().is_none() {
        return;
    }
    let machine = machine("gfx90a");
    let object = machine.assemble("f.s", ASSEMBLY).unwrap();
    let object = Object::parse(&object).unwrap();
    let functions = object.functions().unwrap();
    assert_eq!(functions[0].name, "f");
    // SAFETY: LLVM has just written the code.
    let instructions = unsafe { Disassembler::new("gfx90a").unwrap().instructions(functions[0].bytes, 0x100) }.unwrap();
    let list: Vec<_> = instructions.iter().map(|i| (i.address, i.bytes.len(), i.text.as_str())).collect();
    assert_eq!(list, [(0x100, 4, "v_add_f32_e32 v0, v1, v2"), (0x104, 4, "s_endpgm")]);
    for wrong in ["no_such_instruction v0\n", "v_add_f32 v0\n", ".size\n"] {
        let error = machine.assemble("wrong.s", wrong).unwrap_err();
        assert!(matches!(error, Error::Emit { .. }), "{error}");
        assert!(error.to_string().contains("1:") || error.to_string().contains("error"), "{error}");
    }
    // An instruction of another GPU.
    let error = machine.assemble("wmma.s", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\n").unwrap_err();
    assert!(error.to_string().contains("not supported"), "{error}");
    assert!(machine.assemble("empty.s", " ").is_err() && machine.assemble("null.s", "s_nop 0\0").is_err());
}

#[test]
fn bytes_that_are_no_instruction_are_an_error() {
    if llvm().is_none() {
        return;
    }
    let disassembler = Disassembler::new("gfx90a").unwrap();
    // SAFETY: words at which LLVM does not crash.
    let instructions = |code: &[u8]| unsafe { disassembler.instructions(code, 0) };
    assert_eq!(instructions(&[]).unwrap(), []);
    for (code, at) in [
        (&[0xff_u8; 8][..], 0),
        (&[0x00, 0x00, 0x81, 0xbf, 0xff, 0xff, 0xff, 0xff], 4),
        (&[0x00], 0),
        (&[0, 0, 0x80], 0),
    ] {
        let error = instructions(code).unwrap_err();
        assert!(matches!(&error, Error::Disassemble { at: place, .. } if *place == at), "{error}");
    }
}

#[test]
fn objects_are_read_with_care() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let machine = machine("gfx90a");
    let object = machine.emit_object(&saxpy(&context, &machine)).unwrap();
    for length in 0..object.len() {
        if let Ok(object) = Object::parse(&object[..length]) {
            _ = object.functions();
        }
    }
    assert!(matches!(Object::parse(&object[..object.len() / 2]), Err(Error::Object { .. })));
    let mut noise = object.clone();
    let mut state = 1_u32;
    for _ in 0..20_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = state as usize % noise.len();
        let byte = std::mem::replace(&mut noise[at], (state >> 24) as u8);
        if let Ok(object) = Object::parse(&noise) {
            _ = object.functions();
        }
        noise[at] = byte;
    }
    // Two symbol tables of one kind: the first section's kind is 2, as that of the symbols.
    let mut two = object.clone();
    let at = |place: usize| u64::from_le_bytes(object[place..place + 8].try_into().unwrap()) as usize;
    two[at(40) + 64 + 4] = 2;
    let error = Object::parse(&two).unwrap().functions().unwrap_err();
    assert!(error.to_string().contains("two symbol tables"), "{error}");
    let mut host = object;
    host[18] = 62;
    assert!(Object::parse(&host).unwrap_err().to_string().contains("machine 62"));
}

#[test]
fn code_objects_are_linked() {
    if llvm().is_none() {
        return;
    }
    let linker = match Linker::find() {
        Ok(linker) => linker,
        Err(error) => return skipped(error),
    };
    let context = Context::new().unwrap();
    let machine = machine("gfx90a");
    let object = machine.emit_object(&saxpy(&context, &machine)).unwrap();
    let code = link(&[&object]).unwrap();
    let linked = Object::parse(&code).unwrap();
    assert!(!linked.is_relocatable());
    assert!(linked.functions().unwrap().iter().any(|code| code.name == "saxpy"));
    // An undefined symbol, which a second object defines.
    let caller = machine
        .assemble("a.s", ".globl f\nf:\n  s_getpc_b64 s[0:1]\n  s_add_u32 s0, s0, g@rel32@lo+4\n  s_endpgm\n")
        .unwrap();
    let error = linker.link(&[&caller]).unwrap_err();
    assert!(matches!(&error, Error::Linker { message, .. } if message.contains("undefined symbol: g")), "{error}");
    let callee = machine.assemble("b.s", ".globl g\n.hidden g\ng:\n  s_endpgm\n").unwrap();
    linker.link(&[&caller, &callee]).unwrap();
    // An input that is not an object.
    assert!(matches!(linker.link(&[&b"nothing"[..]]), Err(Error::Object { .. })));
    assert!(matches!(linker.link(&[&code]), Err(Error::Object { .. })));
    assert!(matches!(linker.link(&[&object[..100]]), Err(Error::Object { .. })));
    assert!(matches!(linker.link(&[] as &[&[u8]]), Err(Error::Invalid { .. })));
    // Objects of two GPUs.
    let other = self::machine("gfx942").assemble("c.s", ASSEMBLY).unwrap();
    assert!(matches!(linker.link(&[&object, &other]), Err(Error::Linker { .. })));
}

#[test]
fn other_programs_are_no_linker() {
    assert!(matches!(Linker::at("ld.lld"), Err(Error::Invalid { .. })));
    assert!(matches!(Linker::at("/nonexistent/ld.lld"), Err(Error::Io { .. })));
    if std::path::Path::new("/bin/true").exists() {
        assert!(matches!(Linker::at("/bin/true"), Err(Error::Linker { .. })));
    }
}
