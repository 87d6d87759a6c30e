//! The software GPU gives bit-identical results to a simple lane-by-lane interpreter, which shares only the decoder
//! with it.

mod common;
mod reference;

use amdgpu_sim::Dispatch;
use common::{Args, Random, gpu, load, upload};

const CODE: &[u8] = include_bytes!("kernels/lanes.co");

/// Runs a kernel on both. Returns the contents of the last buffer. `arguments` builds the arguments from the buffers'
/// addresses.
fn both(
    name: &str,
    buffers: &[Vec<u32>],
    arguments: &dyn Fn(&[u64]) -> Args,
    blocks: [u32; 3],
    threads: [u32; 3],
) -> [Vec<u32>; 2] {
    let gpu = gpu();
    let module = load(&gpu, CODE);
    let kernel = module.kernel(name).expect("is there");
    let dispatch = Dispatch::of_blocks(blocks, threads).expect("fits");
    let on_gpu: Vec<_> = buffers.iter().map(|data| upload(&gpu, data)).collect();
    let addresses: Vec<u64> = on_gpu.iter().map(|b| b.address).collect();
    gpu.launch(&kernel, &arguments(&addresses).0, &dispatch).unwrap_or_else(|fault| panic!("{fault}"));

    let mut memory = reference::Memory::default();
    let bytes = |data: &Vec<u32>| data.iter().flat_map(|x| x.to_le_bytes()).collect();
    let addresses: Vec<u64> = buffers.iter().map(|data| memory.add(bytes(data))).collect();
    let program = reference::Program::of(&gpu, &kernel);
    reference::run(&program, &kernel, &mut memory, &arguments(&addresses).0, &dispatch);
    let out = memory.block(addresses[addresses.len() - 1]).chunks_exact(4);
    let out = out.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    [on_gpu[on_gpu.len() - 1].get(), out]
}

/// Floats of all sizes, as bits.
fn floats(n: usize, seed: u64) -> Vec<u32> {
    let mut random = Random(seed);
    (0..n)
        .map(|_| (random.between(-1.0, 1.0) as f32 * 2_f32.powi((random.next() % 40) as i32 - 20)).to_bits())
        .collect()
}

#[test]
fn vector_add_and_saxpy_with_a_ragged_end() {
    let n = 1000;
    for (name, inputs) in [("vector_add", 2), ("saxpy", 1)] {
        let mut buffers: Vec<_> = (0..inputs).map(|i| floats(1024, i)).collect();
        buffers.push(floats(1024, 99));
        let arguments = |addresses: &[u64]| {
            let args = if name == "saxpy" { Args::default().value(0.37_f32) } else { Args::default() };
            addresses.iter().fold(args, |args, a| args.value(*a)).value(n as u32)
        };
        let [gpu, plain] = both(name, &buffers, &arguments, [4, 1, 1], [256, 1, 1]);
        assert_eq!(gpu, plain, "{name}");
        assert_ne!(gpu[..n], buffers[inputs as usize][..n], "{name} has written");
        assert_eq!(gpu[n..], buffers[inputs as usize][n..], "{name} leaves the rest alone");
    }
}

#[test]
fn matmul_through_local_memory() {
    let n = 48;
    let buffers = vec![floats(n * n, 1), floats(n * n, 2), vec![0; n * n]];
    let arguments =
        |addresses: &[u64]| addresses.iter().fold(Args::default(), |args, a| args.value(*a)).value(n as u32);
    let tiles = n as u32 / 16;
    let [gpu, plain] = both("matmul", &buffers, &arguments, [tiles, tiles, 1], [16, 16, 1]);
    assert_eq!(gpu, plain);
    assert!(gpu.iter().filter(|x| **x != 0).count() > n * n / 2);
}

#[test]
fn xorshift_of_integers() {
    let arguments = |addresses: &[u64]| Args::default().value(addresses[0]).value(37_u32).value(500_u32);
    let [gpu, plain] = both("xorshift", &[vec![0; 512]], &arguments, [2, 1, 1], [256, 1, 1]);
    assert_eq!(gpu, plain);
    assert!(gpu[..500].iter().all(|x| *x != 0) && gpu[500..].iter().all(|x| *x == 0));
}
