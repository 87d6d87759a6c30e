//! Signals: creation, values, waiting, and handlers.

use std::ffi::c_void;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::time::{Duration, Instant};

use super::function::{Export, agents, export, functions, guard_or, list, put};
use crate::abi::*;
use crate::events;
use crate::leaving;
use crate::result::Result;
use crate::runtime::{Runtime, runtime};
use crate::signal::{Condition, Pending, Signal};

/// The value that is returned for an invalid signal.
const NONE: hsa_signal_value_t = 0;

/// A signal handler of the program.
struct Handler {
    signal: Signal,
    condition: Condition,
    value: i64,
    handler: unsafe extern "C" fn(hsa_signal_value_t, *mut c_void) -> bool,
    argument: u64,
}

impl Handler {
    fn met(&self) -> Option<i64> {
        let value = self.signal.value().load(SeqCst);
        self.condition.holds(value, self.value).then_some(value)
    }
}

impl Pending for Handler {
    fn ready(&self) -> bool {
        !self.signal.is_live() || self.met().is_some()
    }

    fn run(&mut self) -> bool {
        if !self.signal.is_live() {
            return false;
        }
        let Some(value) = self.met() else { return true };
        // SAFETY: the program passed the function with its argument.
        unsafe { (self.handler)(value, crate::memory::pointer(self.argument)) }
    }
}

/// A function of the program that is called once, without waiting for a signal.
struct Once {
    callback: unsafe extern "C" fn(*mut c_void),
    argument: u64,
}

impl Pending for Once {
    fn ready(&self) -> bool {
        true
    }

    fn run(&mut self) -> bool {
        // SAFETY: the program passed the function with its argument.
        unsafe { (self.callback)(crate::memory::pointer(self.argument)) };
        false
    }
}

/// The end of a wait of `ticks`; `None` for an unlimited wait.
fn deadline(ticks: u64) -> Option<Instant> {
    const { assert!(events::FREQUENCY == 1_000_000_000) };
    Instant::now().checked_add(Duration::from_nanos(ticks)).filter(|_| ticks < u64::MAX)
}

unsafe fn create(
    value: hsa_signal_value_t,
    count: u32,
    consumers: *const hsa_agent_t,
    shared: bool,
    signal: *mut hsa_signal_t,
) -> Result<()> {
    let runtime = runtime()?;
    if signal.is_null() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller vouches for the list.
    let consumers = unsafe { agents(runtime, consumers, count as usize) }?;
    if consumers.iter().count() != count as usize {
        // A consumer occurs twice.
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let new = match shared {
        true => runtime.signals.create_shared(runtime.agents.space(), value),
        false => runtime.signals.create(value),
    };
    let new = new.ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
    // SAFETY: the caller vouches for it.
    unsafe { put(signal, new.handle()) }
}

functions! {
    /// Creates a signal. Consumers are validated, but do not restrict who may wait.
    fn hsa_signal_create(
        value: hsa_signal_value_t,
        count: u32,
        consumers: *const hsa_agent_t,
        signal: *mut hsa_signal_t,
    ) {
        // SAFETY: the caller vouches for both.
        unsafe { create(value, count, consumers, false, signal) }
    }

    /// Creates a signal with attributes: for several processes, or not for host waits. The host can wait for the latter
    /// anyway.
    fn hsa_amd_signal_create(
        value: hsa_signal_value_t,
        count: u32,
        consumers: *const hsa_agent_t,
        attributes: u64,
        signal: *mut hsa_signal_t,
    ) {
        runtime()?;
        if attributes & !u64::from(HSA_AMD_SIGNAL_AMD_GPU_ONLY | HSA_AMD_SIGNAL_IPC) != 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let shared = attributes & u64::from(HSA_AMD_SIGNAL_IPC) != 0;
        // SAFETY: the caller vouches for both.
        unsafe { create(value, count, consumers, shared, signal) }
    }

    /// Destroys a signal.
    fn hsa_signal_destroy(signal: hsa_signal_t) {
        let runtime = runtime()?;
        if signal.handle == 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if runtime.signal(signal)?.destroy() { Ok(()) } else { Err(HSA_STATUS_ERROR_INVALID_SIGNAL) }
    }

    /// Returns the address of a signal's value.
    fn hsa_amd_signal_value_pointer(signal: hsa_signal_t, pointer: *mut *mut hsa_signal_value_t) {
        let value = runtime()?.signal(signal)?.value().as_ptr();
        // SAFETY: the caller vouches for it.
        unsafe { put(pointer, value) }
    }

    /// Registers a handler that is called when a signal's value satisfies a condition, repeatedly while it returns
    /// true.
    fn hsa_amd_signal_async_handler(
        signal: hsa_signal_t,
        condition: u32,
        value: hsa_signal_value_t,
        handler: hsa_amd_signal_handler,
        argument: *mut c_void,
    ) {
        let runtime = runtime()?;
        let handler = handler.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let signal = runtime.signal(signal)?;
        let condition = Condition::new(condition).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let work = Handler { signal, condition, value, handler, argument: argument as u64 };
        let added = runtime.handlers.add(&runtime.signals, Box::new(work));
        if added { Ok(()) } else { Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES) }
    }

    /// Calls a function on another thread.
    fn hsa_amd_async_function(callback: Option<unsafe extern "C" fn(*mut c_void)>, argument: *mut c_void) {
        let runtime = runtime()?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let added = runtime.handlers.add(&runtime.signals, Box::new(Once { callback, argument: argument as u64 }));
        if added { Ok(()) } else { Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES) }
    }
}

