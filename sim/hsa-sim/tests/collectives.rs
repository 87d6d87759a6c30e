//! RCCL, unmodified, on four software GPUs: in one process, and in four. The results of each rank are compared with
//! exact numbers.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Barrier;

use hip_sys::*;
use rccl_sys::load_error;
use rccl_sys::*;
use support::libraries::on_each_of;
use support::peer::{Peer, from_hex, hex, is_peer, serve};

const FILES: [&str; 2] = ["librccl.so", "librocm_smi64.so"];

/// Debian has no RCCL for 6.4, and for HIP 5.7 it has that of 5.4.3. For manual runs: `HIP_SIM_ARCH=gfx942`.
fn places() -> &'static [(&'static str, &'static str)] {
    if is_gfx942() { &[("7.2", "gfx942")] } else { &[("7.2", "gfx90a"), ("5.7", "gfx90a")] }
}

const RANKS: usize = 4;
/// The minimum number of connections: otherwise RCCL sets up dozens, as for a real machine's links. Its monitoring
/// service is disabled.
const VARIABLES: [(&str, &str); 4] =
    [("HIP_SIM_DEVICES", "4"), ("NCCL_MAX_NCHANNELS", "2"), ("NCCL_RAS_ENABLE", "0"), ("NCCL_SOCKET_IFNAME", "lo")];

/// A number type and the encoding of small numbers.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    data_type: ncclDataType_t,
    size: usize,
    is_float: bool,
    encode: fn(f64) -> u64,
}

const F32: Kind =
    Kind { name: "f32", data_type: ncclFloat32, size: 4, is_float: true, encode: |x| u64::from((x as f32).to_bits()) };

/// All types except 8-bit floats.
const KINDS: [Kind; 10] = [
    Kind { name: "i8", data_type: ncclInt8, size: 1, is_float: false, encode: |x| x as i64 as u64 },
    Kind { name: "u8", data_type: ncclUint8, size: 1, is_float: false, encode: |x| x as i64 as u64 },
    Kind { name: "i32", data_type: ncclInt32, size: 4, is_float: false, encode: |x| x as i64 as u64 },
    Kind { name: "u32", data_type: ncclUint32, size: 4, is_float: false, encode: |x| x as i64 as u64 },
    Kind { name: "i64", data_type: ncclInt64, size: 8, is_float: false, encode: |x| x as i64 as u64 },
    Kind { name: "u64", data_type: ncclUint64, size: 8, is_float: false, encode: |x| x as i64 as u64 },
    Kind {
        name: "f16",
        data_type: ncclFloat16,
        size: 2,
        is_float: true,
        encode: |x| u64::from(half::f16::from_f64(x).to_bits()),
    },
    F32,
    Kind { name: "f64", data_type: ncclFloat64, size: 8, is_float: true, encode: |x| x.to_bits() },
    Kind {
        name: "bf16",
        data_type: ncclBfloat16,
        size: 2,
        is_float: true,
        encode: |x| u64::from(half::bf16::from_f64(x).to_bits()),
    },
];

/// The 8-bit floats, which have no names at the API level of the oldest release.
const SMALL_FLOATS: [Kind; 2] = [
    Kind { name: "f8e4m3", data_type: ncclDataType_t(10), size: 1, is_float: true, encode: |x| small_float(x, 3, 7) },
    Kind { name: "f8e5m2", data_type: ncclDataType_t(11), size: 1, is_float: true, encode: |x| small_float(x, 2, 15) },
];

fn is_gfx942() -> bool {
    std::env::var("HIP_SIM_ARCH").is_ok_and(|arch| arch == "gfx942")
}

/// Encodes a number of at least 1 as an 8-bit float. On gfx942 these have no infinities, and a bias that is one higher.
fn small_float(x: f64, mantissa: u32, bias: i32) -> u64 {
    let bias = bias + i32::from(is_gfx942());
    let exponent = x.log2().floor() as i32;
    let fraction = x / f64::from(exponent).exp2() - 1.0;
    (((exponent + bias) as u64) << mantissa) + (fraction * f64::from(1 << mantissa)) as u64
}

