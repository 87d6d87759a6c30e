//! Cooperative groups.

use crate::device::{Buffer, Module, args};
use crate::on_a_device;
use crate::random::Random;

fn module() -> Module {
    Module::of("groups.cu", include_str!("groups.cu"))
}

on_a_device! {
    fn tiles_of_32_reduce() {
        let values = Random::new(1).below(10_000, 512);
        let (input, sums, maxima) = (Buffer::of(&values), Buffer::zeros::<i32>(16), Buffer::zeros::<i32>(16));
        module().run("tile_reduce", 4, 128, args![&input, &sums, &maxima]);
        assert_eq!(sums.read::<i32>(16), values.chunks(32).map(|tile| tile.iter().sum()).collect::<Vec<i32>>());
        assert_eq!(maxima.read::<i32>(16), values.chunks(32).map(|tile| *tile.iter().max().unwrap()).collect::<Vec<_>>());
    }

    fn tiles_of_tiles() {
        const N: usize = 96;
        let values = Random::new(2).below(1000, N);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(5 * N));
        module().run("small_tiles", 1, N as u32, args![&input, &output]);
        let found = output.read::<i32>(5 * N);
        for i in 0..N {
            let tile = &values[i / 8 * 8..][..8];
            let odd: i32 = tile.iter().enumerate().map(|(at, value)| (value & 1) << at).sum();
            let place = (i % 32 / 8 * 100 + 4 * 10 + i % 8) as i32;
            let expected = [tile[3], tile[(i % 8) ^ 5], odd, place, (i / 32 * 10 + 3) as i32];
            let here: Vec<i32> = (0..5).map(|row| found[row * N + i]).collect();
            assert_eq!(here, expected, "thread {i}");
        }
    }

    fn coalesced_threads_are_those_of_a_branch() {
        let values = Random::new(3).below(30, 256);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(256));
        module().run("coalesced", 2, 128, args![&input, &output]);
        let found = output.read::<i32>(256);
        for (warp, found) in values.chunks(32).zip(found.chunks(32)) {
            let members: Vec<usize> = (0..32).filter(|lane| warp[*lane] % 3 == 1).collect();
            for (lane, found) in found.iter().enumerate() {
                let expected = match members.iter().position(|member| *member == lane) {
                    Some(rank) => warp[members[0]] * 1000 + (rank * 32 + members.len() - 1) as i32,
                    None => -1,
                };
                assert_eq!(*found, expected, "lane {lane}");
            }
        }
    }

    fn partitions_by_labels() {
        let values = Random::new(4).below(100, 128);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(256));
        module().run("labels", 1, 128, args![&input, &output]);
        let found = output.read::<i32>(256);
        for (i, value) in values.iter().enumerate() {
            let warp = &values[i / 32 * 32..][..32];
            let sum: i32 = warp.iter().filter(|other| **other % 4 == value % 4).sum();
            assert_eq!(found[i], sum, "thread {i}");
            let same = |other: &&i32| (**other > 50) == (*value > 50);
            let (rank, size) = (warp[..i % 32].iter().filter(same).count(), warp.iter().filter(same).count());
            assert_eq!(found[128 + i], (rank * 100 + size) as i32, "thread {i}");
        }
    }

    fn scans_of_tiles() {
        let values = Random::new(5).below(100, 64);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(128));
        module().run("scans", 1, 64, args![&input, &output]);
        let found = output.read::<i32>(128);
        for i in 0..64 {
            let tile = &values[i / 16 * 16..=i];
            assert_eq!((found[i], found[64 + i]), (tile.iter().sum(), tile[..tile.len() - 1].iter().sum()), "{i}");
        }
    }

    fn a_block_and_parts_of_it_by_one_function() {
        let values = Random::new(6).below(100, 128);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(33));
        module().launch("thread_groups", (1, 1), (128, 1), 512, args![&input, &output]);
        let expected: Vec<i32> = [values.iter().sum()].into_iter().chain(values.chunks(4).map(|four| four.iter().sum())).collect();
        assert_eq!(output.read::<i32>(33), expected);
    }

    fn a_grid_waits_for_all_its_blocks() {
        let values = Random::new(7).below(1000, 512);
        let (input, partial, output) = (Buffer::of(&values), Buffer::zeros::<i32>(4), Buffer::zeros::<i32>(2));
        module().run_cooperative("whole_grid", 4, 128, args![&input, &partial, &output]);
        assert_eq!(output.read::<i32>(2), [values.iter().sum(), 512]);
    }
}
