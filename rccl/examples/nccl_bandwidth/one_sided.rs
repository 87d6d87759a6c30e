//! One-sided operations: each result is compared with the expected one.

use std::thread::sleep;

use rccl::memory::{ForeignMemory, ForeignRegistration};

use super::*;

/// Bytes of a window, unless a check uses another size.
const BYTES: usize = 4 << 20;
/// `CUDA_ERROR_NOT_READY`
const NOT_READY: &str = "error 600";

/// A rank's part of a window, with its memory.
struct Part<'a> {
    rank: &'a Rank<'a>,
    memory: ForeignMemory,
    window: ForeignRegistration<'a>,
    bytes: usize,
}

impl<'a> Part<'a> {
    fn new(rank: &'a Rank<'a>, bytes: usize) -> Result<Self> {
        let memory = ForeignMemory::allocate(bytes)?;
        // SAFETY: memory of this many bytes on all ranks, which stays until the window has ended.
        let window = unsafe { rank.communicator.window(memory.address(), bytes, true)? };
        Ok(Self { rank, memory, window, bytes })
    }

    /// Returns the address of one of its bytes.
    fn at(&self, offset: usize) -> *mut c_void {
        (self.memory.address() as u64 + offset as u64) as *mut c_void
    }

    fn fill(&self, bytes: &[u8]) -> Result<()> {
        self.rank.cuda.to_device(self.at(0) as u64, bytes.as_ptr().cast(), bytes.len())?;
        self.rank.cuda.synchronize_all()
    }

    fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.bytes];
        self.rank.cuda.to_host(bytes.as_mut_ptr().cast(), self.at(0) as u64, self.bytes)?;
        Ok(bytes)
    }

    fn end(self) -> Result<()> {
        self.rank.cuda.synchronize(self.rank.stream)?;
        self.rank.all.wait();
        self.window.end()?;
        // SAFETY: nothing uses it any more, and its device is current.
        unsafe { self.memory.free()? };
        Ok(())
    }
}

impl Rank<'_> {
    fn number(&self) -> usize {
        self.communicator.rank()
    }

    /// Returns the ranks that this one writes to, and is written by.
    fn neighbours(&self) -> (usize, usize) {
        let (own, size) = (self.number(), self.communicator.size());
        ((own + 1) % size, (own + size - 1) % size)
    }

    fn put(
        &self,
        to: &Part<'_>,
        (from, count, of): (*mut c_void, usize, DataType),
        peer: usize,
        at: usize,
    ) -> Result<()> {
        // SAFETY: this many elements, in memory that stays until the stream has been synchronized.
        unsafe { self.communicator.put(self.stream, &to.window, (from, count, of), peer, at)? };
        Ok(())
    }

    fn signal(&self, peer: usize) -> Result<()> {
        // SAFETY: the communicator's stream.
        unsafe { self.communicator.signal(self.stream, peer)? };
        Ok(())
    }

    fn wait(&self, signals: &[(usize, usize)]) -> Result<()> {
        // SAFETY: the communicator's stream.
        unsafe { self.communicator.wait_signals(self.stream, signals)? };
        Ok(())
    }

    fn is_done(&self) -> Result<bool> {
        match self.cuda.query(self.stream) {
            Ok(()) => Ok(true),
            Err(error) if error.to_string().contains(NOT_READY) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns an error if the stream does not wait.
    fn expect_waiting(&self, what: &str) -> Result<()> {
        sleep(Duration::from_millis(150));
        if self.is_done()? { Err(format!("{what}: the stream did not wait").into()) } else { Ok(()) }
    }
}

fn pattern(rank: usize, len: usize, turn: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 7 + index / 251 + rank * 31 + turn * 13) as u8).collect()
}

fn compare(found: &[u8], expected: &[u8], what: &str) -> Result<()> {
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(at) => Err(format!("{what}: byte {at} is {}, not {}", found[at], expected[at]).into()),
    }
}

