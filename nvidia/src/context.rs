//! The current device of each thread, and the primary contexts of the devices.
//!
//! HIP's functions act on the thread's current device. The driver's act on the thread's current context. Each function
//! therefore makes the primary context of the thread's device current before it calls the driver. That is the context
//! that CUDA's runtime and libraries use too.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use hip_sys::rocm_7_2::{hipErrorInvalidDevice, hipErrorInvalidValue};

use crate::driver::{self, driver_functions};
use crate::status::{Outcome, ensure};

driver_functions! {
    /// Writes the calling thread's current context, or null.
    fn cuCtxGetCurrent(context: *mut *mut c_void);
    /// Makes a context current in the calling thread.
    fn cuCtxSetCurrent(context: *mut c_void);
    /// Creates the primary context of a device, or adds a reference to it.
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int);
}

/// A driver context, null if unknown.
pub(crate) type Context = *mut c_void;

thread_local! {
    static DEVICE: Cell<c_int> = const { Cell::new(0) };
}

/// The primary contexts, one per device; null until used. They are retained once and kept until the process ends, as
/// CUDA's runtime does.
static PRIMARY: OnceLock<Box<[AtomicPtr<c_void>]>> = OnceLock::new();

/// Held while a primary context is created, so that each is retained once.
static CREATION: Mutex<()> = Mutex::new(());

fn slots() -> Outcome<&'static [AtomicPtr<c_void>]> {
    if let Some(slots) = PRIMARY.get() {
        return Ok(slots);
    }
    let count = driver::start()?;
    Ok(PRIMARY.get_or_init(|| (0..count).map(|_| AtomicPtr::new(ptr::null_mut())).collect()))
}

/// Returns the thread's current device.
pub(crate) fn device() -> c_int {
    DEVICE.try_with(Cell::get).unwrap_or(0)
}

/// Sets the thread's current device.
pub(crate) fn set_device(device: c_int) -> Outcome {
    exists(device)?;
    // A thread that is ending keeps device 0.
    let _ = DEVICE.try_with(|current| current.set(device));
    Ok(())
}

/// Fails with `hipErrorInvalidDevice` unless there is such a device.
pub(crate) fn exists(device: c_int) -> Outcome {
    let count = driver::start()?;
    ensure(usize::try_from(device).is_ok_and(|device| device < count), hipErrorInvalidDevice)
}

/// Returns the primary context of a device.
pub(crate) fn primary(device: c_int) -> Outcome<Context> {
    let slots = slots()?;
    let slot = usize::try_from(device).ok().and_then(|index| slots.get(index)).ok_or(hipErrorInvalidDevice)?;
    // Acquire pairs with the release below: the context is complete for a thread that sees it.
    let context = slot.load(Ordering::Acquire);
    if !context.is_null() {
        return Ok(context);
    }
    let _creation = CREATION.lock().unwrap_or_else(PoisonError::into_inner);
    let mut context = slot.load(Ordering::Acquire);
    if context.is_null() {
        // SAFETY: `context` is valid for a write, and the driver has started.
        unsafe { cuDevicePrimaryCtxRetain(&raw mut context, device)? };
        slot.store(context, Ordering::Release);
    }
    Ok(context)
}

/// Returns the device whose primary context this is.
pub(crate) fn device_of(context: Context) -> Outcome<c_int> {
    let index = slots()?.iter().position(|slot| slot.load(Ordering::Acquire) == context);
    Ok(index.and_then(|index| c_int::try_from(index).ok()).ok_or(hipErrorInvalidValue)?)
}

/// Makes the primary context of the thread's device current, and returns it.
pub(crate) fn enter() -> Outcome<Context> {
    enter_device(device())
}

/// Makes the primary context of a device current, and returns it.
pub(crate) fn enter_device(device: c_int) -> Outcome<Context> {
    let context = primary(device)?;
    let mut current = ptr::null_mut();
    // SAFETY: `current` is valid for a write, and the context is alive until the process ends.
    unsafe {
        cuCtxGetCurrent(&raw mut current)?;
        if current != context {
            cuCtxSetCurrent(context)?;
        }
    }
    Ok(context)
}
