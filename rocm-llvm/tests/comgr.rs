//! Comgr's pipelines and objects, on the real library of each release. No GPU is needed.

mod common;

use common::{SAXPY, is_release};
use rocm_llvm::comgr::{self, *};

on_each_release! {
    the_version_decides_the_numbers
    architectures_are_known_and_described
    hip_becomes_a_code_object_for_each_architecture
    headers_macros_and_directories_reach_the_compiler
    warnings_are_returned
    places_behind_macros_are_those_of_the_source
    ir_becomes_assembly_objects_and_code
    bitcodes_are_linked
    the_device_libraries_are_linked
    assembly_and_objects_become_code
    metadata_and_symbols_describe_the_kernel
    instructions_are_disassembled
    source_lines_are_found
    names_are_found_and_demangled
    a_bundle_is_searched
    actions_that_a_release_lacks_are_refused
    bad_sources_are_errors_with_the_compilers_words
    bad_ir_and_bitcode_are_errors
    bad_code_objects_are_errors_before_the_call
    damaged_code_objects_never_crash
    other_architectures_are_errors
    objects_are_freed
    threads_compile_at_once
}

/// LLVM IR with opaque pointers, which LLVM 17 and newer read.
const IR: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @store(ptr addrspace(1) %to, float %value) {
  store float %value, ptr addrspace(1) %to
  ret void
}
"#;
const LOOP: &str = "extern \"C\" __global__ void sum(float *x, int n) { for (int i = 1; i < n; ++i) x[0] += x[i]; }";
const IR_WITH_LIBRARY: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare float @__ocml_sin_f32(float)
define amdgpu_kernel void @sine(ptr addrspace(1) %to, float %x) {
  %y = call float @__ocml_sin_f32(float %x)
  store float %y, ptr addrspace(1) %to
  ret void
}
"#;

fn saxpy(isa: &str, options: &Options) -> Vec<u8> {
    comgr::hip_to_code_object("saxpy.hip", SAXPY, isa, options).unwrap().bytes.into_vec()
}

/// The only kernel in the metadata of code.
fn kernel(code: &[u8]) -> Metadata {
    let metadata = comgr::metadata(code).unwrap();
    assert_eq!(metadata["amdhsa.kernels"].list().len(), 1, "{metadata}");
    metadata["amdhsa.kernels"][0].clone()
}

fn log<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Action { .. }), "{error:?}");
    assert!(error.to_string().contains(error.log().unwrap().trim_end()));
    error.log().unwrap().to_owned()
}

fn input_error<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Input { .. }), "{error:?}");
    error.to_string()
}

fn the_version_decides_the_numbers() {
    let major = if is_release("5.7") { 2 } else { 3 };
    assert_eq!(comgr::version().unwrap().major, major);
    assert!(comgr::version().unwrap().to_string().starts_with(&format!("{major}.")));
}

fn architectures_are_known_and_described() {
    let all = comgr::isas().unwrap();
    assert!(all.iter().any(|isa| isa == "amdgcn-amd-amdhsa--gfx90a"), "{all:?}");
    for isa in &all {
        assert_eq!(comgr::isa_metadata(isa).unwrap()["Name"].as_str(), Some(&isa[..]));
    }
    let isa = comgr::isa_metadata("gfx90a:xnack+").unwrap();
    assert_eq!(isa["LocalMemorySize"].as_u64(), Some(65536));
    assert!(isa["Features"].get("sramecc").is_some() && isa["Features"].get("nonsense").is_none());
    assert_eq!(Isa::new("amdgcn-amd-amdhsa--gfx90a").unwrap(), Isa::new("gfx90a").unwrap());
    for wrong in ["", "gfx", "gfx9999", "gfx90a:", "gfx90a:xnack", "gfx90a:xnack+:xnack-", "gfx90a:tgsplit+", "GFX90A"]
    {
        let error = Isa::new(wrong).unwrap_err();
        assert!(matches!(error, Error::UnknownIsa { .. }), "{error:?}");
        assert!(error.to_string().contains("gfx90a"), "{error}");
    }
    assert!(input_error(Isa::new("gfx90a\0")).contains("NUL at byte 25"));
}

