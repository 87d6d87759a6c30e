//! Every exported function with every kind of wrong argument: it must return an error, without any other effect and
//! without leaks.
//!
//! `table` describes the parameters of each function. For each argument in turn, with valid values for the others, it
//! is called with null or 0, with invalid handles, with handles of another kind, with destroyed objects, with numbers
//! out of range, and with misaligned pointers. All functions are also called before the runtime is started and after it
//! is shut down.
//!
//! The calls are made in a separate process, so that a call that crashes or hangs is reported by name.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod row;
mod table;
mod world;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hsa_sim::abi::*;
use libloading::os::unix::Library;

use row::{Call, Expect, Returns, Row};
use world::World;

/// Set in the process that makes the calls: the file to which it writes the current call.
const INSIDE: &str = "HSA_SIM_TEST_ARGUMENTS";
/// The time after which the current call is reported. The step's watchdog ends one that hangs.
const PATIENCE: Duration = Duration::from_secs(100);

#[test]
fn the_table_has_every_function() {
    // SAFETY: loading the library starts nothing.
    let world = World::new(unsafe { Library::new(support::library()) }.unwrap());
    let table = table::table(&world);
    let listed: BTreeSet<&str> = table.iter().map(|row| row.name).collect();
    assert_eq!(listed.len(), table.len(), "a function is there twice");
    let exported: BTreeSet<&str> = hsa_sim::EXPORTS.iter().map(|export| export.name).chain(world::LOADER).collect();
    assert_eq!(exported.difference(&listed).collect::<Vec<_>>(), [&""; 0], "missing from the table");
    assert_eq!(listed.difference(&exported).collect::<Vec<_>>(), [&""; 0], "not exported");
}

