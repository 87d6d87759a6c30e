//! The address spaces and the checks before every access.

use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;

use super::fault::{AccessFault, Checked};
use crate::exec::LANES;
use crate::exec::lanes::lanes;
use crate::fault::{Access, Denied, Space as SpaceName};
use crate::memory::{Agent, Memory, Table, atomic};

/// The lane argument where none applies: device memory is the same for all lanes.
pub(super) const NO_LANE: usize = 0;

/// Addresses of the lanes.
pub(super) type Addresses = [u64; LANES];

/// An address space: it checks accesses and performs them.
///
/// The `unsafe` functions move data without a check: [`check`](Space::check) must have succeeded for the lane, the
/// address and at least these bytes.
pub(super) trait Space {
    /// Checks an access of `bytes` at the address of every lane in `mask`. The bits of `align` must be zero in every
    /// address.
    fn check(&mut self, at: &Addresses, mask: u64, bytes: u32, align: u64, access: Access) -> Checked;
    /// # Safety
    /// See the trait.
    unsafe fn load8(&self, lane: usize, address: u64) -> u8;
    /// # Safety
    /// See the trait.
    unsafe fn load16(&self, lane: usize, address: u64) -> u16;
    /// # Safety
    /// See the trait.
    unsafe fn load32(&self, lane: usize, address: u64) -> u32;
    /// # Safety
    /// See the trait.
    unsafe fn store8(&mut self, lane: usize, address: u64, value: u8);
    /// # Safety
    /// See the trait.
    unsafe fn store16(&mut self, lane: usize, address: u64, value: u16);
    /// # Safety
    /// See the trait.
    unsafe fn store32(&mut self, lane: usize, address: u64, value: u32);
    /// Two words, the low one first.
    /// # Safety
    /// See the trait.
    #[inline(always)]
    unsafe fn load64(&self, lane: usize, address: u64) -> u64 {
        // SAFETY: as the caller vouches.
        unsafe { u64::from(self.load32(lane, address)) | u64::from(self.load32(lane, address + 4)) << 32 }
    }
    /// Two words, the low one first.
    /// # Safety
    /// See the trait.
    #[inline(always)]
    unsafe fn store64(&mut self, lane: usize, address: u64, value: u64) {
        // SAFETY: as the caller vouches.
        unsafe {
            self.store32(lane, address, value as u32);
            self.store32(lane, address + 4, (value >> 32) as u32);
        }
    }
    /// Four words, the lowest first.
    /// # Safety
    /// See the trait.
    #[inline(always)]
    unsafe fn load128(&self, lane: usize, address: u64) -> u128 {
        // SAFETY: as the caller vouches.
        unsafe { u128::from(self.load64(lane, address)) | u128::from(self.load64(lane, address + 8)) << 64 }
    }
    /// Four words, the lowest first.
    /// # Safety
    /// See the trait.
    #[inline(always)]
    unsafe fn store128(&mut self, lane: usize, address: u64, value: u128) {
        // SAFETY: as the caller vouches.
        unsafe {
            self.store64(lane, address, value as u64);
            self.store64(lane, address + 8, (value >> 64) as u64);
        }
    }
    /// Atomically replaces a word by the result of `f`, and returns the old one. The address is aligned.
    /// # Safety
    /// See the trait.
    unsafe fn update32(&mut self, lane: usize, address: u64, f: impl Fn(u32) -> u32) -> u32;
    /// The same for 64 bits.
    /// # Safety
    /// See the trait.
    unsafe fn update64(&mut self, lane: usize, address: u64, f: impl Fn(u64) -> u64) -> u64;
}

/// Loads an element of 1, 2, 4, 8, 12 or 16 bytes, in the largest units that are not torn.
///
/// # Safety
/// See [`Space`].
#[inline(always)]
pub(super) unsafe fn load_element<S: Space>(space: &S, lane: usize, address: u64, bytes: u32) -> [u32; 4] {
    // SAFETY: as the caller vouches, for all bytes of the element.
    let element = unsafe {
        match bytes {
            1 => u128::from(space.load8(lane, address)),
            2 => u128::from(space.load16(lane, address)),
            4 => u128::from(space.load32(lane, address)),
            8 => u128::from(space.load64(lane, address)),
            12 => u128::from(space.load64(lane, address)) | u128::from(space.load32(lane, address + 8)) << 64,
            16 => space.load128(lane, address),
            other => unreachable!("an element of {other} bytes"),
        }
    };
    std::array::from_fn(|word| (element >> (32 * word)) as u32)
}

