//! Peer access: access of devices to each other's memory.

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

/// The peers of each device.
static PEERS: PerDevice<Peers> = PerDevice::new();

impl Device {
    fn peers(&self) -> &'static Peers {
        PEERS.of(*self)
    }

    /// Returns whether kernels on this device can access the memory of `peer` (`hipDeviceCanAccessPeer`); `false` for
    /// itself.
    #[doc(alias("hipDeviceCanAccessPeer", "cuDeviceCanAccessPeer", "cudaDeviceCanAccessPeer"))]
    pub fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        context::check_caller()?;
        let mut can: c_int = 0;
        // SAFETY: `can` is valid for a write; both devices exist.
        let status = unsafe { hip_sys::hipDeviceCanAccessPeer(&mut can, self.raw(), peer.raw()) };
        check(status, "hipDeviceCanAccessPeer", || self.pair(peer))?;
        Ok(can != 0)
    }

    /// Allows kernels on this device to access the memory of `peer` (`hipDeviceEnablePeerAccess`): all memory of
    /// `hipMalloc` ([`DeviceBuffer::uninit`](crate::DeviceBuffer::uninit) and the like). Launches on this device then
    /// accept its buffers. Access to memory pools is separate; see
    /// [`MemoryPool::set_access`](crate::memory::pool::MemoryPool::set_access). It applies in one direction only.
    /// Enabling it again is not an error. Copies between devices do not need it.
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
    /// [`Error::InvalidValue`] for the device itself; `hipErrorInvalidDevice` if
    /// [`can_access_peer`](Self::can_access_peer) is `false`.
    #[doc(alias("hipDeviceEnablePeerAccess", "cudaDeviceEnablePeerAccess"))]
    pub fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        self.expect_another(peer)?;
        self.activate()?;
        // SAFETY: the device exists; 0 is the only flag that HIP defines.
        let status = unsafe { hip_sys::hipDeviceEnablePeerAccess(peer.raw(), 0) };
        match check(status, "hipDeviceEnablePeerAccess", || self.pair(peer)) {
            Err(error) if error.status() != Some(ALREADY_ENABLED) => Err(error),
            _ => {
                self.peers().set(peer.index(), true);
                Ok(())
            }
        }
    }

    /// Reverts [`enable_peer_access`](Self::enable_peer_access) (`hipDeviceDisablePeerAccess`), after all work on this
    /// device is done. Disabling it again is not an error.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the device itself, and in a `tracing` subscriber. Errors of the work.
    #[doc(alias("hipDeviceDisablePeerAccess", "cudaDeviceDisablePeerAccess"))]
    pub fn disable_peer_access(&self, peer: &Self) -> Result<()> {
        self.expect_another(peer)?;
        expect_none_here()?;
        // First stop admitting work, then wait for the admitted work.
        self.peers().set(peer.index(), false);
        wait_for_admitted();
        self.synchronize()?;
        // SAFETY: the device exists.
        let status = unsafe { hip_sys::hipDeviceDisablePeerAccess(peer.raw()) };
        match check(status, "hipDeviceDisablePeerAccess", || self.pair(peer)) {
            Err(error) if error.status() != Some(NOT_ENABLED) => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns whether [`enable_peer_access`](Self::enable_peer_access) is in effect for `peer`.
    #[must_use]
    pub fn has_peer_access(&self, peer: Self) -> bool {
        self.peers().contains(peer.index())
    }

    /// Returns the link from this device to `peer` (`hipExtGetLinkTypeAndHopCount`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the device itself.
    #[doc(alias("hipExtGetLinkTypeAndHopCount"))]
    pub fn link_to(&self, peer: &Self) -> Result<Link> {
        self.expect_another(peer)?;
        context::check_caller()?;
        let (mut kind, mut hops) = (0, 0);
        // SAFETY: both are valid for a write; both devices exist.
        let status = unsafe { hip_sys::hipExtGetLinkTypeAndHopCount(self.raw(), peer.raw(), &mut kind, &mut hops) };
        check(status, "hipExtGetLinkTypeAndHopCount", || self.pair(peer))?;
        Ok(Link { kind: LinkType::from_raw(kind), hops })
    }

    /// Returns an attribute of the link to `peer` (`hipDeviceGetP2PAttribute`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the device itself.
    #[doc(alias("hipDeviceGetP2PAttribute", "cuDeviceGetP2PAttribute", "cudaDeviceGetP2PAttribute"))]
    pub fn peer_attribute(&self, peer: &Self, attribute: PeerAttribute) -> Result<i32> {
        self.expect_another(peer)?;
        context::check_caller()?;
        let mut value: c_int = 0;
        // SAFETY: `value` is valid for a write; both devices exist.
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
