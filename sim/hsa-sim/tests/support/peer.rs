//! A second process that communicates with the first by lines of text.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Set in the second process.
const PEER: &str = "HSA_SIM_TEST_PEER";
/// The prefix of lines for the other process.
const MARK: &str = "@@";

/// Whether this is the second process.
pub(crate) fn is_peer() -> bool {
    std::env::var_os(PEER).is_some()
}

/// The second process: this program started again, with lines to and from it.
pub(crate) struct Peer {
    pub(crate) child: Child,
    to: Option<ChildStdin>,
    from: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    pub(crate) fn start() -> Self {
        // The loader that started this process, with its arguments.
        let arguments = std::fs::read("/proc/self/cmdline").unwrap();
        let arguments: Vec<_> = arguments.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        let mut command = Command::new(arguments[0].as_ref());
        command.args(arguments[1..arguments.len() - 1].iter().map(AsRef::as_ref)).env(PEER, "1");
        // RCCL then reports which call failed.
        command.env("NCCL_DEBUG", "WARN");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { to: child.stdin.take(), child, from }
    }

    /// Sends a line.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line that it sends.
    pub(crate) fn hear(&mut self) -> String {
        next(&mut self.from).expect("the second process lives")
    }

    /// Sends a line and returns the answer.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.tell(line);
        self.hear()
    }

    /// The next line of each process. If one ends without sending a line, the others, which may wait for it, are ended
    /// too: `Err` with its index.
    pub(crate) fn hear_each(peers: &mut [Self]) -> Result<Vec<String>, usize> {
        let (children, lines): (Vec<_>, Vec<_>) =
            peers.iter_mut().map(|peer| (&mut peer.child, &mut peer.from)).unzip();
        std::thread::scope(|scope| {
            let (heard, all) = std::sync::mpsc::channel();
            for (place, lines) in lines.into_iter().enumerate() {
                let heard = heard.clone();
                scope.spawn(move || heard.send((place, next(lines))));
            }
            drop(heard);
            let mut texts = vec![String::new(); children.len()];
            for (place, text) in all {
                let Some(text) = text else {
                    children.into_iter().for_each(|child| child.kill().expect("it is ours"));
                    return Err(place);
                };
                texts[place] = text;
            }
            Ok(texts)
        })
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) {
        self.to = None;
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Peer {
    /// If the test fails, the other process may wait for ever.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next line for this process. Other output, such as RCCL's reports of failed calls, goes to stderr.
fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    loop {
        let line = lines.next()?.unwrap();
        match line.split_once(MARK) {
            Some((_, text)) => return Some(text.to_owned()),
            None => eprintln!("{line}"),
        }
    }
}

/// In the second process: answers every line.
pub(crate) fn serve(mut answer: impl FnMut(&str) -> String) {
    for line in std::io::stdin().lines() {
        let text = answer(&line.unwrap());
        println!("{MARK}{text}");
    }
}

/// The bytes of a handle as text.
pub(crate) fn hex<T: Copy>(handle: &T) -> String {
    // SAFETY: handles are plain bytes.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const *handle).cast::<u8>(), size_of::<T>()) };
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The handle of such a text.
pub(crate) fn from_hex<T: Copy>(text: &str) -> T {
    let byte = |n: usize| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..text.len() / 2).map(byte).collect();
    assert_eq!(bytes.len(), size_of::<T>());
    // SAFETY: as many bytes, any value of which is a valid handle.
    unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
}
