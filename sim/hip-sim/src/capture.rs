//! Stream capture: the work of a captured stream becomes graph nodes and does not run.
//!
//! The rules are those of HIP 7.2, checked against a table of its calls (`hsa-sim/tests/capture`). A refused call
//! invalidates the streams on which captures began, or the one stream that the call was about. Such a stream stays
//! invalid after its capture has ended with an error, until it is captured again.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use hip_sys::rocm_7_2::*;

use crate::graph::{Graphs, Operation};
use crate::queue::{QueueKey, this_thread};
use crate::status::{Outcome, Refusal, ensure};
use crate::target::Target;

thread_local! {
    /// The calling thread's capture mode: which captures make its calls fail (`hipThreadExchangeStreamCaptureMode`).
    static MODE: Cell<hipStreamCaptureMode> = const { Cell::new(hipStreamCaptureModeGlobal) };
}

/// Sets the calling thread's mode and returns the one before.
pub(crate) fn exchange_mode(mode: hipStreamCaptureMode) -> hipStreamCaptureMode {
    // During thread exit the variable is gone: the thread has the initial mode.
    MODE.try_with(|cell| cell.replace(mode)).unwrap_or(hipStreamCaptureModeGlobal)
}

/// The position in a capture that an event recorded there refers to.
#[derive(Clone)]
pub(crate) struct Mark {
    capture: u64,
    /// The stream that it was recorded on.
    queue: QueueKey,
    nodes: Vec<usize>,
}

/// A stream's capture as the program sees it.
pub(crate) struct View {
    pub(crate) id: u64,
    pub(crate) graph: usize,
    /// The handles of the nodes that the stream's next node depends on. Valid until the stream is used again.
    pub(crate) last: *const usize,
    pub(crate) count: usize,
    pub(crate) is_invalid: bool,
}

/// A stream that takes part in a capture.
struct Member {
    queue: QueueKey,
    is_blocking: bool,
    /// The stream's next use is refused.
    is_invalid: bool,
    /// The nodes that the stream's next node depends on.
    last: Vec<usize>,
}

struct Capture {
    id: u64,
    mode: hipStreamCaptureMode,
    thread: ThreadId,
    /// `None` after the capture was ended with unjoined streams.
    graph: Option<usize>,
    /// The graph existed before the capture and belongs to the program.
    is_given: bool,
    /// The capture has been ended with an error.
    is_over: bool,
    /// The stream that the capture began on comes first.
    members: Vec<Member>,
    /// The last nodes of streams that have been destroyed.
    loose: Vec<usize>,
}

impl Capture {
    fn member(&mut self, queue: QueueKey) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.queue == queue)
    }

    /// Invalidates the stream that the capture began on. HIP does not check the others.
    fn spoil(&mut self) {
        self.members[0].is_invalid = true;
    }

    /// Returns whether the capture affects the calling thread, whatever the thread's mode.
    fn concerns_this_thread(&self) -> bool {
        self.mode == hipStreamCaptureModeGlobal
            || (self.mode == hipStreamCaptureModeThreadLocal && self.thread == this_thread())
    }

    /// Returns whether the capture refuses the calling thread's potentially unsafe calls, which might wait for the
    /// captured work.
    fn refuses(&self, thread_mode: hipStreamCaptureMode) -> bool {
        if thread_mode == hipStreamCaptureModeRelaxed || self.mode == hipStreamCaptureModeRelaxed {
            return false;
        }
        let is_own = self.thread == this_thread();
        is_own || (self.mode == hipStreamCaptureModeGlobal && thread_mode == hipStreamCaptureModeGlobal)
    }
}

#[derive(Default)]
struct State {
    serial: u64,
    captures: Vec<Capture>,
}

impl State {
    fn of(&mut self, queue: QueueKey) -> Option<&mut Capture> {
        self.captures.iter_mut().find(|capture| capture.members.iter().any(|member| member.queue == queue))
    }
}

/// All captures of the process.
#[derive(Default)]
pub(crate) struct Captures {
    /// The number of captures. Usually 0, and then the list is not looked at.
    active: AtomicUsize,
    state: Mutex<State>,
}

