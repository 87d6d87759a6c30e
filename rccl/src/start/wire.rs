//! The protocol between ranks and the hub: authenticated messages over TCP.
//!
//! The hub sends a magic text and 32 random bytes; the rank answers with 32 random bytes, its rank, the number of
//! ranks, and a keyed hash of all that. The hub proves in its answer that it knows the secret. A key is derived from
//! the secret and both random numbers; each later message has a number and a keyed hash.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::secret::random;
use super::{Error, Secret};

const MAGIC: &[u8; 8] = b"RCCLRS1\n";
/// The longest message: a thousand ranks with 64 KB each.
const LONGEST: usize = 64 << 20;
/// The longest refusal.
const LONGEST_REASON: usize = 1 << 10;

/// A request of a rank.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Exchanges the bytes of all ranks.
    Exchange { timeout: Duration, bytes: Vec<u8> },
    /// Forms a world of the remaining ranks.
    Regroup { window: Duration },
}

/// The hub's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Response {
    All(Vec<Vec<u8>>),
    Missing(Vec<usize>),
    Regrouped { rank: usize, size: usize },
}

/// The greeting of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knock {
    pub(super) rank: usize,
    pub(super) size: usize,
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn hash(key: &[u8; 32], parts: &[&[u8]]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(key);
    for part in parts {
        // Includes lengths, so that the split into parts is unambiguous.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

fn number(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

/// One side of a connection whose other side has proved that it knows the secret.
#[derive(Debug)]
pub(super) struct Channel {
    stream: TcpStream,
    key: [u8; 32],
    /// Messages of this side start with it, messages of the other side with the other value.
    own: u8,
    sent: u64,
    received: u64,
}

impl Channel {
    fn new(stream: TcpStream, key: [u8; 32], own: u8) -> Self {
        Self { stream, key, own, sent: 0, received: 0 }
    }

    /// Performs the rank's side of a handshake.
    pub(super) fn knock(
        mut stream: TcpStream,
        address: &str,
        secret: &Secret,
        rank: usize,
        size: usize,
        deadline: Instant,
    ) -> Result<Self, Error> {
        let broken = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                Error::connection(address, "it was closed: perhaps another secret, or no hub")
            }
            _ => Error::connection(address, error),
        };
        let _ = stream.set_nodelay(true);
        stream.set_read_timeout(Some(left(deadline))).map_err(broken)?;
        let mut greeting = [0; 40];
        stream.read_exact(&mut greeting).map_err(broken)?;
        if greeting[..8] != MAGIC[..] {
            return Err(Error::connection(address, "it is no hub of ranks"));
        }
        let theirs = &greeting[8..];
        let ours: [u8; 32] = random().map_err(broken)?;
        let proof = hash(&secret.0, &[b"rank", theirs, &ours, &number(rank), &number(size)]);
        let knock = [&ours[..], &number(rank), &number(size), proof.as_bytes()].concat();
        stream.write_all(&knock).map_err(broken)?;
        let mut answer = [0; 35];
        stream.read_exact(&mut answer).map_err(broken)?;
        let length = usize::from(u16::from_le_bytes([answer[1], answer[2]]));
        let mut reason = vec![0; length.min(LONGEST_REASON)];
        stream.read_exact(&mut reason).map_err(broken)?;
        let mut proof = [0; 32];
        proof.copy_from_slice(&answer[3..]);
        if hash(&secret.0, &[b"hub", &ours, theirs, &answer[..1], &reason]) != proof {
            return Err(Error::connection(address, "the hub does not know the secret"));
        }
        if answer[0] != 0 {
            let reason = String::from_utf8_lossy(&reason).into_owned();
            return Err(Error::Refused { address: address.to_owned(), reason });
        }
        let key = *hash(&secret.0, &[b"messages", theirs, &ours]).as_bytes();
        Ok(Self::new(stream, key, b'r'))
    }

    /// Sends a request to the hub, and waits for its answer.
    pub(super) fn ask(&mut self, request: &Request, timeout: Duration) -> io::Result<Response> {
        self.send(&encode_request(request))?;
        self.stream.set_read_timeout(Some(timeout))?;
        let bytes = self.receive()?;
        decode_response(&bytes).ok_or_else(|| invalid("an answer that cannot be read"))
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let proof = hash(&self.key, &[&[self.own], &self.sent.to_le_bytes(), bytes]);
        self.sent += 1;
        let message = [&number(bytes.len())[..], bytes, proof.as_bytes()].concat();
        self.stream.write_all(&message)
    }

    pub(super) fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(invalid(format!("a message of {length} bytes")));
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        let mut proof = [0; 32];
        self.stream.read_exact(&mut proof)?;
        let other = if self.own == b'r' { b'h' } else { b'r' };
        if hash(&self.key, &[&[other], &self.received.to_le_bytes(), &bytes]) != proof {
            return Err(invalid("a message that is not authentic"));
        }
        self.received += 1;
        Ok(bytes)
    }

    /// Clones the connection for another thread: one of the two writes, the other reads.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { stream: self.stream.try_clone()?, ..*self })
    }

    pub(super) fn close(&self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    pub(super) fn wait_forever(&self) -> io::Result<()> {
        self.stream.set_read_timeout(None)
    }
}

/// A rank that has authenticated itself to the hub and waits for its answer.
pub(super) struct Caller {
    stream: TcpStream,
    pub(super) knock: Knock,
    ours: [u8; 32],
    theirs: [u8; 32],
}

