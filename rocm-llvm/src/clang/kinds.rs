//! Enums of libclang's numbers.

macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident, $other:literal: $($(#[$of:meta])* $kind:ident = $number:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$of])* $kind,)*
            #[doc = $other]
            Other(u32),
        }

        impl $name {
            pub(super) fn from_raw(raw: u32) -> Self {
                match raw {
                    $($number => Self::$kind,)*
                    other => Self::Other(other),
                }
            }
        }
    };
}
pub(super) use kinds;
