//! Groups of collective calls.

use std::sync::atomic::Ordering;

use hip::interop::{Uses, call_on_streams};
use hip::{DeviceSlice, DeviceSliceMut, IntoSlice, IntoSliceMut, Pod};
use smallvec::SmallVec;

use crate::call::{Call, Submission, submit};
use crate::communicator::Communicator;
use crate::element::{DataType, Op, Reduce};
use crate::error::{Error, Result};
use crate::summary::{Kind, Parts};

/// Calls that are made together: for several ranks of one process, or sends and receives that must not wait for each
/// other (`ncclGroupStart`, `ncclGroupEnd`).
///
/// Every buffer stays borrowed until the group ends. [`end`](Self::end) makes the calls, all together. A group that is
/// dropped, after an error or during a panic, makes none of them; no group stays open in the library. While a group
/// uses a communicator, its other methods that need all ranks return an error.
///
/// ```
/// # use hip::{Device, DeviceBuffer};
/// # use rccl::{Communicator, Config, Group, Op};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if hip::sim_if_no_gpu().is_err() || !rccl::is_available()
/// #     || hip::backend()? == hip::Backend::Sim { return Ok(()) }
/// let devices = Device::all()?;
/// let ranks = Communicator::init_all(&devices, &Config::new())?;
/// let mut buffers = Vec::new();
/// for (device, number) in devices.iter().zip(1..) {
///     buffers.push(DeviceBuffer::from_slice(device, &[number as f32; 1000])?);
/// }
/// let mut group = Group::new();
/// for (rank, buffer) in ranks.iter().zip(&mut buffers) {
///     group.all_reduce_in_place(rank, buffer, Op::Sum)?;
/// }
/// group.end()?;
/// println!("{:?}", buffers[0].to_vec()?); // 1 + 2 + ... on each device
/// # Ok(()) }
/// ```
#[must_use = "no call is made unless the group is ended"]
#[doc(alias("ncclGroupStart", "ncclGroupEnd"))]
#[derive(Default)]
pub struct Group<'a> {
    parts: SmallVec<[Part<'a>; 1]>,
}

/// The calls of one communicator.
struct Part<'a> {
    communicator: &'a Communicator,
    uses: Uses<'a>,
    calls: SmallVec<[Call; 1]>,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        self.communicator.groups.fetch_sub(1, Ordering::AcqRel);
    }
}

fn fits(what: &'static str, found: usize, needed: Option<usize>, of: &str) -> Result<()> {
    match needed {
        Some(needed) if needed == found => Ok(()),
        Some(needed) => Err(Error::invalid(what, found.to_string(), format!("{needed}, {of}"))),
        None => Err(Error::invalid(what, found.to_string(), format!("less than usize::MAX, {of}"))),
    }
}

fn check_peer(what: &'static str, peer: usize, size: usize) -> Result<()> {
    if peer < size {
        return Ok(());
    }
    Err(Error::invalid(what, peer.to_string(), format!("less than {size}, the number of ranks")))
}

fn apart<T, U>(from: &DeviceSlice<'_, T>, to: &DeviceSliceMut<'_, U>) -> Result<()> {
    if to.overlaps(*from) {
        let allowed = "apart from what it sends: use the method with `_in_place`";
        return Err(Error::invalid("the memory that a call receives in", "what it sends", allowed));
    }
    Ok(())
}

/// Creates a call that moves `count` elements of `T`.
fn moving<T>(kind: Kind, count: usize) -> Call {
    let (data_type, each) = DataType::to_move::<T>();
    Call::new(kind, count * each, data_type)
}

impl<'a> Group<'a> {
    /// Creates an empty group.
    pub fn new() -> Self {
        Self::default()
    }

    fn part(&mut self, communicator: &'a Communicator) -> Result<&mut Part<'a>> {
        let found = self.parts.iter().position(|part| std::ptr::eq(part.communicator, communicator));
        let index = match found {
            Some(index) => index,
            None => {
                let mut uses = Uses::on(communicator.stream());
                if let Some(tracked) = communicator.tracked() {
                    uses.tracked(tracked);
                }
                communicator.groups.fetch_add(1, Ordering::AcqRel);
                self.parts.push(Part { communicator, uses, calls: SmallVec::new() });
                self.parts.len() - 1
            }
        };
        Ok(&mut self.parts[index])
    }

    /// Each communicator with its calls.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&'a Communicator, &[Call])> {
        self.parts.iter().map(|part| (part.communicator, &part.calls[..]))
    }

