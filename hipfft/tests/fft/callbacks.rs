//! Functions on the device that transforms call. HIPRTC compiles them.

use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};
use hipfft::{C2C, C2R, CallbackKind, Complex32, Complex64, Layout, Plan, R2C};

use crate::bad_input::refused;
use crate::device;
use crate::known::N;
use crate::reference::{Number, assert_close, naive};

/// `data` leads to a factor.
const SOURCE: &str = r#"
    __device__ float2 load_complex(void *from, size_t at, void *data, void *) {
        float2 x = static_cast<float2 *>(from)[at];
        float by = *static_cast<float *>(data);
        return make_float2(x.x * by, x.y * by);
    }
    __device__ void store_complex(void *to, size_t at, float2 x, void *data, void *) {
        static_cast<float2 *>(to)[at] = make_float2(x.x + *static_cast<float *>(data), x.y);
    }
    __device__ double load_real(void *from, size_t at, void *, void *) {
        return static_cast<double *>(from)[at] + 1.0;
    }
    __device__ void store_real(void *to, size_t at, double x, void *, void *) {
        static_cast<double *>(to)[at] = x * x;
    }
    extern "C" __global__ void addresses(unsigned long long *x) {
        x[0] = reinterpret_cast<unsigned long long>(&load_complex);
        x[1] = reinterpret_cast<unsigned long long>(&store_complex);
        x[2] = reinterpret_cast<unsigned long long>(&load_real);
        x[3] = reinterpret_cast<unsigned long long>(&store_real);
    }
"#;

