//! One call of a collective, and groups of calls.

use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use crate::element::{DataType, RawOp};
use crate::error::{Error, Result, check};
use crate::handle::{Handle, Last, Live};
use crate::raw::{self, RawStream, ncclComm_t, ncclRedOp_t, ncclResult_t};
use crate::summary::{Kind, Parts, Summary};

/// A call, ready to be made.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) send: *const c_void,
    pub(crate) receive: *mut c_void,
    /// Number of elements of `data_type`, as the C function counts.
    pub(crate) count: usize,
    pub(crate) data_type: DataType,
    pub(crate) op: RawOp,
    /// The root, or the rank that is sent to or received from.
    pub(crate) peer: Option<usize>,
    /// Counts and offsets for each rank, to send and to receive, in elements of `data_type`.
    pub(crate) parts: Option<Box<Parts>>,
}

/// The function that failed, and how.
pub(crate) type Failed = (ncclResult_t, &'static str);

impl Call {
    /// Creates a call without operands.
    pub(crate) fn new(kind: Kind, count: usize, data_type: DataType) -> Self {
        Self {
            kind,
            send: std::ptr::null(),
            receive: std::ptr::null_mut(),
            count,
            data_type,
            op: RawOp::SUM,
            peer: None,
            parts: None,
        }
    }

    pub(crate) fn asked(&self) -> String {
        self.summary().asked(self.parts.as_deref())
    }

    pub(crate) fn summary(&self) -> Summary {
        let Self { kind, count, data_type, op, peer, .. } = *self;
        Summary { kind, count, data_type, op: op.name(), peer }
    }

    /// Returns the description for later errors. Text is only formatted for a call with parts.
    fn last(&self) -> Last {
        let summary = self.summary();
        match &self.parts {
            Some(parts) => Last::Other(summary.context(Some(parts))),
            None => Last::Call(summary),
        }
    }

    /// Returns whether there is nothing to do, on any rank.
    fn is_nothing(&self) -> bool {
        match &self.parts {
            Some(parts) => parts.send_counts.iter().chain(&parts.receive_counts).all(|count| *count == 0),
            None => self.count == 0,
        }
    }

    /// Returns whether the library has a single function for the call, and the call is not empty.
    pub(crate) fn is_one(&self) -> bool {
        !self.is_nothing() && has(self.kind)
    }

    /// Makes the call, or several that replace it, which must be in a group.
    ///
    /// # Safety
    /// The communicator must be alive; the pointers must be valid for the call until its work on the stream is done.
    pub(crate) unsafe fn make(
        &self,
        comm: ncclComm_t,
        rank: usize,
        size: usize,
        stream: RawStream,
    ) -> Result<(), Failed> {
        let (op, made) = match self.op {
            RawOp::Plain(op) => (op, false),
            RawOp::Host(mut bytes) => {
                let factor = (&raw mut bytes).cast();
                // SAFETY: the communicator is the caller's; the call reads the factor immediately.
                (unsafe { self.scaled(factor, raw::ncclScalarHostImmediate, comm)? }, true)
            }
            RawOp::Device(factor) => {
                // SAFETY: the communicator is the caller's, and so is the memory, until the work is done.
                (unsafe { self.scaled(factor.cast_mut(), raw::ncclScalarDevice, comm)? }, true)
            }
        };
        // SAFETY: as the caller ensures.
        let result = unsafe { self.make_with(op, comm, rank, size, stream) };
        if made {
            // SAFETY: created above for this communicator. No later call uses it.
            let status = unsafe { raw::ncclRedOpDestroy(op, comm) };
            result.and(well(status, "ncclRedOpDestroy"))
        } else {
            result
        }
    }

    /// # Safety
    /// The requirements of [`make`](Self::make); the factor must be valid.
    unsafe fn scaled(
        &self,
        factor: *mut c_void,
        residence: raw::ncclScalarResidence_t,
        comm: ncclComm_t,
    ) -> Result<ncclRedOp_t, Failed> {
        let mut op = ncclRedOp_t(0);
        // SAFETY: as the caller ensures; `op` is valid for the write.
        let status =
            unsafe { raw::ncclRedOpCreatePreMulSum(&mut op, factor, self.data_type.as_raw(), residence, comm) };
        well(status, "ncclRedOpCreatePreMulSum").map(|()| op)
    }

    /// # Safety
    /// The requirements of [`make`](Self::make).
    unsafe fn make_with(
        &self,
        op: ncclRedOp_t,
        comm: ncclComm_t,
        rank: usize,
        size: usize,
        stream: RawStream,
    ) -> Result<(), Failed> {
        let Self { kind, send, receive, count, data_type, .. } = *self;
        let (ty, peer) = (data_type.as_raw(), self.peer.unwrap_or(0) as c_int);
        if !has(kind) {
            // SAFETY: as the caller ensures.
            return unsafe { self.point_to_point(comm, rank, size, stream) };
        }
        // SAFETY: as the caller ensures.
        let status = unsafe {
            match kind {
                Kind::AllReduce => raw::ncclAllReduce(send, receive, count, ty, op, comm, stream),
                Kind::Reduce => raw::ncclReduce(send, receive, count, ty, op, peer, comm, stream),
                Kind::Broadcast => raw::ncclBroadcast(send, receive, count, ty, peer, comm, stream),
                Kind::AllGather => raw::ncclAllGather(send, receive, count, ty, comm, stream),
                Kind::ReduceScatter => raw::ncclReduceScatter(send, receive, count, ty, op, comm, stream),
                Kind::Gather => raw::ncclGather(send, receive, count, ty, peer, comm, stream),
                Kind::Scatter => raw::ncclScatter(send, receive, count, ty, peer, comm, stream),
                Kind::AllToAll => raw::ncclAllToAll(send, receive, count, ty, comm, stream),
                Kind::AllToAllV => {
                    let none = Parts::default();
                    let Parts { send_counts, send_offsets, receive_counts, receive_offsets } =
                        self.parts.as_deref().unwrap_or(&none);
                    raw::ncclAllToAllv(
                        send,
                        send_counts.as_ptr(),
                        send_offsets.as_ptr(),
                        receive,
                        receive_counts.as_ptr(),
                        receive_offsets.as_ptr(),
                        ty,
                        comm,
                        stream,
                    )
                }
                Kind::Send => raw::ncclSend(send, count, ty, peer, comm, stream),
                Kind::Receive => raw::ncclRecv(receive, count, ty, peer, comm, stream),
            }
        };
        well(status, kind.names().1)
    }

    /// Replacement for a function that the library lacks: sends and receives, in a group.
    ///
    /// # Safety
    /// The requirements of [`make`](Self::make).
    unsafe fn point_to_point(
        &self,
        comm: ncclComm_t,
        rank: usize,
        size: usize,
        stream: RawStream,
    ) -> Result<(), Failed> {
        let (ty, width) = (self.data_type.as_raw(), self.data_type.size());
        let is_root = self.peer == Some(rank);
        let each = |of: usize| (of * self.count, self.count);
        for peer in 0..size {
            let (to, from) = match self.kind {
                Kind::AllToAll => (Some(each(peer)), Some(each(peer))),
                Kind::Gather => ((self.peer == Some(peer)).then_some((0, self.count)), is_root.then(|| each(peer))),
                Kind::Scatter => (is_root.then(|| each(peer)), (self.peer == Some(peer)).then_some((0, self.count))),
                Kind::AllToAllV => match &self.parts {
                    Some(p) => (
                        Some((p.send_offsets[peer], p.send_counts[peer])),
                        Some((p.receive_offsets[peer], p.receive_counts[peer])),
                    ),
                    None => (None, None),
                },
                _ => return Err((raw::ncclInvalidUsage, self.kind.names().1)),
            };
            if let Some((at, count)) = to.filter(|(_, count)| *count != 0) {
                let from = self.send.wrapping_byte_add(at * width);
                // SAFETY: a part of the caller's memory.
                let status = unsafe { raw::ncclSend(from, count, ty, peer as c_int, comm, stream) };
                well(status, "ncclSend")?;
            }
            if let Some((at, count)) = from.filter(|(_, count)| *count != 0) {
                let to = self.receive.wrapping_byte_add(at * width);
                // SAFETY: a part of the caller's memory.
                let status = unsafe { raw::ncclRecv(to, count, ty, peer as c_int, comm, stream) };
                well(status, "ncclRecv")?;
            }
        }
        Ok(())
    }
}

fn well(status: ncclResult_t, function: &'static str) -> Result<(), Failed> {
    if status == raw::ncclSuccess || status == raw::IN_PROGRESS { Ok(()) } else { Err((status, function)) }
}

/// Returns whether the library has its own function for a collective that can be replaced by others.
fn has(kind: Kind) -> bool {
    static FOUND: OnceLock<[bool; 4]> = OnceLock::new();
    let place = match kind {
        Kind::Gather => 0,
        Kind::Scatter => 1,
        Kind::AllToAll => 2,
        Kind::AllToAllV => 3,
        _ => return true,
    };
    let names: [&CStr; 4] = [c"ncclGather", c"ncclScatter", c"ncclAllToAll", c"ncclAllToAllv"];
    FOUND.get_or_init(|| names.map(|name| raw::BINDING.has(name)))[place]
}

/// The calls of one rank on one stream.
pub(crate) struct Submission<'a> {
    pub(crate) handle: &'a Arc<Handle>,
    pub(crate) stream: RawStream,
    pub(crate) calls: &'a [Call],
}

