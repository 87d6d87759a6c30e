//! Reading code: operations, operands, uses, properties of symbols.

use rocm_llvm::llvm::{
    AddressSpace, Attribute, AttributeValue, Class, Context, DebugInfo, Encoding, FastMath, FloatPredicate,
    IntPredicate, Language, Linkage, Member, Opcode, Operand, Ordering, Place, RmwOperation, Scope, ThreadLocal,
    UnnamedAddress, Value, Visibility,
};

use crate::support::llvm;

const TEXT: &str = r#"
@table = internal constant [2 x i32] [i32 7, i32 8], section ".t", align 8
@text = private unnamed_addr constant [3 x i8] c"hi\00"
@pointer = global ptr @table
@local = thread_local(initialexec) externally_initialized global float 1.5
declare i32 @callee(i32)
define hidden i32 @f(i32 %a, ptr %p, <2 x i32> %v, {i32, float} %s, float %x) {
entry:
  %sum = add nuw i32 %a, 1
  %call = call i32 @callee(i32 noundef %sum)
  %less = icmp ult i32 %call, 9
  br i1 %less, label %yes, label %no
yes:
  %slot = alloca i64, align 16
  %at = getelementptr inbounds [4 x i32], ptr %p, i32 0, i32 2
  %load = load atomic volatile i32, ptr %at acquire, align 4
  %old = atomicrmw umax ptr %p, i32 %load syncscope("singlethread") monotonic
  %pair = cmpxchg weak ptr %p, i32 %old, i32 %a acq_rel acquire
  %first = extractvalue {i32, i1} %pair, 0
  %swap = shufflevector <2 x i32> %v, <2 x i32> poison, <2 x i32> <i32 1, i32 poison>
  %half = lshr exact i32 %first, 1
  %prod = fmul fast float %x, 2.0
  %cmp = fcmp oge float %prod, 0.0
  br label %no
no:
  %phi = phi i32 [ %half, %yes ], [ %call, %entry ]
  switch i32 %phi, label %end [ i32 3, label %yes2 ]
yes2:
  br label %end
end:
  ret i32 %phi
}
"#;

#[test]
fn instructions_are_read() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.parse_ir("values.ll", TEXT).unwrap();
    let f = module.function("f").unwrap().unwrap();
    let blocks = f.blocks();
    let all: Vec<Value<'_>> = blocks.iter().flat_map(|block| block.instructions()).collect();
    let named = |name: &str| *all.iter().find(|value| value.name() == name).unwrap();
    let opcodes: Vec<_> = all.iter().map(|value| value.opcode().unwrap().name()).collect();
    let expected = "add call icmp br alloca getelementptr load atomicrmw cmpxchg extractvalue shufflevector lshr fmul \
                    fcmp br phi switch br ret";
    assert_eq!(opcodes.join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));

    let (sum, call) = (named("sum"), named("call"));
    assert_eq!(sum.operands()[0], Operand::Value(f.parameter(0).unwrap()));
    assert_eq!((sum.overflow_flags(), call.overflow_flags()), (Some((true, false)), None));
    assert_eq!(sum.users(), [call]);
    assert_eq!(call.callee().and_then(Value::function).unwrap().name(), "callee");
    assert_eq!(call.callee_type().unwrap().to_string(), "i32 (i32)");
    assert_eq!(call.arguments(), [Operand::Value(sum)]);
    assert_eq!(call.call_attributes(Place::Parameter(0)).unwrap(), [AttributeValue::Number("noundef".into(), 0)]);
    assert!(call.call_attributes(Place::Parameter(1)).is_err() && sum.call_attributes(Place::Result).is_err());
    let callee = module.function("callee").unwrap().unwrap();
    assert_eq!(callee.value().users(), [call]);
    assert_eq!((call.previous_instruction(), sum.previous_instruction()), (Some(sum), None));
    assert_eq!((sum.next_instruction(), sum.block(), sum.function()), (Some(call), Some(blocks[0]), Some(f)));

    let branch = blocks[0].terminator().unwrap();
    assert_eq!((branch.successors(), branch.condition()), (vec![blocks[1], blocks[2]], Some(named("less"))));
    assert!(branch.operands().contains(&Operand::Block(blocks[1])));
    assert_eq!(blocks[1].terminator().unwrap().condition(), None);
    assert_eq!(blocks[2].terminator().unwrap().successors(), [blocks[4], blocks[3]]);
    assert_eq!(named("phi").incoming(), [(named("half"), blocks[1]), (call, blocks[0])]);

    assert_eq!(named("less").int_predicate(), Some(IntPredicate::Ult));
    assert_eq!(named("cmp").float_predicate(), Some(FloatPredicate::Oge));
    assert_eq!((named("less").float_predicate(), named("cmp").int_predicate()), (None, None));
    assert_eq!((named("slot").allocated_type(), named("slot").alignment()), (Some(context.i64()), Some(16)));
    let at = named("at");
    assert!(at.is_inbounds() && !sum.is_inbounds());
    assert_eq!(at.source_type().unwrap().to_string(), "[4 x i32]");
    let load = named("load");
    assert_eq!((load.ordering(), load.is_volatile(), sum.ordering()), (Some(Ordering::Acquire), true, None));
    let old = named("old");
    assert_eq!((old.rmw_operation(), old.is_single_thread()), (Some(RmwOperation::UMax), true));
    let pair = named("pair");
    assert_eq!((pair.ordering(), pair.failure_ordering()), (Some(Ordering::AcquireRelease), Some(Ordering::Acquire)));
    assert!(pair.is_weak() && !pair.is_single_thread() && !old.is_weak());
    pair.set_weak(false).unwrap();
    assert!(!pair.is_weak() && old.set_weak(true).is_err());
    assert_eq!((named("first").indices(), sum.indices()), (vec![0], vec![]));
    assert_eq!((named("swap").shuffle_mask(), sum.shuffle_mask()), (vec![Some(1), None], vec![]));
    assert!(named("half").is_exact() && !sum.is_exact());
    named("half").set_exact(false).unwrap();
    assert!(!named("half").is_exact() && sum.set_exact(true).is_err());
    if let Some(flags) = named("prod").fast_math() {
        assert!(flags.contains(FastMath::FAST) && !FastMath::NO_NANS.contains(flags));
    }
    assert!(sum.is_a(Class::BinaryOperator) && sum.is_a(Class::Instruction) && !sum.is_a(Class::Call));
    assert!(f.value().is_a(Class::Function) && !f.value().is_instruction());
    // The handle, for a function that nothing here reaches. SAFETY: the instruction is live.
    assert_eq!(unsafe { rocm_llvm::sys::llvm::LLVMGetNumOperands(sum.as_raw()) }, 2);
    assert_eq!((f.as_raw(), blocks[0].function().as_raw()), (f.value().as_raw(), f.as_raw()));
}

