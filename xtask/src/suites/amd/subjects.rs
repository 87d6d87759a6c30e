//! AMD's test programs, as Debian packages them.

/// Test programs of one library.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Their name on the command line.
    pub(crate) name: &'static str,
    /// Their Debian package. Programs are in `usr/libexec/rocm/PACKAGE`.
    pub(crate) package: &'static str,
    /// Download and size on disk, for the help.
    pub(crate) size: &'static str,
    /// Variables that they need; `{folder}` is the folder of the programs, `{tree}` that of the unpacked packages.
    pub(crate) variables: &'static [(&'static str, &'static str)],
    /// Arguments that they need, with the same folders.
    pub(crate) arguments: &'static [&'static str],
    /// GPUs that they need.
    pub(crate) devices: u32,
    /// Packages to fetch with theirs, instead of all dependencies, if Debian lacks some of those.
    pub(crate) alone: &'static [&'static str],
    /// Whether they do not use GoogleTest: then each program is one case.
    pub(crate) whole: bool,
    /// Libraries with another soname than in the release's tree: the name, and the library there.
    pub(crate) links: &'static [(&'static str, &'static str)],
}

const fn subject(name: &'static str, package: &'static str, size: &'static str) -> Subject {
    Subject { name, package, size, variables: &[], arguments: &[], devices: 1, alone: &[], whole: false, links: &[] }
}

/// All subjects. The packages are those of ROCm 7.2.
pub(crate) const SUBJECTS: &[Subject] = &[
    subject("rocprim", "librocprim-tests", "1.6 GB"),
    subject("hipcub", "libhipcub-tests", "0.9 GB"),
    Subject { arguments: &["--sizes=tiny"], whole: true, ..subject("rocthrust", "librocthrust-tests", "1.4 GB") },
    subject("rocwmma", "librocwmma-tests", "0.5 GB"),
    subject("rocrand", "librocrand1-tests", "53 MB"),
    subject("hiprand", "libhiprand1-tests", "2 MB"),
    // Without a seed, each process has different cases.
    Subject { arguments: &["--seed", "1"], ..subject("rocfft", "librocfft0-tests", "3 MB") },
    Subject { arguments: &["--seed", "1"], ..subject("hipfft", "libhipfft0-tests", "3 MB") },
    // Otherwise they look for their cases in the folder of an installed package, and do not name those that pass.
    Subject {
        variables: &[("GTEST_LISTENER", "PASS_LINE_IN_LOG")],
        arguments: &["--data", "{tree}/usr/share/librocblas5-tests/data/rocblas_gtest.data"],
        ..subject("rocblas", "librocblas5-tests", "10 MB")
    },
    Subject {
        variables: &[("GTEST_LISTENER", "PASS_LINE_IN_LOG")],
        arguments: &["--data", "{folder}/data/hipblas_gtest.data"],
        ..subject("hipblas", "libhipblas3-tests", "8 MB")
    },
    subject("hipblaslt", "libhipblaslt1-tests", "2 MB"),
    Subject {
        variables: &[("ROCSPARSE_CLIENTS_TEST_DATA_DIR", "{tree}/usr/share/librocsparse1-tests/data/")],
        ..subject("rocsparse", "librocsparse1-tests", "19 MB")
    },
    subject("hipsparse", "libhipsparse4-tests", "3 MB"),
    subject("rocsolver", "librocsolver0-tests", "5 MB"),
    subject("hipsolver", "libhipsolver1-tests", "2 MB"),
    subject("rocalution", "librocalution1-tests", "1 MB"),
    Subject {
        variables: &[("HSA_FORCE_FINE_GRAIN_PCIE", "1")],
        devices: 2,
        ..subject("rccl", "librccl1-tests", "0.5 MB")
    },
    Subject {
        variables: &[("ROCRTST_KERNELS_PATH", "{folder}")],
        // It depends on libamd-smi26, which Debian no longer has.
        alone: &["libhwloc15"],
        links: &[("libamd_smi.so.26", "libamd_smi.so.27")],
        ..subject("rocrtst", "libhsa-runtime64-tests", "0.4 MB")
    },
];

/// Returns the subject of that name.
pub(crate) fn subject_named(name: &str) -> Result<&'static Subject, String> {
    SUBJECTS.iter().find(|subject| subject.name == name).ok_or_else(|| {
        let known: Vec<_> = SUBJECTS.iter().map(|subject| format!("{} ({})", subject.name, subject.size)).collect();
        format!("the test programs are those of {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_known_by_name() {
        let names: std::collections::BTreeSet<_> = SUBJECTS.iter().map(|subject| subject.name).collect();
        assert_eq!(names.len(), SUBJECTS.len());
        assert_eq!(subject_named("rocprim").unwrap().package, "librocprim-tests");
        assert!(subject_named("rocprimm").unwrap_err().contains("rocprim (1.6 GB)"));
    }
}
