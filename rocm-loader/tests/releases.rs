//! A form of a function is only called in libraries of its own releases.
#![cfg(target_os = "linux")]
#![allow(missing_docs, unreachable_pub, reason = "a test")]

mod support;

use std::ffi::{c_int, c_uint};

use rocm_loader::{Abi, LibrarySpec, MissingValue, Releases, Search, Soname, bindings, set_search};
use support::{Tree, in_child, is_child};

#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub c_uint);

impl MissingValue for Status {
    fn missing(why: rocm_loader::Missing) -> Self {
        match why {
            rocm_loader::Missing::Library => Self(303),
            rocm_loader::Missing::Symbol => Self(302),
            rocm_loader::Missing::Release => Self(801),
        }
    }
}

/// A `-sys` crate with one function that ROCm 7.0 changed, and one that it dropped.
mod forms_sys {
    use super::*;

    const OLD: Releases = Releases::new((0, 0), Some((7, 0)));
    const NEW: Releases = Releases::new((7, 0), None);

    pub(crate) mod coverage {
        pub(crate) static FUNCTIONS: [(&str, &str, Option<&str>); 3] =
            [("changed", "5.7", None), ("dropped", "5.7", Some("7.0")), ("same", "5.7", None)];
        pub(crate) static FORMS: [rocm_loader::Form; 2] = [
            ("rocm_5_7", (5, 7), (6, 4), super::OLD, &["changed", "dropped"]),
            ("rocm_7_0", (7, 0), (10, 0), super::NEW, &["changed"]),
        ];
    }

    static SPEC: LibrarySpec = LibrarySpec::new(
        "forms",
        "libforms.so",
        &[
            Soname::new("libforms.so.9", 6, 10),
            Soname::new("libforms.so.7", 7, 10),
            Soname::new("libforms.so.6", 6, 6),
            Soname::new("libforms.so.5", 5, 6).with_abi_of((5, 7), (5, 7)),
        ],
        &[],
    );

    rocm_loader::sys_crate!(SPEC);

    bindings! { binding = crate::forms_sys::BINDING;
        "5.7" pub fn same() -> Status;
    }

    pub(crate) mod rocm_6_4 {
        use super::*;
        rocm_loader::sys_level! { crate::forms_sys, (6, 4), "6.4" }
        bindings! { binding = crate::forms_sys::BINDING; releases = crate::forms_sys::OLD;
            "5.7" pub fn changed(a: c_int) -> Status;
            "5.7" pub fn dropped() -> Status;
        }
    }

    pub(crate) mod rocm_7_2 {
        use super::*;
        rocm_loader::sys_level! { crate::forms_sys, (7, 2), "7.2" }
        bindings! { binding = crate::forms_sys::BINDING; releases = crate::forms_sys::NEW;
            "5.7" pub fn changed(a: c_int, b: c_int) -> Status;
        }
    }
}

/// Returns its arguments, which are garbage if it is called in another form.
const SOURCE: &str =
    "int changed(int a, int b) { return a; } int dropped(void) { return 5; } int same(void) { return 6; }";

/// In a separate process: an installation of this release has a library of this name.
fn installed(file: &str, release: Option<&str>) {
    let tree = Tree::new();
    tree.library(&format!("lib/{file}"), file, SOURCE);
    release.into_iter().for_each(|release| drop(tree.write(".info/version", release)));
    set_search(Search::nowhere().root(tree.keep())).unwrap();
}

/// Returns the results of both forms and of an unchanged function, and the errors of the forms.
fn answers() -> ([u32; 3], [Option<String>; 2]) {
    use forms_sys::{rocm_6_4, rocm_7_2};
    // SAFETY: the functions only return an argument.
    let answers = unsafe { [rocm_6_4::changed(1), rocm_7_2::changed(2, 3), forms_sys::same()] };
    let said = [rocm_6_4::symbol_error(c"changed"), rocm_7_2::symbol_error(c"changed")];
    (answers.map(|status| status.0), said.map(|error| error.map(|error| error.to_string())))
}

