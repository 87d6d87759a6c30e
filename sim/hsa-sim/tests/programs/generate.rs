//! Random calls, valid and invalid ones.

use super::op::*;

const SIZES: [usize; 8] = [4, 64, 256, 257, 1000, 1024, 4096, 20_000];

/// A wish: a call, and a number that determines how it is ordered after work that it would race with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) op: Op,
    pub(crate) salt: u64,
}

/// The wishes of a program.
pub(crate) fn wishes(seed: u64) -> Vec<Wish> {
    let mut random = Random(seed);
    let count = 8 + random.below(40);
    // First allocates memory to work with.
    let mut all: Vec<Op> = (0..2).map(|_| allocate(&mut random)).collect();
    all.extend((0..2).map(|slot| Op::CreateStream { slot, flags: slot as u32, priority: 0 }));
    all.push(Op::CreateEvent { slot: 0, flags: 0 });
    all.extend((0..count).map(|_| one(&mut random)));
    all.into_iter().map(|op| Wish { op, salt: random.next() }).collect()
}

fn queue(random: &mut Random) -> Queue {
    match random.below(8) {
        0 | 1 => Queue::Default,
        2 if random.rarely(3) => Queue::PerThread,
        _ => Queue::Slot(random.below(STREAMS)),
    }
}

fn place(random: &mut Random) -> Place {
    let base = match random.below(40) {
        0 => Base::Null,
        1 => Base::Wild,
        2..=27 => Base::Piece(random.below(PIECES)),
        _ => Base::Own(random.below(HOST_BUFFERS)),
    };
    let offset = match random.below(10) {
        0 => 4,
        1 => 256,
        2 => random.below(64),
        3 => 4 * random.below(300),
        _ => 0,
    };
    Place { base, offset }
}

/// A random address, most often in GPU memory.
fn device_place(random: &mut Random) -> Place {
    let place = place(random);
    match place.base {
        Base::Own(n) if !random.rarely(20) => Place { base: Base::Piece(n), ..place },
        _ => place,
    }
}

fn size(random: &mut Random) -> usize {
    match random.below(30) {
        0 => 0,
        1 => usize::MAX,
        2 => 1 << 40,
        3..=8 => random.below(3000),
        _ => random.pick(&SIZES),
    }
}

fn allocate(random: &mut Random) -> Op {
    let source = match random.below(12) {
        0..=4 => Source::Malloc,
        5 | 6 => Source::Async(queue(random)),
        7 | 8 => Source::Pinned(random.pick(&[0, 0, 1, 2, 4, 3, 0x4000_0000, 0x8000_0000, 0xc000_0000, 8, 1 << 20])),
        9 | 10 => Source::Managed(random.pick(&[1, 1, 1, 2, 0, 4, 9])),
        _ => Source::Pitch(random.pick(&[1, 3, 16, 0])),
    };
    // The size of a pitched allocation is counted in bytes of its rows.
    let size = match source {
        Source::Pitch(_) => random.pick(&[1, 16, 100, 256, 300, 0]),
        _ => size(random),
    };
    Op::Allocate { piece: random.below(PIECES), size, source }
}

fn call(random: &mut Random) -> Call {
    match random.below(8) {
        0..=2 => Call::Plain,
        3 => Call::With(queue(random)),
        4 => Call::Typed,
        5 => Call::TypedAsync(queue(random)),
        _ => Call::Async(queue(random)),
    }
}

fn plain_or_async(random: &mut Random) -> Call {
    if random.rarely(2) { Call::Plain } else { Call::Async(queue(random)) }
}

fn launch(random: &mut Random) -> Op {
    let kernel = match random.below(12) {
        0..=4 => Kernel::Add,
        5..=7 => Kernel::Sum,
        8 | 9 => Kernel::Slow,
        10 => random.pick(&[Kernel::Bounded, Kernel::Empty]),
        _ => random.pick(&[Kernel::Empty, Kernel::None]),
    };
    let n = random.below(300) as u32;
    let mut grid = [random.pick(&[1, 2, 5]), 1, 1];
    let mut block = [random.pick(&[1, 32, 64, 100, 256]), 1, 1];
    if kernel == Kernel::Bounded && !random.rarely(4) {
        block[0] = 64;
    }
    let mut lds = random.pick(&[0, 0, 0, 64, 4096]);
    match random.below(24) {
        0 => grid[random.below(3)] = 0,
        1 => block[random.below(3)] = 0,
        2 => block = random.pick(&[[1025, 1, 1], [1024, 2, 1], [64, 64, 1], [1, 1, 2000]]),
        3 => grid = random.pick(&[[u32::MAX, 1, 1], [1, u32::MAX, 1], [1 << 31, 1, 1]]),
        4 => lds = random.pick(&[65_537, 1 << 20, u32::MAX]),
        5 => block = random.pick(&[[8, 8, 1], [4, 4, 4], [1024, 1, 1]]),
        _ => {}
    }
    let data = std::array::from_fn(|_| Place { offset: 4 * random.below(8), ..device_place(random) });
    Op::Launch { kernel, data, n, grid, block, lds, queue: queue(random) }
}

