//! What the generator has to know of a library, beside its headers.

use anyhow::Result;
use regex::Regex;

use super::levels::Level;
use super::write_c::Anonymous;

/// One library and the module of a `-sys` crate that it becomes.
pub(crate) struct Library {
    /// Name under `api/`.
    pub(crate) name: &'static str,
    /// Folder of the crate.
    pub(crate) package: &'static str,
    /// Module of the crate; `None` for the crate root.
    pub(crate) module: Option<&'static str>,
    /// Where headers of it can be had.
    pub(crate) headers: &'static [Headers],
    /// C text that the headers need.
    pub(crate) prelude: &'static str,
    /// Headers, as C includes them; those that a release lacks are left out.
    pub(crate) includes: &'static [&'static str],
    /// Its headers are C++, though the interface is C.
    pub(crate) cplusplus: bool,
    /// Headers that are C++ and that the C interface does not need: left out.
    pub(crate) shims: &'static [&'static str],
    /// Where the packages have no more than a table of functions.
    pub(crate) names: Names,
    /// Structs without padding, of which the packages tell nothing.
    pub(crate) packed: &'static [&'static str],
    /// Functions that the packages declare otherwise than all headers, and why.
    pub(crate) mistaken: &'static [(&'static str, &'static str)],
    /// Folders below the include directory that are this library's own.
    pub(crate) folders: &'static [&'static str],
    /// Regular expression: items that belong to it.
    pub(crate) allow: &'static str,
    /// Libraries whose types it shares, by name.
    pub(crate) uses: &'static [&'static str],
    /// Its status types, with what a call returns when the library or the function is missing.
    pub(crate) statuses: &'static [Status],
    /// Enums of which single constants got other values, and which stay one type all the same, and why.
    pub(crate) one_enum: &'static [(&'static str, &'static str)],
    /// Types and constants that older releases declare in another way with the same ABI: from a level on they are what they
    /// are at the newest. Name, level, how the older declaration differs.
    pub(crate) as_newest: &'static [(&'static str, (u32, u32), &'static str)],
    /// Structs that are laid out as a type of another library, which took their place, and that are names of it here: the
    /// struct and the other.
    pub(crate) same: &'static [(&'static str, &'static str)],
    /// Types of results for which the crate says by hand what a call returns that finds no function.
    pub(crate) results_by_hand: &'static [&'static str],
    /// Names that the headers replace by a macro, in every release that the packages cover: the package's, the
    /// header's, and why.
    pub(crate) renames: &'static [(&'static str, &'static str, &'static str)],
    /// Items that are not carried over.
    pub(crate) leave_out: &'static [&'static str],
    /// Functions that the packages have and that are not here, and why.
    pub(crate) absent: &'static [(&'static str, &'static str)],
    /// Functions that the packages leave out, and why they are here.
    pub(crate) beyond_facts: &'static [(&'static str, &'static str)],
    /// Places of anonymous members in structs that no header at hand has.
    pub(crate) anonymous: Anonymous<'static>,
    /// The oldest level at which the oldest declarations at hand hold, if that is before their own.
    pub(crate) back_to: Option<BackTo>,
    /// The real libraries, to compare their symbols.
    pub(crate) binaries: &'static [Binary],
    /// Subject by beginning of a function's name, a regular expression; the last that fits counts.
    pub(crate) topics: &'static [(&'static str, &'static str)],
}

/// A table of functions, whose types are not to be relied on: they are the nearest headers' own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// There is none.
    None,
    /// All functions of a release are in it.
    All,
    /// Some are.
    Some,
}

/// A status type.
pub(crate) struct Status {
    pub(crate) ty: &'static str,
    pub(crate) library_missing: &'static str,
    pub(crate) symbol_missing: &'static str,
    /// The library is of a release whose function of that name has other parameters.
    pub(crate) other_release: &'static str,
}

/// Headers of one level.
pub(crate) struct Headers {
    /// The API level.
    pub(crate) level: (u32, u32),
    /// The fetched tree (`cargo xtask rocm fetch`) that has them.
    pub(crate) tree: &'static str,
    /// The include directory in it.
    pub(crate) include: &'static str,
    /// What they are of, such as `ROCm 5.7.1`.
    pub(crate) of: &'static str,
    /// They are not of the level's release: the packages' declarations of that release rule, these give the text.
    pub(crate) reference: bool,
}

/// Declarations that hold for older levels than those that witness them.
pub(crate) struct BackTo {
    /// The oldest such level.
    pub(crate) level: (u32, u32),
    /// How that is known.
    pub(crate) why: &'static str,
    /// Items that came later, with their level.
    pub(crate) later: &'static [(&'static str, (u32, u32))],
}

/// A real library.
pub(crate) struct Binary {
    pub(crate) level: (u32, u32),
    /// The fetched tree that has it.
    pub(crate) tree: &'static str,
    /// Its file name, below `usr/lib/x86_64-linux-gnu`.
    pub(crate) file: &'static str,
}

const INCLUDE: &str = "usr/include";

impl Headers {
    /// Headers of the level's own release, in the tree of that release.
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
    /// That of a function.
    pub(crate) fn of(&self, function: &str) -> &'static str {
        self.0.iter().rev().find(|(start, _)| start.is_match(function)).map_or("other", |(_, topic)| topic)
    }
}

impl Library {
    /// A library of which nothing is known.
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

    /// Whether an enum stays one type when a constant of it gets another value. A status is an answer: nothing is called
    /// with it.
    pub(crate) fn keeps(&self, name: &str) -> bool {
        self.statuses.iter().any(|status| status.ty == name) || self.one_enum.iter().any(|(of, _)| *of == name)
    }

    /// What a function is about, by its name.
    pub(crate) fn topics(&self) -> Result<Topics> {
        let compile = |(start, topic): &(&str, &'static str)| Ok((Regex::new(&format!("^(?:{start})"))?, *topic));
        Ok(Topics(self.topics.iter().map(compile).collect::<Result<_>>()?))
    }

    /// The headers of a level.
    pub(crate) fn headers_of(&self, level: Level) -> Option<&'static Headers> {
        self.headers.iter().find(|headers| headers.level == level.number())
    }

    /// The Rust path of what it becomes, from within its crate.
    pub(crate) fn scope(&self) -> String {
        self.module.map_or("crate".to_owned(), |module| format!("crate::{module}"))
    }

    /// The Rust path of what it becomes, from without.
    pub(crate) fn path(&self) -> String {
        let package = self.package.replace('-', "_");
        self.module.map_or(package.clone(), |module| format!("{package}::{module}"))
    }

    /// Folders of generated code and of generated tests in the crate.
    pub(crate) fn generated(&self) -> (String, String) {
        match self.module {
            None => ("src/generated".into(), "tests/generated".into()),
            Some(module) => (format!("src/{module}/generated"), format!("tests/{module}/generated")),
        }
    }

    /// C text that includes its headers.
    pub(crate) fn include_text(&self) -> String {
        let one = |name: &&str| format!("#if __has_include(<{name}>)\n#include <{name}>\n#endif\n");
        self.prelude.to_owned() + &self.includes.iter().map(one).collect::<String>()
    }
}
