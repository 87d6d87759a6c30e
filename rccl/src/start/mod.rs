//! Starting.

mod error;

pub use error::Error;
