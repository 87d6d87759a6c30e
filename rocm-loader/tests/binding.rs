//! Generated functions resolve once, to a library or a provider, and never panic if there is neither.
#![cfg(unix)]
#![allow(unreachable_pub, missing_docs)] // Like the functions of a -sys crate.

mod support;

use std::ffi::{CStr, c_char, c_double, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Once};

use rocm_loader::{Binding, Error, LibrarySpec, Missing, MissingValue, Provider, Search, Soname, bindings};
use support::Tree;

/// A status type like that of a -sys crate.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub c_uint);
const OK: Status = Status(0);
const NO_SYMBOL: Status = Status(302);
const NO_LIBRARY: Status = Status(303);
const OTHER_RELEASE: Status = Status(801);

impl MissingValue for Status {
    fn missing(why: Missing) -> Self {
        match why {
            Missing::Library => NO_LIBRARY,
            Missing::Symbol => NO_SYMBOL,
            Missing::Release => OTHER_RELEASE,
        }
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dim3 {
    pub x: c_uint,
    pub y: c_uint,
    pub z: c_uint,
}

impl MissingValue for Dim3 {
    fn missing(_: Missing) -> Self {
        Self { x: 0, y: 0, z: 0 }
    }
}

pub type Callback = Option<unsafe extern "C" fn(value: c_int, data: *mut c_void) -> c_int>;

static FULL: LibrarySpec = LibrarySpec::new("full", "libfull.so", &[Soname::new("libfull.so.7", 7, 10)], &[]);
static ABSENT: LibrarySpec = LibrarySpec::new("absent", "libabsent.so", &[Soname::new("libabsent.so.7", 7, 10)], &[]);
static COUNTED: LibrarySpec =
    LibrarySpec::new("counted", "libcounted.so", &[Soname::new("libcounted.so.7", 7, 10)], &[]);

pub static FULL_BINDING: Binding = Binding::new(&FULL);
pub static ABSENT_BINDING: Binding = Binding::new(&ABSENT);
pub static COUNTED_BINDING: Binding = Binding::new(&COUNTED);

/// Makes one installation for all tests of this process, with a library that counts in a file how often it is opened.
fn installation() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tree = Tree::new();
        let c = r#"
            typedef struct { unsigned x, y, z; } dim3_t;
            unsigned fullStatus(int *out) { *out = 42; return 0; }
            double fullScale(double a, float b, int c) { return a * b + c; }
            dim3_t fullTurn(dim3_t d) { dim3_t r = { d.y, d.z, d.x }; return r; }
            int fullCall(int (*f)(int, void *), void *data) { return f ? f(20, data) : -7; }
            static int touched; void fullTouch(void) { touched++; } int fullTouched(void) { return touched; }
            const char *fullName(void) { return "full"; }
            long long fullMany(char a, short b, int c, long long d, double e, float f, const char *g, unsigned h, int i, int j) {
                return a + b + c + d + (long long)e + (long long)f + (g ? g[0] : 0) + h + i + j;
            }
            unsigned fullNewer(void) { return 1; }
        "#;
        tree.library("lib/libfull.so.7", "libfull.so.7", c);
        let log = tree.path("opened");
        let counted = r#"
            #include <stdio.h>
            __attribute__((constructor)) static void opened(void) { FILE *f = fopen(LOG, "a"); if (f) { fputs("opened\n", f); fclose(f); } }
            unsigned countedOne(void) { return 0; }
        "#;
        let define = format!("-DLOG=\"{}\"", log.display());
        tree.library_with("lib/libcounted.so.7", "libcounted.so.7", counted, &[&define]);
        rocm_loader::set_search(Search::nowhere().root(tree.root())).unwrap();
        tree.keep();
    });
}

bindings! { binding = crate::FULL_BINDING;
    /// Writes 42.
    "5.7" pub fn fullStatus(out: *mut c_int) -> Status;
    /// `a * b + c`.
    "5.7" pub fn fullScale(a: c_double, b: f32, c: c_int) -> c_double;
    /// Takes and returns a structure by value.
    "6.2" pub fn fullTurn(d: Dim3) -> Dim3;
    /// Calls back.
    "6.2" pub fn fullCall(f: Option<unsafe extern "C" fn(value: c_int, data: *mut c_void) -> c_int>, data: *mut c_void) -> c_int;
    /// Returns nothing.
    "5.7" pub fn fullTouch();
    #[must_use]
    "5.7" pub fn fullTouched() -> c_int;
    "5.7" pub fn fullName() -> *const c_char;
    #[allow(clippy::too_many_arguments)]
    "5.7" pub fn fullMany(a: c_char, b: i16, c: c_int, d: i64, e: c_double, f: f32, g: *const c_char, h: c_uint, i: c_int, j: c_int) -> i64;
    /// Belongs to an API level that is off: not declared.
    #[cfg(any())]
    "10.0" pub fn fullNewer(gone: NoSuchType) -> Status;
    /// The variant of the level that is on.
    #[cfg(all())]
    "5.7" pub fn fullNewer() -> Status;
    /// Missing from the library.
    "7.1" pub fn fullMissing(a: c_int) -> Status;
    "7.1" pub fn fullMissingNothing();
    "7.1" pub fn fullMissingSize() -> usize;
    "7.1" pub fn fullMissingInt() -> c_int;
    "7.1" pub fn fullMissingFloat() -> f32;
    "7.1" pub fn fullMissingPointer() -> *mut c_void;
    "7.1" pub fn fullMissingCallback() -> Callback;
    "7.1" pub fn fullMissingStruct() -> Dim3;
}

