//! The results of calls during stream capture, on both HIP runtimes: hip-sim's embedded one, and AMD's over hsa-sim.
//!
//! A case is a call, a capture mode, a thread with its own mode, and a kind of stream. For each case both runtimes
//! report the result of the call, the state of the capture, and how the stream and the process continue afterwards.
//! After a case that makes HIP unusable in a process (a capture that cannot be ended), a new process is started.
//!
//! `HSA_SIM_CAPTURE=hipMalloc` prints the table of the calls with that string in their name.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod calls;

use std::fmt::Write as _;
use std::process::Command;
use std::ptr::null_mut;

use calls::{CALLS, Things};
use hip_sys::*;

/// Set in a process that runs cases: the number of the first.
const FIRST: &str = "HSA_SIM_CAPTURE_FIRST";
/// Set if the embedded runtime is used.
const EMBEDDED: &str = "HSA_SIM_CAPTURE_EMBEDDED";
/// Selects the cases to print.
const SHOW: &str = "HSA_SIM_CAPTURE";
/// HIP 7.2 keeps a dangling pointer to the destroyed stream. Not imitated.
const DANGLING: &str = "hipStreamDestroy(captured)";
/// Appended to a case after which nothing can be freed any more in the process.
const UNFIT: &str = "; nothing is freed after it";
/// The prefix of the table's lines in a process's output.
const MARK: &str = "case ";

/// The thread that makes the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    /// The one that captures.
    Same,
    /// Another.
    Other,
}

/// One of them all.
#[derive(Clone, Copy, Debug)]
struct Case {
    call: usize,
    thread: Thread,
    /// The mode of the calling thread (`hipThreadExchangeStreamCaptureMode`).
    own: hipStreamCaptureMode,
    /// The mode of the capture.
    mode: hipStreamCaptureMode,
    /// The flags of the captured stream.
    flags: u32,
}

const MODES: [hipStreamCaptureMode; 3] =
    [hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed];

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for call in 0..CALLS.len() {
        for thread in [Thread::Same, Thread::Other] {
            for own in MODES {
                for mode in MODES {
                    for flags in [hipStreamDefault, hipStreamNonBlocking] {
                        cases.push(Case { call, thread, own, mode, flags });
                    }
                }
            }
        }
    }
    cases
}

impl Case {
    fn name(&self) -> String {
        let short = |mode: hipStreamCaptureMode| ["global", "thread-local", "relaxed"][mode.0 as usize];
        let kind = if self.flags == hipStreamDefault { "blocking" } else { "non-blocking" };
        let (own, mode) = (short(self.own), short(self.mode));
        format!("{}, {:?} thread in mode {own}, {mode} capture, {kind} stream", CALLS[self.call].0, self.thread)
    }

    /// Runs the case. Returns the result, and whether the process can continue. Undamaged objects are kept for the next
    /// case.
    fn run(&self, kept: &mut [Option<Things>; 2]) -> (String, bool) {
        let kept = &mut kept[usize::from(self.flags == hipStreamDefault)];
        let mut things = kept.take().unwrap_or_else(|| Things::new(self.flags));
        things.renew_events();
        let stream = things.captured;
        // SAFETY: handles that are alive, and places for results; pointers are of as many bytes as are said.
        unsafe {
            check(hipStreamBeginCapture(stream, self.mode));
            check(hipMemsetAsync(things.device, 1, 64, stream));
            check(hipEventRecord(things.mark, stream));
        }
        let call = CALLS[self.call].1;
        let with_mode = |things: &mut Things| {
            let mut mode = self.own;
            // SAFETY: the mode is valid for the exchange.
            unsafe {
                check(hipThreadExchangeStreamCaptureMode(&mut mode));
                let status = call(things);
                hipGetLastError();
                check(hipThreadExchangeStreamCaptureMode(&mut mode));
                status
            }
        };
        let status = match self.thread {
            Thread::Same => with_mode(&mut things),
            Thread::Other => {
                let things = &mut things;
                std::thread::scope(|scope| scope.spawn(move || with_mode(things)).join().unwrap())
            }
        };
        let mut text = format!("{status:?}");
        if things.captured.is_null() {
            // The call has destroyed it.
            let clean = clean();
            things.destroy();
            return (text, clean);
        }
        let mut graph = null_mut();
        let (before, forked) = (state(stream), state(things.other));
        // SAFETY: as above.
        let (more, ended, twice, after, waited) = unsafe {
            let more = hipMemsetAsync(things.device, 2, 64, stream);
            let ended = hipStreamEndCapture(stream, &mut graph);
            if ended == hipSuccess {
                check(hipGraphDestroy(graph));
            }
            // HIP 7.2 crashes if a capture is ended again after it ended with an error, in the mode that does not check the thread.
            let twice = ended == hipSuccess || self.mode != hipStreamCaptureModeRelaxed;
            let twice = if twice { hipStreamEndCapture(stream, &mut graph) } else { hipSuccess };
            let after = hipMemsetAsync(things.device, 3, 64, stream);
            (more, ended, twice, after, hipStreamSynchronize(stream))
        };
        let _ = write!(
            text,
            "; {before}, more {more:?}, end {ended:?}, again {twice:?}, after it {after:?}, wait {waited:?}"
        );
        // SAFETY: as above.
        let (again, ended) = unsafe {
            let again = hipStreamBeginCapture(stream, self.mode);
            let ended = hipStreamEndCapture(stream, &mut graph);
            if ended == hipSuccess {
                check(hipGraphDestroy(graph));
            }
            (again, ended)
        };
        let _ = write!(
            text,
            "; {}, again {again:?}, end {ended:?}; other {forked}, then {}",
            state(stream),
            state(things.other)
        );
        if !things.other.is_null() {
            // SAFETY: as above.
            let [used, waited] =
                unsafe { [hipMemsetAsync(things.device, 4, 64, things.other), hipStreamSynchronize(things.other)] };
            let _ = write!(text, ", used {used:?}, wait {waited:?}");
        }
        // SAFETY: takes nothing.
        unsafe { hipGetLastError() };
        let clean = clean();
        if clean && things.are_whole() {
            *kept = Some(things);
        } else if clean {
            things.destroy();
        }
        (text, clean)
    }
}