fn hip_becomes_a_code_object_for_each_architecture() {
    for isa in ["gfx90a", "gfx942", "gfx1100", "gfx90a:sramecc+:xnack-"] {
        if is_release("5.7") && isa == "gfx942" && Isa::new(isa).is_err() {
            continue;
        }
        let code = saxpy(isa, &Options::new().optimize(3));
        let data = Data::new(DataKind::CodeObject, "code", &code).unwrap();
        assert_eq!(data.isa_name().unwrap(), format!("amdgcn-amd-amdhsa--{isa}"));
        assert_eq!(kernel(&code)[".name"].as_str(), Some("saxpy"));
        assert_eq!(data.kind().unwrap(), Some(DataKind::CodeObject));
        assert_eq!((data.name().unwrap(), data.bytes().unwrap()), ("code".to_owned(), code));
    }
}

fn headers_macros_and_directories_reach_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/file.h"), "#define FROM_FILE 1\n").unwrap();
    let source = r#"
        #include "memory.h"
        #include "sub/file.h"
        static_assert(FROM_FILE == 1 && FROM_MEMORY == 2 && MACRO == 3, "all three");
        extern "C" __global__ void k() {}
    "#;
    let options =
        Options::new().header("memory.h", "#define FROM_MEMORY 2").define("MACRO", 3).include_directory(folder.path());
    comgr::hip_to_bitcode("k.hip", source, "gfx90a", &options).unwrap();
    let without = Options::new().header("memory.h", "#define FROM_MEMORY 2").define("MACRO", 3);
    assert!(log(comgr::hip_to_bitcode("k.hip", source, "gfx90a", &without)).contains("sub/file.h"));
    // Without HIP's header, the source has to declare everything itself.
    let plain = r#"extern "C" __attribute__((global)) void k(int *x) { *x = 1; }"#;
    let no_header = Options::new().no_hip_header().option("-nogpuinc");
    let code = comgr::hip_to_code_object("k.hip", plain, "gfx90a", &no_header).unwrap();
    assert_eq!(kernel(&code.bytes)[".symbol"].as_str(), Some("k.kd"));
    assert!(comgr::hip_header().unwrap().contains("__global__"));
}

fn warnings_are_returned() {
    let source = "extern \"C\" __global__ void k() { int unused = 1; }";
    let built = comgr::hip_to_bitcode("k.hip", source, "gfx90a", &Options::new().option("-Wall")).unwrap();
    assert!(built.log.contains("k.hip:1:") && built.log.contains("unused variable 'unused'"), "{}", built.log);
    assert!(!built.log.contains("/comgr-"), "temporary directories are left out: {}", built.log);
}

/// Comgr's cache compiles what the preprocessor has made of the source.
fn places_behind_macros_are_those_of_the_source() {
    let line = "extern \"C\" __global__ void f(int *x) { x[0] = LONG_ONE; int y = WRONG; }";
    let header = format!("#define LONG_ONE (1 + 2 + 3 + 4 + 5)\n#define WRONG nonsense\n{line}\n");
    let (source, options) = ("#include \"f.h\"\n", Options::new().header("f.h", header.clone()));
    for error in [
        comgr::hip_to_bitcode("f.h", &header, "gfx90a", &Options::new()),
        comgr::hip_to_bitcode("g.hip", source, "gfx90a", &options),
    ] {
        let log = log(error);
        let column = line.find("WRONG").unwrap() + 1;
        assert!(log.contains(&format!("f.h:3:{column}: error: ")) && log.contains(line), "{log}");
    }
}

fn ir_becomes_assembly_objects_and_code() {
    let assembly = comgr::ir_to_assembly("store.ll", IR, "gfx90a", &Options::new()).unwrap();
    assert!(assembly.contains("global_store_dword") && assembly.contains("s_endpgm"), "{assembly}");
    // It is optimised unless the options say otherwise.
    let looping = comgr::hip_to_bitcode("loop.hip", LOOP, "gfx90a", &Options::new()).unwrap().bytes;
    let lines = |options: Options| comgr::ir_to_assembly("loop", &looping, "gfx90a", &options).unwrap().lines().count();
    assert_eq!(lines(Options::new()), lines(Options::new().optimize(3)));
    assert!(lines(Options::new()) < lines(Options::new().optimize(0)));
    let object = comgr::ir_to_object("store.ll", IR, "gfx90a", &Options::new()).unwrap().bytes;
    assert_eq!(&object[16..18], [1, 0], "relocatable");
    // A name without an extension works, too.
    for name in ["store.ll", "store", "dir/store.ll"] {
        let code = comgr::ir_to_code_object(name, IR, "gfx90a", &Options::new()).unwrap().bytes;
        assert_eq!(kernel(&code)[".name"].as_str(), Some("store"));
    }
    let bitcode = comgr::link_bitcode(&[("store.ll", IR)], "gfx90a", &Options::new()).unwrap().bytes;
    assert!(bitcode.starts_with(b"BC\xc0\xde"));
    let code = comgr::ir_to_code_object("store.bc", &bitcode, "gfx90a", &Options::new()).unwrap().bytes;
    assert_eq!(kernel(&code)[".name"].as_str(), Some("store"));
}

