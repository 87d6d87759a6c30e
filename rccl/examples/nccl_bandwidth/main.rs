//! NVIDIA's NCCL through this crate: checks every collective, and compares the bandwidth of all-reduce with that of a C
//! program (`nvidia/bandwidth.c`).
//!
//! Memory and streams come directly from libcuda: `hip` has no backend for NVIDIA. The binary needs a driver,
//! `libnccl.so.2` and the C library, and no Rust toolchain. Build it on one machine, and copy it to another:
//!
//! ```sh
//! cargo build --release -p rccl --example nccl_bandwidth       # target/release/examples/nccl_bandwidth
//! cc -O2 -shared -fPIC -o bandwidth_c.so rccl/nvidia/bandwidth.c -ldl -lpthread # there
//! export NCCL_NVLS_ENABLE=0
//! ./nccl_bandwidth check                       # all collectives, on all GPUs
//! ./nccl_bandwidth compare ./bandwidth_c.so    # both in turns, 121 times; a table in Markdown
//! ./nccl_bandwidth control ./bandwidth_c.so ./copy.so # the C program against itself: the error of the measurement
//! ./nccl_bandwidth memory                      # registered memory and windows; needs the feature `one-sided`
//! ./nccl_bandwidth one-sided                   # one-sided operations, of NCCL 2.29 or newer; the same feature
//! ./nccl_bandwidth mistakes                    # one-sided operations that must be errors; the same feature
//! ./nccl_bandwidth bandwidth                   # with the columns of nccl-tests
//! ```
//!
//! `RCCL_RS_LIBRARY=nccl` selects NCCL through the variable. `--ranks N` uses fewer GPUs, `--nccl FILE` another
//! library, `--from BYTES`, `--to BYTES` other sizes, `--rounds N` more rounds.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

#[cfg(feature = "one-sided")]
mod one_sided;

use rccl::foreign::{Call, Calls, Communicator, Op};
use rccl::{Config, DataType, UniqueId};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Result<T, E = Failure> = std::result::Result<T, E>;

/// The libcuda functions that are needed.
macro_rules! cuda {
    ($($name:ident = $symbol:literal($($argument:ident: $type:ty),*);)*) => {
        #[cfg_attr(not(feature = "one-sided"), allow(dead_code, reason = "the checks of one-sided operations use all"))]
        struct Cuda {
            _library: libloading::Library,
            $($name: unsafe extern "C" fn($($type),*) -> c_int,)*
        }

        #[cfg_attr(not(feature = "one-sided"), allow(dead_code, reason = "the checks of one-sided operations use all"))]
        impl Cuda {
            fn load() -> Result<Self> {
                // SAFETY: the driver's library; the functions have these types in CUDA 12 and 13.
                unsafe {
                    let library = libloading::Library::new("libcuda.so.1")?;
                    Ok(Self { $($name: *library.get(concat!($symbol, "\0").as_bytes())?,)* _library: library })
                }
            }

            $(fn $name(&self, $($argument: $type),*) -> Result<()> {
                // SAFETY: the callers below pass valid pointers, to memory and streams that are alive.
                match unsafe { (self.$name)($($argument),*) } {
                    0 => Ok(()),
                    status => Err(format!(concat!($symbol, " failed: CUDA error {}"), status).into()),
                }
            })*
        }
    };
}

cuda! {
    init = "cuInit"(flags: c_uint);
    device_count = "cuDeviceGetCount"(count: *mut c_int);
    device = "cuDeviceGet"(device: *mut c_int, ordinal: c_int);
    device_name = "cuDeviceGetName"(name: *mut c_char, len: c_int, device: c_int);
    driver_version = "cuDriverGetVersion"(version: *mut c_int);
    retain = "cuDevicePrimaryCtxRetain"(context: *mut *mut c_void, device: c_int);
    set_current = "cuCtxSetCurrent"(context: *mut c_void);
    fill = "cuMemsetD32_v2"(pointer: u64, value: c_uint, count: usize);
    allocate = "cuMemAlloc_v2"(pointer: *mut u64, bytes: usize);
    free = "cuMemFree_v2"(pointer: u64);
    to_device = "cuMemcpyHtoD_v2"(to: u64, from: *const c_void, bytes: usize);
    to_host = "cuMemcpyDtoH_v2"(to: *mut c_void, from: u64, bytes: usize);
    stream = "cuStreamCreate"(stream: *mut *mut c_void, flags: c_uint);
    synchronize = "cuStreamSynchronize"(stream: *mut c_void);
    synchronize_all = "cuCtxSynchronize"();
    query = "cuStreamQuery"(stream: *mut c_void);
    copy_async = "cuMemcpyDtoDAsync_v2"(to: u64, from: u64, bytes: usize, stream: *mut c_void);
}

