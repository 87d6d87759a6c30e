//! The properties of a library that the generator needs besides its headers.

use anyhow::Result;
use regex::Regex;

use super::levels::Level;

/// Positions of anonymous members, which the packages omit from their struct's fields: struct, index, member.
pub(crate) type Anonymous<'a> = &'a [(&'a str, usize, &'a str)];

/// One library, and the module of a `-sys` crate with its bindings.
pub(crate) struct Library {
    /// Name under `api/`.
    pub(crate) name: &'static str,
    /// Folder of the crate.
    pub(crate) package: &'static str,
    /// Module of the crate; `None` for the crate root.
    pub(crate) module: Option<&'static str>,
    /// The available headers.
    pub(crate) headers: &'static [Headers],
    /// C text that the headers need before them.
    pub(crate) prelude: &'static str,
    /// Headers, as C includes them; those that a release lacks are skipped.
    pub(crate) includes: &'static [&'static str],
    /// Whether its headers are C++, although the interface is C.
    pub(crate) cplusplus: bool,
    /// C++ headers that the C interface does not need: they are omitted.
    pub(crate) shims: &'static [&'static str],
    /// Whether the packages only have a table of functions.
    pub(crate) names: Names,
    /// Structs without padding, which the packages do not mark.
    pub(crate) packed: &'static [&'static str],
    /// Functions that the packages declare differently from all headers, and why.
    pub(crate) mistaken: &'static [(&'static str, &'static str)],
    /// Folders below the include directory that are this library's own.
    pub(crate) folders: &'static [&'static str],
    /// Regular expression: items that belong to it.
    pub(crate) allow: &'static str,
    /// Libraries whose types it shares, by name.
    pub(crate) uses: &'static [&'static str],
    /// Its status types, with the values that a call returns if the library or the function is missing.
    pub(crate) statuses: &'static [Status],
    /// Enums that stay one type although some of their constants got other values, and why.
    pub(crate) one_enum: &'static [(&'static str, &'static str)],
    /// Types and constants that older releases declare differently with the same ABI. From a level on, the newest
    /// declaration is used. Name, level, how the older declaration differs.
    pub(crate) as_newest: &'static [(&'static str, (u32, u32), &'static str)],
    /// Structs with the layout of a type of another library that replaced them, and that become aliases of it: the
    /// struct and the other type.
    pub(crate) same: &'static [(&'static str, &'static str)],
    /// Result types for which the crate implements `MissingValue` by hand.
    pub(crate) results_by_hand: &'static [&'static str],
    /// Names that the headers replace by a macro, in every release that the packages cover: the package's name, the
    /// header's name, and why.
    pub(crate) renames: &'static [(&'static str, &'static str, &'static str)],
    /// Items that are omitted.
    pub(crate) leave_out: &'static [&'static str],
    /// Functions that the packages have but the bindings omit, and why.
    pub(crate) absent: &'static [(&'static str, &'static str)],
    /// Functions that the packages lack but the bindings have, and why.
    pub(crate) beyond_facts: &'static [(&'static str, &'static str)],
    /// Positions of anonymous members in structs that no available header has.
    pub(crate) anonymous: Anonymous<'static>,
    /// The oldest level for which the oldest available declarations hold, if it is before their own.
    pub(crate) back_to: Option<BackTo>,
    /// The real libraries, for the comparison of symbols.
    pub(crate) binaries: &'static [Binary],
    /// The subjects by the start of a function's name, a regular expression; the last match counts.
    pub(crate) topics: &'static [(&'static str, &'static str)],
}

/// A table of functions whose types are not reliable: the nearest headers' types are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// There is no table.
    None,
    /// The table has all functions of a release.
    All,
    /// The table has some of the functions.
    Some,
}

/// A status type.
pub(crate) struct Status {
    pub(crate) ty: &'static str,
    pub(crate) library_missing: &'static str,
    pub(crate) symbol_missing: &'static str,
    /// Returned if the library belongs to a release whose function of that name has other parameters.
    pub(crate) other_release: &'static str,
}

/// Headers of one level.
pub(crate) struct Headers {
    /// The API level.
    pub(crate) level: (u32, u32),
    /// The fetched tree (`cargo xtask rocm fetch`) that contains them.
    pub(crate) tree: &'static str,
    /// The include directory in it.
    pub(crate) include: &'static str,
    /// Their origin, such as `ROCm 5.7.1`.
    pub(crate) of: &'static str,
    /// Whether they belong to another release than the level's: then the packages' declarations of that release count,
    /// and these headers only provide the text.
    pub(crate) reference: bool,
}

