//! Changing code: what was erased never reaches LLVM.

use rocm_llvm::llvm::{Class, Context, Dialect, Error, Mixed, Value};

use crate::support::llvm;

const TEXT: &str = r#"
@g = global i32 1
@h = global i32 2
@table = global [2 x ptr] [ptr @g, ptr @f]
define i32 @f(i32 %a, i1 %c) {
entry:
  %b = add i32 %a, 0
  br i1 %c, label %one, label %two
one:
  %d = mul i32 %b, 3
  br label %two
two:
  %phi = phi i32 [ %b, %entry ], [ %d, %one ]
  ret i32 %phi
}
define i32 @caller(i32 %a) {
  %load = load i32, ptr @g
  %r = call i32 @f(i32 %a, i1 true)
  ret i32 %r
}
"#;

fn is_invalid<T: std::fmt::Debug>(result: rocm_llvm::llvm::Result<T>) {
    assert!(matches!(result, Err(Error::Invalid { .. })), "{result:?}");
}

#[test]
fn instructions_are_replaced_and_erased() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let mut module = context.parse_ir("edit.ll", TEXT).unwrap();
    {
        let f = module.function("f").unwrap().unwrap();
        let blocks = f.blocks();
        let b = blocks[0].instructions()[0];
        is_invalid(b.erase()); // used
        is_invalid(f.parameter(0).unwrap().erase());
        let caller = module.function("caller").unwrap().unwrap();
        let other = caller.parameter(0).unwrap();
        let mixed = b.replace_all_uses(other);
        assert!(matches!(mixed, Err(Error::Mixed { other: Mixed::Function, .. })), "{mixed:?}");
        assert!(matches!(b.replace_all_uses(f.parameter(1).unwrap()), Err(Error::Type { .. })));
        is_invalid(f.value().replace_all_uses(caller.value()));
        is_invalid(context.i32().const_int(1).unwrap().replace_all_uses(b));
        b.replace_all_uses(f.parameter(0).unwrap()).unwrap();
        assert!(b.users().is_empty());
        let builder = blocks[0].builder();
        builder.position_before(b).unwrap();
        b.erase().unwrap();

        // The handle can be read, and is not an operand.
        assert!(b.is_erased() && !b.is_instruction() && b.block().is_none() && b.operands().is_empty());
        assert!(b.to_string().contains("add i32"), "{b}");
        assert_eq!((b.next_instruction(), b.opcode(), b.function()), (None, None, Some(f)));
        is_invalid(b.erase());
        is_invalid(builder.add(f.parameter(0).unwrap(), f.parameter(0).unwrap(), "")); // before what was erased
        is_invalid(builder.position_before(b));
        builder.position_before_terminator(blocks[0]).unwrap();
        is_invalid(builder.add(b, b, ""));
        is_invalid(f.parameter(0).unwrap().replace_all_uses(b));
        is_invalid(b.replace_all_uses(f.parameter(0).unwrap()));
        is_invalid(blocks[2].instructions()[0].set_operand(0, b));

        let one = context.i32().const_int(1).unwrap();
        let d = blocks[1].instructions()[0];
        d.set_operand(1, one).unwrap();
        is_invalid(d.set_operand(2, one));
        assert!(matches!(d.set_operand(0, f.parameter(1).unwrap()), Err(Error::Type { .. })));
        assert!(d.to_string().contains("mul i32 %a, 1"), "{d}");
        module.verify().unwrap();
    }
    module.run_passes("default<O2>").unwrap();
    module.verify().unwrap();
}

#[test]
fn blocks_are_moved_and_erased() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let mut module = context.parse_ir("edit.ll", TEXT).unwrap();
    {
        let f = module.function("f").unwrap().unwrap();
        let [entry, one, two] = f.blocks()[..] else { panic!() };
        is_invalid(one.erase()); // a branch and a phi node name it
        let branch = entry.terminator().unwrap();
        branch.erase().unwrap();
        assert!(branch.successors().is_empty() && branch.condition().is_none());
        entry.builder().br(two).unwrap();
        is_invalid(one.erase()); // the phi node
        let phi = two.instructions()[0];
        phi.replace_all_uses(entry.instructions()[0]).unwrap();
        phi.erase().unwrap();
        assert!(phi.incoming().is_empty());
        let builder = one.builder();
        one.erase().unwrap();
        assert!(one.is_erased() && one.instructions().is_empty() && one.name() == "one");
        is_invalid(one.erase());
        is_invalid(builder.ret(None));
        is_invalid(one.builder().alloca(context.i32(), ""));
        is_invalid(builder.position_at_end(one));
        entry.terminator().unwrap().erase().unwrap();
        is_invalid(entry.builder().br(one));
        is_invalid(one.move_after(two));
        is_invalid(two.move_before(one));
        entry.builder().br(two).unwrap();
        let last = f.append_block("last").unwrap();
        last.builder().br(two).unwrap();
        last.move_after(entry).unwrap();
        assert_eq!(f.blocks(), [entry, last, two]);
        two.move_before(last).unwrap();
        last.move_before(last).unwrap();
        assert_eq!(f.blocks(), [entry, two, last]);
        let middle = last.insert_block_before("middle").unwrap();
        assert_eq!(f.blocks(), [entry, two, middle, last]);
        middle.erase().unwrap();
        is_invalid(middle.insert_block_before("x"));
        last.erase().unwrap(); // nothing branches to it
        module.verify().unwrap();
    }
    module.run_passes("default<O2>").unwrap();
    assert!(module.to_string().contains("ret i32 %a"), "{module}");
}

