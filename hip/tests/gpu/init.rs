//! Code that runs when it is loaded or unloaded: kernels that the metadata marks `.kind: init` or `fini`.

use hip::module::LoadOptions;
use hip::{DeviceBuffer, Error, LaunchConfig, Module, Stream};

use crate::{device, eventually};

/// `init.hip` compiled, with `begin` marked as run at loading and `end` at unloading.
fn image(arch: &str) -> Vec<u8> {
    let code: &[u8] = match arch {
        "gfx942" => include_bytes!("../kernels/init.gfx942.co"),
        _ => include_bytes!("../kernels/init.gfx90a.co"),
    };
    let mut image = code.to_vec();
    mark(&mut image, "begin", "init");
    mark(&mut image, "end", "fini");
    image
}

/// Replaces a kernel's count of spilled scalar registers by its kind, in MessagePack of the same size.
fn mark(image: &mut [u8], kernel: &str, kind: &str) {
    let find = |from: usize, what: &[u8]| from + image[from..].windows(what.len()).position(|at| at == what).unwrap();
    let name = [b".name".to_vec(), vec![0xa0 | kernel.len() as u8], kernel.as_bytes().to_vec()].concat();
    let spills = b"\xb1.sgpr_spill_count\0";
    let at = find(find(0, &name), spills);
    let marked = [&b"\xdb\0\0\0\x05.kind\xdb\0\0\0\x04"[..], kind.as_bytes()].concat();
    image[at..at + spills.len()].copy_from_slice(&marked);
}

#[test]
fn what_runs_by_being_loaded_is_refused_by_what_is_safe() {
    let Some(device) = device() else { return };
    let whole = image(device.properties().unwrap().arch.name());
    let refused = |result: hip::Result<()>| {
        let error = result.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Image { .. }) && text.contains("runs without a launch"), "{text}");
    };
    refused(Module::load(&device, &whole).map(drop));
    refused(Module::load_with(&device, &whole, &LoadOptions::default()).map(drop));
    #[cfg(feature = "rocm-7-1")]
    refused(hip::module::Library::load(&device, &whole).map(drop));
    let path = std::env::temp_dir().join(format!("hip-test-init-{}.co", std::process::id()));
    std::fs::write(&path, &whole).unwrap();
    let loaded = Module::load_file(&device, &path).map(drop);
    std::fs::remove_file(&path).unwrap();
    refused(loaded);
}

#[test]
fn what_runs_by_being_loaded_runs_for_those_who_vouch_for_it() {
    let Some(device) = device() else { return };
    let whole = image(device.properties().unwrap().arch.name());
    let stream = Stream::new(&device).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&device, 1).unwrap();
    // SAFETY: `begin` writes a variable of the module; `end` writes to the argument of `tell`, a buffer that outlives the module.
    let (module, _) = unsafe { Module::load_with_init_kernels(&device, &whole, &LoadOptions::default()) }.unwrap();
    let begun = module.global::<u32>("begun").unwrap();
    assert_eq!(begun.to_vec().unwrap(), [1], "it ran, once");
    drop(begun);
    let tell = module.kernel("tell").unwrap();
    // SAFETY: one thread stores an address.
    unsafe { tell.launch(&stream, LaunchConfig::new(1, 1), (&mut out,)) }.unwrap();
    stream.synchronize().unwrap();
    drop((tell, module));
    // Unloading waits for the device, so it happens when the device is idle.
    eventually("it ran at unloading", || out.to_vec().unwrap() == [7]);
}