/// Makes calls, in a group if there are several, and waits until the library has queued their work.
///
/// # Safety
/// The pointers of the calls must be valid until their work on the streams is done; the streams must be of the
/// communicators' devices.
pub(crate) unsafe fn submit(parts: &[Submission<'_>]) -> Result<()> {
    if let [Submission { handle, stream, calls: [call] }] = parts {
        if call.is_one() {
            // SAFETY: as the caller ensures.
            return unsafe { submit_one(handle, *stream, call) };
        }
    }
    let count: usize = parts.iter().map(|part| part.calls.iter().filter(|call| !call.is_nothing()).count()).sum();
    if count == 0 {
        return parts.iter().try_for_each(|part| part.handle.live().map(drop));
    }
    // Locks in an order that all threads share.
    let mut handles: SmallVec<[&Arc<Handle>; 2]> = parts.iter().map(|part| part.handle).collect();
    handles.sort_by_key(|handle| Arc::as_ptr(handle));
    handles.dedup_by_key(|handle| Arc::as_ptr(handle));
    let blocking = handles[0].blocking;
    if handles.iter().any(|handle| handle.blocking != blocking) {
        let allowed = "all blocking, or none of them";
        return Err(Error::invalid("the communicators of a group", "some blocking and some not", allowed));
    }
    let _calls: SmallVec<[_; 2]> = handles.iter().map(|handle| handle.calls()).collect();
    let watches: SmallVec<[_; 2]> = handles.iter().map(|handle| handle.watch_call()).collect();
    for part in parts {
        if let Some(call) = part.calls.last() {
            part.handle.note(call.last());
        }
    }
    let made = {
        let live = handles.iter().map(|handle| handle.live()).collect::<Result<SmallVec<[Live<'_>; 2]>>>()?;
        let comm = |handle: &Arc<Handle>| {
            let place = handles.iter().position(|other| Arc::ptr_eq(other, handle)).unwrap_or(0);
            live[place].comm
        };
        // SAFETY: as the caller ensures; the communicators stay alive as long as `live` does.
        unsafe { make_all(parts, count, &comm) }
    };
    // Waits for each of them, even if one has failed: afterwards, no call is in progress.
    let waited = handles.iter().map(|handle| handle.wait_ready()).fold(Ok(()), Result::and);
    let late = handles.iter().zip(watches).map(|(handle, watch)| handle.end_watch(watch)).fold(Ok(()), Result::and);
    late.and(queued(made, waited))
}

/// Makes a single call for which the library has a function, the most common case. The library needs about ten
/// microseconds for it, and the call rate limits small messages, so this path is short.
///
/// # Safety
/// The requirements of [`submit`].
unsafe fn submit_one(handle: &Arc<Handle>, stream: RawStream, call: &Call) -> Result<()> {
    // If the library has finished when it returns, one lock is enough.
    let _calls = if handle.blocking { None } else { Some(handle.calls()) };
    let watch = handle.watch_call();
    let mut live = handle.live()?;
    live.note(call.last());
    // SAFETY: as the caller ensures; the communicator stays alive as long as `live` does.
    let made = unsafe { call.make(live.comm, handle.rank(), handle.size(), stream) };
    drop(live);
    if made.is_ok() && handle.blocking {
        return Ok(());
    }
    let waited = handle.wait_ready();
    handle.end_watch(watch)?;
    queued(made.or_else(|failed| error_of(failed, handle, call)), waited)
}

#[cold]
pub(crate) fn error_of((status, function): Failed, handle: &Handle, call: &Call) -> Result<()> {
    check(status, function, || format!("rank {} of {}: {}", handle.rank(), handle.size(), call.asked()))
}

/// Returns the result of calls that were made and waited for. If both failed, the error of the wait is more specific.
fn queued(made: Result<()>, waited: Result<()>) -> Result<()> {
    match made {
        Err(error @ (Error::NoSymbol { .. } | Error::NoLibrary { .. })) => Err(error),
        made => waited.and(made),
    }
}

/// # Safety
/// The requirements of [`submit`]; the communicator must be the handle's, and alive.
unsafe fn make(comm: ncclComm_t, handle: &Handle, stream: RawStream, call: &Call) -> Result<()> {
    // SAFETY: as the caller ensures.
    unsafe { call.make(comm, handle.rank(), handle.size(), stream) }.or_else(|failed| error_of(failed, handle, call))
}

/// Makes calls in a group.
///
/// # Safety
/// The requirements of [`submit`]; the communicators must be alive.
unsafe fn make_all(parts: &[Submission<'_>], count: usize, comm: &dyn Fn(&Arc<Handle>) -> ncclComm_t) -> Result<()> {
    let calls = parts.iter().flat_map(|part| part.calls.iter().map(move |call| (part, call)));
    let calls = calls.filter(|(_, call)| !call.is_nothing());
    // SAFETY: no pointers.
    check(unsafe { raw::ncclGroupStart() }, "ncclGroupStart", String::new)?;
    let mut made = Ok(());
    for (part, call) in calls {
        // SAFETY: as the caller ensures.
        made = unsafe { make(comm(part.handle), part.handle, part.stream, call) };
        if made.is_err() {
            break;
        }
    }
    // Also after an error, so that no group stays open. The library then drops its calls.
    // SAFETY: no pointers.
    let ended = unsafe { raw::ncclGroupEnd() };
    made.and_then(|()| check(ended, "ncclGroupEnd", || format!("{count} calls")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_say_what_was_asked() {
        let call = Call { op: RawOp::Plain(raw::ncclMax), ..Call::new(Kind::AllReduce, 7, DataType::F16) };
        assert_eq!(call.asked(), "7 F16, maximum");
        let call = Call { peer: Some(3), ..Call::new(Kind::Send, 5, DataType::U8) };
        assert_eq!(call.summary().context(None).to_string(), "send on rank 0 of 0, with rank 3 (5 U8)");
        assert!(Call::new(Kind::Broadcast, 0, DataType::F32).is_nothing());
    }

    #[test]
    fn every_collective_has_names_of_its_own() {
        let mut names: Vec<_> = Kind::ALL.iter().map(|kind| kind.names().1).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Kind::ALL.len());
    }
}
