//! Memory of other drivers, by file descriptor: mappings show the file's contents, and other files are refused.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::ptr::null_mut;

use hsa_sim::abi::*;
use libloading::os::unix::{Library, Symbol};

type Map = unsafe extern "C" fn(
    u32,
    *mut hsa_agent_t,
    c_int,
    u32,
    *mut usize,
    *mut *mut c_void,
    *mut usize,
    *mut *const c_void,
) -> hsa_status_t;
type Unmap = unsafe extern "C" fn(*mut c_void) -> hsa_status_t;

/// The library, started, and its GPU.
fn open() -> (Library, hsa_agent_t) {
    type Callback = unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> hsa_status_t;
    unsafe extern "C" fn last(agent: hsa_agent_t, place: *mut c_void) -> hsa_status_t {
        // SAFETY: the place below.
        unsafe { place.cast::<hsa_agent_t>().write(agent) };
        HSA_STATUS_SUCCESS
    }
    let mut gpu = hsa_agent_t::default();
    // SAFETY: loading it starts nothing; the types are those of hsa.h, and the place is there during the call.
    let hsa = unsafe {
        let hsa = Library::new(support::library()).unwrap();
        let init: Symbol<unsafe extern "C" fn() -> hsa_status_t> = hsa.get(b"hsa_init").unwrap();
        assert_eq!(init(), HSA_STATUS_SUCCESS);
        let iterate: Symbol<unsafe extern "C" fn(Callback, *mut c_void) -> hsa_status_t> =
            hsa.get(b"hsa_iterate_agents").unwrap();
        assert_eq!(iterate(last, (&raw mut gpu).cast()), HSA_STATUS_SUCCESS);
        hsa
    };
    (hsa, gpu)
}

