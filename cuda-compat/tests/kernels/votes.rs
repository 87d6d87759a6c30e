//! Votes, matches and reductions over warps of 32 lanes.

use crate::device::{Buffer, Module, args};
use crate::on_a_device;
use crate::random::Random;

const N: usize = 256;

fn module() -> Module {
    Module::of("votes.cu", include_str!("votes.cu"))
}

fn word(warp: &[i32], is: impl Fn(i32) -> bool) -> u32 {
    warp.iter().enumerate().map(|(lane, value)| u32::from(is(*value)) << lane).sum()
}

on_a_device! {
    fn ballots_have_32_bits() {
        let values: Vec<i32> = Random::new(1).below(3, N).into_iter().map(|value| value - 1).collect();
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<u32>(N / 32));
        module().run("ballot_words", 2, 128, args![&input, &output]);
        let expected: Vec<u32> = values.chunks(32).map(|warp| word(warp, |value| value > 0)).collect();
        assert_eq!(output.read::<u32>(N / 32), expected);
    }

    fn warps_compact_their_values() {
        let values: Vec<i32> = Random::new(2).below(100, N).into_iter().map(|value| value - 50).collect();
        let (input, output, counts) = (Buffer::of(&values), Buffer::zeros::<i32>(N), Buffer::zeros::<i32>(N / 32));
        module().run("compact", 1, 256, args![&input, &output, &counts]);
        let (found, counts) = (output.read::<i32>(N), counts.read::<i32>(N / 32));
        for (warp, values) in values.chunks(32).enumerate() {
            let expected: Vec<i32> = values.iter().copied().filter(|value| *value > 0).collect();
            assert_eq!(found[warp * 32..][..counts[warp] as usize], expected);
        }
    }

    fn any_and_all() {
        let mut values = vec![1; 128];
        (values[40], values[70]) = (7, 200);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(128));
        module().run("any_all", 1, 128, args![&input, &output]);
        let found = output.read::<i32>(128);
        for (warp, values) in values.chunks(32).enumerate() {
            let expected = i32::from(values.contains(&7)) + 2 * i32::from(values.iter().all(|v| *v < 100));
            assert_eq!(found[warp * 32..][..16], [expected + 4; 16]);
            assert_eq!(found[warp * 32 + 16..][..16], [expected; 16]);
        }
    }

    fn atomics_are_aggregated_over_active_lanes() {
        let values = Random::new(3).below(100, N);
        let (input, counter, places) = (Buffer::of(&values), Buffer::zeros::<i32>(1), Buffer::zeros::<i32>(N));
        module().run("aggregated", 1, 256, args![&input, &counter, &places]);
        let wanted: Vec<bool> = values.iter().map(|value| value % 3 == 0).collect();
        let count = wanted.iter().filter(|is| **is).count() as i32;
        assert_eq!(counter.read::<i32>(1), [count]);
        let places = places.read::<i32>(N);
        let mut taken: Vec<i32> = places.iter().copied().filter(|place| *place >= 0).collect();
        taken.sort_unstable();
        assert_eq!(taken, (0..count).collect::<Vec<_>>(), "each place once");
        assert!(places.iter().zip(&wanted).all(|(place, wanted)| (*place >= 0) == *wanted));
        for (places, wanted) in places.chunks(32).zip(wanted.chunks(32)) {
            let of_warp: Vec<i32> = places.iter().zip(wanted).filter(|(_, is)| **is).map(|(place, _)| *place).collect();
            assert!(of_warp.windows(2).all(|two| two[1] == two[0] + 1), "a warp's are neighbours");
        }
    }

    fn lanes_with_the_same_value_match() {
        let values = Random::new(4).below(5, N);
        let (input, bins, masks) = (Buffer::of(&values), Buffer::zeros::<i32>(5), Buffer::zeros::<u32>(N));
        module().run("matched", 1, 256, args![&input, &bins, &masks]);
        let counts: Vec<i32> = (0..5).map(|bin| values.iter().filter(|value| **value == bin).count() as i32).collect();
        assert_eq!(bins.read::<i32>(5), counts);
        let expected: Vec<u32> =
            values.chunks(32).flat_map(|warp| warp.iter().map(|own| word(warp, |value| value == *own))).collect();
        assert_eq!(masks.read::<u32>(N), expected);
    }

    fn all_lanes_match_or_none() {
        let mut values = vec![3; 128];
        values[33] = 4;
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<u32>(128));
        module().run("all_match", 1, 128, args![&input, &output]);
        let expected: Vec<u32> = (0..128).map(|thread| if thread / 32 == 1 { 1 } else { u32::MAX }).collect();
        assert_eq!(output.read::<u32>(128), expected);
    }

    fn reductions_over_lanes() {
        let values: Vec<i32> = Random::new(5).below(2000, N).into_iter().map(|value| value - 1000).collect();
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(5 * N));
        module().run("reductions", 1, N as u32, args![&input, &output]);
        let found = output.read::<i32>(5 * N);
        for (thread, _) in values.iter().enumerate() {
            let warp = &values[thread / 32 * 32..][..32];
            let odd: i32 = warp.iter().skip(1).step_by(2).sum();
            let expected = [
                warp.iter().sum(),
                *warp.iter().min().unwrap(),
                warp.iter().map(|value| *value as u32).max().unwrap() as i32,
                warp.iter().fold(0, |a, b| a ^ b),
                if thread % 2 == 1 { odd } else { -1 },
            ];
            let here: Vec<i32> = (0..5).map(|row| found[row * N + thread]).collect();
            assert_eq!(here, expected, "thread {thread}");
        }
    }

    fn lanes_see_what_their_warp_wrote() {
        let values = Random::new(6).below(1000, 1024);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(1024));
        module().run("through_shared", 1, 1024, args![&input, &output]);
        let expected: Vec<i32> = (0..1024).map(|thread| values[thread ^ 31]).collect();
        assert_eq!(output.read::<i32>(1024), expected);
    }
}
