//! Devices that reach each other's memory.

use std::ffi::c_int;

use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::core::lock::RwLock;
use crate::core::peer::{Link, LinkType, PeerAttribute};
use crate::core::per_device::PerDevice;
use crate::memory::admission::{expect_none_here, wait_for_admitted};

/// `hipErrorPeerAccessAlreadyEnabled`
const ALREADY_ENABLED: Status = Status(704);
/// `hipErrorPeerAccessNotEnabled`
const NOT_ENABLED: Status = Status(705);

/// The devices whose memory a device may use.
#[derive(Default)]
struct Peers(RwLock<Vec<usize>>);

impl Peers {
    fn contains(&self, index: usize) -> bool {
        self.0.read().contains(&index)
    }

    fn set(&self, index: usize, enabled: bool) {
        let mut peers = self.0.write();
        peers.retain(|&peer| peer != index);
        if enabled {
            peers.push(index);
        }
    }
}

/// Those of each device.
static PEERS: PerDevice<Peers> = PerDevice::new();

impl Device {
    fn peers(&self) -> &'static Peers {
        PEERS.of(*self)
    }

    /// Whether kernels on this device could use the memory of `peer` (`hipDeviceCanAccessPeer`); `false` for itself.
    #[doc(alias("hipDeviceCanAccessPeer", "cuDeviceCanAccessPeer", "cudaDeviceCanAccessPeer"))]
    pub fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        context::check_caller()?;
        let mut can: c_int = 0;
        // SAFETY: `can` is valid for a write; both are devices that there are.
        let status = unsafe { hip_sys::hipDeviceCanAccessPeer(&mut can, self.raw(), peer.raw()) };
        check(status, "hipDeviceCanAccessPeer", || self.pair(peer))?;
        Ok(can != 0)
    }

    /// Lets kernels on this device use the memory of `peer` (`hipDeviceEnablePeerAccess`), all that `hipMalloc` gives
    /// ([`DeviceBuffer::uninit`](crate::DeviceBuffer::uninit) and the like): launches here then take its buffers. Memory of
    /// pools has its own access, see [`MemoryPool::set_access`](crate::memory::pool::MemoryPool::set_access). One way only, and no error if it
    /// was on already. Copies between devices work without.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::Device;
    ///
    /// let devices = Device::all()?;
    /// if let [first, second, ..] = &devices[..] {
    ///     if first.can_access_peer(second)? {
    ///         first.enable_peer_access(second)?;
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the device itself; `hipErrorInvalidDevice` where [`can_access_peer`](Self::can_access_peer) is
    /// `false`.
    #[doc(alias("hipDeviceEnablePeerAccess", "cudaDeviceEnablePeerAccess"))]
    pub fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        self.expect_another(peer)?;
        self.activate()?;
        // SAFETY: takes a device that there is; 0 is the only flag.
        let status = unsafe { hip_sys::hipDeviceEnablePeerAccess(peer.raw(), 0) };
        match check(status, "hipDeviceEnablePeerAccess", || self.pair(peer)) {
            Err(error) if error.status() != Some(ALREADY_ENABLED) => Err(error),
            _ => {
                self.peers().set(peer.index(), true);
                Ok(())
            }
        }
    }

    /// Takes back what [`enable_peer_access`](Self::enable_peer_access) gave (`hipDeviceDisablePeerAccess`), after all work on
    /// this device. No error if it was off already.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the device itself, and in a `tracing` subscriber. An error of the work comes back here.
    #[doc(alias("hipDeviceDisablePeerAccess", "cudaDeviceDisablePeerAccess"))]
    pub fn disable_peer_access(&self, peer: &Self) -> Result<()> {
        self.expect_another(peer)?;
        expect_none_here()?;
        // First no new work is admitted, then the old is waited for.
        self.peers().set(peer.index(), false);
        wait_for_admitted();
        self.synchronize()?;
        // SAFETY: takes a device that there is.
        let status = unsafe { hip_sys::hipDeviceDisablePeerAccess(peer.raw()) };
        match check(status, "hipDeviceDisablePeerAccess", || self.pair(peer)) {
            Err(error) if error.status() != Some(NOT_ENABLED) => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether [`enable_peer_access`](Self::enable_peer_access) was called for `peer`, and not taken back.
    #[must_use]
    pub fn has_peer_access(&self, peer: Self) -> bool {
        self.peers().contains(peer.index())
    }

    /// What joins this device to `peer` (`hipExtGetLinkTypeAndHopCount`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the device itself.
    #[doc(alias("hipExtGetLinkTypeAndHopCount"))]
    pub fn link_to(&self, peer: &Self) -> Result<Link> {
        self.expect_another(peer)?;
        context::check_caller()?;
        let (mut kind, mut hops) = (0, 0);
        // SAFETY: both are valid for a write; the devices are two that there are.
        let status = unsafe { hip_sys::hipExtGetLinkTypeAndHopCount(self.raw(), peer.raw(), &mut kind, &mut hops) };
        check(status, "hipExtGetLinkTypeAndHopCount", || self.pair(peer))?;
        Ok(Link { kind: LinkType::from_raw(kind), hops })
    }

    /// One attribute of the way to `peer` (`hipDeviceGetP2PAttribute`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the device itself.
    #[doc(alias("hipDeviceGetP2PAttribute", "cuDeviceGetP2PAttribute", "cudaDeviceGetP2PAttribute"))]
    pub fn peer_attribute(&self, peer: &Self, attribute: PeerAttribute) -> Result<i32> {
        self.expect_another(peer)?;
        context::check_caller()?;
        let mut value: c_int = 0;
        // SAFETY: `value` is valid for a write; the devices are two that there are.
        let status = unsafe { hip_sys::hipDeviceGetP2PAttribute(&mut value, attribute.raw(), self.raw(), peer.raw()) };
        check(status, "hipDeviceGetP2PAttribute", || format!("{attribute:?} of {}", self.pair(peer)))?;
        Ok(value)
    }

    fn expect_another(&self, peer: &Self) -> Result<()> {
        if self != peer {
            return Ok(());
        }
        Err(Error::InvalidValue {
            what: "the peer of a device",
            value: format!("device {}", peer.index()),
            allowed: "another than the device itself".to_owned(),
        })
    }

    fn pair(&self, peer: &Self) -> String {
        format!("device {} and its peer {}", self.index(), peer.index())
    }
}
