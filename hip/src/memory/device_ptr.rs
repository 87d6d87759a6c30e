//! Addresses in device memory.

/// An address in device memory of elements of type `T`, without a lifetime: a kernel's view of a buffer.
///
/// It borrows nothing and keeps nothing alive. As a launch argument it is accepted for any pointer. The launch does not
/// track its memory, so the caller must ensure that the memory is valid and that its uses are ordered.
#[repr(transparent)]
pub struct DevicePtr<T> {
    address: u64,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T> DevicePtr<T> {
    /// Returns the null pointer.
    #[must_use]
    pub const fn null() -> Self {
        Self::from_address(0)
    }

    /// Creates a pointer from an address.
    #[must_use]
    pub const fn from_address(address: u64) -> Self {
        Self { address, element: std::marker::PhantomData }
    }

    /// Returns the address, as device code uses it.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }
}

impl<T> Clone for DevicePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePtr<T> {}

impl<T> PartialEq for DevicePtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePtr<T> {}

impl<T> std::fmt::Debug for DevicePtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}
