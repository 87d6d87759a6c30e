//! Streams whose work goes into a graph in place of running.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use hip_sys::*;

use crate::graph::{self, Graph, Operation};
use crate::queue::{QueueKey, this_thread};
use crate::runtime::{Runtime, Target};
use crate::status::{Outcome, Refusal, ensure};

thread_local! {
    /// Which captures refuse what this thread does: `hipThreadExchangeStreamCaptureMode`.
    static MODE: Cell<hipStreamCaptureMode> = const { Cell::new(hipStreamCaptureModeGlobal) };
}

/// Sets the calling thread's mode and returns the one before.
pub(crate) fn exchange_mode(mode: hipStreamCaptureMode) -> hipStreamCaptureMode {
    // A thread that is ending keeps the mode that threads begin with.
    MODE.try_with(|cell| cell.replace(mode)).unwrap_or(hipStreamCaptureModeGlobal)
}

/// What an event that was recorded in a capture stands for.
#[derive(Clone)]
pub(crate) struct Mark {
    capture: u64,
    nodes: Vec<usize>,
}

/// What a stream's capture looks like to the program.
pub(crate) struct View {
    pub(crate) id: u64,
    pub(crate) graph: usize,
    /// Where the handles are of the nodes that the stream's next one comes behind, until the stream is used again.
    pub(crate) last: *const usize,
    pub(crate) count: usize,
    pub(crate) is_invalid: bool,
}

/// A stream that takes part.
struct Member {
    queue: QueueKey,
    is_blocking: bool,
    /// The nodes that its next one comes behind.
    last: Vec<usize>,
}

struct Capture {
    id: u64,
    mode: hipStreamCaptureMode,
    thread: ThreadId,
    graph: usize,
    /// The graph was the program's before.
    is_given: bool,
    is_invalid: bool,
    /// The first is the one that was begun with.
    members: Vec<Member>,
}

