//! Streams whose work goes into a graph in place of running.
//!
//! As in HIP 7.2, to which a table of calls holds it (`hsa-sim/tests/capture`): a refused call spoils the streams that captures began on, or the
//! one that it was about. Such a stream stays spoilt when its capture has been ended, with an error, until it is captured anew.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use hip_sys::rocm_7_2::*;

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
    /// The stream that it was recorded on.
    queue: QueueKey,
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
    /// Its next use is refused.
    is_invalid: bool,
    /// The nodes that its next one comes behind.
    last: Vec<usize>,
}

struct Capture {
    id: u64,
    mode: hipStreamCaptureMode,
    thread: ThreadId,
    /// Gone, if it has been ended with streams left that were not joined.
    graph: Option<usize>,
    /// The graph was the program's before.
    is_given: bool,
    /// It has been ended, with an error.
    is_over: bool,
    /// The first is the one that was begun with.
    members: Vec<Member>,
    /// What streams have done last that are no more.
    loose: Vec<usize>,
}

impl Capture {
    fn member(&mut self, queue: QueueKey) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.queue == queue)
    }

    /// Spoils the stream that it began on. HIP does not look at the others.
    fn spoil(&mut self) {
        self.members[0].is_invalid = true;
    }

    /// Whether it is one that the calling thread has to heed, whatever mode that thread is in.
    fn concerns_this_thread(&self) -> bool {
        self.mode == hipStreamCaptureModeGlobal
            || (self.mode == hipStreamCaptureModeThreadLocal && self.thread == this_thread())
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
        let (id, graph) = (capture.id, capture.graph.unwrap_or(0));
        let Member { last, is_invalid, .. } = capture.member(queue)?;
        Some(View { id, graph, last: last.as_ptr(), count: last.len(), is_invalid: *is_invalid })
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
            None => (runtime.graphs.insert(Graph::default()).ok_or(hipErrorOutOfMemory)?.addr(), Vec::new()),
        };
        state.serial += 1;
        let (queue, is_blocking) = (target.queue, target.is_blocking);
        let member = Member { queue, is_blocking, is_invalid: false, last };
        let (id, thread) = (state.serial, this_thread());
        let (graph, members) = (Some(graph), vec![member]);
        state.captures.push(Capture { id, mode, thread, graph, is_given, is_over: false, members, loose: Vec::new() });
        self.active.fetch_add(1, Ordering::AcqRel);
        drop(state);
        // The streams that had joined are free again, as they are in HIP when the new capture ends.
        discard(runtime, spoilt);
        Ok(())
    }

    /// Ends the capture that began on a stream, and returns the graph.
    pub(crate) fn end(&self, runtime: &Runtime, queue: QueueKey) -> Result<usize, Refusal> {
        let mut state = self.lock();
        let capture = state.of(queue).ok_or(hipErrorIllegalState)?;
        ensure(capture.members[0].queue == queue, hipErrorStreamCaptureUnmatched)?;
        let by_thread =
            capture.mode == hipStreamCaptureModeRelaxed || (capture.thread == this_thread() && !capture.is_over);
        ensure(by_thread, hipErrorStreamCaptureWrongThread)?;
        capture.is_over = true;
        ensure(!capture.members[0].is_invalid, hipErrorStreamCaptureInvalidated)?;
        if !is_joined(runtime, capture) {
            let graph = capture.graph.take().filter(|_| !capture.is_given);
            drop(state);
            if let Some(graph) = graph {
                graph::destroy(runtime, graph);
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

    /// The stream is no more: so is a capture that began on it. What it has done in another stays there.
    pub(crate) fn abandon(&self, runtime: &Runtime, queue: QueueKey) {
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
        discard(runtime, capture);
    }

    /// Puts a node into the graph of a stream's capture, behind what the stream did before.
    pub(crate) fn add(&self, runtime: &Runtime, queue: QueueKey, operation: Operation) -> Outcome {
        let mut state = self.lock();
        let capture = state.of(queue).ok_or(hipErrorIllegalState)?;
        let graph = capture.graph;
        let member = capture.member(queue).ok_or(hipErrorIllegalState)?;
        ensure(!member.is_invalid, hipErrorStreamCaptureInvalidated)?;
        let handle = graph.ok_or(hipErrorInvalidValue)?;
        let graph = runtime.graph(handle).ok_or(hipErrorStreamCaptureInvalidated)?;
        let node = graph.add(runtime, handle, &member.last, operation).ok_or(hipErrorOutOfMemory)?;
        member.last = vec![node];
        Ok(())
    }

    /// Changes what a stream's next node comes behind: to `nodes`, or to them too.
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

    /// What an event stands for that is recorded on a stream; `None` if the stream is not captured.
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

    /// Has a stream come behind what an event stands for, and so take part in the capture. False if that is over.
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

    /// Spoils the captures that go on and for which `wanted` says so, and refuses with `status` if there are any.
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

    /// Refuses with `status` if a capture goes on for which `wanted` says so, which it does unharmed.
    fn deny(&self, status: hipError_t, wanted: impl Fn(&Capture) -> bool) -> Outcome {
        let denied = || self.lock().captures.iter().any(|capture| !capture.is_over && wanted(capture));
        ensure(self.none() || !denied(), status)
    }

    /// For what cannot be done with a stream while it is captured.
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

    /// For calls that might wait for work that is captured, and so never done.
    pub(crate) fn refuse_unsafe(&self) -> Outcome {
        if self.none() {
            return Ok(());
        }
        let mode = MODE.try_with(Cell::get).unwrap_or(hipStreamCaptureModeGlobal);
        self.refuse(hipErrorStreamCaptureUnsupported, |capture| capture.refuses(mode))
    }

    /// For calls that wait for work on the legacy default stream. HIP refuses them while anything is captured.
    pub(crate) fn refuse_legacy(&self) -> Outcome {
        self.refuse(hipErrorStreamCaptureImplicit, |_| true)
    }

    /// For calls that wait for all streams.
    pub(crate) fn refuse_all(&self) -> Outcome {
        self.refuse(hipErrorStreamCaptureUnsupported, |_| true)
    }

    /// For calls that HIP refuses without harm, whatever mode the calling thread is in.
    pub(crate) fn deny_concerned(&self) -> Outcome {
        self.deny(hipErrorStreamCaptureUnsupported, Capture::concerns_this_thread)
    }

    /// For calls that HIP refuses, without harm, while a blocking stream is captured.
    pub(crate) fn deny_blocking(&self, status: hipError_t) -> Outcome {
        self.deny(status, |capture| capture.members[0].is_blocking)
    }

    /// For questions to an event that was recorded in a capture which is still there.
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

/// Destroys what a capture has made that comes to nothing.
fn discard(runtime: &Runtime, capture: Option<Capture>) {
    if let Some(graph) = capture.filter(|capture| !capture.is_given).and_then(|capture| capture.graph) {
        graph::destroy(runtime, graph);
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
    let Some(graph) = capture.graph.and_then(|graph| runtime.graph(graph)) else { return false };
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
