//! The choice of additional checks.

/// Additional checks. All are off by default, because they are slow.
///
/// Even without them, an access outside a live allocation (or LDS, or scratch), to freed or read-only memory, or a
/// misaligned atomic operation ends the dispatch with a [`Fault`](crate::Fault).
///
/// ```
/// use amdgpu_sim::{AllocKind, Checks, CodeObject, Config, Dispatch, Gpu};
///
/// # let code = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/observe.co"));
/// let gpu = Gpu::new(Config { checks: Checks { race: true, ..Checks::default() }, ..Config::default() });
/// let module = gpu.load(&CodeObject::parse(code)?)?;
/// // A reduction in LDS that has forgotten its barriers.
/// let kernel = module.kernel("reduce_racy").unwrap();
/// let [input, out] = [1024, 4].map(|bytes| gpu.memory().alloc(bytes, 0, AllocKind::Device).unwrap());
/// let arguments = [input.to_le_bytes(), out.to_le_bytes()].concat();
/// gpu.launch(&kernel, &arguments, &Dispatch::of_blocks([1, 1, 1], [256, 1, 1])?)?;
/// let findings = gpu.take_findings();
/// assert!(findings[0].to_string().starts_with("kernel reduce_racy: race at LDS address 0x"), "{}", findings[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What a race is
/// Two lanes of a wave race if their stores, in one instruction, write different values to a common byte: the final
/// value is undefined.
///
/// Two waves of a dispatch race if they access a common byte, at least one of them writes, and the accesses are not
/// ordered. Waves are ordered by:
/// - a barrier: afterwards, all waves of the workgroup know everything that any of them knew before (including waves
///   that have ended);
/// - atomic operations on global memory. Such an operation publishes what its wave knows of other waves, and its own
///   accesses up to its last `s_waitcnt vmcnt(0)`. That is how a release is compiled, so a forgotten `__threadfence()`
///   is found. An atomic operation that returns a value, or a coherent load (`glc`; on gfx942 `sc0` or `sc1`: how an
///   atomic load is compiled), learns what was published at its address;
/// - atomic operations on LDS, which publish all earlier accesses of their wave, since LDS operates in order;
/// - global wave sync, whose instructions publish like atomic operations on global memory, and learn what all others
///   have published;
/// - a store that a coherent load reads: on gfx90a an atomic store is compiled to a plain one.
///
/// These are not races:
/// - a plain read and an atomic operation, if the reading wave compares and swaps there before it ends: a
///   compare-and-swap loop starts with such a read, and `atomicAdd` of floats is compiled to one on gfx90a;
/// - a store to LDS and a load that polls it: a load that a loop can reach again with the same address, without a store
///   in between. Only another wave can end such a loop. Such a load learns what the store that it reads has published;
/// - two accesses that are both atomic (atomic operations, coherent loads, on gfx942 coherent stores; `volatile` makes
///   loads of global memory coherent, and counts as atomic);
/// - on gfx90a, in global memory, a store and an atomic operation or coherent load: the store may be an atomic one;
/// - two stores of the same value.
///
/// Not detected are races between dispatches and with the host; between instructions of one wave (which executes them
/// in order, and code commonly relies on that); between lanes of a store that converts its data (typed buffers,
/// images); a forgotten acquire; and those with a third or later wave that reads the same bytes as two others. False
/// positives are an atomic load or store of LDS (not `atomicAdd`, `atomicExch` and so on) that no wave polls in a loop,
/// and on gfx90a an atomic store of different values by lanes of a wave: these are plain instructions in machine code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checks {
    /// Reads of uninitialised device memory, LDS and scratch. Must be enabled before the memory is allocated. A partly
    /// written word counts as written: its other bytes may be padding.
    pub init: bool,
    /// Races in LDS and in global memory, between lanes of a wave, waves of a workgroup and workgroups of a dispatch.
    pub race: bool,
    /// Waves of a workgroup that wait for each other at different barriers. A wave that has ended counts as having
    /// reached every barrier, as on a GPU.
    pub barrier: bool,
    /// A dispatch with findings fails with [`FaultKind::Checks`](crate::FaultKind::Checks) after it has completed. The
    /// fault contains the findings, and they can also be [taken](crate::Gpu::take_findings).
    pub fail: bool,
}

impl Checks {
    /// All checks, with findings as failures.
    pub const ALL: Checks = Checks { init: true, race: true, barrier: true, fail: true };

    /// Whether any check is enabled.
    pub fn any(self) -> bool {
        self.init || self.race || self.barrier
    }
}
