//! Operations across the lanes of a wave.

use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::{Args, Random, launch_1d, upload, zeros};
use crate::levels::{Level, topic};

topic!("waves", check);

/// Three whole waves and a part of one.
const COUNT: usize = 3 * 64 + 27;

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    shuffles(level, gpu, module);
    dpp(level, gpu, module);
    votes(level, gpu, module);
    sums(level, gpu, module);
    groups(level, gpu, module);
}

fn data(seed: u64, count: usize) -> Vec<i32> {
    let mut random = Random(seed);
    (0..count).map(|_| (random.next() % 100) as i32).collect()
}

/// The existing lanes of thread `t`'s wave.
fn wave<T: Copy>(data: &[T], t: usize) -> &[T] {
    let start = t & !63;
    &data[start..(start + 64).min(data.len())]
}

fn shuffles(level: Level, gpu: &Gpu, module: &Module) {
    let input = data(71, COUNT);
    let (a, out) = (upload(gpu, &input), zeros::<i32>(gpu, 16 * COUNT));
    launch_1d(gpu, module, "shuffles", 1, 256, &Args::default().pointer(&a).pointer(&out).value(COUNT as u32));
    for (t, got) in out.get().chunks_exact(16).enumerate() {
        let (lanes, lane) = (wave(&input, t), t & 63);
        // A disabled lane's register contains the index, not data: its value is unspecified.
        let at = |l: usize| lanes.get(l).copied();
        // Within groups of `width` lanes; a lane that would read outside its group reads itself.
        let within = |l: isize, width: isize| {
            let group = lane as isize & !(width - 1);
            at(if (group..group + width).contains(&l) { l as usize } else { lane })
        };
        let me = lane as isize;
        // The sender to this lane: the highest one.
        let sender = (0..lanes.len()).rev().find(|l| (l * 5 + 3) & 63 == lane);
        let expected = [
            at((lane * 7 + 1) & 63),
            within(me - 5, 64),
            within(me + 9, 64),
            at(lane ^ 21),
            at(lane & !15 | (lane + 3) & 15),
            within(me - 2, 8),
            within(me + 3, 32),
            at(lane ^ 1),
            at(63 - lane).map(|x| x / 2),
            at(lane ^ 32),
            at(63 - lane),
            Some(sender.map_or(0, |l| lanes[l])),
            at(lane ^ 3),
            at(lane ^ 16),
            at(17),
            Some(lanes[0]),
        ];
        for (which, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert!(expected.is_none_or(|e| e == *got), "{level}: shuffle {which} of {t}: {got}, not {expected:?}");
        }
    }
}

fn dpp(level: Level, gpu: &Gpu, module: &Module) {
    let input = data(72, 128);
    let (a, out) = (upload(gpu, &input), zeros::<i32>(gpu, 14 * 128));
    launch_1d(gpu, module, "dpp", 1, 128, &Args::default().pointer(&a).pointer(&out));
    for (t, got) in out.get().chunks_exact(14).enumerate() {
        let (lanes, lane) = (wave(&input, t), t & 63);
        let (row, column) = (lane & !15, lane & 15);
        let old = -1;
        let when = |condition: bool, l: usize| if condition { lanes[l & 63] } else { old };
        let expected = [
            lanes[lane ^ 3],
            when(column < 15, lane + 1),
            when(column >= 3, lane.wrapping_sub(3)),
            lanes[row | (column + 16 - 5) & 15],
            when(lane < 63, lane + 1),
            when(lane > 0, lane.wrapping_sub(1)),
            lanes[(lane + 1) & 63],
            lanes[(lane + 63) & 63],
            lanes[row | 15 - column],
            lanes[lane & !7 | 7 - (lane & 7)],
            // The last lane of the row before, in rows 1 and 3.
            when(lane >> 4 & 1 == 1, row.wrapping_sub(1)),
            // Lane 31, in rows 2 and 3.
            when(lane >= 32, 31),
            // Rows 0 and 2, banks 1 to 3 (a bank is 4 lanes of a row). Zero if there is no source lane, which does not occur here.
            when(lane >> 4 & 1 == 0 && column >= 4, lane.wrapping_sub(1)),
            lanes[row | 5],
        ];
        for (which, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert_eq!(*got, expected, "{level}: dpp {which} of {t}");
        }
    }
}

