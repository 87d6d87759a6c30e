//! Kernels whose names and parameters could collide with names in a macro, and signatures that do not match the code.
//! Runs on the software GPU directly, or with AMD's HIP.

use hip::{Device, DeviceBuffer, Error, LaunchConfig, Stream};
use hip_kernel::host::Printed;
use hip_kernel_testing::kernels::names::{self, shadows};
use hip_kernel_testing::kernels_code;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

struct Gpu {
    device: Device,
    stream: Stream,
    kernels: hip_kernel::Kernels,
}

fn gpu() -> Result<Gpu> {
    hip::sim_if_no_gpu()?;
    let device = Device::get(0)?;
    Ok(Gpu { device, stream: Stream::new(&device)?, kernels: kernels_code().load(&device)? })
}

/// Each argument arrives in the parameter of the same name.
#[test]
fn parameters_keep_their_names() -> Result {
    let Gpu { device, stream, kernels } = gpu()?;
    let one = LaunchConfig::new(1, 64);
    let x = DeviceBuffer::from_slice(&device, &[1u32, 2, 3])?;
    let mut long = DeviceBuffer::<u64>::zeroed(&device, 3)?;
    names::Parameters::load(&kernels)?.launch(&stream, one, &x, 1, 2, 3, 4, 5, 6, 7, &mut long)?;
    assert_eq!(long.to_vec()?, [6_543_211, 6_543_212, 6_543_213]);
    let mut y = DeviceBuffer::<u32>::zeroed(&device, 3)?;
    let error = names::Match::load(&kernels)?.launch(&stream, one, x.slice(..2)?, 1, 1, &mut y).unwrap_err();
    assert!(error.to_string().contains("`type` has 2 elements and `loop` 3"), "{error}");
    let kernel = names::Match::load(&kernels)?;
    kernel.launch(&stream, one, &x, 3, 5, &mut y)?;
    assert_eq!((y.to_vec()?, names::Match::NAME), (vec![16, 17, 18], "match"));
    names::Widths::load(&kernels)?.launch(&stream, one, &mut y, 3, 1, 2, 3, 4, 5, 6)?;
    assert_eq!(y.to_vec()?, [654_321; 3]);
    names::Start::load(&kernels)?.launch(&stream, one, &mut y)?;
    assert_eq!(y.to_vec()?, [1, 2, 3]);
    let mut out = Printed::new(&device, 64)?;
    names::KernelSelf::load(&kernels)?.launch(&stream, one, &mut y, 77, &mut out)?;
    assert_eq!((y.to_vec()?, out.take()?.lines), (vec![77, 78, 79], vec!["line 77 4d".to_owned()]));
    Ok(())
}