impl Cuda {
    fn count(&self) -> Result<usize> {
        let mut count = 0;
        self.device_count(&mut count)?;
        Ok(usize::try_from(count)?)
    }

    fn name(&self, ordinal: usize) -> Result<String> {
        let (mut device, mut name) = (0, [0_u8; 128]);
        self.device(&mut device, c_int::try_from(ordinal)?)?;
        self.device_name(name.as_mut_ptr().cast(), 127, device)?;
        Ok(String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or(&[])).into_owned())
    }
}

/// One rank: a GPU whose context is current in this thread.
struct Rank<'a> {
    cuda: &'a Cuda,
    communicator: Communicator,
    stream: *mut c_void,
    all: &'a Barrier,
}

/// Memory of the current GPU.
struct Memory<'a> {
    cuda: &'a Cuda,
    address: u64,
}

impl Memory<'_> {
    fn pointer(&self) -> *mut c_void {
        self.address as *mut c_void
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        let _ = self.cuda.free(self.address);
    }
}

impl<'a> Rank<'a> {
    fn new(cuda: &'a Cuda, id: UniqueId, rank: usize, size: usize, config: &Config, all: &'a Barrier) -> Result<Self> {
        let (mut device, mut context, mut stream) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        cuda.device(&mut device, c_int::try_from(rank)?)?;
        cuda.retain(&mut context, device)?;
        cuda.set_current(context)?;
        // CU_STREAM_NON_BLOCKING
        cuda.stream(&mut stream, 1)?;
        let communicator = Communicator::init_rank(id, rank, size, config)?;
        Ok(Self { cuda, communicator, stream, all })
    }

    fn memory(&self, bytes: usize) -> Result<Memory<'a>> {
        let mut address = 0;
        self.cuda.allocate(&mut address, bytes.max(1))?;
        Ok(Memory { cuda: self.cuda, address })
    }

    fn memory_of(&self, bytes: &[u8]) -> Result<Memory<'a>> {
        let memory = self.memory(bytes.len())?;
        if !bytes.is_empty() {
            self.cuda.to_device(memory.address, bytes.as_ptr().cast(), bytes.len())?;
        }
        Ok(memory)
    }

    fn bytes(&self, memory: &Memory<'_>, count: usize) -> Result<Vec<u8>> {
        self.cuda.synchronize(self.stream)?;
        let mut bytes = vec![0; count];
        if count != 0 {
            self.cuda.to_host(bytes.as_mut_ptr().cast(), memory.address, count)?;
        }
        Ok(bytes)
    }

    fn all_reduce(&self, send: &Memory<'_>, receive: &Memory<'_>, count: usize) -> Result<()> {
        let call = Call::all_reduce(send.pointer(), receive.pointer(), count, DataType::F32, Op::Sum);
        // SAFETY: memory for this many numbers, which is kept until the stream has been synchronized.
        Ok(unsafe { self.communicator.submit(self.stream, &call) }?)
    }
}

