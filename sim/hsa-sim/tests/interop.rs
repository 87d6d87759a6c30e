//! Memory of other drivers, by file descriptor: what is mapped is the file's, and what is no such memory is refused.
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

/// An anonymous file of so many bytes, which keeps its size if it is sealed.
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