/// Makes the first operation of a communicator; the other ranks make theirs a second later.
fn first(rank: &Rank<'_>) -> Result<String> {
    let (next, last) = rank.neighbours();
    rank.all.wait();
    if rank.number() != 0 {
        sleep(Duration::from_secs(1));
    }
    let begin = Instant::now();
    rank.signal(next)?;
    let first = begin.elapsed();
    let begin = Instant::now();
    rank.wait(&[(last, 1)])?;
    Ok(format!("the first operation returned after {first:.2?}, the second after {:.2?}", begin.elapsed()))
}

/// Checks that elements arrive at their offset, and that nothing else changes.
fn placed(rank: &Rank<'_>, own: &Part<'_>, to: &Part<'_>) -> Result<String> {
    let (next, last) = rank.neighbours();
    let cases = [
        (DataType::U8, 1, 0, 0),
        (DataType::U8, 1001, 3, 5),
        (DataType::F16, 1000, 4098, 2),
        (DataType::I32, 65_537, 8, 64),
        (DataType::F32, 1, BYTES - 4, 128),
        (DataType::F64, 1000, BYTES - 8000, 8),
        (DataType::F32, BYTES / 4, 0, 0),
    ];
    for (turn, &(of, count, at, skip)) in cases.iter().enumerate() {
        let what = format!("put of {count} {of:?} at byte {at}");
        let bytes = count * of.size();
        own.fill(&pattern(rank.number(), BYTES, turn))?;
        to.fill(&vec![0xee; BYTES])?;
        rank.all.wait();
        rank.put(to, (own.at(skip), count, of), next, at)?;
        rank.wait(&[(last, 1)])?;
        rank.cuda.synchronize(rank.stream)?;
        let mut expected = vec![0xee; BYTES];
        expected[at..at + bytes].copy_from_slice(&pattern(last, BYTES, turn)[skip..skip + bytes]);
        compare(&to.read()?, &expected, &what)?;
        rank.all.wait();
    }
    // A put without elements is a signal.
    rank.put(to, (own.at(0), 0, DataType::F32), next, 0)?;
    rank.wait(&[(last, 1)])?;
    rank.cuda.synchronize(rank.stream)?;
    Ok(format!("{} puts: the whole window is right", cases.len() + 1))
}

/// Puts several numbers to one position, and checks its content after each wait.
fn order(rank: &Rank<'_>, own: &Part<'_>, to: &Part<'_>, in_step: bool) -> Result<String> {
    const TIMES: usize = 500;
    let (next, last) = rank.neighbours();
    let log = rank.memory(4 * (TIMES + 1))?;
    let numbers: Vec<u8> = (0..=TIMES as u32).flat_map(u32::to_le_bytes).collect();
    own.fill(&numbers)?;
    to.fill(&vec![0; BYTES])?;
    rank.all.wait();
    let put = |time: usize| rank.put(to, (own.at(4 * time), 1, DataType::U32), next, 64);
    let take = |time: usize| {
        rank.wait(&[(last, 1)])?;
        rank.cuda.copy_async(log.address + 4 * time as u64, to.at(64) as u64, 4, rank.stream)
    };
    if in_step {
        for time in 1..=TIMES {
            put(time)?;
            take(time)?;
            // The next number is put only after this one was seen.
            rank.signal(last)?;
            rank.wait(&[(next, 1)])?;
            if time % 100 == 0 {
                rank.cuda.synchronize(rank.stream)?;
            }
        }
    } else {
        (1..=TIMES).try_for_each(put)?;
        (1..=TIMES).try_for_each(take)?;
    }
    let bytes = rank.bytes(&log, 4 * (TIMES + 1))?;
    let seen: Vec<usize> = bytes
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
        .collect();
    let mut before = 0;
    for (time, &number) in seen.iter().enumerate().skip(1) {
        let right = if in_step { number == time } else { number >= time && number >= before };
        if !right || (time == TIMES && number != TIMES) {
            return Err(format!("after wait {time} there is {number}, and before it {before}").into());
        }
        before = number;
    }
    Ok(format!(
        "{TIMES} puts to one place, {}: right after each wait",
        if in_step { "each after the last was seen" } else { "all at once" }
    ))
}

