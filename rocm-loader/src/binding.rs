//! One lazily resolved pointer per function, and the code that resolves it.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::Error;
use crate::library::Library;
use crate::process;
use crate::releases::{Abi, Releases};
use crate::report::Report;
use crate::spec::LibrarySpec;
use crate::version::Release;

/// Provides the functions of a C library: a software GPU, a recorder, a stub in a test.
///
/// Every returned address must be a function with the C ABI and the signature of the function of that name, and must
/// stay valid until the process ends. [`symbol`](Provider::symbol) is called once per function, and must not call a
/// function of the binding that it serves.
pub trait Provider: Sync {
    /// Returns its name for messages.
    fn name(&self) -> &str;
    /// Returns the function of that name, or `None` if it is not provided.
    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>>;
    /// Returns the ROCm release (major, minor) whose ABI the functions have. The default is `None`: the newest.
    fn release(&self) -> Option<(u32, u32)> {
        None
    }
}

/// Why a function is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The library could not be opened ([`Binding::load`] returns the reason).
    Library,
    /// The library was opened, but lacks the function ([`Binding::symbol_error`] returns the details).
    Symbol,
    /// The library has the function, but is of a release in which it has other parameters.
    Release,
}

/// The value that a call of a missing function returns: its API's own status if it has one, otherwise zero, null or
/// `None`.
///
/// A `-sys` crate implements it for its status types.
pub trait MissingValue: Sized {
    /// Returns the value.
    fn missing(why: Missing) -> Self;
}

macro_rules! missing_values {
    ($($value:expr => $($ty:ty),+;)+) => {$($(
        #[doc = concat!("`", stringify!($value), "`.")]
        impl MissingValue for $ty {
            #[inline]
            fn missing(_: Missing) -> Self { $value }
        }
    )+)+};
}
missing_values! {
    () => ();
    0 => u8, u16, u32, u64, u128, usize;
    -1 => i8, i16, i32, i64, i128, isize;
    Self::NAN => f32, f64;
    false => bool;
}

/// Null.
impl<T> MissingValue for *const T {
    #[inline]
    fn missing(_: Missing) -> Self {
        ptr::null()
    }
}

/// Null.
impl<T> MissingValue for *mut T {
    #[inline]
    fn missing(_: Missing) -> Self {
        ptr::null_mut()
    }
}

/// `None`: for functions that return a function pointer.
impl<T> MissingValue for Option<T> {
    #[inline]
    fn missing(_: Missing) -> Self {
        None
    }
}

/// The pointer to one function; [`bindings!`](crate::bindings) declares one per function.
#[doc(hidden)]
pub struct Slot {
    /// Null until resolved, then the function, or one of the two marks below.
    address: AtomicPtr<c_void>,
    /// With its terminating NUL.
    name: &'static str,
    since: &'static str,
    releases: Releases,
}

const NO_LIBRARY: usize = 1;
const NO_SYMBOL: usize = 2;
const OTHER_RELEASE: usize = 3;

impl Slot {
    #[doc(hidden)]
    pub const fn new(name_with_nul: &'static str, since: &'static str) -> Self {
        Self::of_releases(name_with_nul, since, Releases::ALL)
    }

    #[doc(hidden)]
    pub const fn of_releases(name_with_nul: &'static str, since: &'static str, releases: Releases) -> Self {
        Self { address: AtomicPtr::new(ptr::null_mut()), name: name_with_nul, since, releases }
    }

    // Acquire pairs with the release in `Binding::resolve`, so that a thread that sees the pointer also sees the library as its
    // loader left it. On x86-64 it is the same instruction as a relaxed load.
    #[doc(hidden)]
    #[inline(always)]
    pub fn get(&'static self, binding: &'static Binding) -> Result<NonNull<c_void>, Missing> {
        let address = self.address.load(Ordering::Acquire);
        if address.addr() > OTHER_RELEASE {
            // SAFETY: greater than a mark, hence not null.
            return Ok(unsafe { NonNull::new_unchecked(address) });
        }
        let address = binding.resolve(self);
        match address.addr() {
            0 | NO_SYMBOL => Err(Missing::Symbol),
            NO_LIBRARY => Err(Missing::Library),
            OTHER_RELEASE => Err(Missing::Release),
            // SAFETY: not null, see the first arm.
            _ => Ok(unsafe { NonNull::new_unchecked(address) }),
        }
    }

