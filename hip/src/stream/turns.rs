//! The order, within a capture, of calls on several streams that use one exclusive resource.
//!
//! Outside of captures, tickets keep such calls in order. A captured call has no ticket: only edges of the graph order
//! it.

use std::ptr;
use std::slice;

use hip_sys::hipGraphNode_t;
use smallvec::SmallVec;

use super::inner::StreamInner;
use super::usage::{Access, AccessKind, Usage};
use crate::core::call::check;
use crate::core::error::{Error, Result};

/// Exclusive resources, and the nodes of the calls that have used them last.
#[derive(Default)]
pub(super) struct Turns(Vec<Turn>);

struct Turn {
    usage: Usage,
    last: SmallVec<[Last; 1]>,
}

/// The last use on a stream.
struct Last {
    stream: u64,
    kind: AccessKind,
    /// The nodes that a later call must come after; `None` if the runtime did not report them.
    nodes: Option<Vec<usize>>,
}

impl Turns {
    /// Returns the nodes that a call on `stream` must come after.
    ///
    /// # Errors
    /// [`Error::Capture`] if the runtime did not report them.
    fn before(&self, stream: &StreamInner, accesses: &[Access<'_>]) -> Result<Vec<usize>> {
        let mut all = Vec::new();
        for access in accesses {
            let Some(turn) = self.0.iter().find(|turn| turn.usage.is(access.usage)) else { continue };
            for last in turn.last.iter().filter(|last| last.stream != stream.id()) {
                if last.kind == AccessKind::Read && access.kind == AccessKind::Read {
                    continue;
                }
                let Some(nodes) = &last.nodes else {
                    let reason = format!(
                        "{} would use a handle that another stream of the capture has used, and the runtime does not tell where",
                        stream.describe()
                    );
                    return Err(Error::Capture { reason });
                };
                all.extend(nodes);
            }
        }
        Ok(all)
    }

    /// Records a call on `stream` that was captured as `nodes`.
    fn note(&mut self, stream: &StreamInner, access: &Access<'_>, nodes: Option<Vec<usize>>) {
        let index = self.0.iter().position(|turn| turn.usage.is(access.usage)).unwrap_or_else(|| {
            self.0.push(Turn { usage: access.usage.shared(), last: SmallVec::new() });
            self.0.len() - 1
        });
        let last = &mut self.0[index].last;
        let mut kind = access.kind;
        if kind == AccessKind::Write {
            last.clear();
        }
        if let Some(own) = last.iter().position(|last| last.stream == stream.id()) {
            // Its nodes come before the new ones.
            kind = last.swap_remove(own).kind;
        }
        last.push(Last { stream: stream.id(), kind, nodes });
    }
}

/// Returns the accesses to resources that need turns, regardless of borrows.
fn of_turns<'a, 'b>(accesses: &'b [Access<'a>]) -> impl Iterator<Item = &'b Access<'a>> {
    accesses.iter().filter(|access| access.usage.is_concurrent())
}

impl StreamInner {
    /// Returns the nodes that the next captured node will depend on, which change with each captured node; `None` if
    /// the runtime does not report them.
    pub(super) fn last_captured(&self) -> Option<Vec<usize>> {
        let (mut state, mut nodes, mut count) = (hip_sys::hipStreamCaptureStatusNone, ptr::null(), 0);
        let (no_id, no_graph) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is alive; state, nodes and their number are valid for a write, and null skips the other results.
        let status = unsafe {
            hip_sys::hipStreamGetCaptureInfo_v2(self.raw(), &mut state, no_id, no_graph, &mut nodes, &mut count)
        };
        check(status, "hipStreamGetCaptureInfo_v2", || self.describe()).ok()?;
        if state != hip_sys::hipStreamCaptureStatusActive {
            return None;
        }
        if nodes.is_null() || count == 0 {
            return Some(Vec::new());
        }
        // SAFETY: the runtime's list of `count` handles, which is valid until the next captured call.
        Some(unsafe { slice::from_raw_parts(nodes, count) }.iter().map(|node| node.addr()).collect())
    }

    /// Makes the next node of this captured stream come after the calls on other streams that use the same resources.
    ///
    /// # Errors
    /// [`Error::Capture`] if the runtime did not report their nodes.
    pub(super) fn await_turns(&self, turns: &Turns, accesses: &[Access<'_>]) -> Result<()> {
        if of_turns(accesses).next().is_none() {
            return Ok(());
        }
        let mut nodes = turns.before(self, accesses)?;
        if nodes.is_empty() {
            return Ok(());
        }
        let own = self.last_captured().unwrap_or_default();
        nodes.retain(|node| !own.contains(node));
        nodes.sort_unstable();
        nodes.dedup();
        let mut nodes: Vec<hipGraphNode_t> = nodes.into_iter().map(ptr::with_exposed_provenance_mut).collect();
        if nodes.is_empty() {
            return Ok(());
        }
        // SAFETY: the stream is alive and captured by this thread; the nodes are of the graph that it is captured into, and live as long as
        // that; 0 adds them.
        let status =
            unsafe { hip_sys::hipStreamUpdateCaptureDependencies(self.raw(), nodes.as_mut_ptr(), nodes.len(), 0) };
        check(status, "hipStreamUpdateCaptureDependencies", || self.describe())
    }

    /// Records the nodes of a call that has returned.
    pub(super) fn note_turns(&self, turns: &mut Turns, accesses: &[Access<'_>]) {
        if of_turns(accesses).next().is_none() {
            return;
        }
        let nodes = self.last_captured();
        for access in of_turns(accesses) {
            turns.note(self, access, nodes.clone());
        }
    }
}
