//! Times of AMD's own HIP runtime on the software GPU: from the first call to the end of the first kernel, an empty
//! launch, sgemm.
//!
//! `cargo xtask bench hsa` runs it as a release build. It starts itself again with the libraries of ROCm 7.2 (fetched,
//! with rocBLAS and hipBLAS). The minimum of many rounds is reported. Comgr's cache is as the first round leaves it.

#[cfg(target_os = "linux")]
#[path = "../tests/support/mod.rs"]
mod support;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::process::Command;
    use std::ptr::null_mut;
    use std::time::Instant;

    use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};
    use hip_sys::{hipDeviceSynchronize, hipModuleLaunchKernel, hipSuccess};
    use hipblas_sys::*;

    use super::support::{self, numbers::raw};

    const RELEASE: &str = "7.2";
    const INSIDE: &str = "HSA_SIM_BENCH";
    const CODE: &[u8] =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../hip/tests/kernels/kernels.gfx90a.co"));

    pub(super) fn main() {
        match std::env::var(INSIDE).as_deref() {
            Ok("start") => start(),
            Ok("launch") => launch(),
            Ok("sgemm") => sgemm(),
            _ => outside(),
        }
    }

    fn outside() {
        for (what, rounds, files, text) in [
            ("start", 10, &["libamdhip64.so.7"][..], "first call to the end of the first kernel"),
            ("launch", 3, &["libamdhip64.so.7"], "empty kernel: launch and wait, steady state"),
            ("sgemm", 3, &["libamdhip64.so.7", "libhipblas.so.3", "librocblas.so.5"], "rocBLAS sgemm 512x512x512"),
        ] {
            let times: Option<Vec<f64>> = (0..rounds).map(|_| inside(what, files)).collect();
            // A missing library has been reported already.
            if let Some(least) = times.and_then(|times| times.into_iter().reduce(f64::min)) {
                println!("{text}: {:.1} us (least of {rounds} processes)", least * 1e6);
            }
        }
    }

    /// The seconds that a separate process prints.
    fn inside(what: &str, files: &[&str]) -> Option<f64> {
        let theirs = support::libraries(RELEASE, files)?;
        let ours = support::library_folder();
        let mut command = Command::new(theirs.join("ld-linux-x86-64.so.2"));
        command.arg("--library-path").arg(format!("{}:{}", ours.path().display(), theirs.display()));
        command.arg(std::env::current_exe().expect("this program")).env(INSIDE, what);
        command.env("ROCM_PATH", support::trees().join(RELEASE).join("usr"));
        let output = command.output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let seconds = text.lines().find_map(|line| line.strip_prefix("seconds ")?.parse().ok());
        assert!(seconds.is_some(), "{what}: {text}{}", String::from_utf8_lossy(&output.stderr));
        seconds
    }

    /// The minimum time of several rounds.
    fn least(rounds: usize, mut round: impl FnMut()) {
        let times = (0..rounds).map(|_| {
            let start = Instant::now();
            round();
            start.elapsed().as_secs_f64()
        });
        println!("seconds {}", times.fold(f64::INFINITY, f64::min));
    }

    fn start() {
        least(1, || {
            let device = Device::get(0).expect("a device");
            let module = Module::load(&device, CODE).expect("a module");
            let stream = Stream::new(&device).expect("a stream");
            let mut data = DeviceBuffer::<i32>::zeroed(&device, 256).expect("memory");
            let kernel = module.kernel("store_index").expect("a kernel");
            // SAFETY: 256 threads, each of which stores at its own index.
            unsafe { kernel.launch(&stream, LaunchConfig::new(1, 256), (&mut data,)) }.expect("a launch");
            stream.synchronize().expect("the kernel's end");
        });
    }

    fn launch() {
        const LAUNCHES: usize = 200;
        let (mut module, mut empty) = (null_mut(), null_mut());
        // SAFETY: a whole code object, places for the handles.
        unsafe {
            assert_eq!(hip_sys::hipModuleLoadData(&mut module, CODE.as_ptr().cast()), hipSuccess);
            assert_eq!(hip_sys::hipModuleGetFunction(&mut empty, module, c"empty".as_ptr()), hipSuccess);
        }
        let one = || {
            // SAFETY: a kernel without arguments.
            unsafe {
                let none = null_mut();
                let status = hipModuleLaunchKernel(empty, 1, 1, 1, 64, 1, 1, 0, none, null_mut(), null_mut());
                assert_eq!((status, hipDeviceSynchronize()), (hipSuccess, hipSuccess));
            }
        };
        (0..LAUNCHES).for_each(|_| one());
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = Instant::now();
            (0..LAUNCHES).for_each(|_| one());
            best = best.min(start.elapsed().as_secs_f64() / LAUNCHES as f64);
        }
        println!("seconds {best}");
    }

    fn sgemm() {
        const N: usize = 512;
        let device = Device::get(0).expect("a device");
        let values: Vec<f32> = (0..N * N).map(|n| (n % 257) as f32 / 128.0 - 1.0).collect();
        let (a, b) = (DeviceBuffer::from_slice(&device, &values), DeviceBuffer::from_slice(&device, &values));
        let (a, b) = (a.expect("memory"), b.expect("memory"));
        let c = DeviceBuffer::<f32>::zeroed(&device, N * N).expect("memory");
        let (one, zero, n) = (1.0_f32, 0.0_f32, N as i32);
        let mut handle = null_mut();
        // SAFETY: a place for the handle.
        assert_eq!(unsafe { hipblasCreate(&mut handle) }, HIPBLAS_STATUS_SUCCESS);
        least(10, || {
            let none = HIPBLAS_OP_N;
            // SAFETY: three square matrices of N by N.
            unsafe {
                let status = hipblasSgemm(handle, none, none, n, n, n, &one, raw(&a), n, raw(&b), n, &zero, raw(&c), n);
                assert_eq!((status, hipDeviceSynchronize()), (HIPBLAS_STATUS_SUCCESS, hipSuccess));
            }
        });
    }
}