/// Runs a thread for each rank. The first error ends the program, because the others would wait.
fn ranks<T: Send>(options: &Options, config: &Config, run: impl Fn(&Rank<'_>) -> Result<T> + Sync) -> Result<Vec<T>> {
    let cuda = Cuda::load()?;
    cuda.init(0)?;
    let size = options.ranks.map_or_else(|| cuda.count(), Ok)?;
    let id = UniqueId::new()?;
    let all = Barrier::new(size);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..size)
            .map(|rank| {
                let (cuda, all, run) = (&cuda, &all, &run);
                scope.spawn(move || {
                    let result = Rank::new(cuda, id, rank, size, config, all).and_then(|rank| {
                        let result = run(&rank)?;
                        rank.cuda.synchronize(rank.stream)?;
                        all.wait();
                        // SAFETY: its stream has been synchronized.
                        unsafe { rank.communicator.destroy()? };
                        Ok(result)
                    });
                    result.unwrap_or_else(|error| {
                        eprintln!("rank {rank}: {error}");
                        std::process::exit(1);
                    })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a rank has panicked".into())).collect()
    })
}

// ---- all collectives ----

/// A type, and the encoding of small numbers in it.
struct Type {
    data_type: DataType,
    encode: fn(i64) -> Vec<u8>,
}

macro_rules! types {
    ($($name:ident: |$x:ident| $bytes:expr;)*) => {
        [$(Type { data_type: DataType::$name, encode: |$x| $bytes.to_le_bytes().to_vec() }),*]
    };
}

const TYPES: [Type; 10] = types! {
    I8: |x| x as i8;
    U8: |x| x as u8;
    I32: |x| x as i32;
    U32: |x| x as u32;
    I64: |x| x;
    U64: |x| x as u64;
    F16: |x| half::f16::from_f64(x as f64);
    Bf16: |x| half::bf16::from_f64(x as f64);
    F32: |x| x as f32;
    F64: |x| x as f64;
};

/// An operator, and its result for two numbers.
type Operator = (Op, fn(i64, i64) -> i64);

/// Returns a number that every type can represent, including sums and products of such numbers.
fn number(rank: usize, index: usize) -> i64 {
    ((index * (rank + 1) + index / 7 + rank) % 3 + 1) as i64
}

fn encode(of: &Type, numbers: impl IntoIterator<Item = i64>) -> Vec<u8> {
    numbers.into_iter().flat_map(|x| (of.encode)(x)).collect()
}

/// Makes calls together, with separate memory and in place, and compares the results. Returns the number of
/// comparisons.
fn expect(
    rank: &Rank<'_>,
    what: &str,
    (send, receive): (&[u8], &[u8]),
    expected: &[u8],
    calls: impl Fn(*const c_void, *mut c_void) -> Vec<Call>,
) -> Result<usize> {
    let (from, to) = (rank.memory_of(send)?, rank.memory_of(receive)?);
    let mut together = Calls::new();
    calls(from.pointer(), to.pointer())
        .into_iter()
        .for_each(|call| together.add(&rank.communicator, rank.stream, call));
    // SAFETY: the memory is as large as the calls state, and kept until the stream has been synchronized.
    unsafe { together.end()? };
    let got = rank.bytes(&to, expected.len())?;
    match got.iter().zip(expected).position(|(got, expected)| got != expected) {
        None => Ok(1),
        Some(at) => {
            let number = rank.communicator.rank();
            Err(format!("{what} on rank {number}: byte {at} is {}, not {}", got[at], expected[at]).into())
        }
    }
}

fn check_all(rank: &Rank<'_>) -> Result<usize> {
    let (own, size) = (rank.communicator.rank(), rank.communicator.size());
    let mut compared = 0;
    for of in &TYPES {
        let ty = of.data_type;
        for count in [0, 1, 1001, 65_537] {
            let input = encode(of, (0..count).map(|index| number(own, index)));
            let whole = encode(of, (0..count * size).map(|index| number(own, index)));
            let gathered = encode(of, (0..count * size).map(|index| number(index / count, index % count)));
            let (empty, empty_whole) = (vec![0; input.len()], vec![0; whole.len()]);
            let root = size - 1;
            let at_root = |bytes: &[u8]| if own == root { bytes.to_vec() } else { Vec::new() };
            let reduced = |reduce: fn(i64, i64) -> i64, first: usize| {
                let numbers =
                    |index| (0..size).map(move |rank| number(rank, first + index)).reduce(reduce).unwrap_or(0);
                encode(of, (0..count).map(numbers))
            };
            let what = |name: &str| format!("{name} of {count} {ty:?}");
            macro_rules! run {
                ($name:literal, $buffers:expr, $expected:expr, |$send:ident, $receive:ident| $($call:expr),*) => {
                    compared += expect(rank, &what($name), $buffers, $expected, |$send, $receive| vec![$($call),*])?;
                };
            }
            let operators: [Operator; 4] =
                [(Op::Sum, |a, b| a + b), (Op::Product, |a, b| a * b), (Op::Min, i64::min), (Op::Max, i64::max)];
            for (op, reduce) in operators {
                let expected = reduced(reduce, 0);
                run!("all-reduce", (&input, &empty), &expected, |s, r| Call::all_reduce(s, r, count, ty, op));
                run!("all-reduce in place", (&empty, &input), &expected, |_s, r| Call::all_reduce(r, r, count, ty, op));
                run!("reduce", (&input, &empty), &at_root(&expected), |s, r| Call::reduce(s, r, count, ty, op, root));
                let scattered = reduced(reduce, own * count);
                run!("reduce-scatter", (&whole, &empty), &scattered, |s, r| Call::reduce_scatter(s, r, count, ty, op));
            }
            let mut factor = [0; 8];
            factor[..ty.size()].copy_from_slice(&(of.encode)(2));
            let doubled = reduced(|a, b| a + b, 0);
            let doubled: Vec<u8> = if count == 0 {
                doubled
            } else {
                encode(of, (0..count).map(|index| 2 * (0..size).map(|rank| number(rank, index)).sum::<i64>()))
            };
            let scaled = Op::Scaled(factor);
            run!("scaled sum", (&input, &empty), &doubled, |s, r| Call::all_reduce(s, r, count, ty, scaled));
            let of_root = encode(of, (0..count).map(|index| number(root, index)));
            run!("broadcast", (&input, &empty), &of_root, |s, r| Call::broadcast(s, r, count, ty, root));
            run!("all-gather", (&input, &empty_whole), &gathered, |s, r| Call::all_gather(s, r, count, ty));
            run!("gather", (&input, &empty_whole), &at_root(&gathered), |s, r| Call::gather(s, r, count, ty, root));
            let part = encode(of, (0..count).map(|index| number(root, own * count + index)));
            run!("scatter", (&whole, &empty), &part, |s, r| Call::scatter(s, r, count, ty, root));
            let exchanged =
                encode(of, (0..count * size).map(|index| number(index / count, own * count + index % count)));
            run!("all-to-all", (&whole, &empty_whole), &exchanged, |s, r| Call::all_to_all(s, r, count, ty));
            let (counts, offsets) = (vec![count; size], (0..size).map(|rank| rank * count).collect::<Vec<_>>());
            run!("all-to-all-v", (&whole, &empty_whole), &exchanged, |s, r| Call::all_to_all_v(
                (s, &counts, &offsets),
                (r, &counts, &offsets),
                ty
            ));
            let (next, before) = ((own + 1) % size, (own + size - 1) % size);
            let from_before = encode(of, (0..count).map(|index| number(before, index)));
            run!(
                "send and receive",
                (&input, &empty),
                &from_before,
                |s, r| Call::send(s, count, ty, next),
                Call::receive(r, count, ty, before)
            );
        }
    }
    rank.all.wait();
    Ok(compared)
}

// ---- bandwidth ----

/// The times for one size: microseconds of a call, with separate memory and in place.
type Line = (usize, [f64; 2]);

fn iterations(bytes: usize) -> usize {
    match bytes {
        ..=0x10_0000 => 500,
        0x10_0001..=0x400_0000 => 100,
        _ => 20,
    }
}

/// Returns the time of a call on this rank: from the start of the first of many calls to the end of the last.
fn time(rank: &Rank<'_>, from: &Memory<'_>, to: &Memory<'_>, bytes: usize) -> Result<f64> {
    let (count, iterations) = (bytes / 4, iterations(bytes));
    for _ in 0..iterations.min(20) {
        rank.all_reduce(from, to, count)?;
    }
    rank.cuda.synchronize(rank.stream)?;
    rank.all.wait();
    let begin = Instant::now();
    for _ in 0..iterations {
        rank.all_reduce(from, to, count)?;
    }
    rank.cuda.synchronize(rank.stream)?;
    Ok(begin.elapsed().as_secs_f64() * 1e6 / iterations as f64)
}

fn bandwidth(options: &Options) -> Result<Vec<Line>> {
    let sizes = options.sizes();
    // As in the C program: calls block in the library.
    let config = Config::new().blocking(true);
    let times = ranks(options, &config, |rank| {
        let (from, to) = (rank.memory(options.to)?, rank.memory(options.to)?);
        let each = |bytes: &usize| Ok([time(rank, &from, &to, *bytes)?, time(rank, &to, &to, *bytes)?]);
        sizes.iter().map(each).collect::<Result<Vec<_>>>()
    })?;
    // The mean over the ranks, as in nccl-tests.
    let mean = |line: usize, place: usize| times.iter().map(|of| of[line][place]).sum::<f64>() / times.len() as f64;
    Ok(sizes.iter().enumerate().map(|(line, bytes)| (*bytes, [mean(line, 0), mean(line, 1)])).collect())
}

/// Bytes per microsecond are megabytes per second.
fn gigabytes(bytes: usize, microseconds: f64, factor: f64) -> f64 {
    bytes as f64 / microseconds / 1e3 * factor
}

fn print(lines: &[Line], size: usize) {
    let factor = 2.0 * (size as f64 - 1.0) / size as f64;
    println!("#                                    out-of-place                in-place");
    println!("#     size       count  type redop   time  algbw  busbw     time  algbw  busbw");
    println!("#      (B)  (elements)               (us) (GB/s) (GB/s)     (us) (GB/s) (GB/s)");
    for (bytes, times) in lines {
        print!("{bytes:>10} {:>11} float   sum", bytes / 4);
        for time in times {
            print!(" {time:>8.2} {:>6.2} {:>6.2}", gigabytes(*bytes, *time, 1.0), gigabytes(*bytes, *time, factor));
        }
        println!();
    }
}

/// The C program, built as a library.
struct C {
    load: unsafe extern "C" fn(nccl: *const c_char, id: *mut c_char),
    start: unsafe extern "C" fn(rank: c_int, size: c_int, id: *const c_char, most: usize) -> *mut c_void,
    time: unsafe extern "C" fn(rank: *mut c_void, bytes: usize, in_place: c_int, wait: extern "C" fn()) -> f64,
    end: unsafe extern "C" fn(rank: *mut c_void),
    _library: libloading::Library,
}

impl C {
    fn open(path: &PathBuf) -> Result<Self> {
        // SAFETY: the library built from `nvidia/bandwidth.c`, whose functions have these types.
        unsafe {
            let library = libloading::Library::new(path)?;
            Ok(Self {
                load: *library.get(b"c_load\0")?,
                start: *library.get(b"c_start\0")?,
                time: *library.get(b"c_time\0")?,
                end: *library.get(b"c_end\0")?,
                _library: library,
            })
        }
    }
}

/// Barrier of the C program's ranks.
static ALL: OnceLock<Barrier> = OnceLock::new();

extern "C" fn wait_for_all() {
    if let Some(all) = ALL.get() {
        all.wait();
    }
}

/// A rank of the C program, on the thread that started it.
struct CRank<'a> {
    c: &'a C,
    rank: *mut c_void,
}

impl CRank<'_> {
    fn time(&self, bytes: usize, place: usize) -> f64 {
        // SAFETY: a rank that was started on this thread. The function ends the program if it fails.
        unsafe { (self.c.time)(self.rank, bytes, place as c_int, wait_for_all) }
    }
}

