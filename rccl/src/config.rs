//! The configuration of a communicator.

use std::ffi::{CString, c_int};
use std::ptr;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::library;
use crate::raw_config::RawConfig;

/// The default limit of a communicator's waits.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Options of a communicator (`ncclConfig_t`). The library chooses the options that are not set.
///
/// ```
/// use std::time::Duration;
/// let config = rccl::Config::new().timeout(Duration::from_secs(20)).name("gradients").max_ctas(8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "ncclConfig_t")]
pub struct Config {
    pub(crate) timeout: Duration,
    pub(crate) blocking: bool,
    pub(crate) check_calls: bool,
    name: Option<String>,
    network: Option<String>,
    numbers: [(Field, Option<i32>); 6],
}

/// A numeric option of the configuration, and the interface version that introduced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    MinCtas,
    MaxCtas,
    ClusterSize,
    SplitShare,
    TrafficClass,
    ShrinkShare,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    /// Creates the default configuration: waits end after five minutes; calls do not block in the library.
    #[must_use]
    pub fn new() -> Self {
        use Field::{ClusterSize, MaxCtas, MinCtas, ShrinkShare, SplitShare, TrafficClass};
        let numbers = [MinCtas, MaxCtas, ClusterSize, SplitShare, TrafficClass, ShrinkShare].map(|field| (field, None));
        Self { timeout: TIMEOUT, blocking: false, check_calls: false, name: None, network: None, numbers }
    }

    /// Sets the limit of waits: for the other ranks when the communicator is made, for connections when a call needs
    /// new ones, and for queued work in [`Communicator::synchronize`](crate::Communicator::synchronize).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets whether calls block in the library until they are done (`blocking` of `ncclConfig_t`). The default is
    /// false: the library works on its own thread, and this crate waits for it with a deadline. Blocking calls save
    /// that thread, and some microseconds per call, but no deadline ends a call that waits for a lost rank. Waits for
    /// queued work have a deadline in both cases.
    #[must_use]
    pub fn blocking(mut self, blocking: bool) -> Self {
        self.blocking = blocking;
        self
    }

    /// Sets whether all ranks compare their calls before each call: the collective, number of elements, type, operator
    /// and root. A mismatch is an [`Error::Mismatch`] on every rank that takes part, where the library would hang or
    /// return wrong numbers. Each call then waits for all ranks.
    #[must_use]
    pub fn check_calls(mut self, check: bool) -> Self {
        self.check_calls = check;
        self
    }

    /// Sets a name for the library's log (`commName`).
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the network to use (`netName`): `IB`, `Socket`, or a plugin's name.
    #[must_use]
    pub fn network(mut self, network: impl Into<String>) -> Self {
        self.network = Some(network.into());
        self
    }

    fn with(mut self, field: Field, value: i32) -> Self {
        self.numbers.iter_mut().filter(|(other, _)| *other == field).for_each(|(_, place)| *place = Some(value));
        self
    }

    /// Sets the minimum number of workgroups (channels) of a collective (`minCTAs`).
    #[must_use]
    pub fn min_ctas(self, count: i32) -> Self {
        self.with(Field::MinCtas, count)
    }

    /// Sets the maximum number of workgroups (channels) of a collective (`maxCTAs`).
    #[must_use]
    pub fn max_ctas(self, count: i32) -> Self {
        self.with(Field::MaxCtas, count)
    }

    /// Sets the size of clusters of workgroups (`cgaClusterSize`), on NVIDIA GPUs.
    #[must_use]
    pub fn cluster_size(self, size: i32) -> Self {
        self.with(Field::ClusterSize, size)
    }

    /// Sets whether communicators split from this one share its resources (`splitShare`).
    #[must_use]
    pub fn split_share(self, share: bool) -> Self {
        self.with(Field::SplitShare, share.into())
    }

    /// Sets the traffic class of the network (`trafficClass`). Since ROCm 7.0.
    #[must_use]
    pub fn traffic_class(self, class: i32) -> Self {
        self.with(Field::TrafficClass, class)
    }

    /// Sets whether communicators shrunk from this one share its resources (`shrinkShare`). Since ROCm 7.1.
    #[must_use]
    pub fn shrink_share(self, share: bool) -> Self {
        self.with(Field::ShrinkShare, share.into())
    }

    /// Returns the C form for the loaded library, with all memory that it points to.
    pub(crate) fn to_raw(&self) -> Result<OwnedConfig> {
        let version = library::version_number()?;
        let mut raw = RawConfig::new(version);
        raw.blocking = self.blocking.into();
        let c_string = |what, text: &Option<String>| match text {
            Some(text) => CString::new(text.as_str())
                .map(Some)
                .map_err(|_| Error::invalid(what, format!("{text:?}"), "without zero bytes")),
            None => Ok(None),
        };
        let name = c_string("a communicator's name", &self.name)?;
        let network = c_string("a network's name", &self.network)?;
        let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        raw.net_name = pointer(&network);
        // The name is for the log. If the library has no field for it, it is omitted.
        raw.comm_name = pointer(&name);
        for (field, value) in self.numbers {
            let Some(value) = value else { continue };
            let (place, since) = place(&mut raw, field);
            if version < since {
                let allowed = format!("left out: the library is of {version}, and has it since {since}");
                return Err(Error::invalid("an option", format!("{field:?}"), allowed));
            }
            let least = if matches!(field, Field::MinCtas | Field::MaxCtas) { 1 } else { 0 };
            if value < least {
                return Err(Error::invalid("an option", format!("{field:?} of {value}"), format!("{least} or more")));
            }
            *place = value;
        }
        Ok(OwnedConfig { raw: Box::new(raw), _texts: [name, network] })
    }
}

