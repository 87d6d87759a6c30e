//! Launches of code that was compiled from source are checked against the source's declarations.

use hip::graph::Graph;
use hip::{Device, DeviceBuffer, DevicePtr, Event, Kernel, LaunchConfig, ManagedBuffer, Stream};
use hiprtc::{Options, Origin, Program};

use super::start;

const SOURCE: &str = r#"
    typedef unsigned int count;
    struct Particle { float x, y; };
    extern "C" __global__ void twice(float *x, count n) {
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] *= 2.0f;
    }
    extern "C" __global__ void sum(const float *__restrict__ x, float const *y, float *const z, float4 by) {
        z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x] + by.w;
    }
    extern "C" __global__ void moved(Particle *p, const void *bytes, unsigned char *flags) {
        p[threadIdx.x].x += ((const char *)bytes)[0];
        flags[threadIdx.x] = 1;
    }
    __global__ void mangled(double *x, size_t n) { if (threadIdx.x < n) x[threadIdx.x] = 5; }
    template<typename T> __global__ void fill(T *out, const T *in, float4 *, T by) { out[threadIdx.x] = in[threadIdx.x] + by; }
"#;

/// One block with as many threads as the buffers have elements.
fn one() -> LaunchConfig {
    LaunchConfig::new(1, 4)
}

/// Returns the message of a launch's error, which must be about an argument.
fn refused(result: hip::Result<()>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error, hip::Error::Argument { .. }), "{error}");
    error.to_string()
}

fn assert_parts(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "{part} in {text}"));
}

