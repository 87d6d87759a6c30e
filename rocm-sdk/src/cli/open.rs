//! Opens each library in a separate process: a library must not provide another's dependencies, and a crash must not
//! affect others.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rocm_sdk::probe::Probe;
use rocm_sdk::{LibrarySpec, child, libraries};

use super::myself::Myself;
use super::output::{self, Failure, Outcome};
use super::place::Place;

/// The hidden subcommand of such a process.
pub(crate) const NAME: &str = "__open";
/// The mark before its answer: libraries may write to stdout while they are opened.
const MARK: &str = "\u{1}rocm-sdk opened ";
/// How long to wait for a library.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Patience {
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help = "How long the opening of one library may take")]
    time_limit: u64,
}

/// Returns the result for each library, in the order given.
pub(crate) fn all(place: &Place, patience: Patience, specs: &[&'static LibrarySpec]) -> Result<Vec<Probe>, Failure> {
    let search = place.search()?;
    let Some(myself) = Myself::find() else {
        return Ok(specs.iter().map(|spec| Probe::run(&search, spec)).collect());
    };
    let next = AtomicUsize::new(0);
    let probes = Mutex::new(vec![None; specs.len()]);
    let workers = thread::available_parallelism().map_or(1, |n| n.get()).min(specs.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(spec) = specs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let probe =
                        one(&myself, place, patience, spec).unwrap_or_else(|why| Probe::crashed(&search, spec, &why));
                    let mut probes = probes.lock().unwrap_or_else(|e| e.into_inner());
                    if let Some(slot) = specs.iter().position(|s| std::ptr::eq(*s, *spec)) {
                        probes[slot] = Some(probe);
                    }
                }
            });
        }
    });
    Ok(probes.into_inner().unwrap_or_else(|e| e.into_inner()).into_iter().flatten().collect())
}

fn one(myself: &Myself, place: &Place, patience: Patience, spec: &'static LibrarySpec) -> Result<Probe, String> {
    let mut command = myself.command();
    command.args(place.arguments()).args([NAME, spec.name()]);
    #[cfg(unix)]
    child::end_with_this_thread(&mut command);
    let ended = child::run(command, Duration::from_secs(patience.time_limit))
        .map_err(|why| format!("a process to open it {why}"))?;
    let status = ended.status.ok_or_else(|| format!("opening it took more than {} s", patience.time_limit))?;
    let answer = ended.stdout.lines().rev().find_map(|line| Some(line.split_once(MARK)?.1));
    // The end of the process after its answer does not matter.
    answer.and_then(|answer| serde_json::from_str(answer).ok()).ok_or_else(|| {
        let last = ended.stderr.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map(|line| format!(" ({})", line.trim())).unwrap_or_default();
        format!("opening it ended the process: {status}{last}")
    })
}

/// Opens the library in this process and sends the result to the parent.
pub(crate) fn run(place: &Place, name: &str) -> Outcome {
    let spec = libraries::by_short_name(name).ok_or_else(|| format!("no library has the short name {name}"))?;
    let probe = Probe::run(&place.search()?, spec);
    output::line(format!("\n{MARK}{}", serde_json::to_string(&probe)?))?;
    Ok(ExitCode::SUCCESS)
}
