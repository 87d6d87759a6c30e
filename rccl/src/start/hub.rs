//! The hub, where ranks meet.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::wire::{Caller, Channel, Request, Response, decode_request, encode_response};
use super::{Error, Secret};

/// Limit of the handshake of a caller.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of concurrent callers that have not authenticated.
const STRANGERS: usize = 64;
/// Interval between checks for callers and deadlines.
const PERIOD: Duration = Duration::from_millis(10);

/// The meeting point of a program's ranks: it distributes the data that they exchange, and tracks lost ranks. It runs
/// on its own threads, in rank 0 or in the launcher, until it is dropped.
#[derive(Debug)]
pub struct Hub {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    refused: Arc<Mutex<Vec<String>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Hub {
    /// Listens at `host:port` for `size` ranks. If the host is a loopback address, the hub is only reachable from this
    /// machine; otherwise it listens on all addresses of the machine. Port 0 selects a free one.
    ///
    /// # Errors
    /// [`Error::Connection`] if the port is in use, or the name is unknown.
    pub fn listen(address: &str, size: usize, secret: &Secret) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::connection(address, error);
        let resolved: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();
        let Some(first) = resolved.first() else { return Err(Error::connection(address, "the name has no address")) };
        let any: IpAddr = if first.is_ipv4() { [0, 0, 0, 0].into() } else { [0_u16; 8].into() };
        let ip = if first.ip().is_loopback() { first.ip() } else { any };
        let listener = TcpListener::bind((ip, first.port())).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, refused) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (tell, told) = mpsc::channel();
        let log = Log(Arc::clone(&refused));
        let door =
            Door { listener, secret: secret.clone(), tell: tell.clone(), stop: Arc::clone(&stop), log: log.clone() };
        let state = State {
            size,
            members: BTreeMap::new(),
            gone: BTreeSet::new(),
            exchange: None,
            regroup: None,
            places: size,
            next: 0,
            secret: secret.clone(),
            tell,
            log,
        };
        let stopped = Arc::clone(&stop);
        let threads = vec![
            std::thread::Builder::new().name("rccl door".to_owned()).spawn(move || door.open()).map_err(failed)?,
            std::thread::Builder::new()
                .name("rccl hub".to_owned())
                .spawn(move || state.run(&told, &stopped))
                .map_err(failed)?,
        ];
        Ok(Self { address, stop, refused, threads })
    }

    /// Returns the address that it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the rejected callers so far, with the reasons. The same lines are written to stderr.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[derive(Clone)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn refuse(&self, who: &str, why: &str) {
        let line = format!("{who} was refused: {why}");
        eprintln!("rccl: {line}");
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A caller that retries forever must not fill the memory.
        if lines.len() < 1000 {
            lines.push(line);
        }
    }
}

enum Event {
    Knock(Caller, String),
    /// A message from a member, by its number.
    Message(u64, Vec<u8>),
    Gone(u64),
}

struct Door {
    listener: TcpListener,
    secret: Secret,
    tell: mpsc::Sender<Event>,
    stop: Arc<AtomicBool>,
    log: Log,
}

impl Door {
    fn open(self) {
        let strangers = Arc::new(());
        while !self.stop.load(Ordering::Acquire) {
            let Ok((stream, from)) = self.listener.accept() else {
                std::thread::sleep(PERIOD);
                continue;
            };
            if Arc::strong_count(&strangers) > STRANGERS {
                self.log.refuse(&from.to_string(), "too many callers at a time");
                continue;
            }
            let (secret, tell, log) = (self.secret.clone(), self.tell.clone(), self.log.clone());
            let one = Arc::clone(&strangers);
            let thread = std::thread::Builder::new().name("rccl caller".to_owned());
            let _ = thread.spawn(move || {
                greet(stream, from, &secret, &tell, &log);
                drop(one);
            });
        }
    }
}

fn greet(stream: TcpStream, from: SocketAddr, secret: &Secret, tell: &mpsc::Sender<Event>, log: &Log) {
    if stream.set_nonblocking(false).is_err() {
        return;
    }
    match Caller::greet(stream, secret, PATIENCE) {
        Ok(caller) => drop(tell.send(Event::Knock(caller, from.to_string()))),
        Err(error) => log.refuse(&from.to_string(), &error.to_string()),
    }
}

struct Member {
    /// Distinguishes members that had the same rank one after the other.
    number: u64,
    channel: Channel,
}

/// Ranks that wait for each other.
struct Gathering<T> {
    deadline: Instant,
    arrived: BTreeMap<usize, T>,
}

struct State {
    /// Number of ranks of the current world.
    size: usize,
    members: BTreeMap<usize, Member>,
    /// Ranks that were connected and are lost.
    gone: BTreeSet<usize>,
    exchange: Option<Gathering<Vec<u8>>>,
    regroup: Option<Gathering<()>>,
    /// Number of ranks of the initial world.
    places: usize,
    next: u64,
    secret: Secret,
    tell: mpsc::Sender<Event>,
    log: Log,
}

impl State {
    fn run(mut self, told: &mpsc::Receiver<Event>, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            match told.recv_timeout(PERIOD) {
                Ok(Event::Knock(caller, from)) => self.knock(caller, &from),
                Ok(Event::Message(number, bytes)) => self.message(number, &bytes),
                Ok(Event::Gone(number)) => self.leave(number),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            self.settle(Instant::now());
        }
        self.members.values().for_each(|member| member.channel.close());
    }

