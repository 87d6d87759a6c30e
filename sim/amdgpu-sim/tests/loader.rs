//! Code objects: the contents of valid ones, and the errors for invalid ones.

mod common;

use std::io::Write as _;

use amdgpu_sim::{CodeObject, Feature, Gpu, Hidden, LoadError, TargetId, ValueKind, bundle};
use common::*;

static BASIC: &[u8] = include_bytes!("kernels/basic-O1.co");
static V6: &[u8] = include_bytes!("kernels/versions-v6.co");
static V4: &[u8] = include_bytes!("kernels/versions-v4.co");
static POINTERS: &[u8] = include_bytes!("kernels/pointers.co");
static UNDEFINED: &[u8] = include_bytes!("kernels/undefined.co");

/// `bytes` with some of them replaced.
fn patched(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

const E_FLAGS: usize = 48;

#[test]
fn kernels_arguments_and_variables_are_read() {
    let code = CodeObject::parse(BASIC).unwrap();
    assert_eq!((code.version(), code.target().to_string().as_str()), (6, "gfx90a"));
    assert_eq!((code.target().xnack, code.target().sramecc), (Feature::Any, Feature::Any));
    let kernel = |name: &str| code.kernels().iter().find(|k| k.name == name).unwrap();
    let args = |name: &str| -> Vec<(u32, u32, ValueKind)> {
        let explicit = kernel(name).args.iter().filter(|a| !matches!(a.kind, ValueKind::Hidden(_)));
        explicit.map(|a| (a.offset, a.size, a.kind)).collect()
    };
    use ValueKind::{ByValue, GlobalBuffer};
    assert_eq!(
        args("by_value"),
        [(0, 1, ByValue), (4, 12, ByValue), (16, 4, ByValue), (24, 32, ByValue), (56, 8, GlobalBuffer)]
    );
    assert_eq!(kernel("by_value").explicit_size(), 64);
    let hidden: Vec<_> = kernel("reverse_dynamic").args.iter().map(|a| a.kind).collect();
    for expected in [Hidden::BlockCount(0), Hidden::GroupSize(2), Hidden::Remainder(1), Hidden::DynamicLdsSize] {
        assert!(hidden.contains(&ValueKind::Hidden(expected)), "{expected:?} in {hidden:?}");
    }
    let reduce = kernel("reduce_lds");
    assert_eq!((reduce.lds_size, reduce.max_workgroup_size, reduce.wavefront_size), (1024, 1024, 64));
    assert_eq!((reduce.symbol.as_str(), reduce.private_size), ("reduce_lds.kd", 0));
    assert!(reduce.descriptor.kernarg_segment_ptr() && reduce.descriptor.user_sgpr_count() >= 2);
    assert!(kernel("generic_pointers").private_size >= 16 && kernel("calls").dynamic_stack && !reduce.dynamic_stack);
    let global = |name: &str| code.globals().iter().find(|g| g.name == name).map(|g| g.size);
    assert_eq!((global("table"), global("zeroed"), global("counter")), (Some(32), Some(4000), Some(4)));
    assert_eq!(global("reduce_lds.kd"), None);
}

#[test]
fn target_flags_decide_what_the_device_takes() {
    let gpu = gpu();
    assert_eq!(gpu.target(), TargetId::parse("gfx90a:sramecc+:xnack-").unwrap());
    let load = |flags: u32| gpu.load(&CodeObject::parse(&patched(V6, E_FLAGS, &flags.to_le_bytes())).unwrap());
    for (flags, id) in [
        (0x53f, None),
        (0xe3f, None),
        (0x63f, None),
        (0xf3f, Some("gfx90a:sramecc+:xnack+")),
        (0xa3f, Some("gfx90a:sramecc-:xnack-")),
        (0x54c, Some("gfx942")),
        (0x541, Some("gfx1100")),
    ] {
        match (load(flags), id) {
            (Ok(_), None) => {}
            (Err(LoadError::Target { found, device }), Some(id)) => {
                assert_eq!((found.as_str(), device.as_str()), (id, "gfx90a:sramecc+:xnack-"));
            }
            (other, _) => panic!("{flags:#x}: {other:?}"),
        }
    }
    let unknown = CodeObject::parse(&patched(V6, E_FLAGS, &[0xff])).unwrap_err();
    assert!(unknown.to_string().contains("unknown processor 0xff"), "{unknown}");
}

#[test]
fn version_3_has_its_own_flags_and_2_and_7_are_refused() {
    let v3 = |flags: u32| CodeObject::parse(&patched(&patched(V4, 8, &[1]), E_FLAGS, &flags.to_le_bytes())).unwrap();
    let code = v3(0x23f);
    assert_eq!((code.version(), code.target().to_string().as_str()), (3, "gfx90a:sramecc+:xnack-"));
    gpu().load(&code).unwrap();
    // A clear bit means that the feature must be off.
    for (flags, id) in [(0x03f, "gfx90a:sramecc-:xnack-"), (0x13f, "gfx90a:sramecc-:xnack+")] {
        assert_eq!(v3(flags).target().to_string(), id);
        assert!(matches!(gpu().load(&v3(flags)), Err(LoadError::Target { .. })), "{id}");
    }
    for abi_version in [0, 5, 255] {
        let error = CodeObject::parse(&patched(V6, 8, &[abi_version])).unwrap_err();
        assert_eq!(error, LoadError::Version { abi_version });
    }
}

#[test]
fn relocations_point_to_variables_of_the_same_object_only() {
    let gpu = gpu();
    let module = load(&gpu, POINTERS);
    let out = zeros::<i32>(&gpu, 1);
    launch_1d(&gpu, &module, "k", 1, 1, &Args::default().pointer(&out));
    assert_eq!(out.get(), [77]);
    let (table, size) = module.global("tab").unwrap();
    let mut pointers = vec![0; size as usize];
    gpu.memory().read(table, &mut pointers).unwrap();
    let expected: Vec<u8> = ["ext", "here"].iter().flat_map(|n| module.global(n).unwrap().0.to_le_bytes()).collect();
    assert_eq!(pointers, expected);

    let error = gpu.load(&CodeObject::parse(UNDEFINED).unwrap()).unwrap_err();
    assert_eq!(error, LoadError::UndefinedSymbol("ext".into()));
    drop((out, module));
    assert_eq!(gpu.memory().used(), 0, "a load that fails leaves nothing behind");
}

#[test]
fn files_that_are_no_code_objects_say_what_they_are() {
    let host = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let relocatable = patched(V6, 16, &[1]);
    let bundle = [b"__CLANG_OFFLOAD_BUNDLE__".as_slice(), &[0; 100]].concat();
    for (bytes, part) in [
        (&b""[..], "0 bytes"),
        (b"#!/bin/sh\necho no code here", "no ELF magic"),
        (&host[..], "is not EM_AMDGPU"),
        (&patched(V6, 4, &[1]), "64-bit"),
        (&patched(V6, 5, &[2]), "little-endian"),
        (&patched(V6, 7, &[0]), "OS ABI 0 is not HSA"),
        (&relocatable, "relocatable objects must be linked"),
        (&bundle, "bundle"),
    ] {
        let error = CodeObject::parse(bytes).unwrap_err().to_string();
        assert!(error.contains(part), "{part:?}: {error}");
    }
}

#[test]
fn every_truncation_is_an_error() {
    for len in 0..V6.len() {
        assert!(CodeObject::parse(&V6[..len]).is_err(), "{len} of {}", V6.len());
    }
}

#[test]
fn an_entry_point_outside_the_code_is_refused() {
    // The descriptor's entry offset is at byte 16 of its 64.
    let code = CodeObject::parse(V6).unwrap();
    let offset = code.kernels()[0].descriptor.kernel_code_entry_byte_offset.to_le_bytes();
    let at = V6.windows(8).position(|w| w == offset).unwrap();
    for bad in [0_i64, i64::MAX, -1, i64::MIN, 2] {
        let error = CodeObject::parse(&patched(V6, at, &bad.to_le_bytes())).unwrap_err();
        assert!(matches!(&error, LoadError::Kernel { kernel, .. } if kernel == "geometry"), "{error}");
    }
}

#[test]
fn a_code_object_in_a_bundle_is_found_and_runs() {
    let gpu = Gpu::new(amdgpu_sim::Config::default());
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let ids = ["host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx90a"];
    let table: usize = ids.iter().map(|id| 24 + id.len()).sum();
    let start = (32 + table).next_multiple_of(4096);
    bytes.extend(2_u64.to_le_bytes());
    for (id, size) in ids.iter().zip([0, V6.len()]) {
        bytes.extend((start as u64).to_le_bytes());
        bytes.extend((size as u64).to_le_bytes());
        bytes.extend((id.len() as u64).to_le_bytes());
        bytes.extend(id.as_bytes());
    }
    bytes.resize(start, 0);
    bytes.extend(V6);
    let code = bundle::pick(&bytes, &gpu.target()).unwrap();
    assert!(gpu.load(&CodeObject::parse(&code).unwrap()).unwrap().kernel("geometry").is_some());
}

#[test]
fn compressed_bundles_of_the_real_bundler_are_read() {
    let (v2, v3) = (include_bytes!("kernels/basic-ccob-v2.hipfb"), include_bytes!("kernels/basic-ccob-v3.hipfb"));
    for (bytes, version) in [(&v2[..], 2), (&v3[..], 3)] {
        assert_eq!(bytes[4], version);
        let device = |id| TargetId::parse(id).unwrap();
        assert_eq!(
            *bundle::pick(bytes, &device("gfx90a:sramecc+:xnack-")).unwrap(),
            *include_bytes!("kernels/basic-O3.co")
        );
        let other = include_bytes!("kernels/basic-gfx942-O3.co");
        assert_eq!(*bundle::pick(bytes, &device("gfx942:sramecc+:xnack-")).unwrap(), *other);
        let error = bundle::pick(bytes, &device("gfx1100")).unwrap_err();
        assert!(matches!(&error, LoadError::NoCodeFor { available, .. } if available.len() == 3), "{error}");
    }
}

/// Parses each code object of `bundles` for one of our processors, which must be complete.
fn parse_all(path: &std::path::Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let mut found = 0;
    let ours = |t: &TargetId| ["gfx90a", "gfx942"].contains(&&*t.processor);
    bundle::for_each_code_object(&bytes, ours, |target, code| {
        let code = CodeObject::parse(&code).unwrap_or_else(|e| panic!("{} for {target}: {e}", path.display()));
        assert_eq!(code.target().processor, target.processor);
        found += 1;
    })
    .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    found
}

/// librocrand has concatenated bundles, librccl one compressed bundle to which many wrappers point.
#[test]
fn real_libraries_give_their_code_objects() {
    let root = std::env::var_os("ROCM_RS_TREES")
        .map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rocm"), Into::into);
    let folder = root.join("7.2/usr/lib/x86_64-linux-gnu");
    for (library, count) in [("librocrand.so.1", 30), ("librccl.so.1", 2), ("librocfft.so.0", 2)] {
        let path = folder.join(library);
        if path.is_file() {
            assert_eq!(parse_all(&path), count, "{library}");
        } else {
            let _ = writeln!(
                std::io::stdout(),
                "SKIPPED: no {library} (cargo xtask rocm fetch 7.2 --with rocrand,rccl,rocfft)"
            );
        }
    }
}

#[test]
fn a_gpu_takes_the_code_of_its_own_variant() {
    // V6's header says `gfx90a:sramecc+:xnack-` with these bits; each setting of them on each GPU.
    let flags = |xnack: u32, sramecc: u32| (0x3f_u32 | xnack << 8 | sramecc << 10).to_le_bytes();
    for (sramecc_on, xnack_on) in [(false, false), (false, true), (true, false), (true, true)] {
        let gpu = Gpu::new(amdgpu_sim::Config { sramecc: sramecc_on, xnack: xnack_on, ..Default::default() });
        for (xnack, sramecc) in (0..4).flat_map(|xnack| (0..4).map(move |sramecc| (xnack, sramecc))) {
            // 0 and 1: either way. 2: off. 3: on.
            let fits = |field: u32, on: bool| field < 2 || (field == 3) == on;
            let code = CodeObject::parse(&patched(V6, 48, &flags(xnack, sramecc))).unwrap();
            let loaded = gpu.load(&code);
            if fits(xnack, xnack_on) && fits(sramecc, sramecc_on) {
                loaded.unwrap();
            } else {
                let error = loaded.unwrap_err();
                assert!(
                    matches!(&error, LoadError::Target { device, .. } if *device == gpu.target().to_string()),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn device_variables_larger_than_memory_are_out_of_memory() {
    let gpu = Gpu::new(amdgpu_sim::Config { memory_bytes: 10_000, ..Default::default() });
    let error = gpu.load(&CodeObject::parse(BASIC).unwrap()).unwrap_err();
    assert!(matches!(error, LoadError::Memory(_)), "{error}");
}
