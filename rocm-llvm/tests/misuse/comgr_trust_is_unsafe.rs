//! Bytes are vouched for, and an action is run, without an `unsafe` block.
use rocm_llvm::comgr::{self, Action, ActionInfo, DataSet, Input};

fn main() -> comgr::Result<()> {
    let _ = Input::trusted(b"BC");
    let _ = ActionInfo::new().run(Action::LinkToCodeObject, &DataSet::new()?);
    Ok(())
}
