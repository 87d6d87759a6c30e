//! Shared by the tests of whole kernels.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod fuzz;
pub(crate) mod image;
pub(crate) mod mutate;
pub(crate) mod object;
pub(crate) mod streams;

use std::sync::Arc;

use amdgpu_sim::{AllocKind, CodeObject, Config, Dispatch, Fault, Gpu, Module, Stats};

/// Runs a test of this program again in a separate process with an address space of its own. False in that process.
pub(crate) fn in_own_process(test: &str) -> bool {
    const INSIDE: &str = "AMDGPU_SIM_TEST_ALONE";
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    // Not `current_exe`: if the program runs under an explicit loader, that returns the loader.
    let mut command = std::process::Command::new(std::env::args_os().next().unwrap());
    let output = command.args(["--exact", test, "--nocapture"]).env(INSIDE, "1").output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{test} in a process of its own: {text}");
    true
}

/// Plain numbers, for buffers and arguments.
pub(crate) trait Plain: Copy + Default {
    fn bytes(self) -> Vec<u8>;
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($t:ty)*) => {$(impl Plain for $t {
        fn bytes(self) -> Vec<u8> {
            self.to_le_bytes().to_vec()
        }
        fn read(bytes: &[u8]) -> Self {
            <$t>::from_le_bytes(bytes.try_into().unwrap())
        }
    })*};
}

plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Device memory with a typed content, freed on drop.
pub(crate) struct Buffer<'g, T> {
    gpu: &'g Gpu,
    pub(crate) address: u64,
    len: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: Plain> Buffer<'_, T> {
    pub(crate) fn get(&self) -> Vec<T> {
        let size = size_of::<T>();
        let mut bytes = vec![0; self.len * size];
        self.gpu.memory().read(self.address, &mut bytes).unwrap();
        bytes.chunks_exact(size).map(T::read).collect()
    }
}

impl<T> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        let _ = self.gpu.memory().free(self.address);
    }
}

pub(crate) fn upload<'g, T: Plain>(gpu: &'g Gpu, data: &[T]) -> Buffer<'g, T> {
    let bytes: Vec<u8> = data.iter().flat_map(|v| v.bytes()).collect();
    let address = gpu.memory().alloc(bytes.len() as u64, 0, AllocKind::Device).unwrap();
    gpu.memory().write(address, &bytes).unwrap();
    Buffer { gpu, address, len: data.len(), of: std::marker::PhantomData }
}

pub(crate) fn zeros<T: Plain>(gpu: &Gpu, len: usize) -> Buffer<'_, T> {
    upload(gpu, &vec![T::default(); len])
}

/// Explicit arguments, each at the offset that C gives it.
#[derive(Default)]
pub(crate) struct Args(pub(crate) Vec<u8>);

impl Args {
    pub(crate) fn with(mut self, bytes: &[u8], align: usize) -> Self {
        self.0.resize(self.0.len().next_multiple_of(align), 0);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn value<T: Plain>(self, value: T) -> Self {
        self.with(&value.bytes(), align_of::<T>())
    }

    pub(crate) fn pointer<T>(self, buffer: &Buffer<'_, T>) -> Self {
        self.value(buffer.address)
    }
}

/// Keeps a code object in a folder with this test's name, if `ROCM_RS_KEEP_CODE` is set: `cargo xtask coverage`
/// collects the instructions that tests run.
fn keep(bytes: &[u8]) {
    let Some(folder) = std::env::var_os("ROCM_RS_KEEP_CODE") else { return };
    let program = std::env::args().next().unwrap_or_default();
    let name = std::path::Path::new(&program).file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    // Cargo appends a hash.
    let folder = std::path::Path::new(&folder).join(name.split('-').next().unwrap_or_default());
    std::fs::create_dir_all(&folder).unwrap();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    std::fs::write(folder.join(format!("{hash:016x}.co")), bytes).unwrap();
}

pub(crate) fn load(gpu: &Gpu, bytes: &[u8]) -> Arc<Module> {
    keep(bytes);
    gpu.load(&CodeObject::parse(bytes).unwrap()).unwrap()
}

pub(crate) fn launch(
    gpu: &Gpu,
    module: &Module,
    name: &str,
    blocks: [u32; 3],
    threads: [u32; 3],
    args: &Args,
) -> Result<Stats, Fault> {
    let kernel = module.kernel(name).unwrap_or_else(|| panic!("no kernel {name}"));
    gpu.launch(&kernel, &args.0, &Dispatch::of_blocks(blocks, threads).unwrap())
}

pub(crate) fn launch_1d(gpu: &Gpu, module: &Module, name: &str, blocks: u32, threads: u32, args: &Args) -> Stats {
    launch(gpu, module, name, [blocks, 1, 1], [threads, 1, 1], args).unwrap_or_else(|fault| panic!("{fault}"))
}

/// A GPU with an instruction budget, so that a kernel cannot hang a test.
pub(crate) fn gpu() -> Gpu {
    Gpu::new(Config { instruction_budget: Some(400_000_000), ..Config::default() })
}

/// A deterministic generator of test data.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Numbers of all sizes, with the corners.
    pub(crate) fn integer(&mut self) -> i64 {
        const CORNERS: [i64; 12] =
            [0, 1, -1, i64::MIN, i64::MAX, 2, -2, 0x7fff_ffff, -0x8000_0000, 0xffff_ffff, 63, 64];
        match self.next() % 4 {
            0 => CORNERS[self.next() as usize % CORNERS.len()],
            _ => self.next() as i64 >> (self.next() % 64),
        }
    }
}
