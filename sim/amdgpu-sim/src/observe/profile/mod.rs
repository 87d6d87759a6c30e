//! The profile: counters for every instruction of a kernel.

mod counters;
mod flame;
mod occupancy;
mod record;
mod report;
mod store;

pub use counters::{Counters, InstructionProfile};
pub use occupancy::{Limit, Occupancy, occupancy};
pub use store::{DispatchProfile, Hint, KernelProfile, Profile};

pub(super) use counters::Tallies;
pub(super) use store::Store;
