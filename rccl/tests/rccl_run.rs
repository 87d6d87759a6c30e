//! The command `rccl-run`, with shells as ranks: its output, and how ranks end. The tests of simulated GPUs run it with
//! them.
#![cfg(all(unix, feature = "cli"))]

use std::process::{Command, Output};

fn rccl_run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rccl-run")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn each_rank_knows_its_number_and_lines_show_it() {
    let shell = "echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR; echo to stderr >&2; test ${#RCCL_RS_SECRET} -eq 64";
    let output = rccl_run(&["-n", "3", "--", "/bin/sh", "-c", shell]);
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<String> = (0..3).map(|rank| format!("[{rank}] rank {rank} of 3 at 127.0.0.1")).collect();
    assert_eq!(sorted(&text(&output.stdout)), lines);
    assert_eq!(sorted(&text(&output.stderr)), ["[0] to stderr", "[1] to stderr", "[2] to stderr"]);
    let output = rccl_run(&["-n", "1", "--no-prefix", "--", "/bin/echo", "plain"]);
    assert_eq!(text(&output.stdout), "plain\n");
}

#[test]
fn a_rank_that_fails_ends_the_others_with_its_status() {
    // Ranks 0 and 2, and their children, would take a day; rank 2 ignores SIGTERM. Rank 1 fails when both have written their ids.
    let folder = tempfile::tempdir().unwrap();
    let shell = "cd \"$0\"
        case $RANK in
            1) until test -e 0 -a -e 2; do sleep 0.01; done; exit 7;;
            2) trap '' TERM;;
        esac
        sleep 100000 & echo $$ $! > new.$RANK; mv new.$RANK $RANK; wait; sleep 100000";
    let place = folder.path().to_str().unwrap();
    let output = rccl_run(&["-n", "3", "--grace", "1", "--", "/bin/sh", "-c", shell, place]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(text(&output.stderr).contains("rank 1 ended with exit status: 7"), "{output:?}");
    let pids: Vec<String> = ["0", "2"].map(|rank| std::fs::read_to_string(folder.path().join(rank)).unwrap()).to_vec();
    let pids: Vec<&str> = pids.iter().flat_map(|pids| pids.split_whitespace()).collect();
    assert_eq!(pids.len(), 4);
    // The new parent of the ended processes may not have waited for them yet.
    #[cfg(target_os = "linux")]
    for pid in pids {
        let lives = |stat: String| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']);
        while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(lives) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
fn a_rank_that_is_killed_is_a_status_as_a_shells() {
    let output = rccl_run(&["-n", "2", "--", "/bin/sh", "-c", "if test $RANK = 1; then kill -9 $$; fi; sleep 100000"]);
    assert_eq!(output.status.code(), Some(137), "{output:?}");
}

#[test]
fn the_others_go_on_if_they_are_to() {
    let shell = "if test $RANK = 0; then exit 5; fi; sleep 0.3; echo went on";
    let output = rccl_run(&["-n", "2", "--keep-going", "--", "/bin/sh", "-c", shell]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert_eq!(text(&output.stdout), "[1] went on\n");
}

#[test]
fn a_signal_ends_all() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rccl-run"))
        .args(["-n", "2", "--", "/bin/sh", "-c", "echo up; exec sleep 100000"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        std::io::BufRead::read_line(&mut out, &mut String::new()).unwrap();
    }
    // SAFETY: a child of this process that was not waited for.
    unsafe { libc::kill(child.id().try_into().unwrap(), libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(128 + libc::SIGTERM));
    // The process that held the pipe has ended.
    assert_eq!(std::io::Read::read(&mut out, &mut [0; 16]).unwrap(), 0);
}

#[test]
fn programs_that_are_not_there_are_errors() {
    let output = rccl_run(&["-n", "2", "--", "/no/such/program"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("rank 0 could not be started"), "{output:?}");
    assert_eq!(rccl_run(&["--", "/bin/true"]).status.code(), Some(2));
    assert_eq!(rccl_run(&["-n", "0", "--", "/bin/true"]).status.code(), Some(2));
}
