//! The state: displays, contexts, and the objects of groups of contexts.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::formats::Format;
use crate::storage::Storage;

pub(crate) const INVALID_ENUM: u32 = 0x500;
pub(crate) const INVALID_VALUE: u32 = 0x501;
pub(crate) const INVALID_OPERATION: u32 = 0x502;
pub(crate) const OUT_OF_MEMORY: u32 = 0x505;

/// The GPU of a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gpu {
    /// The software GPU with that number.
    Software(u32),
    /// A GPU of another vendor.
    Other,
}

/// A buffer object. It has no data store until one is created.
#[derive(Default)]
pub(crate) struct Buffer {
    pub(crate) store: Option<Storage>,
}

/// A texture's only level.
pub(crate) struct Image {
    pub(crate) format: Format,
    /// Width, height, depth.
    pub(crate) size: [usize; 3],
    /// Row pitch in memory, in bytes.
    pub(crate) pitch: usize,
    pub(crate) store: Storage,
}

/// A texture object.
#[derive(Default)]
pub(crate) struct Texture {
    /// The target of its first binding.
    pub(crate) target: u32,
    pub(crate) image: Option<Image>,
}

/// The objects that a group of contexts shares.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) buffers: BTreeMap<u32, Option<Buffer>>,
    pub(crate) textures: BTreeMap<u32, Option<Texture>>,
}

/// A context.
pub(crate) struct Context {
    pub(crate) gpu: Gpu,
    pub(crate) group: Arc<Mutex<Group>>,
    /// The first error since the last query.
    pub(crate) error: u32,
    /// The bound names by target.
    pub(crate) bound: BTreeMap<u32, u32>,
}

/// The global state.
#[derive(Default)]
pub(crate) struct State {
    /// Open displays by address.
    pub(crate) displays: BTreeMap<usize, Gpu>,
    /// Contexts by number.
    pub(crate) contexts: BTreeMap<usize, Context>,
    pub(crate) last_context: usize,
}

static STATE: Mutex<State> =
    Mutex::new(State { displays: BTreeMap::new(), contexts: BTreeMap::new(), last_context: 0 });

pub(crate) fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread's current context and drawable.
#[derive(Clone, Copy, Default)]
pub(crate) struct Current {
    pub(crate) display: usize,
    pub(crate) drawable: u64,
    /// The context; 0 for none.
    pub(crate) context: usize,
}

thread_local! {
    pub(crate) static CURRENT: Cell<Current> = const { Cell::new(Current { display: 0, drawable: 0, context: 0 }) };
}

/// Calls `body` with the thread's context and its objects. An error becomes the context's error. Does nothing without a
/// context.
pub(crate) fn with_context<R: Default>(body: impl FnOnce(&mut Context, &mut Group) -> Result<R, u32>) -> R {
    let mut state = lock();
    let Some(context) = state.contexts.get_mut(&CURRENT.get().context) else { return R::default() };
    let group = Arc::clone(&context.group);
    let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
    match body(context, &mut group) {
        Ok(result) => result,
        Err(error) => {
            if context.error == 0 {
                context.error = error;
            }
            R::default()
        }
    }
}
