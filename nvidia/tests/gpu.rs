//! HIP's functions on a real NVIDIA GPU. Without one, each test says so and does nothing.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::Once;

use hip_sys::rocm_7_2::*;

/// Adds a number to each element: `add(float *data, float number, unsigned count)`.
const PTX: &CStr = c"
.version 7.0
.target sm_50
.address_size 64

.visible .entry add(.param .u64 data, .param .f32 number, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [number];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd2, %r5, 4;
    cvta.to.global.u64 %rd1, %rd1;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3];
    add.f32 %f3, %f2, %f1;
    st.global.f32 [%rd3], %f3;
DONE:
    ret;
}
";

/// Returns whether there is a GPU, after installing the provider.
fn gpu() -> bool {
    static INSTALL: Once = Once::new();
    match hip_nvidia::devices() {
        Ok(_) => {
            INSTALL.call_once(|| hip_sys::set_provider(hip_nvidia::provider()).unwrap());
            true
        }
        Err(reason) => {
            eprintln!("skipped: {reason}");
            false
        }
    }
}

#[track_caller]
fn ok(status: hipError_t) {
    assert_eq!(status, hipSuccess, "{}", hip_nvidia::last_fault().unwrap_or_default());
}

fn module() -> (hipModule_t, hipFunction_t) {
    let (mut module, mut kernel) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: both are valid for a write, and the text is PTX.
    unsafe {
        ok(hipModuleLoadData(&mut module, PTX.as_ptr().cast()));
        ok(hipModuleGetFunction(&mut kernel, module, c"add".as_ptr()));
    }
    (module, kernel)
}

fn malloc(bytes: usize) -> *mut c_void {
    let mut memory = ptr::null_mut();
    // SAFETY: valid for a write.
    ok(unsafe { hipMalloc(&mut memory, bytes) });
    memory
}

/// Launches `add` on a stream.
fn add(kernel: hipFunction_t, mut data: *mut c_void, mut number: f32, mut count: u32, stream: hipStream_t) {
    let mut arguments: [*mut c_void; 3] = [(&raw mut data).cast(), (&raw mut number).cast(), (&raw mut count).cast()];
    let blocks = count.div_ceil(256);
    // SAFETY: the arguments have the types of the kernel's parameters.
    let status = unsafe {
        let extra = ptr::null_mut();
        hipModuleLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream, arguments.as_mut_ptr(), extra)
    };
    ok(status);
}

#[test]
fn properties_and_attributes_agree() {
    if !gpu() {
        return;
    }
    let (mut about, mut warp, mut free, mut total) = (hipDeviceProp_tR0600::default(), 0, 0, 0);
    // SAFETY: all are valid for a write.
    unsafe {
        ok(hipGetDevicePropertiesR0600(&mut about, 0));
        ok(hipDeviceGetAttribute(&mut warp, hipDeviceAttributeWarpSize, 0));
        ok(hipMemGetInfo(&mut free, &mut total));
    }
    // SAFETY: the functions write NUL-terminated texts.
    let (name, arch) = unsafe { (CStr::from_ptr(about.name.as_ptr()), CStr::from_ptr(about.gcnArchName.as_ptr())) };
    println!("{name:?} {arch:?}, {} multiprocessors, {free} of {total} bytes free", about.multiProcessorCount);
    assert_eq!((about.warpSize, warp), (32, 32));
    assert_eq!(arch.to_str(), Ok(format!("sm_{}{}", about.major, about.minor).as_str()));
    assert!(about.totalGlobalMem > 1 << 30 && free <= total && about.maxThreadsPerBlock >= 1024);
}

#[test]
fn a_kernel_adds_on_a_stream_with_events() {
    if !gpu() {
        return;
    }
    const COUNT: usize = 100_000;
    let (_, kernel) = module();
    let memory = malloc(COUNT * 4);
    let from: Vec<f32> = (0..COUNT).map(|index| index as f32).collect();
    let mut to = vec![0_f32; COUNT];
    let (mut stream, mut events, mut ms) = (ptr::null_mut(), [ptr::null_mut(); 2], -1.0);
    // SAFETY: buffers have the sizes of the copies, and handles are alive.
    unsafe {
        ok(hipStreamCreateWithFlags(&mut stream, hipStreamNonBlocking));
        for event in &mut events {
            ok(hipEventCreateWithFlags(event, hipEventReleaseToSystem));
        }
        ok(hipMemcpyAsync(memory, from.as_ptr().cast(), COUNT * 4, hipMemcpyHostToDevice, stream));
        ok(hipEventRecord(events[0], stream));
        add(kernel, memory, 0.5, COUNT as u32, stream);
        ok(hipEventRecord(events[1], stream));
        ok(hipMemcpyAsync(to.as_mut_ptr().cast(), memory, COUNT * 4, hipMemcpyDeviceToHost, stream));
        ok(hipStreamSynchronize(stream));
        ok(hipEventElapsedTime(&mut ms, events[0], events[1]));
        ok(hipStreamDestroy(stream));
        ok(hipFree(memory));
    }
    assert!(to.iter().enumerate().all(|(index, &value)| value == index as f32 + 0.5));
    println!("kernel: {ms} ms");
    assert!(ms >= 0.0);
}

