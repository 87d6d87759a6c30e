//! Shuffles over warps of 32 lanes.

use crate::device::{Buffer, Module, args};
use crate::on_a_device;
use crate::random::Random;

const N: usize = 256;

fn module() -> Module {
    Module::of("shuffles.cu", include_str!("shuffles.cu"))
}

/// Of each lane of each warp of 32, from the values of the warp.
fn of_warps<T: Copy, U>(values: &[T], result: impl Fn(&[T], usize) -> U) -> Vec<U> {
    values.chunks(32).flat_map(|warp| (0..warp.len()).map(|lane| result(warp, lane)).collect::<Vec<U>>()).collect()
}

on_a_device! {
    fn sums_of_warps() {
        let values = Random::new(1).floats(N);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<f32>(N));
        module().run("warp_sum", 2, 128, args![&input, &output]);
        assert_eq!(output.read::<f32>(N), of_warps(&values, |warp, _| warp.iter().sum::<f32>()));
    }

    fn sums_of_blocks() {
        let values = Random::new(2).floats(5000);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<f32>(4));
        let module = module();
        for threads in [32, 96, 256, 1024] {
            module.run("block_sum", 4, threads, args![&input, &output, 5000_u32]);
            let sum: f32 = output.read::<f32>(4).iter().sum();
            assert_eq!(sum, values.iter().sum::<f32>(), "{threads} threads");
        }
    }

    fn scans_of_warps() {
        let values = Random::new(3).below(1000, N);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(N));
        module().run("warp_scan", 1, 256, args![&input, &output]);
        assert_eq!(output.read::<i32>(N), of_warps(&values, |warp, lane| warp[..=lane].iter().sum::<i32>()));
    }

    fn broadcasts_of_doubles() {
        let values: Vec<f64> = (0..N).map(|i| i as f64 * 1.1).collect();
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<f64>(N));
        module().run("broadcast", 4, 64, args![&input, &output]);
        assert_eq!(output.read::<f64>(N), of_warps(&values, |warp, _| warp[5]));
    }

    fn rotations_of_long_integers() {
        let values: Vec<i64> = (0..N as i64).map(|i| i << 33 | i).collect();
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i64>(N));
        module().run("rotate", 2, 128, args![&input, &output]);
        assert_eq!(output.read::<i64>(N), of_warps(&values, |warp, lane| warp[(lane + 1) % 32]));
    }

    fn segments_of_a_warp() {
        let values: Vec<i32> = (0..128).collect();
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(5 * 128));
        module().run("segments", 1, 128, args![&input, &output]);
        let down = |warp: &[i32], lane: usize| if lane % 8 + 3 < 8 { warp[lane + 3] } else { warp[lane] };
        let up = |warp: &[i32], lane: usize| if lane % 16 >= 2 { warp[lane - 2] } else { warp[lane] };
        let four = |warp: &[i32], lane: usize| warp[lane / 4 * 4 + 1];
        // A lane can read a value of an earlier segment, but not of a later one.
        let xor = |warp: &[i32], lane: usize| if (lane ^ 12) / 8 <= lane / 8 { warp[lane ^ 12] } else { warp[lane] };
        let expected = [of_warps(&values, down), of_warps(&values, up), of_warps(&values, four), of_warps(&values, xor)];
        let found = output.read::<i32>(5 * 128);
        for (at, expected) in expected.iter().chain([&values]).enumerate() {
            assert_eq!(&found[at * 128..][..128], expected, "{at}");
        }
    }

    fn the_place_of_the_largest() {
        let values = Random::new(4).floats(N);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<u32>(N / 32));
        module().run("arg_max", 1, 256, args![&input, &output]);
        for (warp, place) in values.chunks(32).zip(output.read::<u32>(N / 32)) {
            assert!(warp.iter().all(|value| *value <= warp[place as usize]));
        }
    }

    fn shuffles_without_masks() {
        let values = Random::new(5).below(1000, N);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(N));
        module().run("old_sum", 1, 256, args![&input, &output]);
        assert_eq!(output.read::<i32>(N), of_warps(&values, |warp, _| warp.iter().sum::<i32>()));
    }

    fn shuffles_of_some_lanes() {
        let values = Random::new(6).below(1000, 64);
        let (input, output) = (Buffer::of(&values), Buffer::of(&[-1; 64]));
        module().run("twenty", 1, 64, args![&input, &output]);
        let expected = of_warps(&values, |warp, lane| if lane < 20 { warp[19 - lane] } else { -1 });
        assert_eq!(output.read::<i32>(64), expected);
    }

    fn shuffles_of_structs() {
        // Four words each; the last one is half padding, which must not change.
        let words: Vec<u32> = Random::new(7).words(4 * 64).into_iter().map(|word| word & 0x7fff).collect();
        let (input, output) = (Buffer::of(&words), Buffer::zeros::<u32>(4 * 64));
        module().run("structs", 1, 64, args![&input, &output]);
        let found = output.read::<u32>(4 * 64);
        for thread in 0..64 {
            assert_eq!(found[4 * thread..][..3], words[4 * (thread ^ 1)..][..3]);
            assert_eq!(found[4 * thread + 3] as u16, words[4 * (thread ^ 1) + 3] as u16);
        }
    }

    fn on_whole_waves_a_warp_is_64_lanes() {
        let source = "extern \"C\" __global__ void waves(int *out) {
            unsigned long long all = __activemask();
            int sum = 1;
            for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0ull, sum, offset);
            out[threadIdx.x] = sum * 1000 + __popcll(__ballot_sync(all, threadIdx.x & 1)) * 10 + (warpSize == 64);
        }";
        let module = Module::with("waves.cu", source, &["--warp-size=native"], &[]);
        let output = Buffer::zeros::<i32>(128);
        module.run("waves", 1, 128, args![&output]);
        assert_eq!(output.read::<i32>(128), [64 * 1000 + 32 * 10 + 1; 128]);
    }
}
