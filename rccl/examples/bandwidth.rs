//! Times and bandwidths of collectives, with the columns of rccl-tests: one process, all devices.
//!
//! ```sh
//! cargo run --release -p rccl --example bandwidth -- 1024 1073741824   # smallest and largest size in bytes
//! hip-sim run --devices 2 -- cargo run -p rccl --example bandwidth     # the form; a simulated GPU has no speed
//! ```

use std::time::Instant;

use hip::{Device, DeviceBuffer};
use rccl::{Communicator, Config, Group, Op, Result};

/// A collective, and the factor of its bytes that a link carries at least: rccl-tests' "bus bandwidth".
struct Test {
    name: &'static str,
    factor: fn(f64) -> f64,
    /// Returns the elements to send and to receive, given the elements of the size and the ranks.
    elements: fn(usize, usize) -> (usize, usize),
    add: for<'a> fn(&mut Group<'a>, &'a Communicator, &'a DeviceBuffer<f32>, &'a mut DeviceBuffer<f32>) -> Result<()>,
}

const TESTS: [Test; 5] = [
    Test {
        name: "all_reduce",
        factor: |ranks| 2.0 * (ranks - 1.0) / ranks,
        elements: |count, _| (count, count),
        add: |group, rank, from, to| group.all_reduce(rank, from, to, Op::Sum),
    },
    Test {
        name: "all_gather",
        factor: |ranks| (ranks - 1.0) / ranks,
        elements: |count, ranks| (count / ranks, count / ranks * ranks),
        add: |group, rank, from, to| group.all_gather(rank, from, to),
    },
    Test {
        name: "reduce_scatter",
        factor: |ranks| (ranks - 1.0) / ranks,
        elements: |count, ranks| (count / ranks * ranks, count / ranks),
        add: |group, rank, from, to| group.reduce_scatter(rank, from, to, Op::Sum),
    },
    Test {
        name: "all_to_all",
        factor: |ranks| (ranks - 1.0) / ranks,
        elements: |count, ranks| (count / ranks * ranks, count / ranks * ranks),
        add: |group, rank, from, to| group.all_to_all(rank, from, to),
    },
    Test {
        name: "broadcast",
        factor: |_| 1.0,
        elements: |count, _| (count, count),
        add: |group, rank, from, to| {
            let from = (rank.rank() == 0).then(|| from.as_slice());
            group.broadcast_to(rank, from, to, 0)
        },
    },
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if hip::sim_if_no_gpu().is_err() || hip::backend()? == hip::Backend::Sim || !rccl::is_available() {
        println!("no GPU or no RCCL is available");
        return Ok(());
    }
    let sizes: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let (smallest, largest) = (sizes.first().copied().unwrap_or(1024), sizes.get(1).copied().unwrap_or(65536));
    let devices = Device::all()?;
    let ranks = Communicator::init_all(&devices, &Config::new().blocking(true))?;
    for test in &TESTS {
        println!("# {} on {} devices, f32", test.name, devices.len());
        println!("#     size       count     time   algbw   busbw  #wrong");
        println!("#      (B)  (elements)     (us)  (GB/s)  (GB/s)");
        let mut bytes = smallest.max(4 * devices.len());
        while bytes <= largest {
            let (microseconds, wrong) = run(test, &devices, &ranks, bytes / 4)?;
            let algorithm = bytes as f64 / microseconds / 1e3;
            let bus = algorithm * (test.factor)(devices.len() as f64);
            println!("{bytes:>10} {:>11} {microseconds:>8.1} {algorithm:>7.2} {bus:>7.2} {wrong:>7}", bytes / 4);
            bytes *= 2;
        }
    }
    Ok(())
}

/// Returns the microseconds of a call, and the number of wrong results: all elements are ones.
fn run(test: &Test, devices: &[Device], ranks: &[Communicator], count: usize) -> Result<(f64, usize)> {
    let (to_send, to_receive) = (test.elements)(count, devices.len());
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for device in devices {
        from.push(DeviceBuffer::from_slice(device, &vec![1.0; to_send])?);
        to.push(DeviceBuffer::<f32>::zeroed(device, to_receive)?);
    }
    let iterations = if devices[0].is_simulated() { 1 } else { 20 };
    let mut call = || {
        let mut group = Group::new();
        for ((rank, from), to) in ranks.iter().zip(&from).zip(&mut to) {
            (test.add)(&mut group, rank, from, to)?;
        }
        group.end()
    };
    let wait = || ranks.iter().try_for_each(Communicator::synchronize);
    call()?;
    wait()?;
    let begin = Instant::now();
    for _ in 0..iterations {
        call()?;
    }
    wait()?;
    let microseconds = begin.elapsed().as_secs_f64() * 1e6 / f64::from(iterations);
    let expected = if test.name.contains("reduce") { devices.len() as f32 } else { 1.0 };
    let mut wrong = 0;
    for to in &to {
        wrong += to.to_vec()?.iter().filter(|number| **number != expected).count();
    }
    Ok((microseconds, wrong))
}
