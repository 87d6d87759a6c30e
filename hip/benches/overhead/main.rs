//! Overhead of this crate over raw `hip-sys` calls, in one run: launches, calls of other libraries, stream-ordered
//! allocations, copies, and reading the current device.
//!
//! Runs on ROCm's runtime if it sees a GPU (or the software GPU below it: `cargo xtask bench overhead`), else on the
//! embedded one: `cargo bench -p hip --features sim --bench overhead`. The cases of a group take turns, in batches.
//! `call` is the time until a call returns; `done` includes its share of the wait after the batch. Both are medians of
//! many rounds (`ROUNDS`, 100). Each is followed by its ratio to the first case: the median of the ratios within
//! rounds, so that other load of the machine affects both, with the 95% interval of that median. If the machine counts
//! them, the calling thread's instructions follow (the minimum), and their excess over the first case. A word as
//! argument selects groups.

mod counter;

use std::cell::RefCell;
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::time::{Duration, Instant};

use counter::Instructions;
use hip::interop::{Tracked, Uses};
use hip::sys::{
    hipError_t, hipFree, hipFreeAsync, hipFunction_t, hipGetDevice, hipMalloc, hipMallocAsync, hipMemcpy,
    hipMemcpyAsync, hipMemcpyDeviceToHost, hipMemcpyHostToDevice, hipModuleLaunchKernel, hipStream_t, hipStreamQuery,
    hipStreamSynchronize, hipSuccess,
};
use hip::{Device, DeviceBuffer, LaunchConfig, Module, PinnedBuffer, Stream};

const CODE: &[u8] = include_bytes!("../../tests/kernels/kernels.gfx90a.co");

hip::kernel! {
    struct Empty: fn empty();
    struct VectorAdd: fn vector_add(a: *const f32, b: *const f32, c: *mut f32, n: u32);
}

/// A case: its name, and one call.
type Case<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Measurements of a case per call, one for each round: nanoseconds, and instructions.
#[derive(Default)]
struct Figures {
    call: Vec<f64>,
    /// Includes the share of the wait for the device after the batch.
    done: Vec<f64>,
    instructions: Vec<u64>,
}

/// Returns the median, and the interval that contains it with a probability of 95% for any distribution.
fn median(mut figures: Vec<f64>) -> (f64, f64, f64) {
    figures.sort_by(f64::total_cmp);
    let count = figures.len() as f64;
    let reach = 0.98 * count.sqrt();
    let at = |place: f64| figures[(place.max(0.0) as usize).min(figures.len() - 1)];
    (at(count / 2.0), at(count / 2.0 - reach), at((count / 2.0 + reach).ceil()))
}

/// Settings for running groups.
struct Bench<'a> {
    stream: &'a Stream,
    rounds: u32,
    filters: Vec<String>,
    instructions: Option<Instructions>,
}

