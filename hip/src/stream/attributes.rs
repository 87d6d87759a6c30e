//! Attributes of streams.

use hip_sys::rocm_7_1::{hipLaunchAttributeSynchronizationPolicy, hipLaunchAttributeValue, hipSynchronizationPolicy};

use super::handle::Stream;
use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::core::settings::WaitPolicy;

/// Converts to C's numbers.
fn raw(policy: WaitPolicy) -> hipSynchronizationPolicy {
    match policy {
        WaitPolicy::Auto => hip_sys::hipSyncPolicyAuto,
        WaitPolicy::Spin => hip_sys::hipSyncPolicySpin,
        WaitPolicy::Yield => hip_sys::hipSyncPolicyYield,
        WaitPolicy::Block => hip_sys::hipSyncPolicyBlockingSync,
    }
}

impl Stream {
    /// Returns how threads wait for the stream (`hipStreamGetAttribute` with `hipStreamAttributeSynchronizationPolicy`,
    /// of ROCm 7.1).
    ///
    /// Of the other attributes, the runtime supports only the priority ([`priority`](Self::priority)), which cannot be
    /// changed.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, Stream};
    /// use hip::device::WaitPolicy;
    ///
    /// let stream = Stream::new(&Device::get(0)?)?;
    /// match stream.set_wait_policy(WaitPolicy::Block) {
    ///     Ok(()) => assert_eq!(stream.wait_policy()?, WaitPolicy::Block),
    ///     Err(error) => eprintln!("a runtime older than 7.1: {error}"),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSymbol`] from a runtime before 7.1; [`Error::InvalidValue`] for a policy that this crate does not
    /// know.
    #[doc(alias("hipStreamGetAttribute", "cuStreamGetAttribute", "cudaStreamGetAttribute"))]
    pub fn wait_policy(&self) -> Result<WaitPolicy> {
        self.device().activate()?;
        let _named = self.inner.named()?;
        let mut value = hipLaunchAttributeValue::default();
        // SAFETY: the stream is alive as long as `inner`; `value` is valid for a write.
        let status = unsafe {
            hip_sys::hipStreamGetAttribute(self.inner.raw(), hipLaunchAttributeSynchronizationPolicy, &mut value)
        };
        check(status, "hipStreamGetAttribute", || format!("the wait policy of {}", self.inner.describe()))?;
        // SAFETY: the field of this attribute, a number for which every value is valid.
        let found = unsafe { value.syncPolicy };
        let known = [WaitPolicy::Auto, WaitPolicy::Spin, WaitPolicy::Yield, WaitPolicy::Block];
        known.into_iter().find(|policy| raw(*policy) == found).ok_or_else(|| Error::InvalidValue {
            what: "the wait policy that the runtime gave for a stream",
            value: found.0.to_string(),
            allowed: "from 1 to 4".to_owned(),
        })
    }

    /// Sets how threads wait for the stream (`hipStreamSetAttribute` with `hipStreamAttributeSynchronizationPolicy`, of
    /// ROCm 7.1).
    ///
    /// # Errors
    /// [`Error::NoSymbol`] from a runtime before 7.1.
    #[doc(alias("hipStreamSetAttribute", "cuStreamSetAttribute", "cudaStreamSetAttribute"))]
    pub fn set_wait_policy(&self, policy: WaitPolicy) -> Result<()> {
        self.device().activate()?;
        let _named = self.inner.named()?;
        let value = hipLaunchAttributeValue { syncPolicy: raw(policy) };
        // SAFETY: the stream is alive as long as `inner`; the value is valid for a read, and is of this attribute.
        let status = unsafe {
            hip_sys::hipStreamSetAttribute(self.inner.raw(), hipLaunchAttributeSynchronizationPolicy, &value)
        };
        check(status, "hipStreamSetAttribute", || format!("{policy:?}, {}", self.inner.describe()))
    }

    /// Copies all attributes from another stream of the device (`hipStreamCopyAttributes`, of ROCm 7.2).
    ///
    /// # Errors
    /// [`Error::WrongDevice`]; [`Error::NoSymbol`] from a runtime before 7.2.
    #[doc(alias("hipStreamCopyAttributes", "cuStreamCopyAttributes", "cudaStreamCopyAttributes"))]
    #[cfg(feature = "rocm-7-2")]
    pub fn copy_attributes_from(&self, source: &Self) -> Result<()> {
        self.device().expect(source.device(), "the stream with the attributes")?;
        self.device().activate()?;
        let _named = (self.inner.named()?, source.inner.named()?);
        // SAFETY: both streams are alive.
        let status = unsafe { hip_sys::hipStreamCopyAttributes(self.inner.raw(), source.inner.raw()) };
        check(status, "hipStreamCopyAttributes", || {
            format!("from {} to {}", source.inner.describe(), self.inner.describe())
        })
    }
}
