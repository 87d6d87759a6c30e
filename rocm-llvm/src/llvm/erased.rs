//! Instructions and blocks that were erased from a module and are not freed yet.

use super::raw;

/// What was erased from a module.
#[derive(Debug, Default)]
pub(super) struct Erased {
    pub(super) instructions: Vec<raw::LLVMValueRef>,
    /// Blocks, each with its former function.
    pub(super) blocks: Vec<(raw::LLVMBasicBlockRef, raw::LLVMValueRef)>,
    /// A block in no function, the target of erased branches, with the function of the first of them.
    pub(super) sink: Option<(raw::LLVMBasicBlockRef, raw::LLVMValueRef)>,
}

impl Erased {
    /// Frees it. The caller has exclusive access to the module, and frees no function before.
    pub(super) fn free(self) {
        // SAFETY: no handle is left, and erased instructions are not operands of others.
        unsafe {
            self.instructions.iter().for_each(|instruction| raw::LLVMDeleteInstruction(*instruction));
        }
        for (block, function) in self.blocks.into_iter().chain(self.sink) {
            // SAFETY: the block is in no function, nothing refers to it, and the function is live.
            unsafe {
                raw::LLVMAppendExistingBasicBlock(function, block);
                raw::LLVMDeleteBasicBlock(block);
            }
        }
    }
}
