//! The in-memory layer of the cache, and launches checked against the source, with a real HIPRTC and a device of any
//! runtime. Without these, each test reports that it is skipped, and why.

#[path = "../common/mod.rs"]
mod common;
mod declared;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{compiler_or_skip, skipped};
use hip::{Device, DeviceBuffer, LaunchConfig, Stream};
use hiprtc::cache::{self, Cache};
use hiprtc::{Error, Loaded, Options, Program};

/// Each launch adds to a variable of the module, and returns the sum: launches of one module share the sum.
const COUNTER: &str = r#"
    __device__ int count = 0;
    extern "C" __global__ void add(int *x) { count += STEP; *x = count; }
    template<typename T> __global__ void seven(T *x) { *x = 7; }
"#;

/// The process has one cache, so tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn start(test: &str) -> Option<(MutexGuard<'static, ()>, tempfile::TempDir, Device)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !compiler_or_skip(test) {
        return None;
    }
    #[cfg(feature = "sim")]
    hip::select_backend(hip::Backend::Sim).unwrap();
    let device = match Device::get(0) {
        Ok(device) => device,
        Err(error) => {
            skipped(&error);
            return None;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    cache::set(Some(Cache::at(folder.path().join("cache"))));
    Some((alone, folder, device))
}

fn program() -> Program {
    Program::new("counter.hip", COUNTER).name_expression("seven<int>").options(Options::new().define("STEP", 1))
}

fn run(loaded: &Loaded, kernel: &str, device: &Device) -> i32 {
    let mut x = DeviceBuffer::<i32>::zeroed(device, 1).unwrap();
    let stream = Stream::new(device).unwrap();
    // SAFETY: the kernel writes the one element.
    unsafe { loaded.kernel(kernel).unwrap().launch(&stream, LaunchConfig::new(1, 1), (&mut x,)).unwrap() };
    x.to_vec().unwrap()[0]
}

fn counts() -> (u64, u64, usize) {
    let stats = cache::current().unwrap().stats();
    (stats.module_hits, stats.module_misses, stats.modules)
}

#[test]
fn the_same_module_is_returned_until_it_is_freed() {
    let Some((_alone, folder, device)) = start("the_same_module_is_returned_until_it_is_freed") else { return };
    let first = program().load(&device).unwrap();
    assert_eq!(run(&first, "add", &device), 1);
    // The module does not come from the disk.
    std::fs::remove_dir_all(folder.path().join("cache")).unwrap();
    let second = program().load(&device).unwrap();
    assert_eq!(run(&second, "add", &device), 2, "the same module");
    assert_eq!(run(&second, "seven<int>", &device), 7);
    assert_eq!(first.lowered_name("seven<int>").unwrap(), second.lowered_name("seven<int>").unwrap());
    assert_eq!(counts(), (1, 1, 1));
    assert!(!folder.path().join("cache").exists());
    let other = program().options(Options::new().define("STEP", 5)).load(&device).unwrap();
    assert_eq!(run(&other, "add", &device), 5);
    assert_eq!(counts(), (1, 2, 2));
    let own = program().uncached().load(&device).unwrap();
    assert_eq!(run(&own, "add", &device), 1, "a module of its own");
    cache::current().unwrap().clear_modules();
    assert_eq!(counts(), (1, 2, 0));
    assert_eq!(run(&program().load(&device).unwrap(), "add", &device), 1, "loaded anew");
    assert_eq!(run(&first, "add", &device), 3, "and what is in use stays");
    cache::disable();
    assert_eq!(run(&program().load(&device).unwrap(), "add", &device), 1);
    assert_eq!(run(&program().load(&device).unwrap(), "add", &device), 1, "not kept");
}

/// A changed header gives another module, and the old one again when the header changes back.
#[test]
fn headers_are_looked_at_again() {
    let Some((_alone, folder, device)) = start("headers_are_looked_at_again") else { return };
    let step = |value: u32| std::fs::write(folder.path().join("step.h"), format!("#define STEP {value}\n")).unwrap();
    let options = Options::new().include_dir(folder.path().to_str().unwrap());
    let program = Program::new("counter.hip", format!("#include <step.h>\n{COUNTER}")).options(options);
    for (value, sum) in [(1, 1), (10, 10), (1, 2), (10, 20)] {
        step(value);
        assert_eq!(run(&program.load(&device).unwrap(), "add", &device), sum);
    }
}

#[test]
fn many_threads_load_once() {
    let Some((_alone, _folder, device)) = start("many_threads_load_once") else { return };
    let loaded: Vec<Loaded> = std::thread::scope(|threads| {
        let all: Vec<_> = (0..8).map(|_| threads.spawn(|| program().load(&device).unwrap())).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(counts(), (7, 1, 1));
    assert_eq!(loaded.iter().map(|one| run(one, "add", &device)).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn what_does_not_load_is_an_error_each_time() {
    let Some((_alone, _folder, device)) = start("what_does_not_load_is_an_error_each_time") else { return };
    for _ in 0..2 {
        let error = Program::new("broken.hip", "nonsense").load(&device).unwrap_err();
        assert!(matches!(error, Error::Compilation { .. }), "{error}");
        let error = program().arch("gfx1100").load(&device).unwrap_err();
        assert!(matches!(error, Error::Hip(_)) && error.to_string().contains("gfx1100"), "{error}");
    }
    assert_eq!(counts(), (0, 4, 0));
    let error = program().load(&device).unwrap().kernel("nothing").unwrap_err();
    assert!(error.to_string().contains("add"), "{error}");
}
