//! Links between devices, and attributes of pairs of devices.

use hip_sys::{
    hipDevP2PAttrAccessSupported, hipDevP2PAttrHipArrayAccessSupported, hipDevP2PAttrNativeAtomicSupported,
    hipDevP2PAttrPerformanceRank, hipDeviceP2PAttr,
};

/// The kind of link between two devices ([`Device::link_to`](crate::Device::link_to)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkType {
    /// AMD HyperTransport.
    HyperTransport,
    /// Intel QuickPath.
    QuickPath,
    /// PCI Express.
    Pcie,
    /// InfiniBand.
    InfiniBand,
    /// AMD Infinity Fabric (xGMI).
    Xgmi,
    /// Another kind, as the runtime's number (`HSA_AMD_LINK_INFO_TYPE_*`).
    Other(u32),
}

impl LinkType {
    /// Converts HSA's number (`hsa_amd_link_info_type_t`).
    pub(crate) fn from_raw(raw: u32) -> Self {
        match raw {
            0 => Self::HyperTransport,
            1 => Self::QuickPath,
            2 => Self::Pcie,
            3 => Self::InfiniBand,
            4 => Self::Xgmi,
            other => Self::Other(other),
        }
    }
}

/// The link from one device to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The kind of link.
    pub kind: LinkType,
    /// Number of hops: 1 if the devices are connected directly.
    pub hops: u32,
}

/// An attribute of a pair of devices ([`Device::peer_attribute`](crate::Device::peer_attribute)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerAttribute {
    /// Rank of the link's performance among the links of the device: lower is faster.
    PerformanceRank,
    /// 1 if the device can access the peer's memory.
    AccessSupported,
    /// 1 if atomics on the peer's memory are supported over the link.
    NativeAtomicSupported,
    /// 1 if arrays in the peer's memory can be accessed.
    ArrayAccessSupported,
}

impl PeerAttribute {
    pub(crate) fn raw(self) -> hipDeviceP2PAttr {
        match self {
            Self::PerformanceRank => hipDevP2PAttrPerformanceRank,
            Self::AccessSupported => hipDevP2PAttrAccessSupported,
            Self::NativeAtomicSupported => hipDevP2PAttrNativeAtomicSupported,
            Self::ArrayAccessSupported => hipDevP2PAttrHipArrayAccessSupported,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_the_numbers_of_hsa() {
        use LinkType::{HyperTransport, InfiniBand, Other, Pcie, QuickPath, Xgmi};
        let all = [HyperTransport, QuickPath, Pcie, InfiniBand, Xgmi, Other(5)];
        assert_eq!([0, 1, 2, 3, 4, 5].map(LinkType::from_raw), all);
    }

    #[test]
    fn attributes_have_the_numbers_of_hip() {
        use PeerAttribute::{AccessSupported, ArrayAccessSupported, NativeAtomicSupported, PerformanceRank};
        let all = [PerformanceRank, AccessSupported, NativeAtomicSupported, ArrayAccessSupported];
        assert_eq!(all.map(|attribute| attribute.raw().0), [0, 1, 2, 3]);
    }
}