fn copy(random: &mut Random) -> Op {
    let (to, from) = (place(random), place(random));
    // Most often the kind that matches.
    let own = |place: Place| matches!(place.base, Base::Own(_));
    let fits = match (own(to), own(from)) {
        (true, true) => 0,
        (false, true) => 1,
        (true, false) => 2,
        (false, false) => 3,
    };
    let kind = match random.below(12) {
        0..=6 => fits,
        7..=9 => 4,
        10 => random.below(4) as u32,
        _ => random.pick(&[5, 77, u32::MAX, 0, 1, 2, 3]),
    };
    Op::Copy { to, from, bytes: size(random).min(1 << 41), kind, call: call(random) }
}

fn copy_2d(random: &mut Random) -> Op {
    let Op::Copy { to, from, kind, .. } = copy(random) else { return Op::SyncDevice };
    let (width, height): (usize, usize) = (random.pick(&[1, 4, 16, 60, 100, 0]), random.pick(&[1, 2, 3, 7, 0]));
    let pitch = |random: &mut Random| match random.below(10) {
        0 => width,
        1 => width.saturating_sub(1),
        2 => 0,
        _ => random.pick(&[64, 100, 128, 256]),
    };
    let (to_pitch, from_pitch) = (pitch(random), pitch(random));
    Op::Copy2D { to, to_pitch, from, from_pitch, width, height, kind, call: plain_or_async(random) }
}

fn fill(random: &mut Random) -> Op {
    let width = random.pick(&[0, 0, 1, 2, 4]);
    let to = Place { offset: 4 * random.below(20), ..device_place(random) };
    let to = if random.rarely(8) { Place { offset: to.offset + 1, ..to } } else { to };
    let count = size(random) / width.max(1);
    Op::Fill { to, value: random.next() as u32, count, width, call: plain_or_async(random) }
}

fn one(random: &mut Random) -> Op {
    let slot = random.below(EVENTS);
    match random.below(100) {
        0..=11 => allocate(random),
        12..=17 => {
            let place = Place { offset: if random.rarely(8) { 8 } else { 0 }, ..device_place(random) };
            let how = match random.below(6) {
                0..=2 => Release::Free,
                3 => Release::HostFree,
                _ => Release::Async(queue(random)),
            };
            Op::Free { place, how }
        }
        18..=31 => copy(random),
        32..=36 => copy_2d(random),
        37..=44 => fill(random),
        45..=46 => Op::Fill2D {
            to: device_place(random),
            pitch: random.pick(&[64, 100, 256, 10]),
            value: random.next() as u32,
            width: random.pick(&[0, 1, 16, 64]),
            height: random.pick(&[0, 1, 3]),
            call: plain_or_async(random),
        },
        47..=58 => launch(random),
        59..=60 => Op::Write {
            to: Place { offset: random.below(100), ..place(random) },
            value: random.next() as u8,
            bytes: random.below(500),
        },
        61..=63 => Op::CreateStream {
            slot: random.below(STREAMS),
            flags: random.pick(&[0, 0, 1, 1, 2, 77]),
            priority: random.pick(&[0, 0, 0, -1, 1, -2, 5, -100]),
        },
        64..=65 => Op::DestroyStream { queue: queue(random) },
        66..=68 => Op::SyncStream { queue: queue(random) },
        69..=70 => Op::QueryStream { queue: queue(random), done: false },
        71..=72 => Op::AskStream { queue: queue(random) },
        73..=75 => Op::CreateEvent {
            slot,
            flags: random.pick(&[0, 0, 0, 1, 2, 3, 4, 8, 0x2000_0000, 0x4000_0000, 0x8000_0000, 0x6000_0000]),
        },
        76 => Op::DestroyEvent { slot },
        77..=80 => Op::Record { slot, queue: queue(random) },
        81 => Op::SyncEvent { slot },
        82..=83 => Op::QueryEvent { slot, done: false },
        84 => Op::Elapsed { from: slot, to: random.below(EVENTS), done: false },
        85..=87 => Op::WaitEvent {
            queue: queue(random),
            slot,
            flags: if random.rarely(8) { random.pick(&[2, 77]) } else { 0 },
        },
        88..=89 => {
            Op::HostFunction { queue: queue(random), buffer: random.below(HOST_BUFFERS), value: random.next() as u8 }
        }
        90 => Op::Gate { queue: Queue::Slot(random.below(STREAMS)), slot },
        91 => Op::SyncDevice,
        92 => match random.below(3) {
            0 => Op::SetDevice { device: random.pick(&[0, -1, 1, 64, i32::MAX]) },
            1 => Op::MemoryLeft,
            _ => Op::Function { known: random.rarely(2) },
        },
        93 => Op::LastError,
        94..=95 => Op::Attributes { place: place(random) },
        96 => Op::Range { place: place(random) },
        97 => match random.below(2) {
            0 => Op::DevicePointer { place: place(random), flags: random.pick(&[0, 0, 0, 1]) },
            _ => Op::HostFlags { place: place(random) },
        },
        98 => match random.below(2) {
            0 => Op::Register {
                buffer: random.below(HOST_BUFFERS),
                bytes: random.pick(&[HOST_BYTES, HOST_BYTES, 0]),
                flags: random.pick(&[0, 1, 2, 3, 99]),
            },
            _ => Op::Unregister { buffer: random.below(HOST_BUFFERS), offset: if random.rarely(4) { 8 } else { 0 } },
        },
        _ => Op::NoPlace { which: random.pick(&[0, 1, 2, 4, 5, 6, 7, 8, 10, 11, 12]) },
    }
}