/// Stores an element of 1, 2, 4, 8, 12 or 16 bytes, in the largest units that are not torn.
///
/// # Safety
/// See [`Space`].
#[inline(always)]
pub(super) unsafe fn store_element<S: Space>(space: &mut S, lane: usize, address: u64, bytes: u32, element: [u32; 4]) {
    let pair = |low: usize| u64::from(element[low]) | u64::from(element[low + 1]) << 32;
    // SAFETY: as the caller vouches, for all bytes of the element.
    unsafe {
        match bytes {
            1 => space.store8(lane, address, element[0] as u8),
            2 => space.store16(lane, address, element[0] as u16),
            4 => space.store32(lane, address, element[0]),
            8 => space.store64(lane, address, pair(0)),
            12 => {
                space.store64(lane, address, pair(0));
                space.store32(lane, address + 8, element[2]);
            }
            16 => space.store128(lane, address, u128::from(pair(0)) | u128::from(pair(2)) << 64),
            other => unreachable!("an element of {other} bytes"),
        }
    }
}

/// A recently used part of a live allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Hot {
    base: u64,
    end: u64,
    /// Where reads end.
    read_end: u64,
    writable: bool,
}

const COLD: Hot = Hot { base: 0, end: 0, read_end: 0, writable: false };

impl Hot {
    /// Returns whether an access of `bytes` at `address` is inside.
    #[inline(always)]
    fn allows(&self, address: u64, bytes: u64, write: bool) -> bool {
        let end = if write { self.end } else { self.read_end };
        address >= self.base && address < end && bytes <= end - address && (self.writable || !write)
    }
}

/// A worker's view of device memory: a snapshot of the allocation table, and the recently used allocations.
pub(crate) struct View {
    memory: Arc<Memory>,
    /// The GPU that accesses the memory.
    agent: Agent,
    /// The first snapshot. All snapshots of this dispatch keep allocations alive that are freed meanwhile.
    first: Arc<Table>,
    /// Later snapshots; the last one is current.
    later: Vec<Arc<Table>>,
    /// The dispatch's own memory (packet, queue, arguments), which is not in the table.
    own: Hot,
    hot: [Hot; 4],
    next: usize,
}

impl View {
    /// The current view of `agent` on `memory`. The dispatch keeps the range `own` alive, which kernels may read.
    pub(crate) fn new(memory: Arc<Memory>, agent: Agent, own: std::ops::Range<u64>) -> Self {
        let own = Hot { base: own.start, end: own.end, read_end: own.end, writable: false };
        let first = memory.snapshot();
        Self { memory, agent, first, later: Vec::new(), own, hot: [COLD; 4], next: 0 }
    }

    /// The accessible range that contains `address`, and whether it may be written.
    fn look_up(&mut self, address: u64) -> Option<Hot> {
        let hot = if address >= self.own.base && address < self.own.end {
            self.own
        } else {
            let (agent, granule) = (self.agent, self.memory.read_granule());
            let visible = |t: &Table| {
                t.find_within(address, granule).map(|r| r.allocation).filter(|a| a.rights.read.contains(agent))
            };
            let known = visible(self.later.last().unwrap_or(&self.first));
            let allocation = match known {
                Some(a) => a,
                None => {
                    // It may have been allocated since: a kernel can receive new memory while it runs.
                    let now = self.memory.snapshot();
                    let allocation = visible(&now)?;
                    self.later.push(now);
                    allocation
                }
            };
            let writable = allocation.writable && allocation.rights.write.contains(agent);
            Hot { base: allocation.base, end: allocation.end(), read_end: allocation.read_end(granule), writable }
        };
        if !self.hot.contains(&hot) {
            self.hot[self.next] = hot;
            self.next = (self.next + 1) % self.hot.len();
        }
        Some(hot)
    }

    /// Checks an access of `bytes` bytes at `address`.
    #[inline(always)]
    pub(super) fn allowed(&mut self, address: u64, bytes: u64, access: Access) -> Result<(), Denied> {
        let write = access != Access::Read;
        for hot in &self.hot {
            if hot.allows(address, bytes, write) {
                return Ok(());
            }
        }
        self.allowed_elsewhere(address, bytes, write)
    }

