//! Dispatches: a kernel run over a grid of work-items.

mod arguments;
mod group;
mod occupancy;
mod packet;
mod registers;
mod schedule;
mod spare;
mod worker;

pub use packet::{Cancel, PACKET_BYTES, Packet};
pub use schedule::Schedule;
pub(crate) use spare::Spares;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::code_object::KernelInfo;
use crate::exec::mem::{NO_HEAP, NO_HOSTCALL};
use crate::exec::{LANES, Program, Trap};
use crate::fault::{Denied, Fault, FaultKind, FaultPlace, LaunchError};
use crate::gpu::{BeyondLds, Gpu};
use crate::module::Kernel;
use crate::observe::Subject;
use crate::units::ComputeUnits;

/// The maximum number of work-items of a workgroup.
pub const MAX_WORKGROUP_SIZE: u32 = 1024;
/// The maximum LDS of a workgroup in bytes.
pub const MAX_LDS: u32 = 64 << 10;
/// The maximum scratch of a lane in bytes.
pub const MAX_SCRATCH: u32 = 128 << 10;
/// The minimum scratch of a lane in bytes if the compiler does not know the kernel's call depth, unless
/// [`Gpu::set_dynamic_stack`] sets another: the default of AMD's runtime.
pub const DYNAMIC_STACK: u32 = 1 << 10;

/// The grid of a dispatch, and its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Work-items in each dimension. They need not be a multiple of the workgroup size: the last workgroups are then
    /// smaller.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each dimension.
    pub workgroup: [u32; 3],
    /// Dynamic LDS in bytes, in addition to the kernel's static LDS.
    pub dynamic_lds: u32,
    /// Address of the kernarg segment, hidden arguments included ([`Kernel::build_kernarg`]); [`Gpu::launch`] makes its
    /// own.
    pub kernarg: u64,
}

impl Dispatch {
    /// `blocks` workgroups of `threads` work-items, as HIP specifies a grid.
    ///
    /// # Errors
    /// [`LaunchError::GridTooLarge`] if the product does not fit 32 bits.
    pub fn of_blocks(blocks: [u32; 3], threads: [u32; 3]) -> Result<Self, LaunchError> {
        let mut grid = [0; 3];
        for d in 0..3 {
            grid[d] = blocks[d]
                .checked_mul(threads[d])
                .ok_or(LaunchError::GridTooLarge { grid: blocks, workgroup: threads })?;
        }
        Ok(Self { grid, workgroup: threads, dynamic_lds: 0, kernarg: 0 })
    }

    /// Workgroups in each dimension, including partial ones. The workgroup size must not be 0.
    fn groups(&self) -> [u32; 3] {
        std::array::from_fn(|d| self.grid[d].div_ceil(self.workgroup[d].max(1)))
    }
}

/// Statistics of a dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Instructions, counted once per wave.
    pub instructions: u64,
    /// Waves.
    pub waves: u64,
    /// Workgroups.
    pub workgroups: u64,
}

/// The state that the workers of a running dispatch share.
struct Job<'a> {
    gpu: &'a Gpu,
    kernel: &'a Kernel,
    program: &'a Program,
    dispatch: Dispatch,
    /// Workgroups in each dimension.
    groups: [u32; 3],
    /// The total number of workgroups.
    total: u64,
    /// The number of workgroups that run at the same time.
    resident: u64,
    /// Scratch of a lane in bytes.
    scratch: u32,
    /// LDS of a workgroup in bytes.
    lds: u32,
    /// The effect of accesses beyond LDS in this kernel.
    beyond_lds: BeyondLds,
    /// The memory that the dispatch allocated for packet, queue and arguments; empty if the caller provides them.
    own: Range<u64>,
    /// Address of the dispatch packet.
    packet: u64,
    /// Address of the queue.
    queue: u64,
    dispatch_id: u64,
    kernarg: u64,
    /// The compute units that the dispatch may use.
    units: ComputeUnits,
    cancel: Option<&'a Cancel>,
    start: Instant,
}

impl Job<'_> {
    /// The description of the dispatch for an observer.
    fn subject(&self) -> Subject<'_> {
        let Job { gpu, kernel, program, ref dispatch, groups, lds, kernarg, .. } = *self;
        Subject { gpu, kernel, program, dispatch, groups, lds, kernarg }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(Cancel::is_cancelled) || self.gpu.is_lost()
    }
}