fn bitcodes_are_linked() {
    let compile = |name: &str, source: &str| {
        comgr::hip_to_bitcode(name, source, "gfx90a", &Options::new().option("-fgpu-rdc")).unwrap().bytes
    };
    let a = compile("a.hip", "__device__ int f(int); extern \"C\" __global__ void k(int *x) { *x = f(*x); }");
    let b = compile("b.hip", "__device__ int f(int x) { return 3 * x; }");
    let linked = comgr::link_bitcode(&[("a", &a), ("b", &b)], "gfx90a", &Options::new()).unwrap().bytes;
    let code = comgr::ir_to_code_object("ab", &linked, "gfx90a", &Options::new()).unwrap().bytes;
    assert_eq!(kernel(&code)[".name"].as_str(), Some("k"));
    let alone = log(comgr::ir_to_code_object("a", &a, "gfx90a", &Options::new()));
    assert!(alone.contains("undefined") && alone.contains("f(int)"), "{alone}");
    assert!(comgr::link_bitcode(&[("b", &b), ("c", &b)], "gfx90a", &Options::new()).is_err(), "f is there twice");
    assert!(input_error(comgr::link_bitcode::<Input<'_>>(&[], "gfx90a", &Options::new())).contains("none"));
}

fn the_device_libraries_are_linked() {
    let with = Options::new().device_libraries();
    let code = comgr::ir_to_code_object("sine.ll", IR_WITH_LIBRARY, "gfx90a", &with).unwrap().bytes;
    assert_eq!(kernel(&code)[".name"].as_str(), Some("sine"));
    let log = log(comgr::ir_to_code_object("sine.ll", IR_WITH_LIBRARY, "gfx90a", &Options::new()));
    assert!(log.contains("undefined") && log.contains("__ocml_sin_f32"), "{log}");
    // Several modules, and the libraries.
    let modules = [("sine.ll", IR_WITH_LIBRARY), ("store.ll", IR)];
    let linked = comgr::link_bitcode(&modules, "gfx90a", &with).unwrap().bytes;
    let code = comgr::ir_to_code_object("both", &linked, "gfx90a", &with).unwrap().bytes;
    assert_eq!(comgr::metadata(&code).unwrap()["amdhsa.kernels"].list().len(), 2);
}

fn assembly_and_objects_become_code() {
    let assembly = comgr::ir_to_assembly("store.ll", IR, "gfx90a", &Options::new()).unwrap();
    let code = comgr::assembly_to_code_object("store.s", &assembly, "gfx90a", &Options::new()).unwrap().bytes;
    assert_eq!(kernel(&code)[".name"].as_str(), Some("store"));
    let object = |name: &str, source: &str| {
        let options = Options::new().option("-fgpu-rdc");
        let bitcode = comgr::hip_to_bitcode(name, source, "gfx90a", &options).unwrap().bytes;
        // Functions that other files call must stay visible.
        let options = Options::new().options(["-mllvm", "-amdgpu-early-inline-all=false"]);
        comgr::ir_to_object(name, &bitcode, "gfx90a", &options).unwrap().bytes
    };
    let (a, b) = (
        object("a.hip", "extern \"C\" __global__ void first(int *x) { *x = 1; }"),
        object("b.hip", "extern \"C\" __global__ void second(int *x) { *x = 2; }"),
    );
    let code = comgr::link_objects(&[("a.o", &a), ("b", &b)], "gfx90a", &Options::new()).unwrap().bytes;
    let symbols = comgr::symbols(&code).unwrap();
    for name in ["first.kd", "second.kd"] {
        assert!(symbols.iter().any(|symbol| symbol.name == name), "{symbols:?}");
    }
    assert!(input_error(comgr::link_objects::<Input<'_>>(&[], "gfx90a", &Options::new())).contains("none"));
}

fn metadata_and_symbols_describe_the_kernel() {
    let code = saxpy("gfx90a", &Options::new());
    let kernel = kernel(&code);
    let arguments: Vec<_> = kernel[".args"].list()[..4]
        .iter()
        .map(|argument| (argument[".offset"].as_u64().unwrap(), argument[".size"].as_u64().unwrap()))
        .collect();
    assert_eq!(arguments, [(0, 4), (8, 8), (16, 8), (24, 4)]);
    assert_eq!(kernel[".args"][1][".value_kind"].as_str(), Some("global_buffer"));
    assert_eq!(kernel[".wavefront_size"].as_u64(), Some(64));
    let symbols = comgr::symbols(&code).unwrap();
    let of = |name: &str| symbols.iter().find(|symbol| symbol.name == name).unwrap();
    assert_eq!((of("saxpy").kind, of("saxpy.kd").kind), (SymbolKind::Function, SymbolKind::Object));
    assert_eq!((of("saxpy.kd").size, of("saxpy").is_undefined), (64, false));
    let data = Data::new(DataKind::CodeObject, "code", &code).unwrap();
    assert_eq!(data.symbol("saxpy.kd").unwrap().as_ref(), Some(of("saxpy.kd")));
    assert_eq!(data.symbol("nothing").unwrap(), None);
    assert!(input_error(data.symbol("a\0b")).contains("NUL at byte 1"));
}

fn instructions_are_disassembled() {
    let code = saxpy("gfx90a", &Options::new());
    // SAFETY: here and below, the code was written by the compiler, or consists of words at which LLVM does not crash.
    let disassembly = unsafe { comgr::disassemble(&code) }.unwrap();
    let function = disassembly.function("saxpy").unwrap();
    let texts: Vec<&str> = function.instructions.iter().filter_map(|found| found.text.as_deref()).collect();
    assert!(texts.contains(&"s_endpgm") && texts.iter().any(|text| text.starts_with("global_load_dword")), "{texts:?}");
    let symbol = comgr::symbols(&code).unwrap().into_iter().find(|symbol| symbol.name == "saxpy").unwrap();
    assert_eq!(function.address, symbol.value);
    let mut at = function.address;
    for instruction in &function.instructions {
        assert_eq!(instruction.address, at);
        at += instruction.size as u64;
    }
    assert_eq!(at - function.address, symbol.size);
    assert_eq!(
        disassembly.functions.iter().filter(|function| function.name.is_none()).count(),
        0,
        "only padding is left"
    );
    let text = disassembly.to_string();
    assert!(text.contains("<saxpy>:") && text.contains("// <saxpy+0x"), "{text}");
    // The same instructions from an object file.
    let bitcode = comgr::hip_to_bitcode("saxpy.hip", SAXPY, "gfx90a", &Options::new()).unwrap().bytes;
    let object = comgr::ir_to_object("saxpy", &bitcode, "gfx90a", &Options::new().optimize(3)).unwrap().bytes;
    // SAFETY: as above.
    let of_object = unsafe { comgr::disassemble(&object) }.unwrap();
    assert_eq!(of_object.function("saxpy").unwrap().instructions[0].text, function.instructions[0].text);
    // Bytes that are not an instruction.
    let disassembler = Disassembler::new(&Isa::new("gfx90a").unwrap()).unwrap();
    // SAFETY: as above.
    let instruction = |code: &[u8]| unsafe { disassembler.instruction(0, code) }.unwrap();
    // SAFETY: as above.
    let found = unsafe { disassembler.instructions(0, &[0xff; 10]) }.unwrap();
    assert_eq!(found.iter().map(|found| found.size).collect::<Vec<_>>(), [4, 4, 2]);
    assert!(found.iter().all(|found| found.text.is_none()), "{found:?}");
    assert_eq!(instruction(&[]), None);
    // A truncated instruction.
    assert_eq!(instruction(&[0xff, 0x00, 0x80, 0xbe]).unwrap().text, None);
}

fn source_lines_are_found() {
    let source = "extern \"C\" __global__ void k(int *x) {\n    x[0] = 1;\n    __builtin_amdgcn_s_barrier();\n    x[1] = 2;\n}\n";
    let code = comgr::hip_to_code_object("k.hip", source, "gfx90a", &Options::new().debug()).unwrap().bytes;
    let lines = comgr::source_lines(&code).unwrap();
    let numbers: Vec<u32> =
        lines.iter().filter(|line| line.place.file.ends_with("k.hip")).map(|line| line.place.line).collect();
    for line in [2, 3, 4, 5] {
        assert!(numbers.contains(&line), "{lines:?}");
    }
    let of_kernel = lines.iter().filter(|line| line.place.file.ends_with("k.hip"));
    assert!(of_kernel.clone().all(|line| line.size >= 4 && line.place.function.starts_with('k')), "{lines:?}");
    assert!(of_kernel.clone().all(|line| line.place.file == "k.hip"), "no temporary directory: {lines:?}");
    let without = saxpy("gfx90a", &Options::new());
    assert_eq!(comgr::source_lines(&without).unwrap(), []);
}

fn names_are_found_and_demangled() {
    let source = r#"
        template<typename T> __global__ void scale(T *x, T factor) { x[threadIdx.x] *= factor; }
        template __global__ void scale<float>(float *, float);
        // The variables that HIPRTC stores: the expression, and the symbol that it names.
        __device__ const void *__amdgcn_name_expr_0[] = {"scale<float>", (void *)&scale<float>};
    "#;
    let bitcode = comgr::hip_to_bitcode("scale.hip", source, "gfx90a", &Options::new()).unwrap().bytes;
    let data = Data::of(DataKind::Bitcode, "scale.bc", &bitcode).unwrap();
    let names = data.mangled_names().unwrap();
    assert!(names.iter().any(|name| name == "_Z5scaleIfEvPT_S0_"), "{names:?}");
    assert_eq!(comgr::demangle("_Z5scaleIfEvPT_S0_").unwrap(), "void scale<float>(float*, float)");
    assert_eq!(comgr::demangle("plain").unwrap(), "plain");
    assert!(input_error(comgr::demangle("")).contains("empty"));
    assert!(input_error(comgr::demangle("a\0")).contains("NUL"));
    let expressions = data.name_expressions().unwrap();
    assert_eq!(expressions.symbol("nothing<int>").unwrap(), None);
    assert_eq!(expressions.len(), 1);
    assert_eq!(expressions.symbol("scale<float>").unwrap().as_deref(), Some("_Z5scaleIfEvPT_S0_"));
}

fn a_bundle_is_searched() {
    let bundle = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/kernels/saxpy.hipfb")).unwrap();
    let names = ["amdgcn-amd-amdhsa--gfx90a", "amdgcn-amd-amdhsa--gfx803", "amdgcn-amd-amdhsa--gfx1100"];
    let found = comgr::find_code_objects(&bundle, &names).unwrap();
    assert!(found[1].is_none());
    for (place, isa) in [(0, "gfx90a"), (2, "gfx1100")] {
        let code = &bundle[found[place].clone().unwrap()];
        assert_eq!(
            comgr::metadata(code).unwrap()["amdhsa.target"].as_str(),
            Some(&format!("amdgcn-amd-amdhsa--{isa}")[..])
        );
    }
    assert!(input_error(comgr::find_code_objects(b"", &names)).contains("__CLANG"));
    assert!(comgr::find_code_objects(&bundle[..40], &names).is_err());
}

fn actions_that_a_release_lacks_are_refused() {
    let old = is_release("5.7");
    assert_eq!(Action::AddDeviceLibraries.is_supported(), old);
    assert_eq!(Action::Unbundle.is_supported(), !old);
    assert!(Action::LinkBitcode.is_supported());
    let missing = if old { Action::SpirvToBitcode } else { Action::OptimizeBitcode };
    let run = |info: ActionInfo, action| {
        // SAFETY: no input.
        unsafe { info.run(action, &DataSet::new().unwrap()) }
    };
    let error = run(ActionInfo::new(), missing).unwrap_err();
    assert!(matches!(error, Error::NotSupported { .. }), "{error:?}");
    let wanted = if old { "Comgr 3" } else { "Comgr 2" };
    assert!(error.to_string().contains(wanted), "{error}");
    let ir = run(ActionInfo::new().language(Language::LlvmIr), Action::LinkBitcode);
    assert_eq!(matches!(ir, Err(Error::NotSupported { .. })), old, "{ir:?}");
    assert_eq!(Data::new(DataKind::Spirv, "a.spv", b"\x03\x02\x23\x07").is_err(), old);
    let memory = run(ActionInfo::new().files_in_memory(true), Action::LinkBitcode);
    assert_eq!(matches!(memory, Err(Error::NotSupported { .. })), old, "{memory:?}");
    for info in [
        ActionInfo::new().options(["-D\0"]),
        ActionInfo::new().working_directory("a\0b"),
        ActionInfo::new().bundle_entry_ids(["a\0"]),
    ] {
        assert!(input_error(run(info, Action::LinkBitcode)).contains("NUL"));
    }
}

fn bad_sources_are_errors_with_the_compilers_words() {
    let bad = |source: &str| comgr::hip_to_code_object("bad.hip", source, "gfx90a", &Options::new());
    let text = log(bad("__global__ void k() {\n  undeclared = 1;\n}"));
    assert!(text.contains("bad.hip:2:3: error: use of undeclared identifier 'undeclared'"), "{text}");
    assert!(bad("nonsense").unwrap_err().to_string().contains("cannot compile bad.hip for amdgcn-amd-amdhsa--gfx90a"));
    assert!(log(bad("#include \"missing.h\"")).contains("missing.h"));
    let option = Options::new().option("-fno-such-option");
    assert!(log(comgr::hip_to_bitcode("a.hip", "int a;", "gfx90a", &option)).contains("-fno-such-option"));
    for empty in ["", " \n\t"] {
        assert!(input_error(bad(empty)).contains("empty"));
        assert!(input_error(comgr::assemble("a.s", empty, "gfx90a", &Options::new())).contains("empty"));
    }
    assert!(input_error(bad("int\0a;")).contains("NUL at byte 3"));
    assert!(input_error(comgr::hip_to_bitcode("", "int a;", "gfx90a", &Options::new())).contains("name is empty"));
    assert!(input_error(comgr::hip_to_bitcode("a\0", "int a;", "gfx90a", &Options::new())).contains("NUL"));
    let text = log(comgr::assemble("bad.s", "s_nonsense v0\n", "gfx90a", &Options::new()));
    assert!(text.contains("bad.s:1:1: error: invalid instruction"), "{text}");
}

fn bad_ir_and_bitcode_are_errors() {
    // SAFETY: input that begins like bitcode is truncated below, not damaged.
    let bad = |ir: &[u8]| comgr::ir_to_code_object("bad.ll", unsafe { Input::trusted(ir) }, "gfx90a", &Options::new());
    assert!(log(bad(b"define what")).contains("bad.ll:1:8: error: expected type"));
    assert!(input_error(bad(b"")).contains("empty"));
    assert!(input_error(bad(b"\x01\x02\0")).contains("01 02 00"));
    let bitcode = comgr::link_bitcode(&[("store.ll", IR)], "gfx90a", &Options::new()).unwrap().bytes;
    for len in [4, 8, 20, bitcode.len() / 2, bitcode.len() - 4] {
        let error = bad(&bitcode[..len]).unwrap_err();
        assert!(matches!(error, Error::Action { .. }) && !error.log().unwrap().is_empty(), "{len}: {error:?}");
        // SAFETY: bitcode of this process, truncated.
        let cut = unsafe { Input::trusted(&bitcode[..len]) };
        let linked = comgr::link_bitcode(&[("cut", cut)], "gfx90a", &Options::new());
        assert!(linked.is_err(), "{len}: {linked:?}");
    }
}

fn bad_code_objects_are_errors_before_the_call() {
    let code = saxpy("gfx90a", &Options::new());
    for len in [0, 3, 17, 63, 64, 200, code.len() / 2, code.len() - 1] {
        assert!(!input_error(comgr::metadata(&code[..len])).is_empty());
        // SAFETY: code that the compiler wrote, truncated.
        input_error(unsafe { comgr::disassemble(&code[..len]) });
        input_error(comgr::symbols(&code[..len]));
        input_error(comgr::source_lines(&code[..len]));
        // SAFETY: a code object of this process, truncated.
        let cut = unsafe { Input::trusted(&code[..len]) };
        input_error(comgr::link_objects(&[("a.o", cut)], "gfx90a", &Options::new()));
    }
    // SAFETY: a code object of this process.
    let whole = unsafe { Input::trusted(&code) };
    assert!(
        input_error(comgr::link_objects(&[("a.o", whole)], "gfx90a", &Options::new())).contains("linked code object")
    );
    let bitcode = comgr::link_bitcode(&[("store.ll", IR)], "gfx90a", &Options::new()).unwrap().bytes;
    assert!(input_error(Data::new(DataKind::Bitcode, "store.bc", &bitcode)).contains("Data::of"));
    let host = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert!(input_error(comgr::metadata(&host)).contains("machine 62"));
    assert!(input_error(comgr::metadata(b"CCOB\x02\0")).contains("compressed"));
    assert!(input_error(comgr::metadata(b"__CLANG_OFFLOAD_BUNDLE__")).contains("bundle"));
}

/// Bytes that differ from a good file's give an error or some result, never a crash.
fn damaged_code_objects_never_crash() {
    let code = saxpy("gfx90a", &Options::new());
    let mut seed = 17_u64;
    let mut next = |below: usize| {
        // Knuth's linear congruential generator.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for _ in 0..300 {
        let mut damaged = code.clone();
        for _ in 0..1 + next(4) {
            let at = next(damaged.len());
            damaged[at] = next(256) as u8;
        }
        let _ = comgr::metadata(&damaged);
        let _ = comgr::symbols(&damaged);
    }
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let id = b"hipv4-amdgcn-amd-amdhsa--gfx90a";
    [1, 24 + 8 + 24 + id.len(), code.len(), id.len()]
        .iter()
        .for_each(|number| bundle.extend((*number as u64).to_le_bytes()));
    bundle.extend(id);
    bundle.extend(&code);
    for _ in 0..300 {
        let mut damaged = bundle.clone();
        damaged[24 + next(63)] = next(256) as u8;
        for range in comgr::find_code_objects(&damaged, &["amdgcn-amd-amdhsa--gfx90a"]).into_iter().flatten().flatten()
        {
            assert!(range.end <= damaged.len());
        }
    }
}

fn other_architectures_are_errors() {
    for unknown in ["gfx9999", "sm_90", ""] {
        let error = comgr::hip_to_code_object("a.hip", "int a;", unknown, &Options::new()).unwrap_err();
        assert!(matches!(error, Error::UnknownIsa { .. }), "{error:?}");
    }
    let object = |name, isa| {
        let ir = IR.replace("@store", name);
        comgr::ir_to_object("store.ll", &ir, isa, &Options::new()).unwrap().bytes
    };
    let (mi200, rdna) = (object("@one", "gfx90a"), object("@two", "gfx1100"));
    let text = log(comgr::link_objects(&[("a.o", &mi200), ("b.o", &rdna)], "gfx90a", &Options::new()));
    assert!(text.contains("incompatible"), "{text}");
}

/// Handles are released: repeated compilation does not grow the process.
fn objects_are_freed() {
    let bytes = vec![b' '; 1 << 20];
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let once = || {
        let mut set = DataSet::new().unwrap();
        let data = Data::new(DataKind::Source, "a", &bytes).unwrap();
        set.add(&data).unwrap();
        let again = set.data(DataKind::Source).unwrap();
        assert_eq!(again[0].bytes().unwrap().len(), bytes.len());
        set.remove(DataKind::Source).unwrap();
        assert_eq!(set.count(DataKind::Source).unwrap(), 0);
        comgr::isa_metadata("gfx90a").unwrap();
    };
    (0..20).for_each(|_| once());
    let before = resident();
    (0..500).for_each(|_| once());
    let grown = resident().saturating_sub(before);
    // 500 MiB were created in all.
    assert!(grown < 32 << 20, "{grown} bytes more after 500 data objects of 1 MiB");
}

fn threads_compile_at_once() {
    let code = saxpy("gfx90a", &Options::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| kernel(&saxpy("gfx90a", &Options::new())))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), kernel(&code));
        }
    });
}