impl Capture {
    fn member(&mut self, queue: QueueKey) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.queue == queue)
    }

    /// Whether what the calling thread does, and might wait for the captured work, is refused.
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
    /// How many there are: as a rule none, and nothing is to be asked.
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

    /// Whether the stream's work goes into a graph.
    pub(crate) fn is_captured(&self, queue: QueueKey) -> bool {
        !self.none() && self.lock().of(queue).is_some()
    }

    /// What the program may know of a stream's capture.
    pub(crate) fn view(&self, queue: QueueKey) -> Option<View> {
        if self.none() {
            return None;
        }
        let mut state = self.lock();
        let capture = state.of(queue)?;
        let (id, graph, is_invalid) = (capture.id, capture.graph, capture.is_invalid);
        let last = &capture.member(queue)?.last;
        Some(View { id, graph, last: last.as_ptr(), count: last.len(), is_invalid })
    }

    /// Begins a capture on a stream, into a new graph or one of the program's, behind nodes of it.
    pub(crate) fn begin(
        &self,
        runtime: &Runtime,
        target: &Target,
        mode: hipStreamCaptureMode,
        into: Option<(usize, Vec<usize>)>,
    ) -> Outcome {
        let mut state = self.lock();
        ensure(state.of(target.queue).is_none(), hipErrorIllegalState)?;
        let is_given = into.is_some();
        let (graph, last) = match into {
            Some(into) => into,
            None => (runtime.graphs.insert(Graph::default()).ok_or(hipErrorOutOfMemory)?.addr(), Vec::new()),
        };
        state.serial += 1;
        let member = Member { queue: target.queue, is_blocking: target.is_blocking, last };
        let (id, thread) = (state.serial, this_thread());
        state.captures.push(Capture { id, mode, thread, graph, is_given, is_invalid: false, members: vec![member] });
        self.active.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Ends the capture that began on a stream, and returns the graph.
    pub(crate) fn end(&self, runtime: &Runtime, queue: QueueKey) -> Result<usize, Refusal> {
        let mut state = self.lock();
        let capture = state.of(queue).ok_or(hipErrorIllegalState)?;
        ensure(capture.members[0].queue == queue, hipErrorStreamCaptureUnmatched)?;
        let by_thread = capture.mode == hipStreamCaptureModeRelaxed || capture.thread == this_thread();
        ensure(by_thread, hipErrorStreamCaptureWrongThread)?;
        let id = capture.id;
        let capture = self.remove(&mut state, id).ok_or(hipErrorIllegalState)?;
        drop(state);
        let status = if capture.is_invalid {
            hipErrorStreamCaptureInvalidated
        } else if !is_joined(runtime, &capture) {
            hipErrorStreamCaptureUnjoined
        } else {
            return Ok(capture.graph);
        };
        if !capture.is_given {
            graph::destroy(runtime, capture.graph);
        }
        Err(status.into())
    }

    fn remove(&self, state: &mut State, id: u64) -> Option<Capture> {
        let at = state.captures.iter().position(|capture| capture.id == id)?;
        self.active.fetch_sub(1, Ordering::AcqRel);
        Some(state.captures.swap_remove(at))
    }

    /// The stream is no more: a capture that began on it is over, and another cannot be completed.
    pub(crate) fn abandon(&self, runtime: &Runtime, queue: QueueKey) {
        if self.none() {
            return;
        }
        let mut state = self.lock();
        let Some(capture) = state.of(queue) else { return };
        if capture.members[0].queue != queue {
            capture.is_invalid = true;
            return;
        }
        let id = capture.id;
        let capture = self.remove(&mut state, id);
        drop(state);
        if let Some(capture) = capture.filter(|capture| !capture.is_given) {
            graph::destroy(runtime, capture.graph);
        }
    }

    /// Puts a node into the graph of a stream's capture, behind what the stream did before.
    pub(crate) fn add(&self, runtime: &Runtime, queue: QueueKey, operation: Operation) -> Outcome {
        let mut state = self.lock();
        let capture = state.of(queue).ok_or(hipErrorIllegalState)?;
        ensure(!capture.is_invalid, hipErrorStreamCaptureInvalidated)?;
        let handle = capture.graph;
        let graph = runtime.graph(handle).ok_or(hipErrorStreamCaptureInvalidated)?;
        let member = capture.member(queue).ok_or(hipErrorIllegalState)?;
        let node = graph.add(runtime, handle, &member.last, operation).ok_or(hipErrorOutOfMemory)?;
        member.last = vec![node];
        Ok(())
    }

    /// Changes what a stream's next node comes behind: to `nodes`, or to them too.
    pub(crate) fn depend(&self, queue: QueueKey, nodes: &[usize], only: bool) -> Outcome {
        let mut state = self.lock();
        let capture = state.of(queue).ok_or(hipErrorIllegalState)?;
        ensure(!capture.is_invalid, hipErrorStreamCaptureInvalidated)?;
        let member = capture.member(queue).ok_or(hipErrorIllegalState)?;
        if only {
            member.last.clear();
        }
        join(&mut member.last, nodes);
        Ok(())
    }

    /// What an event stands for that is recorded on a stream; `None` if the stream is not captured.
    pub(crate) fn mark(&self, queue: QueueKey) -> Result<Option<Mark>, Refusal> {
        if self.none() {
            return Ok(None);
        }
        let mut state = self.lock();
        let Some(capture) = state.of(queue) else { return Ok(None) };
        ensure(!capture.is_invalid, hipErrorStreamCaptureInvalidated)?;
        let id = capture.id;
        Ok(capture.member(queue).map(|member| Mark { capture: id, nodes: member.last.clone() }))
    }

    /// Has a stream come behind what an event stands for, and so take part in the capture. False if that is over.
    pub(crate) fn follow(&self, target: &Target, mark: &Mark) -> Result<bool, Refusal> {
        let mut state = self.lock();
        if let Some(other) = state.of(target.queue).filter(|capture| capture.id != mark.capture) {
            other.is_invalid = true;
            if let Some(capture) = state.captures.iter_mut().find(|capture| capture.id == mark.capture) {
                capture.is_invalid = true;
                return Err(hipErrorStreamCaptureMerge.into());
            }
            return Err(hipErrorStreamCaptureIsolation.into());
        }
        let Some(capture) = state.captures.iter_mut().find(|capture| capture.id == mark.capture) else {
            return Ok(false);
        };
        ensure(!capture.is_invalid, hipErrorStreamCaptureInvalidated)?;
        if target.is_null {
            capture.is_invalid = true;
            return Err(hipErrorStreamCaptureImplicit.into());
        }
        match capture.member(target.queue) {
            Some(member) => join(&mut member.last, &mark.nodes),
            None => {
                let (queue, is_blocking) = (target.queue, target.is_blocking);
                capture.members.push(Member { queue, is_blocking, last: mark.nodes.clone() });
            }
        }
        Ok(true)
    }

    /// Invalidates the captures for which `wanted` says so, and refuses with `status` if there are any.
    fn refuse(&self, status: hipError_t, wanted: impl Fn(&Capture) -> bool) -> Outcome {
        if self.none() {
            return Ok(());
        }
        let mut any = false;
        for capture in self.lock().captures.iter_mut().filter(|capture| wanted(capture)) {
            capture.is_invalid = true;
            any = true;
        }
        ensure(!any, status)
    }

    /// For what cannot be done with a stream while it is captured.
    pub(crate) fn refuse_use(&self, queue: QueueKey) -> Outcome {
        let takes_part = |capture: &Capture| capture.members.iter().any(|member| member.queue == queue);
        self.refuse(hipErrorStreamCaptureUnsupported, takes_part)
    }

    /// For calls that might wait for work that is captured, and so never done.
    pub(crate) fn refuse_unsafe(&self) -> Outcome {
        if self.none() {
            return Ok(());
        }
        let mode = MODE.try_with(Cell::get).unwrap_or(hipStreamCaptureModeGlobal);
        self.refuse(hipErrorStreamCaptureUnsupported, |capture| capture.refuses(mode))
    }

    /// For calls that wait on the legacy default stream, which waits for blocking streams.
    pub(crate) fn refuse_legacy(&self) -> Outcome {
        self.refuse(hipErrorStreamCaptureImplicit, |capture| capture.members.iter().any(|member| member.is_blocking))
    }

    /// For calls that wait for all streams.
    pub(crate) fn refuse_all(&self) -> Outcome {
        self.refuse(hipErrorStreamCaptureUnsupported, |_| true)
    }

    /// For questions to an event that was recorded in a capture which is still open.
    pub(crate) fn refuse_mark(&self, mark: Option<&Mark>) -> Outcome {
        let Some(mark) = mark else { return Ok(()) };
        self.refuse(hipErrorCapturedEvent, |capture| capture.id == mark.capture)
    }
}

/// Adds nodes that are not there yet.
fn join(to: &mut Vec<usize>, nodes: &[usize]) {
    for node in nodes {
        if !to.contains(node) {
            to.push(*node);
        }
    }
}

/// Whether all that other streams have done is behind the stream that it began with.
fn is_joined(runtime: &Runtime, capture: &Capture) -> bool {
    let Some(graph) = runtime.graph(capture.graph) else { return false };
    let body = graph.body().clone();
    let mut reached = capture.members[0].last.clone();
    let mut at = 0;
    while let Some(node) = reached.get(at).copied() {
        let before: Vec<usize> = body.before(node).collect();
        join(&mut reached, &before);
        at += 1;
    }
    capture.members[1..].iter().all(|member| member.last.iter().all(|node| reached.contains(node)))
}