    fn c_name(&self) -> &'static CStr {
        CStr::from_bytes_until_nul(self.name.as_bytes()).unwrap_or_default()
    }
}

/// The source of a binding's functions.
enum Source {
    /// The error is the result of asking for the library.
    Provider(&'static dyn Provider, Error),
    Library(Result<Library, Error>),
}

/// A function that was called and is missing, or has another ABI in the library than the caller assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingSymbol {
    /// Its name.
    pub name: &'static str,
    /// The first ROCm release that has it.
    pub since: &'static str,
    /// The releases whose ABI the caller assumes.
    pub releases: Releases,
}

/// The binding of a `-sys` crate to its C library: the shared library, opened on first use, or the [`Provider`] that
/// replaces it.
///
/// Each `-sys` crate has one `static`, which [`bindings!`](crate::bindings) names.
pub struct Binding {
    spec: &'static LibrarySpec,
    source: OnceLock<Source>,
    /// The functions found missing so far. The lock is held while a function is resolved, so that each is looked up
    /// once.
    missing: Mutex<Vec<MissingSymbol>>,
}

impl Binding {
    /// Creates a binding to the library that `spec` names. Opens nothing.
    pub const fn new(spec: &'static LibrarySpec) -> Self {
        Self { spec, source: OnceLock::new(), missing: Mutex::new(Vec::new()) }
    }

