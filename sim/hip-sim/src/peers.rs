//! Which devices have access to the memory of others.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use amdgpu_sim::Rights;

use crate::memory::Kind;
use crate::runtime::{Device, Runtime};

/// Pairs of devices by number: the first reaches the memory of the second.
#[derive(Default)]
pub(crate) struct Peers(RwLock<Vec<(usize, usize)>>);

/// While it is there, nobody's access changes.
pub(crate) struct Access<'a>(RwLockReadGuard<'a, Vec<(usize, usize)>>);

impl Peers {
    pub(crate) fn hold(&self) -> Access<'_> {
        Access(self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives `device` access to the memory of `peer`, or takes it. False if it is so already.
    pub(crate) fn change(&self, runtime: &Runtime, device: &Device, peer: &Device, allowed: bool) -> bool {
        // What runs may count on the access.
        runtime.drain(Some(device.ordinal));
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
        let rights = rights(&pairs, runtime, peer);
        let of_peer = |block: &crate::memory::Block| {
            matches!(block.kind, Kind::Device | Kind::Opened | Kind::Imported { .. })
                && block.device == peer.ordinal
                && block.share.is_none()
        };
        for block in runtime.memory.all(of_peer) {
            // One that is freed at this moment needs no rights any more.
            drop(runtime.memory().set_rights(block.allocation(), rights));
        }
        true
    }
}

impl Access<'_> {
    /// Who may use plain memory of `owner`.
    pub(crate) fn rights(&self, runtime: &Runtime, owner: &Device) -> Rights {
        rights(&self.0, runtime, owner)
    }
}

fn rights(pairs: &[(usize, usize)], runtime: &Runtime, owner: &Device) -> Rights {
    let others = pairs.iter().filter(|(_, to)| *to == owner.ordinal).map(|(from, _)| &runtime.devices[*from]);
    Rights::full(others.chain([owner]).map(|device| device.gpu.agent()).collect())
}
