//! Progress bars on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressStyle};

use super::bytes::Bytes;
use super::debian::Plan;
use super::progress::{Amount, Event, Progress};

/// Shows each step as a bar if stderr is a terminal, otherwise as a line.
///
/// ```no_run
/// # use rocm_sdk::install::{Bars, Error, Installer};
/// # fn main() -> Result<(), Error> {
/// Installer::standard()?.release("7.2")?.run(&mut Bars::new())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Bars {
    bar: Option<ProgressBar>,
}

impl Bars {
    /// Creates it with no bar drawn yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Progress for Bars {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Waiting(folder) => eprintln!("Waiting for another installation into {} to end", folder.display()),
            Event::Begin { what, total } => self.bar = Some(begin(what, total)),
            Event::Advance(done) => {
                if let Some(bar) = &self.bar {
                    bar.set_position(done);
                    bar.tick();
                }
            }
            Event::End => {
                if let Some(bar) = self.bar.take() {
                    bar.finish_and_clear();
                }
            }
        }
    }

    fn approve(&mut self, plan: &Plan) -> bool {
        eprintln!("{plan}");
        true
    }
}

fn begin(what: &str, total: Option<Amount>) -> ProgressBar {
    let (bar, style, line) = match total {
        None => (ProgressBar::new_spinner(), "{spinner} {msg}", what.to_owned()),
        Some(Amount::Bytes(bytes)) => (
            ProgressBar::new(bytes),
            "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}",
            format!("{what}: {}", Bytes(bytes)),
        ),
        Some(Amount::Packages(count)) => {
            (ProgressBar::new(count), "{msg} {wide_bar} {pos}/{len}", format!("{what}: {count} packages"))
        }
    };
    let bar = bar.with_message(what.to_owned());
    if bar.is_hidden() {
        eprintln!("{line}");
    }
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_is_a_valid_template() {
        let mut bars = Bars::new();
        for total in [None, Some(Amount::Bytes(10)), Some(Amount::Packages(3))] {
            bars.event(Event::Begin { what: "Working", total });
            bars.event(Event::Advance(1));
            assert_eq!(bars.bar.as_ref().map(ProgressBar::position), Some(1));
            bars.event(Event::End);
            assert!(bars.bar.is_none());
        }
        for style in
            ["{spinner} {msg}", "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}"]
        {
            assert!(ProgressStyle::with_template(style).is_ok());
        }
    }
}
