//! One kernel template for several types, with NVRTC's name expressions. Without a GPU, it runs on the software GPU.
//!
//! `cargo run -p cuda-compat --features sim --example templates`

use std::error::Error;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use cuda_compat::driver::*;
use cuda_compat::nvrtc::*;

/// The largest element of a block, computed with shuffles in warps of 32.
const SOURCE: &CStr = cr#"
template <typename T, int THREADS> __global__ void largest(const T *in, T *out)
{
    __shared__ T partial[THREADS / 32];
    T v = in[blockIdx.x * THREADS + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2)
        v = max(v, __shfl_xor_sync(0xffffffff, v, offset));
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    __syncthreads();
    for (int warp = 0; warp < THREADS / 32; ++warp)
        v = max(v, partial[warp]);
    out[blockIdx.x] = v;
}"#;

const FLOAT: &CStr = c"largest<float, 128>";
const INT: &CStr = c"largest<int, 256>";

fn ok(status: CUresult) -> Result<(), Box<dyn Error>> {
    if status == CUDA_SUCCESS { Ok(()) } else { Err(format!("{status:?}").into()) }
}

/// The code, and the lowered names of its two kernels.
type Compiled = (Vec<u8>, [&'static CStr; 2]);

/// Compiles both; `Err` contains the compiler's messages.
fn compile() -> Result<Compiled, Box<dyn Error>> {
    let mut program = null_mut();
    // SAFETY: C strings, room for the results, and buffers of the sizes that NVRTC returns. The program is never destroyed: it owns the
    // names.
    unsafe {
        let status = nvrtcCreateProgram(&mut program, SOURCE.as_ptr(), c"largest.cu".as_ptr(), 0, null(), null());
        if status != NVRTC_SUCCESS {
            return Err(cuda_compat::nvrtc::load_error()
                .map_or("no compiler is available".into(), |why| format!("{why}").into()));
        }
        for expression in [FLOAT, INT] {
            nvrtcAddNameExpression(program, expression.as_ptr());
        }
        let option = c"--std=c++17".as_ptr();
        let status = nvrtcCompileProgram(program, 1, &option);
        let mut size = 0;
        if status != NVRTC_SUCCESS {
            nvrtcGetProgramLogSize(program, &mut size);
            let mut log = vec![0_u8; size];
            nvrtcGetProgramLog(program, log.as_mut_ptr().cast());
            return Err(String::from_utf8_lossy(&log).into_owned().into());
        }
        nvrtcGetPTXSize(program, &mut size);
        let mut code = vec![0; size];
        nvrtcGetPTX(program, code.as_mut_ptr().cast());
        let names = [FLOAT, INT].map(|expression| {
            let mut name = null();
            nvrtcGetLoweredName(program, expression.as_ptr(), &mut name);
            CStr::from_ptr(name)
        });
        Ok((code, names))
    }
}

/// Returns the largest element of each block; a block has as many elements as threads.
fn largest<T: Copy + Default>(
    module: CUmodule,
    name: &CStr,
    values: &[T],
    threads: u32,
) -> Result<Vec<T>, Box<dyn Error>> {
    let blocks = values.len() / threads as usize;
    let mut found = vec![T::default(); blocks];
    let (mut input, mut output): (CUdeviceptr, CUdeviceptr) = (0, 0);
    let mut function = null_mut();
    // SAFETY: room for the results, buffers of the sizes that are passed, and the kernel's arguments.
    unsafe {
        ok(cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
        ok(cuMemAlloc(&mut input, size_of_val(values)))?;
        ok(cuMemAlloc(&mut output, size_of_val(&found[..])))?;
        ok(cuMemcpyHtoD(input, values.as_ptr().cast(), size_of_val(values)))?;
        let mut arguments: [*mut c_void; 2] = [(&raw mut input).cast(), (&raw mut output).cast()];
        let (grid, stream) = (blocks as u32, null_mut());
        ok(cuLaunchKernel(function, grid, 1, 1, threads, 1, 1, 0, stream, arguments.as_mut_ptr(), null_mut()))?;
        ok(cuMemcpyDtoH(found.as_mut_ptr().cast(), output, size_of_val(&found[..])))?;
        ok(cuMemFree(input))?;
        ok(cuMemFree(output))?;
    }
    Ok(found)
}

fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "sim")]
    hip::sim_if_no_gpu()?;
    let (mut context, mut module) = (null_mut(), null_mut());
    // SAFETY: room for the results.
    unsafe {
        ok(cuInit(0))?;
        ok(cuDevicePrimaryCtxRetain(&mut context, 0))?;
        ok(cuCtxSetCurrent(context))?;
    }
    let (code, [float, int]) = compile()?;
    // SAFETY: room for the result, and a code object.
    unsafe { ok(cuModuleLoadData(&mut module, code.as_ptr().cast()))? };

    let floats: Vec<f32> = (0..512).map(|at| ((at * 37) % 512) as f32 / 2.0).collect();
    let ints: Vec<i32> = (0..512).map(|at| (at * 91) % 509 - 200).collect();
    let (of_floats, of_ints) = (largest(module, float, &floats, 128)?, largest(module, int, &ints, 256)?);
    println!("{}: {of_floats:?}", FLOAT.to_str()?);
    println!("{}: {of_ints:?}", INT.to_str()?);
    let expected: Vec<f32> = floats.chunks(128).map(|block| block.iter().copied().fold(0.0, f32::max)).collect();
    assert_eq!(of_floats, expected);
    assert_eq!(of_ints, ints.chunks(256).map(|block| *block.iter().max().unwrap()).collect::<Vec<_>>());
    // SAFETY: the module is loaded, and its kernels are done.
    unsafe { ok(cuModuleUnload(module)) }
}
