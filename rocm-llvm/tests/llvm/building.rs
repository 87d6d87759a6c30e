//! Checks the IR that the builder makes: it is verified, and read back from its text.

use rocm_llvm::llvm::{
    AddressSpace, Attribute, CallingConvention, Cast, Context, DebugInfo, Error, FastMath, FloatPredicate,
    IntPredicate, Language, Linkage, Ordering, Place, RmwOperation, Scope, TypeKind, Visibility,
};

use crate::support::{builder, llvm, machine, saxpy, scratch};

#[test]
fn every_instruction_of_the_builder_is_valid() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.module("all").unwrap();
    machine("gfx90a").prepare(&module).unwrap();
    let (i1, i8, i32, i64, f32, f64) =
        (context.i1(), context.i8(), context.i32(), context.i64(), context.f32(), context.f64());
    let (global, private) = (context.pointer(AddressSpace::Global), context.pointer(AddressSpace::Private));
    let callee = module.add_function("callee", i32.function(&[i32], false).unwrap()).unwrap();
    let function = module.add_function("all", i32.function(&[i32, f32, global], false).unwrap()).unwrap();
    let [i, f, p] = function.parameters()[..] else { panic!() };
    let b = function.append_block("entry").unwrap().builder();

    let slot = b.alloca(i32, "slot").unwrap();
    assert_eq!(slot.ty(), private, "allocations are private memory");
    slot.set_alignment(16).unwrap();
    b.store(i, slot).unwrap().set_volatile(true).unwrap();
    let mut sum = b.load(i32, slot, "loaded").unwrap();
    type Integer<'m> = fn(
        &rocm_llvm::llvm::Builder<'m>,
        rocm_llvm::llvm::Value<'m>,
        rocm_llvm::llvm::Value<'m>,
        &str,
    ) -> rocm_llvm::llvm::Result<rocm_llvm::llvm::Value<'m>>;
    use rocm_llvm::llvm::Builder as B;
    let integers: [Integer<'_>; 13] =
        [B::add, B::sub, B::mul, B::udiv, B::sdiv, B::urem, B::srem, B::shl, B::lshr, B::ashr, B::and, B::or, B::xor];
    for operation in integers {
        sum = operation(&b, sum, i, "").unwrap();
    }
    sum = b.neg(b.not(sum, "").unwrap(), "").unwrap();
    let wide = b.add(sum, i, "wide").unwrap();
    b.no_overflow(wide, true, true).unwrap();
    let mut real = b.fneg(f, "").unwrap();
    for operation in [B::fadd, B::fsub, B::fmul, B::fdiv, B::frem] as [Integer<'_>; 5] {
        real = operation(&b, real, f, "").unwrap();
    }

    let casts = [
        (Cast::Truncate, sum, i8),
        (Cast::ZeroExtend, sum, i64),
        (Cast::SignExtend, sum, i64),
        (Cast::FloatTruncate, real, context.f16()),
        (Cast::FloatExtend, real, f64),
        (Cast::FloatToUnsigned, real, i32),
        (Cast::FloatToSigned, real, i32),
        (Cast::UnsignedToFloat, sum, f32),
        (Cast::SignedToFloat, sum, f32),
        (Cast::PointerToInt, p, i64),
        (Cast::Bitcast, real, i32),
        (Cast::AddressSpace, p, context.pointer(AddressSpace::Generic)),
    ];
    for (how, value, to) in casts {
        assert_eq!(b.cast(how, value, to, "").unwrap().ty(), to, "{how:?}");
    }
    let address = b.cast(Cast::PointerToInt, p, i64, "").unwrap();
    assert_eq!(b.cast(Cast::IntToPointer, address, global, "").unwrap().ty(), global);

    let less = b.icmp(IntPredicate::Slt, i, sum, "less").unwrap();
    assert_eq!(less.ty(), i1);
    let ordered = b.fcmp(FloatPredicate::Oge, f, real, "ordered").unwrap();
    let either = b.select(less, i, sum, "either").unwrap();
    let frozen = b.freeze(either, "frozen").unwrap();

    // Aggregates and vectors.
    let pair = context.structure(&[i32, f32.array(4).unwrap()], false).unwrap();
    let field = b.gep(pair, p, &[i, i32.const_int(1).unwrap(), i], "field").unwrap();
    b.load(f32, field, "").unwrap();
    let made = b.insert_value(pair.poison().unwrap(), frozen, 0, "").unwrap();
    assert_eq!(b.extract_value(made, 1, "").unwrap().ty(), f32.array(4).unwrap());
    let four = i32.vector(4).unwrap();
    let vector = b.insert_element(four.undef().unwrap(), i, i32.const_int(0).unwrap(), "").unwrap();
    let vector = b.shuffle(vector, vector, &[0, 4, 0, 0], "").unwrap();
    let lanes = b.icmp(IntPredicate::Eq, vector, four.null().unwrap(), "").unwrap();
    assert_eq!(lanes.ty().kind(), TypeKind::Vector(4));
    b.select(lanes, vector, vector, "").unwrap();
    assert_eq!(b.extract_element(vector, i, "").unwrap().ty(), i32);

    // Atomics.
    let old = b.atomic_rmw(RmwOperation::Add, p, i, Ordering::Monotonic, Scope::System).unwrap();
    b.atomic_rmw(RmwOperation::FAdd, p, f, Ordering::AcquireRelease, Scope::SingleThread).unwrap();
    let swapped =
        b.compare_exchange(p, old, i, Ordering::SequentiallyConsistent, Ordering::Acquire, Scope::System).unwrap();
    assert_eq!(b.extract_value(swapped, 1, "").unwrap().ty(), i1);
    b.set_atomic(b.load(i32, p, "").unwrap(), Ordering::Acquire).unwrap();
    b.set_atomic(b.store(i, p).unwrap(), Ordering::Release).unwrap();
    b.fence(Ordering::Release, Scope::System).unwrap();

    // Calls.
    let called = b.call(callee, &[i], "called").unwrap();
    b.add_call_attribute(called, Place::Function, Attribute::Flag("nounwind")).unwrap();
    b.call_pointer(callee.function_type(), callee.value(), &[i], "").unwrap();
    let fma = module.intrinsic_of("llvm.fma.f32", f32.function(&[f32, f32, f32], false).unwrap()).unwrap();
    assert_eq!(b.call(fma, &[f, f, f], "").unwrap().ty(), f32);

    // Control flow.
    let names = ["one", "two", "loop", "end"];
    let [one, two, again, end] = names.map(|name| function.append_block(name).unwrap());
    b.cond_br(ordered, one, two).unwrap();
    b.position_at_end(one).unwrap();
    b.br(again).unwrap();
    b.position_at_end(two).unwrap();
    b.switch(i, end, &[(i32.const_int(1).unwrap(), again), (i32.const_int(-2).unwrap(), end)]).unwrap();
    b.position_at_end(again).unwrap();
    let phi = b.phi(i32, "n").unwrap();
    let next = b.add(phi.value(), i32.const_int(1).unwrap(), "next").unwrap();
    for (value, from) in [(i, one), (sum, two), (next, again)] {
        phi.add_incoming(value, from).unwrap();
    }
    b.cond_br(b.icmp(IntPredicate::Ult, next, i, "").unwrap(), again, end).unwrap();
    b.position_at_end(end).unwrap();
    b.ret(Some(called)).unwrap();
    b.position_before_terminator(one).unwrap();
    b.fence(Ordering::Acquire, Scope::System).unwrap();
    drop(b);
    module.verify().unwrap();

    let text = module.to_string();
    for part in [
        "alloca i32, align 16, addrspace(5)",
        "store volatile i32",
        "%wide = add nuw nsw i32",
        "shufflevector <4 x i32>",
        "atomicrmw add ptr addrspace(1)",
        "cmpxchg ptr addrspace(1)",
        "fence release",
        "load atomic i32, ptr addrspace(1) %2 acquire",
        "call float @llvm.fma.f32",
        "%n = phi i32 [ %0, %one ]",
        "switch i32",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let again = context.parse_ir("again.ll", &text).unwrap();
    assert_eq!(again.to_string().split_once('\n').unwrap().1.split_once("source_filename").unwrap().1.len(), {
        let rest = text.split_once("source_filename").unwrap().1;
        rest.len()
    });
    assert_eq!(again.functions().len(), module.functions().len());
}

#[test]
fn fast_math_names_the_version_that_has_it() {
    let Some(library) = llvm() else { return };
    let context = Context::new().unwrap();
    let module = scratch(&context);
    let b = builder(&module);
    let real = b.function().parameter(1).unwrap();
    let sum = b.fadd(real, real, "sum").unwrap();
    let result = sum.set_fast_math(FastMath::CONTRACT.and(FastMath::REASSOCIATE));
    if library.version().major >= 18 {
        result.unwrap();
        assert!(sum.to_string().contains("fadd reassoc contract float"), "{sum}");
        assert!(matches!(real.set_fast_math(FastMath::FAST), Err(Error::Invalid { .. })));
        return;
    }
    let error = result.unwrap_err();
    assert!(matches!(error, Error::MissingFunction { since: Some(18), .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("LLVM 17.") && text.contains("LLVM 18 (ROCm 6.2) or newer has it"), "{text}");
}

#[test]
fn a_named_scope_is_used_or_names_the_version_that_has_it() {
    let Some(library) = llvm() else { return };
    let context = Context::new().unwrap();
    let module = scratch(&context);
    let b = builder(&module);
    let i = b.function().parameter(0).unwrap();
    let p = context.pointer(AddressSpace::Global).null().unwrap();
    let result = b.atomic_rmw(RmwOperation::Add, p, i, Ordering::Monotonic, Scope::Named("agent"));
    match library.version().major {
        20.. => assert!(result.unwrap().to_string().contains("syncscope(\"agent\") monotonic")),
        _ => assert!(matches!(result, Err(Error::MissingFunction { since: Some(20), .. })), "{result:?}"),
    }
}

#[test]
fn attributes_globals_and_metadata_are_in_the_text() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.module("parts").unwrap();
    let (i32, f32) = (context.i32(), context.f32());
    let kernel = module.add_kernel("kernel", &[context.pointer(AddressSpace::Global)]).unwrap();
    assert_eq!(kernel.calling_convention(), CallingConvention::AmdgpuKernel);
    kernel.add_attribute(Place::Function, Attribute::Text("amdgpu-flat-work-group-size", "64,64")).unwrap();
    kernel.add_attribute(Place::Function, Attribute::Flag("nounwind")).unwrap();
    kernel.add_attribute(Place::Parameter(0), Attribute::Flag("noalias")).unwrap();
    kernel.add_attribute(Place::Parameter(0), Attribute::Align(16)).unwrap();
    kernel.add_attribute(Place::Parameter(0), Attribute::Dereferenceable(4)).unwrap();
    kernel.set_visibility(Visibility::Protected);

    let lds = module.add_global("lds", f32.array(64).unwrap(), AddressSpace::Local).unwrap();
    lds.set_initial_value(f32.array(64).unwrap().poison().unwrap()).unwrap();
    lds.set_linkage(Linkage::Internal);
    lds.set_alignment(8).unwrap();
    let table = module.add_global("table", i32.array(3).unwrap(), AddressSpace::Constant).unwrap();
    let numbers = [1, -2, 3].map(|n| i32.const_int(n).unwrap());
    table.set_initial_value(i32.const_array(&numbers).unwrap()).unwrap();
    table.set_constant(true);
    let pointers = context.const_structure(&[table.value(), numbers[0]], false).unwrap();
    module.add_global("pointers", pointers.ty(), AddressSpace::Global).unwrap().set_initial_value(pointers).unwrap();
    let text = context.const_bytes(b"bytes\0").unwrap();
    module.add_global("text", text.ty(), AddressSpace::Constant).unwrap().set_initial_value(text).unwrap();

    let b = kernel.append_block("entry").unwrap().builder();
    let load = b.load(i32, kernel.parameter(0).unwrap(), "x").unwrap();
    let bounds = [0, 64].map(|n| i32.const_int(n).unwrap().to_metadata().unwrap());
    load.set_metadata("range", context.metadata_node(&bounds).unwrap()).unwrap();
    b.ret(None).unwrap();
    drop(b);
    let note = context.metadata_node(&[context.metadata_text("made by a test"), table.value().to_metadata().unwrap()]);
    module.add_named_metadata("notes", note.unwrap()).unwrap();
    module.add_flag("amdhsa_code_object_version", 500).unwrap();
    module.verify().unwrap();
    let text = module.to_string();
    for part in [
        "define protected amdgpu_kernel void @kernel(ptr addrspace(1) noalias align 16 dereferenceable(4) %0)",
        "\"amdgpu-flat-work-group-size\"=\"64,64\"",
        "@lds = internal addrspace(3) global [64 x float] poison, align 8",
        "@table = addrspace(4) constant [3 x i32] [i32 1, i32 -2, i32 3]",
        "@pointers = addrspace(1) global { ptr addrspace(4), i32 } { ptr addrspace(4) @table, i32 1 }",
        "c\"bytes\\00\"",
        "!range",
        "!notes = !{",
        "!\"made by a test\"",
        "!\"amdhsa_code_object_version\", i32 500}",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(matches!(module.add_flag("amdhsa_code_object_version", 400), Err(Error::Invalid { .. })));
}

#[test]
fn constants_are_the_numbers_given() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    for bits in [1, 7, 8, 31, 32, 63, 64] {
        let ty = context.int(bits).unwrap();
        let (least, most) = (-(1_i128 << (bits - 1)), (1_i128 << bits) - 1);
        assert_eq!(i128::from(ty.const_int(least).unwrap().as_int().unwrap()), least);
        assert_eq!(i128::from(ty.const_int(most).unwrap().as_uint().unwrap()), most);
        for outside in [least - 1, most + 1] {
            assert!(matches!(ty.const_int(outside), Err(Error::Invalid { .. })), "{outside} as {ty}");
        }
    }
    let wide = context.int(128).unwrap();
    assert_eq!(wide.const_int(-5).unwrap().to_string(), "i128 -5");
    assert!(wide.const_int(-5).unwrap().as_int().is_none() && wide.const_int(1 << 64).is_err());
    assert_eq!(context.f64().const_float(0.5).unwrap().to_string(), "double 5.000000e-01");
    assert!(matches!(context.i32().const_float(0.5), Err(Error::Type { .. })));
}

#[test]
fn debug_information_reaches_the_assembly() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.module("lines").unwrap();
    let machine = machine("gfx90a");
    let kernel = module.add_kernel("kernel", &[context.pointer(AddressSpace::Global)]).unwrap();
    let debug = DebugInfo::new(&module, "kernel.dsl", "/source", Language::Cpp).unwrap();
    let place = debug.function(kernel, 10).unwrap();
    assert!(matches!(debug.function(kernel, 11), Err(Error::Invalid { .. })), "stated twice");
    let b = kernel.append_block("entry").unwrap().builder();
    b.set_location(Some(place.location(42, 7))).unwrap();
    b.store(context.i32().const_int(1).unwrap(), kernel.parameter(0).unwrap()).unwrap();
    b.set_location(Some(place.location(43, 1))).unwrap();
    b.ret(None).unwrap();
    let unfinished = machine.emit_assembly(&module).unwrap_err();
    assert!(unfinished.to_string().contains("not finished"), "{unfinished}");
    drop((debug, b));
    let text = machine.emit_assembly(&module).unwrap();
    for part in [".file", "kernel.dsl", ".loc\t", "42 7", "43 1"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    // The debug information of another module.
    let other = scratch(&context);
    let b = builder(&other);
    assert!(matches!(b.set_location(Some(place.location(1, 1))), Err(Error::Mixed { .. })));
}

#[test]
fn passes_change_the_module_or_leave_it() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let machine = machine("gfx942");
    let mut module = saxpy(&context, &machine);
    let before = module.to_string();
    for wrong in
        ["no-such-pass", "default<O9>", "", "  ", "globaldce,", "trigger-crash", "function(trigger-crash)", "a\0b"]
    {
        let error = module.run_passes(wrong).unwrap_err();
        assert!(matches!(error, Error::Passes { .. } | Error::Null { .. }), "{wrong}: {error}");
        assert_eq!(module.to_string(), before, "{wrong} changed it");
    }
    let error = module.run_passes("no-such-pass").unwrap_err().to_string();
    assert!(error.contains("no-such-pass") && error.contains("unknown"), "{error}");
    module.run_passes("globaldce").unwrap();
    machine.run_passes(&mut module, "default<O3>").unwrap();
    assert_ne!(module.to_string(), before);
    assert!(module.function("saxpy").unwrap().is_some());
    module.verify().unwrap();
}
