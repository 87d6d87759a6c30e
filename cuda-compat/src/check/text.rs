//! The report as text.

use std::fmt;

use crate::report::{Item, Kind, Place, Report, Status};

/// The text of a report.
pub(crate) struct Text<'a> {
    pub(crate) report: &'a Report,
    /// Whether mapped items and all places are listed.
    pub(crate) all: bool,
    pub(crate) colours: bool,
}

/// Maximum number of places of an item that are listed without `--all`.
const PLACES: usize = 4;
/// Maximum number of items with the same advice that are listed without `--all`.
const ITEMS: usize = 10;

impl Text<'_> {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}",
            self.paint("1", &format!("{:<16} {:>6} {:>7} {:>8} {:>8}", "", "items", "mapped", "differs", "missing"))
        )?;
        let mut sum = [0; 4];
        for kind in Kind::ALL {
            let Some(count) = self.report.summary.get(&kind) else { continue };
            let numbers = [count.items, count.mapped, count.differs, count.missing];
            for (sum, number) in sum.iter_mut().zip(numbers) {
                *sum += number;
            }
            self.row(f, kind.title(), numbers)?;
        }
        if self.report.summary.len() > 1 {
            self.row(f, "all", sum)?;
        }
        Ok(())
    }

    fn row(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        [items, mapped, differs, missing]: [usize; 4],
    ) -> fmt::Result {
        let missing = format!("{missing:>8}");
        let missing = if missing.trim() == "0" { missing } else { self.paint("31", &missing) };
        writeln!(f, "{title:<16} {items:>6} {mapped:>7} {differs:>8} {missing}")
    }

    fn section(&self, f: &mut fmt::Formatter<'_>, status: Status, title: &str, colour: &str) -> fmt::Result {
        let items: Vec<&Item> = self.report.items.iter().filter(|item| item.verdict.status == status).collect();
        if items.is_empty() {
            return Ok(());
        }
        let places: usize = items.iter().map(|item| item.places.len()).sum();
        let heading = format!("{title}: {}, in {}", counted(items.len(), "item"), counted(places, "place"));
        writeln!(f, "\n{}", self.paint("1", &heading))?;
        // Items with the same advice, such as the functions of a missing library, are listed under it.
        let mut done = vec![false; items.len()];
        for index in 0..items.len() {
            if done[index] {
                continue;
            }
            let item = items[index];
            let same: Vec<usize> = (index..items.len())
                .filter(|other| {
                    let other = items[*other];
                    other.kind == item.kind && other.verdict.note == item.verdict.note && item.verdict.note.is_some()
                })
                .collect();
            let group: Vec<&Item> =
                if same.is_empty() { vec![item] } else { same.iter().map(|at| items[*at]).collect() };
            for at in same {
                done[at] = true;
            }
            let shown = if self.all { group.len() } else { ITEMS.min(group.len()) };
            for item in &group[..shown] {
                write!(f, "  {}", self.paint(colour, &item.name))?;
                let features = &item.verdict.features;
                if !features.is_empty() {
                    write!(f, " (feature {})", features.join(", "))?;
                }
                writeln!(f, "  {}", self.places(&item.places))?;
            }
            if group.len() > shown {
                writeln!(f, "  and {} more: --all lists them", group.len() - shown)?;
            }
            if let Some(note) = &item.verdict.note {
                writeln!(f, "      {} {note}", self.paint("36", "->"))?;
            }
        }
        Ok(())
    }

    /// `src/a.rs:3, 8; src/b.rs:1 and 12 more`
    fn places(&self, places: &[Place]) -> String {
        let mut places: Vec<&Place> = places.iter().collect();
        places.dedup_by_key(|place| (&place.file, place.line));
        let shown = if self.all { places.len() } else { PLACES.min(places.len()) };
        let mut text = String::new();
        let mut file = "";
        for place in &places[..shown] {
            if place.file != file {
                text.push_str(if text.is_empty() { "" } else { "; " });
                text.push_str(&place.file);
                if place.line > 0 {
                    text.push_str(&format!(":{}", place.line));
                }
                file = &place.file;
            } else {
                text.push_str(&format!(", {}", place.line));
            }
        }
        if places.len() > shown {
            text.push_str(&format!(" and {} more", places.len() - shown));
        }
        text
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report;
        writeln!(f, "{}: {} read\n", report.folder, counted(report.files, "file"))?;
        if report.items.is_empty() {
            writeln!(f, "Nothing of CUDA was found.")?;
        } else {
            self.summary(f)?;
        }
        self.section(f, Status::Missing, "Missing", "31")?;
        self.section(f, Status::Differs, "Differs", "33")?;
        if self.all {
            let mapped = report.items.iter().filter(|item| item.verdict.status == Status::Mapped);
            writeln!(f, "\n{}", self.paint("1", "Mapped"))?;
            for item in mapped {
                writeln!(f, "  {}  {}", self.paint("32", &item.name), self.places(&item.places))?;
                if let Some(to) = &item.verdict.to {
                    writeln!(f, "      {} {to}", self.paint("36", "->"))?;
                }
            }
        }
        if let Some(line) = &report.dependency {
            writeln!(f, "\n{}\n  {line}", self.paint("1", "In Cargo.toml, with the other features that it has"))?;
        }
        if !report.notes.is_empty() {
            writeln!(f, "\n{}", self.paint("1", "Not read, or in part"))?;
            for note in &report.notes {
                writeln!(f, "  {}: {}", note.file, note.note)?;
            }
        }
        Ok(())
    }
}
