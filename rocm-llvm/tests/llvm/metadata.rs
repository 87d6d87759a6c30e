//! Metadata that is read back: what was written here, and what was parsed.

use std::collections::HashSet;

use rocm_llvm::llvm::{AddressSpace, Context, Error, FlagBehavior, Language, Metadata, Operand, Value};

use crate::support::{builder, llvm, scratch};

const PARSED: &str = r#"
@table = addrspace(4) constant i32 7, !type !10, !type !11, !absolute_symbol !12
define i32 @kernel(ptr addrspace(1) %p, i32 %i) !reqd_work_group_size !1 !odd\20kind\21 !2 {
  %x = load i32, ptr addrspace(1) %p, align 4, !range !0, !amdgpu.noclobber !2, !my\20kind !3
  %y = load i32, ptr addrspace(1) %p, align 4, !nontemporal !15
  br label %loop
loop:
  br i1 false, label %loop, label %end, !llvm.loop !4
end:
  ret i32 %x
}
!opencl.ocl.version = !{!5}
!annotations = !{!6, !7, !2}
!single = !{!15, !16, !17}
!llvm.module.flags = !{!8, !9, !13}
!empty = !{}
!0 = !{i32 0, i32 64}
!1 = !{i32 64, i32 1, i32 1}
!2 = !{}
!3 = !{!"text with \00 and \22", null, !1, float 1.5}
!4 = distinct !{!4, !14}
!5 = !{i32 2, i32 0}
!6 = !{ptr @kernel, !"kernel", i32 1}
!7 = !{ptr addrspace(4) @table, !{!"inner", !{!"innermost"}}}
!8 = !{i32 8, !"PIC Level", i32 2}
!9 = !{i32 7, !"frame-pointer", i32 2}
!10 = !{i64 0, !"first"}
!11 = !{i64 8, !"second"}
!12 = !{i64 0, i64 256}
!13 = !{i32 6, !"list", !5}
!14 = !{!"llvm.loop.unroll.disable"}
!15 = !{i32 1}
!16 = !{!15}
!17 = !{null}
"#;

fn ints(node: Metadata<'_>) -> Vec<Option<i64>> {
    node.operands().into_iter().map(|operand| operand?.as_constant()?.as_int()).collect()
}