/// Checks that a wait ends after the put, and consumes as many signals as requested.
fn waits(rank: &Rank<'_>, own: &Part<'_>, to: &Part<'_>) -> Result<String> {
    let (number, size) = (rank.number(), rank.communicator.size());
    let finish = || rank.cuda.synchronize(rank.stream);
    own.fill(&pattern(number, BYTES, 99))?;
    to.fill(&vec![0; BYTES])?;
    rank.all.wait();
    if number == 1 % size {
        rank.wait(&[(0, 1)])?;
        rank.expect_waiting("a wait before the put")?;
    }
    rank.all.wait();
    if number == 0 {
        rank.put(to, (own.at(0), BYTES, DataType::U8), 1 % size, 0)?;
    }
    finish()?;
    if number == 1 % size {
        compare(&to.read()?, &pattern(0, BYTES, 99), "after the wait")?;
    }
    rank.all.wait();
    // Five signals, two of which come from puts.
    if number == 0 {
        rank.signal(1 % size)?;
        rank.put(to, (own.at(0), 1, DataType::U8), 1 % size, 0)?;
        rank.signal(1 % size)?;
        rank.put(to, (own.at(0), 1, DataType::U8), 1 % size, 0)?;
        rank.signal(1 % size)?;
        finish()?;
    }
    rank.all.wait();
    if number == 1 % size {
        rank.wait(&[(0, 2)])?;
        // The same rank twice: both count.
        rank.wait(&[(0, 1), (0, 2)])?;
        finish()?;
        rank.wait(&[(0, 1)])?;
        rank.expect_waiting("a sixth signal of five")?;
    }
    rank.all.wait();
    if number == 0 {
        rank.signal(1 % size)?;
    }
    finish()?;
    rank.all.wait();
    // Sends as many signals as this rank's number plus one to every rank, itself included.
    for peer in 0..size {
        (0..=number).try_for_each(|_| rank.signal(peer))?;
    }
    let from: Vec<_> = (0..size).map(|peer| (peer, peer + 1)).collect();
    rank.wait(&from)?;
    finish()?;
    rank.all.wait();
    expect_no_more(rank)?;
    Ok("waits end after the put, and take as many signals as they say; signals of all ranks and of itself: right"
        .into())
}

/// Checks that rank 1 has no signal of rank 0 left: it waits until there is one.
fn expect_no_more(rank: &Rank<'_>) -> Result<()> {
    if rank.communicator.size() == 1 {
        return Ok(());
    }
    if rank.number() == 1 {
        rank.wait(&[(0, 1)])?;
        rank.expect_waiting("one signal too many")?;
    }
    rank.all.wait();
    if rank.number() == 0 {
        rank.signal(1)?;
    }
    rank.cuda.synchronize(rank.stream)
}

/// Checks a rank's signal to itself on another stream than the one that waits for it.
pub(super) fn two_streams(options: &Options) -> Result<()> {
    let config = Config::new().blocking(true);
    let run = |rank: &Rank<'_>| -> Result<()> {
        let (next, last) = rank.neighbours();
        let part = Part::new(rank, BYTES)?;
        rank.signal(next)?;
        rank.wait(&[(last, 1)])?;
        rank.cuda.synchronize(rank.stream)?;
        rank.all.wait();
        let mut other = std::ptr::null_mut();
        rank.cuda.stream(&mut other, 1)?;
        rank.wait(&[(rank.number(), 1)])?;
        rank.expect_waiting("own signal")?;
        // SAFETY: a stream of the communicator's device.
        unsafe { rank.communicator.signal(other, rank.number())? };
        sleep(Duration::from_secs(1));
        println!("rank {}: a second later, the stream is done: {}", rank.number(), rank.is_done()?);
        part.end()
    };
    ranks(options, &config, run).map(drop)
}