/// Each mistake is rejected for every origin of the code and every kind of launch; nothing is queued, and correct
/// launches run.
#[test]
fn mistakes_are_refused_by_the_name_of_the_parameter() {
    let Some((_alone, _folder, device)) = start("mistakes_are_refused_by_the_name_of_the_parameter") else { return };
    let program = Program::new("m.hip", SOURCE).name_expression("fill<float>");
    let loaded = program.load(&device).unwrap();
    let (compiled, cached) = (program.clone().uncached().compile().unwrap(), program.compile().unwrap());
    assert!(matches!((compiled.origin(), cached.origin()), (Origin::Compiled, Origin::Cached)));
    for module in [loaded.module().clone(), compiled.load(&device).unwrap(), cached.load(&device).unwrap()] {
        twice(&device, &module.kernel("twice").unwrap());
    }
    let stream = Stream::new(&device).unwrap();
    let kernel = |name: &str| loaded.kernel(name).unwrap();
    let x = DeviceBuffer::from_slice(&device, &[1.0_f32; 4]).unwrap();
    let mut z = DeviceBuffer::from_slice(&device, &[0.0_f32; 4]).unwrap();
    let wide = DeviceBuffer::<f64>::zeroed(&device, 4).unwrap();
    let mut wide_too = DeviceBuffer::<f64>::zeroed(&device, 4).unwrap();
    let by = [0.0, 0.0, 0.0, 0.5_f32];
    // SAFETY: in launches that are not rejected, the buffers have four elements, as many as there are threads.
    unsafe {
        let sum = kernel("sum");
        let text = refused(sum.launch(&stream, one(), (&x, &wide, &mut z, by)));
        assert_parts(&text, &["argument 2 of sum(", "float const *y", "memory of f32", "a buffer of f64", "cast"]);
        let text = refused(sum.launch(&stream, one(), (&x, &x, &z, by)));
        assert_parts(&text, &["argument 3 of sum(", "float *const z", "may write", "&mut"]);
        let text = refused(sum.launch(&stream, one(), (&x, &x, &mut z, [1_u32; 4])));
        assert_parts(&text, &["argument 4 of sum(", "float4 by", "[u32; 4]"]);
        sum.launch(&stream, one(), (&x, &x, &mut z, by)).unwrap();
        assert_eq!(z.to_vec().unwrap(), [2.5; 4]);
        // Structures and bytes take any elements; a buffer that is written must still be `&mut`.
        let moved = kernel("moved");
        let mut particles = DeviceBuffer::from_slice(&device, &[[1.0_f32; 2]; 4]).unwrap();
        let mut flags = DeviceBuffer::<i32>::zeroed(&device, 4).unwrap();
        let text = refused(moved.launch(&stream, one(), (&particles, &wide, &mut flags)));
        assert_parts(&text, &["argument 1 of moved(", "Particle *p", "may write"]);
        assert_parts(
            &refused(moved.launch(&stream, one(), (&mut particles, &wide, &flags))),
            &["unsigned char *flags"],
        );
        moved.launch(&stream, one(), (&mut particles, &wide, &mut flags)).unwrap();
        assert_eq!((particles.to_vec().unwrap(), flags.to_vec().unwrap()[0]), (vec![[1.0; 2]; 4], 0x0101_0101));
        let mangled = kernel("_Z7mangledPdm");
        assert_parts(&refused(mangled.launch(&stream, one(), (&mut z, 4_usize))), &["double *x", "memory of f64"]);
        assert_parts(&refused(mangled.launch(&stream, one(), (&mut flags, 4_usize))), &["a buffer of i32"]);
        // The types of a template are those of the instance.
        let fill = kernel("fill<float>");
        assert_parts(
            &refused(fill.launch(&stream, one(), (&z, &x, &mut particles, 1_f32))),
            &["float *out", "may write"],
        );
        let text = refused(fill.launch(&stream, one(), (&mut z, &wide, &mut particles, 1_f32)));
        assert_parts(&text, &["argument 2 of", "const float *in", "memory of f32", "f64"]);
        assert_parts(&refused(fill.launch(&stream, one(), (&mut z, &x, &mut wide_too, 1_f32))), &["argument 3", "f64"]);
        assert_parts(&refused(fill.launch(&stream, one(), (&mut z, &x, &mut particles, 1_u32))), &["float by", "u32"]);
        fill.launch(&stream, one(), (&mut z, &x, &mut particles, 1_f32)).unwrap();
        assert_eq!(z.to_vec().unwrap(), [2.0; 4]);
        let mut wide = wide;
        mangled.launch(&stream, one(), (&mut wide, 4_usize)).unwrap();
        assert_eq!(wide.to_vec().unwrap(), [5.0; 4]);
    }
}

