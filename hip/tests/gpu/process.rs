//! A second process that exchanges lines with the first.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Set in the second process.
const PEER: &str = "HIP_TEST_PEER";
/// Prefix of lines for the other process, as libtest writes lines too.
const MARK: &str = "@@";

/// Set in a process that runs a single test.
const ALONE: &str = "HIP_TEST_ALONE";

/// Starts this program again, with one test.
fn again(test: &str) -> Command {
    // This process may have been started by another loader, whose arguments come before our own.
    let all = std::fs::read("/proc/self/cmdline").unwrap();
    let all: Vec<_> = all.split_inclusive(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let loader = all.len() - std::env::args_os().count();
    let mut command = Command::new("/proc/self/exe");
    if loader > 0 {
        command.args(all[1..=loader].iter().map(|argument| argument.trim_end_matches('\0')));
    }
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command
}

/// Runs a test again, on the same runtime, in its own process, with environment variables set, so that other tests do
/// not affect its counts. Returns false in that process.
pub(crate) fn in_own_process(test: &str, variables: &[(&str, &str)]) -> bool {
    output_of_own_process(test, variables).is_some()
}

/// Like [`in_own_process`]: what the process wrote, or `None` in that process.
pub(crate) fn output_of_own_process(test: &str, variables: &[(&str, &str)]) -> Option<String> {
    if std::env::var_os(ALONE).is_some() {
        return None;
    }
    let output = again(test).env(ALONE, "1").envs(variables.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{test} in a process of its own: {text}");
    // These lines bypass libtest's capture.
    let skipped = text.lines().filter_map(|line| Some(&line[line.find("SKIPPED: ")?..]));
    skipped.for_each(|line| _ = writeln!(std::io::stdout(), "{line}"));
    Some(text)
}

/// Returns whether this is the second process.
pub(crate) fn is_peer() -> bool {
    std::env::var_os(PEER).is_some()
}

/// The second process: this program again, with one test, and pipes for lines.
pub(crate) struct Peer {
    child: Child,
    to: Option<ChildStdin>,
    from: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    pub(crate) fn start(test: &str) -> Self {
        let mut command = again(test);
        command.env(PEER, "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { to: child.stdin.take(), child, from }
    }

    /// Sends a line and returns the reply.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
        loop {
            let Some(answer) = self.from.next() else {
                let status = self.child.wait().unwrap();
                panic!("the second process ended with {status}, asked {line:?}");
            };
            let answer = answer.unwrap();
            if let Some((_, text)) = answer.split_once(MARK) {
                return text.to_owned();
            }
        }
    }

    /// Lets the process end.
    pub(crate) fn end(mut self) {
        self.to = None;
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the second process ended with {status}");
    }
}

/// In the second process: answers every line until the input ends.
pub(crate) fn serve(mut answer: impl FnMut(&str) -> String) {
    for line in std::io::stdin().lines() {
        println!("{MARK}{}", answer(&line.unwrap()));
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex<const N: usize>(text: &str) -> [u8; N] {
    assert_eq!(text.len(), 2 * N);
    std::array::from_fn(|n| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap())
}
