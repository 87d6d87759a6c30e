//! Texture and surface objects: descriptors in memory that kernels read. A handle is the address of the descriptor, as
//! with AMD's runtime.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use amdgpu_sim::image::{IMAGE_WORDS, SAMPLER_WORDS};
use amdgpu_sim::{Agents, AllocKind, Memory, Request, Rights};
use hip_sys::rocm_7_2::{hipErrorOutOfMemory, hipResourceDesc, hipResourceViewDesc, hipTextureDesc};

use crate::status::Refusal;

/// The words of an object: an image descriptor, then a sampler descriptor.
pub(crate) const OBJECT_WORDS: usize = IMAGE_WORDS + SAMPLER_WORDS;

/// The object behind a handle.
#[derive(Clone, Copy)]
pub(crate) enum Object {
    Texture { resource: hipResourceDesc, texture: hipTextureDesc, view: Option<hipResourceViewDesc> },
    Surface,
}

// SAFETY: its pointers are only returned to the program, never dereferenced.
unsafe impl Send for Object {}

/// All objects, each with its device.
#[derive(Default)]
pub(crate) struct Objects(Mutex<BTreeMap<u64, (usize, Object)>>);

impl Objects {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, (usize, Object)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates an object from these words and returns its handle.
    pub(crate) fn insert(&self, memory: &Memory, device: usize, object: Object, words: &[u32]) -> Result<u64, Refusal> {
        let refused = |error: amdgpu_sim::MemoryError| Refusal::new(hipErrorOutOfMemory, error.to_string());
        let rights = Rights { read: Agents::ALL, write: Agents::NONE };
        let request = Request { rights, ..Request::new(4 * OBJECT_WORDS as u64, AllocKind::Kernarg, None) };
        let handle = memory.allocate(&request).map_err(refused)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.write(handle, &bytes).map_err(refused)?;
        self.lock().insert(handle, (device, object));
        Ok(handle)
    }

    /// What a handle names.
    pub(crate) fn get(&self, handle: u64) -> Option<Object> {
        self.lock().get(&handle).map(|(_, object)| *object)
    }

    /// The device of an object that `is_it` selects.
    pub(crate) fn device(&self, handle: u64, is_it: impl Fn(&Object) -> bool) -> Option<usize> {
        self.lock().get(&handle).filter(|(_, object)| is_it(object)).map(|(device, _)| *device)
    }

    /// Destroys an object. A later use by a kernel is a fault.
    pub(crate) fn remove(&self, memory: &Memory, handle: u64) {
        if self.lock().remove(&handle).is_some() {
            // Cannot fail: the entry exists only while the memory is allocated.
            drop(memory.free(handle));
        }
    }

    /// Destroys all objects of a device.
    pub(crate) fn reset(&self, memory: &Memory, device: usize) {
        let of_device = |(handle, (of, _)): (&u64, &(usize, Object))| (*of == device).then_some(*handle);
        let handles: Vec<u64> = self.lock().iter().filter_map(of_device).collect();
        handles.into_iter().for_each(|handle| self.remove(memory, handle));
    }
}