macro_rules! cases {
    ($($name:ident: $file:literal, $release:expr => $answers:expr, $abi:expr;)*) => {$(
        #[test]
        fn $name() {
            if !is_child() {
                return in_child(stringify!($name), &[]);
            }
            installed($file, $release);
            let (found, said) = answers();
            assert_eq!((found, said.each_ref().map(Option::is_some)), ($answers, $answers.map(|status| status == 801)[..2].try_into().unwrap()));
            assert_eq!(forms_sys::BINDING.abi().unwrap(), $abi);
            for (said, (module, other)) in said.into_iter().zip([("rocm_7_0", "before 7.0"), ("rocm_5_7", "7.0 or newer")]) {
                let Some(said) = said else { continue };
                if $answers[..2] != [801, 801] {
                    assert!(said.contains(&format!("use {module}::changed")), "{said}");
                }
                assert!(said.contains(&format!("this is changed of ROCm {other}")) && said.contains($file), "{said}");
            }
        }
    )*};
}

const fn one(major: u32, minor: u32) -> Abi {
    Abi { first: (major, minor), last: (major, minor) }
}

cases! {
    an_old_library_has_the_old_form: "libforms.so.6", None => [1, 801, 6], Abi { first: (6, 0), last: (6, u32::MAX) };
    a_new_library_has_the_new_form: "libforms.so.7", None => [801, 2, 6], Abi { first: (7, 0), last: (10, u32::MAX) };
    the_release_beside_it_counts: "libforms.so.9", Some("6.4.3-128") => [1, 801, 6], one(6, 4);
    and_so_does_a_newer_one: "libforms.so.9", Some("7.2.4") => [801, 2, 6], one(7, 2);
    the_soname_counts_before_the_release: "libforms.so.5", Some("7.2.4") => [1, 801, 6], one(5, 7);
    neither_form_is_called_where_the_release_is_unknown: "libforms.so.9", None => [801, 801, 6], Abi { first: (6, 0), last: (10, u32::MAX) };
    a_library_newer_than_any_known_has_the_newest_form: "libforms.so.11", None => [801, 2, 6], Abi::NEWEST;
    a_release_newer_than_any_known_has_the_newest_form: "libforms.so.7", Some("12.1.0") => [801, 2, 6], Abi { first: (10, u32::MAX), last: (10, u32::MAX) };
}

/// If the library's installation states a release that no crate declares, the program can query it.
#[test]
fn a_newer_release_is_reported() {
    if !is_child() {
        return in_child("a_newer_release_is_reported", &[]);
    }
    installed("libforms.so.7", Some("10.2.0"));
    let newer = forms_sys::BINDING.newer_release().expect("newer than any known");
    assert_eq!((newer.rocm(), newer.label().as_str()), ((10, 2), "ROCm 10.2.0"));
}

#[test]
fn the_newest_known_release_is_not_newer() {
    if !is_child() {
        return in_child("the_newest_known_release_is_not_newer", &[]);
    }
    let (major, minor) = rocm_loader::NEWEST_RELEASE;
    installed("libforms.so.7", Some(&format!("{major}.{minor}.3")));
    assert_eq!(forms_sys::BINDING.newer_release(), None);
}

#[test]
fn what_a_level_lacks_is_told() {
    if !is_child() {
        return in_child("what_a_level_lacks_is_told", &[]);
    }
    use forms_sys::{rocm_6_4, rocm_7_2};
    installed("libforms.so.7", Some("7.2.4"));
    // The library still exports it, but its ABI is no longer promised.
    // SAFETY: it takes no arguments.
    assert_eq!(unsafe { rocm_6_4::dropped() }, Status(801));
    let error = rocm_6_4::symbol_error(c"dropped").unwrap().to_string();
    assert!(error.contains("of ROCm 7.2, which does not declare it"), "{error}");
    assert!(
        !rocm_6_4::has(c"dropped") && !rocm_7_2::has(c"dropped") && rocm_7_2::has(c"changed") && rocm_7_2::has(c"same")
    );
    // Without a level the answer is about the form that was called.
    assert!(forms_sys::symbol_error(c"changed").is_none());
    // SAFETY: it returns its argument.
    assert_eq!(unsafe { rocm_6_4::changed(1) }, Status(801));
    let error = forms_sys::symbol_error(c"changed").unwrap().to_string();
    assert!(error.contains("use rocm_7_0::changed"), "{error}");
}