/// Without the library, every function returns an error that lists the places searched.
#[test]
fn a_missing_library_is_an_error() {
    if sys_testing::child::run(concat!(module_path!(), "::a_missing_library_is_an_error")) {
        return;
    }
    rocm_loader::set_search(rocm_loader::Search::nowhere().root("/nowhere")).unwrap();
    for error in [
        comgr::available().unwrap_err(),
        comgr::version().unwrap_err(),
        comgr::isas().unwrap_err(),
        comgr::metadata(b"\x7fELF").map(drop).unwrap_err(),
        comgr::hip_to_code_object("a.hip", "int a;", "gfx90a", &Options::new()).map(drop).unwrap_err(),
        DataSet::new().map(drop).unwrap_err(),
        comgr::demangle("a").map(drop).unwrap_err(),
    ] {
        let known = matches!(error, Error::Input { .. });
        assert!(known || error.is_unavailable() && error.to_string().contains("/nowhere"), "{error}");
    }
    assert!(!Action::LinkBitcode.is_supported());
}

/// A Comgr with another numbering of actions is not called with numbers, whatever its file name is.
#[test]
fn a_comgr_with_other_numbers_is_refused() {
    for (version, name, expected) in [
        (
            "2, 8",
            "libamd_comgr.so.3",
            ["libamd_comgr.so.3 is Comgr 2.8 (ROCm 5.7 to 6.3)", "not Comgr 3 (ROCm 6.4 and newer)"],
        ),
        (
            "3, 0",
            "libamd_comgr.so.2",
            ["libamd_comgr.so.2 is Comgr 3.0 (ROCm 6.4 and newer)", "not Comgr 2 (ROCm 5.7 to 6.3)"],
        ),
        ("4, 1", "libamd_comgr.so.3", ["Comgr 4.1 (of no known release)", "not Comgr 3 (ROCm 6.4 and newer)"]),
    ] {
        let path = concat!(module_path!(), "::a_comgr_with_other_numbers_is_refused");
        // A process uses one library.
        if std::env::var("ROCM_LLVM_TEST_NUMBERS").is_ok_and(|of| of != version) {
            continue;
        }
        if std::env::var_os("ROCM_LLVM_TEST_NUMBERS").is_none() {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child
                .args(["--exact", path.split_once("::").unwrap().1, "--nocapture"])
                .env("ROCM_LLVM_TEST_NUMBERS", version);
            let output = child.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("lib")).unwrap();
        let source = format!(
            "#include <stdlib.h>\n\
             void amd_comgr_get_version(size_t *a, size_t *b) {{ size_t v[] = {{ {version} }}; *a = v[0]; *b = v[1]; }}\n\
             int amd_comgr_do_action(void) {{ abort(); }}\nint amd_comgr_create_data_set(void *set) {{ abort(); }}\n"
        );
        sys_testing::missing::compile(&source, &folder.path().join("lib").join(name));
        rocm_loader::set_search(rocm_loader::Search::nowhere().root(folder.path())).unwrap();
        // SAFETY: the bitcode is truncated, and this Comgr reads nothing.
        let bitcode = unsafe { Input::trusted(b"BC\xc0\xde") };
        let error = comgr::link_bitcode(&[("a", bitcode)], "gfx90a", &Options::new()).unwrap_err();
        assert!(matches!(error, Error::Numbering { .. }) && !error.is_unavailable(), "{error:?}");
        assert!(expected.iter().all(|part| error.to_string().contains(part)), "{error}");
        assert!(matches!(DataSet::new(), Err(Error::Numbering { .. })) && !Action::LinkBitcode.is_supported());
    }
}