#[test]
fn symbols_are_replaced_and_erased() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let mut module = context.parse_ir("edit.ll", TEXT).unwrap();
    is_invalid(module.erase_function("f"));
    is_invalid(module.erase_function("none"));
    is_invalid(module.erase_global("g"));
    is_invalid(module.replace_symbol("g", "none"));
    // Terminators and blocks of the function go with it.
    {
        let f = module.function("f").unwrap().unwrap();
        let [entry, one, two] = f.blocks()[..] else { panic!() };
        entry.terminator().unwrap().erase().unwrap();
        let phi = two.instructions()[0];
        phi.replace_all_uses(f.parameter(0).unwrap()).unwrap();
        phi.erase().unwrap();
        one.erase().unwrap();
        entry.builder().br(two).unwrap();
    }
    module.replace_symbol("g", "h").unwrap();
    module.replace_symbol("f", "caller").unwrap();
    module.erase_global("g").unwrap();
    module.erase_function("f").unwrap();
    let table = module.global("table").unwrap().unwrap();
    assert_eq!(table.initial_value().unwrap().to_string(), "[2 x ptr] [ptr @h, ptr @caller]");
    assert!(module.function("f").unwrap().is_none() && module.global("g").unwrap().is_none());
    let caller = module.function("caller").unwrap().unwrap();
    let call = caller.blocks()[0].instructions()[1];
    assert_eq!(call.callee().and_then(Value::function), Some(caller));
}

#[test]
fn what_is_erased_is_freed_with_any_module() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let mut first = context.parse_ir("first.ll", "declare void @x()\n").unwrap();
    for _ in 0..3 {
        let module = context.parse_ir("edit.ll", TEXT).unwrap();
        let ret = module.function("caller").unwrap().unwrap().blocks()[0].terminator().unwrap();
        ret.erase().unwrap();
        assert!(matches!(module.verify(), Err(Error::Verify { .. })));
        module.function("caller").unwrap().unwrap().blocks()[0]
            .builder()
            .ret(Some(context.i32().const_int(1).unwrap()))
            .unwrap();
        let call = module.function("caller").unwrap().unwrap().blocks()[0].instructions()[1];
        call.erase().unwrap();
        module.verify().unwrap();
        if first.function("f").unwrap().is_none() {
            first.link(module).unwrap();
        }
    }
    first.verify().unwrap();
}

#[test]
fn assembly_is_called_and_nothing_else() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.module("m").unwrap();
    let i32 = context.i32();
    let ty = i32.function(&[i32], false).unwrap();
    let f = module.add_function("f", ty).unwrap();
    let b = f.append_block("entry").unwrap().builder();
    let assembly = ty.inline_assembly("v_not_b32 $0, $1", "=v,v", true, Dialect::Att).unwrap();
    for wrong in ["", "=v", "=v,v,v", "v,=v", "=v,v\"", "{", "=v,{"] {
        is_invalid(ty.inline_assembly("nop", wrong, true, Dialect::Att));
    }
    let a = f.parameter(0).unwrap();
    assert!(b.call_assembly(assembly, &[], "").is_err());
    let call = b.call_assembly(assembly, &[a], "x").unwrap();
    let callee = call.callee().unwrap();
    assert!(callee.is_a(Class::InlineAssembly) && callee.function().is_none());
    // As a value it would be a pointer.
    is_invalid(b.store(callee, context.pointer(rocm_llvm::llvm::AddressSpace::Generic).null().unwrap()));
    is_invalid(b.call_pointer(i32.function(&[], false).unwrap(), callee, &[], ""));
    b.ret(Some(call)).unwrap();
    assert!(module.to_string().contains("call i32 asm sideeffect \"v_not_b32 $0, $1\", \"=v,v\"(i32 %0)"), "{module}");
    let object = crate::support::machine("gfx90a").emit_assembly(&module).unwrap();
    assert!(object.contains("v_not_b32"), "{object}");
}
