//! The default stream of a device.

use std::ptr;
use std::sync::{Arc, OnceLock};

use super::{Stream, StreamInner};
use crate::core::device::Device;
use crate::core::per_device::PerDevice;

static DEFAULT: PerDevice<OnceLock<Arc<StreamInner>>> = PerDevice::new();

impl Device {
    /// The device's legacy default stream, the null stream of C. It waits for, and is waited for by, every stream
    /// that was made [`blocking`](crate::StreamOptions::blocking). Better make streams with [`Stream::new`].
    #[must_use]
    pub fn default_stream(&self) -> Stream {
        Stream { inner: Arc::clone(self.default_queue()) }
    }

    /// The stream behind [`default_stream`](Self::default_stream).
    pub(crate) fn default_queue(&self) -> &'static Arc<StreamInner> {
        DEFAULT.of(*self).get_or_init(|| StreamInner::new(ptr::null_mut(), *self))
    }
}
