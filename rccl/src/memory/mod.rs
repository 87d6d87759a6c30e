//! Memory of the library: allocated by it, registered with a communicator, or a window of all ranks.
//!
//! Collectives use registered memory directly, if the links allow it, instead of through buffers of the library.
//! Results are the same.
//!
//! | | call | since |
//! |---|---|---|
//! | memory that can always be registered | [`Communicator::allocate`] | ROCm 6.2 |
//! | memory of one rank | [`Communicator::register`] | ROCm 6.2 |
//! | memory of all ranks, with the same size on each | [`Communicator::window`] | ROCm 7.1 |
//!
//! ```
//! # use hip::Device;
//! # use rccl::{Communicator, Config, Op};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # if hip::sim_if_no_gpu().is_err() || !rccl::is_available()
//! #     || hip::backend()? == hip::Backend::Sim { return Ok(()) }
//! let ranks = Communicator::init_all(&[Device::get(0)?], &Config::new())?;
//! let rank = &ranks[0];
//! let mut memory = rank.register(rank.allocate::<f32>(1000)?)?;
//! rank.all_reduce_in_place(memory.as_slice_mut(), Op::Sum)?;
//! let buffer = memory.deregister()?; // waits for the sum
//! # assert_eq!(buffer.to_vec()?, [0.0; 1000]);
//! # Ok(()) }
//! ```
//!
//! A [`Registered`] and a [`Window`] own their buffer and borrow the communicator: both exist as long as the memory is
//! registered. If the communicator is aborted, the library deregisters the memory.

mod foreign;
mod library;
#[cfg(feature = "one-sided")]
mod one_sided;

use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;

use hip::interop::Tracked;
use hip::{Device, DeviceBuffer, DevicePtr, DeviceSlice, DeviceSliceMut, Pod};

pub use foreign::{ForeignMemory, ForeignRegistration};
#[cfg(feature = "one-sided")]
pub use one_sided::Target;

use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::group::Group;
use library::{Part, Registration};

/// Memory of `ncclMemAlloc`. Its buffer drops this after its last use.
struct Allocated {
    address: usize,
    device: Device,
}

impl Drop for Allocated {
    fn drop(&mut self) {
        let Self { address, device } = *self;
        // The library waits for the device, as `hipFree` does.
        Tracked::new().release_when_idle(&device, move || {
            let address: *mut c_void = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: allocated by the library, and its buffer has been dropped.
            let _ = library::on(Some(device), || unsafe { library::free(address) });
        });
    }
}

/// The registered memory of a rank.
struct Known<'a, T: Pod> {
    communicator: &'a Communicator,
    registration: Registration,
    /// Leaked if the library may still use it when this is dropped.
    memory: ManuallyDrop<DeviceBuffer<T>>,
}

impl<'a, T: Pod> Known<'a, T> {
    fn new(communicator: &'a Communicator, registration: Registration, memory: DeviceBuffer<T>) -> Self {
        Self { communicator, registration, memory: ManuallyDrop::new(memory) }
    }

    fn part<'b>(communicator: &'b Communicator, memory: &DeviceBuffer<T>) -> Result<Part<'b>> {
        communicator.refuse_in_group("registering memory")?;
        if memory.device() != communicator.device() {
            let allowed = format!("{}, the communicator's", communicator.device().index());
            return Err(Error::invalid("the device of the memory", memory.device().index().to_string(), allowed));
        }
        if memory.is_empty() {
            return Err(Error::invalid("the memory to register", "empty", "one element or more"));
        }
        Ok(Part {
            handle: &communicator.handle,
            device: Some(communicator.device()),
            address: std::ptr::with_exposed_provenance_mut(memory.as_device_ptr().address() as usize),
            bytes: memory.byte_len(),
        })
    }

    /// Waits for the communicator's work, which may use the memory. After an abort, no work is left.
    fn wait(&self) -> Result<()> {
        if self.communicator.is_aborted() {
            return Ok(());
        }
        self.communicator.refuse_in_group("deregistering memory")?;
        self.communicator.synchronize()
    }

    /// Waits, ends the registrations, and returns the memory. Memory that the library may still use is leaked.
    fn end_all(mut all: Vec<Self>) -> Result<Vec<DeviceBuffer<T>>> {
        let waited = all.iter().map(Self::wait).fold(Ok(()), Result::and);
        Registration::end_all(all.iter_mut().map(|known| &mut known.registration))?;
        let memories = all.into_iter().map(|known| {
            let mut known = ManuallyDrop::new(known);
            // SAFETY: taken once, from a value that is not dropped.
            let memory = unsafe { ManuallyDrop::take(&mut known.memory) };
            // SAFETY: the last use of it.
            unsafe { std::ptr::drop_in_place(&raw mut known.registration) };
            memory
        });
        let memories = memories.collect();
        waited.map(|()| memories)
    }
}