    /// The same for an access outside of the recently used allocations.
    #[cold]
    fn allowed_elsewhere(&mut self, address: u64, bytes: u64, write: bool) -> Result<(), Denied> {
        match self.look_up(address) {
            Some(found) if found.allows(address, bytes, write) => Ok(()),
            Some(found) if write && !found.writable && found.allows(address, bytes, false) => Err(Denied::ReadOnly),
            _ => Err(self.why_not(address)),
        }
    }

    /// Why an address is not accessible.
    #[cold]
    fn why_not(&self, address: u64) -> Denied {
        match self.memory.find(address) {
            Some(a) if !a.rights.read.contains(self.agent) => Denied::NoAccess { agent: self.agent, owner: a.owner },
            _ => Denied::OutOfBounds,
        }
    }

    /// Returns whether this is a load of the kernel's own arguments. The compiler merges neighbouring ones (two 16-bit
    /// block sizes) to one load, whatever its alignment.
    fn reads_own(&self, address: u64, bytes: u32, access: Access) -> bool {
        let own = &self.own;
        access == Access::Read && address >= own.base && address.saturating_add(u64::from(bytes)) <= own.end
    }

    /// Checks a scalar access. The bits of `align` must be zero in the address.
    #[inline(always)]
    pub(super) fn check_scalar(&mut self, address: u64, bytes: u32, align: u64, access: Access) -> Checked {
        // Usually a kernel argument.
        let own = &self.own;
        let inside = address >= own.base && address < own.end && u64::from(bytes) <= own.end - address;
        if inside && address & align == 0 && access == Access::Read {
            return Ok(());
        }
        self.check_scalar_outside(address, bytes, align, access)
    }

    fn check_scalar_outside(&mut self, address: u64, bytes: u32, align: u64, access: Access) -> Checked {
        let why = if address & align != 0 {
            Denied::Misaligned(align as u32 + 1)
        } else {
            match self.allowed(address, u64::from(bytes), access) {
                Ok(()) => return Ok(()),
                Err(why) => why,
            }
        };
        let space = SpaceName::Global;
        Err(Box::new(AccessFault { space, access, address, bytes, why, lane: None }))
    }

    /// The slow path: lane by lane, to find the first invalid one.
    #[cold]
    fn check_each(&mut self, at: &Addresses, mask: u64, bytes: u32, align: u64, access: Access) -> Checked {
        for lane in lanes(mask) {
            let address = at[lane];
            let why = if address & align != 0 && !self.reads_own(address, bytes, access) {
                Denied::Misaligned(align as u32 + 1)
            } else {
                match self.allowed(address, u64::from(bytes), access) {
                    Ok(()) => continue,
                    Err(why) => why,
                }
            };
            let space = SpaceName::Global;
            return Err(Box::new(AccessFault { space, access, address, bytes, why, lane: Some(lane as u32) }));
        }
        Ok(())
    }
}

impl Space for View {
    #[inline(always)]
    fn check(&mut self, at: &Addresses, mask: u64, bytes: u32, align: u64, access: Access) -> Checked {
        // Usually all lanes access one allocation: then the lowest and the highest address suffice.
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        if mask == u64::MAX {
            for &address in at {
                low = low.min(address);
                high = high.max(address);
                bits |= address;
            }
        } else {
            for lane in lanes(mask) {
                low = low.min(at[lane]);
                high = high.max(at[lane]);
                bits |= at[lane];
            }
            if mask == 0 {
                return Ok(());
            }
        }
        let span = (high - low).saturating_add(u64::from(bytes));
        if bits & align == 0 && self.allowed(low, span, access).is_ok() {
            return Ok(());
        }
        self.check_each(at, mask, bytes, align, access)
    }

    #[inline(always)]
    unsafe fn load8(&self, _: usize, address: u64) -> u8 {
        // SAFETY: checked to be inside a live allocation, as the caller vouches; all kernels use atomics.
        unsafe { atomic::load_u8(address) }
    }

    #[inline(always)]
    unsafe fn load16(&self, _: usize, address: u64) -> u16 {
        // SAFETY: as in `load8`.
        unsafe { atomic::load_u16(address) }
    }

    #[inline(always)]
    unsafe fn load32(&self, _: usize, address: u64) -> u32 {
        // SAFETY: as in `load8`.
        unsafe { atomic::load_u32(address) }
    }