/// Puts more than 1 GiB, which NCCL splits into parts: one signal.
fn large(rank: &Rank<'_>) -> Result<String> {
    const BLOCK: usize = 32 << 20;
    const BLOCKS: usize = 33;
    let (next, last) = rank.neighbours();
    let (own, to) = (Part::new(rank, BLOCK * BLOCKS)?, Part::new(rank, BLOCK * BLOCKS)?);
    let value = |rank: usize, block: usize| (rank * 1000 + block + 1) as u32;
    for block in 0..BLOCKS {
        rank.cuda.fill(own.at(block * BLOCK) as u64, value(rank.number(), block), BLOCK / 4)?;
    }
    rank.cuda.synchronize_all()?;
    rank.all.wait();
    rank.put(&to, (own.at(0), BLOCK * BLOCKS / 8, DataType::U64), next, 0)?;
    rank.wait(&[(last, 1)])?;
    rank.cuda.synchronize(rank.stream)?;
    let mut found = vec![0_u32; BLOCK / 4];
    for block in 0..BLOCKS {
        rank.cuda.to_host(found.as_mut_ptr().cast(), to.at(block * BLOCK) as u64, BLOCK)?;
        if found != vec![value(last, block); BLOCK / 4] {
            return Err(format!("part {block} of a large put did not arrive").into());
        }
    }
    rank.all.wait();
    expect_no_more(rank)?;
    own.end()?;
    to.end()?;
    Ok(format!("a put of {} bytes: right, with one signal", BLOCK * BLOCKS))
}

/// Returns half the microseconds of a put that is answered by one; and the same with send and receive.
fn ping_pong(rank: &Rank<'_>, own: &Part<'_>, to: &Part<'_>, bytes: usize, times: usize) -> Result<[f64; 2]> {
    let number = rank.number();
    if number > 1 || rank.communicator.size() < 2 {
        rank.all.wait();
        rank.all.wait();
        return Ok([0.0; 2]);
    }
    let peer = 1 - number;
    let count = bytes / 4;
    let one_sided = |_: usize| -> Result<()> {
        let put = || rank.put(to, (own.at(0), count, DataType::F32), peer, 0);
        let wait = || rank.wait(&[(peer, 1)]);
        if number == 0 { put().and_then(|()| wait()) } else { wait().and_then(|()| put()) }
    };
    let two_sided = |_: usize| -> Result<()> {
        let (send, receive) =
            (Call::send(own.at(0), count, DataType::F32, peer), Call::receive(to.at(0), count, DataType::F32, peer));
        let calls = if number == 0 { [send, receive] } else { [receive, send] };
        // SAFETY: this many elements, which stay until the stream has been synchronized.
        calls.iter().try_for_each(|call| unsafe { rank.communicator.submit(rank.stream, call) }).map_err(Failure::from)
    };
    let time = |run: &dyn Fn(usize) -> Result<()>| -> Result<f64> {
        (0..20).try_for_each(run)?;
        rank.cuda.synchronize(rank.stream)?;
        rank.all.wait();
        let begin = Instant::now();
        for turn in 0..times {
            run(turn)?;
            if turn % 100 == 99 {
                rank.cuda.synchronize(rank.stream)?;
            }
        }
        rank.cuda.synchronize(rank.stream)?;
        Ok(begin.elapsed().as_secs_f64() * 1e6 / times as f64 / 2.0)
    };
    Ok([time(&one_sided)?, time(&two_sided)?])
}