    /// As [`end`](Self::end), without comparing the calls of the ranks.
    pub(crate) fn end_unchecked(mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            return Ok(());
        }
        let mut uses: SmallVec<[Uses<'a>; 1]> = SmallVec::new();
        let mut rest: SmallVec<[OfRank<'_>; 1]> = SmallVec::new();
        for part in parts {
            let (communicator, part_uses, calls) = part.into_parts();
            uses.push(part_uses);
            rest.push((communicator, calls, InGroup(communicator)));
        }
        let queue = |streams: &[crate::raw::RawStream]| {
            let submissions: SmallVec<[Submission<'_>; 1]> = rest
                .iter()
                .zip(streams)
                .map(|((of, calls, _), stream)| Submission { handle: &of.handle, stream: *stream, calls })
                .collect();
            // SAFETY: the operands are named to `uses`, which were borrowed until now, and are kept until their work is done. Their lengths
            // were checked when the calls were added. The streams are of the communicators' devices.
            unsafe { submit(&submissions) }
        };
        let streams: SmallVec<[crate::raw::RawStream; 1]> =
            rest.iter().map(|(of, ..)| of.stream().as_raw().cast()).collect();
        // SAFETY: the library queues its work on these streams, and uses only the named memory.
        unsafe { call_on_streams(&uses, || queue(&streams)) }
    }

    /// Adds a call.
    fn add(
        &mut self,
        communicator: &'a Communicator,
        mut call: Call,
        send: Option<DeviceSlice<'a, impl Pod>>,
        receive: Option<DeviceSliceMut<'a, impl Pod>>,
    ) -> Result<()> {
        let part = self.part(communicator)?;
        if let Some(send) = send {
            call.send = part.uses.read("the memory to send", send)?.cast();
        }
        if let Some(receive) = receive {
            call.receive = part.uses.write("the memory to receive in", receive)?.cast();
        }
        part.calls.push(call);
        Ok(())
    }

    /// As [`add`](Self::add), for a call that works in place: `send` and `receive` are byte offsets in the memory.
    fn add_in_place<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        mut call: Call,
        memory: DeviceSliceMut<'a, T>,
        (send, receive): (usize, usize),
    ) -> Result<()> {
        let part = self.part(communicator)?;
        let start = part.uses.write("the memory to work in", memory)?;
        call.send = start.cast_const().wrapping_byte_add(send).cast();
        call.receive = start.wrapping_byte_add(receive).cast();
        part.calls.push(call);
        Ok(())
    }

    /// Adds the operator of a reduction; names a factor in device memory.
    fn reduction<T: Reduce>(
        &mut self,
        communicator: &'a Communicator,
        kind: Kind,
        count: usize,
        op: Op<'a, T>,
    ) -> Result<Call> {
        let op_raw = op.to_raw(&communicator.device())?;
        if let Op::ScaledBy(factor) = op {
            self.part(communicator)?.uses.read("the factor", factor)?;
        }
        Ok(Call { op: op_raw, ..Call::new(kind, count, T::DATA_TYPE) })
    }

    /// See [`Communicator::all_reduce`].
    ///
    /// # Errors
    /// The errors of [`Communicator::all_reduce`] that are found before the call.
    pub fn all_reduce<T: Reduce>(
        &mut self,
        communicator: &'a Communicator,
        send: impl IntoSlice<'a, T>,
        receive: impl IntoSliceMut<'a, T>,
        op: Op<'a, T>,
    ) -> Result<()> {
        let (send, receive) = (send.into(), receive.into());
        fits("the number of elements to receive", receive.len(), Some(send.len()), "as many as are sent")?;
        apart(&send, &receive)?;
        let call = self.reduction(communicator, Kind::AllReduce, send.len(), op)?;
        self.add(communicator, call, Some(send), Some(receive))
    }

    /// See [`Communicator::all_reduce_in_place`].
    ///
    /// # Errors
    /// The errors of [`Communicator::all_reduce_in_place`] that are found before the call.
    pub fn all_reduce_in_place<T: Reduce>(
        &mut self,
        communicator: &'a Communicator,
        memory: impl IntoSliceMut<'a, T>,
        op: Op<'a, T>,
    ) -> Result<()> {
        let memory = memory.into();
        let call = self.reduction(communicator, Kind::AllReduce, memory.len(), op)?;
        self.add_in_place(communicator, call, memory, (0, 0))
    }

    /// See [`Communicator::reduce`].
    ///
    /// # Errors
    /// The errors of [`Communicator::reduce`] that are found before the call.
    pub fn reduce<T: Reduce>(
        &mut self,
        communicator: &'a Communicator,
        send: impl IntoSlice<'a, T>,
        receive: Option<DeviceSliceMut<'a, T>>,
        op: Op<'a, T>,
        root: usize,
    ) -> Result<()> {
        let send = send.into();
        check_peer("the root", root, communicator.size())?;
        let receive = of_root("the memory to receive in", receive, root, communicator.rank())?;
        if let Some(receive) = &receive {
            fits("the number of elements to receive", receive.len(), Some(send.len()), "as many as are sent")?;
            apart(&send, receive)?;
        }
        let call = self.reduction(communicator, Kind::Reduce, send.len(), op)?;
        self.add(communicator, Call { peer: Some(root), ..call }, Some(send), receive)
    }

    /// See [`Communicator::reduce_in_place`].
    ///
    /// # Errors
    /// The errors of [`Communicator::reduce_in_place`] that are found before the call.
    pub fn reduce_in_place<T: Reduce>(
        &mut self,
        communicator: &'a Communicator,
        memory: impl IntoSliceMut<'a, T>,
        op: Op<'a, T>,
        root: usize,
    ) -> Result<()> {
        let memory = memory.into();
        check_peer("the root", root, communicator.size())?;
        let call = self.reduction(communicator, Kind::Reduce, memory.len(), op)?;
        self.add_in_place(communicator, Call { peer: Some(root), ..call }, memory, (0, 0))
    }

    /// See [`Communicator::broadcast`].
    ///
    /// # Errors
    /// The errors of [`Communicator::broadcast`] that are found before the call.
    pub fn broadcast<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        memory: impl IntoSliceMut<'a, T>,
        root: usize,
    ) -> Result<()> {
        let memory = memory.into();
        check_peer("the root", root, communicator.size())?;
        let call = Call { peer: Some(root), ..moving::<T>(Kind::Broadcast, memory.len()) };
        self.add_in_place(communicator, call, memory, (0, 0))
    }