impl Drop for CRank<'_> {
    fn drop(&mut self) {
        // SAFETY: as above; no queued work is left.
        unsafe { (self.c.end)(self.rank) };
    }
}

/// The loaded C program, with the id of its ranks.
struct Loaded {
    c: C,
    id: [u8; 128],
}

impl Loaded {
    fn new(path: &PathBuf, nccl: &CString) -> Result<Self> {
        let (c, mut id) = (C::open(path)?, [0; 128]);
        // SAFETY: a string, and room for an id.
        unsafe { (c.load)(nccl.as_ptr(), id.as_mut_ptr().cast()) };
        Ok(Self { c, id })
    }

    fn start(&self, rank: &Rank<'_>, most: usize) -> Result<CRank<'_>> {
        let (number, size) = (c_int::try_from(rank.communicator.rank())?, c_int::try_from(rank.communicator.size())?);
        // SAFETY: the id has 128 bytes. The functions end the program if they fail.
        Ok(CRank { rank: unsafe { (self.c.start)(number, size, self.id.as_ptr().cast(), most) }, c: &self.c })
    }
}

/// Times of all rounds of both variants: by size, then by memory (separate, in place), then by round.
type Turns = Vec<[[Vec<f64>; 2]; 2]>;

/// Measures both variants in turns on one thread: this crate's calls, or those of a copy of the C program, and those of
/// the C program. Each has its own communicator, stream and memory.
fn turns(
    rank: &Rank<'_>,
    (first, second): (Option<&Loaded>, &Loaded),
    options: &Options,
    sizes: &[usize],
) -> Result<Turns> {
    let (from, to) = (rank.memory(options.to)?, rank.memory(options.to)?);
    let first = first.map(|first| first.start(rank, options.to)).transpose()?;
    let second = second.start(rank, options.to)?;
    let mut turns: Turns = sizes.iter().map(|_| Default::default()).collect();
    for turn in 0..options.rounds {
        for (&bytes, line) in sizes.iter().zip(&mut turns) {
            for (place, sides) in line.iter_mut().enumerate() {
                // Each goes first in every other round.
                for side in [turn % 2, 1 - turn % 2] {
                    let time = match (side, &first) {
                        (0, None) => time(rank, if place == 0 { &from } else { &to }, &to, bytes)?,
                        (0, Some(first)) => first.time(bytes, place),
                        _ => second.time(bytes, place),
                    };
                    sides[side].push(time);
                }
            }
        }
    }
    rank.all.wait();
    Ok(turns)
}

/// Measures this crate and the C program in turns, or with `control` two copies of the C program. Prints a table of the
/// medians of the times, and of the ratios of each round.
fn compare(options: &Options, other: &PathBuf, control: Option<&PathBuf>) -> Result<()> {
    let cuda = Cuda::load()?;
    cuda.init(0)?;
    let size = options.ranks.map_or_else(|| cuda.count(), Ok)?;
    let mut driver = 0;
    cuda.driver_version(&mut driver)?;
    let version = rccl::version()?;
    let nccl = options.nccl.as_deref().unwrap_or_else(|| Path::new("libnccl.so.2"));
    let nccl = CString::new(nccl.as_os_str().as_encoded_bytes())?;
    let second = Loaded::new(other, &nccl)?;
    let first = control.map(|path| Loaded::new(path, &nccl)).transpose()?;
    ALL.get_or_init(|| Barrier::new(size));
    let sizes = options.sizes();
    // As in the C program: calls block in the library.
    let config = Config::new().blocking(true);
    let times = ranks(options, &config, |rank| turns(rank, (first.as_ref(), &second), options, &sizes))?;
    // The mean over the ranks, as in nccl-tests.
    let of = |line: usize, place: usize, side: usize, turn: usize| {
        times.iter().map(|rank| rank[line][place][side][turn]).sum::<f64>() / size as f64
    };
    let median = |value: &dyn Fn(usize) -> f64| {
        let mut values: Vec<f64> = (0..options.rounds).map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let factor = 2.0 * (size as f64 - 1.0) / size as f64;
    let (factor, column) = if size == 1 { (1.0, "algbw") } else { (factor, "busbw") };
    let mut page = String::new();
    writeln!(
        page,
        "All-reduce (f32, sum) on {size} x {}, NCCL {}.{}.{}, driver for CUDA {}.{}, NCCL_NVLS_ENABLE={}; medians of {} turns.\n",
        cuda.name(0)?,
        version.0,
        version.1,
        version.2,
        driver / 1000,
        driver % 1000 / 10,
        std::env::var("NCCL_NVLS_ENABLE").unwrap_or_else(|_| "(not set)".to_owned()),
        options.rounds,
    )?;
    let ours = if control.is_some() { "C, a copy" } else { "this crate" };
    writeln!(page, "| bytes | {column} in GB/s, {ours} | C | ratio | in place, {ours} | C | ratio |")?;
    writeln!(page, "|---:|---:|---:|---:|---:|---:|---:|")?;
    let mut least = f64::INFINITY;
    for (line, bytes) in sizes.iter().enumerate() {
        write!(page, "| {bytes} |")?;
        for place in 0..2 {
            let [our, their] = [0, 1].map(|side| median(&|turn| of(line, place, side, turn)));
            // The ratio of consecutive measurements: fluctuations of a GPU or a driver last longer than a round.
            let ratio = median(&|turn| of(line, place, 1, turn) / of(line, place, 0, turn));
            least = least.min(ratio);
            let speed = |time| gigabytes(*bytes, time, factor);
            write!(page, " {:.3} | {:.3} | {:.1} % |", speed(our), speed(their), 100.0 * ratio)?;
        }
        writeln!(page)?;
    }
    println!("{page}\nThe least ratio is {:.1} %.", 100.0 * least);
    Ok(())
}

struct Options {
    ranks: Option<usize>,
    nccl: Option<PathBuf>,
    from: usize,
    to: usize,
    rounds: usize,
}

impl Options {
    fn sizes(&self) -> Vec<usize> {
        std::iter::successors(Some(self.from), |bytes| Some(bytes * 2)).take_while(|bytes| *bytes <= self.to).collect()
    }
}

fn main() -> Result<()> {
    let mut options = Options { ranks: None, nccl: None, from: 1 << 10, to: 1 << 30, rounds: 121 };
    let mut words = Vec::new();
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy().into_owned();
        let mut value = || arguments.next().ok_or_else(|| format!("{text} needs a value"));
        let number = |value: std::ffi::OsString| value.to_string_lossy().parse::<usize>();
        match text.as_str() {
            "--ranks" => options.ranks = Some(number(value()?)?),
            "--nccl" => options.nccl = Some(value()?.into()),
            "--from" => options.from = number(value()?)?.max(4),
            "--to" => options.to = number(value()?)?,
            "--rounds" => options.rounds = number(value()?)?.max(1),
            _ => words.push(argument),
        }
    }
    let library = options.nccl.as_deref().map(std::path::absolute).transpose()?;
    // `RCCL_RS_LIBRARY` can select it as well.
    let by_variable = library.is_none() && std::env::var_os("RCCL_RS_LIBRARY").is_some();
    let found = if by_variable { rccl::version().map(drop) } else { rccl::use_nccl(library.as_deref()) };
    if let Err(error) = found {
        // Also printed on the machines that build this.
        println!("there is no NCCL to measure: {error}");
        return Ok(());
    }
    if by_variable {
        println!("by RCCL_RS_LIBRARY: {:?}, {:?}", rccl::other_library(), rccl::version()?);
    }
    let word = |place: usize| words.get(place).map(|word| word.to_string_lossy().into_owned());
    match word(0).as_deref() {
        Some("check") => {
            for blocking in [true, false] {
                let config = Config::new().blocking(blocking).timeout(Duration::from_secs(120));
                let compared = ranks(&options, &config, check_all)?;
                println!("blocking {blocking}: {compared:?} results of ranks are right");
            }
            Ok(())
        }
        Some("bandwidth") | None => {
            let lines = bandwidth(&options)?;
            let cuda = Cuda::load()?;
            print(&lines, options.ranks.map_or_else(|| cuda.count(), Ok)?);
            Ok(())
        }
        Some("compare") => {
            let other = words.get(1).ok_or("compare needs the path of the C program as a library")?;
            compare(&options, &std::path::absolute(other)?, None)
        }
        Some("control") => {
            let paths =
                words.get(1).zip(words.get(2)).ok_or("control needs the paths of the C program and of a copy")?;
            compare(&options, &std::path::absolute(paths.0)?, Some(&std::path::absolute(paths.1)?))
        }
        #[cfg(feature = "one-sided")]
        Some("memory") => memory::run(&options),
        #[cfg(feature = "one-sided")]
        Some("one-sided") => one_sided::run(&options, word(1).as_deref()),
        #[cfg(feature = "one-sided")]
        Some("two-streams") => one_sided::two_streams(&options),
        #[cfg(feature = "one-sided")]
        Some("mistakes") => one_sided::mistakes(&options, word(1).as_deref(), word(2).map(|word| word == "blocking")),
        #[cfg(feature = "one-sided")]
        Some("missing") => one_sided::missing(&options, word(1).is_some_and(|word| word == "blocking")),
        Some(other) => Err(format!(
            "unknown: {other}; there are check, bandwidth, compare, control and, with the feature `one-sided`, memory"
        )
        .into()),
    }
}

/// Registered memory, windows and one-sided operations, as far as the library supports them.
#[cfg(feature = "one-sided")]
mod memory {
    use rccl::memory::{ForeignMemory, ForeignRegistration};

