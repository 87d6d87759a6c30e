//! Device functions and headers of CUDA C++: which HIPRTC has with the prelude of `nvrtc`.
//!
//! `device.tsv` has a row for each: sort, name (one that ends with `*` is a start), status, and what to do, or a use of it.
//! `tests/names/device.rs` compiles the uses.

use crate::report::{Status, Verdict};

const TABLE: &str = include_str!("device.tsv");

/// What becomes of a name in device code; `None` if nothing is known of it.
pub(crate) fn name(name: &str) -> Option<Verdict> {
    find("name", name)
}

/// What becomes of a header; `None` if nothing is known of it, as of the project's own.
pub(crate) fn header(header: &str) -> Option<Verdict> {
    find("header", header)
}

fn find(sort: &str, name: &str) -> Option<Verdict> {
    TABLE.lines().skip(1).find_map(|line| {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (of, known, status, text) = (next(), next(), next(), next());
        let fits = known.strip_suffix('*').map_or_else(|| known == name, |start| name.starts_with(start));
        if of != sort || !fits {
            return None;
        }
        Some(match status {
            "missing" => Verdict::missing(text),
            "differs" => Verdict::differs(text),
            _ => Verdict { status: Status::Mapped, ..Verdict::mapped(name) },
        })
    })
}
