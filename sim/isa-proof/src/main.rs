//! The program that `cargo xtask isa` runs on the fetched libraries.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use amdgpu_sim::Arch;
use anyhow::{Context, Result, bail};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use isa_proof::files::{Work, check_file, files_of};
use isa_proof::record::{self, Library, grouped};

/// Compares the decoder with LLVM's on libraries: started by `cargo xtask isa`.
#[derive(Debug, Parser)]
struct Args {
    /// Folder of the libraries
    #[arg(long)]
    folder: PathBuf,
    /// Libraries: Debian's name without `lib`, and what to call it in the record (`rocblas=librocblas5 7.2.4-1`)
    #[arg(long = "library", value_name = "NAME=TITLE", required = true)]
    libraries: Vec<String>,
    /// Check only this many bytes of each code object
    #[arg(long, value_name = "BYTES")]
    sample: Option<usize>,
    /// Write the record to this file, with this date
    #[arg(long, num_args = 2, value_names = ["FILE", "DATE"])]
    record: Option<Vec<String>>,
    /// Write the mnemonics of all instructions found to this file, one per line
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let start = Instant::now();
    let mut all = Vec::new();
    for library in &args.libraries {
        let (name, title) = library.split_once('=').unwrap_or((library, library));
        all.push((title, files_of(name, &args.folder)?));
    }
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |data| data.len());
    let bar = ProgressBar::new(all.iter().flat_map(|(_, files)| files).map(size).sum());
    let style = ProgressStyle::with_template("{msg:32!} {wide_bar} {bytes}/{total_bytes} {eta}");
    bar.set_style(style.context("the progress bar's own template")?);
    bar.enable_steady_tick(Duration::from_millis(200));
    let done = |bytes| bar.inc(bytes);
    let work = Work::new(args.sample, &done);
    let mut found = Vec::new();
    for (title, files) in all {
        bar.set_message(title.to_owned());
        let mut library = Library { package: title.to_owned(), files: files.len(), counts: Default::default() };
        for file in &files {
            for (sum, counts) in library.counts.iter_mut().zip(check_file(file, &work)?) {
                sum.add(counts);
            }
        }
        found.push(library);
    }
    bar.finish_and_clear();

    let mut differences = 0;
    for arch in Arch::ALL {
        println!("{arch}\n{}", record::table(&found, arch));
        for library in &found {
            let counts = &library.counts[arch as usize];
            differences += counts.differences;
            counts.examples.iter().for_each(|example| println!("difference: {example}"));
            for ((mnemonic, why), count) in counts.not_executed() {
                println!("not executed: {mnemonic}, {} times in {}: {why}", grouped(count), library.package);
            }
        }
    }
    println!("{:.0} s", start.elapsed().as_secs_f64());
    if let Some([file, date]) = args.record.as_deref() {
        let page = record::page(&found, date, "LLVM 22 (rustc's)", "cargo xtask isa 7.2 --record");
        std::fs::write(file, page).with_context(|| format!("{file} cannot be written"))?;
        println!("recorded in {file}");
    }
    if let Some(file) = &args.instructions {
        let forms = found.iter().flat_map(|library| &library.counts).flat_map(|counts| counts.forms.keys());
        let mnemonics: BTreeSet<_> = forms.map(|form| form.op.mnemonic()).collect();
        let text: String = mnemonics.into_iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    if differences > 0 {
        bail!("{} differences from LLVM", grouped(differences));
    }
    Ok(())
}