/// An anonymous file with this size, which is fixed if it is sealed.
fn file(bytes: u64, seals: c_int) -> File {
    // SAFETY: a string, and a descriptor that is new and nobody else's.
    unsafe {
        let raw = libc::memfd_create(c"interop".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        assert!(raw >= 0);
        let file = File::from(OwnedFd::from_raw_fd(raw));
        file.set_len(bytes).unwrap();
        assert_eq!(libc::fcntl(raw, libc::F_ADD_SEALS, seals), 0);
        file
    }
}

#[test]
fn a_sealed_file_is_mapped_and_is_the_same_memory() {
    let (hsa, mut gpu) = open();
    // SAFETY: the types are those of hsa_ext_amd.h.
    let (map, unmap) = unsafe {
        let map: Symbol<Map> = hsa.get(b"hsa_amd_interop_map_buffer").unwrap();
        let unmap: Symbol<Unmap> = hsa.get(b"hsa_amd_interop_unmap_buffer").unwrap();
        (map, unmap)
    };
    let file = file(8192, libc::F_SEAL_SHRINK);
    file.write_all_at(b"theirs", 4096).unwrap();
    let (mut size, mut address, mut metadata_size, mut metadata) = (0, null_mut(), 7, std::ptr::dangling());
    // SAFETY: places for what comes back, and the program's own descriptor.
    let status =
        unsafe { map(1, &mut gpu, file.as_raw_fd(), 0, &mut size, &mut address, &mut metadata_size, &mut metadata) };
    assert_eq!((status, size, metadata_size, metadata.is_null()), (HSA_STATUS_SUCCESS, 8192, 0, true));
    // SAFETY: addresses are the host's too, and nobody else uses these bytes.
    let found = unsafe { std::slice::from_raw_parts_mut(address.cast::<u8>().add(4096), 6) };
    assert_eq!(found, b"theirs");
    found[0] = b'T';
    let mut read = [0; 6];
    file.read_exact_at(&mut read, 4096).unwrap();
    assert_eq!(&read, b"Theirs");
    // SAFETY: mapped above; the bytes are not used any more.
    unsafe {
        assert_eq!(unmap(address.wrapping_byte_add(4096)), HSA_STATUS_ERROR_INVALID_ARGUMENT, "not where it begins");
        assert_eq!(unmap(address), HSA_STATUS_SUCCESS);
        assert_eq!(unmap(address), HSA_STATUS_ERROR_INVALID_ARGUMENT, "twice");
    }
}

#[test]
fn what_is_no_memory_is_refused() {
    let (hsa, mut gpu) = open();
    // SAFETY: the type is that of hsa_ext_amd.h.
    let map: Symbol<Map> = unsafe { hsa.get(b"hsa_amd_interop_map_buffer") }.unwrap();
    let good = file(4096, libc::F_SEAL_SHRINK);
    let (unsealed, parts) = (file(4096, 0), file(5000, libc::F_SEAL_SHRINK));
    let null = File::open("/dev/null").unwrap();
    let (mut size, mut address) = (0, null_mut());
    let mut status = |count: u32, agents: *mut hsa_agent_t, descriptor: c_int, flags: u32| {
        // SAFETY: places for what comes back; a list of as many agents as are counted, or none.
        unsafe { map(count, agents, descriptor, flags, &mut size, &mut address, null_mut(), null_mut()) }
    };
    let refused = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for descriptor in [-1, c_int::MAX, c_int::MIN, null.as_raw_fd(), unsealed.as_raw_fd(), parts.as_raw_fd()] {
        assert_eq!(status(1, &mut gpu, descriptor, 0), refused, "descriptor {descriptor}");
    }
    assert_eq!(status(0, &mut gpu, good.as_raw_fd(), 0), refused, "for nobody");
    assert_eq!(status(1, null_mut(), good.as_raw_fd(), 0), refused, "no list");
    assert_eq!(status(1, &mut gpu, good.as_raw_fd(), 1), refused, "a flag that there is not");
    let mut nobody = hsa_agent_t { handle: 99 };
    assert_ne!(status(1, &mut nobody, good.as_raw_fd(), 0), HSA_STATUS_SUCCESS);
    assert_eq!(status(1, &mut gpu, good.as_raw_fd(), 0), HSA_STATUS_SUCCESS);
}

/// A function of the library; the caller vouches for its type.
unsafe fn get<T>(hsa: &Library, name: &str) -> Symbol<T> {
    // SAFETY: as the caller vouches.
    unsafe { hsa.get(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The first pool of an agent.
fn pool(hsa: &Library, agent: hsa_agent_t) -> hsa_amd_memory_pool_t {
    type Callback = unsafe extern "C" fn(hsa_amd_memory_pool_t, *mut c_void) -> hsa_status_t;
    unsafe extern "C" fn first(pool: hsa_amd_memory_pool_t, place: *mut c_void) -> hsa_status_t {
        // SAFETY: the place below.
        unsafe { place.cast::<hsa_amd_memory_pool_t>().write(pool) };
        HSA_STATUS_INFO_BREAK
    }
    let mut pool = hsa_amd_memory_pool_t::default();
    // SAFETY: the type is that of hsa_ext_amd.h, and the place is there during the call.
    unsafe {
        let iterate: Symbol<unsafe extern "C" fn(hsa_agent_t, Callback, *mut c_void) -> hsa_status_t> =
            get(hsa, "hsa_amd_agent_iterate_memory_pools");
        assert_eq!(iterate(agent, first, (&raw mut pool).cast()), HSA_STATUS_INFO_BREAK);
    }
    pool
}

#[test]
fn a_gpus_memory_is_exported_and_mapped_again() {
    type Allocate = unsafe extern "C" fn(hsa_amd_memory_pool_t, usize, u32, *mut *mut c_void) -> hsa_status_t;
    type Export = unsafe extern "C" fn(*const c_void, usize, *mut c_int, *mut u64) -> hsa_status_t;
    let (hsa, mut gpu) = open();
    // SAFETY: the types are those of hsa_ext_amd.h.
    let (allocate, free, export, close, map, unmap) = unsafe {
        let allocate: Symbol<Allocate> = get(&hsa, "hsa_amd_memory_pool_allocate");
        let free: Symbol<Unmap> = get(&hsa, "hsa_amd_memory_pool_free");
        let export: Symbol<Export> = get(&hsa, "hsa_amd_portable_export_dmabuf");
        let close: Symbol<unsafe extern "C" fn(c_int) -> hsa_status_t> = get(&hsa, "hsa_amd_portable_close_dmabuf");
        let map: Symbol<Map> = get(&hsa, "hsa_amd_interop_map_buffer");
        let unmap: Symbol<Unmap> = get(&hsa, "hsa_amd_interop_unmap_buffer");
        (allocate, free, export, close, map, unmap)
    };
    let (mut first, mut second) = (null_mut(), null_mut());
    // SAFETY: places for the addresses, which are the host's too.
    unsafe {
        assert_eq!(allocate(pool(&hsa, gpu), 8192, 0, &mut first), HSA_STATUS_SUCCESS);
        first.cast::<[u8; 4]>().byte_add(5000).write(*b"ours");
    }
    let (mut descriptor, mut offset) = (-1, 0);
    // SAFETY: places for what comes back.
    let mut exported = |address: *const c_void, size| unsafe { export(address, size, &mut descriptor, &mut offset) };
    // Ranges that are not completely in an allocation of a GPU.
    assert_eq!(exported(null_mut(), 8), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_eq!(exported(first, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_eq!(exported(first.wrapping_byte_add(1), 8192), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    assert_eq!(exported((&raw const gpu).cast(), 8), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    assert_eq!(exported(first.wrapping_byte_add(5000), 4), HSA_STATUS_SUCCESS);
    assert_eq!(offset, 5000);
    let mut size = 0;
    // SAFETY: places for what comes back, and a descriptor that was given just now.
    unsafe {
        assert_eq!(map(1, &mut gpu, descriptor, 0, &mut size, &mut second, null_mut(), null_mut()), HSA_STATUS_SUCCESS);
        assert_eq!(close(descriptor), HSA_STATUS_SUCCESS);
        assert_eq!(close(descriptor), HSA_STATUS_ERROR_RESOURCE_FREE, "twice");
        assert_eq!(close(2), HSA_STATUS_ERROR_RESOURCE_FREE, "the program's own");
    }
    assert_eq!(size, 8192);
    // SAFETY: both are the same 8192 bytes, which nothing else uses; the second mapping keeps them when the first is gone.
    unsafe {
        assert_eq!(second.cast::<[u8; 4]>().byte_add(5000).read(), *b"ours");
        first.cast::<u8>().byte_add(5000).write(b'O');
        assert_eq!(free(first), HSA_STATUS_SUCCESS);
        assert_eq!(second.cast::<[u8; 4]>().byte_add(5000).read(), *b"Ours");
        assert_eq!(unmap(second), HSA_STATUS_SUCCESS);
    }
}
