//! The crates, and which of their tests run.

/// A crate of the registry.
pub(super) struct Published {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// Its features that are enabled.
    pub(super) features: &'static [&'static str],
    /// Its programs with tests.
    pub(super) programs: &'static [Program],
    /// Parts of names: a test with one of them runs on a GPU. None: all tests do.
    pub(super) parts: &'static [&'static str],
    /// What else the page says.
    pub(super) remark: &'static str,
}

/// A program with tests.
#[derive(Clone, Copy)]
pub(super) enum Program {
    /// The tests in the sources of the library.
    Library,
    /// A file in `tests`.
    Test(&'static str),
}

use Program::{Library, Test};

pub(super) const PUBLISHED: &[Published] = &[
    Published {
        name: "candle-core",
        version: "0.11.1",
        features: &["cuda"],
        programs: &[
            Test("bilinear_tests"),
            Test("conv_tests"),
            Test("grad_tests"),
            Test("indexing_tests"),
            Test("layout_tests"),
            Test("matmul_tests"),
            Test("pool_tests"),
            Test("tensor_tests"),
        ],
        parts: &["gpu"],
        remark: "without `quantized_tests`, which does not link: it calls functions of the host in files of CUDA C++",
    },
    Published {
        name: "candle-nn",
        version: "0.11.1",
        features: &["cuda"],
        programs: &[Test("ops")],
        parts: &["gpu"],
        remark: "its other tests run on the CPU",
    },
    Published { name: "cubecl-cuda", version: "0.10.0", features: &[], programs: &[Library], parts: &[], remark: "" },
    Published {
        name: "kornia-imgproc",
        version: "0.2.0",
        features: &["cuda"],
        programs: &[Library],
        parts: &["cuda"],
        remark: "",
    },
    Published {
        name: "kornia-tensor",
        version: "0.2.0",
        features: &["cuda"],
        programs: &[Library],
        parts: &["cuda"],
        remark: "",
    },
    Published {
        name: "ug-cuda",
        version: "0.5.0",
        features: &[],
        programs: &[Test("lb_tests")],
        parts: &["cuda"],
        remark: "",
    },
];