#[test]
fn no_argument_does_harm() {
    if let Ok(file) = std::env::var(INSIDE) {
        return inside(std::fs::File::create(file).unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    let (progress, output) = (folder.path().join("call"), folder.path().join("output"));
    let file = std::fs::File::create(&output).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "no_argument_does_harm", "--nocapture"])
        .env(INSIDE, &progress)
        .stdout(file.try_clone().unwrap())
        .stderr(Stdio::from(file))
        .spawn()
        .unwrap();
    let last = || std::fs::read_to_string(&progress).unwrap_or_default();
    let mut when = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > when {
            // Bypasses libtest's capture, once.
            let _ = writeln!(std::io::stderr(), "still at work, in {}", last().trim());
            when += Duration::from_secs(1_000_000);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = std::fs::read(&output).unwrap();
    let text = String::from_utf8_lossy(&text);
    let text: String =
        text.lines().filter(|line| !line.starts_with("hsa-sim:")).map(|line| format!("{line}\n")).collect();
    assert!(status.success(), "ended with {status}, the last call being {}\n{text}", last().trim());
    assert!(text.contains("1 passed"), "{text}");
}

/// The results that are reported.
struct Told {
    progress: std::fs::File,
    calls: u64,
    failures: Vec<String>,
}

impl Told {
    /// Makes a call with these arguments and checks its result.
    fn check(&mut self, world: &World, row: &Row, others: &[(usize, u64)], expect: Expect) {
        let mut call = Call::good(world, row);
        for (index, value) in others {
            call.values[*index] = *value;
        }
        let mut text = format!("{}({:x?}), of which other than they should be: {others:x?}", row.name, call.values);
        text.extend(std::iter::repeat_n(' ', 600_usize.saturating_sub(text.len())));
        self.progress.write_all_at(text.as_bytes(), 0).unwrap();
        let value = world.call(row.name, &call.values);
        self.calls += 1;
        let success = match row.returns {
            Returns::Status => {
                let status = hsa_status_t(value as u32);
                let success = [HSA_STATUS_SUCCESS, HSA_STATUS_INFO_BREAK].contains(&status);
                let as_expected = match expect {
                    Expect::Is(expected) => status == expected,
                    Expect::Error => !success,
                    Expect::Any => STATUSES.iter().any(|(_, known)| *known == status),
                };
                if !as_expected {
                    let name =
                        |status| STATUSES.iter().find(|(_, known)| *known == status).map_or("?", |(name, _)| name);
                    let wanted = match expect {
                        Expect::Is(expected) => name(expected).to_owned(),
                        other => format!("{other:?}"),
                    };
                    self.failures.push(format!("{}: {}, not {wanted}", text.trim(), name(status)));
                }
                success
            }
            Returns::Number(wrong) => {
                // For a function that returns 32 bits, the other bits are undefined.
                let value = if wrong == u64::from(u32::MAX) { value & wrong } else { value };
                if expect != Expect::Any && value != wrong {
                    self.failures.push(format!("{}: {value:#x}, not {wrong:#x}", text.trim()));
                }
                value != wrong
            }
            Returns::Nothing => true,
        };
        call.finish(world, row, success);
    }
}

/// Calls every function while the runtime is not started.
fn off(world: &World, told: &mut Told) {
    for row in table::table(world).iter().filter(|row| world.address(row.name).is_some()) {
        if !table::SPECIAL.contains(&row.name) {
            told.check(world, row, &[], row.off);
        }
    }
}

fn inside(progress: std::fs::File) {
    // SAFETY: loading the library starts nothing.
    let mut world = World::new(unsafe { Library::new(support::library()) }.unwrap());
    let mut told = Told { progress, calls: 0, failures: Vec::new() };
    let shut_down = |world: &World| hsa_status_t(world.call("hsa_shut_down", &[]) as u32);

    assert_eq!(shut_down(&world), HSA_STATUS_ERROR_NOT_INITIALIZED);
    off(&world, &mut told);
    world.good("hsa_init", &[]);
    world.build();
    // The threads that watch signals start with the first signal to watch.
    for row in table::table(&world).iter().filter(|row| row.works) {
        let success = Expect::Is(HSA_STATUS_SUCCESS);
        told.check(&world, row, &[], if row.returns == Returns::Status { success } else { Expect::Any });
    }
    let used = world.used();
    for row in table::table(&world) {
        if table::SPECIAL.contains(&row.name) {
            continue;
        }
        for (index, argument) in row.arguments.iter().enumerate() {
            for (value, expect) in row::wrongs(&world, argument) {
                // Tested separately below.
                if row.more.iter().any(|(others, _)| others[..] == [(index, value)]) {
                    continue;
                }
                let expect = if row.off == table::NOT_SUPPORTED { row.off } else { expect };
                told.check(&world, &row, &[(index, value)], expect);
            }
            if row::can_be_misaligned(argument) {
                let good = Call::good(&world, &row);
                let others = [(index, good.values[index] + 1)];
                // The pointer is to another call's data, which lives until then.
                misaligned(&mut told, &world, &row, good, &others);
            }
        }
        for (others, expect) in &row.more {
            told.check(&world, &row, others, *expect);
        }
    }
    // Threads of destroyed queues end slightly after the call.
    while world.used().iter().zip(used).any(|(now, before)| *now > before) {
        let text = "memory of GPU or host, executables, threads or files are left behind";
        let text = format!("{text}: {:x?}, and before {used:x?}{:600}", world.used(), "");
        told.progress.write_all_at(text.as_bytes(), 0).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(shut_down(&world), HSA_STATUS_SUCCESS);
    world.running = false;
    off(&world, &mut told);
    assert_eq!(shut_down(&world), HSA_STATUS_ERROR_NOT_INITIALIZED);
    // It can be started again.
    world.good("hsa_init", &[]);
    world.build();
    assert_eq!(shut_down(&world), HSA_STATUS_SUCCESS);

    println!("{} calls", told.calls);
    assert!(told.calls > 5000, "only {} calls", told.calls);
    assert!(told.failures.is_empty(), "{} calls:\n{}", told.failures.len(), told.failures.join("\n"));
}

/// A call with a pointer one byte after the correct one: to an output buffer that is large enough, or to shifted input
/// bytes.
fn misaligned(told: &mut Told, world: &World, row: &Row, mut call: Call, others: &[(usize, u64)]) {
    let (index, value) = others[0];
    call.values[index] = value;
    let text = format!("{}({:x?}), argument {index} misaligned{:500}", row.name, call.values, "");
    told.progress.write_all_at(text.as_bytes(), 0).unwrap();
    let status = hsa_status_t(world.call(row.name, &call.values) as u32);
    told.calls += 1;
    let is_status = row.returns == Returns::Status;
    if is_status && !STATUSES.iter().any(|(_, known)| *known == status) {
        told.failures.push(format!("{}: {status:?}", text.trim()));
    }
    let success = !is_status || status == HSA_STATUS_SUCCESS;
    call.finish(world, row, success);
}
