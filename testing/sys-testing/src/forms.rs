//! Calls every variant of every function that AMD changed, in the real libraries: a variant of another release is
//! refused, and one of the library's own release reaches it.

use std::sync::atomic::{AtomicUsize, Ordering};

use rocm_loader::{Abi, Binding};

use crate::child;
use crate::coverage::{Bindings, Call, Changed};
use crate::trees::skipped;

/// Compares all variants with each available real library, each in a separate process.
///
/// # Panics
/// Panics if a variant that does not fit reaches the library, or one that fits does not.
pub fn compare(bindings: &Bindings, binding: &'static Binding, changed: Vec<Changed>, path: &str) {
    if let Some(tree) = child::inside() {
        return in_library(bindings, binding, changed, &tree);
    }
    for tree in ["5.7", "6.4", "7.2"] {
        let files: Vec<&str> =
            bindings.binaries.iter().filter(|(_, of, _)| *of == tree).map(|(.., file)| *file).collect();
        if let (Some(_), Some(file)) = (changed.first(), files.first()) {
            child::run_with_libraries(path, tree, &[file]);
        }
    }
}

fn in_library(bindings: &Bindings, binding: &'static Binding, changed: Vec<Changed>, tree: &str) {
    let Some(abi) = binding.abi() else {
        return skipped(format_args!("{} of {tree} cannot be opened: {:?}", bindings.name, binding.check().err()));
    };
    let mut refused = 0;
    let mut fitting = Vec::new();
    for (level, functions) in changed {
        for (name, call) in functions {
            let form = bindings.forms.iter().find(|form| (form.1..=form.2).contains(&level) && form.4.contains(&name));
            let form = form.unwrap_or_else(|| panic!("{name} has no form at {level:?}"));
            let symbol = std::ffi::CString::new(name).expect("a name");
            if !form.3.contain(abi) {
                assert!(call(), "{name} of {level:?} was called in a library of {abi}");
                refused += 1;
            } else if binding.has(&symbol) {
                fitting.push((name, call));
            }
        }
    }
    // Each call is recorded, with the releases that it was for.
    let recorded = binding.missing_symbols();
    assert_eq!(recorded.len(), refused, "calls that were refused");
    assert!(recorded.iter().all(|call| !call.releases.contain(abi)));
    assert!(abi == Abi::NEWEST || refused > 0 || !fitting.is_empty(), "{abi}");
    let ended = reach(binding, &fitting);
    println!(
        "{} of {tree} ({abi}): {refused} forms were refused, {} reached the library, {ended} of which did not return",
        bindings.name,
        fitting.len()
    );
}

/// The exit status of a process in which a call did not reach the library.
const REFUSED: i32 = 77;

/// Makes the calls in a process, and after a crash continues with the next one in another process. Returns the number
/// of crashes: those calls have reached the library too.
///
/// # Panics
/// Panics if a call does not reach the library.
fn reach(binding: &'static Binding, calls: &[Call]) -> usize {
    // SAFETY: new memory, which only needs to be shared with the forked processes.
    let shared = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), size_of::<usize>(), access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
    };
    assert_ne!(shared, libc::MAP_FAILED);
    // SAFETY: mapped above for as long as the process runs, aligned to a page, and zero.
    let begun = unsafe { &*shared.cast::<AtomicUsize>() };
    let (mut next, mut ended) = (0, 0);
    while next < calls.len() {
        // SAFETY: the child calls C and exits without returning into this process's state.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
        if child == 0 {
            in_child(binding, &calls[next..], next, begun);
        }
        let mut status = 0;
        // SAFETY: a child of this process; `status` is valid for a write.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        next = begun.load(Ordering::SeqCst);
        let name = next.checked_sub(1).map_or("none", |last| calls[last].0);
        match libc::WIFEXITED(status) {
            true if libc::WEXITSTATUS(status) == REFUSED => panic!("{name} did not reach the library, which has it"),
            true if libc::WEXITSTATUS(status) == 0 => break,
            _ => ended += 1,
        }
    }
    assert_eq!(next, calls.len(), "calls that were made");
    ended
}

/// Makes the calls and ends the process.
fn in_child(binding: &'static Binding, calls: &[Call], done: usize, begun: &AtomicUsize) -> ! {
    let refused = binding.missing_symbols().len();
    for (at, (_, call)) in calls.iter().enumerate() {
        begun.store(done + at + 1, Ordering::SeqCst);
        // A call that waits for ever is also ended.
        // SAFETY: takes a number.
        unsafe { libc::alarm(20) };
        call();
        if binding.missing_symbols().len() != refused {
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(REFUSED) };
        }
    }
    // SAFETY: as above.
    unsafe { libc::_exit(0) }
}