/// Functions on a signal's value. Each name states the memory ordering. Invalid handles are ignored.
macro_rules! values {
    (
        load { $($load:ident: $load_order:ident;)* }
        store { $($store:ident: $store_order:ident, $tell:literal;)* }
        exchange { $($exchange:ident: $exchange_order:ident;)* }
        cas { $($cas:ident: $cas_order:ident, $cas_fail:ident;)* }
        change { $($change:ident: $method:ident, $change_order:ident;)* }
    ) => {
        $(
            /// Returns a signal's value; 0 for an invalid signal.
            ///
            /// # Safety
            /// Always safe: the handle is looked up.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $load(signal: hsa_signal_t) -> hsa_signal_value_t {
                guard_or(NONE, || Ok(runtime()?.signal(signal)?.value().load($load_order)))
            }
        )*
        $(
            /// Sets a signal's value.
            ///
            /// # Safety
            /// Always safe: the handle is looked up.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $store(signal: hsa_signal_t, value: hsa_signal_value_t) {
                guard_or((), || {
                    let signal = runtime()?.signal(signal)?;
                    signal.value().store(value, $store_order);
                    leaving::stored(signal);
                    if $tell {
                        signal.notify();
                    }
                    Ok(())
                });
            }
        )*
        $(
            /// Sets a signal's value and returns the old one.
            ///
            /// # Safety
            /// Always safe: the handle is looked up.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $exchange(signal: hsa_signal_t, value: hsa_signal_value_t) -> hsa_signal_value_t {
                guard_or(NONE, || {
                    let signal = runtime()?.signal(signal)?;
                    let was = signal.value().swap(value, $exchange_order);
                    leaving::stored(signal);
                    signal.notify();
                    Ok(was)
                })
            }
        )*
        $(
            /// Sets a signal's value if it has the expected value. Returns the old value.
            ///
            /// # Safety
            /// Always safe: the handle is looked up.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $cas(
                signal: hsa_signal_t,
                expected: hsa_signal_value_t,
                value: hsa_signal_value_t,
            ) -> hsa_signal_value_t {
                guard_or(NONE, || {
                    let signal = runtime()?.signal(signal)?;
                    let was = signal.value().compare_exchange(expected, value, $cas_order, $cas_fail);
                    leaving::stored(signal);
                    signal.notify();
                    Ok(was.unwrap_or_else(|was| was))
                })
            }
        )*
        $(
            /// Changes a signal's value.
            ///
            /// # Safety
            /// Always safe: the handle is looked up.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $change(signal: hsa_signal_t, value: hsa_signal_value_t) {
                guard_or((), || {
                    let signal = runtime()?.signal(signal)?;
                    signal.value().$method(value, $change_order);
                    leaving::stored(signal);
                    signal.notify();
                    Ok(())
                });
            }
        )*
        pub(super) const VALUE_FUNCTIONS: &[Export] = &[
            $(export!($load),)* $(export!($store),)* $(export!($exchange),)* $(export!($cas),)* $(export!($change),)*
        ];
    };
}