impl<T: Pod> Drop for Known<'_, T> {
    fn drop(&mut self) {
        let _ = self.wait();
        if self.registration.end().is_ok() {
            // SAFETY: the last use of it.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

/// A buffer that is registered with a communicator. [`Communicator::register`] creates it.
///
/// Dropping it waits for the communicator's work as [`Communicator::synchronize`] does, deregisters the buffer, and
/// drops it. If the library cannot deregister it, the buffer is leaked.
#[must_use = "the buffer is deregistered when this is dropped"]
#[doc(alias = "ncclCommRegister")]
pub struct Registered<'a, T: Pod>(Known<'a, T>);

impl<T: Pod> Registered<'_, T> {
    /// Returns the whole buffer, to read.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.0.memory.as_slice()
    }

    /// Returns the whole buffer, to write.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        self.0.memory.as_slice_mut()
    }

    /// Waits for the communicator's work, and returns the buffer (`ncclCommDeregister`).
    ///
    /// # Errors
    /// The errors of [`Communicator::synchronize`]; an error from the library. The buffer is dropped, or leaked if the
    /// library may still use it.
    #[doc(alias = "ncclCommDeregister")]
    pub fn deregister(self) -> Result<DeviceBuffer<T>> {
        Known::end_all(vec![self.0])?.pop().ok_or_else(nothing)
    }
}

impl<T: Pod> fmt::Debug for Registered<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("memory", &*self.0.memory).finish_non_exhaustive()
    }
}

/// A buffer of each rank that is registered with all ranks. [`Communicator::window`] creates it.
///
/// Dropping it waits for the communicator's work as [`Communicator::synchronize`] does, deregisters the buffer, and
/// drops it. If the library cannot deregister it, the buffer is leaked.
#[must_use = "the window is closed when this is dropped"]
#[doc(alias = "ncclWindow_t")]
pub struct Window<'a, T: Pod>(Known<'a, T>);

impl<'a, T: Pod> Window<'a, T> {
    /// Returns the whole buffer, to read.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.0.memory.as_slice()
    }

    /// Returns the whole buffer, to write.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        self.0.memory.as_slice_mut()
    }

    /// Returns whether the library uses the window. RCCL of ROCm 7.2 does not if its memory does not come from virtual
    /// memory management (`NCCL_CUMEM_ENABLE`): collectives then work as without a window.
    #[must_use]
    pub fn is_used(&self) -> bool {
        !self.0.registration.raw().is_null()
    }

    /// Returns the library's address for the window (`ncclWinGetUserPtr`), which is that of the buffer. Since ROCm
    /// 10.0.
    ///
    /// # Errors
    /// [`Error::NoSymbol`]; [`Error::Aborted`]; an error from the library.
    #[doc(alias = "ncclWinGetUserPtr")]
    pub fn address(&self) -> Result<DevicePtr<T>> {
        let address = self.0.registration.address()?;
        Ok(DevicePtr::from_address(address.addr() as u64))
    }

    /// Waits for the communicator's work, and returns the buffer (`ncclCommWindowDeregister`). All ranks must close
    /// their windows; for several ranks of one thread, use [`close_all`](Self::close_all).
    ///
    /// # Errors
    /// The errors of [`Communicator::synchronize`]; an error from the library. The buffer is dropped, or leaked if the
    /// library may still use it.
    #[doc(alias = "ncclCommWindowDeregister")]
    pub fn close(self) -> Result<DeviceBuffer<T>> {
        Self::close_all([self])?.pop().ok_or_else(nothing)
    }

    /// As [`close`](Self::close), for several ranks of one process.
    ///
    /// # Errors
    /// The errors of [`close`](Self::close).
    #[doc(alias = "ncclCommWindowDeregister")]
    pub fn close_all(windows: impl IntoIterator<Item = Self>) -> Result<Vec<DeviceBuffer<T>>> {
        Known::end_all(windows.into_iter().map(|window| window.0).collect())
    }
}

