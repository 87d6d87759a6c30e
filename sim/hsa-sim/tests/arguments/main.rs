//! Every function that the library exports, with every kind of wrong argument: an error and no more, and nothing is left behind.
//!
//! `table` says of each function what it takes. For each argument in turn, all others as they should be, it is called with nothing, with
//! numbers that are no handle, with handles of another kind, with what has been ended, with numbers out of range, with misaligned pointers;
//! and all of them are called before the runtime is started and after it is shut down.
//!
//! The calls are made in a process of their own, so that one that crashes or hangs is told of by name.
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

/// Set in the process that makes the calls: the file in which it says which one.
const INSIDE: &str = "HSA_SIM_TEST_ARGUMENTS";
/// After this the call is named: the watchdog of the step ends one that hangs.
const PATIENCE: Duration = Duration::from_secs(100);

#[test]
fn the_table_has_every_function() {
    // SAFETY: loading it starts nothing.
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
            // Past libtest's capture, once.
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

/// What is told by the calls.
struct Told {
    progress: std::fs::File,
    calls: u64,
    failures: Vec<String>,
}

impl Told {
    /// Makes a call with these arguments, and looks at what it comes to.
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
                // Of a function that returns 32 bits the others are not said.
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

/// Every function while the runtime is not started.
fn off(world: &World, told: &mut Told) {
    for row in table::table(world).iter().filter(|row| world.address(row.name).is_some()) {
        if !table::SPECIAL.contains(&row.name) {
            told.check(world, row, &[], row.off);
        }
    }
}

fn inside(progress: std::fs::File) {
    // SAFETY: loading it starts nothing.
    let mut world = World::new(unsafe { Library::new(support::library()) }.unwrap());
    let mut told = Told { progress, calls: 0, failures: Vec::new() };
    let shut_down = |world: &World| hsa_status_t(world.call("hsa_shut_down", &[]) as u32);

    assert_eq!(shut_down(&world), HSA_STATUS_ERROR_NOT_INITIALIZED);
    off(&world, &mut told);
    world.good("hsa_init", &[]);
    world.build();
    // The threads that watch signals start with the first that there is to watch.
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
                // Told apart below.
                if row.more.iter().any(|(others, _)| others[..] == [(index, value)]) {
                    continue;
                }
                let expect = if row.off == table::NOT_SUPPORTED { row.off } else { expect };
                told.check(&world, &row, &[(index, value)], expect);
            }
            if row::can_be_misaligned(argument) {
                let good = Call::good(&world, &row);
                let others = [(index, good.values[index] + 1)];
                // The place is that of another call: it lives until then.
                misaligned(&mut told, &world, &row, good, &others);
            }
        }
        for (others, expect) in &row.more {
            told.check(&world, &row, others, *expect);
        }
    }
    // Threads of queues that were destroyed end a little later than the call.
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
    // And it starts again.
    world.good("hsa_init", &[]);
    world.build();
    assert_eq!(shut_down(&world), HSA_STATUS_SUCCESS);

    println!("{} calls", told.calls);
    assert!(told.calls > 5000, "only {} calls", told.calls);
    assert!(told.failures.is_empty(), "{} calls:\n{}", told.failures.len(), told.failures.join("\n"));
}

/// A call with a pointer to the byte after the right one: to a place with room for as many, or to bytes that are others.
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
