//! Measures the cache: a compilation without it, with AMD's own cache, and from it; and the lookup of a large source
//! compared with hashing it.
//!
//! Run `cargo bench -p hiprtc` with ROCm's HIPRTC. All variants alternate within one run; the figures are medians of
//! `ROUNDS`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use hiprtc::cache::{self, Cache};
use hiprtc::{Origin, Program};

const ROUNDS: usize = 15;
const SOURCE: &str = r#"
extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"#;
/// Size of the large source in bytes.
const LARGE: usize = 100 << 10;

fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = black_box(work());
    (start.elapsed(), result)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    if let Err(error) = hiprtc::available() {
        println!("SKIPPED: {error}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    cache::set(Some(Cache::at(folder.path())));
    // Comgr has a cache of its own; its variable is read when Comgr starts.
    let theirs = std::env::var("AMD_COMGR_CACHE").as_deref() != Ok("0");
    let small = Program::new("saxpy.hip", SOURCE).arch("gfx90a");
    let filler = "// A comment as long as a line of source text is, again and again, until there is enough of it.\n";
    let large = Program::new("large.hip", format!("{SOURCE}{}", filler.repeat(LARGE / filler.len()))).arch("gfx90a");
    let text = vec![b'x'; LARGE];
    for program in [&small, &large] {
        program.compile().expect("it compiles");
    }
    let (mut cold, mut cached, mut lookup, mut hash) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        cold.push(time(|| small.clone().uncached().compile().expect("it compiles")).0);
        for (program, times) in [(&small, &mut cached), (&large, &mut lookup)] {
            let (took, code) = time(|| program.compile().expect("it is there"));
            assert!(matches!(code.origin(), Origin::Cached));
            times.push(took);
        }
        hash.push(time(|| blake3::hash(&text)).0);
    }
    let [cold, cached, lookup, hash] = [cold, cached, lookup, hash].map(median);
    let how = if theirs { "with Comgr's own cache" } else { "without Comgr's own cache" };
    println!("compiling {how}: {cold:?}");
    println!("from the cache: {cached:?}, {:.0} times as fast", cold.as_secs_f64() / cached.as_secs_f64());
    println!("a source of {LARGE} bytes from the cache: {lookup:?}, of which its hash is {hash:?}");
}