fn kinds(value: Value<'_>) -> Vec<String> {
    value.all_metadata().unwrap().into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn parsed_metadata_is_read() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = context.parse_ir("parsed.ll", PARSED).unwrap();
    let kernel = module.function("kernel").unwrap().unwrap();
    let blocks = kernel.blocks();
    let [x, y, ..] = blocks[0].instructions()[..] else { panic!() };

    // Instructions.
    assert_eq!(ints(x.metadata("range").unwrap().unwrap()), [Some(0), Some(64)]);
    let empty = x.metadata("amdgpu.noclobber").unwrap().unwrap();
    assert!(empty.operands().is_empty() && empty.as_text().is_none() && empty.as_constant().is_none());
    assert_eq!((x.metadata("dbg").unwrap(), x.metadata("prof").unwrap(), x.metadata("").unwrap()), (None, None, None));
    let mut names = kinds(x);
    names.sort();
    assert_eq!(names, ["amdgpu.noclobber", "my kind", "range"]);
    assert_eq!(kinds(y), ["nontemporal"]);
    let single = y.metadata("nontemporal").unwrap().unwrap();
    assert_eq!((ints(single), single.as_constant()), (vec![Some(1)], None));
    let [one, nested, null] = module.named_metadata("single").unwrap()[..] else { panic!() };
    assert_eq!((one, nested.operands()), (single, vec![Some(single)]));
    assert!(null.operands().is_empty() && null.as_constant().is_none());
    assert!(y.metadata("range").unwrap().is_none());
    let mine = x.metadata("my kind").unwrap().unwrap();
    let operands = mine.operands();
    assert_eq!(operands[0].unwrap().as_text().unwrap(), "text with \0 and \"");
    assert_eq!((operands[1], operands.len()), (None, 4));
    assert_eq!(operands[2], kernel.value().metadata("reqd_work_group_size").unwrap());
    assert_eq!(operands[3].unwrap().as_constant().unwrap().as_float(), Some(1.5));
    assert!(operands[3].unwrap().operands().is_empty() && operands[3].unwrap().as_text().is_none());

    // A node that contains itself: visited once.
    let node = blocks[1].terminator().unwrap().metadata("llvm.loop").unwrap().unwrap();
    assert_eq!(node.operands()[0], Some(node));
    let (mut seen, mut waiting) = (HashSet::new(), vec![node]);
    while let Some(next) = waiting.pop() {
        if seen.insert(next) {
            waiting.extend(next.operands().into_iter().flatten());
        }
    }
    assert_eq!(seen.len(), 3);
    assert!(!format!("{node} {node:?}").is_empty());

    // Functions and global variables.
    let mut names = kinds(kernel.value());
    names.sort();
    assert_eq!(names, ["odd kind!", "reqd_work_group_size"]);
    assert_eq!(kernel.value().metadata("odd kind!").unwrap(), Some(empty));
    let table = module.global("table").unwrap().unwrap().value();
    let all = table.all_metadata().unwrap();
    let mut names: Vec<_> = all.iter().map(|(kind, _)| kind.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["absolute_symbol", "type", "type"]);
    assert_eq!(ints(table.metadata("absolute_symbol").unwrap().unwrap()), [Some(0), Some(256)]);
    assert_eq!(ints(table.metadata("type").unwrap().unwrap())[0], Some(0));
    // Values that have none.
    let constant = context.i32().const_int(1).unwrap();
    for other in [constant, kernel.parameter(0).unwrap()] {
        assert!(other.metadata("range").unwrap().is_none() && other.all_metadata().unwrap().is_empty());
    }

    // Named metadata and flags.
    let names = module.named_metadata_names();
    assert_eq!(names, ["opencl.ocl.version", "annotations", "single", "llvm.module.flags", "empty"]);
    assert_eq!(ints(module.named_metadata("opencl.ocl.version").unwrap()[0]), [Some(2), Some(0)]);
    let [annotation, nested, last] = module.named_metadata("annotations").unwrap()[..] else { panic!() };
    let operands = annotation.operands();
    let function = operands[0].unwrap().as_constant().unwrap().function().unwrap();
    assert_eq!((function.name().as_str(), function), ("kernel", kernel));
    assert_eq!(operands[1].unwrap().as_text().as_deref(), Some("kernel"));
    assert_eq!(last, empty);
    assert_eq!(nested.operands()[0].unwrap().as_constant(), Some(table));
    let inner = nested.operands()[1].unwrap().operands();
    assert_eq!(inner[1].unwrap().operands()[0].unwrap().as_text().as_deref(), Some("innermost"));
    assert!(module.named_metadata("empty").unwrap().is_empty() && module.named_metadata("none").unwrap().is_empty());
    assert!(matches!(module.named_metadata("a\0b"), Err(Error::Null { at: 1, .. })));
    // LLVM's own function for flags knows neither of the first two behaviours.
    let flags = module.flags().unwrap();
    let found: Vec<_> = flags.iter().map(|flag| (flag.behavior, flag.name.as_str())).collect();
    let expected =
        [(FlagBehavior::Min, "PIC Level"), (FlagBehavior::Max, "frame-pointer"), (FlagBehavior::AppendUnique, "list")];
    assert_eq!(found, expected);
    assert_eq!(flags[0].value.as_constant().unwrap().as_int(), Some(2));
    assert_eq!(ints(flags[2].value), [Some(2), Some(0)]);
}