/// The module, which has to stay, and the functions' addresses.
fn functions() -> Option<(Device, Stream, Module, [u64; 4])> {
    let (device, stream) = device()?;
    let arch = device.properties().unwrap().arch.clone();
    let code = match hiprtc::Program::new("callbacks.hip", SOURCE).arch(arch.name()).compile() {
        Ok(code) => code,
        Err(error) if error.is_unavailable() => {
            linalg_testing::skipped(&error);
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let module = Module::load(&device, code.as_bytes()).unwrap();
    let mut addresses = DeviceBuffer::<u64>::zeroed(&device, 4).unwrap();
    // SAFETY: the kernel writes the four addresses.
    unsafe {
        module.kernel("addresses").unwrap().launch(&stream, LaunchConfig::new(1, 1), (&mut addresses,)).unwrap();
    }
    let addresses = addresses.to_vec().unwrap();
    Some((device, stream, module, [addresses[0], addresses[1], addresses[2], addresses[3]]))
}

#[test]
#[ignore = "the software GPU does not jump from one code object to another: run it on an AMD GPU"]
fn complex_transforms_load_and_store_by_callbacks() {
    let Some((device, stream, _module, [load, store, ..])) = functions() else { return };
    let mut plan = Plan::<C2C<f32>>::new(&stream, &Layout::new([N]).unwrap()).unwrap();
    let factor = DeviceBuffer::from_slice(&device, &[0.25_f32]).unwrap();
    let added = DeviceBuffer::from_slice(&device, &[10.0_f32]).unwrap();
    let host: Vec<Complex32> = linalg_testing::Rng::new(8).numbers(N);
    let wide: Vec<Complex64> = host.iter().map(|x| f32::wide_complex(*x)).collect();
    let input = DeviceBuffer::from_slice(&device, &host).unwrap();
    let mut output = DeviceBuffer::<Complex32>::zeroed(&device, N).unwrap();
    let mut run = |plan: &mut Plan<C2C<f32>>, what: &str, by: f64, add: f64| {
        plan.forward(&input, &mut output).unwrap();
        let found: Vec<_> = output.to_vec().unwrap().into_iter().map(f32::wide_complex).collect();
        let want: Vec<_> = naive(&wide, false).into_iter().map(|x| x * by + add).collect();
        assert_close::<f32>(what, &found, &want, N);
    };
    run(&mut plan, "none", 1.0, 0.0);
    // SAFETY: here and below: functions of the types, whose data and module stay to the end of the test.
    unsafe { plan.set_callback(CallbackKind::Load, load, factor.as_device_ptr().address(), 0).unwrap() };
    run(&mut plan, "load", 0.25, 0.0);
    // SAFETY: as above.
    unsafe { plan.set_callback(CallbackKind::Store, store, added.as_device_ptr().address(), 0).unwrap() };
    run(&mut plan, "load and store", 0.25, 10.0);
    plan.clear_callback(CallbackKind::Load).unwrap();
    run(&mut plan, "store", 1.0, 10.0);
    plan.clear_callback(CallbackKind::Store).unwrap();
    run(&mut plan, "none again", 1.0, 0.0);
}

#[test]
#[ignore = "the software GPU does not jump from one code object to another: run it on an AMD GPU"]
fn real_transforms_load_and_store_by_callbacks() {
    let Some((device, stream, _module, [_, _, load, store])) = functions() else { return };
    let layout = Layout::new([N]).unwrap();
    let host: Vec<f64> = (0..N).map(|at| ((at * 5) % 7) as f64).collect();
    let input = DeviceBuffer::from_slice(&device, &host).unwrap();
    let mut spectrum = DeviceBuffer::<Complex64>::zeroed(&device, N / 2 + 1).unwrap();
    let mut forward = Plan::<R2C<f64>>::new(&stream, &layout).unwrap();
    // SAFETY: functions of the types, without data, whose module stays to the end of the test.
    unsafe { forward.set_callback(CallbackKind::Load, load, 0, 0).unwrap() };
    forward.forward(&input, &mut spectrum).unwrap();
    let wide: Vec<Complex64> = host.iter().map(|x| Complex64::new(x + 1.0, 0.0)).collect();
    assert_close::<f64>("load", &spectrum.to_vec().unwrap(), &naive(&wide, false)[..N / 2 + 1], N);
    let mut output = DeviceBuffer::<f64>::zeroed(&device, N).unwrap();
    let mut inverse = Plan::<C2R<f64>>::new(&stream, &layout).unwrap();
    // SAFETY: as above.
    unsafe { inverse.set_callback(CallbackKind::Store, store, 0, 0).unwrap() };
    inverse.inverse(&mut spectrum, &mut output).unwrap();
    for (found, x) in output.to_vec().unwrap().iter().zip(&host) {
        let want = ((x + 1.0) * N as f64).powi(2);
        assert!((found - want).abs() < 1e-12 * (N * N * 64) as f64, "{found}, not {want}");
    }
}

/// All kinds are taken and dropped, for both plans of a type that has two; transforms without them are as before.
#[test]
fn callbacks_are_set_and_cleared() {
    let Some((device, stream, _module, [load, store, load_real, store_real])) = functions() else { return };
    let layout = Layout::new([N]).unwrap();
    let host: Vec<Complex32> = linalg_testing::Rng::new(8).numbers(N);
    let input = DeviceBuffer::from_slice(&device, &host).unwrap();
    let mut output = DeviceBuffer::<Complex32>::zeroed(&device, N).unwrap();
    let mut plan = Plan::<C2C<f32>, hipfft::Normalized>::new(&stream, &layout).unwrap();
    plan.inverse(&input, &mut output).unwrap();
    let before = output.to_vec().unwrap();
    for (kind, function) in [(CallbackKind::Load, load), (CallbackKind::Store, store)] {
        // SAFETY: here and below: functions of the types, which are not called.
        unsafe { plan.set_callback(kind, function, 0, 0).unwrap() };
        plan.clear_callback(kind).unwrap();
    }
    // AMD's library has no shared memory for them.
    // SAFETY: the callback is rejected.
    let error = unsafe { plan.set_callback(CallbackKind::Load, load, 0, 16) }.unwrap_err();
    assert!(error.to_string().contains("hipfftXtSetCallbackSharedSize failed (16 bytes for Load)"), "{error}");
    plan.inverse(&input, &mut output).unwrap();
    assert!(output.to_vec().unwrap() == before);
    let mut forward = Plan::<R2C<f64>>::new(&stream, &layout).unwrap();
    // SAFETY: as above.
    unsafe { forward.set_callback(CallbackKind::Load, load_real, 0, 0).unwrap() };
    forward.clear_callback(CallbackKind::Load).unwrap();
    let mut inverse = Plan::<C2R<f64>>::new(&stream, &layout).unwrap();
    // SAFETY: as above.
    unsafe { inverse.set_callback(CallbackKind::Store, store_real, 0, 0).unwrap() };
    inverse.clear_callback(CallbackKind::Store).unwrap();
}

#[test]
fn halves_have_no_callbacks() {
    let Some((_device, stream)) = device() else { return };
    let mut plan = Plan::<C2C<hipfft::half::f16>>::new(&stream, &Layout::new([N]).unwrap()).unwrap();
    // SAFETY: the callback is rejected.
    refused(unsafe { plan.set_callback(CallbackKind::Load, 0, 0, 0) }, "single or double");
    refused(plan.clear_callback(CallbackKind::Store), "single or double");
}