/// All ways to launch `twice`.
fn twice(device: &Device, twice: &Kernel) {
    assert_eq!(twice.info().to_string(), "twice(float *x, count n)");
    let stream = Stream::new(device).unwrap();
    let mut x = DeviceBuffer::from_slice(device, &[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let mut wide = DeviceBuffer::from_slice(device, &[1.0_f64; 4]).unwrap();
    let mut bytes = DeviceBuffer::<u8>::zeroed(device, 16).unwrap();
    let mut managed = ManagedBuffer::from_slice(device, &[1.0_f32; 4]).unwrap();
    let (start, stop) = (Event::new(device).unwrap(), Event::new(device).unwrap());
    let mut graph = Graph::new(device).unwrap();
    // SAFETY: the buffers of launches that are not rejected have four elements.
    unsafe {
        let read_only =
            ["argument 1 of twice(float *x, count n)", "through which it may write", "&mut", "const float *x"];
        assert_parts(&refused(twice.launch(&stream, one(), (&x, 4_u32))), &read_only);
        assert_parts(&refused(twice.launch(&stream, one(), (x.slice(0..4).unwrap(), 4_u32))), &read_only);
        assert_parts(&refused(twice.launch(&stream, one(), (&managed, 4_u32))), &read_only);
        assert_parts(&refused(twice.launch_cooperative(&stream, one(), (&x, 4_u32))), &read_only);
        assert_parts(&refused(twice.launch_timed(&stream, one(), (&x, 4_u32), &start, &stop)), &read_only);
        assert_parts(&refused(graph.add_kernel(&[], twice, one(), (&x, 4_u32)).map(drop)), &read_only);
        let text = refused(twice.launch(&stream, one(), (&mut wide, 4_u32)));
        assert_parts(&text, &["argument 1", "float *x", "memory of f32", "given was a buffer of f64"]);
        assert_parts(&refused(twice.launch(&stream, one(), (&mut bytes, 4_u32))), &["a buffer of u8", "cast"]);
        let pointer = wide.as_device_ptr();
        assert_parts(&refused(twice.launch(&stream, one(), (pointer, 4_u32))), &["a pointer of f64"]);
        let text = refused(twice.launch(&stream, one(), (&mut x, 4_f32)));
        assert_parts(&text, &["argument 2 of twice(", "count n", "u32", "(f32)"]);
        assert_parts(
            &refused(twice.launch(&stream, one(), (&mut x, 4_u64))),
            &["argument 2", "count n, 4 bytes", "u64"],
        );
        assert_eq!(x.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0], "nothing was launched");

        twice.launch(&stream, one(), (&mut x, 4)).unwrap();
        twice.launch(&stream, one(), (x.slice_mut(0..2).unwrap(), 2_u32)).unwrap();
        assert_eq!(x.to_vec().unwrap(), [4.0, 8.0, 6.0, 8.0]);
        twice.launch(&stream, one(), (&mut managed, 4_u32)).unwrap();
        twice.launch(&stream, one(), (bytes.as_slice_mut().cast::<f32>().unwrap(), 4_u32)).unwrap();
        twice.launch(&stream, one(), (DevicePtr::<u8>::null(), 0_u32)).unwrap();
        stream.synchronize().unwrap();
    }
}

hip::kernel! {
    struct Twice: fn twice(x: *mut f32, n: u32);
    struct ReadOnly: fn twice(x: *const f32, n: u32);
    struct Wide: fn twice(x: *mut f64, n: u32);
    struct Real: fn twice(x: *mut f32, n: f32);
    struct Moved: fn moved(p: *mut [f32; 2], bytes: *const f64, flags: *mut u8);
}

#[test]
fn signatures_in_rust_are_held_to_the_source_when_they_are_loaded() {
    let Some((_alone, _folder, device)) = start("signatures_in_rust_are_held_to_the_source_when_they_are_loaded")
    else {
        return;
    };
    let module = Program::new("m.hip", SOURCE).compile().unwrap().load(&device).unwrap();
    assert_parts(&refused(ReadOnly::load(&module).map(drop)), &["float *x", "may write", "given was *const f32"]);
    assert_parts(&refused(Wide::load(&module).map(drop)), &["float *x, memory of f32", "given was *mut f64"]);
    assert_parts(&refused(Real::load(&module).map(drop)), &["count n", "u32", "given was f32"]);
    Moved::load(&module).unwrap();
    // What `Program::load` returns is loaded from as the module is.
    let loaded = Program::new("m.hip", SOURCE).load(&device).unwrap();
    assert_parts(&refused(ReadOnly::load(&loaded).map(drop)), &["may write"]);
    Moved::load(&loaded).unwrap();
    let (twice, stream) = (Twice::load(&module).unwrap(), Stream::new(&device).unwrap());
    let mut x = DeviceBuffer::from_slice(&device, &[1.5_f32; 4]).unwrap();
    // SAFETY: `x` has four elements.
    unsafe { twice.launch(&stream, one(), &mut x, 4).unwrap() };
    assert_eq!(x.to_vec().unwrap(), [3.0; 4]);
}

/// Each of these is correct, although a reader of the text alone could take it for a mistake.
#[test]
fn what_the_text_does_not_show_is_never_refused() {
    let Some((_alone, _folder, device)) = start("what_the_text_does_not_show_is_never_refused") else { return };
    let source = r#"
        #include "real.h"
        #define NAMED(name) name(double *x)
        #ifdef WIDE
        typedef double number;
        #else
        typedef float number;
        #endif
        #if 0
        extern "C" __global__ void late(float *x) { x[0] = 1; }
        #endif
        extern "C" __global__ void NAMED(late) { x[0] = 7; }
        extern "C" __global__ void chosen(number *x) { x[0] = 7; }
        extern "C" __global__ void given(REAL *x) { x[0] = 7; }
        extern "C" __global__ void header(real *x) { x[0] = 7; }
        #if WIDE
        extern "C" __global__ void branch(double *x) { x[0] = 7; }
        #else
        extern "C" __global__ void branch(float *x) { x[0] = 7; }
        #endif
        struct Two { typedef double type; typedef float half; };
        template<typename T> struct Of { typedef T type; };
        extern "C" __global__ void member(Two::type *x) { x[0] = 7; }
        extern "C" __global__ void dependent(Of<double>::type *x) { x[0] = 7; }
        typedef const double fixed;
        extern "C" __global__ void read(fixed *x, double *y) { y[0] = x[0]; }
        template<typename T> __global__ void generic(T *x) { x[0] = 7; }
        template<typename T> __global__ void peek(T *x, double *y) { y[0] = x[0]; }
        template __global__ void peek<const double>(const double *x, double *y);
        __global__ void both(float *x) { x[0] = 1; }
        __global__ void both(double *x) { x[0] = 7; }
        namespace a { typedef float mine; }
        namespace b { typedef double mine; extern "C" __global__ void scoped(mine *x) { x[0] = 7; } }
    "#;
    let code = Program::new("n.hip", source)
        .header("real.h", "#ifdef WIDE\nusing real = double;\n#else\nusing real = float;\n#endif\n")
        .options(Options::new().define("WIDE", 1).define("REAL", "double"))
        .name_expression("generic<double>")
        .compile()
        .unwrap_or_else(|error| panic!("{error}"));
    let module = code.load(&device).unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut x = DeviceBuffer::<f64>::zeroed(&device, 4).unwrap();
    let lowered = code.lowered_name("generic<double>").unwrap();
    let names = ["late", "chosen", "given", "header", "branch", "member", "dependent", lowered, "_Z4bothPd", "scoped"];
    for name in names {
        let kernel = module.kernel(name).unwrap();
        // SAFETY: each writes the first element.
        unsafe {
            x.fill(0.0).unwrap();
            kernel.launch(&stream, LaunchConfig::new(1, 1), (&mut x,)).unwrap();
            assert_eq!(x.to_vec().unwrap()[0], 7.0, "{name}");
        }
    }
    for name in ["read", "_Z4peekIKdEvPT_Pd"] {
        let (read, mut y) = (module.kernel(name).unwrap(), DeviceBuffer::<f64>::zeroed(&device, 1).unwrap());
        // SAFETY: the kernel reads and writes the first element.
        unsafe { read.launch(&stream, LaunchConfig::new(1, 1), (&x, &mut y)).unwrap() };
        assert_eq!(y.to_vec().unwrap(), [7.0], "{name}");
    }
    // A bundle may come from another source, and so may bytes.
    let seven = Program::new("seven.hip", "extern \"C\" __global__ void seven(double *x) { x[0] = 7; }");
    let code = seven.compile().unwrap();
    let module = hip::Module::load(&device, code.as_bytes()).unwrap();
    // SAFETY: the buffer has the bytes of the double.
    unsafe {
        let mut bytes = DeviceBuffer::<u8>::zeroed(&device, 8).unwrap();
        module.kernel("seven").unwrap().launch(&stream, LaunchConfig::new(1, 1), (&mut bytes,)).unwrap();
        assert_eq!(bytes.to_vec().unwrap(), 7_f64.to_ne_bytes());
    }
}
