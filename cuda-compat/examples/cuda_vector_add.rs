//! c = a + b under CUDA's names: NVRTC compiles the kernel, the driver API runs it. Without a GPU, it runs on the
//! software GPU.
//!
//! `cargo run -p cuda-compat --features sim --example cuda_vector_add`

use std::error::Error;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use cuda_compat::driver::*;
use cuda_compat::nvrtc::*;

const SOURCE: &CStr = cr#"
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}"#;

const N: usize = 100_000;

fn ok(status: CUresult) -> Result<(), Box<dyn Error>> {
    if status == CUDA_SUCCESS { Ok(()) } else { Err(format!("{status:?}").into()) }
}

/// Compiles the kernel; `Err` contains the compiler's messages.
fn compile() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut program = null_mut();
    let option = c"--use_fast_math".as_ptr();
    // SAFETY: C strings, room for the results, and buffers of the sizes that NVRTC returns.
    unsafe {
        if nvrtcCreateProgram(&mut program, SOURCE.as_ptr(), c"vector_add.cu".as_ptr(), 0, null(), null())
            != NVRTC_SUCCESS
        {
            return Err("no program".into());
        }
        let status = nvrtcCompileProgram(program, 1, &option);
        let mut size = 0;
        let code = if status == NVRTC_SUCCESS {
            nvrtcGetPTXSize(program, &mut size);
            let mut code = vec![0_u8; size];
            nvrtcGetPTX(program, code.as_mut_ptr().cast()); // a code object: AMD GPUs have no PTX
            Ok(code)
        } else {
            nvrtcGetProgramLogSize(program, &mut size);
            let mut log = vec![0_u8; size];
            nvrtcGetProgramLog(program, log.as_mut_ptr().cast());
            Err(format!("{status:?}: {}", String::from_utf8_lossy(&log)).into())
        };
        nvrtcDestroyProgram(&mut program);
        code
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "sim")]
    println!("{:?}", hip::sim_if_no_gpu()?);
    if let Some(error) = cuda_compat::nvrtc::sys::load_error() {
        println!("no compiler is available: {error}");
        return Ok(());
    }
    let (a, b): (Vec<f32>, Vec<f32>) = (0..N).map(|i| (i as f32, 2.0 * i as f32)).unzip();
    let mut c = vec![0_f32; N];
    let bytes = size_of_val(&a[..]);
    // SAFETY: the buffers have this many bytes; the kernel's parameters are three addresses and a number.
    unsafe {
        ok(cuInit(0))?;
        let (mut device, mut context) = (0, null_mut());
        ok(cuDeviceGet(&mut device, 0))?;
        ok(cuDevicePrimaryCtxRetain(&mut context, device))?;
        ok(cuCtxSetCurrent(context))?;

        let code = compile()?;
        let (mut module, mut function) = (null_mut(), null_mut());
        ok(cuModuleLoadData(&mut module, code.as_ptr().cast()))?;
        ok(cuModuleGetFunction(&mut function, module, c"vector_add".as_ptr()))?;

        let mut pointers: [CUdeviceptr; 3] = [0; 3];
        for pointer in &mut pointers {
            ok(cuMemAlloc(pointer, bytes))?;
        }
        let [mut on_a, mut on_b, mut on_c] = pointers;
        ok(cuMemcpyHtoD(on_a, a.as_ptr().cast(), bytes))?;
        ok(cuMemcpyHtoD(on_b, b.as_ptr().cast(), bytes))?;

        let mut n = N as u32;
        let mut parameters: [*mut c_void; 4] =
            [(&raw mut on_a).cast(), (&raw mut on_b).cast(), (&raw mut on_c).cast(), (&raw mut n).cast()];
        let (grid, block) = (n.div_ceil(256), 256);
        ok(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, null_mut(), parameters.as_mut_ptr(), null_mut()))?;
        ok(cuMemcpyDtoH(c.as_mut_ptr().cast(), on_c, bytes))?;

        for pointer in pointers {
            ok(cuMemFree(pointer))?;
        }
        ok(cuModuleUnload(module))?;
        ok(cuDevicePrimaryCtxRelease(device))?;
    }
    let wrong = (0..N).filter(|&i| c[i] != a[i] + b[i]).count();
    println!("{N} sums, {wrong} of them wrong");
    if wrong == 0 { Ok(()) } else { Err("wrong sums".into()) }
}
