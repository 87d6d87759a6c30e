// Tests of one level, whose module is imported as `sys`.

use sys::*;
use sys_testing::child::{run_with_libraries, run_with_stand_in, tree};

const FILES: [&str; 2] = ["libhiprand.so.1", "librocrand.so.1"];

/// The HIP functions that host generators need: host memory, and calls in the order of a stream.
const HIP: &str = r#"
#include <stdlib.h>
#include <string.h>
int hipGetDevice(int *device) { *device = 0; return 0; }
int hipGetLastError(void) { return 0; }
int hipGetStreamDeviceId(void *stream) { return 0; }
int hipDeviceSynchronize(void) { return 0; }
int hipMalloc(void **place, size_t size) { *place = malloc(size); return 0; }
int hipHostMalloc(void **place, size_t size, unsigned flags) { *place = malloc(size); return 0; }
int hipFree(void *place) { free(place); return 0; }
int hipHostFree(void *place) { free(place); return 0; }
int hipMemcpy(void *to, const void *from, size_t size, int kind) { memcpy(to, from, size); return 0; }
int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) { memcpy(to, from, size); return 0; }
int hipLaunchHostFunc(void *stream, void (*function)(void *), void *data) { function(data); return 0; }
/* The name of the architecture is at 1160 of 1472 bytes. */
int hipGetDevicePropertiesR0600(char *properties, int device) {
    memset(properties, 0, 1472);
    strcpy(properties + 1160, "gfx90a");
    return 0;
}
"#;

/// Runs the test again in a child process, without a GPU or with a stand-in for HIP. Returns `false` in the child,
/// where the test must continue.
fn run_in_child(test: &str, stand_in: bool) -> bool {
    let path = format!("{}::{test}", module_path!());
    if stand_in && API_LEVEL < (6, 0) {
        sys_testing::skipped("hipRAND of ROCm 5.7 has no host generators");
        return true;
    }
    match stand_in {
        true => run_with_stand_in(&path, tree(API_LEVEL), &FILES, HIP),
        false => run_with_libraries(&path, tree(API_LEVEL), &FILES),
    }
}

/// A generator on the host.
struct Generator(hiprandGenerator_t);

impl Generator {
    fn new(kind: hiprandRngType_t) -> Self {
        let mut generator = sys_testing::nowhere();
        // SAFETY: `generator` is valid for the write.
        assert_eq!(unsafe { hiprandCreateGeneratorHost(&mut generator, kind) }, HIPRAND_STATUS_SUCCESS);
        assert!(!generator.is_null());
        Self(generator)
    }

    fn seeded(kind: hiprandRngType_t, seed: u64, offset: u64) -> Self {
        let generator = Self::new(kind);
        // SAFETY: the generator is alive.
        unsafe {
            assert_eq!(hiprandSetPseudoRandomGeneratorSeed(generator.0, seed), HIPRAND_STATUS_SUCCESS);
            assert_eq!(hiprandSetGeneratorOffset(generator.0, offset), HIPRAND_STATUS_SUCCESS);
        }
        generator
    }

    fn integers(&self, count: usize) -> Vec<u32> {
        let mut numbers = vec![0; count];
        // SAFETY: the generator is alive, and the vector is valid for `count` numbers.
        assert_eq!(unsafe { hiprandGenerate(self.0, numbers.as_mut_ptr(), count) }, HIPRAND_STATUS_SUCCESS);
        numbers
    }

    /// Returns the output of a function that gets room for twice `count` values, all `canary`; the second half must
    /// keep its canaries.
    fn values<T: Copy + PartialEq>(
        &self,
        canary: T,
        count: usize,
        generate: impl FnOnce(*mut T) -> hiprandStatus_t,
    ) -> Vec<T> {
        let mut values = vec![canary; 2 * count];
        assert_eq!(generate(values.as_mut_ptr()), HIPRAND_STATUS_SUCCESS);
        assert!(values[count..].iter().all(|value| *value == canary), "more was written");
        values.truncate(count);
        values
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // SAFETY: the generator is alive, and not used afterwards.
        assert_eq!(unsafe { hiprandDestroyGenerator(self.0) }, HIPRAND_STATUS_SUCCESS);
    }
}

#[test]
fn version_and_statuses() {
    if run_in_child("version_and_statuses", false) {
        return;
    }
    let mut version = 0;
    // SAFETY: `version` is valid for the write; null is an error that hipRAND reports.
    unsafe {
        assert_eq!(hiprandGetVersion(&mut version), HIPRAND_STATUS_SUCCESS);
        assert_ne!(hiprandGetVersion(std::ptr::null_mut()), HIPRAND_STATUS_SUCCESS);
    }
    let major = version / 100_000;
    let expected = match tree(API_LEVEL) {
        "5.7" => 2..=2,
        "6.4" => 2..=3,
        _ => 3..=4,
    };
    assert!(expected.contains(&major), "{version}");

    let mut generator = sys_testing::nowhere();
    // SAFETY: `generator` is valid for the write.
    let (host, device) = unsafe {
        (
            hiprandCreateGeneratorHost(&mut generator, hiprandRngType_t(9999)),
            hiprandCreateGenerator(&mut generator, hiprandRngType_t(9999)),
        )
    };
    let unknown = if API_LEVEL < (6, 0) { HIPRAND_STATUS_NOT_IMPLEMENTED } else { HIPRAND_STATUS_TYPE_ERROR };
    assert_eq!((host, device), (unknown, HIPRAND_STATUS_TYPE_ERROR));
}