impl Captures {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn none(&self) -> bool {
        self.active.load(Ordering::Acquire) == 0
    }

    /// Returns whether the stream is being captured.
    pub(crate) fn is_captured(&self, queue: QueueKey) -> bool {
        !self.none() && self.lock().of(queue).is_some()
    }

    /// Returns the state of a stream's capture for the program.
    pub(crate) fn view(&self, queue: QueueKey) -> Option<View> {
        if self.none() {
            return None;
        }
        let mut state = self.lock();
        let capture = state.of(queue)?;
        let (id, graph) = (capture.id, capture.graph.unwrap_or(0));
        let Member { last, is_invalid, .. } = capture.member(queue)?;
        Some(View { id, graph, last: last.as_ptr(), count: last.len(), is_invalid: *is_invalid })
    }

    /// Begins a capture on a stream, into a new graph or a graph of the program. Its first nodes depend on the given
    /// nodes.
    pub(crate) fn begin(
        &self,
        graphs: &Graphs,
        target: &Target,
        mode: hipStreamCaptureMode,
        into: Option<(usize, Vec<usize>)>,
    ) -> Outcome {
        let mut state = self.lock();
        let mut spoilt = None;
        if let Some(old) = state.of(target.queue) {
            let is_origin = old.members[0].queue == target.queue;
            let is_invalid = old.member(target.queue).is_some_and(|member| member.is_invalid);
            ensure(is_origin && is_invalid, hipErrorIllegalState)?;
            spoilt = Some(old.id);
        }
        let spoilt = spoilt.and_then(|id| self.remove(&mut state, id));
        let is_given = into.is_some();
        let (graph, last) = match into {
            Some(into) => into,
            None => (graphs.create().ok_or(hipErrorOutOfMemory)?, Vec::new()),
        };
        state.serial += 1;
        let (queue, is_blocking) = (target.queue, target.is_blocking);
        let member = Member { queue, is_blocking, is_invalid: false, last };
        let (id, thread) = (state.serial, this_thread());
        let (graph, members) = (Some(graph), vec![member]);
        state.captures.push(Capture { id, mode, thread, graph, is_given, is_over: false, members, loose: Vec::new() });
        self.active.fetch_add(1, Ordering::AcqRel);
        drop(state);
        // The streams that had joined are released. HIP releases them when the new capture ends.
        discard(graphs, spoilt);
        Ok(())
    }

    /// Ends the capture that began on a stream, and returns the graph.
    pub(crate) fn end(&self, graphs: &Graphs, queue: QueueKey) -> Result<usize, Refusal> {
        let mut state = self.lock();
        let capture = state.of(queue).ok_or(hipErrorIllegalState)?;
        ensure(capture.members[0].queue == queue, hipErrorStreamCaptureUnmatched)?;
        let by_thread =
            capture.mode == hipStreamCaptureModeRelaxed || (capture.thread == this_thread() && !capture.is_over);
        ensure(by_thread, hipErrorStreamCaptureWrongThread)?;
        capture.is_over = true;
        ensure(!capture.members[0].is_invalid, hipErrorStreamCaptureInvalidated)?;
        if !is_joined(graphs, capture) {
            let graph = capture.graph.take().filter(|_| !capture.is_given);
            drop(state);
            if let Some(graph) = graph {
                graphs.destroy(graph);
            }
            return Err(hipErrorStreamCaptureUnjoined.into());
        }
        let id = capture.id;
        let capture = self.remove(&mut state, id).ok_or(hipErrorIllegalState)?;
        capture.graph.ok_or_else(|| hipErrorIllegalState.into())
    }

    fn remove(&self, state: &mut State, id: u64) -> Option<Capture> {
        let at = state.captures.iter().position(|capture| capture.id == id)?;
        self.active.fetch_sub(1, Ordering::AcqRel);
        Some(state.captures.swap_remove(at))
    }