#[test]
fn constants_and_symbols_are_read_and_changed() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.parse_ir("values.ll", TEXT).unwrap();
    let global = |name: &str| module.global(name).unwrap().unwrap();
    let table = global("table");
    assert_eq!(table.symbol().linkage(), Linkage::Internal);
    assert_eq!(table.symbol().section().as_deref(), Some(".t"));
    assert!(table.is_constant() && !table.symbol().is_declaration());
    let initial = table.initial_value().unwrap();
    assert_eq!((initial.to_string().as_str(), table.value().alignment()), ("[2 x i32] [i32 7, i32 8]", Some(8)));
    let pointer = global("pointer");
    assert_eq!(pointer.initial_value(), Some(table.value()));
    assert_eq!(table.value().users(), [pointer.value()]);
    assert_eq!(global("text").initial_value().unwrap().as_bytes().as_deref(), Some(&b"hi\0"[..]));
    assert_eq!(initial.as_bytes(), None);
    assert_eq!(global("text").symbol().unnamed_address(), UnnamedAddress::Global);
    let local = global("local");
    assert_eq!((local.thread_local(), local.is_externally_initialized()), (ThreadLocal::InitialExec, true));
    assert_eq!(local.initial_value().unwrap().as_float(), Some(1.5));
    local.set_thread_local(ThreadLocal::No);
    local.set_externally_initialized(false);
    local.symbol().set_unnamed_address(UnnamedAddress::Local);
    local.symbol().set_name("renamed").unwrap();
    assert!(local.symbol().set_name("table").is_err() && local.symbol().set_name("llvm.x").is_err());
    local.symbol().set_section("").unwrap();
    local.set_linkage(Linkage::Weak);
    assert!(local.to_owned().value().to_string().starts_with("@renamed = weak local_unnamed_addr global float"));
    let f = module.function("f").unwrap().unwrap();
    assert_eq!(f.symbol().visibility(), Visibility::Hidden);
    let (one, null) = (context.i32().const_int(1).unwrap(), context.pointer(AddressSpace::Global).null().unwrap());
    assert!(one.users().is_empty() && one.operands().is_empty() && !one.is_null() && null.is_null());
    let (undef, poison) = (context.i32().undef().unwrap(), context.i32().poison().unwrap());
    assert!(undef.is_undef() && !undef.is_poison() && poison.is_poison());
    module.verify().unwrap();
}

