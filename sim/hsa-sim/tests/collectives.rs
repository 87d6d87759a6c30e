//! RCCL, unmodified, over four GPUs of the software kind in one process: what each of them gets is held to exact sums.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::c_int;
use std::ptr::null_mut;

use hip::{Device, DeviceBuffer, Stream};
use rccl_sys::*;
use support::numbers::{elsewhere, raw};

const FILES: [&str; 2] = ["librccl.so.1", "librocm_smi64.so.7"];
const GPUS: usize = 4;
const VARIABLES: [(&str, &str); 1] = [("HIP_SIM_DEVICES", "4")];
/// More than one of the pieces that RCCL moves at a time.
const COUNT: usize = 5000;

/// The GPUs, each with its communicator and stream.
struct Ring(Vec<(Device, ncclComm_t, Stream)>);

impl Ring {
    fn new() -> Self {
        let devices: Vec<Device> = (0..GPUS).map(|at| Device::get(at).unwrap()).collect();
        let mut communicators = [null_mut(); GPUS];
        let ordinals: [c_int; GPUS] = std::array::from_fn(|at| at as c_int);
        // SAFETY: there is room for as many communicators as GPUs are named.
        check(unsafe { ncclCommInitAll(communicators.as_mut_ptr(), GPUS as c_int, ordinals.as_ptr()) });
        let streams: Vec<Stream> = devices.iter().map(|device| Stream::new(device).unwrap()).collect();
        let parts = devices.into_iter().zip(communicators).zip(streams);
        Self(parts.map(|((device, communicator), stream)| (device, communicator, stream)).collect())
    }

    /// A buffer on each GPU: what `value` gives for the rank and the index.
    fn buffers(&self, value: impl Fn(usize, usize) -> f32) -> Vec<DeviceBuffer<f32>> {
        let rank = |(at, (device, _, _)): (usize, &(Device, _, _))| {
            let numbers: Vec<f32> = (0..COUNT).map(|index| value(at, index)).collect();
            DeviceBuffer::from_slice(device, &numbers).unwrap()
        };
        self.0.iter().enumerate().map(rank).collect()
    }

    /// Calls `collective` for each rank in one group, and waits for all.
    fn run(&self, collective: impl Fn(usize, ncclComm_t, hipStream_t) -> ncclResult_t) {
        // SAFETY: no pointers.
        check(unsafe { ncclGroupStart() });
        for (rank, (_, communicator, stream)) in self.0.iter().enumerate() {
            check(collective(rank, *communicator, stream.as_raw().cast()));
        }
        // SAFETY: no pointers.
        check(unsafe { ncclGroupEnd() });
        for (_, _, stream) in &self.0 {
            stream.synchronize().unwrap();
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        for (_, communicator, _) in &self.0 {
            // SAFETY: the communicator is live, and nothing of it runs.
            unsafe { ncclCommDestroy(*communicator) };
        }
    }
}

fn check(status: ncclResult_t) {
    assert_eq!(status, ncclSuccess, "{:?}", load_error());
}

/// Whole numbers that f32 adds without rounding.
fn number(rank: usize, index: usize) -> f32 {
    ((index * (rank + 3) + 7 * rank) % 1000) as f32
}

#[test]
fn all_reduce_gives_every_gpu_the_sums() {
    if elsewhere("all_reduce_gives_every_gpu_the_sums", &FILES, &VARIABLES) {
        return;
    }
    let ring = Ring::new();
    let (from, to) = (ring.buffers(number), ring.buffers(|_, _| -1.0));
    ring.run(|rank, communicator, stream| {
        let (from, to) = (raw(&from[rank]).cast(), raw(&to[rank]).cast());
        // SAFETY: buffers hold as many numbers, until the stream is done.
        unsafe { ncclAllReduce(from, to, COUNT, ncclFloat32, ncclSum, communicator, stream) }
    });
    let expected: Vec<f32> = (0..COUNT).map(|index| (0..GPUS).map(|rank| number(rank, index)).sum()).collect();
    for buffer in &to {
        assert_eq!(buffer.to_vec().unwrap(), expected);
    }
}

#[test]
fn broadcast_gives_every_gpu_the_numbers_of_one() {
    if elsewhere("broadcast_gives_every_gpu_the_numbers_of_one", &FILES, &VARIABLES) {
        return;
    }
    let ring = Ring::new();
    let (from, to) = (ring.buffers(number), ring.buffers(|_, _| -1.0));
    ring.run(|rank, communicator, stream| {
        let (from, to) = (raw(&from[rank]).cast(), raw(&to[rank]).cast());
        // SAFETY: buffers hold as many numbers, until the stream is done.
        unsafe { ncclBroadcast(from, to, COUNT, ncclFloat32, 2, communicator, stream) }
    });
    let expected: Vec<f32> = (0..COUNT).map(|index| number(2, index)).collect();
    for buffer in &to {
        assert_eq!(buffer.to_vec().unwrap(), expected);
    }
}

/// Each GPU sends to the next, and receives from the one before.
#[test]
fn send_and_receive_pass_numbers_around() {
    if elsewhere("send_and_receive_pass_numbers_around", &FILES, &VARIABLES) {
        return;
    }
    let ring = Ring::new();
    let (from, to) = (ring.buffers(number), ring.buffers(|_, _| -1.0));
    ring.run(|rank, communicator, stream| {
        let [next, before] = [1, GPUS - 1].map(|step| ((rank + step) % GPUS) as c_int);
        let (from, to) = (raw(&from[rank]).cast(), raw(&to[rank]).cast());
        // SAFETY: buffers hold as many numbers, until the stream is done.
        unsafe {
            check(ncclSend(from, COUNT, ncclFloat32, next, communicator, stream));
            ncclRecv(to, COUNT, ncclFloat32, before, communicator, stream)
        }
    });
    for (rank, buffer) in to.iter().enumerate() {
        let before = (rank + GPUS - 1) % GPUS;
        let expected: Vec<f32> = (0..COUNT).map(|index| number(before, index)).collect();
        assert_eq!(buffer.to_vec().unwrap(), expected);
    }
}
