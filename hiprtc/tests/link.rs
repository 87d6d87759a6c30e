//! The linker and bitcode, with a real HIPRTC. Linking needs a device of ROCm's HIP runtime: a GPU, or the software GPU
//! in its place. Without these, each test reports that it is skipped, and why.

mod common;

use common::{compiler_or_skip, skipped};
use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};
use hiprtc::{BundleWriter, Error, LinkInput, Linker, OptLevel, Options, Origin, Program};

const KERNEL: &str = r#"__device__ int twice(int x);
    extern "C" __global__ void k(int *x) { x[threadIdx.x] = twice(x[threadIdx.x]); }"#;
const HELPER: &str = "__device__ int twice(int x) { return 2 * x; }";
const IR: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define hidden i32 @_Z5twicei(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
"#;

/// Returns a device whose runtime HIPRTC links for.
fn device_or_skip(test: &str) -> Option<Device> {
    if !compiler_or_skip(test) {
        return None;
    }
    match Device::get(0) {
        Ok(device) => Some(device),
        Err(error) => {
            skipped(&error);
            None
        }
    }
}

fn bitcode(name: &str, source: &str, device: &Device) -> hiprtc::Bitcode {
    Program::new(name, source).arch(&device.properties().unwrap().arch).compile_bitcode().unwrap()
}

/// Returns the result of kernel `k` for 1.
fn result(module: &Module, device: &Device, kernel: &str) -> i32 {
    let stream = Stream::new(device).unwrap();
    let mut x = DeviceBuffer::from_slice(device, &[1]).unwrap();
    // SAFETY: the kernel changes the one element.
    unsafe { module.kernel(kernel).unwrap().launch(&stream, LaunchConfig::new(1, 1), (&mut x,)).unwrap() };
    x.to_vec().unwrap()[0]
}

fn link(device: &Device, inputs: &[(LinkInput, &[u8])]) -> hiprtc::Result<i32> {
    let mut linker = Linker::new(device)?;
    for (at, (kind, bytes)) in inputs.iter().enumerate() {
        // SAFETY: the bitcode in these tests was written by the compiler, whole or truncated.
        unsafe { linker.add(*kind, bytes, &format!("input {at}"))? };
    }
    let code = linker.finish()?;
    assert!(matches!(code.origin(), Origin::Compiled));
    Ok(result(&code.load(device)?, device, "k"))
}

#[test]
fn bitcode_is_compiled_without_a_device() {
    if !compiler_or_skip("bitcode_is_compiled_without_a_device") {
        return;
    }
    let kernel =
        Program::new("kernel.hip", format!("#warning look\n{KERNEL}")).arch("gfx942").compile_bitcode().unwrap();
    assert!(kernel.as_bytes().starts_with(b"BC\xc0\xde"));
    assert_eq!((kernel.arch().to_string().as_str(), kernel.name()), ("gfx942", "kernel.hip"));
    assert!(kernel.log().contains("look"), "{}", kernel.log());
    let broken = Program::new("broken.hip", "nonsense").arch("gfx90a").compile_bitcode().unwrap_err();
    assert!(matches!(broken, Error::Compilation { .. }), "{broken}");
}

#[test]
fn bitcode_from_memory_and_from_files_is_linked_and_runs() {
    let Some(device) = device_or_skip("bitcode_from_memory_and_from_files_is_linked_and_runs") else { return };
    let (kernel, helper) = (bitcode("kernel.hip", KERNEL, &device), bitcode("helper.hip", HELPER, &device));
    let mut linker = Linker::new(&device).unwrap();
    linker.add_bitcode(&kernel).unwrap();
    linker.add_bitcode(&helper).unwrap();
    let code = linker.finish().unwrap();
    assert_eq!(result(&code.load(&device).unwrap(), &device, "k"), 2);
    assert_eq!(*code.arch(), device.properties().unwrap().arch);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("helper.bc");
    std::fs::write(&path, helper.as_bytes()).unwrap();
    let mut linker = Linker::new(&device).unwrap();
    linker.add_bitcode(&kernel).unwrap();
    // SAFETY: the bitcode written above, and an empty file.
    let add = |linker: &mut Linker, path| unsafe { linker.add_file(LinkInput::Bitcode, path) };
    add(&mut linker, path).unwrap();
    let missing = add(&mut linker, folder.path().join("none.bc")).unwrap_err();
    assert!(matches!(&missing, Error::File { path, .. } if path.ends_with("none.bc")), "{missing}");
    // The linker still has its earlier inputs.
    assert_eq!(result(&linker.finish().unwrap().load(&device).unwrap(), &device, "k"), 2);
}

#[test]
fn ir_bundles_and_archives_are_linked_and_run() {
    let Some(device) = device_or_skip("ir_bundles_and_archives_are_linked_and_run") else { return };
    let arch = &device.properties().unwrap().arch;
    let (kernel, helper) = (bitcode("kernel.hip", KERNEL, &device), bitcode("helper.hip", HELPER, &device));
    let kernel = (LinkInput::Bitcode, kernel.as_bytes());
    assert_eq!(link(&device, &[kernel, (LinkInput::Ir, IR.as_bytes())]).unwrap(), 3);
    let mut linker = Linker::new(&device).unwrap();
    linker.add_ir(IR, "twice.ll").unwrap();
    linker.add_bitcode(&bitcode("kernel.hip", KERNEL, &device)).unwrap();
    assert_eq!(result(&linker.finish().unwrap().load(&device).unwrap(), &device, "k"), 3);
    let other = Program::new("other.hip", HELPER).arch("gfx1100").compile_bitcode().unwrap();
    let bundle = BundleWriter::new().add("gfx1100".parse().unwrap(), other.as_bytes());
    let bundle = bundle.add(arch.name().parse().unwrap(), helper.as_bytes()).to_bytes();
    assert_eq!(link(&device, &[kernel, (LinkInput::BitcodeBundle, &bundle)]).unwrap(), 2);
    for member in [helper.as_bytes(), &bundle] {
        let mut archive = b"!<arch>\n".to_vec();
        archive.extend(
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "twice.bc/", 0, 0, 0, 644, member.len()).into_bytes(),
        );
        archive.extend_from_slice(member);
        assert_eq!(link(&device, &[kernel, (LinkInput::BitcodeArchive, &archive)]).unwrap(), 2);
    }
}