impl<T: Pod> fmt::Debug for Window<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").field("memory", &*self.0.memory).field("is_used", &self.is_used()).finish()
    }
}

fn nothing() -> Error {
    Error::invalid("the list of memories", "empty", "one memory or more")
}

/// # Registered memory
impl Communicator {
    /// Allocates `len` zeros on its device, in memory of the library (`ncclMemAlloc`): it can be registered regardless
    /// of the links. It is a normal buffer, and may outlive the communicator.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a `len` of 0, and for more than the address space; [`Error::NoSymbol`] before ROCm 6.2;
    /// an error from the library.
    #[doc(alias("ncclMemAlloc", "ncclMemFree"))]
    pub fn allocate<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let device = self.device();
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| (1..=isize::MAX as usize).contains(bytes));
        let bytes = bytes.ok_or_else(|| {
            let allowed = "at least one, whose bytes fit into the address space";
            Error::invalid("the number of elements", len.to_string(), allowed)
        })?;
        let address = library::on(Some(device), || library::allocate(bytes))??;
        let address = address.expose_provenance();
        let owner = Allocated { address, device };
        // SAFETY: this many bytes on the device, which the owner frees. Nothing else knows them.
        let mut memory = unsafe {
            DeviceBuffer::<T>::from_raw_parts_with(&device, DevicePtr::from_address(address as u64), len, owner)?
        };
        memory.fill_bytes_async(self.stream(), 0)?;
        Ok(memory)
    }

    /// Registers a buffer of its device with the library (`ncclCommRegister`), on this rank only. Since ROCm 6.2.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a buffer of another device and for an empty one; [`Error::InGroup`]; [`Error::NoSymbol`];
    /// [`Error::Aborted`]; an error from the library. The buffer is dropped.
    #[doc(alias = "ncclCommRegister")]
    pub fn register<T: Pod>(&self, memory: DeviceBuffer<T>) -> Result<Registered<'_, T>> {
        let part = Known::part(self, &memory)?;
        // SAFETY: memory of the device, which is kept until the registration has ended.
        let registration = unsafe { Registration::of_buffer(part)? };
        Ok(Registered(Known::new(self, registration, memory)))
    }

    /// Registers a buffer of each rank, of the same size, with all ranks (`ncclCommWindowRegister`): all ranks must
    /// call it, in the same order. With `symmetric`, each rank uses the same part of its window in a collective, which
    /// is fastest. For several ranks of one thread, use [`window_all`](Self::window_all). Since ROCm 7.1.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a buffer of another device, an empty one, and for buffers that differ in size, or, with
    /// `symmetric`, in their offset from the start of their allocation; [`Error::InGroup`]; [`Error::NoSymbol`];
    /// [`Error::Timeout`] if a rank is missing; an error from the library. The buffer is dropped.
    #[doc(alias = "ncclCommWindowRegister")]
    pub fn window<T: Pod>(&self, memory: DeviceBuffer<T>, symmetric: bool) -> Result<Window<'_, T>> {
        Self::window_all([(self, memory)], symmetric)?.pop().ok_or_else(nothing)
    }

    /// As [`window`](Self::window), for several ranks of one process.
    ///
    /// # Errors
    /// The errors of [`window`](Self::window).
    #[doc(alias = "ncclCommWindowRegister")]
    pub fn window_all<'a, T: Pod>(
        ranks: impl IntoIterator<Item = (&'a Self, DeviceBuffer<T>)>,
        symmetric: bool,
    ) -> Result<Vec<Window<'a, T>>> {
        let ranks: Vec<(&Self, DeviceBuffer<T>)> = ranks.into_iter().collect();
        let parts = ranks.iter().map(|(rank, memory)| Known::part(rank, memory)).collect::<Result<Vec<_>>>()?;
        if parts.is_empty() {
            return Err(nothing());
        }
        library::expect("ncclCommWindowRegister")?;
        expect_same(&ranks, |memory| Ok(memory.byte_len()), "the bytes of a window")?;
        if symmetric {
            // The library assumes that the other ranks' memory has the same offset in its allocation as this rank's.
            expect_same(&ranks, offset, "the offset of a symmetric window in its allocation, in bytes")?;
        }
        // SAFETY: memory of the devices, which is kept until the registrations have ended.
        let made = unsafe { Registration::of_windows(&parts, symmetric) };
        let registrations = match made {
            Ok(registrations) => registrations,
            Err(error) => {
                // The library may have registered some of it.
                ranks.into_iter().for_each(|(_, memory)| std::mem::forget(memory));
                return Err(error);
            }
        };
        let windows = ranks.into_iter().zip(registrations);
        Ok(windows.map(|((rank, memory), registration)| Window(Known::new(rank, registration, memory))).collect())
    }
}