    /// Returns the library's names.
    pub fn spec(&self) -> &'static LibrarySpec {
        self.spec
    }

    /// Replaces the library by `provider`. Setting the same provider again is not an error.
    ///
    /// # Errors
    /// [`Error::ProviderTooLate`] if a function was called or queried before, or if another provider is set.
    pub fn set_provider(&'static self, provider: &'static dyn Provider) -> Result<(), Error> {
        let source = self.source.get_or_init(|| {
            let instead = Error::Provided { library: self.spec.name(), provider: provider.name().to_owned() };
            Source::Provider(provider, instead)
        });
        match source {
            Source::Provider(current, _) if ptr::addr_eq(*current, provider) && current.name() == provider.name() => {
                Ok(())
            }
            _ => Err(Error::ProviderTooLate {
                library: self.spec.name(),
                wanted: provider.name().to_owned(),
                current: self.describe(),
            }),
        }
    }

    /// Returns the name of the provider that replaces the library, if one is set.
    pub fn provider_name(&'static self) -> Option<&'static str> {
        match self.source.get()? {
            Source::Provider(p, _) => Some(p.name()),
            Source::Library(_) => None,
        }
    }

    /// Returns whether the function `name` is available. It opens the library if necessary, and calls nothing.
    pub fn has(&'static self, name: &CStr) -> bool {
        matches!(self.find(name), Ok(Some(_)))
    }

    /// Returns the address of the function `name`, for functions that the generated bindings do not cover.
    pub fn symbol(&'static self, name: &CStr) -> Option<NonNull<c_void>> {
        self.find(name).ok().flatten()
    }

    /// Opens the library if it is not open yet. Success and failure are cached: there is one search per process.
    ///
    /// # Errors
    /// Why it could not be opened, with every path tried. [`Error::Provided`] if a provider replaces it
    /// ([`Binding::check`] accepts both).
    pub fn load(&'static self) -> Result<&'static Library, &'static Error> {
        match self.source() {
            Source::Library(Ok(library)) => Ok(library),
            Source::Library(Err(error)) => Err(error),
            Source::Provider(_, instead) => Err(instead),
        }
    }

    /// Checks that a provider is set, or that the library can be opened. Opens it if necessary.
    ///
    /// # Errors
    /// Why the library could not be opened, with every path tried.
    pub fn check(&'static self) -> Result<(), &'static Error> {
        match self.source() {
            Source::Library(Err(error)) => Err(error),
            Source::Library(Ok(_)) | Source::Provider(..) => Ok(()),
        }
    }

    /// Returns the library if it is open. Opens nothing.
    pub fn opened(&'static self) -> Option<&'static Library> {
        match self.source.get()? {
            Source::Library(Ok(library)) => Some(library),
            _ => None,
        }
    }

    /// Returns the search for the library, successful or not; `None` before the first use and with a provider.
    pub fn report(&'static self) -> Option<&'static Report> {
        match self.source.get()? {
            Source::Library(Ok(library)) => Some(library.report()),
            Source::Library(Err(error)) => error.report(),
            Source::Provider(..) => None,
        }
    }

    /// Returns why the function `name` is not available; `None` if it is. `since` is the first ROCm release that has
    /// it.
    pub fn symbol_error(&'static self, name: &CStr, since: &'static str) -> Option<Error> {
        match self.find(name) {
            Ok(Some(_)) => None,
            Err(error) => Some(error.clone()),
            Ok(None) => Some(match self.opened() {
                Some(library) => library.missing(name, since),
                None => Error::SymbolMissing {
                    library: self.spec.name(),
                    symbol: name.to_string_lossy().into_owned(),
                    since,
                    before: None,
                    found_in: self.describe(),
                    found: None,
                },
            }),
        }
    }

    /// Returns the missing functions that were called so far, in the order of their first calls.
    pub fn missing_symbols(&'static self) -> Vec<MissingSymbol> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether the library's functions have the ABI of these releases. Opens it if necessary; false if it
    /// cannot be opened.
    pub fn fits(&'static self, releases: Releases) -> bool {
        self.abi().is_some_and(|abi| releases.contain(abi))
    }

    /// Returns the releases whose ABI the library or the provider has, first and last (major, minor): one release if it
    /// is known, otherwise those that use the library's soname. A release newer than any known counts as the newest.
    /// Opens the library if necessary; `None` if it cannot be opened.
    pub fn abi(&'static self) -> Option<Abi> {
        match self.source() {
            Source::Library(Ok(library)) => Some(library.abi()),
            Source::Library(Err(_)) => None,
            Source::Provider(provider, _) => {
                let release = catch_unwind(AssertUnwindSafe(|| provider.release())).unwrap_or(None);
                Some(release.map_or(Abi::NEWEST, |release| Abi { first: release, last: release }))
            }
        }
    }

    /// Returns the library's release if it is newer than any that the crate declares: see
    /// [`Library::newer_release`]. Opens the library if necessary; `None` if it cannot be opened.
    pub fn newer_release(&'static self) -> Option<&'static Release> {
        match self.source() {
            Source::Library(Ok(library)) => library.newer_release(),
            Source::Library(Err(_)) | Source::Provider(..) => None,
        }
    }

    fn source(&'static self) -> &'static Source {
        self.source.get_or_init(|| Source::Library(process::open(self.spec)))
    }

    fn find(&'static self, name: &CStr) -> Result<Option<NonNull<c_void>>, &'static Error> {
        match self.source() {
            // A panic must not unwind through the `extern "C"` function that got us here.
            Source::Provider(p, _) => Ok(catch_unwind(AssertUnwindSafe(|| p.symbol(name))).unwrap_or(None)),
            Source::Library(Ok(library)) => Ok(library.symbol(name)),
            Source::Library(Err(error)) => Err(error),
        }
    }

    pub(crate) fn describe(&'static self) -> String {
        match self.source.get() {
            None => "nothing".to_owned(),
            Some(Source::Provider(p, _)) => p.name().to_owned(),
            Some(Source::Library(Ok(library))) => library.describe(),
            Some(Source::Library(Err(_))) => format!("{} (not found)", self.spec.name()),
        }
    }

    /// Returns the function's address, or the mark of why it is missing. It is one register and `extern "C"`, so that
    /// callers need no unwinding code.
    #[cold]
    #[inline(never)]
    extern "C" fn resolve(&'static self, slot: &'static Slot) -> *mut c_void {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let address = slot.address.load(Ordering::Relaxed);
        if !address.is_null() {
            return address;
        }
        let address = match self.find(slot.c_name()) {
            Ok(Some(function)) if slot.releases == Releases::ALL || self.fits(slot.releases) => function.as_ptr(),
            Ok(found) => {
                let (name, since, releases) = (slot.name.trim_end_matches('\0'), slot.since, slot.releases);
                missing.push(MissingSymbol { name, since, releases });
                ptr::without_provenance_mut(if found.is_some() { OTHER_RELEASE } else { NO_SYMBOL })
            }
            Err(_) => ptr::without_provenance_mut(NO_LIBRARY),
        };
        slot.address.store(address, Ordering::Release);
        address
    }
}

impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binding")
            .field("library", &self.spec.name())
            .field("in_use", &self.source.get().is_some())
            .finish()
    }
}

/// Declares the functions of a C library, each behind one lazily resolved pointer.
///
/// ```
/// use std::ffi::{c_int, c_uint};
/// static BINDING: rocm_loader::Binding = rocm_loader::Binding::new(&rocm_loader::libraries::AMDHIP64);
///
/// #[repr(transparent)]
/// pub struct hipError_t(pub c_uint);
/// impl rocm_loader::MissingValue for hipError_t {
///     fn missing(why: rocm_loader::Missing) -> Self {
///         match why {
///             rocm_loader::Missing::Library => Self(303),
///             rocm_loader::Missing::Symbol => Self(302),
///             rocm_loader::Missing::Release => Self(801),
///         }
///     }
/// }
///
/// rocm_loader::bindings! { binding = crate::BINDING;
///     /// Returns the number of devices.
///     "5.7" pub fn hipGetDeviceCount(count: *mut c_int) -> hipError_t;
/// }
/// # fn main() {}
/// ```
///
/// Each item is `"RELEASE" pub fn name(parameter: type, ..) -> type;` with attributes and doc comments before it,
/// `#[cfg]` included; RELEASE is the first ROCm release that has the function. The item becomes a
/// `pub unsafe extern "C" fn` of that name. Once resolved, a call is an atomic load and an indirect call: no lock, no
/// hash, no allocation. If the library or the function is missing, it returns
/// [`MissingValue::missing`](crate::MissingValue::missing) of its return type. A `# Safety` section and the release are
/// added to its documentation. `binding` is the path of a `static` [`Binding`](crate::Binding). After it,
/// `releases = PATH;` may name a constant of type [`Releases`](crate::Releases): the functions are then called in a
/// library of these releases only.
#[macro_export]
macro_rules! bindings {
    // A block is first cut into items, as coarsely as possible, since matching it takes time quadratic in the number of fragments.
    (binding = $binding:path; releases = $releases:path; $(
        $(#$attribute:tt)*
        $since:literal pub fn $name:ident $parameters:tt $(-> $result:ty)?;
    )*) => {$(
        $crate::__binding! { $binding, $releases, [$(#$attribute)*] $since $name $parameters [$(-> $result)?] }
    )*};
    (binding = $binding:path; $($items:tt)*) => {
        $crate::bindings! { binding = $binding; releases = $crate::Releases::ALL; $($items)* }
    };
}

/// One item of [`bindings!`](crate::bindings).
#[doc(hidden)]
#[macro_export]
macro_rules! __binding {
    ($binding:path, $releases:path, [$($attributes:tt)*] $since:literal $name:ident ($($parameter:ident: $type:ty),* $(,)?) [$(-> $result:ty)?]) => {
        $($attributes)*
        #[doc = concat!("\n\nSince ROCm ", $since, ".\n\n# Safety\nThe caller must uphold the C function's contract: pointers must be valid for its reads and writes, and handles must be alive.")]
        #[allow(non_snake_case)]
        #[inline]
        pub unsafe extern "C" fn $name($($parameter: $type),*) $(-> $result)? {
            static SLOT: $crate::Slot = $crate::Slot::of_releases(concat!(stringify!($name), "\0"), $since, $releases);
            match SLOT.get(&$binding) {
                Ok(function) => {
                    // SAFETY: the library or provider has it under this name, whose C signature is the one declared here.
                    let function = unsafe {
                        ::core::mem::transmute::<
                            ::core::ptr::NonNull<::core::ffi::c_void>,
                            unsafe extern "C" fn($($type),*) $(-> $result)?,
                        >(function)
                    };
                    // SAFETY: the caller keeps the function's contract.
                    unsafe { function($($parameter),*) }
                }
                Err(why) => $crate::MissingValue::missing(why),
            }
        }
    };
}