fn each(rank: &Rank<'_>, blocking: bool, only: Option<&str>) -> Result<()> {
    const MOST: usize = 256 << 20;
    let is_wanted = |name: &str| only.is_none_or(|only| only == name);
    let (own, to) = (Part::new(rank, BYTES)?, Part::new(rank, BYTES)?);
    let say = |line: &str| println!("blocking {blocking}, rank {}: {line}", rank.number());
    say(&first(rank)?);
    type Check<'a> = (&'a str, Box<dyn Fn() -> Result<String> + 'a>);
    let checks: [Check<'_>; 6] = [
        ("placed", Box::new(|| placed(rank, &own, &to))),
        ("order", Box::new(|| order(rank, &own, &to, false))),
        ("in-step", Box::new(|| order(rank, &own, &to, true))),
        ("waits", Box::new(|| waits(rank, &own, &to))),
        ("large", Box::new(|| large(rank))),
        (
            "time",
            Box::new(|| {
                let (own, to) = (Part::new(rank, MOST)?, Part::new(rank, MOST)?);
                let mut said = "microseconds by put and wait, and by send and receive:".to_owned();
                for (bytes, times) in [(8, 1000), (65_536, 1000), (BYTES, 200), (MOST, 20)] {
                    let [one, two] = ping_pong(rank, &own, &to, bytes, times)?;
                    write!(said, " {bytes} bytes {one:.2}, {two:.2};")?;
                }
                own.end()?;
                to.end()?;
                Ok(said)
            }),
        ),
    ];
    for (name, check) in checks.iter().filter(|(name, _)| is_wanted(name)) {
        say(&check().map_err(|error| format!("{name}: {error}"))?);
    }
    drop(checks);
    own.end()?;
    to.end()
}

pub(super) fn run(options: &Options, only: Option<&str>) -> Result<()> {
    println!("NCCL {:?}", rccl::version()?);
    for blocking in [true, false] {
        let config = Config::new().blocking(blocking).timeout(Duration::from_secs(60));
        ranks(options, &config, |rank| each(rank, blocking, only))?;
    }
    Ok(())
}

