//! Peer access: which devices can access the memory of other devices.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use amdgpu_sim::Rights;

use crate::device::Device;
use crate::memory::{AddressMap, Block, Kind};

/// Pairs of device ordinals: the first has access to the memory of the second.
#[derive(Default)]
pub(crate) struct Peers(RwLock<Vec<(usize, usize)>>);

/// A guard: while it exists, no access right changes.
pub(crate) struct Access<'a>(RwLockReadGuard<'a, Vec<(usize, usize)>>);

impl Peers {
    pub(crate) fn hold(&self) -> Access<'_> {
        Access(self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Enables or disables `device`'s access to the memory of `peer`. False if nothing changes. No work may run that
    /// relies on the current access.
    pub(crate) fn change(
        &self,
        devices: &[Device],
        blocks: &AddressMap,
        device: &Device,
        peer: &Device,
        allowed: bool,
    ) -> bool {
        let mut pairs = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let pair = (device.ordinal, peer.ordinal);
        if pairs.contains(&pair) == allowed {
            return false;
        }
        if allowed {
            pairs.push(pair);
        } else {
            pairs.retain(|other| *other != pair);
        }
        let rights = rights(&pairs, devices, peer);
        let of_peer = |block: &Block| {
            matches!(block.kind, Kind::Device | Kind::Opened | Kind::Imported { .. })
                && block.device == peer.ordinal
                && block.share.is_none()
        };
        for block in blocks.all(of_peer) {
            // An allocation that is freed concurrently needs no rights any more.
            drop(peer.gpu.memory().set_rights(block.allocation(), rights));
        }
        true
    }
}

impl Access<'_> {
    /// The agents that may access plain memory of `owner`.
    pub(crate) fn rights(&self, devices: &[Device], owner: &Device) -> Rights {
        rights(&self.0, devices, owner)
    }
}

fn rights(pairs: &[(usize, usize)], devices: &[Device], owner: &Device) -> Rights {
    let others = pairs.iter().filter(|(_, to)| *to == owner.ordinal).map(|(from, _)| &devices[*from]);
    Rights::full(others.chain([owner]).map(|device| device.gpu.agent()).collect())
}