fn votes(level: Level, gpu: &Gpu, module: &Module) {
    let input = data(73, COUNT);
    let (a, out) = (upload(gpu, &input), zeros::<u64>(gpu, 8 * COUNT));
    launch_1d(gpu, module, "votes", 1, 256, &Args::default().pointer(&a).pointer(&out).value(COUNT as u32));
    for (t, got) in out.get().chunks_exact(8).enumerate() {
        let (lanes, lane, x) = (wave(&input, t), t & 63, input[t]);
        let ballot =
            |f: &dyn Fn(i32) -> bool| lanes.iter().enumerate().fold(0_u64, |b, (l, x)| b | u64::from(f(*x)) << l);
        let any = |f: &dyn Fn(i32) -> bool| u64::from(lanes.iter().any(|x| f(*x)));
        let all = |f: &dyn Fn(i32) -> bool| u64::from(lanes.iter().all(|x| f(*x)));
        let below = (1_u64 << lane) - 1;
        let thirds = ballot(&|x| x % 3 == 0);
        let expected = [
            ballot(&|x| x & 1 == 1),
            any(&|x| x > 90) | all(&|x| x >= 0) << 1 | all(&|x| x != 5) << 2,
            7 + u64::from((0xffff_0000_0f0f_0f0f & below).count_ones()),
            ballot(&|_| true),
            if x % 3 == 0 { ballot(&|x| x % 3 == 0 && x & 2 == 2) } else { ballot(&|x| x % 3 == 1) },
            if x % 3 == 0 { u64::from(thirds.count_ones()) } else { 0 },
            if x % 3 == 0 { ((t & !63) + thirds.trailing_zeros() as usize) as u64 } else { 0 },
            if x % 3 == 0 {
                0
            } else {
                (0..x % 5).map(|k| u64::from(ballot(&|x| x % 3 != 0 && k < x % 5).count_ones())).sum()
            },
        ];
        assert_eq!(got, expected, "{level}: {t}");
    }
}

fn sums(level: Level, gpu: &Gpu, module: &Module) {
    let input: Vec<f32> = data(74, COUNT).into_iter().map(|x| x as f32).collect();
    let (a, total, running) = (upload(gpu, &input), zeros::<f32>(gpu, COUNT), zeros::<i32>(gpu, COUNT));
    let args = Args::default().pointer(&a).pointer(&total).pointer(&running).value(COUNT as u32);
    launch_1d(gpu, module, "sums", 1, 256, &args);
    for (t, (total, running)) in total.get().into_iter().zip(running.get()).enumerate() {
        let lanes = wave(&input, t);
        assert_eq!(total, lanes.iter().sum::<f32>(), "{level}: {t}");
        assert_eq!(running, lanes[..=t & 63].iter().sum::<f32>() as i32, "{level}: {t}");
    }
}

fn groups(level: Level, gpu: &Gpu, module: &Module) {
    let input: Vec<i32> = data(75, COUNT).into_iter().map(|x| x % 11).collect();
    let (a, leader, size) = (upload(gpu, &input), zeros::<i32>(gpu, COUNT), zeros::<i32>(gpu, COUNT));
    let args = Args::default().pointer(&a).pointer(&leader).pointer(&size).value(COUNT as u32);
    launch_1d(gpu, module, "groups", 1, 256, &args);
    for (t, (leader, size)) in leader.get().into_iter().zip(size.get()).enumerate() {
        let lanes = wave(&input, t);
        let first = lanes.iter().position(|x| *x == input[t]).unwrap();
        let count = lanes.iter().filter(|x| **x == input[t]).count();
        assert_eq!((leader as usize, size as usize), (first, count), "{level}: {t}");
    }
}
