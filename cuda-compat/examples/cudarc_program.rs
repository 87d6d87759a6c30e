//! An unchanged program for cudarc, except for the `use` line, which `cudarc = { package = "cuda-compat", .. }` in a
//! package's Cargo.toml replaces.
//!
//! `HIP_RS_BACKEND=sim cargo run -p cuda-compat --features sim --example cudarc_program`

use cuda_compat as cudarc; // in your package, Cargo.toml does this

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::compile_ptx;

const SOURCE: &str = r#"
extern "C" __global__ void scale(float *out, const float *in, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = match CudaContext::new(0) {
        Ok(context) => context,
        Err(error) => {
            println!("no GPU is available: {error}");
            return Ok(());
        }
    };
    let ptx = match compile_ptx(SOURCE) {
        Ok(ptx) => ptx,
        Err(error) => {
            println!("{error}");
            return Ok(());
        }
    };
    let module = context.load_module(ptx)?;
    let scale = module.load_function("scale")?;

    let (first, second) = (context.default_stream(), context.new_stream()?);
    let numbers: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let input = first.clone_htod(&numbers)?;
    let mut output = first.alloc_zeros::<f32>(1000)?;

    // The kernel waits for the copy on the other stream, and the copy below for the kernel.
    let mut launch = second.launch_builder(&scale);
    launch.arg(&mut output).arg(&input).arg(&2.5_f32).arg(&1000_i32);
    // SAFETY: the arguments are those of the kernel, which stays within 1000 elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1000)) }?;

    let result = first.clone_dtoh(&output)?;
    let wrong = numbers.iter().zip(&result).filter(|(x, y)| 2.5 * **x != **y).count();
    println!("{}: {} products, {wrong} of them wrong", context.name()?, result.len());
    if wrong == 0 { Ok(()) } else { Err("wrong products".into()) }
}
