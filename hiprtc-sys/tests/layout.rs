//! The bindings are laid out as C's headers say: sizes, alignments, offsets of every field, every constant, for the
//! level that the crate is built for (`--no-default-features --features rocm-5-7`, `rocm-6-4`, `rocm-7-2`).

#[rustfmt::skip]
mod generated;

#[test]
fn layout_and_constants_are_those_of_the_headers() {
    generated::compare();
}