/// Whether a stream is captured.
fn state(stream: hipStream_t) -> String {
    let mut state = hipStreamCaptureStatusNone;
    if stream.is_null() {
        return "gone".to_owned();
    }
    // SAFETY: a place for the result.
    let status = unsafe { hipStreamIsCapturing(stream, &mut state) };
    let text = if status == hipSuccess { format!("{state:?}") } else { format!("{status:?}") };
    text.replace("hipStreamCaptureStatus", "")
}

/// Returns whether no capture is active any more: then memory can be allocated.
fn clean() -> bool {
    let mut memory = null_mut();
    // SAFETY: a place for the result, which is freed.
    unsafe {
        let had = hipMalloc(&mut memory, 64) == hipSuccess;
        had && hipFree(memory) == hipSuccess && hipDeviceSynchronize() == hipSuccess
    }
}

#[track_caller]
fn check(status: hipError_t) {
    assert_eq!(status, hipSuccess);
}

/// In a separate process: runs cases on its HIP runtime, up to one that makes the process unusable.
#[test]
fn child() {
    let Ok(first) = std::env::var(FIRST) else { return };
    if std::env::var_os(EMBEDDED).is_some() {
        set_provider(hip_sim::provider()).unwrap();
    }
    let mut kept = [None, None];
    for (number, case) in cases().iter().enumerate().skip(first.parse().unwrap()) {
        let (text, clean) = case.run(&mut kept);
        println!("{MARK}{number}: {text}{}", if clean { "" } else { UNFIT });
        if !clean {
            return;
        }
    }
}

/// The results of all cases; `None` if the runtime is not available.
fn table(release: Option<&str>) -> Option<Vec<String>> {
    let count = cases().len();
    let mut lines: Vec<String> = Vec::new();
    while lines.len() < count {
        let first = lines.len().to_string();
        let text = match release {
            Some(release) => support::run_on(release, &["libamdhip64.so.7"], "child", &[(FIRST, &first)])?,
            None => {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
                let output = command.env(EMBEDDED, "1").env(FIRST, &first).output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
                text
            }
        };
        let before = lines.len();
        // libtest writes the beginning of the first line.
        for line in text.lines().filter_map(|line| line.split_once(MARK)) {
            let (number, told) = line.1.split_once(": ").unwrap();
            assert_eq!(number, lines.len().to_string(), "{text}");
            lines.push(told.to_owned());
        }
        assert!(lines.len() > before, "{text}");
    }
    Some(lines)
}

#[test]
fn calls_answer_the_same_while_a_stream_is_captured() {
    if std::env::var_os(FIRST).is_some() {
        return;
    }
    let Some(real) = table(Some("7.2")) else { return };
    let embedded = table(None).unwrap();
    let cases = cases();
    if let Ok(show) = std::env::var(SHOW) {
        for (case, line) in cases.iter().zip(&real).filter(|(case, _)| case.name().contains(&show)) {
            println!("{}: {line}", case.name());
        }
    }
    let mut text = String::new();
    let mut differing = 0;
    for ((case, ours), theirs) in cases.iter().zip(&embedded).zip(&real).filter(|((_, ours), theirs)| ours != theirs) {
        let call = CALLS[case.call].0;
        if call == DANGLING && theirs.strip_suffix(UNFIT) == Some(ours) {
            continue;
        }
        differing += 1;
        let _ = writeln!(text, "{}\n  hip-sim: {ours}\n  7.2:     {theirs}", case.name());
    }
    assert!(text.is_empty(), "{differing} of {} cases differ:\n{text}", cases.len());
}
