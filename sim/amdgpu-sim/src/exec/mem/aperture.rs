//! The apertures of LDS and scratch in the flat address space, and the addresses of services that do not exist.

/// The start of LDS in the flat address space, which spans 4 GiB. `amd_queue_t` holds the high half.
pub const SHARED_BASE: u64 = 1 << 48;

/// The start of scratch in the flat address space, which spans 4 GiB. `amd_queue_t` holds the high half.
pub const PRIVATE_BASE: u64 = 2 << 48;

/// The address that kernels get for the runtime's output service, which does not exist. Above all allocations.
pub(crate) const NO_HOSTCALL: u64 = 3 << 48;

/// The same for the heap of a kernel's `malloc`.
pub(crate) const NO_HEAP: u64 = 4 << 48;

/// Last address of an aperture, from its base.
pub(crate) const APERTURE_LIMIT: u64 = 0xffff_ffff;
