//! Shared code of the tests.

use std::io::Write as _;

use rocm_llvm::llvm::{
    AddressSpace, BasicBlock, Builder, Context, IntPredicate, Library, Module, Optimization, TargetMachine,
};

/// Names the library of this process, in those that `libraries` starts.
pub(crate) const LIBRARY: &str = "ROCM_LLVM_TEST_LIBRARY";

pub(crate) fn skipped(why: impl std::fmt::Display) {
    // Bypasses libtest's capture, which hides the output of passing tests.
    let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
}

/// Returns the LLVM of this process; `None` if there is none.
pub(crate) fn llvm() -> Option<Library> {
    let library = match std::env::var_os(LIBRARY) {
        Some(path) => Ok(Library::open(path).expect("the library named for this process")),
        None => Library::load(),
    };
    library.map_err(skipped).ok()
}

/// Makes a function `i32 f(i32, float)` with one empty block, in a module of its own.
pub(crate) fn scratch(context: &Context) -> Module<'_> {
    let module = context.module("scratch").unwrap();
    add_function(&module, "f");
    module
}

pub(crate) fn add_function<'m>(module: &'m Module<'_>, name: &str) -> BasicBlock<'m> {
    let context = module.context();
    let ty = context.i32().function(&[context.i32(), context.f32()], false).unwrap();
    module.add_function(name, ty).unwrap().append_block("entry").unwrap()
}

pub(crate) fn builder<'m>(module: &'m Module<'_>) -> Builder<'m> {
    module.function("f").unwrap().unwrap().blocks()[0].builder()
}

/// Makes the kernel `y[i] = alpha x[i] + y[i]` for groups of 64.
pub(crate) fn saxpy<'c>(context: &'c Context, machine: &TargetMachine) -> Module<'c> {
    let (i32, f32, pointer) = (context.i32(), context.f32(), context.pointer(AddressSpace::Global));
    let module = context.module("saxpy").unwrap();
    machine.prepare(&module).unwrap();
    let kernel = module.add_kernel("saxpy", &[i32, f32, pointer, pointer]).unwrap();
    let parameters = kernel.parameters();
    let [n, alpha, x, y] = parameters[..] else { panic!("{parameters:?}") };
    let blocks = ["entry", "body", "end"].map(|name| kernel.append_block(name).unwrap());
    let b = blocks[0].builder();
    let group = b.call(module.intrinsic("llvm.amdgcn.workgroup.id.x").unwrap(), &[], "group").unwrap();
    let item = b.call(module.intrinsic("llvm.amdgcn.workitem.id.x").unwrap(), &[], "item").unwrap();
    let first = b.mul(group, i32.const_int(64).unwrap(), "first").unwrap();
    let i = b.add(first, item, "i").unwrap();
    b.cond_br(b.icmp(IntPredicate::Ult, i, n, "inside").unwrap(), blocks[1], blocks[2]).unwrap();
    b.position_at_end(blocks[1]).unwrap();
    let [at_x, at_y] = [x, y].map(|pointer| b.inbounds_gep(f32, pointer, &[i], "").unwrap());
    let product = b.fmul(alpha, b.load(f32, at_x, "").unwrap(), "").unwrap();
    b.store(b.fadd(product, b.load(f32, at_y, "").unwrap(), "").unwrap(), at_y).unwrap();
    b.br(blocks[2]).unwrap();
    b.position_at_end(blocks[2]).unwrap();
    b.ret(None).unwrap();
    drop(b);
    module
}

pub(crate) fn machine(gpu: &str) -> TargetMachine {
    TargetMachine::new(gpu, Optimization::Default).unwrap()
}