/// Returns a reference to an option, and the version that introduced it.
fn place(raw: &mut RawConfig, field: Field) -> (&mut c_int, u32) {
    match field {
        Field::MinCtas => (&mut raw.min_ctas, 21700),
        Field::MaxCtas => (&mut raw.max_ctas, 21700),
        Field::ClusterSize => (&mut raw.cga_cluster_size, 21700),
        Field::SplitShare => (&mut raw.split_share, 21800),
        Field::TrafficClass => (&mut raw.traffic_class, 22600),
        Field::ShrinkShare => (&mut raw.shrink_share, 22700),
    }
}

/// A configuration with its strings. The library keeps pointers to them, so it must live as long as the communicator.
#[derive(Debug)]
pub(crate) struct OwnedConfig {
    pub(crate) raw: Box<RawConfig>,
    _texts: [Option<CString>; 2],
}

// SAFETY: the pointers are to the strings, which move with the configuration.
unsafe impl Send for OwnedConfig {}
// SAFETY: nothing is changed through a shared reference.
unsafe impl Sync for OwnedConfig {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw_config::{NEWEST, UNDEFINED};

    #[test]
    fn a_config_is_as_large_as_that_of_its_version() {
        let size = |version| RawConfig::new(version).size;
        assert_eq!(
            [22005, 22606, 22707, 22809, 22907, 23004, 23007, 23203, 29901].map(size),
            [48, 48, 72, 80, 88, 96, 96, 120, 120]
        );
        assert_eq!(RawConfig::new(29901).version, NEWEST);
    }

    #[test]
    fn all_bytes_that_a_library_reads_are_fields() {
        // The size of a version includes C's padding, which NCCL 2.30.5 and newer read as one of their fields.
        let fields = std::mem::offset_of!(RawConfig, padding) + size_of::<c_int>();
        assert_eq!(fields, size_of::<RawConfig>());
        let raw = RawConfig::new(23004);
        assert_eq!((raw.size, raw.graph_stream_ordering), (96, UNDEFINED));
    }

    #[cfg(feature = "rocm-10-0")]
    #[test]
    fn a_config_has_the_layout_of_each_release() {
        macro_rules! same {
            ($($level:ident: $($ours:ident = $theirs:ident),*;)*) => {$(
                let raw = RawConfig::new(rccl_sys::$level::NCCL_VERSION_CODE);
                assert_eq!(raw.size, size_of::<rccl_sys::$level::ncclConfig_t>(), stringify!($level));
                $(assert_eq!(
                    std::mem::offset_of!(RawConfig, $ours),
                    std::mem::offset_of!(rccl_sys::$level::ncclConfig_t, $theirs),
                    concat!(stringify!($level), " ", stringify!($theirs))
                );)*
            )*};
        }
        same! {
            rocm_6_2: blocking = blocking, net_name = netName, split_share = splitShare;
            rocm_6_4: min_ctas = minCTAs, max_ctas = maxCTAs, cga_cluster_size = cgaClusterSize;
            rocm_7_0: traffic_class = trafficClass;
            rocm_7_2: comm_name = commName, shrink_share = shrinkShare, nvls_ctas = nvlsCTAs;
            rocm_10_0: channels_per_net_peer = nChannelsPerNetPeer, max_p2p_peers = maxP2pPeers;
        }
    }

    #[test]
    fn options_set_one_number_each() {
        let config = Config::new().min_ctas(2).max_ctas(4).split_share(true);
        let set: Vec<_> = config.numbers.iter().filter_map(|(field, value)| Some((*field, (*value)?))).collect();
        assert_eq!(set, [(Field::MinCtas, 2), (Field::MaxCtas, 4), (Field::SplitShare, 1)]);
    }
}
