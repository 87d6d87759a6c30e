//! Events for waits between streams, taken from a pool.

use std::ptr;

use hip_sys::hipEvent_t;

use super::event::Event;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::lock::{Mutex, MutexGuard};
use crate::core::per_device::PerDevice;

/// Events of each device that no wait uses at the moment.
static SPARE: PerDevice<Mutex<Vec<Event>>> = PerDevice::new();

/// An event for one wait of a stream for another, taken from the spare events of its device.
pub(crate) struct PooledEvent(Option<Event>);

impl PooledEvent {
    /// Maximum number of spare events of a device.
    const MOST: usize = 64;

    pub(crate) fn take(device: Device) -> Result<Self> {
        let spare = Self::spare(device).pop();
        spare.map_or_else(|| Event::without_timing(&device), Ok).map(|event| Self(Some(event)))
    }

    pub(crate) fn raw(&self) -> hipEvent_t {
        self.0.as_ref().map_or(ptr::null_mut(), Event::raw)
    }

    fn spare(device: Device) -> MutexGuard<'static, Vec<Event>> {
        SPARE.of(device).lock()
    }
}

impl Drop for PooledEvent {
    fn drop(&mut self) {
        if let Some(event) = self.0.take() {
            let mut spare = Self::spare(event.device());
            if spare.len() < Self::MOST {
                spare.push(event);
            }
        }
    }
}