/// Makes invalid calls on rank 0, and returns the name and error of each.
fn mistakes_of(rank: &Rank<'_>, only: Option<&str>) -> Result<Vec<String>> {
    let communicator = &rank.communicator;
    let (size, (next, last)) = (communicator.size(), rank.neighbours());
    let (own, to) = (Part::new(rank, BYTES)?, Part::new(rank, BYTES)?);
    let (plain, other) = (rank.memory(BYTES)?, [ForeignMemory::allocate(BYTES)?, ForeignMemory::allocate(BYTES)?]);
    // SAFETY: memory of this many bytes on all ranks, which stays until the registrations have ended.
    let (not_symmetric, registered) = unsafe {
        let window = communicator.window(other[0].address(), BYTES, false)?;
        (window, communicator.register(other[1].address(), BYTES)?)
    };
    // The library is ready for one-sided operations.
    rank.signal(next)?;
    rank.wait(&[(last, 1)])?;
    rank.cuda.synchronize(rank.stream)?;
    let (good, stream) = (own.at(0), rank.stream);
    let put = |to: &ForeignRegistration<'_>, from: *mut c_void, count: usize, peer: usize, at: usize| {
        // SAFETY: none of these calls may reach a GPU; any that does stays within memory of this program.
        unsafe { communicator.put(stream, to, (from, count, DataType::F32), peer, at) }
    };
    let right = &to.window;
    // SAFETY: the communicator's stream.
    let (signal, wait) = (
        |peer| unsafe { communicator.signal(stream, peer) },
        |signals: &[_]| unsafe { communicator.wait_signals(stream, signals) },
    );
    type Try<'a> = (&'a str, Box<dyn Fn() -> rccl::Result<()> + 'a>);
    let tries: [Try<'_>; 14] = [
        ("peer", Box::new(|| put(right, good, 1, size, 0))),
        ("signal-peer", Box::new(|| signal(size))),
        ("wait-peer", Box::new(|| wait(&[(size, 1)]))),
        ("wait-nothing", Box::new(|| wait(&[]))),
        ("wait-zero", Box::new(|| wait(&[(0, 0)]))),
        ("offset", Box::new(|| put(right, good, 1, next, BYTES))),
        ("offset-overflow", Box::new(|| put(right, good, 2, next, usize::MAX - 3))),
        ("end", Box::new(|| put(right, good, 2, next, BYTES - 4))),
        ("source-plain", Box::new(|| put(right, plain.pointer(), 1, next, 0))),
        ("source-registered", Box::new(|| put(right, other[1].address(), 1, next, 0))),
        ("source-not-symmetric", Box::new(|| put(right, other[0].address(), 1, next, 0))),
        ("source-end", Box::new(|| put(right, own.at(BYTES - 4), 2, next, 0))),
        ("window-not-symmetric", Box::new(|| put(&not_symmetric, good, 1, next, 0))),
        ("window-registered", Box::new(|| put(&registered, good, 1, next, 0))),
    ];
    let mut lines = Vec::new();
    if rank.number() == 0 {
        for (name, run) in tries.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
            let result = run();
            let before = matches!(result, Err(rccl::Error::Invalid { .. }));
            let said = result.map_or_else(|error| error.to_string(), |()| "no error".to_owned());
            println!("{name}: {said}");
            if only.is_none() && !before {
                return Err(format!("{name} is not an error before the call").into());
            }
        }
        if let Some(only) = only {
            println!("after {only}: {:?}", communicator.poll_error().map_err(|error| error.to_string()));
            std::process::exit(0);
        }
        lines.push(format!("{} mistakes are errors before the call", tries.len()));
    }
    drop(tries);
    rank.all.wait();
    // The communicator is still usable.
    rank.signal(next)?;
    rank.wait(&[(last, 1)])?;
    rank.cuda.synchronize(rank.stream)?;
    rank.all.wait();
    not_symmetric.end()?;
    registered.end()?;
    own.end()?;
    to.end()?;
    Ok(lines)
}

pub(super) fn mistakes(options: &Options, only: Option<&str>, blocking: Option<bool>) -> Result<()> {
    for each in [true, false].into_iter().filter(|each| blocking.is_none_or(|blocking| blocking == *each)) {
        let config = Config::new().blocking(each).timeout(Duration::from_secs(20));
        let lines = ranks(options, &config, |rank| mistakes_of(rank, only))?;
        lines.iter().flatten().for_each(|line| println!("blocking {each}: {line}"));
    }
    Ok(())
}

/// Waits for a signal that is never sent: checks the deadline, and the stream afterwards.
pub(super) fn missing(options: &Options, blocking: bool) -> Result<()> {
    let config = Config::new().blocking(blocking).timeout(Duration::from_secs(20));
    let run = |rank: &Rank<'_>| -> Result<()> {
        let (next, last) = rank.neighbours();
        let part = Part::new(rank, BYTES)?;
        rank.signal(next)?;
        rank.wait(&[(last, 1)])?;
        rank.cuda.synchronize(rank.stream)?;
        rank.all.wait();
        if rank.number() == 0 {
            rank.wait(&[(last, 1)])?;
            let begin = Instant::now();
            let done = || Ok(rank.is_done().unwrap_or(true));
            let waited = rank.communicator.wait_until(Duration::from_secs(2), done);
            println!(
                "blocking {blocking}, after {:.1?}: {:?}",
                begin.elapsed(),
                waited.map_err(|error| error.to_string())
            );
            for _ in 0..5 {
                sleep(Duration::from_secs(1));
                println!("after {:.1?}: the stream is done: {:?}", begin.elapsed(), rank.is_done());
            }
            std::process::exit(0);
        }
        sleep(Duration::from_secs(60));
        part.end()
    };
    ranks(options, &config, run).map(drop)
}
