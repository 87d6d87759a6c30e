use hip::module::{FunctionAttribute, ParameterKind};
use hip::{Device, Error, Module};

use crate::{KERNELS_GFX1100, device, is_nvidia, kernels, module, supported};

#[test]
fn a_module_lists_its_kernels() {
    let Some(module) = module() else { return };
    let names: Vec<&str> = module.kernels().map(|k| k.name.as_str()).collect();
    assert!(names.contains(&"vector_add") && names.contains(&"empty"), "{names:?}");
    assert!(names.is_sorted());
    let kernel = module.kernel("mixed_args").unwrap();
    let parameters = &kernel.info().parameters;
    assert_eq!(parameters.iter().map(|p| p.size).collect::<Vec<_>>(), [8, 4, 12, 4, 1, 8]);
    let are_pointers = parameters.iter().map(|p| p.kind == ParameterKind::Pointer);
    let first = !is_nvidia(&module.device());
    assert_eq!(are_pointers.collect::<Vec<_>>(), [first, false, false, false, false, false]);
}

#[test]
fn a_file_loads_as_its_bytes_do() {
    if module().is_none() {
        return;
    }
    let device = Device::get(0).unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels");
    let path = format!("{folder}/kernels.{}.co", device.properties().unwrap().arch.name());
    Module::load_file(&device, path).unwrap().kernel("empty").unwrap();
    let error = Module::load_file(&device, "/no/such/file.co").unwrap_err();
    assert!(matches!(error, Error::File { .. }) && error.to_string().contains("/no/such/file.co"), "{error}");
}

#[test]
fn bytes_that_are_no_code_are_refused() {
    let Some(device) = device() else { return };
    let code = kernels(&device);
    for bytes in [&b""[..], b"\0\0\0\0", b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", &code[..code.len() / 2]] {
        let error = Module::load(&device, bytes).unwrap_err();
        assert!(matches!(error, Error::Image { .. } | Error::Hip(_)), "{error}");
    }
}

#[test]
fn code_for_another_gpu_is_refused_with_both_names() {
    let Some(device) = device() else { return };
    if device.properties().unwrap().arch.name() == "gfx1100" {
        return;
    }
    let error = Module::load(&device, KERNELS_GFX1100).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Architecture { .. }), "{text}");
    assert!(text.contains("gfx1100") && text.contains(device.properties().unwrap().arch.name()), "{text}");
}

#[test]
fn a_kernel_that_is_not_there_is_named_with_those_that_are() {
    let Some(module) = module() else { return };
    for name in ["vector_sub", "", "vector_add\0", "vector_add.kd"] {
        let error = module.kernel(name).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::KernelNotFound { .. }), "{text}");
        assert!(text.contains("vector_add"), "{text}");
    }
}

#[test]
fn a_kernel_keeps_its_module_loaded() {
    let Some(module) = module() else { return };
    let kernel = module.kernel("empty").unwrap();
    drop(module);
    let stream = hip::Stream::new(&kernel.device()).unwrap();
    // SAFETY: the kernel does nothing.
    unsafe { kernel.launch(&stream, hip::LaunchConfig::new(1, 1), ()) }.unwrap();
    // The launch may still be queued: the code is unloaded after it.
    drop(kernel);
    stream.synchronize().unwrap();
}

