//! Code for the host, called.

use rocm_llvm::llvm::{AddressSpace, Context, Error, Jit, Module, Optimization, Result};

use crate::support::llvm;

fn jit() -> Option<Jit> {
    llvm()?;
    match Jit::new(Optimization::Default) {
        Ok(jit) => Some(jit),
        Err(error @ Error::NoHost { .. }) => {
            crate::support::skipped(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn sum<'c>(context: &'c Context, name: &str) -> Result<Module<'c>> {
    let module = context.module(name)?;
    let i64 = context.i64();
    let function = module.add_function(name, i64.function(&[i64, i64, i64], false)?)?;
    let b = function.append_block("entry")?.builder();
    let [x, y, z] = function.parameters()[..] else { panic!("three parameters") };
    b.ret(Some(b.add(b.add(x, y, "")?, z, "")?))?;
    drop(b);
    Ok(module)
}

#[test]
fn a_function_is_compiled_and_called() {
    let Some(jit) = jit() else { return };
    let context = Context::new().unwrap();
    let mut module = sum(&context, "sum").unwrap();
    jit.machine().run_passes(&mut module, "default<O2>").unwrap();
    jit.add(&module).unwrap();
    // SAFETY: the function has this type.
    let sum = unsafe { jit.function::<unsafe extern "C" fn(u64, u64, u64) -> u64>("sum") }.unwrap();
    // SAFETY: it adds numbers.
    assert_eq!(unsafe { sum(1, 2, 39) }, 42);
    // SAFETY: as above; the sum wraps.
    assert_eq!(unsafe { sum(u64::MAX, 1, 7) }, 7);
}

#[test]
fn symbols_of_modules_the_program_and_the_process() {
    unsafe extern "C" fn twice(x: u64) -> u64 {
        x * 2
    }
    let Some(jit) = jit() else { return };
    let context = Context::new().unwrap();
    let text = "declare i64 @sum(i64, i64, i64)\ndeclare i64 @twice(i64)\ndeclare i64 @strlen(ptr)\n\
                @text = private constant [4 x i8] c\"abc\\00\"\n@answer = global i64 42\n\
                define i64 @all(i64 %x) {\n %a = call i64 @sum(i64 %x, i64 1, i64 1)\n %b = call i64 @twice(i64 %a)\n \
                %c = call i64 @strlen(ptr @text)\n %d = add i64 %b, %c\n ret i64 %d\n}\n";
    jit.add(&context.parse_ir("all.ll", text).unwrap()).unwrap();
    jit.define("twice", twice as *const ()).unwrap();
    assert!(matches!(jit.define("twice", twice as *const ()), Err(Error::Jit { .. })));
    jit.use_process_symbols().unwrap();
    jit.add(&sum(&context, "sum").unwrap()).unwrap();
    assert!(matches!(jit.add(&sum(&context, "sum").unwrap()), Err(Error::Jit { .. })));
    // SAFETY: the function has this type.
    let all = unsafe { jit.function::<unsafe extern "C" fn(u64) -> u64>("all") }.unwrap();
    // SAFETY: so have the functions that it calls.
    assert_eq!(unsafe { all(5) }, 17);
    let answer = jit.address("answer").unwrap().cast::<u64>();
    // SAFETY: a variable of this type, which lives as long as the compiler.
    assert_eq!(unsafe { *answer }, 42);
}

#[test]
fn errors_are_returned() {
    let Some(jit) = jit() else { return };
    let context = Context::new().unwrap();
    let missing = jit.address("nothing").unwrap_err();
    assert!(matches!(&missing, Error::Jit { message, .. } if message.contains("nothing")), "{missing}");
    jit.add(
        &context
            .parse_ir("m.ll", "declare void @gone()\ndefine void @f() {\n call void @gone()\n ret void\n}\n")
            .unwrap(),
    )
    .unwrap();
    let missing = jit.address("f").unwrap_err();
    assert!(matches!(&missing, Error::Jit { message, .. } if message.contains("gone")), "{missing}");
    let module = context.module("gpu").unwrap();
    module.add_kernel("k", &[context.pointer(AddressSpace::Global)]).unwrap();
    crate::support::machine("gfx90a").prepare(&module).unwrap();
    assert!(matches!(jit.add(&module), Err(Error::Invalid { .. })), "another target");
}
