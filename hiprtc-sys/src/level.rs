//! The API level: the highest feature that is on.

macro_rules! levels {
    ($($major:literal, $minor:literal, if $condition:meta;)*) => { $(
        #[cfg($condition)]
        pub(crate) const LEVEL: (u32, u32) = ($major, $minor);
        #[cfg($condition)]
        pub(crate) const NAME: &str = concat!($major, ".", $minor);
    )* };
}

levels! {
    5, 7, if not(feature = "rocm-6-2");
    6, 2, if all(feature = "rocm-6-2", not(feature = "rocm-6-3"));
    6, 3, if all(feature = "rocm-6-3", not(feature = "rocm-6-4"));
    6, 4, if all(feature = "rocm-6-4", not(feature = "rocm-7-0"));
    7, 0, if all(feature = "rocm-7-0", not(feature = "rocm-7-1"));
    7, 1, if all(feature = "rocm-7-1", not(feature = "rocm-7-2"));
    7, 2, if all(feature = "rocm-7-2", not(feature = "rocm-10-0"));
    10, 0, if feature = "rocm-10-0";
}