    use super::*;

    /// Elements of each memory.
    const COUNT: usize = 1 << 20;
    const BYTES: usize = 4 * COUNT;

    /// Writes this rank's numbers, has all ranks sum them, and compares.
    fn sum(rank: &Rank<'_>, send: *mut c_void, receive: *mut c_void) -> Result<()> {
        let (own, size) = (rank.communicator.rank(), rank.communicator.size());
        let numbers: Vec<f32> = (0..COUNT).map(|index| number(own, index) as f32).collect();
        rank.cuda.to_device(send as u64, numbers.as_ptr().cast(), BYTES)?;
        let call = Call::all_reduce(send, receive, COUNT, DataType::F32, Op::Sum);
        // SAFETY: memory for this many numbers, which is kept until the stream has been synchronized.
        unsafe { rank.communicator.submit(rank.stream, &call)? };
        rank.cuda.synchronize(rank.stream)?;
        let mut sums = vec![0_f32; COUNT];
        rank.cuda.to_host(sums.as_mut_ptr().cast(), receive as u64, BYTES)?;
        for (index, sum) in sums.iter().enumerate() {
            let expected = (0..size).map(|rank| number(rank, index)).sum::<i64>() as f32;
            if *sum != expected {
                return Err(format!("element {index} is {sum}, not {expected}").into());
            }
        }
        Ok(())
    }

