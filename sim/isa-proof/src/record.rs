//! The record of a complete run: a page that depends only on the libraries and the date.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use amdgpu_sim::Arch;

use crate::check::Counts;

/// The results for a library.
pub struct Library {
    /// Debian's package and its version: `librocblas5 7.2.4-1~exp1`.
    pub package: String,
    /// Number of files read.
    pub files: usize,
    /// The results, in the order of [`Arch::ALL`].
    pub counts: [Counts; 2],
}

/// A number with thousands separators.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The table for a processor.
#[must_use]
pub fn table(libraries: &[Library], arch: Arch) -> String {
    let mut text = String::from(
        "| package | code objects | instructions | distinct forms | words that are not instructions | differences | not executed |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut all = Counts::default();
    let mut row = |name: &str, counts: &Counts| {
        let not_executed = counts.not_executed().values().sum();
        let numbers = [
            counts.code_objects,
            counts.instructions,
            counts.forms.len() as u64,
            counts.data,
            counts.differences,
            not_executed,
        ];
        let numbers = numbers.map(grouped).join(" | ");
        let _ = writeln!(text, "| {name} | {numbers} |");
    };
    for library in libraries {
        let counts = &library.counts[arch as usize];
        row(&library.package, counts);
        all.add(counts.clone());
    }
    row("all", &all);
    text
}

/// The page. `command` is the command that writes it, `llvm` the LLVM release.
#[must_use]
pub fn page(libraries: &[Library], date: &str, llvm: &str, command: &str) -> String {
    let mut text = format!(
        "# Decoding, compared with LLVM on ROCm's libraries\n\n\
         Written by `{command}` on {date}.\n\n\
         This crate's decoder and {llvm} read every code object for gfx90a and gfx942 in Debian's packages, from the\n\
         first to the last word. At each place both must find an instruction of the same length with the same text.\n\n\
         - *Differences*: places where they do not.\n\
         - *Distinct forms*: instructions that differ in more than their register numbers and constant values.\n\
         - *Words that are not instructions*: both agree on them; they fill the space between functions.\n\
         - *Not executed*: instructions that are not supported by the software GPU: reaching one is a fault that names it.\n"
    );
    for arch in Arch::ALL {
        let _ = write!(text, "\n## {arch}\n\n{}", table(libraries, arch));
        let mut missing: BTreeMap<_, u64> = BTreeMap::new();
        for library in libraries {
            for (what, count) in library.counts[arch as usize].not_executed() {
                *missing.entry(what).or_default() += count;
            }
        }
        if !missing.is_empty() {
            text.push_str("\nNot executed:\n\n");
        }
        for ((mnemonic, why), count) in missing {
            let _ = writeln!(text, "- `{mnemonic}`, {} times: {why}", grouped(count));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_library_and_one_for_all() {
        let counts = |instructions| Counts { code_objects: 1, instructions, ..Counts::default() };
        let library = |package: &str, n| Library { package: package.into(), files: 1, counts: [counts(n), counts(0)] };
        let text = table(&[library("a 1", 1000), library("b 2", 5)], Arch::Gfx90a);
        assert!(text.contains("| a 1 | 1 | 1,000 | 0 | 0 | 0 | 0 |") && text.contains("| all | 2 | 1,005 |"), "{text}");
    }
}