bindings! { binding = crate::ABSENT_BINDING;
    "5.7" pub fn absentOne(a: c_int) -> Status;
    "5.7" pub fn absentNothing();
}

bindings! { binding = crate::COUNTED_BINDING;
    "5.7" pub fn countedOne() -> Status;
}

#[test]
fn arguments_and_results_of_every_kind_get_through() {
    installation();
    unsafe extern "C" fn double(value: c_int, data: *mut c_void) -> c_int {
        // SAFETY: the test below passes a c_int.
        value * 2 + unsafe { *data.cast::<c_int>() }
    }
    let mut out = 0;
    let mut two = 2;
    // SAFETY: the stub's functions, as defined above.
    unsafe {
        assert_eq!(fullStatus(&mut out), OK);
        assert_eq!(out, 42);
        assert_eq!(fullScale(1.5, 2.0, 3), 6.0);
        assert_eq!(fullTurn(Dim3 { x: 1, y: 2, z: 3 }), Dim3 { x: 2, y: 3, z: 1 });
        assert_eq!(fullCall(Some(double), (&raw mut two).cast()), 42);
        assert_eq!(fullCall(None, std::ptr::null_mut()), -7);
        fullTouch();
        fullTouch();
        assert_eq!(fullTouched(), 2);
        assert_eq!(CStr::from_ptr(fullName()), c"full");
        assert_eq!(fullMany(1, 2, 3, 4, 5.0, 6.0, c"A".as_ptr(), 7, 8, 9), 45 + 65);
        assert_eq!(fullNewer(), Status(1));
    }
}

/// The functions can be used as C function pointers.
#[test]
fn functions_have_the_c_abi() {
    let _: unsafe extern "C" fn(*mut c_int) -> Status = fullStatus;
    let _: unsafe extern "C" fn() = fullTouch;
}

#[test]
fn a_missing_function_returns_its_status_and_the_cause_can_be_asked() {
    installation();
    // SAFETY: none of them exists, so nothing is called.
    unsafe {
        assert_eq!(fullMissing(1), NO_SYMBOL);
        assert_eq!(fullMissing(1), NO_SYMBOL);
        fullMissingNothing();
        assert_eq!(fullMissingSize(), 0);
        assert_eq!(fullMissingInt(), -1);
        assert!(fullMissingFloat().is_nan());
        assert!(fullMissingPointer().is_null());
        assert!(fullMissingCallback().is_none());
        assert_eq!(fullMissingStruct(), Dim3 { x: 0, y: 0, z: 0 });
    }
    assert!(FULL_BINDING.has(c"fullStatus") && !FULL_BINDING.has(c"fullMissing"));
    assert!(FULL_BINDING.symbol_error(c"fullStatus", "5.7").is_none());
    let error = FULL_BINDING.symbol_error(c"fullMissing", "7.1").unwrap();
    assert!(
        matches!(&error, Error::SymbolMissing { library: "full", symbol, .. } if symbol == "fullMissing"),
        "{error:?}"
    );
    assert!(error.to_string().contains("libfull.so.7") && error.to_string().contains("needs ROCm 7.1"), "{error}");
    let missing = FULL_BINDING.missing_symbols();
    let once = missing.iter().filter(|m| m.name == "fullMissing").collect::<Vec<_>>();
    assert_eq!(once.len(), 1, "{missing:?}");
    assert_eq!(once[0].since, "7.1");
    assert!(FULL_BINDING.check().is_ok() && FULL_BINDING.load().is_ok() && FULL_BINDING.provider_name().is_none());
    assert!(FULL_BINDING.report().unwrap().opened().is_some());
}

#[test]
fn a_missing_library_returns_its_status_and_the_paths_tried() {
    installation();
    // SAFETY: there is no library, so nothing is called.
    unsafe {
        assert_eq!(absentOne(1), NO_LIBRARY);
        absentNothing();
        assert_eq!(absentOne(2), NO_LIBRARY);
    }
    assert!(!ABSENT_BINDING.has(c"absentOne"));
    let error = ABSENT_BINDING.load().unwrap_err();
    assert!(matches!(error, Error::NotFound { library: "absent", .. }));
    assert!(error.to_string().contains("lib/libabsent.so.7 [path given in code]: not found"), "{error}");
    assert!(std::ptr::eq(error, ABSENT_BINDING.load().unwrap_err()), "one search a process");
    let error = ABSENT_BINDING.symbol_error(c"absentOne", "5.7").unwrap();
    assert!(matches!(error, Error::NotFound { .. }));
    assert!(ABSENT_BINDING.check().is_err() && ABSENT_BINDING.opened().is_none());
    assert!(ABSENT_BINDING.missing_symbols().is_empty());
    // Too late for another search.
    assert!(matches!(rocm_loader::set_search(Search::nowhere()), Err(Error::SearchTooLate)));
    assert!(matches!(rocm_loader::set_root("/opt/rocm"), Err(Error::SearchTooLate)));
}