    /// Called when a stream is destroyed. Discards a capture that began on it; its nodes in another capture stay there.
    pub(crate) fn abandon(&self, graphs: &Graphs, queue: QueueKey) {
        if self.none() {
            return;
        }
        let mut state = self.lock();
        let Some(capture) = state.of(queue) else { return };
        if capture.members[0].queue != queue {
            let gone = capture.members.iter().position(|member| member.queue == queue);
            if let Some(gone) = gone.map(|at| capture.members.remove(at)) {
                join(&mut capture.loose, &gone.last);
            }
            return;
        }
        let id = capture.id;
        let capture = self.remove(&mut state, id);
        drop(state);
        discard(graphs, capture);
    }

    /// Adds a node to the graph of a stream's capture, after the stream's previous nodes.
    pub(crate) fn add(&self, graphs: &Graphs, queue: QueueKey, operation: Operation) -> Outcome {
        let mut state = self.lock();
        let capture = state.of(queue).ok_or(hipErrorIllegalState)?;
        let graph = capture.graph;
        let member = capture.member(queue).ok_or(hipErrorIllegalState)?;
        ensure(!member.is_invalid, hipErrorStreamCaptureInvalidated)?;
        let handle = graph.ok_or(hipErrorInvalidValue)?;
        let graph = graphs.graph(handle).ok_or(hipErrorStreamCaptureInvalidated)?;
        let node = graph.add(graphs, handle, &member.last, operation).ok_or(hipErrorOutOfMemory)?;
        member.last = vec![node];
        Ok(())
    }

    /// Changes the dependencies of a stream's next node: to `nodes` with `only`, else adds them.
    pub(crate) fn depend(&self, queue: QueueKey, nodes: &[usize], only: bool) -> Outcome {
        let mut state = self.lock();
        let capture = state.of(queue).ok_or(hipErrorIllegalState)?;
        let member = capture.member(queue).ok_or(hipErrorIllegalState)?;
        ensure(!member.is_invalid, hipErrorStreamCaptureInvalidated)?;
        if only {
            member.last.clear();
        }
        join(&mut member.last, nodes);
        Ok(())
    }

    /// The mark of an event that is recorded on a stream; `None` if the stream is not captured.
    pub(crate) fn mark(&self, queue: QueueKey) -> Result<Option<Mark>, Refusal> {
        if self.none() {
            return Ok(None);
        }
        let mut state = self.lock();
        let Some(capture) = state.of(queue) else { return Ok(None) };
        let id = capture.id;
        let Some(member) = capture.member(queue) else { return Ok(None) };
        ensure(!member.is_invalid, hipErrorStreamCaptureInvalidated)?;
        Ok(Some(Mark { capture: id, queue, nodes: member.last.clone() }))
    }

    /// Makes a stream wait for an event's mark, and so join the capture. False if that capture is over.
    pub(crate) fn follow(&self, target: &Target, mark: &Mark) -> Result<bool, Refusal> {
        let mut state = self.lock();
        if let Some(other) = state.of(target.queue).filter(|capture| capture.id != mark.capture) {
            other.spoil();
            if let Some(capture) = state.captures.iter_mut().find(|capture| capture.id == mark.capture) {
                capture.spoil();
                return Err(hipErrorStreamCaptureMerge.into());
            }
            return Err(hipErrorStreamCaptureIsolation.into());
        }
        let Some(capture) = state.captures.iter_mut().find(|capture| capture.id == mark.capture) else {
            return Ok(false);
        };
        ensure(!capture.members[0].is_invalid, hipErrorStreamCaptureInvalidated)?;
        if target.is_null {
            capture.spoil();
            return Err(hipErrorStreamCaptureImplicit.into());
        }
        match capture.member(target.queue) {
            Some(member) => join(&mut member.last, &mark.nodes),
            None => {
                let (queue, is_blocking) = (target.queue, target.is_blocking);
                capture.members.push(Member { queue, is_blocking, is_invalid: false, last: mark.nodes.clone() });
            }
        }
        Ok(true)
    }

    /// Invalidates the active captures that `wanted` selects, and refuses with `status` if there are any.
    fn refuse(&self, status: hipError_t, wanted: impl Fn(&Capture) -> bool) -> Outcome {
        if self.none() {
            return Ok(());
        }
        let mut any = false;
        for capture in self.lock().captures.iter_mut().filter(|capture| !capture.is_over && wanted(capture)) {
            capture.spoil();
            any = true;
        }
        ensure(!any, status)
    }

