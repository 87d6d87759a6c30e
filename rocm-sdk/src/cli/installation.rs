//! The installation that a subcommand uses.

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use rocm_sdk::devel::{self, Devel, Expansion, Progress, Step};
use rocm_sdk::{Layout, LayoutKind, SearchExt as _};

use super::output::{self, Failure};
use super::place::Place;

/// Returns the first installation of the search. For wheels, the devel tree is expanded.
pub(crate) fn whole(place: &Place) -> Result<Layout, Failure> {
    let search = place.search()?;
    let layout = search.layout()?;
    let Some(devel) = devel_of(&layout)? else { return Ok(layout) };
    let expansion = expand(&devel, false)?;
    Ok(Layout::at(&expansion.root).ok_or_else(|| format!("{}: not an installation", expansion.root.display()))?)
}

/// Returns the devel wheel that belongs to an installation of wheels; `None` for other installations.
pub(crate) fn devel_of(layout: &Layout) -> Result<Option<Devel>, devel::Error> {
    match layout.library_roots().first().and_then(|root| root.parent()) {
        Some(site) if layout.kind() == LayoutKind::Wheels => Devel::at(site).map(Some),
        _ => Ok(None),
    }
}

/// Expands it, with a progress bar if stderr is a terminal.
pub(crate) fn expand(devel: &Devel, quiet: bool) -> Result<Expansion, devel::Error> {
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent}%");
    let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let expansion = devel.expand(&mut |progress: Progress| {
        bar.set_message(match progress.step {
            Step::Waiting => "Waiting for another process that does the same",
            Step::Unpacking => "Unpacking",
            Step::Linking => "Linking",
            Step::Recording => "Recording",
            _ => "Linking device files",
        });
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let expansion = expansion?;
    for skipped in &expansion.skipped {
        output::warn(format!("{} is left out: {}", skipped.what, skipped.why));
    }
    Ok(expansion)
}

/// Prints a path as a line of bytes, whatever it contains.
pub(crate) fn print(path: &Path) -> Result<(), Failure> {
    let mut line = path.as_os_str().as_encoded_bytes().to_vec();
    line.push(b'\n');
    output::bytes(&line)
}