/// The name, the operation, and its result for the ranks' numbers.
type Operation = (&'static str, ncclRedOp_t, fn(&[f64], bool) -> f64);

const OPERATIONS: [Operation; 5] = [
    ("sum", ncclSum, |x, _| x.iter().sum()),
    ("product", ncclProd, |x, _| x.iter().product()),
    ("minimum", ncclMin, |x, _| x.iter().copied().fold(f64::MAX, f64::min)),
    ("maximum", ncclMax, |x, _| x.iter().copied().fold(f64::MIN, f64::max)),
    ("average", ncclAvg, |x, is_float| {
        let average = x.iter().sum::<f64>() / x.len() as f64;
        if is_float { average } else { average.trunc() }
    }),
];

/// A number that every type represents exactly, as well as sums, products and averages.
fn number(rank: usize, index: usize) -> f64 {
    ((index * (rank + 1) + index / 7 + rank) % 3 + 1) as f64
}

/// The number function for a type: for 8-bit floats, only 1 and 2.
fn number_of(kind: Kind) -> fn(usize, usize) -> f64 {
    if kind.is_float && kind.size == 1 { |rank, index| number(rank, index).min(2.0) } else { number }
}

fn encode(kind: Kind, numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    numbers.flat_map(|x| (kind.encode)(x).to_le_bytes().into_iter().take(kind.size)).collect()
}

#[track_caller]
fn hip(status: hipError_t) {
    assert_eq!(status, hipSuccess);
}

#[track_caller]
fn nccl(status: ncclResult_t) {
    assert_eq!(status, ncclSuccess, "{:?}", load_error());
}

/// One rank: its GPU, communicator and stream.
struct Rank {
    number: usize,
    communicator: ncclComm_t,
    stream: hipStream_t,
}

/// What a call for one rank works with.
struct Call {
    rank: usize,
    from: *mut c_void,
    to: *mut c_void,
    communicator: ncclComm_t,
    stream: rccl_sys::hipStream_t,
}

impl Rank {
    fn new(number: usize, communicator: ncclComm_t) -> Self {
        let mut stream = null_mut();
        // SAFETY: a place for the stream.
        unsafe {
            hip(hipSetDevice(number as c_int));
            hip(hipStreamCreate(&mut stream));
        }
        Self { number, communicator, stream }
    }

    /// A buffer on the rank's GPU with these bytes.
    fn buffer(&self, bytes: &[u8]) -> *mut c_void {
        let mut buffer = null_mut();
        // SAFETY: a place for the pointer; as many bytes.
        unsafe {
            hip(hipSetDevice(self.number as c_int));
            hip(hipMalloc(&mut buffer, bytes.len()));
            hip(hipMemcpy(buffer, bytes.as_ptr().cast(), bytes.len(), hipMemcpyHostToDevice));
        }
        buffer
    }

    /// Waits for the rank's work and checks the contents of a buffer. Then frees both buffers.
    #[track_caller]
    fn check(&self, what: &str, [from, to]: [*mut c_void; 2], expected: &[u8]) {
        let mut bytes = vec![0; expected.len()];
        // SAFETY: the buffer has as many bytes, and nothing uses either any more.
        unsafe {
            hip(hipSetDevice(self.number as c_int));
            hip(hipStreamSynchronize(self.stream));
            hip(hipMemcpy(bytes.as_mut_ptr().cast(), to, bytes.len(), hipMemcpyDeviceToHost));
            hip(hipFree(from));
            hip(hipFree(to));
        }
        let wrong = bytes.iter().zip(expected).enumerate().find(|(_, (got, wanted))| got != wanted);
        assert_eq!(wrong, None, "{what}: first wrong byte at rank {} (place, got, wanted)", self.number);
    }
}

/// Calls a collective for these ranks (all, or the one of this process) and checks the results. `input` and `output`
/// return a rank's number by index; `count` is their number.
#[track_caller]
fn collective(
    ranks: &[Rank],
    (what, kind): (&str, Kind),
    (inputs, input): (usize, &dyn Fn(usize, usize) -> f64),
    (outputs, output): (usize, &dyn Fn(usize, usize) -> Option<f64>),
    call: &dyn Fn(&Call) -> ncclResult_t,
) {
    // Elements that are not written must not change.
    let before = 1.0;
    let buffers: Vec<_> = ranks
        .iter()
        .map(|rank| {
            let from = rank.buffer(&encode(kind, (0..inputs).map(|index| input(rank.number, index))));
            [from, rank.buffer(&encode(kind, (0..outputs).map(|_| before)))]
        })
        .collect();
    // SAFETY: no pointers.
    nccl(unsafe { ncclGroupStart() });
    for (rank, [from, to]) in ranks.iter().zip(&buffers) {
        let Rank { number: rank, communicator, stream } = *rank;
        nccl(call(&Call { rank, from: *from, to: *to, communicator, stream: stream.cast() }));
    }
    // SAFETY: no pointers.
    nccl(unsafe { ncclGroupEnd() });
    for (rank, buffers) in ranks.iter().zip(buffers) {
        let expected = (0..outputs).map(|index| output(rank.number, index).unwrap_or(before));
        rank.check(&format!("{what} of {outputs} {}", kind.name), buffers, &encode(kind, expected));
    }
}

/// The result of an operation over all ranks.
fn reduced(operation: Operation, kind: Kind, index: usize) -> f64 {
    let numbers: Vec<f64> = (0..RANKS).map(|rank| number_of(kind)(rank, index)).collect();
    operation.2(&numbers, kind.is_float)
}

fn all_reduce(ranks: &[Rank], kind: Kind, operation: Operation, count: usize) {
    let what = format!("all-reduce ({})", operation.0);
    let output = |_: usize, index| Some(reduced(operation, kind, index));
    collective(ranks, (&what, kind), (count, &number_of(kind)), (count, &output), &|c| {
        // SAFETY: buffers hold as many numbers, until the stream is done.
        unsafe { ncclAllReduce(c.from, c.to, count, kind.data_type, operation.1, c.communicator, c.stream) }
    });
}

/// Every other collective, with f32.
fn others(ranks: &[Rank], count: usize) {
    let (kind, sum) = (F32, OPERATIONS[0]);
    let root = 2;
    collective(ranks, ("broadcast", kind), (count, &number), (count, &|_, index| Some(number(root, index))), &|c| {
        // SAFETY: buffers hold as many numbers, until the stream is done.
        unsafe { ncclBroadcast(c.from, c.to, count, kind.data_type, root as c_int, c.communicator, c.stream) }
    });
    let output = |rank, index| (rank == root).then(|| reduced(sum, kind, index));
    collective(ranks, ("reduce", kind), (count, &number), (count, &output), &|c| {
        // SAFETY: as above.
        unsafe { ncclReduce(c.from, c.to, count, kind.data_type, sum.1, root as c_int, c.communicator, c.stream) }
    });
    let output = |_, index| Some(number(index / count, index % count));
    collective(ranks, ("all-gather", kind), (count, &number), (RANKS * count, &output), &|c| {
        // SAFETY: as above; there is room for the numbers of all ranks.
        unsafe { ncclAllGather(c.from, c.to, count, kind.data_type, c.communicator, c.stream) }
    });
    let output = |rank, index| Some(reduced(sum, kind, rank * count + index));
    collective(ranks, ("reduce-scatter", kind), (RANKS * count, &number), (count, &output), &|c| {
        // SAFETY: as above; each rank has the numbers for all.
        unsafe { ncclReduceScatter(c.from, c.to, count, kind.data_type, sum.1, c.communicator, c.stream) }
    });
    // Each rank sends to the next, and receives from the one before.
    let output = |rank, index| Some(number((rank + RANKS - 1) % RANKS, index));
    collective(ranks, ("send and receive", kind), (count, &number), (count, &output), &|c| {
        let [next, before] = [1, RANKS - 1].map(|step| ((c.rank + step) % RANKS) as c_int);
        // SAFETY: as above.
        unsafe {
            nccl(ncclSend(c.from, count, kind.data_type, next, c.communicator, c.stream));
            ncclRecv(c.to, count, kind.data_type, before, c.communicator, c.stream)
        }
    });
}

/// Gives communicators back.
fn destroy(ranks: Vec<Rank>) {
    for rank in ranks {
        // SAFETY: both are live, and nothing of them runs.
        unsafe {
            nccl(ncclCommDestroy(rank.communicator));
            hip(hipStreamDestroy(rank.stream));
        }
    }
}

fn unique_id() -> ncclUniqueId {
    let mut id = ncclUniqueId { internal: [0; 128] };
    // SAFETY: a place for it.
    nccl(unsafe { ncclGetUniqueId(&mut id) });
    id
}

/// Creates the communicator of one rank, while all others create theirs.
fn join(id: ncclUniqueId, rank: usize) -> Rank {
    let mut communicator = null_mut();
    // SAFETY: a place for the communicator.
    unsafe {
        hip(hipSetDevice(rank as c_int));
        nccl(ncclCommInitRank(&mut communicator, RANKS as c_int, id, rank as c_int));
    }
    Rank::new(rank, communicator)
}

/// Ends the process if a thread panics: otherwise the others would wait for it for ever.
struct EndAll;

impl Drop for EndAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::exit(101);
        }
    }
}