#[test]
fn written_metadata_is_read_back() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let mut module = scratch(&context);
    {
        let b = builder(&module);
        let pointer = context.pointer(AddressSpace::Global).null().unwrap();
        let load = b.load(context.i32(), pointer, "x").unwrap();
        b.ret(Some(load)).unwrap();
        drop(b);
        let one = context.i32().const_int(1).unwrap().to_metadata().unwrap();
        let node = context.metadata_node(&[context.metadata_text("a"), one]).unwrap();
        assert_eq!(node.operands(), [Some(context.metadata_text("a")), Some(one)]);
        let f = module.function("f").unwrap().unwrap();
        let with_function = context.metadata_node(&[f.value().to_metadata().unwrap(), node]).unwrap();
        load.set_metadata("amdgpu.noclobber", node).unwrap();
        load.set_metadata("a kind of mine", node).unwrap();
        load.set_metadata("a kind of mine", with_function).unwrap();
        f.value().set_metadata("kernel_arg_type", node).unwrap();
        assert_eq!(load.metadata("amdgpu.noclobber").unwrap(), Some(node));
        assert_eq!(load.metadata("a kind of mine").unwrap(), Some(with_function));
        assert_eq!(f.value().all_metadata().unwrap(), [("kernel_arg_type".to_owned(), node)]);
        assert!(kinds(load).contains(&"a kind of mine".to_owned()));
        module.add_named_metadata("notes", with_function).unwrap();
        module.add_flag("amdhsa_code_object_version", 500).unwrap();
        assert!(module.add_flag("amdhsa_code_object_version", 400).is_err());
        assert_eq!(module.named_metadata("notes").unwrap(), [with_function]);
        let flags = module.flags().unwrap();
        assert_eq!((flags.len(), flags[0].behavior), (1, FlagBehavior::Error));
        // As a value, and back.
        assert_eq!((node.to_value().as_metadata(), load.as_metadata()), (Some(node), None));
        assert_eq!(one.to_value().as_metadata(), Some(one));
        // Read nodes can be attached again.
        let read = load.metadata("amdgpu.noclobber").unwrap().unwrap();
        load.set_metadata("another", read).unwrap();
        // Metadata of an erased instruction is still live.
        load.replace_all_uses(f.parameter(0).unwrap()).unwrap();
        load.erase().unwrap();
        assert_eq!(load.metadata("another").unwrap(), Some(node));
        assert_eq!(read.operands()[0].unwrap().as_text().as_deref(), Some("a"));
    }
    // A function that is replaced is replaced in nodes, too.
    module.add_function("g", context.i32().function(&[context.i32(), context.f32()], false).unwrap()).unwrap();
    module.replace_symbol("f", "g").unwrap();
    let notes = module.named_metadata("notes").unwrap();
    let function = notes[0].operands()[0].unwrap().as_constant().unwrap().function().unwrap();
    assert_eq!(function.name(), "g");
}

/// A deleted function leaves null in nodes.
#[test]
fn an_operand_can_vanish() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let text = "declare void @gone()\n!notes = !{!0, !1}\n!0 = !{ptr @gone, i32 1}\n!1 = !{null, i32 1}\n";
    let mut module = context.parse_ir("gone.ll", text).unwrap();
    module.erase_function("gone").unwrap();
    for node in module.named_metadata("notes").unwrap() {
        assert_eq!((node.operands()[0], ints(node)[1]), (None, Some(1)));
    }
}