    #[inline(always)]
    unsafe fn store8(&mut self, _: usize, address: u64, value: u8) {
        // SAFETY: as in `load8`, and the allocation is writable.
        unsafe { atomic::store_u8(address, value) }
    }

    #[inline(always)]
    unsafe fn store16(&mut self, _: usize, address: u64, value: u16) {
        // SAFETY: as in `store8`.
        unsafe { atomic::store_u16(address, value) }
    }

    #[inline(always)]
    unsafe fn store32(&mut self, _: usize, address: u64, value: u32) {
        // SAFETY: as in `store8`.
        unsafe { atomic::store_u32(address, value) }
    }

    // Aligned accesses of 8 and 16 bytes must not be torn for other workgroups: a kernel's atomic loads and stores are the same
    // instructions, and rocPRIM passes a flag and its value in 16 bytes.
    #[inline(always)]
    unsafe fn load64(&self, _: usize, address: u64) -> u64 {
        if address % 8 == 0 {
            // SAFETY: as in `load8`.
            return unsafe { atomic::load_u64(address) };
        }
        // SAFETY: as in `load8`.
        unsafe { u64::from(atomic::load_u32(address)) | u64::from(atomic::load_u32(address + 4)) << 32 }
    }

    #[inline(always)]
    unsafe fn store64(&mut self, _: usize, address: u64, value: u64) {
        if address % 8 == 0 {
            // SAFETY: as in `store8`.
            return unsafe { atomic::store_u64(address, value) };
        }
        // SAFETY: as in `store8`.
        unsafe {
            atomic::store_u32(address, value as u32);
            atomic::store_u32(address + 4, (value >> 32) as u32);
        }
    }

    #[inline(always)]
    unsafe fn load128(&self, lane: usize, address: u64) -> u128 {
        if address % 8 == 0 {
            // SAFETY: as in `load8`.
            return unsafe { atomic::load_u128(address) };
        }
        // SAFETY: as in `load8`.
        unsafe { u128::from(self.load64(lane, address)) | u128::from(self.load64(lane, address + 8)) << 64 }
    }

    #[inline(always)]
    unsafe fn store128(&mut self, lane: usize, address: u64, value: u128) {
        if address % 8 == 0 {
            // SAFETY: as in `store8`.
            return unsafe { atomic::store_u128(address, value) };
        }
        // SAFETY: as in `store8`.
        unsafe {
            self.store64(lane, address, value as u64);
            self.store64(lane, address + 8, (value >> 64) as u64);
        }
    }

    #[inline(always)]
    unsafe fn update32(&mut self, _: usize, address: u64, f: impl Fn(u32) -> u32) -> u32 {
        // SAFETY: as in `store8`; the address is aligned.
        unsafe { atomic::update_u32(address, f) }
    }

    #[inline(always)]
    unsafe fn update64(&mut self, _: usize, address: u64, f: impl Fn(u64) -> u64) -> u64 {
        // SAFETY: as in `store8`; the address is aligned.
        unsafe { atomic::update_u64(address, f) }
    }
}

/// LDS through flat addresses: an address is an offset into it.
pub(super) struct Lds<'l>(pub(super) &'l mut [u8]);

impl Lds<'_> {
    /// `N` bytes at `address`; in bounds after a check.
    #[inline(always)]
    fn bytes<const N: usize>(&self, address: u64) -> [u8; N] {
        let at = address as usize;
        self.0.get(at..).and_then(|b| b.first_chunk()).copied().unwrap_or([0; N])
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, address: u64, value: [u8; N]) {
        let at = address as usize;
        if let Some(place) = self.0.get_mut(at..).and_then(|b| b.first_chunk_mut()) {
            *place = value;
        }
    }
}

