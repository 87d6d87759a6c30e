//! RCCL in one process: as many ranks as there are devices. They are GPUs, or software GPUs under `hip-sim run
//! --devices 4`. Every result is held to a reference on the host: to the bit, or where sums are rounded, within the
//! bound of any order of additions.
//!
//! RCCL takes seconds and a gigabyte to load its code: the tests of one process share the ranks.

mod bad_input;
mod calls;
mod groups;
mod lifecycle;
#[cfg(feature = "windows")]
mod memory;
mod moves;
mod reductions;

use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use half::{bf16, f16};
use hip::{Backend, Device, DeviceBuffer, Pod};
use rccl::{Communicator, Config, Reduce};

/// Says that a test is skipped, past libtest's capture.
pub(crate) fn skipped(why: &dyn std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
}

/// The devices, if there are two or more, and RCCL.
pub(crate) fn devices() -> Option<Vec<Device>> {
    if let Err(error) = hip::sim_if_no_gpu() {
        skipped(&error);
        return None;
    }
    if !matches!(hip::backend(), Ok(Backend::Rocm)) || !rccl::is_available() {
        skipped(&"RCCL is not available (cargo xtask rocm fetch 7.2 --with rccl)");
        return None;
    }
    let devices = Device::all().unwrap();
    if devices.len() < 2 {
        skipped(&"there is one device, and two are needed (HIP_SIM_DEVICES=4)");
        return None;
    }
    Some(devices)
}

/// Returns whether the library has configurations, and with them deadlines: all but that of ROCm 5.7.
pub(crate) fn has_deadlines() -> bool {
    rccl::version().unwrap() >= (2, 14, 0)
}

/// All ranks of this process.
pub(crate) struct World {
    pub(crate) devices: Vec<Device>,
    pub(crate) ranks: Vec<Communicator>,
}

impl World {
    pub(crate) fn size(&self) -> usize {
        self.ranks.len()
    }

    /// A buffer on each device, with the elements of a rank.
    pub(crate) fn buffers<T: Pod>(&self, elements: impl Fn(usize) -> Vec<T>) -> Vec<DeviceBuffer<T>> {
        let buffer = |(rank, device)| DeviceBuffer::from_slice(device, &elements(rank)).unwrap();
        self.devices.iter().enumerate().map(buffer).collect()
    }
}

/// The ranks that tests share, one test at a time.
pub(crate) fn world() -> Option<MutexGuard<'static, World>> {
    static WORLD: OnceLock<Option<Mutex<World>>> = OnceLock::new();
    let world = WORLD.get_or_init(|| {
        let devices = devices()?;
        let config = Config::new().timeout(Duration::from_secs(100_000)).name("tests");
        let ranks = Communicator::init_all(&devices, &config).unwrap();
        Some(Mutex::new(World { devices, ranks }))
    });
    world.as_ref().map(|world| world.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A type of numbers, as the reference has them.
pub(crate) trait Number: Reduce + PartialEq + std::fmt::Debug {
    /// The unit roundoff; 0 for integers, which wrap.
    const ROUNDOFF: f64;
    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! numbers {
    ($($t:ty: $roundoff:expr, |$v:ident| $of:expr, |$x:ident| $value:expr;)*) => {$(
        impl Number for $t {
            const ROUNDOFF: f64 = $roundoff;
            fn of($v: f64) -> Self { $of }
            fn value(self) -> f64 { let $x = self; $value }
        }
    )*};
}

numbers! {
    i8: 0.0, |v| v as i8, |x| f64::from(x);
    u8: 0.0, |v| v as u8, |x| f64::from(x);
    i32: 0.0, |v| v as i32, |x| f64::from(x);
    u32: 0.0, |v| v as u32, |x| f64::from(x);
    i64: 0.0, |v| v as i64, |x| x as f64;
    u64: 0.0, |v| v as u64, |x| x as f64;
    f16: 4.9e-4, |v| f16::from_f64(v), |x| x.to_f64();
    bf16: 3.9e-3, |v| bf16::from_f64(v), |x| x.to_f64();
    f32: 6.0e-8, |v| v as f32, |x| f64::from(x);
    f64: 1.2e-16, |v| v, |x| x;
}

/// Repeatable numbers.
pub(crate) fn random(seed: usize) -> impl FnMut() -> u64 {
    let mut state = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}
