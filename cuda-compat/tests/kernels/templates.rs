//! Templates with name expressions, and the compiler's messages.

use cuda_compat::nvrtc::{NVRTC_ERROR_COMPILATION, NVRTC_SUCCESS};

use crate::device::{Buffer, Module, args, compile};
use crate::numbers::F16;
use crate::on_a_device;
use crate::random::Random;

const SOURCE: &str = include_str!("templates.cu");

fn module(expressions: &[&str]) -> Module {
    Module::with("templates.cu", SOURCE, &["--std=c++17"], expressions)
}

on_a_device! {
    fn one_kernel_for_several_types() {
        let module = module(&["axpy<float>", "axpy<double>", "axpy<__half>"]);
        let (x, y) = (Random::new(1).floats(128), Random::new(2).floats(128));
        let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 0.5 * f64::from(*x) + f64::from(*y)).collect();
        let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>();
        let half = |values: &[f64]| values.iter().map(|value| F16.nearest(*value)).collect::<Vec<u16>>();

        let (input, output) = (Buffer::of(&x), Buffer::of(&y));
        module.run("axpy<float>", 1, 128, args![0.5_f32, &input, &output, 128_i32]);
        assert_eq!(wide(&output.read::<f32>(128)), expected);
        let (input, output) = (Buffer::of(&wide(&x)), Buffer::of(&wide(&y)));
        module.run("axpy<double>", 1, 128, args![0.5_f64, &input, &output, 128_i32]);
        assert_eq!(output.read::<f64>(128), expected);
        let (input, output) = (Buffer::of(&half(&wide(&x))), Buffer::of(&half(&wide(&y))));
        module.run("axpy<__half>", 1, 128, args![F16.nearest(0.5), &input, &output, 128_i32]);
        assert_eq!(output.read::<u16>(128), half(&expected));
    }

    fn functions_and_sizes_as_parameters() {
        let module = module(&["reductions::block_reduce<int, Sum, 128>", "reductions::block_reduce<double, Max, 256>"]);
        let values = Random::new(3).below(1000, 512);
        let (input, output) = (Buffer::of(&values), Buffer::zeros::<i32>(4));
        module.run("reductions::block_reduce<int, Sum, 128>", 4, 128, args![&input, &output]);
        assert_eq!(output.read::<i32>(4), values.chunks(128).map(|block| block.iter().sum()).collect::<Vec<i32>>());
        let wide: Vec<f64> = values.iter().map(|value| f64::from(*value) / 3.0).collect();
        let (input, output) = (Buffer::of(&wide), Buffer::zeros::<f64>(2));
        module.run("reductions::block_reduce<double, Max, 256>", 2, 256, args![&input, &output]);
        let expected: Vec<f64> = wide.chunks(256).map(|block| block.iter().copied().fold(0.0, f64::max)).collect();
        assert_eq!(output.read::<f64>(2), expected);
    }

    fn traits_decide_when_compiling() {
        let module = module(&["kinds<int>", "kinds<float>", "kinds<unsigned char>"]);
        for (name, expected) in [("kinds<int>", [1, 0, 8]), ("kinds<float>", [0, 1, 8]), ("kinds<unsigned char>", [1, 0, 1])] {
            let output = Buffer::zeros::<i32>(3);
            module.run(name, 1, 1, args![&output]);
            assert_eq!(output.read::<i32>(3), expected, "{name}");
        }
    }

    fn lines_of_messages_are_the_programs() {
        let source = "#include <cuda_fp16.h>\n\nextern \"C\" __global__ void f(int *p) {\n    *p = missing;\n}\n";
        let failed = compile("mine.cu", source, &["-arch=gfx90a"], &[]);
        assert_eq!(failed.status, NVRTC_ERROR_COMPILATION);
        assert!(failed.log.contains("mine.cu:4:10: error: use of undeclared identifier 'missing'"), "{}", failed.log);
    }

    fn the_log_has_ignored_options_and_code_for_32_lanes_and_the_compilers_warnings() {
        let source = "#warning mine\nextern \"C\" __global__ void f(int *p) { p[threadIdx.x % 32] = 1; }";
        let compiled = compile("mine.cu", source, &["-arch=gfx90a", "--maxrregcount=32"], &[]);
        assert_eq!(compiled.status, NVRTC_SUCCESS);
        let places = ["--maxrregcount=32 has no meaning", "mine.cu:2:54: note: `% 32`", "mine.cu:1:2: warning: mine"];
        let found: Vec<Option<usize>> = places.iter().map(|text| compiled.log.find(text)).collect();
        assert!(found.is_sorted() && found[0].is_some(), "{}", compiled.log);
        let native = compile("mine.cu", source, &["-arch=gfx90a", "--warp-size=native"], &[]);
        assert!(native.log.contains("mine.cu:2:54: warning: `% 32`"), "{}", native.log);
        let unknown = compile("mine.cu", source, &["-arch=gfx90a", "--warp-size=16"], &[]);
        assert_eq!(unknown.status, NVRTC_ERROR_COMPILATION);
    }

    fn what_is_nowhere_on_amd_gpus_says_what_to_use() {
        for (header, advice) in [("mma.h", "mfma"), ("curand_kernel.h", "hiprand"), ("cub/cub.cuh", "hipCUB")] {
            let failed = compile("mine.cu", &format!("#include <{header}>\n"), &["-arch=gfx90a"], &[]);
            assert_eq!(failed.status, NVRTC_ERROR_COMPILATION);
            assert!(failed.log.contains(advice), "{}", failed.log);
        }
        let ptx = compile("mine.ptx", "//\n.version 8.0\n.target sm_80\n", &[], &[]);
        assert_eq!(ptx.status, NVRTC_ERROR_COMPILATION);
        assert!(ptx.log.starts_with("mine.ptx:1:1: error: this is PTX"), "{}", ptx.log);
    }
}
