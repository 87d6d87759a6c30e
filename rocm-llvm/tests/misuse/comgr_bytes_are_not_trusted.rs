//! Bytes of a file are given to LLVM's readers, and the compiler's result is changed.
use rocm_llvm::comgr::{self, Action, ActionInfo, Artifact, DataSet, Input, Options};

fn main() -> comgr::Result<()> {
    let file = vec![0_u8; 4];
    let _ = comgr::ir_to_object("file.bc", &file[..], "gfx90a", &Options::new());
    let _ = comgr::link_objects(&[("file.o", &file[..])], "gfx90a", &Options::new());
    let _ = Input::trusted(&file);
    let _ = ActionInfo::new().run(Action::LinkToCodeObject, &DataSet::new()?);
    let mut built = comgr::assemble("a.s", "s_nop 0", "gfx90a", &Options::new())?;
    built.bytes[3] ^= 1;
    built.bytes = Artifact(file);
    Ok(())
}