#[test]
fn attributes_are_read_and_removed() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.module("m").unwrap();
    let kernel = module.add_kernel("k", &[context.pointer(AddressSpace::Constant)]).unwrap();
    let place = Place::Parameter(0);
    kernel.add_attribute(place, Attribute::Align(16)).unwrap();
    kernel.add_attribute(place, Attribute::ByRef(context.i64())).unwrap();
    kernel.add_attribute(Place::Function, Attribute::Text("a", "b")).unwrap();
    let mut found = kernel.attributes(place).unwrap();
    found.sort_by(|a, b| a.name().cmp(b.name()));
    let expected = [AttributeValue::Number("align".into(), 16), AttributeValue::Type("byref".into(), context.i64())];
    assert_eq!(found, expected);
    assert_eq!(kernel.attributes(Place::Function).unwrap(), [AttributeValue::Text("a".into(), "b".into())]);
    assert!(kernel.attributes(Place::Result).unwrap().is_empty() && kernel.attributes(Place::Parameter(1)).is_err());
    assert!(kernel.remove_attribute(Place::Function, "a").unwrap() && kernel.remove_attribute(place, "align").unwrap());
    assert!(!kernel.remove_attribute(place, "align").unwrap());
    assert_eq!(kernel.attributes(place).unwrap().len(), 1);
}

#[test]
fn structures_with_a_name() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let list = context.named_structure("list").unwrap();
    assert_eq!((list.structure_name().as_deref(), list.fields()), (Some("list"), None));
    assert!(context.i32().array(1 << 40).is_ok() && list.array(2).is_err());
    // Neither itself nor what has no size.
    assert!(list.set_body(&[list], false).is_err() && list.set_body(&[context.void()], false).is_err());
    let large = context.i8().array(1 << 46).unwrap();
    assert!(list.set_body(&[large, large], false).is_err());
    list.set_body(&[context.i8(), context.i32()], true).unwrap();
    assert!(list.is_packed() && list.is_sized() && !list.is_opaque() && list.array(2).is_ok());
    assert_ne!(context.named_structure("list").unwrap(), list);
    let (byte, number) = (context.i8().const_int(1).unwrap(), context.i32().const_int(2).unwrap());
    let constant = list.const_structure(&[byte, number]).unwrap();
    assert_eq!(constant.to_string(), "%list <{ i8 1, i32 2 }>");
    assert!(list.const_structure(&[byte]).is_err() && list.const_structure(&[number, byte]).is_err());
    assert!(context.named_structure("").is_err() && context.structure_of_name("none").unwrap().is_none());
    assert_eq!(context.structure(&[context.i8()], false).unwrap().structure_name(), None);
    let other = Context::new().unwrap();
    assert!(context.named_structure("of_two").unwrap().set_body(&[other.i32()], false).is_err());
}

#[test]
fn atomics_of_all_kinds() {
    let Some(library) = llvm() else { return };
    let context = Context::new().unwrap();
    let module = context.module("m").unwrap();
    let kernel = module.add_kernel("k", &[context.pointer(AddressSpace::Global), context.i32()]).unwrap();
    let b = kernel.append_block("entry").unwrap().builder();
    let (p, i) = (kernel.parameter(0).unwrap(), kernel.parameter(1).unwrap());
    let wrapping = b.atomic_rmw(RmwOperation::UIncWrap, p, i, Ordering::Monotonic, Scope::System);
    assert_eq!(wrapping.is_ok(), library.version().major >= 19, "{wrapping:?}");
    if let Ok(wrapping) = wrapping {
        assert_eq!(wrapping.rmw_operation(), Some(RmwOperation::UIncWrap));
    }
    assert!(b.atomic_rmw(RmwOperation::Add, p, i, Ordering::Unordered, Scope::System).is_err());
    assert!(b.fence(Ordering::Unordered, Scope::System).is_err());
    let (success, failure) = (Ordering::SequentiallyConsistent, Ordering::Monotonic);
    let agent = b.compare_exchange(p, i, i, success, failure, Scope::Named("agent"));
    assert_eq!(agent.is_ok(), library.version().major >= 20, "{agent:?}");
    if let Ok(agent) = agent {
        assert!(agent.to_string().contains("syncscope(\"agent\") seq_cst monotonic"), "{agent}");
    }
    assert!(b.compare_exchange(p, i, i, success, failure, Scope::SingleThread).unwrap().is_single_thread());
    assert!(b.compare_exchange(p, i, i, Ordering::Unordered, failure, Scope::System).is_err());
    let load = b.load(context.i32(), p, "").unwrap();
    b.set_atomic(load, Ordering::Unordered).unwrap();
    load.set_alignment(4).unwrap();
    assert_eq!((load.ordering(), load.opcode()), (Some(Ordering::Unordered), Some(Opcode::Load)));
    b.ret(None).unwrap();
    module.verify().unwrap();
}