impl Caller {
    /// Performs the hub's side of a handshake, up to the proof.
    pub(super) fn greet(mut stream: TcpStream, secret: &Secret, patience: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + patience;
        let _ = stream.set_nodelay(true);
        stream.set_write_timeout(Some(Duration::from_secs(10)))?;
        let ours: [u8; 32] = random()?;
        stream.write_all(&[&MAGIC[..], &ours].concat())?;
        let mut knock = [0; 72];
        // Reading byte by byte must not take longer, either.
        let mut read = 0;
        while read < knock.len() {
            stream.set_read_timeout(Some(left(deadline)))?;
            match stream.read(&mut knock[read..])? {
                0 => return Err(invalid(format!("it ended after {read} bytes"))),
                more => read += more,
            }
            if Instant::now() >= deadline && read < knock.len() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        let (theirs, rest) = knock.split_at(32);
        let (numbers, proof) = rest.split_at(8);
        let (rank, size) = numbers.split_at(4);
        let mut expected = [0; 32];
        expected.copy_from_slice(proof);
        if hash(&secret.0, &[b"rank", &ours, theirs, rank, size]) != expected {
            return Err(invalid("it does not know the secret"));
        }
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes) as usize;
        let knock = Knock { rank: word(rank), size: word(size) };
        let mut other = [0; 32];
        other.copy_from_slice(theirs);
        Ok(Self { stream, knock, ours, theirs: other })
    }

    fn answer(&mut self, secret: &Secret, reason: Option<&str>) -> io::Result<()> {
        let status = [u8::from(reason.is_some())];
        let reason = reason.unwrap_or("").as_bytes();
        let reason = &reason[..reason.len().min(LONGEST_REASON)];
        let proof = hash(&secret.0, &[b"hub", &self.theirs, &self.ours, &status, reason]);
        let length = (reason.len() as u16).to_le_bytes();
        self.stream.write_all(&[&status[..], &length, proof.as_bytes(), reason].concat())
    }

    /// Accepts the rank.
    pub(super) fn accept(mut self, secret: &Secret) -> io::Result<Channel> {
        self.answer(secret, None)?;
        let key = *hash(&secret.0, &[b"messages", &self.ours, &self.theirs]).as_bytes();
        Ok(Channel::new(self.stream, key, b'h'))
    }

    /// Rejects the rank with a reason.
    pub(super) fn refuse(mut self, secret: &Secret, reason: &str) {
        let _ = self.answer(secret, Some(reason));
    }
}

/// Returns the time left until a deadline, as a socket timeout, which cannot be zero.
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

fn millis(duration: Duration) -> [u8; 8] {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).to_le_bytes()
}

fn encode_request(request: &Request) -> Vec<u8> {
    match request {
        Request::Exchange { timeout, bytes } => [&[0][..], &millis(*timeout), bytes].concat(),
        Request::Regroup { window } => [&[1][..], &millis(*window)].concat(),
    }
}

pub(super) fn decode_request(bytes: &[u8]) -> Option<Request> {
    let (kind, rest) = bytes.split_first()?;
    let (time, rest) = rest.split_at_checked(8)?;
    // A hub never waits longer than a year.
    let time = Duration::from_millis(u64::from_le_bytes(time.try_into().ok()?).min(31_536_000_000));
    match kind {
        0 => Some(Request::Exchange { timeout: time, bytes: rest.to_vec() }),
        1 if rest.is_empty() => Some(Request::Regroup { window: time }),
        _ => None,
    }
}

pub(super) fn encode_response(response: &Response) -> Vec<u8> {
    match response {
        Response::All(all) => {
            let mut bytes = vec![0];
            for one in all {
                bytes.extend_from_slice(&number(one.len()));
                bytes.extend_from_slice(one);
            }
            bytes
        }
        Response::Missing(ranks) => {
            let mut bytes = vec![1];
            ranks.iter().for_each(|rank| bytes.extend_from_slice(&number(*rank)));
            bytes
        }
        Response::Regrouped { rank, size } => [&[2][..], &number(*rank), &number(*size)].concat(),
    }
}

fn decode_response(bytes: &[u8]) -> Option<Response> {
    let (kind, mut rest) = bytes.split_first()?;
    let word = |rest: &mut &[u8]| {
        let (word, after) = rest.split_at_checked(4)?;
        *rest = after;
        Some(u32::from_le_bytes(word.try_into().ok()?) as usize)
    };
    match kind {
        0 => {
            let mut all = Vec::new();
            while !rest.is_empty() {
                let length = word(&mut rest)?;
                let (one, after) = rest.split_at_checked(length)?;
                all.push(one.to_vec());
                rest = after;
            }
            Some(Response::All(all))
        }
        1 => {
            let mut ranks = Vec::new();
            while !rest.is_empty() {
                ranks.push(word(&mut rest)?);
            }
            Some(Response::Missing(ranks))
        }
        2 => Some(Response::Regrouped { rank: word(&mut rest)?, size: word(&mut rest)? }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        for request in [
            Request::Exchange { timeout: Duration::from_millis(1500), bytes: vec![1, 2, 3] },
            Request::Regroup { window: Duration::from_secs(2) },
        ] {
            assert_eq!(decode_request(&encode_request(&request)), Some(request));
        }
        for response in [
            Response::All(vec![vec![], vec![7; 300], vec![1]]),
            Response::Missing(vec![3, 5]),
            Response::Regrouped { rank: 1, size: 3 },
        ] {
            assert_eq!(decode_response(&encode_response(&response)), Some(response));
        }
        for garbage in [&[][..], &[9], &[0, 1], &[0, 255, 255, 255, 255], &[2, 0, 0]] {
            assert_eq!(decode_response(garbage).filter(|found| *found != Response::All(Vec::new())), None);
        }
        assert_eq!(decode_request(&[1, 0, 0]), None);
    }
}