values! {
    load {
        hsa_signal_load_scacquire: Acquire;
        hsa_signal_load_acquire: Acquire;
        hsa_signal_load_relaxed: Relaxed;
    }
    store {
        hsa_signal_store_relaxed: Relaxed, true;
        hsa_signal_store_screlease: Release, true;
        hsa_signal_store_release: Release, true;
        hsa_signal_silent_store_relaxed: Relaxed, false;
        hsa_signal_silent_store_screlease: Release, false;
    }
    exchange {
        hsa_signal_exchange_scacq_screl: AcqRel;
        hsa_signal_exchange_acq_rel: AcqRel;
        hsa_signal_exchange_scacquire: Acquire;
        hsa_signal_exchange_acquire: Acquire;
        hsa_signal_exchange_relaxed: Relaxed;
        hsa_signal_exchange_screlease: Release;
        hsa_signal_exchange_release: Release;
    }
    cas {
        hsa_signal_cas_scacq_screl: AcqRel, Acquire;
        hsa_signal_cas_acq_rel: AcqRel, Acquire;
        hsa_signal_cas_scacquire: Acquire, Acquire;
        hsa_signal_cas_acquire: Acquire, Acquire;
        hsa_signal_cas_relaxed: Relaxed, Relaxed;
        hsa_signal_cas_screlease: Release, Relaxed;
        hsa_signal_cas_release: Release, Relaxed;
    }
    change {
        hsa_signal_add_scacq_screl: fetch_add, AcqRel;
        hsa_signal_add_acq_rel: fetch_add, AcqRel;
        hsa_signal_add_scacquire: fetch_add, Acquire;
        hsa_signal_add_acquire: fetch_add, Acquire;
        hsa_signal_add_relaxed: fetch_add, Relaxed;
        hsa_signal_add_screlease: fetch_add, Release;
        hsa_signal_add_release: fetch_add, Release;
        hsa_signal_subtract_scacq_screl: fetch_sub, AcqRel;
        hsa_signal_subtract_acq_rel: fetch_sub, AcqRel;
        hsa_signal_subtract_scacquire: fetch_sub, Acquire;
        hsa_signal_subtract_acquire: fetch_sub, Acquire;
        hsa_signal_subtract_relaxed: fetch_sub, Relaxed;
        hsa_signal_subtract_screlease: fetch_sub, Release;
        hsa_signal_subtract_release: fetch_sub, Release;
        hsa_signal_and_scacq_screl: fetch_and, AcqRel;
        hsa_signal_and_acq_rel: fetch_and, AcqRel;
        hsa_signal_and_scacquire: fetch_and, Acquire;
        hsa_signal_and_acquire: fetch_and, Acquire;
        hsa_signal_and_relaxed: fetch_and, Relaxed;
        hsa_signal_and_screlease: fetch_and, Release;
        hsa_signal_and_release: fetch_and, Release;
        hsa_signal_or_scacq_screl: fetch_or, AcqRel;
        hsa_signal_or_acq_rel: fetch_or, AcqRel;
        hsa_signal_or_scacquire: fetch_or, Acquire;
        hsa_signal_or_acquire: fetch_or, Acquire;
        hsa_signal_or_relaxed: fetch_or, Relaxed;
        hsa_signal_or_screlease: fetch_or, Release;
        hsa_signal_or_release: fetch_or, Release;
        hsa_signal_xor_scacq_screl: fetch_xor, AcqRel;
        hsa_signal_xor_acq_rel: fetch_xor, AcqRel;
        hsa_signal_xor_scacquire: fetch_xor, Acquire;
        hsa_signal_xor_acquire: fetch_xor, Acquire;
        hsa_signal_xor_relaxed: fetch_xor, Relaxed;
        hsa_signal_xor_screlease: fetch_xor, Release;
        hsa_signal_xor_release: fetch_xor, Release;
    }
}

/// Waits and returns the final value.
fn wait(signal: hsa_signal_t, condition: u32, other: i64, ticks: u64) -> Result<i64> {
    let signal = runtime()?.signal(signal)?;
    let condition = Condition::new(condition).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
    let value = signal.wait(condition, other, deadline(ticks));
    leaving::after_wait(|| vec![signal]);
    Ok(value)
}

/// Signals with the condition for each.
struct Wanted {
    all: Vec<(Signal, Condition, i64)>,
}

impl Wanted {
    unsafe fn new(
        runtime: &'static Runtime,
        count: u32,
        signals: *const hsa_signal_t,
        conditions: *const u32,
        values: *const hsa_signal_value_t,
    ) -> Result<Self> {
        let count = count as usize;
        // SAFETY: the caller vouches for the three lists.
        let (signals, conditions, values) =
            unsafe { (list(signals, count)?, list(conditions, count)?, list(values, count)?) };
        let mut all = Vec::with_capacity(count);
        for ((signal, condition), value) in signals.into_iter().zip(conditions).zip(values) {
            let condition = Condition::new(condition).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
            all.push((runtime.signal(signal)?, condition, value));
        }
        Ok(Self { all })
    }

    fn signals(&self) -> Vec<Signal> {
        self.all.iter().map(|(signal, ..)| *signal).collect()
    }