    /// Refuses with `status` if `wanted` selects an active capture. The capture stays valid.
    fn deny(&self, status: hipError_t, wanted: impl Fn(&Capture) -> bool) -> Outcome {
        let denied = || self.lock().captures.iter().any(|capture| !capture.is_over && wanted(capture));
        ensure(self.none() || !denied(), status)
    }

    /// Refuses an operation that a captured stream does not support.
    pub(crate) fn refuse_use(&self, queue: QueueKey) -> Outcome {
        if self.none() {
            return Ok(());
        }
        match self.lock().of(queue).and_then(|capture| capture.member(queue)) {
            Some(member) => {
                member.is_invalid = true;
                Err(hipErrorStreamCaptureUnsupported.into())
            }
            None => Ok(()),
        }
    }

    /// Refuses calls that might wait for captured work, which never runs.
    pub(crate) fn refuse_unsafe(&self) -> Outcome {
        if self.none() {
            return Ok(());
        }
        let mode = MODE.try_with(Cell::get).unwrap_or(hipStreamCaptureModeGlobal);
        self.refuse(hipErrorStreamCaptureUnsupported, |capture| capture.refuses(mode))
    }

    /// Refuses calls that wait for the legacy default stream. HIP refuses them during any capture.
    pub(crate) fn refuse_legacy(&self) -> Outcome {
        self.refuse(hipErrorStreamCaptureImplicit, |_| true)
    }

    /// Refuses calls that wait for all streams.
    pub(crate) fn refuse_all(&self) -> Outcome {
        self.refuse(hipErrorStreamCaptureUnsupported, |_| true)
    }

    /// Refuses calls that HIP refuses whatever the calling thread's mode. The capture stays valid.
    pub(crate) fn deny_concerned(&self) -> Outcome {
        self.deny(hipErrorStreamCaptureUnsupported, Capture::concerns_this_thread)
    }

    /// Refuses calls that HIP refuses while a blocking stream is captured. The capture stays valid.
    pub(crate) fn deny_blocking(&self, status: hipError_t) -> Outcome {
        self.deny(status, |capture| capture.members[0].is_blocking)
    }

    /// Refuses queries of an event that was recorded in a capture that is still active.
    pub(crate) fn refuse_mark(&self, mark: Option<&Mark>) -> Outcome {
        let Some(mark) = mark else { return Ok(()) };
        if self.none() {
            return Ok(());
        }
        let mut state = self.lock();
        let Some(capture) = state.captures.iter_mut().find(|capture| capture.id == mark.capture) else { return Ok(()) };
        if let Some(member) = capture.member(mark.queue) {
            member.is_invalid = true;
        }
        Err(hipErrorCapturedEvent.into())
    }
}

/// Destroys the graph of a failed capture, unless the program owns it.
fn discard(graphs: &Graphs, capture: Option<Capture>) {
    if let Some(graph) = capture.filter(|capture| !capture.is_given).and_then(|capture| capture.graph) {
        graphs.destroy(graph);
    }
}

/// Adds the nodes that `to` lacks.
fn join(to: &mut Vec<usize>, nodes: &[usize]) {
    for node in nodes {
        if !to.contains(node) {
            to.push(*node);
        }
    }
}

/// Returns whether the capture's first stream waits for all work of the other streams.
fn is_joined(graphs: &Graphs, capture: &Capture) -> bool {
    let Some(graph) = capture.graph.and_then(|graph| graphs.graph(graph)) else { return false };
    let body = graph.body().clone();
    let mut reached = capture.members[0].last.clone();
    let mut at = 0;
    while let Some(node) = reached.get(at).copied() {
        let before: Vec<usize> = body.before(node).collect();
        join(&mut reached, &before);
        at += 1;
    }
    let ends = capture.members[1..].iter().flat_map(|member| &member.last).chain(&capture.loose);
    ends.into_iter().all(|node| reached.contains(node))
}
