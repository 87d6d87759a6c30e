//! Two streams under CUDA's names: each copies one half from pinned memory, computes and copies back, and events time
//! both. Without a GPU, it runs on the software GPU.
//!
//! `cargo run -p cuda-compat --features sim --example cuda_streams`

use std::error::Error;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::slice;

use cuda_compat::driver::*;
use cuda_compat::nvrtc::*;

const SOURCE: &CStr = cr#"
extern "C" __global__ void square(float *x, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * x[i] + 1.0f;
}"#;

/// Number of elements per stream.
const HALF: usize = 1 << 16;
const BYTES: usize = HALF * size_of::<f32>();

fn ok(status: CUresult) -> Result<(), Box<dyn Error>> {
    if status == CUDA_SUCCESS { Ok(()) } else { Err(format!("{status:?}").into()) }
}

/// Compiles the kernel; an error contains the compiler's messages.
fn compile() -> Result<Vec<u8>, Box<dyn Error>> {
    let (mut program, mut size) = (null_mut(), 0);
    // SAFETY: C strings, room for the results, and buffers of the sizes that NVRTC returns.
    unsafe {
        nvrtcCreateProgram(&mut program, SOURCE.as_ptr(), c"square.cu".as_ptr(), 0, null(), null());
        let status = nvrtcCompileProgram(program, 0, null());
        if status != NVRTC_SUCCESS {
            nvrtcGetProgramLogSize(program, &mut size);
            let mut log = vec![0_u8; size];
            nvrtcGetProgramLog(program, log.as_mut_ptr().cast());
            return Err(format!("{status:?}: {}", String::from_utf8_lossy(&log)).into());
        }
        nvrtcGetPTXSize(program, &mut size);
        let mut code = vec![0_u8; size];
        nvrtcGetPTX(program, code.as_mut_ptr().cast()); // a code object: AMD GPUs have no PTX
        nvrtcDestroyProgram(&mut program);
        Ok(code)
    }
}

/// A stream with its buffers and events.
struct Half {
    stream: CUstream,
    start: CUevent,
    end: CUevent,
    on_device: CUdeviceptr,
}

fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "sim")]
    println!("{:?}", hip::sim_if_no_gpu()?);
    if let Some(error) = cuda_compat::nvrtc::sys::load_error() {
        println!("no compiler is available: {error}");
        return Ok(());
    }
    // SAFETY: each buffer has `BYTES` bytes, pinned memory those of both halves; it is read after both streams are done.
    unsafe {
        let (mut device, mut context) = (0, null_mut());
        ok(cuInit(0))?;
        ok(cuDeviceGet(&mut device, 0))?;
        ok(cuDevicePrimaryCtxRetain(&mut context, device))?;
        ok(cuCtxSetCurrent(context))?;
        let (mut module, mut function) = (null_mut(), null_mut());
        let code = compile()?;
        ok(cuModuleLoadData(&mut module, code.as_ptr().cast()))?;
        ok(cuModuleGetFunction(&mut function, module, c"square".as_ptr()))?;

        // Copies are only asynchronous with pinned memory.
        let mut pinned: *mut c_void = null_mut();
        ok(cuMemHostAlloc(&mut pinned, 2 * BYTES, 0))?;
        let host = slice::from_raw_parts_mut(pinned.cast::<f32>(), 2 * HALF);
        for (i, x) in host.iter_mut().enumerate() {
            *x = (i % 1000) as f32;
        }

        let mut halves = Vec::new();
        for _ in 0..2 {
            let mut half = Half { stream: null_mut(), start: null_mut(), end: null_mut(), on_device: 0 };
            ok(cuStreamCreate(&mut half.stream, CU_STREAM_NON_BLOCKING))?;
            ok(cuEventCreate(&mut half.start, CU_EVENT_DEFAULT))?;
            ok(cuEventCreate(&mut half.end, CU_EVENT_DEFAULT))?;
            ok(cuMemAlloc(&mut half.on_device, BYTES))?;
            halves.push(half);
        }
        // Everything is queued before the first wait: the streams' work overlaps if the device allows it.
        for (index, half) in halves.iter_mut().enumerate() {
            let on_host = pinned.byte_add(index * BYTES);
            let mut n = HALF as u32;
            let mut parameters: [*mut c_void; 2] = [(&raw mut half.on_device).cast(), (&raw mut n).cast()];
            let (grid, stream) = (n.div_ceil(256), half.stream);
            ok(cuEventRecord(half.start, stream))?;
            ok(cuMemcpyHtoDAsync(half.on_device, on_host, BYTES, stream))?;
            ok(cuLaunchKernel(function, grid, 1, 1, 256, 1, 1, 0, stream, parameters.as_mut_ptr(), null_mut()))?;
            ok(cuMemcpyDtoHAsync(on_host, half.on_device, BYTES, stream))?;
            ok(cuEventRecord(half.end, stream))?;
        }
        // The first stream waits for the second one's event, so that one wait is enough for both.
        ok(cuStreamWaitEvent(halves[0].stream, halves[1].end, 0))?;
        ok(cuStreamSynchronize(halves[0].stream))?;

        for (index, half) in halves.iter().enumerate() {
            let mut milliseconds = 0.0;
            ok(cuEventElapsedTime(&mut milliseconds, half.start, half.end))?;
            println!("stream {index}: {milliseconds:.3} ms");
        }
        let wrong = (0..2 * HALF).filter(|&i| host[i] != ((i % 1000) as f32).powi(2) + 1.0).count();
        println!("{} squares, {wrong} of them wrong", 2 * HALF);

        for half in halves {
            ok(cuMemFree(half.on_device))?;
            ok(cuEventDestroy(half.start))?;
            ok(cuEventDestroy(half.end))?;
            ok(cuStreamDestroy(half.stream))?;
        }
        ok(cuMemFreeHost(pinned))?;
        ok(cuModuleUnload(module))?;
        ok(cuDevicePrimaryCtxRelease(device))?;
        if wrong == 0 { Ok(()) } else { Err("wrong squares".into()) }
    }
}