#[test]
fn layouts_and_texts_of_a_module() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.module("m").unwrap();
    crate::support::machine("gfx90a").prepare(&module).unwrap();
    let packed = context.structure(&[context.i8(), context.i64()], true).unwrap();
    let plain = context.structure(&[context.i8(), context.i64()], false).unwrap();
    assert_eq!((module.layout_of(packed).unwrap().size, module.layout_of(plain).unwrap().size), (9, 16));
    let odd = module.layout_of(context.int(17).unwrap()).unwrap();
    assert_eq!((odd.bits, odd.stored, odd.size, odd.preferred_alignment >= odd.alignment), (17, 3, 4, true));
    assert_eq!((module.offset_of(plain, 1).unwrap(), module.field_at(plain, 15).unwrap()), (8, 1));
    assert!(module.offset_of(plain, 2).is_err() && module.field_at(plain, 16).is_err());
    assert!(module.offset_of(context.i8(), 0).is_err() && module.field_at(context.i8(), 0).is_err());
    assert!(module.layout_of(context.void()).is_err() && module.layout_of(Context::new().unwrap().i8()).is_err());
    let spaces = [AddressSpace::Global, AddressSpace::Local].map(|space| module.pointer_size(space.number()));
    assert_eq!(spaces, [8, 4]);
    module.set_source_name("a.dsl");
    module.set_inline_assembly("; first");
    module.append_inline_assembly("; second");
    assert_eq!(module.source_name(), "a.dsl");
    let text = module.inline_assembly();
    assert!(text.contains("first") && text.contains("second"), "{text}");
}

#[test]
fn variables_of_debug_information() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.module("m").unwrap();
    crate::support::machine("gfx90a").prepare(&module).unwrap();
    let kernel = module.add_kernel("k", &[context.f32()]).unwrap();
    {
        let debug = DebugInfo::new(&module, "k.dsl", "/src", Language::C).unwrap();
        let scope = debug.function(kernel, 1).unwrap();
        let float = debug.basic_type("float", 32, Encoding::Float).unwrap();
        let pointer = debug.pointer_type(float, 64).unwrap();
        let array = debug.array_type(float, 4, 128).unwrap();
        let members = [("p", pointer, 64, 0), ("a", array, 128, 64)].map(|(name, ty, bits, offset)| Member {
            name,
            ty,
            bits,
            offset,
        });
        let structure = debug.structure_type("s", 1, 192, &members).unwrap();
        let block = kernel.append_block("entry").unwrap();
        let b = block.builder();
        let here = debug.block(scope, 2, 1).unwrap().location(3, 1);
        b.set_location(Some(here)).unwrap();
        let slot = b.alloca(context.f32(), "slot").unwrap();
        let local = debug.local(scope, "local", 2, structure).unwrap();
        assert!(debug.declare(local, kernel.parameter(0).unwrap(), here, block).is_err()); // not a pointer
        assert!(
            debug.parameter(scope, "x", 0, 1, float).is_err() && debug.basic_type("", 8, Encoding::Signed).is_err()
        );
        debug.declare(local, slot, here, block).unwrap();
        b.ret(None).unwrap();
        // Before the terminator.
        let parameter = debug.parameter(scope, "x", 1, 1, float).unwrap();
        debug.record(parameter, kernel.parameter(0).unwrap(), here, block).unwrap();
        debug.declare(debug.local(scope, "second", 2, float).unwrap(), slot, here, block).unwrap();
        let other = module.add_kernel("other", &[]).unwrap().append_block("entry").unwrap();
        assert!(debug.record(parameter, kernel.parameter(0).unwrap(), here, other).is_err());
        other.builder().ret(None).unwrap();
    }
    module.verify().unwrap();
    let text = module.to_string();
    for part in ["name: \"local\"", "name: \"x\", arg: 1", "DW_TAG_structure_type, name: \"s\"", "!DISubrange(count: 4"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Intrinsics before LLVM 19, then records.
    assert_eq!(
        text.matches("dbg_declare(").count() + text.matches("call void @llvm.dbg.declare(").count(),
        2,
        "{text}"
    );
    assert_eq!(text.matches("dbg_value(").count() + text.matches("call void @llvm.dbg.value(").count(), 1, "{text}");
}