    /// Puts this rank's numbers into the next rank's window, and checks the content of its own.
    fn ring(rank: &Rank<'_>, window: &ForeignRegistration<'_>, own: &ForeignMemory, from: *mut c_void) -> Result<()> {
        let (number, size) = (rank.communicator.rank(), rank.communicator.size());
        let (next, last) = ((number + 1) % size, (number + size - 1) % size);
        let numbers = vec![number as f32 + 1.0; 1000];
        rank.cuda.to_device(from as u64, numbers.as_ptr().cast(), 4000)?;
        rank.all.wait();
        // SAFETY: 1000 numbers; the windows have room for them, and stay until all ranks have waited.
        unsafe {
            rank.communicator.put(rank.stream, window, (from, 1000, DataType::F32), next, 4096)?;
            rank.communicator.wait_signals(rank.stream, &[(last, 1)])?;
        }
        rank.cuda.synchronize(rank.stream)?;
        let mut found = vec![0_f32; 1000];
        rank.cuda.to_host(found.as_mut_ptr().cast(), own.address() as u64 + 4096, 4000)?;
        rank.all.wait();
        if found.iter().any(|found| *found != last as f32 + 1.0) {
            return Err(format!("{} in the window of rank {number}, of rank {last}", found[0]).into());
        }
        Ok(())
    }