    fn knock(&mut self, caller: Caller, from: &str) {
        let knock = caller.knock;
        let reason = if knock.size != self.places {
            Some(format!("it says that there are {} ranks, and there are {}", knock.size, self.places))
        } else if knock.rank >= self.places {
            Some(format!("rank {} of {}", knock.rank, self.places))
        } else if self.members.contains_key(&knock.rank) {
            Some(format!("there is a rank {} already", knock.rank))
        } else {
            None
        };
        if let Some(reason) = reason {
            self.log.refuse(from, &reason);
            return caller.refuse(&self.secret, &reason);
        }
        let Ok(channel) = caller.accept(&self.secret) else { return };
        let number = self.next;
        self.next += 1;
        let (Ok(mut reader), tell) = (channel.try_clone(), self.tell.clone()) else { return };
        let thread = std::thread::Builder::new().name("rccl rank".to_owned()).spawn(move || {
            let _ = reader.wait_forever();
            while let Ok(bytes) = reader.receive() {
                if tell.send(Event::Message(number, bytes)).is_err() {
                    return;
                }
            }
            let _ = tell.send(Event::Gone(number));
        });
        if thread.is_ok() {
            self.gone.remove(&knock.rank);
            self.members.insert(knock.rank, Member { number, channel });
        }
    }

    fn rank_of(&self, number: u64) -> Option<usize> {
        self.members.iter().find(|(_, member)| member.number == number).map(|(rank, _)| *rank)
    }

    fn message(&mut self, number: u64, bytes: &[u8]) {
        let Some(rank) = self.rank_of(number) else { return };
        let now = Instant::now();
        match decode_request(bytes) {
            Some(Request::Exchange { timeout, bytes }) => {
                let deadline = now + timeout;
                let exchange = self.exchange.get_or_insert_with(|| Gathering { deadline, arrived: BTreeMap::new() });
                exchange.deadline = exchange.deadline.min(deadline);
                exchange.arrived.insert(rank, bytes);
            }
            Some(Request::Regroup { window }) => {
                let deadline = now + window;
                let regroup = self.regroup.get_or_insert_with(|| Gathering { deadline, arrived: BTreeMap::new() });
                regroup.arrived.insert(rank, ());
            }
            None => {
                self.log.refuse(&format!("rank {rank}"), "it sent what cannot be read");
                self.leave(number);
            }
        }
    }

    fn leave(&mut self, number: u64) {
        let Some(rank) = self.rank_of(number) else { return };
        if let Some(member) = self.members.remove(&rank) {
            member.channel.close();
        }
        self.gone.insert(rank);
        if let Some(exchange) = &mut self.exchange {
            exchange.arrived.remove(&rank);
        }
        if let Some(regroup) = &mut self.regroup {
            regroup.arrived.remove(&rank);
        }
    }

    /// Answers the requests that need not wait any longer.
    fn settle(&mut self, now: Instant) {
        if let Some(exchange) = &self.exchange {
            let missing: Vec<usize> = (0..self.size).filter(|rank| !exchange.arrived.contains_key(rank)).collect();
            let lost = missing.iter().any(|rank| self.gone.contains(rank));
            let regrouping =
                self.regroup.as_ref().is_some_and(|of| missing.iter().any(|rank| of.arrived.contains_key(rank)));
            if missing.is_empty() || lost || regrouping || now >= exchange.deadline {
                if let Some(Gathering { mut arrived, .. }) = self.exchange.take() {
                    let ranks: Vec<usize> = arrived.keys().copied().collect();
                    let response = if missing.is_empty() {
                        Response::All((0..self.size).map(|rank| arrived.remove(&rank).unwrap_or_default()).collect())
                    } else {
                        Response::Missing(missing)
                    };
                    self.send(&ranks, &response);
                }
            }
        }
        if let Some(regroup) = &self.regroup {
            let all = self.members.keys().all(|rank| regroup.arrived.contains_key(rank));
            if all || now >= regroup.deadline {
                self.regrouped();
            }
        }
    }

    fn send(&mut self, ranks: &[usize], response: &Response) {
        let bytes = encode_response(response);
        let mut broken = Vec::new();
        for rank in ranks {
            if let Some(member) = self.members.get_mut(rank) {
                if member.channel.send(&bytes).is_err() {
                    broken.push(member.number);
                }
            }
        }
        broken.into_iter().for_each(|number| self.leave(number));
    }

    fn regrouped(&mut self) {
        let Some(Gathering { arrived, .. }) = self.regroup.take() else { return };
        self.exchange = None;
        let members = std::mem::take(&mut self.members);
        let (left, stopped): (Vec<_>, Vec<_>) = members.into_iter().partition(|(rank, _)| arrived.contains_key(rank));
        for (rank, member) in stopped {
            self.log.refuse(&format!("rank {rank}"), "the others have gone on without it");
            member.channel.close();
        }
        self.gone.clear();
        self.size = left.len();
        self.members = left.into_iter().map(|(_, member)| member).enumerate().collect();
        for rank in 0..self.size {
            self.send(&[rank], &Response::Regrouped { rank, size: self.size });
        }
    }
}