/// Declarations that hold for older levels than those of their sources.
pub(crate) struct BackTo {
    /// The oldest such level.
    pub(crate) level: (u32, u32),
    /// The reason.
    pub(crate) why: &'static str,
    /// Items that were added later, with their level.
    pub(crate) later: &'static [(&'static str, (u32, u32))],
}

/// A real library.
pub(crate) struct Binary {
    pub(crate) level: (u32, u32),
    /// The fetched tree that contains it.
    pub(crate) tree: &'static str,
    /// Its file name, below `usr/lib/x86_64-linux-gnu`.
    pub(crate) file: &'static str,
}

const INCLUDE: &str = "usr/include";

impl Headers {
    /// Creates headers of the level's own release, in the tree of that release.
    pub(crate) const fn new(level: (u32, u32), tree: &'static str, of: &'static str) -> Headers {
        Headers { level, tree, include: INCLUDE, of, reference: false }
    }

    pub(crate) const fn below(self, include: &'static str) -> Headers {
        Headers { include, ..self }
    }

    pub(crate) const fn reference(self) -> Headers {
        Headers { reference: true, ..self }
    }
}

impl Status {
    pub(crate) const fn new(ty: &'static str, library_missing: &'static str, symbol_missing: &'static str) -> Status {
        Status { ty, library_missing, symbol_missing, other_release: symbol_missing }
    }

    pub(crate) const fn other_release(self, other_release: &'static str) -> Status {
        Status { other_release, ..self }
    }
}

impl Binary {
    pub(crate) const fn new(level: (u32, u32), tree: &'static str, file: &'static str) -> Binary {
        Binary { level, tree, file }
    }
}

/// The subjects of a library's functions.
pub(crate) struct Topics(Vec<(Regex, &'static str)>);

impl Topics {
    /// Returns the subject of a function.
    pub(crate) fn of(&self, function: &str) -> &'static str {
        self.0.iter().rev().find(|(start, _)| start.is_match(function)).map_or("other", |(_, topic)| topic)
    }
}

impl Library {
    /// A library with default properties.
    pub(crate) const NEW: Library = Library {
        name: "",
        package: "",
        module: None,
        headers: &[],
        prelude: "",
        includes: &[],
        cplusplus: false,
        shims: &[],
        names: Names::None,
        packed: &[],
        mistaken: &[],
        folders: &[],
        allow: "",
        uses: &[],
        statuses: &[],
        one_enum: &[],
        as_newest: &[],
        same: &[],
        results_by_hand: &[],
        renames: &[],
        leave_out: &[],
        absent: &[],
        beyond_facts: &[],
        anonymous: &[],
        back_to: None,
        binaries: &[],
        topics: &[],
    };

    /// Returns whether an enum stays one type if a constant of it gets another value. A status is only returned, never
    /// passed to a function.
    pub(crate) fn keeps(&self, name: &str) -> bool {
        self.statuses.iter().any(|status| status.ty == name) || self.one_enum.iter().any(|(of, _)| *of == name)
    }

    /// Returns the subjects of its functions, by name.
    pub(crate) fn topics(&self) -> Result<Topics> {
        let compile = |(start, topic): &(&str, &'static str)| Ok((Regex::new(&format!("^(?:{start})"))?, *topic));
        Ok(Topics(self.topics.iter().map(compile).collect::<Result<_>>()?))
    }

    /// Returns the headers of a level.
    pub(crate) fn headers_of(&self, level: Level) -> Option<&'static Headers> {
        self.headers.iter().find(|headers| headers.level == level.number())
    }

    /// Returns the Rust path of its bindings, from within its crate.
    pub(crate) fn scope(&self) -> String {
        self.module.map_or("crate".to_owned(), |module| format!("crate::{module}"))
    }

    /// Returns the Rust path of its bindings, from other crates.
    pub(crate) fn path(&self) -> String {
        let package = self.package.replace('-', "_");
        self.module.map_or(package.clone(), |module| format!("{package}::{module}"))
    }

    /// Returns the folders of generated code and of generated tests in the crate.
    pub(crate) fn generated(&self) -> (String, String) {
        match self.module {
            None => ("src/generated".into(), "tests/generated".into()),
            Some(module) => (format!("src/{module}/generated"), format!("tests/{module}/generated")),
        }
    }

    /// Returns the C text that includes its headers.
    pub(crate) fn include_text(&self) -> String {
        let one = |name: &&str| format!("#if __has_include(<{name}>)\n#include <{name}>\n#endif\n");
        self.prelude.to_owned() + &self.includes.iter().map(one).collect::<String>()
    }
}