impl Space for Lds<'_> {
    fn check(&mut self, at: &Addresses, mask: u64, bytes: u32, align: u64, access: Access) -> Checked {
        let size = self.0.len() as u64;
        check_offsets(SpaceName::Lds, size, at, mask, bytes, align, access)
    }

    unsafe fn load8(&self, _: usize, address: u64) -> u8 {
        self.bytes::<1>(address)[0]
    }

    unsafe fn load16(&self, _: usize, address: u64) -> u16 {
        u16::from_le_bytes(self.bytes(address))
    }

    unsafe fn load32(&self, _: usize, address: u64) -> u32 {
        u32::from_le_bytes(self.bytes(address))
    }

    unsafe fn store8(&mut self, _: usize, address: u64, value: u8) {
        self.put(address, [value]);
    }

    unsafe fn store16(&mut self, _: usize, address: u64, value: u16) {
        self.put(address, value.to_le_bytes());
    }

    unsafe fn store32(&mut self, _: usize, address: u64, value: u32) {
        self.put(address, value.to_le_bytes());
    }

    unsafe fn update32(&mut self, _: usize, address: u64, f: impl Fn(u32) -> u32) -> u32 {
        let old = u32::from_le_bytes(self.bytes(address));
        self.put(address, f(old).to_le_bytes());
        old
    }

    unsafe fn update64(&mut self, _: usize, address: u64, f: impl Fn(u64) -> u64) -> u64 {
        let old = u64::from_le_bytes(self.bytes(address));
        self.put(address, f(old).to_le_bytes());
        old
    }
}

/// Checks offsets into a memory of `size` bytes.
fn check_offsets(
    space: SpaceName,
    size: u64,
    at: &Addresses,
    mask: u64,
    bytes: u32,
    align: u64,
    access: Access,
) -> Checked {
    for lane in lanes(mask) {
        let address = at[lane];
        let why = if address & align != 0 {
            Denied::Misaligned(align as u32 + 1)
        } else if address.checked_add(u64::from(bytes)).is_none_or(|end| end > size) {
            Denied::OutOfBounds
        } else {
            continue;
        };
        return Err(Box::new(AccessFault { space, access, address, bytes, why, lane: Some(lane as u32) }));
    }
    Ok(())
}

/// The scratch of a workgroup with the hardware's layout: a wave's lanes are interleaved word by word, so the same
/// offset of all lanes is 256 consecutive bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scratch {
    /// Host address of the first wave's scratch.
    base: u64,
    /// Bytes per lane.
    lane: u32,
    /// Number of waves.
    waves: u32,
}

impl Scratch {
    /// The size of scratch for `waves` waves with `lane` bytes per lane; `None` if it is too large.
    pub(crate) fn bytes(lane: u32, waves: u32) -> Option<u64> {
        u64::from(lane).checked_next_multiple_of(4)?.checked_mul(LANES as u64)?.checked_mul(u64::from(waves))
    }

    /// Scratch for `waves` waves with `lane` bytes per lane.
    ///
    /// # Safety
    /// [`bytes(lane, waves)`](Self::bytes) bytes at `base`, whose provenance is exposed, must be valid and used by this
    /// workgroup alone for as long as the `Scratch` or a copy of it is used; `base` must be a multiple of 4.
    pub(crate) unsafe fn new(base: u64, lane: u32, waves: u32) -> Self {
        Self { base, lane: lane.next_multiple_of(4), waves }
    }

    /// Bytes per wave.
    pub(crate) fn wave_bytes(&self) -> u64 {
        u64::from(self.lane) * LANES as u64
    }

    /// Host address of the scratch of all waves, as in the buffer descriptor.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The position of `bytes` bytes at a host address, if they are words inside the scratch of all waves.
    pub(super) fn place(&self, address: u64, bytes: u64) -> Option<*mut u32> {
        let offset = address.checked_sub(self.base)?;
        let inside = offset.checked_add(bytes)? <= self.wave_bytes() * u64::from(self.waves);
        (inside && address % 4 == 0).then(|| with_exposed_provenance_mut(address as usize))
    }

    /// The scratch of one wave.
    #[inline(always)]
    pub(super) fn wave(&self, id: u32) -> Private {
        // A wave that does not exist has no bytes.
        let size = if id < self.waves { self.lane } else { 0 };
        Private { base: self.base + self.wave_bytes() * u64::from(id), size }
    }
}

/// The scratch of one wave: an address is an offset into the lane's part.
pub(super) struct Private {
    base: u64,
    size: u32,
}

impl Private {
    /// Host address of the wave's scratch.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Bytes per lane.
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// The position of the word that contains byte `offset` of a lane.
    #[inline(always)]
    fn word(&self, lane: usize, offset: u64) -> *mut u32 {
        let at = (offset / 4) * (4 * LANES as u64) + 4 * lane as u64;
        with_exposed_provenance_mut((self.base + at) as usize)
    }