#[test]
fn a_graph_fills_adds_and_copies() {
    if !gpu() {
        return;
    }
    let (_, kernel) = module();
    let mut memory = malloc(1024);
    let (mut number, mut count, mut to) = (1.5_f32, 256_u32, [0_f32; 256]);
    let mut arguments: [*mut c_void; 3] = [(&raw mut memory).cast(), (&raw mut number).cast(), (&raw mut count).cast()];
    let fill =
        hipMemsetParams { dst: memory, elementSize: 4, height: 1, pitch: 1024, value: 2_f32.to_bits(), width: 256 };
    let launch = hipKernelNodeParams {
        blockDim: dim3 { x: 256, y: 1, z: 1 },
        extra: ptr::null_mut(),
        func: kernel.cast(),
        gridDim: dim3 { x: 1, y: 1, z: 1 },
        kernelParams: arguments.as_mut_ptr(),
        sharedMemBytes: 0,
    };
    let (mut graph, mut nodes, mut exec, mut kind) =
        (ptr::null_mut(), [ptr::null_mut(); 3], ptr::null_mut(), hipGraphNodeTypeEmpty);
    // SAFETY: the structures and buffers live until the graph has run.
    unsafe {
        ok(hipGraphCreate(&mut graph, 0));
        ok(hipGraphAddMemsetNode(&mut nodes[0], graph, ptr::null(), 0, &fill));
        ok(hipGraphAddKernelNode(&mut nodes[1], graph, &nodes[0], 1, &launch));
        let dst = to.as_mut_ptr().cast();
        ok(hipGraphAddMemcpyNode1D(&mut nodes[2], graph, &nodes[1], 1, dst, memory, 1024, hipMemcpyDeviceToHost));
        ok(hipGraphNodeGetType(nodes[1], &mut kind));
        ok(hipGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok(hipGraphLaunch(exec, ptr::null_mut()));
        ok(hipDeviceSynchronize());
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(graph));
        ok(hipFree(memory));
    }
    assert_eq!((to, kind), ([3.5; 256], hipGraphNodeTypeKernel));
}

#[test]
fn pools_pinned_memory_pointers_and_rows() {
    if !gpu() {
        return;
    }
    let (mut pinned, mut memory, mut rows, mut pitch) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), 0);
    let mut about = hipPointerAttribute_t::default();
    let mut kinds = Vec::new();
    let on_stack = [7_u8; 300];
    // SAFETY: buffers have the sizes of copies and fills.
    unsafe {
        ok(hipHostMalloc(&mut pinned, 300, hipHostMallocCoherent));
        ok(hipMallocAsync(&mut memory, 4096, ptr::null_mut()));
        ok(hipMallocPitch(&mut rows, &mut pitch, 100, 3));
        for address in [pinned, memory, on_stack.as_ptr().cast_mut().cast()] {
            ok(hipPointerGetAttributes(&mut about, address));
            kinds.push(about.type_);
        }
        let null = ptr::null_mut();
        ok(hipMemset2DAsync(rows, pitch, 1, 100, 3, null));
        ok(hipMemcpy2DAsync(rows, pitch, on_stack.as_ptr().cast(), 100, 50, 3, hipMemcpyHostToDevice, null));
        ok(hipMemcpy2DAsync(pinned, 100, rows, pitch, 100, 3, hipMemcpyDefault, null));
        ok(hipDeviceSynchronize());
        let back = std::slice::from_raw_parts(pinned.cast::<u8>(), 300);
        assert!(back.iter().enumerate().all(|(index, &byte)| byte == if index % 100 < 50 { 7 } else { 1 }));
        ok(hipFreeAsync(memory, null));
        ok(hipFree(rows));
        ok(hipHostFree(pinned));
    }
    assert_eq!(kinds, [hipMemoryTypeHost, hipMemoryTypeDevice, hipMemoryTypeUnregistered]);
    println!("pitch of 100 bytes: {pitch}");
}

#[test]
fn a_kernel_may_use_more_than_48_kib_of_shared_memory() {
    if !gpu() {
        return;
    }
    let (_, kernel) = module();
    let (mut most, mut memory, mut number, mut count) = (0, malloc(4), 0_f32, 1_u32);
    let mut arguments: [*mut c_void; 3] = [(&raw mut memory).cast(), (&raw mut number).cast(), (&raw mut count).cast()];
    // SAFETY: the arguments have the types of the kernel's parameters.
    unsafe {
        ok(hipDeviceGetAttribute(&mut most, hipDeviceAttributeSharedMemPerBlockOptin, 0));
        let (most, null) = (most as u32, ptr::null_mut());
        ok(hipModuleLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, most, null, arguments.as_mut_ptr(), ptr::null_mut()));
        ok(hipDeviceSynchronize());
        ok(hipFree(memory));
    }
    println!("{most} bytes of shared memory");
}

#[test]
fn code_that_does_not_compile_is_explained() {
    if !gpu() {
        return;
    }
    let mut module = ptr::null_mut();
    // SAFETY: valid for a write, and the text ends with NUL.
    let status = unsafe { hipModuleLoadData(&mut module, c".version 7.0\n.target sm_50\nnonsense".as_ptr().cast()) };
    assert_ne!(status, hipSuccess);
    let text = hip_nvidia::last_fault().unwrap();
    println!("{status:?}: {text}");
    assert!(text.contains("cuModuleLoadDataEx") && text.contains("nonsense"), "{text}");
    // SAFETY: takes nothing.
    assert_eq!(unsafe { hipGetLastError() }, status);
}
