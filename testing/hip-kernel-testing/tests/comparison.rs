//! Rust needs as many instructions as HIP C++, within a bound for each algorithm.

use hip_kernel_testing::compare::{self, ALGORITHMS};

/// The bounds of the ratios. `COMPARISON.md` explains those above 1.10.
const BOUNDS: [(&str, f64); 7] = [
    ("vector_add", 1.10),
    ("saxpy", 1.10),
    ("reduce", 1.10),
    ("matmul", 1.22),
    ("histogram", 1.10),
    ("scan", 1.10),
    ("nbody", 1.10),
];

#[test]
fn rust_takes_no_more_instructions_than_hip() {
    let rows = compare::measure(&["--exact", "one_language", "--ignored"]).unwrap();
    assert_eq!(rows.len(), 2 * ALGORITHMS.len());
    for row in rows {
        let (_, bound) = BOUNDS.iter().find(|(name, _)| *name == row.algorithm).unwrap();
        assert!(row.rust > 0 && row.ratio() <= *bound, "{row:?}: {:.2} times as many, above {bound}", row.ratio());
    }
}

#[test]
#[ignore = "run by the other test, with a language"]
fn one_language() {
    compare::run(&std::env::var("HIP_KERNEL_COMPARE").unwrap()).unwrap();
}
