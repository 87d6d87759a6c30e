//! The steps `rccl`: several software GPUs.

use std::process::Command;

use super::libraries::library_ready;
use crate::cargo::{checked_cargo, environment, named_tests, newest, packages, programs};
use crate::hsa as hsa_sim;
use crate::paths;
use crate::rocm::{self, Release};
use crate::steps::Step;
use crate::turn::Turn;

/// The crate whose tests need several devices, and the kernel driver's files of them.
pub(crate) const RCCL: &str = "rccl";

/// The packages whose suite these steps are.
const OWN: [&str; 2] = [RCCL, "rccl-sys"];

/// Returns the tests of `rccl` on a release's own RCCL over several software GPUs: ranks in one process and in several,
/// the examples, and the command `rccl-run`.
pub(super) fn rccl(release: &'static Release, turn: Option<Turn>, offline: bool) -> Step {
    let features = format!("{},rccl/cli,rccl/mpi,rccl/one-sided", newest(&[RCCL]));
    let with = ["--no-default-features", "--features", &features];
    let test = |devices: usize, words: &[&str]| {
        let mut command = checked_cargo("test", offline);
        command.args(packages(&[RCCL])).args(with);
        hsa_sim::run_on_several(&mut command, release, devices);
        command.arg("--no-fail-fast").args(words);
        command
    };
    let mut commands = vec![hsa_sim::build_command(offline)];
    let world = named_tests(&["world"]);
    // Older releases have no configurations, and so no deadlines: blocking calls are tested in one process.
    if release.name != "7.2" {
        commands.push(test(2, &world));
        let about = format!("tests of rccl on RCCL of ROCm {}, over 2 software GPUs", release.name);
        return on_rccl(format!("rccl {}", release.name), release, about, commands).suite_of(&OWN);
    }
    commands.push(test(2, &["--lib", "--bins", "--tests"]));
    let is_of_turn = |part| turn.is_none_or(|turn| turn.is_of(part, 3));
    if is_of_turn(0) {
        // Deadlines take their time, and more devices do not improve their tests.
        commands.push(test(4, &[&world[..], &["--", "--skip", "keeps_its_deadline"]].concat()));
    }
    if is_of_turn(1) {
        let words = ["--", "f32_is_reduced", "parts_of_different", "split", "groups::"];
        commands.push(test(8, &[&world[..], &words].concat()));
    }
    if !is_of_turn(2) {
        let about = format!("tests of rccl on RCCL of ROCm {}, over software GPUs", release.name);
        return on_rccl(format!("rccl {}", release.name), release, about, commands).suite_of(&OWN);
    }
    let names = ["broadcast", "ring", "bandwidth", "training"];
    commands.extend(programs(RCCL, &with, &names, offline, |path| {
        if !path.ends_with("training") {
            return hsa_sim::program_on_several(path, release, 2);
        }
        // Built with the tests of the commands.
        let mut command = Command::new(paths::built().join("rccl-run"));
        environment(&mut command);
        hsa_sim::start_ranks(&mut command, release, 4);
        command.arg(path).arg(paths::fetched("training.svg"));
        command
    }));
    let about = format!("tests and examples of rccl on RCCL of ROCm {}, over 2, 4 and 8 software GPUs", release.name);
    on_rccl(format!("rccl {}", release.name), release, about, commands).suite_of(&OWN)
}

pub(super) fn on_rccl(name: String, release: &'static Release, about: String, commands: Vec<Command>) -> Step {
    Step::commands(name, about, commands).when(move || {
        rocm::fetched(release)()?;
        library_ready(release, RCCL)?;
        library_ready(release, "rocm_smi64")
    })
}
