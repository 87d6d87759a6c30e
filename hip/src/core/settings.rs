//! Identity, limits and settings of a device.

use std::ffi::{CString, c_char, c_uint};
use std::fmt;

use crate::core::call::check;
use crate::core::context;
use crate::core::device_table::Device;
use crate::core::error::{Error, Result};
use crate::core::lock::Mutex;
use crate::core::per_device::PerDevice;
use crate::core::properties::PciAddress;

/// The stack size in bytes that the loaded Rust kernels require, per device: the limit is not set lower.
static STACK_NEEDED: PerDevice<Mutex<usize>> = PerDevice::new();

/// A device's unique identifier (`hipUUID`), printed as `GPU-` and 32 digits.
///
/// ROCm's runtime puts text into the 16 bytes. `HIP_VISIBLE_DEVICES` accepts that text with the prefix `GPU-`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// Returns the 16 bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GPU-")?;
        if self.0.iter().all(u8::is_ascii_alphanumeric) {
            return self.0.iter().try_for_each(|&byte| write!(f, "{}", char::from(byte)));
        }
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A limit for [`Device::limit`] (`hipLimit_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Stack of each thread, in bytes.
    StackSize,
    /// Buffer of `printf` in kernels, in bytes.
    PrintfBuffer,
    /// Heap of `malloc` in kernels, in bytes.
    MallocHeap,
}

impl Limit {
    fn raw(self) -> hip_sys::hipLimit_t {
        match self {
            Self::StackSize => hip_sys::hipLimitStackSize,
            Self::PrintfBuffer => hip_sys::hipLimitPrintfFifoSize,
            Self::MallocHeap => hip_sys::hipLimitMallocHeapSize,
        }
    }
}

/// Preferred use of a compute unit's fast memory (`hipFuncCache_t`): a hint that AMD's devices ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CachePreference {
    /// No preference.
    None,
    /// Prefer shared memory.
    Shared,
    /// Prefer level 1 cache.
    L1,
    /// Equal shares.
    Equal,
}

/// How a thread waits for the device (`hipDeviceSchedule*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WaitPolicy {
    /// The runtime decides.
    #[default]
    Auto,
    /// Polls continuously: lowest latency.
    Spin,
    /// Polls, and yields to other threads in between.
    Yield,
    /// Sleeps.
    Block,
}

impl Device {
    /// Returns the device's unique identifier (`hipDeviceGetUuid`).
    #[doc(alias("hipDeviceGetUuid", "cuDeviceGetUuid"))]
    pub fn uuid(&self) -> Result<Uuid> {
        context::check_caller()?;
        let mut uuid = hip_sys::hipUUID::default();
        // SAFETY: `uuid` is valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetUuid(&mut uuid, self.raw()) };
        check(status, "hipDeviceGetUuid", || format!("device {}", self.index()))?;
        Ok(Uuid(uuid.bytes.map(|byte| byte as u8)))
    }

    /// Returns the device's address on the PCI bus as the runtime spells it (`hipDeviceGetPCIBusId`).
    #[doc(alias("hipDeviceGetPCIBusId", "cuDeviceGetPCIBusId", "cudaDeviceGetPCIBusId"))]
    pub fn pci_bus_id(&self) -> Result<PciAddress> {
        context::check_caller()?;
        let mut text = [0 as c_char; 32];
        // SAFETY: `text` has room for 32 characters.
        let status = unsafe { hip_sys::hipDeviceGetPCIBusId(text.as_mut_ptr(), text.len() as i32, self.raw()) };
        check(status, "hipDeviceGetPCIBusId", || format!("device {}", self.index()))?;
        crate::core::properties::read::text(&text).parse()
    }

    /// Returns the device at an address on the PCI bus (`hipDeviceGetByPCIBusId`).
    ///
    /// # Errors
    /// The runtime's status, if it sees no device at the address.
    #[doc(alias("hipDeviceGetByPCIBusId", "cuDeviceGetByPCIBusId", "cudaDeviceGetByPCIBusId"))]
    pub fn by_pci(address: PciAddress) -> Result<Self> {
        Self::count()?;
        context::check_caller()?;
        let text = address.to_string();
        let c_text = CString::new(text.as_str()).unwrap_or_default();
        let mut index = 0;
        // SAFETY: `index` is valid for a write; the text is terminated.
        let status = unsafe { hip_sys::hipDeviceGetByPCIBusId(&mut index, c_text.as_ptr()) };
        check(status, "hipDeviceGetByPCIBusId", || format!("the device at {text}"))?;
        Self::get(usize::try_from(index).unwrap_or(usize::MAX))
    }

    /// Returns the device with a unique identifier, or `None` if the runtime sees no such device.
    pub fn by_uuid(uuid: Uuid) -> Result<Option<Self>> {
        for device in Self::all()? {
            if device.uuid()? == uuid {
                return Ok(Some(device));
            }
        }
        Ok(None)
    }

    /// Returns a limit of kernels' resources (`hipDeviceGetLimit`).
    #[doc(alias("hipDeviceGetLimit", "cuCtxGetLimit", "cudaDeviceGetLimit"))]
    pub fn limit(&self, limit: Limit) -> Result<usize> {
        self.activate()?;
        let mut value = 0usize;
        // SAFETY: `value` is valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetLimit(&mut value, limit.raw()) };
        check(status, "hipDeviceGetLimit", || format!("{limit:?} of device {}", self.index()))?;
        Ok(value)
    }

    /// Sets a limit (`hipDeviceSetLimit`), for later launches.
    ///
    /// # Errors
    /// The runtime's status, if it rejects the change or the value; [`Error::InvalidValue`](crate::Error::InvalidValue)
    /// for a smaller stack than a Rust kernel loaded on the device requires (`#[kernel(stack(..))]`).
    #[doc(alias("hipDeviceSetLimit", "cuCtxSetLimit", "cudaDeviceSetLimit"))]
    pub fn set_limit(&self, limit: Limit, value: usize) -> Result<()> {
        // Stays locked until the limit is set.
        self.activate()?;
        let needed = STACK_NEEDED.of(*self).lock();
        if limit == Limit::StackSize && value < *needed {
            return Err(Error::InvalidValue {
                what: "the stack of each thread",
                value: format!("{value} bytes on device {}", self.index()),
                allowed: format!("{needed} bytes or more: a kernel in Rust that was loaded states that it needs them"),
            });
        }
        self.set_limit_unchecked(limit, value)
    }

    /// Ensures that each thread has at least this stack, and that the limit is never set lower.
    pub(crate) fn require_stack(&self, bytes: usize) -> Result<()> {
        let mut needed = STACK_NEEDED.of(*self).lock();
        if self.limit(Limit::StackSize)? < bytes {
            self.set_limit_unchecked(Limit::StackSize, bytes)?;
        }
        *needed = bytes.max(*needed);
        Ok(())
    }

    fn set_limit_unchecked(&self, limit: Limit, value: usize) -> Result<()> {
        self.activate()?;
        // SAFETY: takes numbers.
        let status = unsafe { hip_sys::hipDeviceSetLimit(limit.raw(), value) };
        check(status, "hipDeviceSetLimit", || format!("{limit:?} = {value} on device {}", self.index()))
    }

    /// Returns the preferred use of fast memory (`hipDeviceGetCacheConfig`).
    #[doc(alias("hipDeviceGetCacheConfig", "cudaDeviceGetCacheConfig", "cudaThreadGetCacheConfig"))]
    pub fn cache_preference(&self) -> Result<CachePreference> {
        self.activate()?;
        let mut config = hip_sys::hipFuncCachePreferNone;
        // SAFETY: `config` is valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetCacheConfig(&mut config) };
        check(status, "hipDeviceGetCacheConfig", || format!("device {}", self.index()))?;
        Ok(match config {
            hip_sys::hipFuncCachePreferShared => CachePreference::Shared,
            hip_sys::hipFuncCachePreferL1 => CachePreference::L1,
            hip_sys::hipFuncCachePreferEqual => CachePreference::Equal,
            _ => CachePreference::None,
        })
    }

    /// Sets the preferred use of fast memory (`hipDeviceSetCacheConfig`).
    #[doc(alias("hipDeviceSetCacheConfig", "cudaDeviceSetCacheConfig", "cudaThreadSetCacheConfig"))]
    pub fn set_cache_preference(&self, preference: CachePreference) -> Result<()> {
        let config = match preference {
            CachePreference::None => hip_sys::hipFuncCachePreferNone,
            CachePreference::Shared => hip_sys::hipFuncCachePreferShared,
            CachePreference::L1 => hip_sys::hipFuncCachePreferL1,
            CachePreference::Equal => hip_sys::hipFuncCachePreferEqual,
        };
        self.activate()?;
        // SAFETY: takes a number.
        let status = unsafe { hip_sys::hipDeviceSetCacheConfig(config) };
        check(status, "hipDeviceSetCacheConfig", || format!("{preference:?} on device {}", self.index()))
    }

    /// Returns the width of a bank of shared memory, in bytes (`hipDeviceGetSharedMemConfig`): always 4 on AMD's
    /// devices.
    #[doc(alias("hipDeviceGetSharedMemConfig", "cudaDeviceGetSharedMemConfig"))]
    pub fn shared_bank_bytes(&self) -> Result<u32> {
        self.activate()?;
        let mut config = hip_sys::hipSharedMemBankSizeDefault;
        // SAFETY: `config` is valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetSharedMemConfig(&mut config) };
        check(status, "hipDeviceGetSharedMemConfig", || format!("device {}", self.index()))?;
        Ok(if config == hip_sys::hipSharedMemBankSizeEightByte { 8 } else { 4 })
    }

    /// Returns how threads wait for the device (`hipGetDeviceFlags`).
    #[doc(alias("hipGetDeviceFlags", "cudaGetDeviceFlags"))]
    pub fn wait_policy(&self) -> Result<WaitPolicy> {
        Ok(match self.flags()? & hip_sys::hipDeviceScheduleMask {
            hip_sys::hipDeviceScheduleSpin => WaitPolicy::Spin,
            hip_sys::hipDeviceScheduleYield => WaitPolicy::Yield,
            hip_sys::hipDeviceScheduleBlockingSync => WaitPolicy::Block,
            _ => WaitPolicy::Auto,
        })
    }

    /// Sets how threads wait for the device (`hipSetDeviceFlags`).
    #[doc(alias("hipSetDeviceFlags", "cudaSetDeviceFlags"))]
    pub fn set_wait_policy(&self, policy: WaitPolicy) -> Result<()> {
        let schedule = match policy {
            WaitPolicy::Auto => hip_sys::hipDeviceScheduleAuto,
            WaitPolicy::Spin => hip_sys::hipDeviceScheduleSpin,
            WaitPolicy::Yield => hip_sys::hipDeviceScheduleYield,
            WaitPolicy::Block => hip_sys::hipDeviceScheduleBlockingSync,
        };
        let flags = self.flags()? & !hip_sys::hipDeviceScheduleMask | schedule;
        // SAFETY: takes a number; `flags` has made the device current.
        let status = unsafe { hip_sys::hipSetDeviceFlags(flags) };
        check(status, "hipSetDeviceFlags", || format!("{policy:?} on device {}", self.index()))
    }

    fn flags(&self) -> Result<c_uint> {
        self.activate()?;
        let mut flags: c_uint = 0;
        // SAFETY: `flags` is valid for a write.
        let status = unsafe { hip_sys::hipGetDeviceFlags(&mut flags) };
        check(status, "hipGetDeviceFlags", || format!("device {}", self.index()))?;
        Ok(flags)
    }

    /// Returns whether this process uses the device, so that its primary context is active
    /// (`hipDevicePrimaryCtxGetState`).
    #[doc(alias("hipDevicePrimaryCtxGetState", "cuDevicePrimaryCtxGetState"))]
    pub fn is_active(&self) -> Result<bool> {
        context::check_caller()?;
        let (mut flags, mut active) = (0, 0);
        // SAFETY: both are valid for a write.
        let status = unsafe { hip_sys::hipDevicePrimaryCtxGetState(self.raw(), &mut flags, &mut active) };
        check(status, "hipDevicePrimaryCtxGetState", || format!("device {}", self.index()))?;
        Ok(active != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_prints_as_the_runtime_wants_it() {
        assert_eq!(Uuid(*b"0123456789abcdef").to_string(), "GPU-0123456789abcdef");
        assert_eq!(Uuid([0xab; 16]).to_string(), format!("GPU-{}", "ab".repeat(16)));
    }
}