#[test]
fn sixty_four_threads_open_the_library_once() {
    installation();
    let start = Barrier::new(64);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                start.wait();
                // SAFETY: it has no precondition.
                assert_eq!(unsafe { countedOne() }, OK);
            });
        }
    });
    let library = COUNTED_BINDING.opened().unwrap().path().unwrap();
    let log = library.parent().unwrap().parent().unwrap().join("opened");
    assert_eq!(std::fs::read_to_string(log).unwrap(), "opened\n");
}

/// A provider that counts how often each of its functions is asked for.
struct Counting {
    name: &'static str,
    asked: [AtomicUsize; 3],
}

impl Counting {
    const fn new(name: &'static str) -> Self {
        Self { name, asked: [const { AtomicUsize::new(0) }; 3] }
    }
}

unsafe extern "C" fn answer(a: c_int) -> Status {
    Status(a as c_uint + 1000)
}

impl Provider for Counting {
    fn name(&self) -> &str {
        self.name
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let n = [c"providedOne", c"providedTwo"].iter().position(|known| *known == name).unwrap_or(2);
        self.asked[n].fetch_add(1, Ordering::Relaxed);
        if name == c"providedPanics" {
            panic!("a provider that panics");
        }
        (n < 2).then(|| NonNull::new(answer as *mut c_void).unwrap())
    }
}

static PROVIDED_BINDING: Binding = Binding::new(&ABSENT);
static PROVIDER: Counting = Counting::new("counting");
static OTHER: Counting = Counting::new("other");

bindings! { binding = crate::PROVIDED_BINDING;
    "5.7" pub fn providedOne(a: c_int) -> Status;
    "5.7" pub fn providedTwo(a: c_int) -> Status;
    "6.4" pub fn providedNot(a: c_int) -> Status;
    "6.4" pub fn providedPanics(a: c_int) -> Status;
}

#[test]
fn a_provider_takes_the_librarys_place_and_is_asked_once_a_function() {
    PROVIDED_BINDING.set_provider(&PROVIDER).unwrap();
    let start = Barrier::new(64);
    std::thread::scope(|scope| {
        for n in 0..64 {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                // SAFETY: the provider's functions have no precondition.
                unsafe {
                    assert_eq!(providedOne(n), Status(n as c_uint + 1000));
                    assert_eq!(providedTwo(n), Status(n as c_uint + 1000));
                    assert_eq!(providedNot(n), NO_SYMBOL);
                }
            });
        }
    });
    let asked: Vec<usize> = PROVIDER.asked.iter().map(|n| n.load(Ordering::Relaxed)).collect();
    assert_eq!(asked, [1, 1, 1], "64 threads, each function asked for once, the missing one too");
    // SAFETY: never called.
    let status = unsafe { providedPanics(1) };
    assert_eq!(status, NO_SYMBOL, "a provider's panic stays on this side of C");
    assert_eq!(PROVIDED_BINDING.provider_name(), Some("counting"));
    assert!(PROVIDED_BINDING.check().is_ok() && PROVIDED_BINDING.opened().is_none());
    assert!(matches!(PROVIDED_BINDING.load(), Err(Error::Provided { provider, .. }) if provider == "counting"));
    let error = PROVIDED_BINDING.symbol_error(c"providedNot", "6.4").unwrap();
    assert_eq!(error.to_string(), "providedNot is missing from counting: it needs ROCm 6.4 or newer");
    // Setting the same provider again is not an error, setting another is.
    PROVIDED_BINDING.set_provider(&PROVIDER).unwrap();
    let error = PROVIDED_BINDING.set_provider(&OTHER).unwrap_err();
    assert!(
        matches!(&error, Error::ProviderTooLate { wanted, current, .. } if wanted == "other" && current == "counting")
    );
}

static LATE_BINDING: Binding = Binding::new(&FULL);

#[test]
fn a_provider_after_the_first_use_is_too_late() {
    installation();
    assert!(LATE_BINDING.has(c"fullStatus"));
    let error = LATE_BINDING.set_provider(&OTHER).unwrap_err();
    assert!(
        matches!(&error, Error::ProviderTooLate { library: "full", wanted, current } if wanted == "other" && current.ends_with("libfull.so.7"))
    );
    assert!(LATE_BINDING.load().is_ok());
}