/// HIPRTC's header is missing, but Comgr is available.
#[test]
fn a_missing_header_library_is_an_error() {
    if sys_testing::child::run(concat!(module_path!(), "::a_missing_header_library_is_an_error")) {
        return;
    }
    rocm_loader::set_search(rocm_loader::Search::nowhere().root("/nowhere")).unwrap();
    let error = comgr::hip_header().unwrap_err();
    assert!(matches!(error, Error::NoHipHeader(_)), "{error:?}");
    assert!(error.to_string().contains("/nowhere") && error.to_string().contains("no_hip_header"), "{error}");
}

/// Comgr is available, but one of its dependencies is not: LLVM, or the release's C library.
#[test]
fn a_comgr_without_its_dependencies_is_an_error() {
    let from = sys_testing::trees().join("7.2/usr/lib/x86_64-linux-gnu/libamd_comgr.so.3");
    if !from.exists() {
        sys_testing::skipped(format_args!("no {} (`cargo xtask rocm fetch 7.2`)", from.display()));
        return;
    }
    if sys_testing::child::run(concat!(module_path!(), "::a_comgr_without_its_dependencies_is_an_error")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("lib")).unwrap();
    std::fs::copy(&from, folder.path().join("lib/libamd_comgr.so.3")).unwrap();
    rocm_loader::set_search(rocm_loader::Search::nowhere().root(folder.path())).unwrap();
    let error = comgr::hip_to_code_object("a.hip", "int a;", "gfx90a", &Options::new()).unwrap_err();
    assert!(error.is_unavailable() && error.to_string().contains("libamd_comgr.so.3"), "{error}");
}