#[test]
fn items_of_a_module_hide_no_others() -> Result {
    let Gpu { device, stream, kernels } = gpu()?;
    let pair = shadows::Pair { r#type: 1000, usize: 7, other: 9 };
    let pairs = DeviceBuffer::from_slice(&device, &[pair])?;
    let mut y = DeviceBuffer::<f32>::zeroed(&device, 64)?;
    let kernel = shadows::Vec::load(&kernels)?;
    for (mode, add) in [(shadows::Mode::None, 0.5), (shadows::Mode::Some, 0.0)] {
        kernel.launch(&stream, LaunchConfig::new(1, 64), &pairs, 0.25, mode, 64, &mut y)?;
        let want: Vec<f32> = (0..64).map(|i| 0.25 + add + (63 - i + 1100) as f32 + 16.0).collect();
        assert_eq!(y.to_vec()?, want);
    }
    let error = kernel.launch(&stream, LaunchConfig::new(1, 64), &pairs, 0.25, shadows::Mode::None, 1 << 20, &mut y);
    assert!(matches!(error, Err(Error::Geometry { .. })), "{error:?}");
    Ok(())
}

#[test]
fn macros_by_example_write_kernels() -> Result {
    let Gpu { device, stream, kernels } = gpu()?;
    let pair = shadows::Pair { r#type: 1000, usize: 0, other: 0 };
    let (x, pairs) = (DeviceBuffer::from_slice(&device, &[1u32, 2])?, DeviceBuffer::from_slice(&device, &[pair])?);
    let (mut y, mut z) = (DeviceBuffer::<u32>::zeroed(&device, 2)?, DeviceBuffer::<f64>::zeroed(&device, 2)?);
    let kernel = names::ByExample::<f64>::load(&kernels)?;
    kernel.launch(&stream, LaunchConfig::new(1, 64), &x, pair, &pairs, 5, &mut y, &mut z)?;
    assert_eq!((y.to_vec()?, z.to_vec()?), (vec![2006, 2007], vec![0.0, 1.0]));
    assert_eq!(names::ByExample::<f32>::NAME, "by_example_f32");
    Ok(())
}

/// Signatures that do not match the code, as with a stale bundle, or with a type that the device interprets
/// differently.
#[test]
fn stale_signatures_do_not_load() -> Result {
    let gpu = gpu()?;
    let stale = |name: &str, loaded: hip::Result<()>, part: &str| match loaded {
        Err(Error::Stale { kernel, reason }) if kernel == name => {
            assert!(reason.contains(part) && reason.contains("HIP_KERNEL_BUILD=update cargo build -p"), "{reason}");
        }
        other => panic!("{name}: {other:?}"),
    };
    use changed::kernels::names::{Match, Parameters, Start, Widths, shadows};
    stale("start", Start::load(&gpu.kernels).map(drop), "source has changed");
    stale("parameters", Parameters::load(&gpu.kernels).map(drop), "`same_len(x, y)` in `#[kernel]`");
    stale("match", Match::load(&gpu.kernels).map(drop), "parameter `r#async`");
    stale(
        "widths",
        Widths::load(&gpu.kernels).map(drop),
        "compiled with nothing in `#[kernel]`, the signature has `unsafe`",
    );
    stale("vec", shadows::Vec::load(&gpu.kernels).map(drop), "the code has another type of this name");
    Ok(())
}

/// The same names after changes of the source.
#[allow(dead_code, unreachable_pub, unused_variables, unused_mut, non_camel_case_types, elided_lifetimes_in_paths)]
mod changed {
    pub mod kernels {
        pub mod names {
            use hip_kernel::prelude::*;

            #[kernel]
            pub fn parameters(
                x: &[u32],
                n0: u64,
                stream: u64,
                config: u64,
                needs: u64,
                p0: u64,
                place_of_panics: u64,
                _: u64,
                mut y: DisjointSlice<u64>,
            ) {
            }

            /// The same source except for `unsafe`.
            #[kernel]
            pub unsafe fn widths(
                mut y: DisjointGrid<u32>,
                y_width: u32,
                w0: u32,
                module: u32,
                kernel: u32,
                args: u32,
                self_: u32,
            ) {
                y.set(|_, _| y_width + 10 * w0 + 100 * module + 1000 * kernel + 10_000 * args + 100_000 * self_);
            }

            #[kernel(same_len(r#type, r#loop))]
            pub fn r#match(r#type: &[u32], r#async: i32, r#gen: u32, mut r#loop: DisjointSlice<u32>) {}

            #[kernel]
            pub fn start(mut y: DisjointSlice<u32>) {
                y.set(|i| i as u32 + 2);
            }

            pub mod shadows {
                use hip_kernel::prelude::*;

                pub type u64 = f32;
                pub type usize = u16;
                pub const SHARED_0: ::core::primitive::usize = 64;

                /// Two fields of the same type are swapped.
                #[derive(Clone, Copy, DeviceCopy)]
                #[repr(C)]
                pub struct Pair {
                    pub r#type: u32,
                    pub other: u16,
                    pub usize: usize,
                }

                #[derive(Clone, Copy, DeviceCopy)]
                #[repr(u8)]
                pub enum Mode {
                    Some = 3,
                    None = 7,
                }

                #[kernel]
                pub fn vec(
                    pairs: &[Pair],
                    x: u64,
                    mode: Mode,
                    first: Shared<[Atomic<u32>; SHARED_0]>,
                    second: SharedSlice<u32>,
                    mut y: DisjointSlice<f32>,
                ) {
                }
            }
        }
    }
}