#[test]
fn four_gpus_of_one_process_agree() {
    if on_each_of(places(), "four_gpus_of_one_process_agree", &FILES, &VARIABLES).is_some() {
        return;
    }
    let mut communicators = [null_mut(); RANKS];
    // SAFETY: there is room for as many communicators; no list of GPUs stands for the first ones.
    nccl(unsafe { ncclCommInitAll(communicators.as_mut_ptr(), RANKS as c_int, std::ptr::null()) });
    let ranks: Vec<_> = communicators.into_iter().enumerate().map(|(rank, comm)| Rank::new(rank, comm)).collect();
    for kind in KINDS {
        for operation in OPERATIONS {
            all_reduce(&ranks, kind, operation, 1000);
        }
    }
    // One number, and so many that RCCL moves them in pieces and with its other protocols.
    for count in [1, 100_003] {
        all_reduce(&ranks, F32, OPERATIONS[0], count);
    }
    others(&ranks, 20_001);
    destroy(ranks);
    // One thread per rank. No communicator is destroyed before all have finished using it.
    let id = unique_id();
    let done = &Barrier::new(RANKS);
    std::thread::scope(|scope| {
        for rank in 0..RANKS {
            scope.spawn(move || {
                let _end = EndAll;
                let rank = [join(id, rank)];
                all_reduce(&rank, F32, OPERATIONS[0], 1000);
                others(&rank, 500);
                done.wait();
                destroy(rank.into());
            });
        }
    });
}

