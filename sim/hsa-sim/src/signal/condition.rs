//! What a signal's value is compared with.

use crate::abi::{HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_GTE, HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_NE};

/// A comparison with a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    Eq,
    Ne,
    Lt,
    Gte,
}

impl Condition {
    /// From `hsa_signal_condition_t`.
    pub(crate) fn new(raw: u32) -> Option<Self> {
        Some(match raw {
            HSA_SIGNAL_CONDITION_EQ => Self::Eq,
            HSA_SIGNAL_CONDITION_NE => Self::Ne,
            HSA_SIGNAL_CONDITION_LT => Self::Lt,
            HSA_SIGNAL_CONDITION_GTE => Self::Gte,
            _ => return None,
        })
    }

    /// Whether `value` is as it is to be, compared with `other`.
    pub(crate) fn holds(self, value: i64, other: i64) -> bool {
        match self {
            Self::Eq => value == other,
            Self::Ne => value != other,
            Self::Lt => value < other,
            Self::Gte => value >= other,
        }
    }
}
