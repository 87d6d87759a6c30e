//! The bindings on the real HIP library of their level, on a machine with or without a GPU.

use std::collections::BTreeSet;

use hip_sys::coverage;
use sys_testing::child::tree;

#[cfg(feature = "rocm-5-7")]
mod rocm_5_7 {
    use hip_sys::rocm_5_7 as sys;

    include!("real/library.rs");
}

#[cfg(feature = "rocm-6-4")]
mod rocm_6_4 {
    use hip_sys::rocm_6_4 as sys;

    include!("real/library.rs");
}

#[cfg(feature = "rocm-7-2")]
mod rocm_7_2 {
    use hip_sys::rocm_7_2 as sys;

    include!("real/library.rs");
}

/// Functions that the libraries export and that the crate lacks, by release, and why.
const NOT_HERE: [(&str, &[&str], &str); 8] = [
    ("hipChooseDevice", &["6.4", "7.2"], "from 6.2 on for the struct of ROCm 5; in C a macro hides it"),
    ("hipGetDeviceProperties", &["6.4", "7.2"], "likewise"),
    ("hipChooseDeviceR0000", &["6.4", "7.2"], "of hip_deprecated.h, for the struct of ROCm 5"),
    ("hipGetDevicePropertiesR0000", &["6.4", "7.2"], "likewise"),
    ("hipExtModuleLaunchKernel", &["6.4", "7.2"], "of hip_ext.h, declared for C++ alone; in 5.7 it is a C++ function"),
    ("hipHccModuleLaunchKernel", &["6.4", "7.2"], "likewise"),
    ("hipGetCmdName", &["5.7", "6.4", "7.2"], "for AMD's tracers, in no header"),
    ("hipRegisterTracerCallback", &["5.7", "6.4", "7.2"], "likewise"),
];

/// Checks every fetched tree, whatever the level: no function of HIP is missing unintentionally.
#[test]
fn exported_functions_that_are_not_here_are_listed() {
    let mut needed = BTreeSet::new();
    let mut trees = 0;
    for (level, file) in [((5, 7), "libamdhip64.so.5"), ((6, 4), "libamdhip64.so.6"), ((7, 2), "libamdhip64.so.7")] {
        let Some(exported) = sys_testing::symbols::exported(tree(level), file) else { continue };
        trees += 1;
        let covered = sys_testing::covered(&coverage::FUNCTIONS, level);
        let hip = |name: &str| name.starts_with("hip") && !name.starts_with("hiprtc") && !name.starts_with("hip_");
        let beyond: BTreeSet<&str> =
            exported.iter().map(String::as_str).filter(|name| hip(name) && !covered.contains(name)).collect();
        let listed = NOT_HERE.iter().filter(|(_, releases, _)| releases.contains(&tree(level)));
        let listed: BTreeSet<&str> = listed.map(|(name, ..)| *name).collect();
        assert_eq!(beyond, listed, "exported by {file} and not here; NOT_HERE lists for it");
        needed.extend(listed);
    }
    assert!(trees < 3 || needed.len() == NOT_HERE.len(), "{needed:?}");
}