#[test]
fn lowered_names_come_with_the_linked_code() {
    let Some(device) = device_or_skip("lowered_names_come_with_the_linked_code") else { return };
    let source = "__device__ int twice(int x);\n\
                  template<typename T> __global__ void fill(T *x) { *x = twice(*x) + 1; }";
    let arch = &device.properties().unwrap().arch;
    let kernel = Program::new("fill.hip", source).name_expression("fill<int>").arch(arch).compile_bitcode().unwrap();
    let mut linker = Linker::new(&device).unwrap();
    linker.add_bitcode(&kernel).unwrap();
    linker.add_bitcode(&bitcode("helper.hip", HELPER, &device)).unwrap();
    let code = linker.finish().unwrap();
    assert_eq!(result(&code.load(&device).unwrap(), &device, code.lowered_name("fill<int>").unwrap()), 3);
}

#[test]
fn what_cannot_be_linked_is_an_error() {
    let Some(device) = device_or_skip("what_cannot_be_linked_is_an_error") else { return };
    let (kernel, helper) = (bitcode("kernel.hip", KERNEL, &device), bitcode("helper.hip", HELPER, &device));
    let (kernel, helper) = ((LinkInput::Bitcode, kernel.as_bytes()), (LinkInput::Bitcode, helper.as_bytes()));
    for inputs in [&[kernel][..], &[kernel, helper, helper], &[kernel, (LinkInput::Ir, b"define nonsense")]] {
        let error = link(&device, inputs).unwrap_err();
        assert!(matches!(&error, Error::Link(why) if why.inputs[0] == "input 0"), "{error}");
        assert!(error.to_string().contains("AMD_COMGR_REDIRECT_LOGS") || error.log() != Some(""), "{error}");
    }
    // HIPRTC gives no reason, and Comgr does.
    let why = |inputs: &[(LinkInput, &[u8])]| link(&device, inputs).unwrap_err().to_string();
    let (missing, double) = (why(&[kernel]), why(&[kernel, helper, helper]));
    assert!(missing.contains("undefined") && missing.contains("twice"), "{missing}");
    assert!(double.contains("multiply defined"), "{double}");
    let nonsense = why(&[(LinkInput::Ir, b"define nonsense")]);
    assert!(nonsense.contains("expected"), "{nonsense}");
    let nothing = Linker::new(&device).unwrap().finish().unwrap_err();
    assert!(matches!(nothing, Error::Empty { .. }), "{nothing}");
    // Detected before HIPRTC is called, which would make a code object of it.
    let other = Program::new("helper.hip", HELPER).arch("gfx1100").compile_bitcode().unwrap();
    let error = link(&device, &[kernel, (LinkInput::Bitcode, other.as_bytes())]).unwrap_err().to_string();
    assert!(error.contains("gfx1100") && error.contains(device.properties().unwrap().arch.name()), "{error}");
    let code = Program::new("helper.hip", HELPER).arch("gfx90a").compile().unwrap();
    for (kind, bytes) in [
        (LinkInput::Bitcode, code.as_bytes()),
        (LinkInput::Bitcode, &[]),
        (LinkInput::BitcodeBundle, b"junk"),
        (LinkInput::BitcodeArchive, b"junk"),
        (LinkInput::Ir, b"\0"),
    ] {
        let error = link(&device, &[(kind, bytes)]).unwrap_err();
        assert!(matches!(error, Error::LinkInput { .. }), "{error}");
    }
    let error = Linker::new(&device).unwrap().add_ir(IR, "a\0b").unwrap_err();
    assert!(matches!(error, Error::Nul { .. }), "{error}");
    // Neither bitcode nor a file with zeros is accepted as text.
    for text in ["\u{7f}ELF", "BC\0", "!<arch>\n"] {
        let mut linker = Linker::new(&device).unwrap();
        assert!(linker.add_ir(text, "text").is_err() || linker.finish().is_err(), "{text:?}");
    }
}

