//! Shared code of the examples: opens a device, and loads kernels compiled for it.

use hip::{Backend, Device, Module};
use hiprtc::{Origin, Program};

/// Anything that can go wrong in an example.
pub type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// An example's kernels: their source, and the same compiled for several architectures.
pub struct Kernels {
    /// Name of the source file.
    pub name: &'static str,
    /// HIP C++ source.
    pub source: &'static str,
    /// Bundle of code objects, made from the source by `cargo xtask kernels`.
    pub bundle: &'static [u8],
}

/// The [`Kernels`] of one file in `examples/kernels/`.
#[macro_export]
macro_rules! kernels {
    ($name:literal) => {
        $crate::Kernels {
            name: concat!($name, ".hip"),
            source: include_str!(concat!("kernels/", $name, ".hip")),
            bundle: include_bytes!(concat!("kernels/", $name, ".hipfb")),
        }
    };
}

/// Returns the first GPU, of AMD's, or of NVIDIA's in a build with the feature `nvidia`; or else the software GPU. Prints
/// which one to stderr.
pub fn open_device() -> Result<Device> {
    let backend = hip::select_any_gpu()?;
    let device = Device::get(0)?;
    let properties = device.properties()?;
    match backend {
        Backend::Sim if std::env::var_os("HIP_RS_BACKEND").is_some_and(|choice| choice == "sim") => {
            eprintln!("Running on the software GPU ({}), as HIP_RS_BACKEND says.", properties.arch)
        }
        Backend::Sim => eprintln!("No GPU is available: running on the software GPU ({}).", properties.arch),
        _ => eprintln!("Running on {} ({}).", properties.name, properties.arch),
    }
    Ok(device)
}

impl Kernels {
    /// Loads the kernels on `device`: compiled now if a run-time compiler is installed (HIPRTC, or NVRTC for NVIDIA's GPUs),
    /// otherwise from the bundle.
    pub fn load(&self, device: &Device) -> Result<Module> {
        let program = Program::new(self.name, self.source).arch(&device.properties()?.arch);
        let code = hiprtc::compile_or_bundle(&program, self.bundle)?;
        if let Origin::Bundle(_) = code.origin() {
            eprintln!("No run-time compiler is available: using the kernels compiled ahead of time.");
        }
        Ok(code.load(device)?)
    }
}

/// Returns the result of a call, or `None` if the runtime or the device does not support it. Prints the reason to
/// stderr: this is not a failure of the example.
pub fn if_supported<T>(result: hip::Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error @ (hip::Error::Unsupported { .. } | hip::Error::NoSymbol { .. })) => {
            eprintln!("Skipped: {error}");
            Ok(None)
        }
        Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => {
            eprintln!("Skipped: {error}");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the largest relative difference between the computed and the expected values; NaN if a computed value is
/// NaN.
pub fn max_relative_error(got: &[f32], want: impl IntoIterator<Item = f64>) -> f64 {
    got.iter()
        .zip(want)
        .map(|(&got, want)| (f64::from(got) - want).abs() / want.abs().max(f64::MIN_POSITIVE))
        .fold(0.0, larger)
}

/// Returns the larger of the two, or NaN if one of them is NaN. `f64::max` would drop the NaN.
pub fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Returns a repeatable stream of pseudo-random numbers in [0, 1). It saves the examples a dependency.
pub fn numbers(seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40) as f32 / (1 << 24) as f32
    })
}

/// Returns an error unless the result is right.
pub fn check(right: bool, what: impl std::fmt::Display) -> Result {
    if right { Ok(()) } else { Err(format!("wrong result: {what}").into()) }
}

#[cfg(test)]
mod tests {
    /// A NaN among the results must not count as a small error.
    #[test]
    fn what_is_not_a_number_is_no_small_error() {
        let error = super::max_relative_error(&[1.0, f32::NAN, 3.0], [1.0, 2.0, 3.0]);
        assert!(error.is_nan(), "{error}");
        let error = super::max_relative_error(&[1.0, 2.5, 3.0], [1.0, 2.0, 3.0]);
        assert_eq!(error, 0.25);
    }
}

/// README's program compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