/// LLVM frees metadata of a value when the value is replaced: it is never returned.
#[test]
fn metadata_of_a_local_value_is_not_returned() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let text = "declare void @llvm.experimental.noalias.scope.decl(metadata)\n\
        declare i32 @llvm.read_register.i32(metadata)\n\
        define i32 @f(i32 %a) {\n\
          %b = add i32 %a, 1\n\
          call void @llvm.experimental.noalias.scope.decl(metadata !1)\n\
          %c = call i32 @llvm.read_register.i32(metadata !0)\n\
          ret i32 %b\n\
        }\n\
        !0 = !{!\"m0\"}\n!1 = !{!2}\n!2 = distinct !{!2, !3}\n!3 = distinct !{!3}\n";
    let module = context.parse_ir("local.ll", text).unwrap();
    let instructions = module.function("f").unwrap().unwrap().blocks()[0].instructions();
    let Operand::Value(argument) = instructions[2].arguments()[0] else { panic!("{:?}", instructions[2].arguments()) };
    let node = argument.as_metadata().unwrap();
    assert_eq!(node.operands()[0].unwrap().as_text().as_deref(), Some("m0"));
    assert_eq!(node.to_value(), argument);

    // An intrinsic for variables is an instruction before LLVM 19.
    let text = "declare void @llvm.dbg.value(metadata, metadata, metadata)\n\
        define i32 @f(i32 %a) !dbg !4 {\n\
          %b = add i32 %a, 1, !dbg !8\n\
          call void @llvm.dbg.value(metadata i32 %b, metadata !7, metadata !DIExpression()), !dbg !8\n\
          call void @llvm.dbg.value(metadata !DIArgList(i32 %a, i32 %b), metadata !7, metadata !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus)), !dbg !8\n\
          ret i32 %b\n\
        }\n\
        !llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n\
        !0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)\n\
        !1 = !DIFile(filename: \"a.c\", directory: \"/\")\n!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n\
        !4 = distinct !DISubprogram(name: \"f\", file: !1, unit: !0, type: !5, spFlags: DISPFlagDefinition)\n\
        !5 = !DISubroutineType(types: !6)\n!6 = !{null}\n!7 = !DILocalVariable(name: \"b\", scope: !4)\n\
        !8 = !DILocation(line: 1, scope: !4)\n";
    let module = context.parse_ir("variable.ll", text).unwrap();
    let function = module.function("f").unwrap().unwrap();
    let instructions = function.blocks()[0].instructions();
    for call in instructions.iter().filter(|instruction| instruction.callee().is_some()) {
        let arguments = call.arguments();
        assert_eq!(arguments[0], Operand::Metadata, "{call}");
        assert!(matches!(arguments[1], Operand::Value(_)), "{call}");
    }
    let add = instructions[0];
    add.replace_all_uses(function.parameter(0).unwrap()).unwrap();
    assert!(instructions.iter().all(|instruction| !format!("{instruction} {:?}", instruction.operands()).is_empty()));
    // Debug information that is read: nodes with operands.
    assert!(add.metadata("dbg").unwrap().unwrap().operands().iter().flatten().count() >= 1);
    assert!(kinds(add).is_empty());
    let program = function.value().metadata("dbg").unwrap().unwrap();
    assert!(program.operands().iter().flatten().any(|operand| operand.as_text().as_deref() == Some("f")));
}

/// Nodes of unfinished debug information are freed when it is finished.
#[test]
fn unfinished_debug_information_is_not_read() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let module = scratch(&context);
    let function = module.function("f").unwrap().unwrap();
    let info = rocm_llvm::llvm::DebugInfo::new(&module, "a.c", "/", Language::C).unwrap();
    let scope = info.function(function, 1).unwrap();
    let b = builder(&module);
    b.set_location(Some(scope.location(2, 1))).unwrap();
    b.ret(Some(function.parameter(0).unwrap())).unwrap();
    drop(b);
    let ret = function.blocks()[0].instructions()[0];
    let refused = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Invalid { .. })), "{result:?}");
    refused(ret.metadata("dbg").map(drop));
    refused(function.value().all_metadata().map(drop));
    refused(module.named_metadata("llvm.dbg.cu").map(drop));
    let node = context.metadata_node(&[function.value().to_metadata().unwrap(), context.metadata_text("f")]).unwrap();
    refused(module.flags().map(drop));
    assert_eq!(node.to_value().as_metadata(), None);
    drop(info);
    assert_eq!(node.to_value().as_metadata(), Some(node));
    assert!(ret.metadata("dbg").unwrap().is_some());
    assert_eq!(kinds(function.value()), ["dbg"]);
    assert_eq!(module.named_metadata("llvm.dbg.cu").unwrap().len(), 1);
    assert!(module.flags().unwrap().iter().any(|flag| flag.name == "Debug Info Version"));
}
