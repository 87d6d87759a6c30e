//! Dispatches: a kernel run over a grid of work-items.

mod arguments;
mod failure;
mod grid;
mod group;
mod initial;
mod job;
mod limits;
mod occupancy;
mod packet;
mod registers;
mod schedule;
mod spare;
mod worker;

pub use grid::Dispatch;
pub use job::Stats;
pub use limits::{DYNAMIC_STACK, MAX_LDS, MAX_SCRATCH, MAX_WORKGROUP_SIZE};
pub use packet::{Cancel, PACKET_BYTES, Packet};
pub use schedule::Schedule;
pub(crate) use spare::Spares;

use std::sync::Arc;

use crate::code_object::KernelInfo;
use crate::config::BeyondLds;
use crate::exec::LANES;
use crate::fault::{Fault, FaultKind, LaunchError};
use crate::gpu::Gpu;
use crate::module::Kernel;
use crate::units::ComputeUnits;
use failure::kind_of;
use job::Job;

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
        let program = kernel
            .inner
            .program(self.memory(), self.config().arch, self.whole())
            .map_err(|trap| Fault::new(kernel, kind_of(&trap)))?;
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

const _: () = {
    const fn is_send_sync<T: Send + Sync>() {}
    is_send_sync::<Gpu>();
    is_send_sync::<Kernel>();
    is_send_sync::<Arc<crate::Module>>();
};
