//! What a crate says of its bindings.

use std::collections::BTreeSet;

/// A row of a crate's table: function, the first release that has it, the first that has it no more.
pub type Row = (&'static str, &'static str, Option<&'static str>);

/// A real library: level, fetched tree, file.
pub type Binary = ((u32, u32), &'static str, &'static str);

/// The functions that a crate has at a level, with their addresses.
pub type Declared = ((u32, u32), Vec<(&'static str, *const ())>);

/// The form of functions that a module has and that is not the same at every level, with calls: the first level, and
/// for each function whether a call with zeros for arguments is refused. A form that fits the library is called in a
/// process of its own, which the library may end: C allows no null pointers in many places.
pub type Changed = ((u32, u32), Vec<Call>);

/// A function and its call.
pub type Call = (&'static str, fn() -> bool);

/// What a crate says of its bindings.
pub struct Bindings {
    /// The library's name in `api/presence.tsv`.
    pub name: &'static str,
    /// `coverage::FUNCTIONS`.
    pub functions: &'static [Row],
    /// `coverage::COUNTS`.
    pub counts: &'static [(u32, u32, usize)],
    /// `coverage::FORMS`.
    pub forms: &'static [rocm_loader::Form],
    /// `coverage::NOT_EXPORTED`.
    pub not_exported: &'static [(&'static str, &'static [&'static str])],
    /// The functions of each level that the crate has by its features.
    pub declared: Vec<Declared>,
    /// Functions in which the crate and AMD's packages differ, and why.
    pub exceptions: &'static [(&'static str, &'static str)],
    /// The real libraries.
    pub binaries: &'static [Binary],
}

/// `(6, 4)` of `6.4`.
pub(crate) fn level(text: &str) -> (u32, u32) {
    let (major, minor) = text.split_once('.').expect("MAJOR.MINOR");
    (major.parse().expect("a number"), minor.parse().expect("a number"))
}

/// The functions of a level, by the table in the crate.
pub fn covered(functions: &[Row], at: (u32, u32)) -> BTreeSet<&'static str> {
    let there =
        functions.iter().filter(|(_, first, gone)| level(first) <= at && gone.is_none_or(|gone| at < level(gone)));
    there.map(|(name, ..)| *name).collect()
}