impl Gpu {
    /// The effect of accesses beyond LDS in `kernel`.
    fn beyond_lds_of(&self, kernel: &Kernel) -> BeyondLds {
        let config = self.config();
        let is_known = || config.zeros_beyond_lds.iter().any(|start| kernel.info().name.starts_with(start));
        match config.beyond_lds {
            BeyondLds::FaultUnlessKnown if !is_known() => BeyondLds::Fault,
            other => other,
        }
    }
}

/// The inputs in memory that the caller provides.
#[derive(Clone, Copy)]
enum Given<'a> {
    /// The arguments, at [`Dispatch::kernarg`]. Packet and queue must be made.
    Kernarg,
    /// Nothing. These arguments must be copied to memory.
    Nothing(&'a [u8]),
    /// Packet, queue and arguments.
    All(&'a Packet),
}

/// The maximum size of arguments that are assembled on the stack.
const FEW_ARGUMENTS: usize = 512;

/// Offsets in the dispatch's own memory.
const QUEUE: u64 = 64;
const KERNARG: u64 = 512;

impl Gpu {
    /// Runs `kernel` over a grid and waits for it.
    ///
    /// # Errors
    /// A [`Fault`] if the launch is invalid or the kernel fails. Its writes up to then remain.
    pub fn dispatch(&self, kernel: &Kernel, dispatch: &Dispatch) -> Result<Stats, Fault> {
        let refuse = |e| Fault::launch(kernel, e);
        let size = kernel.info().kernarg_size;
        if size > 0 && !self.memory().holds(dispatch.kernarg, u64::from(size)) {
            return Err(refuse(LaunchError::Kernarg { address: dispatch.kernarg, size }));
        }
        self.start(kernel, dispatch, Given::Kernarg, None)
    }

    /// Runs `kernel` over a grid with the given explicit arguments (laid out as in the kernel's
    /// [`args`](crate::KernelInfo::args)), and waits for it. `dispatch.kernarg` is not used.
    ///
    /// # Errors
    /// As for [`dispatch`](Self::dispatch).
    pub fn launch(&self, kernel: &Kernel, arguments: &[u8], dispatch: &Dispatch) -> Result<Stats, Fault> {
        let size = kernel.info().kernarg_size as usize;
        let (mut few, mut many) = ([0; FEW_ARGUMENTS], Vec::new());
        let kernarg = match few.get_mut(..size) {
            Some(few) => few,
            None => {
                many.resize(size, 0);
                &mut many[..]
            }
        };
        kernel.fill_kernarg(arguments, dispatch, kernarg).map_err(|e| Fault::launch(kernel, e))?;
        self.start(kernel, dispatch, Given::Nothing(kernarg), None)
    }

    /// Runs the kernel of an AQL packet as the packet specifies, and waits for it. Called by a queue's thread.
    ///
    /// The kernel gets the addresses in `packet` in its registers. It must have been [loaded](Self::load) to this GPU.
    ///
    /// # Errors
    /// A [`Fault`] as for [`dispatch`](Self::dispatch): [`LaunchError::KernelObject`] if `packet.kernel_object` is not
    /// a kernel's descriptor, [`FaultKind::Cancelled`] after `cancel`.
    pub fn run_packet(&self, packet: &Packet, cancel: &Cancel) -> Result<Stats, Fault> {
        let address = packet.kernel_object;
        let Some(kernel) = self.kernel_at(address) else {
            let kind = FaultKind::Launch(LaunchError::KernelObject { address });
            return Err(Fault { kernel: format!("{address:#x}"), kind, place: None, nearest: None });
        };
        let dispatch = Dispatch {
            grid: packet.grid,
            workgroup: packet.workgroup,
            dynamic_lds: packet.group_segment_size.saturating_sub(kernel.info().lds_size),
            kernarg: packet.kernarg,
        };
        self.start(&kernel, &dispatch, Given::All(packet), Some(cancel))
    }

    fn start(
        &self,
        kernel: &Kernel,
        dispatch: &Dispatch,
        given: Given<'_>,
        cancel: Option<&Cancel>,
    ) -> Result<Stats, Fault> {
        if self.is_lost_now() {
            return Err(Fault::new(kernel, FaultKind::Lost));
        }
        let refuse = |e| Fault::launch(kernel, e);
        check(kernel.info(), dispatch, given).map_err(refuse)?;
        let (scratch, lds) = sizes(kernel.info(), dispatch, given, self.dynamic_stack()).map_err(refuse)?;
        let program = kernel.inner.program(self).map_err(|trap| Fault::new(kernel, kind_of(&trap)))?;
        let groups = dispatch.groups();
        let product =
            u64::from(groups[0]).checked_mul(u64::from(groups[1])).and_then(|n| n.checked_mul(u64::from(groups[2])));
        let total = product
            .ok_or_else(|| refuse(LaunchError::GridTooLarge { grid: dispatch.grid, workgroup: dispatch.workgroup }))?;
        let mut job = Job {
            gpu: self,
            kernel,
            program,
            dispatch: *dispatch,
            groups,
            total,
            resident: self.max_resident_workgroups(kernel, dispatch.workgroup.iter().product(), lds).max(1),
            scratch,
            lds,
            beyond_lds: self.beyond_lds_of(kernel),
            own: 0..0,
            packet: 0,
            queue: 0,
            dispatch_id: 0,
            kernarg: dispatch.kernarg,
            units: ComputeUnits::ALL,
            cancel,
            start: self.started(),
        };
        let arguments = match given {
            Given::Kernarg => &[][..],
            Given::Nothing(arguments) => arguments,
            Given::All(packet) => {
                (job.packet, job.queue, job.dispatch_id) = (packet.address, packet.queue, packet.dispatch_id);
                job.units = packet.units;
                return worker::run(&job);
            }
        };
        let size = KERNARG + arguments.len().next_multiple_of(64) as u64;
        let no_memory = || refuse(LaunchError::Unsupported("a launch without host memory for its packet".into()));
        let own = self.spares().own(size).ok_or_else(no_memory)?;
        (job.own, job.packet, job.queue) = (own.base()..own.base() + size, own.base(), own.base() + QUEUE);
        if matches!(given, Given::Nothing(_)) {
            job.kernarg = own.base() + KERNARG;
        }
        own.write(0, &arguments::packet(kernel, dispatch, scratch, job.kernarg));
        own.write(QUEUE, &arguments::queue());
        own.write(KERNARG, arguments);
        let result = worker::run(&job);
        self.spares().keep_own(own);
        result
    }
}

/// The scratch of a lane and the LDS of a workgroup, in bytes.
fn sizes(info: &KernelInfo, dispatch: &Dispatch, given: Given<'_>, stack: u32) -> Result<(u32, u32), LaunchError> {
    let (scratch, lds) = match given {
        Given::All(packet) => (packet.private_segment_size, packet.group_segment_size),
        // As in AMD's runtime: the limit covers the kernel and all functions that it calls.
        Given::Kernarg | Given::Nothing(_) if info.dynamic_stack => {
            (info.private_size.max(stack), info.lds_size.saturating_add(dispatch.dynamic_lds))
        }
        Given::Kernarg | Given::Nothing(_) => (info.private_size, info.lds_size.saturating_add(dispatch.dynamic_lds)),
    };
    if lds > MAX_LDS {
        return Err(LaunchError::LdsTooLarge { fixed: info.lds_size, dynamic: dispatch.dynamic_lds, limit: MAX_LDS });
    }
    if scratch > MAX_SCRATCH {
        return Err(LaunchError::ScratchTooLarge { private: scratch, limit: MAX_SCRATCH });
    }
    Ok((scratch, lds))
}

/// Checks a grid before the start.
///
/// The hardware does not know the sizes that a kernel was compiled for, and runtimes rely on that: HIP starts its own
/// copy kernels with larger workgroups than their metadata allows. So packets are checked against the hardware's limits
/// only.
fn check(info: &KernelInfo, dispatch: &Dispatch, given: Given<'_>) -> Result<(), LaunchError> {
    let Dispatch { grid, workgroup, .. } = *dispatch;
    if grid.contains(&0) || workgroup.contains(&0) {
        return Err(LaunchError::Empty { grid, workgroup });
    }
    if info.wavefront_size as usize != LANES {
        return Err(LaunchError::Unsupported(format!("waves of {} lanes", info.wavefront_size)));
    }
    let work_items = workgroup.iter().fold(1_u64, |n, d| n.saturating_mul(u64::from(*d)));
    let by_packet = matches!(given, Given::All(_));
    let limit = if by_packet { MAX_WORKGROUP_SIZE } else { info.max_workgroup_size.min(MAX_WORKGROUP_SIZE) };
    if work_items > u64::from(limit) {
        return Err(LaunchError::WorkgroupTooLarge { work_items, workgroup, limit });
    }
    match info.required_workgroup_size {
        Some(required) if required != workgroup && !by_packet => {
            Err(LaunchError::WorkgroupMismatch { workgroup, required })
        }
        _ => Ok(()),
    }
}

/// The public kind of a trap.
fn kind_of(trap: &Trap) -> FaultKind {
    match trap {
        Trap::Unsupported(what) => FaultKind::Unsupported((*what).to_owned()),
        Trap::StrayRegister(stray) => FaultKind::StrayRegister(*stray),
        Trap::Undecodable(word) => FaultKind::UnknownInstruction(*word),
        Trap::WildJump(address) => FaultKind::WildJump(*address),
        Trap::Trap(n) => FaultKind::Trap(*n),
        Trap::Memory(fault) if fault.address >> 48 == NO_HOSTCALL >> 48 => FaultKind::Unsupported(
            "output of a kernel (printf, or the message of a failed assert): it takes AMD's HIP runtime, which `hip-sim run` runs".into(),
        ),
        Trap::Memory(fault) if fault.address >> 48 == NO_HEAP >> 48 => FaultKind::Unsupported(
            "malloc and free in a kernel: they take AMD's HIP runtime, which `hip-sim run` runs".into(),
        ),
        Trap::Memory(fault) => FaultKind::Memory {
            space: fault.space,
            access: fault.access,
            address: fault.address,
            bytes: fault.bytes,
            why: fault.why,
        },
    }
}

impl Fault {
    fn new(kernel: &Kernel, kind: FaultKind) -> Self {
        Self { kernel: kernel.info().name.clone(), kind, place: None, nearest: None }
    }

    fn launch(kernel: &Kernel, error: LaunchError) -> Self {
        Self::new(kernel, FaultKind::Launch(error))
    }

    /// Adds the place, and the nearest allocation or the LDS size.
    fn at(mut self, mut place: FaultPlace, job: &Job<'_>) -> Self {
        let memory = job.gpu.memory();
        let outside = |why: &Denied| *why == Denied::OutOfBounds;
        if matches!(&self.kind, FaultKind::Memory { space: crate::fault::Space::Lds, why, .. } if outside(why)) {
            place.lds = Some([job.kernel.info().lds_size, job.dispatch.dynamic_lds]);
        }
        if let FaultKind::Memory { space: crate::fault::Space::Global, address, why, .. } = &mut self.kind {
            self.nearest = memory.nearest(*address);
            if *why == Denied::OutOfBounds && self.nearest.is_some_and(|n| n.freed && n.allocation.contains(*address)) {
                *why = Denied::Freed;
            }
        }
        self.place = Some(Box::new(place));
        self
    }
}

/// The number of instructions of a workgroup below which waking other threads is not worthwhile.
const SMALL: u64 = 4000;

impl Job<'_> {
    /// The number of workers to use.
    fn workers(&self, threads: usize) -> usize {
        let config = self.gpu.config();
        if config.schedule.is_ordered() || config.checks.any() {
            return 1;
        }
        let known = self.kernel.inner.cost.load(Relaxed);
        if known != 0 && known.saturating_mul(self.total) < SMALL {
            return 1;
        }
        usize::try_from(self.total).unwrap_or(usize::MAX).min(threads)
    }

    /// Stores the number of instructions of a workgroup.
    fn learn(&self, stats: &Stats) {
        self.kernel.inner.cost.store((stats.instructions / stats.workgroups.max(1)).max(1), Relaxed);
    }
}

const _: () = {
    const fn is_send_sync<T: Send + Sync>() {}
    is_send_sync::<Gpu>();
    is_send_sync::<Kernel>();
    is_send_sync::<Arc<crate::Module>>();
};
