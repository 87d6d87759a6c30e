//! Human-readable sizes.

use std::fmt;

/// A number of bytes, shown with three digits and a unit of 1000: `318 MB`, as the network and disks count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut unit = "B";
        let mut value = self.0 as f64;
        for next in ["kB", "MB", "GB", "TB"] {
            // A value that would be rounded to 1000 uses the next unit.
            if value < 999.5 {
                break;
            }
            value /= 1000.0;
            unit = next;
        }
        let digits = if unit == "B" || value >= 99.95 {
            0
        } else if value >= 9.995 {
            1
        } else {
            2
        };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn three_digits_and_a_unit() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (99_960, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (318_400_000, "318 MB"),
            (1_400_000_000, "1.40 GB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
        assert_eq!(format!("[{:>8}]", Bytes(5)), "[     5 B]");
    }
}