/// Pointers to tables in the library: arrays behind pointers have C's layout.
#[test]
fn tables_are_the_published_ones() {
    use hiprand_sys::*;
    if API_LEVEL < (6, 2) {
        return sys_testing::skipped("hipRAND of ROCm 5.7 does not give its tables away");
    }
    if run_in_child("tables_are_the_published_ones", false) {
        return;
    }
    let mut vectors = sys_testing::nowhere();
    let mut constants = std::ptr::null();
    // SAFETY: both are valid for the write.
    unsafe {
        let status = hiprandGetDirectionVectors32(&mut vectors, HIPRAND_DIRECTION_VECTORS_32_JOEKUO6);
        assert_eq!(status, HIPRAND_STATUS_SUCCESS);
        assert_eq!(hiprandGetScrambleConstants32(&mut constants), HIPRAND_STATUS_SUCCESS);
    }
    // Sobol's first dimension is one bit after the other.
    // SAFETY: the library has vectors of 20,000 dimensions.
    let [first, second] = unsafe { [*vectors, *vectors.add(1)] };
    assert_eq!(first, std::array::from_fn(|bit| 1 << (31 - bit)));
    // The second has x + 1 as its polynomial: each vector is the previous one, xor the same shifted.
    assert!(second.windows(2).all(|pair| pair[1] == pair[0] ^ (pair[0] >> 1)) && second[0] == 1 << 31);
    // The first numbers of MT19937 with its default seed, as in ISO C++.
    // SAFETY: the library has as many constants.
    let constants = unsafe { std::slice::from_raw_parts(constants, 3) };
    assert_eq!(constants, [3_499_211_612, 581_869_302, 3_890_346_734]);
}

/// Equal seeds give equal numbers, other seeds other numbers, and an offset skips.
#[test]
fn host_generators_are_determined_by_seed_and_offset() {
    if run_in_child("host_generators_are_determined_by_seed_and_offset", true) {
        return;
    }
    for kind in [HIPRAND_RNG_PSEUDO_PHILOX4_32_10, HIPRAND_RNG_PSEUDO_XORWOW, HIPRAND_RNG_PSEUDO_MRG32K3A] {
        let numbers = Generator::seeded(kind, 42, 0).integers(4096);
        assert_eq!(numbers, Generator::seeded(kind, 42, 0).integers(4096), "{kind:?}");
        assert_ne!(numbers, Generator::seeded(kind, 43, 0).integers(4096), "{kind:?}");
        // Half of all bits are set, within six standard deviations (181 each).
        let ones: u32 = numbers.iter().map(|number| number.count_ones()).sum();
        assert!(ones.abs_diff(65536) < 6 * 181, "{kind:?}: {ones}");
    }
    let philox = |offset| Generator::seeded(HIPRAND_RNG_PSEUDO_PHILOX4_32_10, 0, offset).integers(64);
    // The first known answer of Random123's own tests for philox4x32-10: counter and key are zero.
    assert_eq!(philox(0)[..4], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    assert_eq!(philox(0)[8..], philox(8)[..56]);
}

/// Sobol's first dimension in Gray code order: halves, then quarters, then eighths, each once.
#[test]
fn host_quasi_random_numbers_are_sobols() {
    if run_in_child("host_quasi_random_numbers_are_sobols", true) {
        return;
    }
    let generator = Generator::new(HIPRAND_RNG_QUASI_SOBOL32);
    // SAFETY: the generator is alive.
    assert_eq!(unsafe { hiprandSetQuasiRandomGeneratorDimensions(generator.0, 1) }, HIPRAND_STATUS_SUCCESS);
    assert_eq!(generator.integers(8), [0, 4, 6, 2, 3, 7, 5, 1].map(|eighths: u32| eighths << 29));
}

/// A function writes as many values of its type as requested; halves have 16 bits, also as arguments.
#[test]
fn widths_are_those_of_the_types() {
    if run_in_child("widths_are_those_of_the_types", true) {
        return;
    }
    const COUNT: usize = 1024;
    let generator = Generator::seeded(HIPRAND_RNG_PSEUDO_PHILOX4_32_10, 7, 0);
    let to = generator.0;

    // SAFETY: here and below: the generator is alive, and `values` provides room for twice as many values of the type.
    let halves = generator.values(0xbeef, COUNT, |at| unsafe { hiprandGenerateUniformHalf(to, at, COUNT) });
    // In (0, 1]: one is 0x3c00, and smaller positive halves have smaller bit patterns.
    assert!(halves.iter().all(|half| (1..=0x3c00).contains(half)), "{halves:x?}");

    let (mean, deviation) = (0x4900 /* 10 */, 0x3c00 /* 1 */);
    // SAFETY: as above.
    let generate = |at| unsafe { hiprandGenerateNormalHalf(to, at, COUNT, mean, deviation) };
    let halves = generator.values(0xbeef, COUNT, generate);
    // All between 2 and 18.
    assert!(halves.iter().all(|half| (0x4000..=0x4c80).contains(half)), "{halves:x?}");

    // SAFETY: as above.
    let doubles = generator.values(-1.0, COUNT, |at| unsafe { hiprandGenerateUniformDouble(to, at, COUNT) });
    assert!(doubles.iter().all(|double| *double > 0.0 && *double <= 1.0), "{doubles:?}");

    // SAFETY: as above.
    let counts = generator.values(u32::MAX, COUNT, |at| unsafe { hiprandGeneratePoisson(to, at, COUNT, 10.0) });
    let mean = f64::from(counts.iter().sum::<u32>()) / COUNT as f64;
    assert!((9.4..10.6).contains(&mean), "{mean}");
}
