//! What this crate adds to raw hip-sys calls, in one run: launches of an empty kernel, and finding out the current device.
//!
//! On ROCm's runtime if it sees a GPU (or the software GPU below it), else on the embedded one:
//! `cargo bench -p hip --features sim --bench overhead`. Each line is the least of many rounds, which take turns.

use std::hint::black_box;
use std::ptr;
use std::time::{Duration, Instant};

use hip::sys::{hipFunction_t, hipGetDevice, hipModuleLaunchKernel, hipStream_t, hipSuccess};
use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};

const CODE: &[u8] = include_bytes!("../tests/kernels/kernels.gfx90a.co");
const BATCH: u32 = 200;

hip::kernel! {
    struct Empty: fn empty();
    struct VectorAdd: fn vector_add(a: *const f32, b: *const f32, c: *mut f32, n: u32);
}

/// A case: its name, and what it does once.
type Case<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// The least times of a case: of a call alone, and with its part of the wait for the device behind the batch.
#[derive(Clone, Copy)]
struct Least {
    call: Duration,
    whole: Duration,
}

/// The least times of each case: of a batch of calls, in turns.
fn least(rounds: u32, stream: &Stream, cases: &mut [Case<'_>]) -> Vec<Least> {
    let mut least = vec![Least { call: Duration::MAX, whole: Duration::MAX }; cases.len()];
    for _ in 0..rounds {
        for (best, (_, case)) in least.iter_mut().zip(&mut *cases) {
            let start = Instant::now();
            for _ in 0..BATCH {
                case();
            }
            best.call = best.call.min(start.elapsed() / BATCH);
            stream.synchronize().expect("the work is well");
            best.whole = best.whole.min(start.elapsed() / BATCH);
        }
    }
    least
}

fn report(rounds: u32, stream: &Stream, cases: &mut [Case<'_>]) {
    let times = least(rounds, stream, cases);
    for ((name, _), Least { call, whole }) in cases.iter().zip(&times) {
        let nanoseconds = |time: &Duration| time.as_secs_f64() * 1e9;
        let ratio = |time: &Duration, raw: Duration| time.as_secs_f64() / raw.as_secs_f64();
        println!(
            "{name:<44} {:>7.1} ns {:>6.3}   done {:>8.1} ns {:>6.3}",
            nanoseconds(call),
            ratio(call, times[0].call),
            nanoseconds(whole),
            ratio(whole, times[0].whole)
        );
    }
}

fn main() -> Result<(), hip::Error> {
    let backend = match hip::sim_if_no_gpu() {
        Ok(backend) => backend,
        Err(error) => {
            println!("SKIPPED: {error}");
            return Ok(());
        }
    };
    let device = Device::get(0)?;
    println!("{backend:?}, HIP {:?}, {}", hip::runtime_version()?, device.properties()?.name);
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(100);
    let module = Module::load(&device, CODE)?;
    let (stream, config) = (Stream::new(&device)?, LaunchConfig::new(1, 64));
    let (empty, typed) = (module.kernel("empty")?, Empty::load(&module)?);
    let raw = empty.as_raw();
    report(
        rounds,
        &stream,
        &mut [
            ("empty kernel: hipModuleLaunchKernel", Box::new(|| launch_raw(raw, stream.as_raw(), &mut []))),
            (
                "empty kernel: Kernel::launch",
                Box::new(|| {
                    // SAFETY: the kernel does nothing.
                    unsafe { empty.launch(&stream, config, ()) }.expect("launches");
                }),
            ),
            (
                "empty kernel: kernel!",
                Box::new(|| {
                    // SAFETY: the kernel does nothing.
                    unsafe { typed.launch(&stream, config) }.expect("launches");
                }),
            ),
        ],
    );

    let (add, typed) = (module.kernel("vector_add")?, VectorAdd::load(&module)?);
    let (a, b) = (DeviceBuffer::<f32>::zeroed(&device, 64)?, DeviceBuffer::<f32>::zeroed(&device, 64)?);
    let mut c = DeviceBuffer::<f32>::zeroed(&device, 64)?;
    let c_address = c.as_device_ptr().address();
    let c = std::cell::RefCell::new(&mut c);
    let raw = add.as_raw();
    report(
        rounds,
        &stream,
        &mut [
            (
                "3 buffers and a number: raw",
                Box::new(|| {
                    let mut pointers = [a.as_device_ptr().address(), b.as_device_ptr().address(), c_address];
                    let mut n = 64u32;
                    let [x, y, z] = &mut pointers;
                    let mut arguments = [
                        ptr::from_mut(x).cast(),
                        ptr::from_mut(y).cast(),
                        ptr::from_mut(z).cast(),
                        ptr::from_mut(&mut n).cast(),
                    ];
                    launch_raw(raw, stream.as_raw(), &mut arguments);
                }),
            ),
            (
                "3 buffers and a number: Kernel::launch",
                Box::new(|| {
                    // SAFETY: 64 threads, 64 elements.
                    unsafe { add.launch(&stream, config, (&a, &b, &mut **c.borrow_mut(), 64u32)) }.expect("launches");
                }),
            ),
            (
                "3 buffers and a number: kernel!",
                Box::new(|| {
                    // SAFETY: 64 threads, 64 elements.
                    unsafe { typed.launch(&stream, config, &a, &b, &mut **c.borrow_mut(), 64) }.expect("launches");
                }),
            ),
        ],
    );
    report(
        rounds,
        &stream,
        &mut [
            (
                "current device: hipGetDevice",
                Box::new(|| {
                    let mut index = 0;
                    // SAFETY: `index` is valid for a write.
                    assert_eq!(unsafe { hipGetDevice(&mut index) }, hipSuccess);
                    black_box(index);
                }),
            ),
            ("current device: Device::current", Box::new(|| drop(black_box(Device::current())))),
        ],
    );
    Ok(())
}

fn launch_raw(function: hipFunction_t, stream: hipStream_t, arguments: &mut [*mut std::ffi::c_void]) {
    let arguments = if arguments.is_empty() { ptr::null_mut() } else { arguments.as_mut_ptr() };
    // SAFETY: function and stream are alive, and the arguments are the kernel's.
    let status = unsafe { hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, arguments, ptr::null_mut()) };
    assert_eq!(status, hipSuccess);
}