/// Returns the offset of a buffer in its allocation, in bytes.
fn offset<T: Pod>(memory: &DeviceBuffer<T>) -> Result<usize> {
    let address: *mut c_void = std::ptr::with_exposed_provenance_mut(memory.as_device_ptr().address() as usize);
    let (mut begin, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: both are valid for writes; the runtime looks the address up.
    let call = || unsafe { hip::sys::hipMemGetAddressRange(&mut begin, &mut bytes, address) };
    let status = memory.device().with_current(call)?;
    if status != hip::sys::hipSuccess {
        let found = format!("at {address:?}: {status:?} of hipMemGetAddressRange");
        return Err(Error::invalid("the memory of a symmetric window", found, "of an allocation that HIP knows"));
    }
    Ok(address.addr().saturating_sub(begin.addr()))
}

/// Compares a number across the memories of all ranks. A rank assumes that other ranks' windows have the size and
/// offset of its own.
fn expect_same<T: Pod>(
    ranks: &[(&Communicator, DeviceBuffer<T>)],
    number: impl Fn(&DeviceBuffer<T>) -> Result<usize>,
    what: &'static str,
) -> Result<()> {
    // A rank without a number takes part, so that the others do not wait for it forever.
    let numbers: Vec<_> = ranks.iter().map(|(_, memory)| number(memory)).collect();
    let mut memories = Vec::new();
    for ((rank, _), number) in ranks.iter().zip(&numbers) {
        let number = number.as_ref().map_or(u64::MAX, |number| *number as u64);
        let own = DeviceBuffer::from_slice(&rank.device(), &[number])?;
        memories.push((own, DeviceBuffer::<u64>::zeroed(&rank.device(), rank.size())?));
    }
    let mut group = Group::new();
    for ((rank, _), (own, all)) in ranks.iter().zip(&mut memories) {
        group.all_gather(rank, &*own, all)?;
    }
    group.end()?;
    for (((rank, _), number), (_, all)) in ranks.iter().zip(numbers).zip(&memories) {
        rank.synchronize()?;
        let (number, all) = (number?, all.to_vec()?);
        if all.iter().any(|other| *other != number as u64) {
            return Err(Error::invalid(what, number.to_string(), format!("the same on all ranks, not {all:?}")));
        }
    }
    Ok(())
}
