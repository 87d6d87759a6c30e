//! Operands that LLVM would crash on are errors.

use rocm_llvm::llvm::{
    AddressSpace, Attribute, Cast, Context, Error, FloatPredicate, IntPredicate, Mixed, Module, Ordering, Place,
    Result, RmwOperation, Scope, Value,
};

use crate::support::{add_function, builder, llvm, scratch};

fn is_type<T: std::fmt::Debug>(result: Result<T>) {
    assert!(matches!(result, Err(Error::Type { .. })), "{result:?}");
}

fn is_invalid<T: std::fmt::Debug>(result: Result<T>) {
    assert!(matches!(result, Err(Error::Invalid { .. })), "{result:?}");
}

fn is_mixed<T: std::fmt::Debug>(of: Mixed, result: Result<T>) {
    assert!(matches!(&result, Err(Error::Mixed { other, .. }) if *other == of), "{result:?}");
}

#[test]
fn types_that_do_not_fit() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = scratch(&context);
    let b = builder(&module);
    let (i, f) = (b.function().parameter(0).unwrap(), b.function().parameter(1).unwrap());
    let (i32, f32, void) = (context.i32(), context.f32(), context.void());
    let p = context.pointer(AddressSpace::Global).null().unwrap();
    let v = i32.vector(4).unwrap().null().unwrap();
    let nothing = b.store(i, p).unwrap();
    assert_eq!(nothing.ty(), void);

    for wrong in [f, p, v, nothing] {
        is_type(b.add(i, wrong, ""));
        is_type(b.add(wrong, i, ""));
        is_type(b.udiv(wrong, i, ""));
        is_type(b.shl(i, wrong, ""));
        is_type(b.icmp(IntPredicate::Eq, i, wrong, ""));
    }
    for wrong in [i, p, v, nothing] {
        is_type(b.fadd(wrong, wrong, ""));
        is_type(b.fadd(f, wrong, ""));
        is_type(b.fneg(wrong, ""));
        is_type(b.fcmp(FloatPredicate::Oeq, wrong, wrong, ""));
        is_type(b.select(wrong, f, f, ""));
        is_type(b.ret(Some(if wrong == i { f } else { wrong })));
    }
    is_type(b.add(f, f, ""));
    is_type(b.neg(p, ""));
    is_type(b.not(f, ""));
    is_type(b.icmp(IntPredicate::Eq, f, f, ""));
    is_type(b.select(i, i, f, ""));
    let lanes = context.i1().vector(2).unwrap().null().unwrap();
    is_type(b.select(lanes, v, v, ""));
    is_type(b.freeze(nothing, ""));
    is_type(b.ret(None));

    for wrong in [i, f, v, nothing] {
        is_type(b.load(i32, wrong, ""));
        is_type(b.store(i, wrong));
        is_type(b.gep(i32, wrong, &[i], ""));
        is_type(b.atomic_rmw(RmwOperation::Add, wrong, i, Ordering::Monotonic, Scope::System));
        is_type(b.compare_exchange(wrong, i, i, Ordering::Monotonic, Ordering::Monotonic, Scope::System));
    }
    is_type(b.store(nothing, p));
    is_type(b.load(void, p, ""));
    is_type(b.alloca(void, ""));
    is_type(b.gep(void, p, &[i], ""));
    is_type(b.gep(i32, p, &[f], ""));
    is_type(b.gep(i32, p, &[i, i], ""));
    is_invalid(b.gep(i32, p, &[], ""));
    let pair = context.structure(&[i32, f32], false).unwrap();
    let number = |n| i32.const_int(n).unwrap();
    for wrong in [i, number(2), number(-1), context.i64().const_int(0).unwrap()] {
        is_invalid(b.gep(pair, p, &[i, wrong], ""));
    }
    is_type(b.atomic_rmw(RmwOperation::Add, p, f, Ordering::Monotonic, Scope::System));
    is_type(b.atomic_rmw(RmwOperation::FAdd, p, i, Ordering::Monotonic, Scope::System));
    let odd = context.int(24).unwrap().null().unwrap();
    is_type(b.atomic_rmw(RmwOperation::Add, p, odd, Ordering::Monotonic, Scope::System));
    is_type(b.compare_exchange(p, i, f, Ordering::Monotonic, Ordering::Monotonic, Scope::System));
    is_type(b.compare_exchange(p, f, f, Ordering::Monotonic, Ordering::Monotonic, Scope::System));
    is_invalid(b.compare_exchange(p, i, i, Ordering::Monotonic, Ordering::Release, Scope::System));
    is_invalid(b.fence(Ordering::Monotonic, Scope::System));
    let (load, store) = (b.load(i32, p, "").unwrap(), b.store(i, p).unwrap());
    is_invalid(b.set_atomic(load, Ordering::Release));
    is_invalid(b.set_atomic(store, Ordering::Acquire));
    is_invalid(b.set_atomic(i, Ordering::Monotonic));

    let aggregate = pair.poison().unwrap();
    is_invalid(b.extract_value(aggregate, 2, ""));
    is_type(b.extract_value(i, 0, ""));
    is_type(b.insert_value(aggregate, f, 0, ""));
    is_invalid(b.insert_value(aggregate, f, 7, ""));
    is_type(b.extract_element(i, i, ""));
    is_type(b.extract_element(v, f, ""));
    is_type(b.insert_element(v, f, i, ""));
    is_type(b.shuffle(i, i, &[0], ""));
    is_invalid(b.shuffle(v, v, &[8], ""));
    is_invalid(b.shuffle(v, v, &[], ""));

    let block = b.block();
    is_type(b.cond_br(i, block, block));
    is_type(b.switch(f, block, &[]));
    is_type(b.switch(i, block, &[(context.i64().const_int(0).unwrap(), block)]));
    is_invalid(b.switch(i, block, &[(i, block)]));
    is_invalid(b.switch(i, block, &[(number(1), block), (number(1), block)]));
    is_type(b.phi(void, ""));
    is_invalid(b.phi(i32, ""));

    let f_itself = b.function();
    is_invalid(b.call(f_itself, &[i], ""));
    is_invalid(b.call(f_itself, &[i, f, f], ""));
    is_type(b.call(f_itself, &[f, i], ""));
    is_type(b.call_pointer(f_itself.function_type(), i, &[i, f], ""));
    let kernel = module.add_kernel("kernel", &[]).unwrap();
    is_invalid(b.call(kernel, &[], ""));
    // Rejected calls left no instructions.
    b.ret(Some(i)).unwrap();
    kernel.append_block("entry").unwrap().builder().ret(None).unwrap();
    drop(b);
    module.verify().unwrap();
}