    /// The index and value of the first signal that satisfies its condition.
    fn any(&self) -> Option<(usize, i64)> {
        self.all.iter().enumerate().find_map(|(index, (signal, condition, other))| {
            let value = signal.value().load(SeqCst);
            condition.holds(value, *other).then_some((index, value))
        })
    }

    /// The values, if all signals satisfy their conditions.
    fn every(&self) -> Option<Vec<i64>> {
        let values = self.all.iter().map(|(signal, condition, other)| {
            let value = signal.value().load(SeqCst);
            condition.holds(value, *other).then_some(value)
        });
        values.collect()
    }
}

/// Waits until a signal's value satisfies a condition or the timeout expires. Returns the value.
///
/// # Safety
/// Always safe: the handle is looked up.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_signal_wait_scacquire(
    signal: hsa_signal_t,
    condition: u32,
    value: hsa_signal_value_t,
    timeout: u64,
    _hint: u32,
) -> hsa_signal_value_t {
    guard_or(NONE, || wait(signal, condition, value, timeout))
}

/// Waits until a signal's value satisfies a condition or the timeout expires. Returns the value.
///
/// # Safety
/// Always safe: the handle is looked up.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_signal_wait_acquire(
    signal: hsa_signal_t,
    condition: u32,
    value: hsa_signal_value_t,
    timeout: u64,
    _hint: u32,
) -> hsa_signal_value_t {
    guard_or(NONE, || wait(signal, condition, value, timeout))
}

/// Waits until a signal's value satisfies a condition or the timeout expires. Returns the value.
///
/// # Safety
/// Always safe: the handle is looked up.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_signal_wait_relaxed(
    signal: hsa_signal_t,
    condition: u32,
    value: hsa_signal_value_t,
    timeout: u64,
    _hint: u32,
) -> hsa_signal_value_t {
    guard_or(NONE, || wait(signal, condition, value, timeout))
}

/// Waits until one of several signals satisfies its condition or the timeout expires. Returns its index, or `u32::MAX`.
///
/// # Safety
/// The lists must be valid for reads of `count` values, `result` null or valid for a write.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_amd_signal_wait_any(
    count: u32,
    signals: *mut hsa_signal_t,
    conditions: *mut u32,
    values: *mut hsa_signal_value_t,
    timeout: u64,
    _hint: u32,
    result: *mut hsa_signal_value_t,
) -> u32 {
    guard_or(u32::MAX, || {
        let runtime = runtime()?;
        // SAFETY: the caller vouches for the lists.
        let wanted = unsafe { Wanted::new(runtime, count, signals, conditions, values) }?;
        if wanted.all.is_empty() {
            // Without a signal only the timeout could end the wait, which may be unlimited.
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let found = runtime.signals.wait_any_until(deadline(timeout), || wanted.any());
        leaving::after_wait(|| wanted.signals());
        let Some((index, value)) = found else { return Ok(u32::MAX) };
        if !result.is_null() {
            // SAFETY: the caller vouches for it.
            unsafe { put(result, value) }?;
        }
        Ok(index as u32)
    })
}

/// Waits until all of several signals satisfy their conditions or the timeout expires. Returns 0, or `u32::MAX`.
///
/// # Safety
/// The lists must be valid for reads of `count` values, `results` null or valid for as many writes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hsa_amd_signal_wait_all(
    count: u32,
    signals: *mut hsa_signal_t,
    conditions: *mut u32,
    values: *mut hsa_signal_value_t,
    timeout: u64,
    _hint: u32,
    results: *mut hsa_signal_value_t,
) -> u32 {
    guard_or(u32::MAX, || {
        let runtime = runtime()?;
        // SAFETY: the caller vouches for the lists.
        let wanted = unsafe { Wanted::new(runtime, count, signals, conditions, values) }?;
        let found = runtime.signals.wait_any_until(deadline(timeout), || wanted.every());
        leaving::after_wait(|| wanted.signals());
        let Some(values) = found else { return Ok(u32::MAX) };
        if !results.is_null() {
            for (n, value) in values.into_iter().enumerate() {
                // SAFETY: the caller vouches for `count` writes.
                unsafe { put(results.add(n), value) }?;
            }
        }
        Ok(0)
    })
}

pub(super) const WAIT_FUNCTIONS: &[Export] = &[
    export!(hsa_signal_wait_scacquire),
    export!(hsa_signal_wait_acquire),
    export!(hsa_signal_wait_relaxed),
    export!(hsa_amd_signal_wait_any),
    export!(hsa_amd_signal_wait_all),
];
