//! A kernel's inputs in memory: hidden arguments, the dispatch packet, the queue.

use super::grid::Dispatch;
use crate::code_object::{Hidden, ValueKind};
use crate::exec::mem::{NO_HEAP, NO_HOSTCALL, PRIVATE_BASE, SHARED_BASE};
use crate::fault::LaunchError;
use crate::module::Kernel;

impl Kernel {
    /// Builds the kernarg segment: the explicit arguments (laid out as in the metadata), then the hidden ones.
    ///
    /// Missing bytes at the end are zero; padding after the last argument is allowed.
    ///
    /// # Errors
    /// [`LaunchError::Arguments`] if there are more bytes than the kernel takes.
    pub fn build_kernarg(&self, explicit: &[u8], dispatch: &Dispatch) -> Result<Vec<u8>, LaunchError> {
        let mut out = vec![0; self.info().kernarg_size as usize];
        self.fill_kernarg(explicit, dispatch, &mut out)?;
        Ok(out)
    }

    /// As [`build_kernarg`](Self::build_kernarg), into `out`, which must be zero.
    pub(super) fn fill_kernarg(&self, explicit: &[u8], dispatch: &Dispatch, out: &mut [u8]) -> Result<(), LaunchError> {
        let info = self.info();
        let takes = info.explicit_size();
        if explicit.len() > takes.next_multiple_of(16) as usize {
            return Err(LaunchError::Arguments { given: explicit.len(), takes });
        }
        let len = explicit.len().min(takes as usize).min(out.len());
        out[..len].copy_from_slice(&explicit[..len]);
        for arg in &info.args {
            let ValueKind::Hidden(hidden) = arg.kind else { continue };
            let value = hidden_value(hidden, dispatch).to_le_bytes();
            let len = (arg.size as usize).min(value.len());
            let start = arg.offset as usize;
            // Always inside: the parser validated the metadata.
            if let Some(place) = out.get_mut(start..).and_then(|o| o.get_mut(..len)) {
                place.copy_from_slice(&value[..len]);
            }
        }
        Ok(())
    }
}

fn hidden_value(hidden: Hidden, dispatch: &Dispatch) -> u64 {
    let of = |sizes: [u32; 3], d: u8| sizes[usize::from(d.min(2))];
    let (grid, workgroup) = (dispatch.grid, dispatch.workgroup);
    match hidden {
        Hidden::BlockCount(d) => u64::from(of(grid, d) / of(workgroup, d).max(1)),
        Hidden::GroupSize(d) => u64::from(of(workgroup, d)),
        Hidden::Remainder(d) => u64::from(of(grid, d) % of(workgroup, d).max(1)),
        Hidden::GridDims => 3,
        Hidden::DynamicLdsSize => u64::from(dispatch.dynamic_lds),
        Hidden::PrivateBase => PRIVATE_BASE >> 32,
        Hidden::SharedBase => SHARED_BASE >> 32,
        Hidden::HostcallBuffer => NO_HOSTCALL,
        Hidden::Heap => NO_HEAP,
        Hidden::GlobalOffset(_) | Hidden::QueuePtr | Hidden::Absent => 0,
    }
}

/// An AQL kernel dispatch packet.
pub(super) fn packet(kernel: &Kernel, dispatch: &Dispatch, scratch: u32, kernarg: u64) -> [u8; 64] {
    let mut out = [0; 64];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &0x0b02_u16.to_le_bytes());
    put(2, &3_u16.to_le_bytes());
    for d in 0..3 {
        put(4 + 2 * d, &(dispatch.workgroup[d] as u16).to_le_bytes());
        put(12 + 4 * d, &dispatch.grid[d].to_le_bytes());
    }
    put(24, &scratch.to_le_bytes());
    put(28, &(kernel.info().lds_size + dispatch.dynamic_lds).to_le_bytes());
    put(32, &kernel.descriptor_address().to_le_bytes());
    put(40, &kernarg.to_le_bytes());
    out
}

/// The fields of `amd_queue_t` that code reads: the high halves of the apertures.
pub(super) fn queue() -> [u8; 256] {
    let mut out = [0; 256];
    out[64..68].copy_from_slice(&((SHARED_BASE >> 32) as u32).to_le_bytes());
    out[68..72].copy_from_slice(&((PRIVATE_BASE >> 32) as u32).to_le_bytes());
    out
}