#[test]
fn the_same_code_can_be_loaded_twice() {
    let (Some(a), Some(b)) = (module(), module()) else { return };
    let kernel = b.kernel("empty").unwrap();
    drop(a);
    let stream = hip::Stream::new(&kernel.device()).unwrap();
    // SAFETY: the kernel does nothing.
    unsafe { kernel.launch(&stream, hip::LaunchConfig::new(1, 64), ()) }.unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn attributes_of_a_kernel_agree_with_its_code_object() {
    let Some(module) = module() else { return };
    let ask =
        |name: &str, attribute| u32::try_from(module.kernel(name).unwrap().attribute(attribute).unwrap()).unwrap();
    assert_eq!(ask("bounded", FunctionAttribute::MAX_THREADS_PER_BLOCK), 64);
    assert_eq!(ask("reverse_in_lds", FunctionAttribute::SHARED_BYTES), 1024);
    assert_eq!(ask("empty", FunctionAttribute::SHARED_BYTES), 0);
    let unknown = FunctionAttribute::from(hip::sys::hipFunction_attribute(4711));
    assert!(module.kernel("empty").unwrap().attribute(unknown).unwrap_err().status().is_some());
}

#[test]
fn occupancy_is_within_the_limits() {
    let Some(module) = module() else { return };
    let kernel = module.kernel("vector_add").unwrap();
    let p = kernel.device().properties().unwrap();
    let best = kernel.max_potential_block_size(0).unwrap();
    assert!(best.block >= p.warp_size && best.block <= p.max_threads_per_block, "{best:?}");
    assert!(best.min_grid >= 1);
    let small = kernel.active_blocks_per_compute_unit(64, 0).unwrap();
    let starved = kernel.active_blocks_per_compute_unit(64, p.shared_memory_per_block as u32).unwrap();
    assert!(small > starved && starved >= 1, "{small} {starved}");
    let error = kernel.active_blocks_per_compute_unit(0, 0).unwrap_err();
    assert!(matches!(error, Error::Geometry { .. }), "{error}");
    let error = kernel.active_blocks_per_compute_unit(p.max_threads_per_block + 1, 0).unwrap_err();
    assert!(matches!(error, Error::Geometry { .. }), "{error}");
}

#[test]
fn a_module_is_loaded_with_options_and_the_log_comes_back() {
    let Some(module) = module() else { return };
    let device = module.device();
    let options = hip::module::LoadOptions { max_registers: Some(64), optimization_level: Some(3), verbose: true };
    let Some((module, log)) = supported(Module::load_with(&device, kernels(&device), &options)) else { return };
    assert_eq!(log.errors, "");
    assert_eq!(module.kernel("empty").unwrap().name(), "empty");
    assert!(matches!(Module::load_with(&device, b"nothing", &options), Err(Error::Image { .. })));
    assert!(matches!(Module::load_with(&device, KERNELS_GFX1100, &options), Err(Error::Architecture { .. })));
}

#[cfg(feature = "rocm-6-4")]
#[test]
fn what_cannot_be_linked_is_refused() {
    use hip::module::{LinkInput, Linker};
    let Some(device) = device() else { return };
    let Some(mut linker) = supported(Linker::new(&device)) else { return };
    for kind in [LinkInput::Bitcode, LinkInput::BitcodeBundle, LinkInput::BitcodeArchive, LinkInput::SpirV] {
        for (bytes, name) in [(&b""[..], "empty"), (kernels(&device), "a code object")] {
            // SAFETY: empty input, or a compiler's output.
            assert!(matches!(unsafe { linker.add(kind, bytes, name) }, Err(Error::Image { .. })));
        }
    }
    // SAFETY: the file does not exist.
    assert!(matches!(unsafe { linker.add_file(LinkInput::Bitcode, "/nowhere.bc") }, Err(Error::File { .. })));
    drop(linker);
    // Bitcode that is truncated after its first word.
    let mut linker = Linker::new(&device).unwrap();
    // SAFETY: truncated.
    let added = unsafe { linker.add(LinkInput::Bitcode, b"BC\xc0\xde", "cut off") };
    let result = added.and_then(|()| linker.finish());
    assert!(matches!(result, Err(Error::Hip(_))), "{result:?}");
}

#[cfg(feature = "rocm-7-1")]
#[test]
fn a_library_names_its_kernels_and_a_kernel_keeps_it_loaded() {
    use hip::module::Library;
    let Some(module) = module() else { return };
    let device = module.device();
    let Some(library) = supported(Library::load(&device, kernels(&device))) else { return };
    assert_eq!(library.kernel_count().unwrap(), module.kernels().len());
    #[cfg(feature = "rocm-7-2")]
    {
        let mut names: Vec<String> = library.kernels().unwrap().iter().map(|kernel| kernel.name().to_owned()).collect();
        let mut expected: Vec<String> = module.kernels().map(|kernel| kernel.name.clone()).collect();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }
    let kernel = library.kernel("vector_add").unwrap();
    drop(library);
    assert_eq!(kernel.name(), "vector_add");
    assert!(kernel.library().kernel("no_such_kernel").is_err());
    assert!(kernel.library().kernel("nul\0inside").is_err());
    assert!(matches!(Library::load(&device, b"nothing"), Err(Error::Image { .. })));
    assert!(matches!(Library::load(&device, KERNELS_GFX1100), Err(Error::Architecture { .. })));
}