#[test]
fn every_cast_is_refused_or_valid() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let scalars = [
        context.i1(),
        context.i32(),
        context.i64(),
        context.f16(),
        context.bf16(),
        context.f32(),
        context.f64(),
        context.pointer(AddressSpace::Generic),
        context.pointer(AddressSpace::Local),
    ];
    let mut types = scalars.to_vec();
    types.extend(scalars.iter().map(|ty| ty.vector(2).unwrap()));
    types.extend([context.i32().array(2).unwrap(), context.structure(&[context.i32()], false).unwrap()]);
    let casts = [
        Cast::Truncate,
        Cast::ZeroExtend,
        Cast::SignExtend,
        Cast::FloatTruncate,
        Cast::FloatExtend,
        Cast::FloatToUnsigned,
        Cast::FloatToSigned,
        Cast::UnsignedToFloat,
        Cast::SignedToFloat,
        Cast::PointerToInt,
        Cast::IntToPointer,
        Cast::Bitcast,
        Cast::AddressSpace,
    ];
    let (mut made, mut refused) = (0, 0);
    for from in &types {
        for to in &types {
            for how in casts {
                let module = context.module("cast").unwrap();
                let ty = to.function(&[*from], false).unwrap();
                let function = module.add_function("f", ty).unwrap();
                let b = function.append_block("entry").unwrap().builder();
                match b.cast(how, function.parameter(0).unwrap(), *to, "") {
                    Ok(value) => {
                        b.ret(Some(value)).unwrap();
                        drop(b);
                        module.verify().unwrap_or_else(|error| panic!("{how:?} from {from} to {to}: {error}"));
                        made += 1;
                    }
                    Err(error) => {
                        assert!(matches!(error, Error::Type { .. }), "{error}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(made > 100 && refused > 1000, "{made} made, {refused} refused");
}

#[test]
fn values_of_other_functions_modules_and_contexts() {
    if llvm().is_none() {
        return;
    }
    let (here, there) = (Context::new().unwrap(), Context::new().unwrap());
    let module = scratch(&here);
    let other_module = scratch(&here);
    let foreign = scratch(&there);
    let b = builder(&module);
    let i = b.function().parameter(0).unwrap();
    let other_block = add_function(&module, "g");
    let of_function = other_block.function().parameter(0).unwrap();
    let of_module = builder(&other_module).function().parameter(0).unwrap();
    let of_context = builder(&foreign).function().parameter(0).unwrap();
    let callee = |module: &Module<'_>| module.function("f").unwrap().unwrap().name();
    assert_eq!(callee(&foreign), "f");

    for (of, value, block) in [
        (Mixed::Function, of_function, other_block),
        (Mixed::Module, of_module, other_module.function("f").unwrap().unwrap().blocks()[0]),
        (Mixed::Context, of_context, foreign.function("f").unwrap().unwrap().blocks()[0]),
    ] {
        is_mixed(of, b.add(i, value, ""));
        is_mixed(of, b.add(value, i, ""));
        is_mixed(of, b.ret(Some(value)));
        is_mixed(of, b.br(block));
        is_mixed(of, b.position_at_end(block));
        is_mixed(of, b.switch(i, block, &[]));
        is_mixed(of, b.icmp(IntPredicate::Eq, value, value, ""));
        is_mixed(of, b.store(value, here.pointer(AddressSpace::Global).null().unwrap()));
        is_mixed(of, b.call(b.function(), &[value, b.function().parameter(1).unwrap()], ""));
        is_mixed(of, b.switch(i, b.block(), &[(value, b.block())]));
    }
    // Functions and globals.
    is_mixed(Mixed::Module, b.call(other_module.function("f").unwrap().unwrap(), &[i, i], ""));
    is_mixed(Mixed::Context, b.call(foreign.function("f").unwrap().unwrap(), &[i, i], ""));
    let (global, foreign_global) = (
        other_module.add_global("x", here.i32(), AddressSpace::Global).unwrap(),
        foreign.add_global("x", there.i32(), AddressSpace::Global).unwrap(),
    );
    is_mixed(Mixed::Module, b.load(here.i32(), global.value(), ""));
    is_mixed(Mixed::Context, b.load(here.i32(), foreign_global.value(), ""));
    let mine = module.add_global("x", global.value().ty(), AddressSpace::Global).unwrap();
    is_mixed(Mixed::Module, mine.set_initial_value(global.value()));
    is_mixed(Mixed::Context, mine.set_initial_value(there.i32().null().unwrap()));
    // A constant that contains a global belongs to the global's module.
    let around = here.const_structure(&[global.value()], false).unwrap();
    let mine = module.add_global("y", around.ty(), AddressSpace::Global).unwrap();
    is_mixed(Mixed::Module, mine.set_initial_value(around));
    is_mixed(Mixed::Module, here.const_structure(&[global.value(), mine.value()], false));
    // Types, metadata, attributes.
    is_mixed(Mixed::Context, b.alloca(there.i32(), ""));
    is_mixed(Mixed::Context, b.load(there.i32(), mine.value(), ""));
    is_mixed(Mixed::Context, here.structure(&[there.i32()], false));
    is_mixed(Mixed::Context, here.void().function(&[there.i32()], false));
    is_mixed(Mixed::Context, module.add_global("z", there.i32(), AddressSpace::Global));
    is_mixed(Mixed::Context, module.add_function("z", there.void().function(&[], false).unwrap()));
    is_mixed(Mixed::Context, here.metadata_node(&[there.metadata_text("")]));
    is_mixed(Mixed::Context, module.add_named_metadata("n", there.metadata_node(&[]).unwrap()));
    let node = here.metadata_node(&[global.value().to_metadata().unwrap()]).unwrap();
    is_mixed(Mixed::Module, module.add_named_metadata("n", node));
    let by_ref = Attribute::ByRef(there.i32());
    is_mixed(Mixed::Context, b.function().add_attribute(Place::Parameter(0), by_ref));
    b.ret(Some(i)).unwrap();
    other_block.builder().ret(Some(of_function)).unwrap();
    drop(b);
    module.verify().unwrap();

    let mut module = module;
    let error = module.link(foreign).unwrap_err();
    assert!(matches!(error, Error::Mixed { other: Mixed::Context, .. }), "{error}");
}

/// A parsed module may use the names of functions for other things.
#[test]
fn names_of_other_things() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let name = "llvm.amdgcn.workitem.id.x";
    let (mut refused, none) = (0, context.void().function(&[], false).unwrap());
    for text in [
        format!("@{name} = external global i32\n"),
        format!("@v = global i32 0\n@{name} = alias i32, ptr @v\n"),
        format!("define ptr @r() {{\n  ret ptr null\n}}\n@{name} = ifunc void (), ptr @r\n"),
    ] {
        // LLVM itself rejects some of them.
        let Ok(module) = context.parse_ir("names.ll", text) else { continue };
        is_invalid(module.intrinsic(name));
        is_invalid(module.intrinsic_of(name, context.i32().function(&[], false).unwrap()));
        refused += 1;
    }
    assert!(refused > 0);
    let module = context.parse_ir("alias.ll", "@v = global i32 0\n@a = alias i32, ptr @v\n").unwrap();
    is_invalid(module.add_function("a", none));
    is_invalid(module.add_global("a", context.i32(), AddressSpace::Global));
}

#[test]
fn places_names_and_sizes() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = scratch(&context);
    let b = builder(&module);
    let i = b.function().parameter(0).unwrap();
    let i32 = context.i32();
    // Blocks that have a terminator.
    is_invalid(b.position_before_terminator(b.block()));
    b.ret(Some(i)).unwrap();
    is_invalid(b.add(i, i, ""));
    is_invalid(b.ret(Some(i)));
    is_invalid(b.unreachable());
    b.position_before_terminator(b.block()).unwrap();
    let sum = b.add(i, i, "sum").unwrap();
    is_invalid(b.br(b.block()));
    is_invalid(b.no_overflow(i, true, true));
    // Names.
    assert!(matches!(b.add(i, i, "a\0b"), Err(Error::Null { at: 1, .. })));
    assert!(matches!(context.module("\0"), Err(Error::Null { at: 0, .. })));
    assert!(matches!(module.function("a\0"), Err(Error::Null { .. })));
    for name in ["f", "", "llvm.amdgcn.workitem.id.x", "llvm."] {
        is_invalid(module.add_function(name, i32.function(&[], false).unwrap()));
        is_invalid(module.add_global(name, i32, AddressSpace::Global));
    }
    sum.set_name("total").unwrap();
    assert_eq!(sum.name(), "total");
    is_invalid(b.function().value().set_name("g"));
    is_invalid(i32.null().unwrap().set_name("zero"));
    // Intrinsics.
    for unknown in ["llvm.amdgcn.no.such.thing", "workitem.id.x", "", "llvm"] {
        let error = module.intrinsic(unknown).unwrap_err();
        assert!(matches!(error, Error::UnknownIntrinsic { .. }), "{unknown}: {error}");
    }
    is_invalid(module.intrinsic("llvm.fma"));
    is_invalid(module.intrinsic("llvm.fma.f32"));
    let item = module.intrinsic("llvm.amdgcn.workitem.id.x").unwrap();
    assert_eq!(module.intrinsic("llvm.amdgcn.workitem.id.x").unwrap(), item);
    is_type(module.intrinsic_of("llvm.amdgcn.workitem.id.x", context.i64().function(&[], false).unwrap()));
    is_invalid(item.append_block("entry"));
    // Types.
    is_invalid(context.int(0));
    is_invalid(context.int(u32::MAX));
    is_invalid(i32.array(u64::MAX));
    is_invalid(i32.array(1 << 40).unwrap().array(1 << 40));
    is_invalid(i32.vector(0));
    is_invalid(i32.vector(1 << 20));
    is_type(i32.array(2).unwrap().vector(2));
    is_type(context.void().array(1));
    is_type(context.void().null());
    is_type(context.structure(&[context.void()], false));
    is_type(i32.function(&[context.void()], false));
    let mut deep = Ok(i32);
    for _ in 0..1000 {
        deep = deep.and_then(|ty| context.structure(&[ty, ty], false));
    }
    is_invalid(deep);
    // Alignments and attributes.
    for value in [sum, i] {
        is_invalid(value.set_alignment(4));
        is_invalid(value.set_volatile(true));
    }
    let slot = b.alloca(i32, "").unwrap();
    is_invalid(slot.set_alignment(0));
    is_invalid(slot.set_alignment(3));
    let function = b.function();
    for attribute in [
        Attribute::Flag("no-such-attribute"),
        Attribute::Flag("align"),
        Attribute::Flag("byval"),
        Attribute::Flag(""),
        Attribute::Align(0),
        Attribute::Align(12),
        Attribute::Dereferenceable(0),
        Attribute::Text("", "x"),
    ] {
        is_invalid(function.add_attribute(Place::Parameter(0), attribute));
    }
    is_invalid(function.add_attribute(Place::Parameter(2), Attribute::Flag("noundef")));
    is_invalid(function.parameter(2));
    is_invalid(i.to_metadata());
    let text = context.metadata_text("x");
    is_invalid(sum.set_metadata("range", text));
    is_invalid(sum.set_metadata("dbg", context.metadata_node(&[]).unwrap()));
    is_invalid(i.set_metadata("range", context.metadata_node(&[]).unwrap()));
    is_invalid(module.add_named_metadata("x", text));
    is_invalid(module.add_named_metadata("llvm.dbg.cu", context.metadata_node(&[]).unwrap()));
    drop(b);
}

/// Errors that no single instruction shows are found before LLVM works with the module.
#[test]
fn invalid_modules_are_refused() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let machine = crate::support::machine("gfx90a");
    let check = |module: &mut Module<'_>, what: &str| {
        let errors = [
            module.verify().unwrap_err(),
            module.run_passes("globaldce").unwrap_err(),
            machine.emit_object(module).unwrap_err(),
            module.to_bitcode().unwrap_err(),
            module.try_clone().unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(&error, Error::Verify { message, .. } if message.contains(what)), "{error}");
        }
    };
    // A block without a terminator.
    check(&mut scratch(&context), "terminator");
    // A value that is used before it is computed.
    let mut module = scratch(&context);
    let i = builder(&module).function().parameter(0).unwrap();
    let used = {
        let later = builder(&module).function().append_block("later").unwrap();
        let sum = later.builder().add(i, i, "late").unwrap();
        later.builder().ret(Some(sum)).unwrap();
        let twice: Value<'_> = builder(&module).add(sum, sum, "").unwrap();
        builder(&module).br(later).unwrap();
        twice.to_string()
    };
    assert!(used.contains("%late"), "{used}");
    check(&mut module, "does not dominate");
    // A phi node without a value for one of its predecessors.
    let mut module = scratch(&context);
    {
        let end = builder(&module).function().append_block("end").unwrap();
        let phi = end.builder().phi(context.i32(), "phi").unwrap();
        end.builder().ret(Some(phi.value())).unwrap();
        builder(&module).br(end).unwrap();
    }
    check(&mut module, "PHI");
    // An intrinsic of another type.
    let mut module = scratch(&context);
    {
        let b = builder(&module);
        let i = b.function().parameter(0).unwrap();
        let ty = context.i32().function(&[context.i32()], false).unwrap();
        let wrong = module.intrinsic_of("llvm.fma.f32", ty).unwrap();
        let call = b.call(wrong, &[i], "").unwrap();
        b.ret(Some(call)).unwrap();
    }
    check(&mut module, "ntrinsic");
}
