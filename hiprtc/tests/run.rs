//! Newly compiled code runs on the software GPU, with the right results.

#![cfg(feature = "sim")]

mod common;

use common::compiler_or_skip;
use hip::{Backend, Device, DeviceBuffer, LaunchConfig, Stream};
use hiprtc::{Options, Origin, Program};

fn simulator() -> Device {
    hip::select_backend(Backend::Sim).unwrap();
    Device::get(0).unwrap()
}

#[test]
fn a_template_compiled_for_the_current_device_runs() {
    if !compiler_or_skip("a_template_compiled_for_the_current_device_runs") {
        return;
    }
    let device = simulator();
    let source = r#"
        #include "vec.h"
        template<typename T> __global__ void axpy(int n, Vec<T> a, const T *x, T *y) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] += a.x * x[i] + OFFSET;
        }
    "#;
    let code = Program::new("axpy.hip", source)
        .header("vec.h", "template<typename T> struct Vec { T x, y; };")
        .options(Options::new().define("OFFSET", 1))
        .name_expression("axpy<double>")
        .compile()
        .unwrap();
    assert_eq!(code.arch().name(), "gfx90a");
    let kernel = code.load(&device).unwrap().kernel(code.lowered_name("axpy<double>").unwrap()).unwrap();
    let n = 1000;
    let x: Vec<f64> = (0..n).map(f64::from).collect();
    let (dx, mut dy) = (DeviceBuffer::from_slice(&device, &x).unwrap(), DeviceBuffer::from_slice(&device, &x).unwrap());
    let stream = Stream::new(&device).unwrap();
    let config = LaunchConfig::for_elements(n as usize, 128);
    // SAFETY: the kernel reads x and changes y, both of n elements, and checks its index.
    unsafe { kernel.launch(&stream, config, (n, [2.0_f64, 0.0], &dx, &mut dy)).unwrap() };
    let y = dy.to_vec().unwrap();
    assert!((0..n as usize).all(|i| y[i] == 3.0 * x[i] + 1.0));
}

#[test]
fn a_bundle_loads_as_it_is_and_by_selection() {
    if !compiler_or_skip("a_bundle_loads_as_it_is_and_by_selection") {
        return;
    }
    let device = simulator();
    let source = r#"extern "C" __global__ void seven(int *x) { x[threadIdx.x] = 7; }"#;
    let file = Program::new("seven.hip", source).compile_bundle(["gfx1100", "gfx90a", "gfx942"]).unwrap();
    let whole = hip::Module::load(&device, &file).unwrap();
    let code = hiprtc::compile_or_bundle(&Program::new("seven.hip", source), &file).unwrap();
    assert!(matches!(code.origin(), Origin::Compiled));
    for module in [whole, code.load(&device).unwrap()] {
        let mut x = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
        let stream = Stream::new(&device).unwrap();
        // SAFETY: the kernel writes the 64 elements.
        unsafe { module.kernel("seven").unwrap().launch(&stream, LaunchConfig::new(1, 64), (&mut x,)).unwrap() };
        assert_eq!(x.to_vec().unwrap(), [7; 64]);
    }
}

/// The embedded runtime has no linker, and HIPRTC's linker asks another runtime.
#[test]
fn the_embedded_runtime_cannot_be_linked_for() {
    if !compiler_or_skip("the_embedded_runtime_cannot_be_linked_for") {
        return;
    }
    let error = hiprtc::Linker::new(&simulator()).unwrap_err();
    assert!(matches!(error, hiprtc::Error::EmbeddedRuntime), "{error}");
    assert!(error.to_string().contains("hip-sim"), "{error}");
}