    #[inline(always)]
    unsafe fn load<const N: usize>(&self, lane: usize, offset: u64) -> [u8; N] {
        std::array::from_fn(|i| {
            let offset = offset + i as u64;
            // SAFETY: the caller has had `offset .. offset + N` checked to be inside the lane's scratch.
            let word = unsafe { self.word(lane, offset).read() };
            word.to_le_bytes()[offset as usize % 4]
        })
    }

    #[inline(always)]
    unsafe fn store<const N: usize>(&mut self, lane: usize, offset: u64, bytes: [u8; N]) {
        for (i, byte) in bytes.into_iter().enumerate() {
            let offset = offset + i as u64;
            let place = self.word(lane, offset).cast::<u8>();
            // SAFETY: the caller has had `offset .. offset + N` checked to be inside the lane's scratch.
            unsafe {
                place
                    .add(if cfg!(target_endian = "big") { 3 - offset as usize % 4 } else { offset as usize % 4 })
                    .write(byte)
            };
        }
    }
}

impl Space for Private {
    #[inline(always)]
    fn check(&mut self, at: &Addresses, mask: u64, bytes: u32, align: u64, access: Access) -> Checked {
        check_offsets(SpaceName::Private, u64::from(self.size), at, mask, bytes, align, access)
    }

    #[inline(always)]
    unsafe fn load8(&self, lane: usize, address: u64) -> u8 {
        // SAFETY: as the caller vouches.
        unsafe { self.load::<1>(lane, address)[0] }
    }

    #[inline(always)]
    unsafe fn load16(&self, lane: usize, address: u64) -> u16 {
        // SAFETY: as the caller vouches.
        u16::from_le_bytes(unsafe { self.load(lane, address) })
    }

    #[inline(always)]
    unsafe fn load32(&self, lane: usize, address: u64) -> u32 {
        if address % 4 == 0 {
            // SAFETY: as the caller vouches.
            return unsafe { self.word(lane, address).read() };
        }
        // SAFETY: as the caller vouches.
        u32::from_le_bytes(unsafe { self.load(lane, address) })
    }

    #[inline(always)]
    unsafe fn store8(&mut self, lane: usize, address: u64, value: u8) {
        // SAFETY: as the caller vouches.
        unsafe { self.store(lane, address, [value]) }
    }

    #[inline(always)]
    unsafe fn store16(&mut self, lane: usize, address: u64, value: u16) {
        // SAFETY: as the caller vouches.
        unsafe { self.store(lane, address, value.to_le_bytes()) }
    }

    #[inline(always)]
    unsafe fn store32(&mut self, lane: usize, address: u64, value: u32) {
        if address % 4 == 0 {
            // SAFETY: as the caller vouches.
            return unsafe { self.word(lane, address).write(value) };
        }
        // SAFETY: as the caller vouches.
        unsafe { self.store(lane, address, value.to_le_bytes()) }
    }

    unsafe fn update32(&mut self, lane: usize, address: u64, f: impl Fn(u32) -> u32) -> u32 {
        // SAFETY: as the caller vouches.
        let old = unsafe { self.load32(lane, address) };
        // SAFETY: as the caller vouches.
        unsafe { self.store32(lane, address, f(old)) };
        old
    }

    unsafe fn update64(&mut self, lane: usize, address: u64, f: impl Fn(u64) -> u64) -> u64 {
        // SAFETY: as the caller vouches.
        let old = u64::from_le_bytes(unsafe { self.load(lane, address) });
        // SAFETY: as the caller vouches.
        unsafe { self.store(lane, address, f(old).to_le_bytes()) };
        old
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::AllocKind;

    #[test]
    fn arguments_that_the_compiler_loads_together_need_not_be_aligned() {
        let memory = Arc::new(Memory::new(vec![1 << 20]));
        let base = memory.alloc(256, 0, AllocKind::Device).expect("device memory");
        let mut view = View::new(memory, Agent::default(), base..base + 64);
        let mut check = |address, access| {
            let at = [address; crate::exec::LANES];
            view.check(&at, 1, 4, 3, access).map_err(|fault| fault.why)
        };
        assert_eq!(check(base + 38, Access::Read), Ok(()));
        let misaligned = Err(Denied::Misaligned(4));
        assert_eq!(check(base + 38, Access::Write), misaligned);
        assert_eq!(check(base + 62, Access::Read), misaligned, "half of it is beyond the arguments");
        assert_eq!(check(base + 102, Access::Read), misaligned);
    }
}
