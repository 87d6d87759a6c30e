//! The error of a lost device.

use std::fmt;

use super::hip_error::HipError;

/// A device on which nothing can run until the process ends, or all devices: in
/// [`Error::DeviceLost`](crate::Error::DeviceLost).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceLost {
    /// The device's index; `None` if the runtime has lost all devices of the process.
    pub device: Option<usize>,
    /// The launches that may have caused the loss: all that were not known to be over. Empty if other work caused it.
    pub launches: Vec<String>,
    /// The runtime's first error: its status, and the call that returned it.
    pub first: HipError,
}

/// Maximum number of launches that an error names.
const SHOWN: usize = 12;

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for DeviceLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DeviceLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HipError { status, name, description, function, asked, fault } = &self.first;
        match self.device {
            Some(device) => write!(f, "device {device} is lost: ")?,
            None => f.write_str("the devices of this process are lost: ")?,
        }
        match &self.launches[..] {
            [] => f.write_str("work of this process")?,
            [one] => write!(f, "kernel {one}")?,
            all => {
                write!(f, "one of {}", all[..all.len().min(SHOWN)].join(", "))?;
                if all.len() > SHOWN {
                    write!(f, " and {} more", all.len() - SHOWN)?;
                }
            }
        }
        write!(f, " failed with {name} ({})", status.0)?;
        if !description.is_empty() && description != name {
            write!(f, ", {description}")?;
        }
        let it = if self.device.is_some() { "it" } else { "them" };
        write!(f, ", as {function} found ({asked}). No call on {it} succeeds any more: restart the process")?;
        match fault {
            Some(fault) => write!(f, "\n{fault}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DeviceLost {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::status::Status;

    #[test]
    fn it_says_what_and_where_and_what_to_do() {
        let first = HipError {
            status: Status::ILLEGAL_ADDRESS,
            name: "hipErrorIllegalAddress".to_owned(),
            description: "an illegal memory access was encountered".to_owned(),
            function: "hipStreamSynchronize",
            asked: "stream 3 of device 1".to_owned(),
            fault: None,
        };
        let text = |launches: &[&str]| {
            let launches = launches.iter().map(|name| (*name).to_owned()).collect();
            DeviceLost { device: Some(1), launches, first: first.clone() }.to_string()
        };
        assert_eq!(
            text(&["add<<<(1, 1, 1), (64, 1, 1)>>> on stream 3"]),
            "device 1 is lost: kernel add<<<(1, 1, 1), (64, 1, 1)>>> on stream 3 failed with hipErrorIllegalAddress (700), \
             an illegal memory access was encountered, as hipStreamSynchronize found (stream 3 of device 1). No call on \
             it succeeds any more: restart the process"
        );
        assert!(text(&[]).starts_with("device 1 is lost: work of this process failed"));
        assert!(text(&["a", "b"]).starts_with("device 1 is lost: one of a, b failed"));
        assert!(text(&["a"; 14]).contains("a, a and 2 more failed"));
        let all = DeviceLost { device: None, launches: Vec::new(), first: first.clone() }.to_string();
        assert!(all.starts_with("the devices of this process are lost: work of this process failed"), "{all}");
    }
}
