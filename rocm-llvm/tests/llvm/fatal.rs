//! LLVM's fatal errors, which would end the process, become errors.

use rocm_llvm::llvm::{Context, Error};

use crate::support::{llvm, machine, saxpy};

/// Matrix instructions exist on MI GPUs. The code generator cannot select them for others.
const MFMA: &str = "declare <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float, float, <4 x float>, i32, i32, i32)
define amdgpu_kernel void @k(ptr addrspace(1) %p, float %a) {
  %r = call <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float %a, float %a, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  store <4 x float> %r, ptr addrspace(1) %p
  ret void
}
";

#[test]
fn a_fatal_error_does_not_end_the_process() {
    if llvm().is_none() {
        return;
    }
    let context = Context::new().unwrap();
    let mfma = context.parse_ir("mfma.ll", MFMA).unwrap();
    machine("gfx90a").emit_object(&mfma).unwrap();
    let machine = machine("gfx1100");
    let error = machine.emit_object(&mfma).unwrap_err();
    match &error {
        Error::Fatal { operation: "emit", message } => {
            assert!(message.contains("select"), "{message}");
            // The parked thread uses this machine.
            assert!(matches!(machine.emit_object(&mfma), Err(Error::Invalid { .. })));
        }
        // Newer LLVMs report some of them as diagnostics.
        Error::Emit { .. } => {}
        other => panic!("{other}"),
    }
    // Everything else still works: the module, its context, other machines and contexts.
    mfma.verify().unwrap();
    assert_eq!(context.i32().const_int(7).unwrap().as_int(), Some(7));
    self::machine("gfx90a").emit_object(&mfma).unwrap();
    drop(mfma);
    drop(context);
    let context = Context::new().unwrap();
    let machine = self::machine("gfx1100");
    machine.emit_object(&saxpy(&context, &machine)).unwrap();
}