/// RCCL 5.4 does not support them.
#[test]
#[ignore = "twelve seconds of both cores beside the other collectives: run it where RCCL or numbers of 8 bits change"]
fn numbers_of_8_bits_with_a_point_agree() {
    let places = [("7.2", "gfx90a"), ("7.2", "gfx942")];
    if on_each_of(&places, "numbers_of_8_bits_with_a_point_agree", &FILES, &VARIABLES).is_some() {
        return;
    }
    let mut communicators = [null_mut(); RANKS];
    // SAFETY: there is room for as many communicators; no list of GPUs stands for the first ones.
    nccl(unsafe { ncclCommInitAll(communicators.as_mut_ptr(), RANKS as c_int, std::ptr::null()) });
    let ranks: Vec<_> = communicators.into_iter().enumerate().map(|(rank, comm)| Rank::new(rank, comm)).collect();
    for kind in SMALL_FLOATS {
        // On gfx942, averages are half of the correct value: host code that does not know the GPU seems to encode the factor with the bias
        // of the other format.
        for operation in OPERATIONS.into_iter().filter(|operation| operation.0 != "average" || !is_gfx942()) {
            all_reduce(&ranks, kind, operation, 1000);
        }
    }
    destroy(ranks);
}

#[test]
fn four_processes_agree() {
    if on_each_of(places(), "four_processes_agree", &FILES, &VARIABLES).is_some() {
        return;
    }
    if is_peer() {
        let mut ranks = Vec::new();
        return serve(|line| {
            // Destroying a communicator frees memory that other ranks may not have opened yet, even if all data has arrived.
            let Some((rank, id)) = line.split_once(' ') else {
                destroy(std::mem::take(&mut ranks));
                return "destroyed".to_owned();
            };
            let rank = [join(from_hex(id), rank.parse().unwrap())];
            for operation in OPERATIONS {
                all_reduce(&rank, F32, operation, 1000);
            }
            all_reduce(&rank, F32, OPERATIONS[0], 50_001);
            others(&rank, 5000);
            ranks.extend(rank);
            "done".to_owned()
        });
    }
    let id = hex(&unique_id());
    let mut peers: Vec<_> = (0..RANKS).map(|_| Peer::start()).collect();
    for (rank, peer) in peers.iter_mut().enumerate() {
        peer.tell(&format!("{rank} {id}"));
    }
    assert_eq!(Peer::hear_each(&mut peers), Ok(vec!["done".to_owned(); RANKS]));
    peers.iter_mut().for_each(|peer| peer.tell("destroy"));
    assert_eq!(Peer::hear_each(&mut peers), Ok(vec!["destroyed".to_owned(); RANKS]));
    peers.into_iter().for_each(Peer::end);
}

#[test]
fn a_process_that_fails_ends_those_that_wait_for_it() {
    if on_each_of(&[("7.2", "gfx90a")], "a_process_that_fails_ends_those_that_wait_for_it", &[], &[]).is_some() {
        return;
    }
    if is_peer() {
        return serve(|line| match line {
            "wait" => loop {
                std::thread::park();
            },
            "end" => std::process::exit(0),
            other => other.to_owned(),
        });
    }
    let mut peers: Vec<_> = (0..3).map(|_| Peer::start()).collect();
    let mut tell = |lines: [&str; 3]| {
        peers.iter_mut().zip(lines).for_each(|(peer, line)| peer.tell(line));
        Peer::hear_each(&mut peers)
    };
    assert_eq!(tell(["a", "b", "c"]), Ok(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]));
    assert_eq!(tell(["wait", "end", "wait"]), Err(1));
}
