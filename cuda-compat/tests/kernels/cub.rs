//! CUB in programs, by the headers of hipCUB.

use cuda_compat::nvrtc::NVRTC_ERROR_COMPILATION;
use rocm_loader::Search;

use crate::device::{Buffer, Module, args, compile, skip};
use crate::on_a_device;
use crate::random::Random;

const N: usize = 128;

fn has_hipcub() -> bool {
    Search::standard().installations().iter().any(|found| found.root.join("include/hipcub/hipcub.hpp").is_file())
}

on_a_device! {
    fn collectives_of_blocks_and_warps() {
        let source = include_str!("cub.cu");
        if !has_hipcub() {
            let found = compile("cub.cu", source, &["--gpu-architecture=gfx90a"], &[]);
            assert_eq!(found.status, NVRTC_ERROR_COMPILATION);
            assert!(found.log.contains("rocm-sdk install 7.2 --with hipcub installs hipCUB"), "{}", found.log);
            skip("there is no hipCUB: the error names the command");
            return;
        }
        let input: Vec<u32> = Random::new(1).words(N).iter().map(|word| word >> 8).collect();
        let (from, output) = (Buffer::of(&input), Buffer::zeros::<u32>(4 * N + 1));
        Module::of("cub.cu", source).run("sums", 1, N as u32, args![&from, &output]);
        let found = output.read::<u32>(4 * N + 1);
        let mut sorted = input.clone();
        sorted.sort_unstable();
        for i in 0..N {
            let before = input[..i].iter().sum::<u32>();
            let warp = if i % 32 == 0 { input[i..i + 32].iter().sum() } else { 0 };
            assert_eq!([found[i], found[N + i], found[2 * N + i], found[3 * N + i]], [before, warp, sorted[i], input[i ^ 31] + 32], "{i}");
        }
        assert_eq!(Some(found[4 * N]), input.iter().max().copied());
    }

    fn functions_of_the_host_are_errors() {
        for name in ["thrust/sort.h", "cub/device/device_scan.cuh"] {
            let found = compile("host.cu", &format!("#include <{name}>\nextern \"C\" __global__ void k() {{}}"), &["--gpu-architecture=gfx90a"], &[]);
            assert_eq!(found.status, NVRTC_ERROR_COMPILATION);
            assert!(found.log.contains("these functions run on the host"), "{}", found.log);
        }
    }
}