    /// See [`Communicator::broadcast_to`].
    ///
    /// # Errors
    /// The errors of [`Communicator::broadcast_to`] that are found before the call.
    pub fn broadcast_to<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        send: Option<DeviceSlice<'a, T>>,
        receive: impl IntoSliceMut<'a, T>,
        root: usize,
    ) -> Result<()> {
        let receive = receive.into();
        check_peer("the root", root, communicator.size())?;
        let send = of_root("the memory to send", send, root, communicator.rank())?;
        if let Some(send) = &send {
            fits("the number of elements to send", send.len(), Some(receive.len()), "as many as are received")?;
            apart(send, &receive)?;
        }
        let call = Call { peer: Some(root), ..moving::<T>(Kind::Broadcast, receive.len()) };
        self.add(communicator, call, send, Some(receive))
    }

    /// See [`Communicator::all_gather`].
    ///
    /// # Errors
    /// The errors of [`Communicator::all_gather`] that are found before the call.
    pub fn all_gather<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        send: impl IntoSlice<'a, T>,
        receive: impl IntoSliceMut<'a, T>,
    ) -> Result<()> {
        let (send, receive) = (send.into(), receive.into());
        let needed = send.len().checked_mul(communicator.size());
        fits("the number of elements to receive", receive.len(), needed, "those of all ranks")?;
        apart(&send, &receive)?;
        self.add(communicator, moving::<T>(Kind::AllGather, send.len()), Some(send), Some(receive))
    }

    /// See [`Communicator::all_gather_in_place`].
    ///
    /// # Errors
    /// The errors of [`Communicator::all_gather_in_place`] that are found before the call.
    pub fn all_gather_in_place<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        memory: impl IntoSliceMut<'a, T>,
    ) -> Result<()> {
        let memory = memory.into();
        let count = equal_parts(memory.len(), communicator.size())?;
        let own = communicator.rank() * count * size_of::<T>();
        self.add_in_place(communicator, moving::<T>(Kind::AllGather, count), memory, (own, 0))
    }

    /// See [`Communicator::reduce_scatter`].
    ///
    /// # Errors
    /// The errors of [`Communicator::reduce_scatter`] that are found before the call.
    pub fn reduce_scatter<T: Reduce>(
        &mut self,
        communicator: &'a Communicator,
        send: impl IntoSlice<'a, T>,
        receive: impl IntoSliceMut<'a, T>,
        op: Op<'a, T>,
    ) -> Result<()> {
        let (send, receive) = (send.into(), receive.into());
        let needed = receive.len().checked_mul(communicator.size());
        fits("the number of elements to send", send.len(), needed, "a part for each rank")?;
        apart(&send, &receive)?;
        let call = self.reduction(communicator, Kind::ReduceScatter, receive.len(), op)?;
        self.add(communicator, call, Some(send), Some(receive))
    }

    /// See [`Communicator::reduce_scatter_in_place`].
    ///
    /// # Errors
    /// The errors of [`Communicator::reduce_scatter_in_place`] that are found before the call.
    pub fn reduce_scatter_in_place<T: Reduce>(
        &mut self,
        communicator: &'a Communicator,
        memory: impl IntoSliceMut<'a, T>,
        op: Op<'a, T>,
    ) -> Result<()> {
        let memory = memory.into();
        let count = equal_parts(memory.len(), communicator.size())?;
        let own = communicator.rank() * count * size_of::<T>();
        let call = self.reduction(communicator, Kind::ReduceScatter, count, op)?;
        self.add_in_place(communicator, call, memory, (0, own))
    }

    /// See [`Communicator::gather`].
    ///
    /// # Errors
    /// The errors of [`Communicator::gather`] that are found before the call.
    pub fn gather<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        send: impl IntoSlice<'a, T>,
        receive: Option<DeviceSliceMut<'a, T>>,
        root: usize,
    ) -> Result<()> {
        let send = send.into();
        check_peer("the root", root, communicator.size())?;
        let receive = of_root("the memory to receive in", receive, root, communicator.rank())?;
        if let Some(receive) = &receive {
            let needed = send.len().checked_mul(communicator.size());
            fits("the number of elements to receive", receive.len(), needed, "those of all ranks")?;
            apart(&send, receive)?;
        }
        let call = Call { peer: Some(root), ..moving::<T>(Kind::Gather, send.len()) };
        self.add(communicator, call, Some(send), receive)
    }

    /// See [`Communicator::scatter`].
    ///
    /// # Errors
    /// The errors of [`Communicator::scatter`] that are found before the call.
    pub fn scatter<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        send: Option<DeviceSlice<'a, T>>,
        receive: impl IntoSliceMut<'a, T>,
        root: usize,
    ) -> Result<()> {
        let receive = receive.into();
        check_peer("the root", root, communicator.size())?;
        let send = of_root("the memory to send", send, root, communicator.rank())?;
        if let Some(send) = &send {
            let needed = receive.len().checked_mul(communicator.size());
            fits("the number of elements to send", send.len(), needed, "a part for each rank")?;
            apart(send, &receive)?;
        }
        let call = Call { peer: Some(root), ..moving::<T>(Kind::Scatter, receive.len()) };
        self.add(communicator, call, send, Some(receive))
    }

    /// See [`Communicator::all_to_all`].
    ///
    /// # Errors
    /// The errors of [`Communicator::all_to_all`] that are found before the call.
    pub fn all_to_all<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        send: impl IntoSlice<'a, T>,
        receive: impl IntoSliceMut<'a, T>,
    ) -> Result<()> {
        let (send, receive) = (send.into(), receive.into());
        fits("the number of elements to receive", receive.len(), Some(send.len()), "as many as are sent")?;
        let count = equal_parts(send.len(), communicator.size())?;
        apart(&send, &receive)?;
        self.add(communicator, moving::<T>(Kind::AllToAll, count), Some(send), Some(receive))
    }

    /// See [`Communicator::all_to_all_v`].
    ///
    /// # Errors
    /// The errors of [`Communicator::all_to_all_v`] that are found before the call.
    pub fn all_to_all_v<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        send: impl IntoSlice<'a, T>,
        send_counts: &[usize],
        receive: impl IntoSliceMut<'a, T>,
        receive_counts: &[usize],
    ) -> Result<()> {
        let (send, receive) = (send.into(), receive.into());
        apart(&send, &receive)?;
        let (data_type, each) = DataType::to_move::<T>();
        let offsets = |what, counts: &[usize], len: usize| {
            fits(what, counts.len(), Some(communicator.size()), "one for each rank")?;
            let mut offsets = Vec::with_capacity(counts.len());
            let mut end = 0_usize;
            for count in counts {
                offsets.push(end * each);
                end = end.saturating_add(*count);
                if end > len {
                    break;
                }
            }
            fits(what, end, Some(len), "in sum, the number of elements")?;
            Ok::<_, Error>((counts.iter().map(|count| count * each).collect::<Vec<_>>(), offsets))
        };
        let (send_counts, send_offsets) = offsets("the counts to send", send_counts, send.len())?;
        let (receive_counts, receive_offsets) = offsets("the counts to receive", receive_counts, receive.len())?;
        let parts = Parts { send_counts, send_offsets, receive_counts, receive_offsets };
        let call = Call { parts: Some(Box::new(parts)), ..Call::new(Kind::AllToAllV, 0, data_type) };
        self.add(communicator, call, Some(send), Some(receive))
    }

    /// See [`Communicator::send`].
    ///
    /// # Errors
    /// The errors of [`Communicator::send`] that are found before the call.
    pub fn send<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        send: impl IntoSlice<'a, T>,
        peer: usize,
    ) -> Result<()> {
        let send = send.into();
        check_peer("the rank to send to", peer, communicator.size())?;
        let call = Call { peer: Some(peer), ..moving::<T>(Kind::Send, send.len()) };
        self.add(communicator, call, Some(send), None::<DeviceSliceMut<'a, T>>)
    }

    /// See [`Communicator::receive`].
    ///
    /// # Errors
    /// The errors of [`Communicator::receive`] that are found before the call.
    pub fn receive<T: Pod>(
        &mut self,
        communicator: &'a Communicator,
        receive: impl IntoSliceMut<'a, T>,
        peer: usize,
    ) -> Result<()> {
        let receive = receive.into();
        check_peer("the rank to receive from", peer, communicator.size())?;
        let call = Call { peer: Some(peer), ..moving::<T>(Kind::Receive, receive.len()) };
        self.add(communicator, call, None::<DeviceSlice<'a, T>>, Some(receive))
    }
}

/// Returns the memory that the root must have, and ignores that of other ranks.
fn of_root<M>(what: &'static str, memory: Option<M>, root: usize, rank: usize) -> Result<Option<M>> {
    match memory {
        Some(memory) if rank == root => Ok(Some(memory)),
        None if rank == root => Err(Error::invalid(what, "None on the root", "some memory on the root")),
        _ => Ok(None),
    }
}

fn equal_parts(len: usize, size: usize) -> Result<usize> {
    if len % size == 0 {
        return Ok(len / size);
    }
    Err(Error::invalid("the number of elements", len.to_string(), format!("a multiple of {size}, the number of ranks")))
}

/// The calls of one rank while they are made.
type OfRank<'a> = (&'a Communicator, SmallVec<[Call; 1]>, InGroup<'a>);

/// Blocks a communicator's management calls until the calls of the group are made.
struct InGroup<'a>(&'a Communicator);

impl Drop for InGroup<'_> {
    fn drop(&mut self) {
        self.0.groups.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<'a> Part<'a> {
    fn into_parts(mut self) -> (&'a Communicator, Uses<'a>, SmallVec<[Call; 1]>) {
        let uses = std::mem::replace(&mut self.uses, Uses::on(self.communicator.stream()));
        let calls = std::mem::take(&mut self.calls);
        // `InGroup` decrements it.
        self.communicator.groups.fetch_add(1, Ordering::AcqRel);
        (self.communicator, uses, calls)
    }
}

impl std::fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let calls: usize = self.parts.iter().map(|part| part.calls.len()).sum();
        f.debug_struct("Group").field("ranks", &self.parts.len()).field("calls", &calls).finish()
    }
}