    /// Returns the microseconds of an in-place all-reduce of `bytes` bytes.
    fn time_in(rank: &Rank<'_>, memory: *mut c_void, bytes: usize) -> Result<f64> {
        let call = Call::all_reduce(memory, memory, bytes / 4, DataType::F32, Op::Sum);
        let many = |times: usize| -> Result<()> {
            for _ in 0..times {
                // SAFETY: memory for this many numbers, which is kept until the stream has been synchronized.
                unsafe { rank.communicator.submit(rank.stream, &call)? };
            }
            rank.cuda.synchronize(rank.stream)
        };
        many(20)?;
        rank.all.wait();
        let begin = Instant::now();
        many(200)?;
        Ok(begin.elapsed().as_secs_f64() * 1e6 / 200.0)
    }

    fn each(rank: &Rank<'_>) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        let (own, other) = (ForeignMemory::allocate(BYTES)?, ForeignMemory::allocate(BYTES)?);
        let plain = rank.memory(BYTES)?;
        for (what, address) in [("ncclMemAlloc", own.address()), ("cuMemAlloc", plain.pointer())] {
            // SAFETY: memory of this many bytes, which stays until the registration has ended.
            let registration = unsafe { rank.communicator.register(address, BYTES)? };
            sum(rank, address, address)?;
            lines.push(format!("registered memory of {what}: right, used by the library: {}", registration.is_used()));
            rank.all.wait();
            registration.end()?;
        }
        let mut times = [4096, 65_536, BYTES].map(|bytes| (bytes, Vec::new()));
        for (bytes, times) in &mut times {
            times.push(time_in(rank, own.address(), *bytes)?);
        }
        for symmetric in [false, true] {
            // SAFETY: memory of this many bytes on all ranks, which stays until the registrations have ended.
            let (send, receive) = unsafe {
                let send = rank.communicator.window(own.address(), BYTES, symmetric)?;
                (send, rank.communicator.window(other.address(), BYTES, symmetric)?)
            };
            sum(rank, own.address(), other.address())?;
            sum(rank, own.address(), own.address())?;
            let used = (send.is_used(), receive.is_used());
            lines.push(format!("windows, symmetric {symmetric}: right, used by the library: {used:?}"));
            for (bytes, times) in &mut times {
                times.push(time_in(rank, own.address(), *bytes)?);
            }
            if symmetric {
                match ring(rank, &receive, &other, own.address()) {
                    Ok(()) => lines.push("put and signal: right".to_owned()),
                    Err(error) => lines.push(format!("put and signal: {error}")),
                }
            }
            rank.all.wait();
            send.end()?;
            receive.end()?;
        }
        lines.extend(times.iter().map(|(bytes, times)| {
            format!(
                "{bytes} bytes in place, microseconds without a window, with one, with a symmetric one: {times:.2?}"
            )
        }));
        rank.all.wait();
        // SAFETY: nothing uses them any more, and their device is current.
        unsafe {
            own.free()?;
            other.free()?;
        }
        Ok(lines)
    }

    pub(super) fn run(options: &Options) -> Result<()> {
        for blocking in [true, false] {
            let config = Config::new().blocking(blocking).timeout(Duration::from_secs(120));
            for (rank, lines) in ranks(options, &config, each)?.iter().enumerate() {
                lines.iter().for_each(|line| println!("blocking {blocking}, rank {rank}: {line}"));
            }
        }
        Ok(())
    }
}
