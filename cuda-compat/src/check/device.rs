//! Device functions and headers of CUDA C++, and whether HIPRTC supports them with the prelude of `nvrtc`.
//!
//! `device.tsv` has a row for each: kind, name (a name that ends with `*` is a prefix), status, and the advice, or an
//! example of its use. `tests/names/device.rs` compiles the examples.

use crate::report::{Status, Verdict};

const TABLE: &str = include_str!("device.tsv");

/// Returns the verdict for a name in device code; `None` if the name is unknown.
pub(crate) fn name(name: &str) -> Option<Verdict> {
    find("name", name)
}

/// Returns the verdict for a header; `None` for an unknown header, such as one of the project.
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
