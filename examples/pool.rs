//! Stream-ordered scratch memory from a pool: it does not wait for the device, and reuses the same memory.
//!
//! `cargo run --example pool`

use hip::memory::pool::{MemoryPool, PoolOptions};
use hip::{DeviceBuffer, Stream};
use rocm_examples::{Result, check, if_supported, open_device};

fn main() -> Result {
    const ROUNDS: u32 = 100;
    const LEN: usize = 100_000;
    let device = open_device()?;
    let stream = Stream::new(&device)?;
    let Some(pool) = if_supported(MemoryPool::new(&device, PoolOptions::new()))? else { return Ok(()) };
    pool.set_release_threshold(u64::MAX)?; // keep freed memory for later allocations

    let mut results = DeviceBuffer::<u32>::zeroed(&device, ROUNDS as usize)?;
    for round in 0..ROUNDS {
        let mut scratch = pool.uninit_async::<u32>(&stream, LEN)?;
        scratch.fill_async(&stream, round)?;
        let at = round as usize;
        results.slice_mut(at..=at)?.copy_from_device_async(&stream, scratch.slice(LEN - 1..)?)?;
    } // each is freed on the stream, after its work
    check(results.to_vec()? == (0..ROUNDS).collect::<Vec<_>>(), "the last element of each round's scratch memory")?;

    let usage = pool.usage()?;
    println!("pool: {ROUNDS} buffers of {LEN} numbers took {} KiB at most: all right", usage.reserved_high >> 10);
    pool.trim(0)?;
    println!("pool: after trimming it has {} KiB", pool.usage()?.reserved >> 10);
    Ok(())
}
