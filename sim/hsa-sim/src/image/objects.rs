//! The live images and samplers, with their descriptors in memory that kernels can read.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use amdgpu_sim::image::{IMAGE_WORDS, Layout, SAMPLER_WORDS};

use crate::abi::HSA_STATUS_ERROR_INVALID_ARGUMENT;
use crate::agent::{AgentId, Agents};
use crate::memory::{GRANULE, Memories, Pool, PoolKind, pointer};
use crate::result::Result;

/// The bytes reserved for a descriptor.
const PLACE: u64 = 64;

/// An image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image {
    pub(crate) layout: Layout,
    /// Address of the first texel.
    pub(crate) data: u64,
}

/// The object behind a handle. Samplers have no state besides their descriptor.
#[derive(Clone, Copy, Debug)]
enum Object {
    Image(Image),
    Sampler,
}

/// All objects. A handle is the address of the descriptor.
#[derive(Default)]
pub(crate) struct Objects {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    live: BTreeMap<u64, Object>,
    /// Free descriptor places.
    free: Vec<u64>,
}

impl Objects {
    /// Makes an image of these words.
    pub(crate) fn insert_image(
        &self,
        (memory, agents): (&Memories, &Agents),
        image: Image,
        words: &[u32; IMAGE_WORDS],
    ) -> Result<u64> {
        self.insert((memory, agents), Object::Image(image), words)
    }

    /// Makes a sampler of these words.
    pub(crate) fn insert_sampler(
        &self,
        (memory, agents): (&Memories, &Agents),
        words: &[u32; SAMPLER_WORDS],
    ) -> Result<u64> {
        self.insert((memory, agents), Object::Sampler, words)
    }

    fn insert(&self, (memory, agents): (&Memories, &Agents), object: Object, words: &[u32]) -> Result<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.free.is_empty() {
            let pool = Pool { agent: AgentId::CPU, kind: PoolKind::HostKernarg };
            let page = memory.allocate(agents, pool, GRANULE)?;
            state.free.extend((0..GRANULE / PLACE).rev().map(|n| page + n * PLACE));
        }
        let Some(place) = state.free.pop() else { return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT) };
        let mut bytes = [0_u8; PLACE as usize];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        // SAFETY: the place is in a page of ours, and its address has not been returned to anyone yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer(place).cast::<u8>(), bytes.len()) };
        state.live.insert(place, object);
        Ok(place)
    }

    /// The image of a handle.
    pub(crate) fn image(&self, handle: u64) -> Result<Image> {
        match self.state.lock().unwrap_or_else(PoisonError::into_inner).live.get(&handle) {
            Some(Object::Image(image)) => Ok(*image),
            _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
        }
    }

    /// Destroys an image.
    pub(crate) fn remove_image(&self, handle: u64) -> Result<()> {
        self.remove(handle, |object| matches!(object, Object::Image(_)))
    }

    /// Destroys a sampler.
    pub(crate) fn remove_sampler(&self, handle: u64) -> Result<()> {
        self.remove(handle, |object| matches!(object, Object::Sampler))
    }

    fn remove(&self, handle: u64, is_it: impl Fn(&Object) -> bool) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.live.get(&handle).is_some_and(is_it) {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        state.live.remove(&handle);
        state.free.push(handle);
        Ok(())
    }

    /// Removes everything. The memory has been freed already.
    pub(crate) fn clear(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }
}
