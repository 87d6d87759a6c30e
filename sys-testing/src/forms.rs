//! Every form of every function that AMD changed, in the real libraries: one of another release is refused, and the error
//! names the module to use; one of the library's own release is found.

use rocm_loader::{Abi, Binding};

use crate::{Bindings, Changed, child};

/// Compares all forms with each real library that is at hand, each in a process of its own.
///
/// # Panics
/// If a form that does not fit reaches the library, or one that fits is not found in it.
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
        return crate::skipped(format_args!(
            "{} of {tree} cannot be opened: {:?}",
            bindings.name,
            binding.check().err()
        ));
    };
    let (mut refused, mut fitting) = (0, 0);
    for (level, functions) in changed {
        for (name, is_refused) in functions {
            let form = bindings.forms.iter().find(|form| (form.1..=form.2).contains(&level) && form.4.contains(&name));
            let form = form.unwrap_or_else(|| panic!("{name} has no form at {level:?}"));
            let symbol = std::ffi::CString::new(name).expect("a name");
            if form.3.contain(abi) {
                fitting += usize::from(binding.has(&symbol));
            } else {
                assert!(is_refused(), "{name} of {level:?} was called in a library of {abi}");
                refused += 1;
            }
        }
    }
    // Each call is on record, with the releases that it was for.
    let recorded = binding.missing_symbols();
    assert_eq!(recorded.len(), refused, "calls that were refused");
    assert!(recorded.iter().all(|call| !call.releases.contain(abi)));
    assert!(abi == Abi::NEWEST || refused > 0 || fitting > 0, "{abi}");
    println!("{} of {tree} ({abi}): {refused} forms refused, {fitting} found", bindings.name);
}
