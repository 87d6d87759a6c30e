//! Barriers and fences.

use crate::atomic::Scope;
use crate::raw;

/// Waits for all threads of the block, and makes all earlier writes of each visible to all: `__syncthreads()`.
///
/// All threads of the block must reach the same barrier, or have ended.
#[inline(always)]
#[doc(alias("__syncthreads"))]
pub fn barrier() {
    // SAFETY: it accesses no memory. Code that relies on its order is unsafe itself.
    unsafe { raw::barrier() };
}

/// Orders earlier writes of a wave's lanes before their later reads: `__syncwarp()`.
#[inline(always)]
#[doc(alias("__syncwarp"))]
pub fn wave_barrier() {
    // SAFETY: as above.
    unsafe { raw::wave_barrier() };
}

/// The ordering of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Later accesses stay after it.
    Acquire,
    /// Earlier accesses stay before it.
    Release,
    /// Both.
    AcqRel,
    /// Both, and in one order for all threads.
    SeqCst,
}

/// Orders memory accesses for the threads of a scope: `__threadfence_block()` is `fence(Scope::Block, Order::SeqCst)`,
/// `__threadfence()` has `Scope::Device`, `__threadfence_system()` has `Scope::System`.
#[inline(always)]
#[doc(alias("__threadfence", "__threadfence_block", "__threadfence_system"))]
pub fn fence(scope: Scope, order: Order) {
    macro_rules! by_order {
        ($module:ident) => {
            match order {
                Order::Acquire => raw::$module::fence_acquire(),
                Order::Release => raw::$module::fence_release(),
                Order::AcqRel => raw::$module::fence_acq_rel(),
                Order::SeqCst => raw::$module::fence_seq_cst(),
            }
        };
    }
    // SAFETY: a fence accesses no memory.
    unsafe {
        match scope {
            Scope::Wave => by_order!(wave),
            Scope::Block => by_order!(block),
            Scope::Device => by_order!(device),
            Scope::System => by_order!(system),
        }
    }
}

/// Lets other waves run for some cycles (`__builtin_amdgcn_s_sleep`): for waiting loops.
#[inline(always)]
pub fn sleep() {
    // SAFETY: it has no other effect.
    unsafe { raw::sleep() };
}