/// Bitcode that is truncated anywhere is an error. The caller must ensure that bitcode is not damaged.
#[test]
fn truncated_bitcode_is_an_error() {
    let Some(device) = device_or_skip("truncated_bitcode_is_an_error") else { return };
    let helper = bitcode("helper.hip", HELPER, &device);
    let (whole, step) = (helper.as_bytes(), helper.as_bytes().len() / 40 / 4 * 4);
    for length in (0..whole.len()).step_by(step) {
        assert!(link(&device, &[(LinkInput::Bitcode, &whole[..length])]).is_err(), "{length} of {}", whole.len());
    }
}

#[test]
fn options_reach_the_linkers_compiler() {
    let Some(device) = device_or_skip("options_reach_the_linkers_compiler") else { return };
    let kernel = bitcode("kernel.hip", &format!("{HELPER}\n{KERNEL}"), &device);
    let code = |options: Options| {
        let mut linker = Linker::with_options(&device, &options)?;
        linker.add_bitcode(&kernel)?;
        linker.finish()
    };
    let usual = code(Options::new()).unwrap();
    let plain = code(Options::new().opt_level(OptLevel::O0)).unwrap();
    assert_eq!(result(&plain.load(&device).unwrap(), &device, "k"), 2);
    // 5.7 appends -O3.
    let is_old = hiprtc::sys::BINDING.abi().is_some_and(|abi| abi.last.0 < 6);
    assert_eq!(plain.as_bytes() == usual.as_bytes(), is_old);
    let llvm = code(Options::new().llvm("-amdgpu-function-calls=0")).unwrap();
    assert_eq!(result(&llvm.load(&device).unwrap(), &device, "k"), 2);
    let error = code(Options::new().raw("-no-such-option")).unwrap_err();
    assert!(matches!(&error, Error::Link(_)) && error.to_string().contains("-no-such-option"), "{error}");
    for options in [Options::new().raw(""), Options::new().raw("-g\0"), Options::new().raw("-mllvm")] {
        assert!(Linker::with_options(&device, &options).is_err());
    }
}

/// Linkers are independent; each thread has its own.
#[test]
fn many_threads_link_at_once() {
    let Some(device) = device_or_skip("many_threads_link_at_once") else { return };
    let kernel = bitcode("kernel.hip", KERNEL, &device);
    std::thread::scope(|threads| {
        for n in 0..4 {
            let kernel = (LinkInput::Bitcode, kernel.as_bytes());
            threads.spawn(move || {
                let helper = IR.replace("mul i32 %x, 3", &format!("add i32 %x, {n}"));
                assert_eq!(link(&device, &[kernel, (LinkInput::Ir, helper.as_bytes())]).unwrap(), 1 + n);
            });
        }
    });
}

/// The test below runs this with the library hidden.
#[test]
#[ignore = "a part of another test"]
fn without_the_runtimes_short_name() {
    let Some(device) = device_or_skip("without_the_runtimes_short_name") else { return };
    let error = link(&device, &[(LinkInput::Ir, IR.as_bytes())]).unwrap_err();
    println!("CHILD: {error}");
}

#[cfg(unix)]
#[test]
fn an_installation_where_hiprtc_cannot_link_is_told() {
    let test = "an_installation_where_hiprtc_cannot_link_is_told";
    let (Some(_), Some(library)) = (device_or_skip(test), common::library()) else { return };
    let (passed, text) = common::Without::new(&library, &["libamdhip64.so$"]).run("without_the_runtimes_short_name");
    assert!(passed && text.contains("development package"), "{text}");
}
