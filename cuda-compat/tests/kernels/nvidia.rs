//! What kernels see of an NVIDIA device: `__CUDA_ARCH__`, and the size of warps that attributes report.

use cuda_compat::driver::*;
use cuda_compat::nvrtc::{NVRTC_ERROR_COMPILATION, NVRTC_SUCCESS};

use crate::device::{Buffer, Module, args, compile, ok};
use crate::on_a_device;

fn attribute(attribute: CUdevice_attribute) -> i32 {
    let mut value = 0;
    // SAFETY: room for the result; the device exists.
    unsafe { ok(cuDeviceGetAttribute(&mut value, attribute, 0)) };
    value
}

const ARCH: &str = "extern \"C\" __global__ void arch(unsigned *out) { *out = __CUDA_ARCH__; }";

/// The architecture that a kernel sees.
fn seen(options: &[&str]) -> u32 {
    let output = Buffer::zeros::<u32>(1);
    Module::without_target("arch.cu", ARCH, options).run("arch", 1, 1, args![&output]);
    output.read::<u32>(1)[0]
}

on_a_device! {
    fn the_architecture_is_that_of_the_options() {
        assert_eq!(seen(&["--gpu-architecture=compute_80"]), 800);
        assert_eq!(seen(&["-arch=sm_75"]), 750);
        assert_eq!(seen(&["-arch", "sm_90a"]), 900);
        assert_eq!(seen(&["-arch=compute_61", "--gpu-architecture=gfx90a"]), 610);
        assert_eq!(seen(&["-arch=compute_80", "-D__CUDA_ARCH__=890"]), 890);
    }

    fn without_an_architecture_it_is_the_default_of_nvrtc_or_the_devices() {
        assert_eq!(seen(&[]), 520);
        let device = 100 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
            + 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        assert_eq!(seen(&["--gpu-architecture=gfx90a"]), device as u32);
    }

    fn bodies_for_an_architecture_are_not_empty() {
        let source = "extern \"C\" __global__ void k(unsigned *out) {
            #if __CUDA_ARCH__ >= 800
            out[threadIdx.x] = threadIdx.x + 1;
            #endif
        }";
        let output = Buffer::zeros::<u32>(64);
        Module::without_target("body.cu", source, &["-arch=compute_80"]).run("k", 1, 64, args![&output]);
        assert_eq!(output.read::<u32>(64), (1..65).collect::<Vec<_>>());
    }

    fn newer_architectures_than_the_devices_are_warned_of() {
        let newer = compile("arch.cu", ARCH, &["-arch=sm_90a", "--gpu-architecture=gfx90a"], &[]);
        assert_eq!(newer.status, NVRTC_SUCCESS);
        assert!(newer.log.starts_with("warning: __CUDA_ARCH__ is 900"), "{}", newer.log);
    }

    fn kernels_for_the_size_of_warps_that_is_reported_are_right() {
        let source = "extern \"C\" __global__ void sums(unsigned *out) {
            unsigned sum = threadIdx.x;
            for (int offset = LANES / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
            if (threadIdx.x % LANES == 0) out[threadIdx.x / LANES] = sum;
        }";
        let lanes = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
        let output = Buffer::zeros::<u32>(4);
        let module = Module::with("sums.cu", source, &[&format!("-DLANES={lanes}")], &[]);
        module.run("sums", 1, 64, args![&output]);
        assert_eq!(output.read::<u32>(4).iter().sum::<u32>(), 2016);
    }
}

#[test]
fn collectives_that_the_lanes_of_a_warp_do_not_reach_together_are_refused() {
    if cuda_compat::nvrtc::load_error().is_some() {
        crate::device::skip("there is no HIPRTC");
        return;
    }
    let source = "extern \"C\" __global__ void k(unsigned *out) {
        unsigned t = threadIdx.x, v;
        if (t % 32 < 16) v = __shfl_xor_sync(0xffffffff, t, 16);
        else v = __shfl_xor_sync(0xffffffff, t, 16);
        out[t] = v;
    }";
    let target = "--gpu-architecture=gfx90a";
    let refused = compile("both.cu", source, &[target, "-w"], &[]);
    assert_eq!(refused.status, NVRTC_ERROR_COMPILATION);
    assert!(refused.log.starts_with("both.cu:3:9: error: __shfl_xor_sync for all lanes"), "{}", refused.log);
    let allowed = compile("both.cu", source, &[target, "--divergent-collectives=true"], &[]);
    assert_eq!((allowed.status, allowed.log.contains("error")), (NVRTC_SUCCESS, false));
}