impl Bench<'_> {
    /// Runs a group in batches of `batch` calls. The other cases are compared with the first.
    fn group(&mut self, name: &str, batch: u32, cases: &mut [Case<'_>]) {
        if !self.filters.is_empty() && !self.filters.iter().any(|filter| name.contains(filter.as_str())) {
            return;
        }
        println!("{name}");
        let results = self.measure(batch, cases);
        for ((name, _), figures) in cases.iter().zip(&results) {
            print!("  {name:<32}");
            for (what, own, first) in
                [("call", &figures.call, &results[0].call), ("done", &figures.done, &results[0].done)]
            {
                let ratios = own.iter().zip(first).map(|(own, first)| own / first).collect();
                let (time, (ratio, low, high)) = (median(own.clone()).0, median(ratios));
                print!(" {what} {time:>9.1} ns {ratio:>6.3} ({low:.3} to {high:.3})  ");
            }
            let least = |figures: &Figures| figures.instructions.iter().min().copied();
            match (least(figures), least(&results[0])) {
                (Some(own), Some(first)) => println!(" {own:>6} instructions {:>+5}", own as i64 - first as i64),
                _ => println!(),
            }
        }
    }

    fn measure(&mut self, batch: u32, cases: &mut [Case<'_>]) -> Vec<Figures> {
        let mut figures: Vec<Figures> = cases.iter().map(|_| Figures::default()).collect();
        let each = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(batch);
        for _ in 0..self.rounds {
            for (figures, (_, case)) in figures.iter_mut().zip(&mut *cases) {
                let before = self.instructions.as_mut().map(Instructions::read);
                let start = Instant::now();
                for _ in 0..batch {
                    case();
                }
                figures.call.push(each(start.elapsed()));
                let after = self.instructions.as_mut().map(Instructions::read);
                self.stream.synchronize().expect("the work is well");
                figures.done.push(each(start.elapsed()));
                if let (Some(before), Some(after)) = (before, after) {
                    figures.instructions.push((after - before) / u64::from(batch));
                }
            }
        }
        figures
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
    let stream = Stream::new(&device)?;
    let mut bench = Bench {
        stream: &stream,
        rounds: std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(100),
        filters: std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect(),
        instructions: Instructions::start(),
    };
    launches(&mut bench, &device)?;
    library_calls(&mut bench, &device)?;
    allocations(&mut bench, &device);
    for elements in [64, 256 << 10] {
        copies(&mut bench, &device, elements)?;
    }
    bench.group(
        "current device",
        200,
        &mut [
            (
                "hipGetDevice",
                Box::new(|| {
                    let mut index = 0;
                    // SAFETY: `index` is valid for a write.
                    expect(unsafe { hipGetDevice(&mut index) });
                    black_box(index);
                }),
            ),
            ("Device::current", Box::new(|| drop(black_box(Device::current())))),
        ],
    );
    Ok(())
}

fn launches(bench: &mut Bench<'_>, device: &Device) -> Result<(), hip::Error> {
    let (stream, config) = (bench.stream, LaunchConfig::new(1, 64));
    let module = Module::load(device, CODE)?;
    let (empty, typed) = (module.kernel("empty")?, Empty::load(&module)?);
    let raw = empty.as_raw();
    bench.group(
        "launch: an empty kernel",
        200,
        &mut [
            ("hipModuleLaunchKernel", Box::new(|| launch_raw(raw, stream.as_raw(), &mut []))),
            (
                "Kernel::launch",
                Box::new(|| {
                    // SAFETY: the kernel does nothing.
                    unsafe { empty.launch(stream, config, ()) }.expect("launches");
                }),
            ),
            (
                "kernel!",
                Box::new(|| {
                    // SAFETY: the kernel does nothing.
                    unsafe { typed.launch(stream, config) }.expect("launches");
                }),
            ),
        ],
    );

    let (add, typed) = (module.kernel("vector_add")?, VectorAdd::load(&module)?);
    let (a, b) = (DeviceBuffer::<f32>::zeroed(device, 64)?, DeviceBuffer::<f32>::zeroed(device, 64)?);
    let zeroed = || DeviceBuffer::<f32>::zeroed(device, 64);
    let (raw_c, mut launch_c, mut typed_c) = (zeroed()?, zeroed()?, zeroed()?);
    let c_address = raw_c.as_device_ptr().address();
    let raw = add.as_raw();
    bench.group(
        "launch: 3 buffers and a number",
        200,
        &mut [
            (
                "hipModuleLaunchKernel",
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
                "Kernel::launch",
                Box::new(|| {
                    // SAFETY: 64 threads, 64 elements.
                    unsafe { add.launch(stream, config, (&a, &b, &mut launch_c, 64u32)) }.expect("launches");
                }),
            ),
            (
                "kernel!",
                Box::new(|| {
                    // SAFETY: 64 threads, 64 elements.
                    unsafe { typed.launch(stream, config, &a, &b, &mut typed_c, 64) }.expect("launches");
                }),
            ),
        ],
    );
    Ok(())
}

/// A call of another library with two inputs, an output and a handle: its C function launches a kernel.
fn library_calls(bench: &mut Bench<'_>, device: &Device) -> Result<(), hip::Error> {
    let stream = bench.stream;
    let module = Module::load(device, CODE)?;
    let function = module.kernel("vector_add")?.as_raw();
    let (a, b) = (DeviceBuffer::<f32>::zeroed(device, 64)?, DeviceBuffer::<f32>::zeroed(device, 64)?);
    let (raw_c, mut c) = (DeviceBuffer::<f32>::zeroed(device, 64)?, DeviceBuffer::<f32>::zeroed(device, 64)?);
    let handle = Tracked::new();
    let lib_add = |stream: hipStream_t, a: *const f32, b: *const f32, c: *mut f32| {
        let (mut pointers, mut n) = ([a.cast_mut(), b.cast_mut(), c], 64u32);
        let [x, y, z] = &mut pointers;
        let mut arguments =
            [ptr::from_mut(x).cast(), ptr::from_mut(y).cast(), ptr::from_mut(z).cast(), ptr::from_mut(&mut n).cast()];
        launch_raw(function, stream, &mut arguments);
    };
    let address = |buffer: &DeviceBuffer<f32>| buffer.as_device_ptr().address() as *mut f32;
    bench.group(
        "a library's call: 3 buffers and a handle",
        200,
        &mut [
            (
                "raw stream and pointers",
                Box::new(|| lib_add(stream.as_raw(), address(&a), address(&b), address(&raw_c))),
            ),
            (
                "interop::Uses::call",
                Box::new(|| {
                    let mut uses = Uses::on(stream);
                    let (a, b) = (uses.read("a", &a).expect("is here"), uses.read("b", &b).expect("is here"));
                    let c = uses.write("c", &mut c).expect("is here");
                    uses.tracked(&handle);
                    // SAFETY: 64 threads, 64 elements, on the stream.
                    let called = unsafe {
                        uses.call(|raw| {
                            lib_add(raw, a, b, c);
                            Ok::<_, hip::Error>(())
                        })
                    };
                    called.expect("is called");
                }),
            ),
        ],
    );
    handle.release(|| ());
    Ok(())
}

fn allocations(bench: &mut Bench<'_>, device: &Device) {
    const BYTES: usize = 4096;
    let stream = bench.stream;
    if DeviceBuffer::<u8>::uninit_async(stream, BYTES).is_err() {
        println!("SKIPPED: no stream-ordered memory here");
    } else {
        bench.group(
            "stream-ordered allocation and free",
            200,
            &mut [
                (
                    "hipMallocAsync, hipFreeAsync",
                    Box::new(|| {
                        let mut memory = ptr::null_mut();
                        // SAFETY: the stream is alive, `memory` is valid for a write, and is freed once.
                        unsafe {
                            expect(hipMallocAsync(&mut memory, BYTES, stream.as_raw()));
                            expect(hipFreeAsync(black_box(memory), stream.as_raw()));
                        }
                    }),
                ),
                (
                    "DeviceBuffer::uninit_async",
                    Box::new(|| drop(black_box(DeviceBuffer::<u8>::uninit_async(stream, BYTES)).expect("memory"))),
                ),
            ],
        );
    }
    bench.group(
        "allocation and free",
        20,
        &mut [
            (
                "hipMalloc, hipFree",
                Box::new(|| {
                    let mut memory = ptr::null_mut();
                    // SAFETY: `memory` is valid for a write, and is freed once.
                    unsafe {
                        expect(hipMalloc(&mut memory, BYTES));
                        expect(hipFree(black_box(memory)));
                    }
                }),
            ),
            (
                "DeviceBuffer::uninit",
                Box::new(|| drop(black_box(DeviceBuffer::<u8>::uninit(device, BYTES)).expect("memory"))),
            ),
        ],
    );
}

fn copies(bench: &mut Bench<'_>, device: &Device, elements: usize) -> Result<(), hip::Error> {
    let stream = bench.stream;
    let bytes = elements * size_of::<f32>();
    let batch = if bytes > 65536 { 4 } else { 50 };
    // Few enough that the runtime rarely waits for the first of them before it accepts the last.
    let queued = batch.min(16);
    // The same memory for all cases, because its location affects the time.
    let host = RefCell::new(vec![1.0f32; elements]);
    let mut pinned = PinnedBuffer::<f32>::zeroed(device, elements)?;
    let pinned_address: *mut c_void = pinned.as_mut_slice()?.as_mut_ptr().cast();
    let mut buffer = DeviceBuffer::<f32>::zeroed(device, elements)?;
    let address: *mut c_void = ptr::with_exposed_provenance_mut(buffer.as_device_ptr().address() as usize);
    bench.group(
        &format!("copy: {bytes} bytes to the device"),
        batch,
        &mut [
            (
                "hipMemcpy",
                Box::new(|| {
                    let from = host.borrow().as_ptr().cast();
                    // SAFETY: both sides hold as many bytes.
                    expect(unsafe { hipMemcpy(address, from, bytes, hipMemcpyHostToDevice) });
                }),
            ),
            ("copy_from_slice", Box::new(|| buffer.copy_from_slice(&host.borrow()).expect("a copy"))),
        ],
    );
    // The same guarantees as `copy_from_slice`, in raw calls.
    bench.group(
        &format!("copy: {bytes} bytes to the device, all of them there"),
        batch,
        &mut [
            (
                "hipMemcpy, hipStreamQuery",
                Box::new(|| {
                    let from = host.borrow().as_ptr().cast();
                    // SAFETY: both sides hold as many bytes; null is the default stream, on which the copy is.
                    unsafe {
                        expect(hipMemcpy(address, from, bytes, hipMemcpyHostToDevice));
                        if hipStreamQuery(ptr::null_mut()) != hipSuccess {
                            expect(hipStreamSynchronize(ptr::null_mut()));
                        }
                    }
                }),
            ),
            ("copy_from_slice", Box::new(|| buffer.copy_from_slice(&host.borrow()).expect("a copy"))),
        ],
    );
    bench.group(
        &format!("copy: {bytes} bytes to the host"),
        batch,
        &mut [
            (
                "hipMemcpy",
                Box::new(|| {
                    let to = host.borrow_mut().as_mut_ptr().cast();
                    // SAFETY: both sides hold as many bytes.
                    expect(unsafe { hipMemcpy(to, address, bytes, hipMemcpyDeviceToHost) });
                }),
            ),
            ("copy_to_slice", Box::new(|| buffer.copy_to_slice(&mut host.borrow_mut()).expect("a copy"))),
        ],
    );
    bench.group(
        &format!("copy: {bytes} bytes queued, pinned to the device"),
        queued,
        &mut [
            (
                "hipMemcpyAsync",
                Box::new(|| {
                    // SAFETY: both sides hold as many bytes, until the work is waited for.
                    let status = unsafe {
                        hipMemcpyAsync(address, pinned_address, bytes, hipMemcpyHostToDevice, stream.as_raw())
                    };
                    expect(status);
                }),
            ),
            ("copy_from_pinned_async", Box::new(|| buffer.copy_from_pinned_async(stream, &pinned).expect("a copy"))),
        ],
    );
    bench.group(
        &format!("copy: {bytes} bytes queued, to pinned memory"),
        queued,
        &mut [
            (
                "hipMemcpyAsync",
                Box::new(|| {
                    // SAFETY: both sides hold as many bytes, until the work is waited for.
                    let status = unsafe {
                        hipMemcpyAsync(pinned_address, address, bytes, hipMemcpyDeviceToHost, stream.as_raw())
                    };
                    expect(status);
                }),
            ),
            ("copy_to_pinned_async", Box::new(|| buffer.copy_to_pinned_async(stream, &mut pinned).expect("a copy"))),
        ],
    );
    Ok(())
}

fn launch_raw(function: hipFunction_t, stream: hipStream_t, arguments: &mut [*mut c_void]) {
    let arguments = if arguments.is_empty() { ptr::null_mut() } else { arguments.as_mut_ptr() };
    // SAFETY: function and stream are alive, and the arguments are the kernel's.
    expect(unsafe { hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, arguments, ptr::null_mut()) });
}

fn expect(status: hipError_t) {
    assert_eq!(status, hipSuccess);
}
