//! HSA's functions for shared virtual memory, called directly: attributes, access by kernels, and errors.
#![cfg(target_os = "linux")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hsa_sim::abi::*;

/// One test at a time: some use unmapped addresses, which other tests could map again.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls a function that returns a status.
macro_rules! call {
    ($name:ident($($type:ty = $argument:expr),* $(,)?)) => {{
        let export = hsa_sim::EXPORTS.iter().find(|export| export.name == stringify!($name)).unwrap();
        // SAFETY: types as in hsa.h and hsa_ext_amd.h.
        let function: unsafe extern "C" fn($($type),*) -> hsa_status_t = unsafe { std::mem::transmute(export.address()) };
        // SAFETY: pointers are valid, null, or ranges that are under test, which the function only looks up in the kernel's lists.
        unsafe { function($($argument),*) }
    }};
}

const OK: hsa_status_t = HSA_STATUS_SUCCESS;
const PAGE: usize = 4096;

unsafe extern "C" fn add(agent: hsa_agent_t, list: *mut c_void) -> hsa_status_t {
    // SAFETY: the list below, for the time of the call.
    unsafe { (*list.cast::<Vec<hsa_agent_t>>()).push(agent) };
    HSA_STATUS_SUCCESS
}

fn agents() -> Vec<hsa_agent_t> {
    type Callback = unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> hsa_status_t;
    let mut list: Vec<hsa_agent_t> = Vec::new();
    assert_eq!(call!(hsa_init()), OK);
    assert_eq!(call!(hsa_iterate_agents(Callback = add, *mut c_void = (&raw mut list).cast())), OK);
    list
}

type Pair = (u32, u64);

fn pairs(list: &[Pair]) -> Vec<hsa_amd_svm_attribute_pair_t> {
    list.iter()
        .map(|(attribute, value)| hsa_amd_svm_attribute_pair_t { attribute: (*attribute).into(), value: *value })
        .collect()
}

fn set(at: *mut c_void, size: usize, list: &[Pair]) -> hsa_status_t {
    let mut list = pairs(list);
    let (first, count) = (list.as_mut_ptr(), list.len());
    call!(hsa_amd_svm_attributes_set(*mut c_void = at, usize = size, *mut hsa_amd_svm_attribute_pair_t = first, usize = count))
}

fn try_get(at: *mut c_void, size: usize, (attribute, value): Pair) -> Result<Pair, hsa_status_t> {
    let mut list = pairs(&[(attribute, value)]);
    let first = list.as_mut_ptr();
    let status = call!(hsa_amd_svm_attributes_get(*mut c_void = at, usize = size, *mut hsa_amd_svm_attribute_pair_t = first, usize = 1));
    if status == OK { Ok((list[0].attribute as u32, list[0].value)) } else { Err(status) }
}

#[track_caller]
fn get(at: *mut c_void, size: usize, attribute: u32) -> u64 {
    try_get(at, size, (attribute, 99)).unwrap().1
}

#[track_caller]
fn access(at: *mut c_void, size: usize, agent: hsa_agent_t) -> u32 {
    try_get(at, size, (HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agent.handle)).unwrap().0
}

/// Maps pages of the program.
fn map(pages: usize) -> *mut c_void {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let at = unsafe { libc::mmap(null_mut(), pages * PAGE, access, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at
}

fn unmap(at: *mut c_void, pages: usize) {
    // SAFETY: pages of `map`, which nothing uses any more.
    assert_eq!(unsafe { libc::munmap(at, pages * PAGE) }, 0);
}

/// Replaces pages of `map` with new ones.
fn remap(at: *mut c_void, pages: usize) {
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
    // SAFETY: replaces pages of the caller's, which nothing uses.
    assert_eq!(unsafe { libc::mmap(at, pages * PAGE, access, flags, -1, 0) }, at);
}

fn signal(value: i64) -> hsa_signal_t {
    let mut signal = hsa_signal_t::default();
    let none: *const hsa_agent_t = null_mut();
    let created =
        call!(hsa_signal_create(i64 = value, u32 = 0, *const hsa_agent_t = none, *mut hsa_signal_t = &mut signal));
    assert_eq!(created, OK);
    signal
}

/// The value of a signal, through its documented address.
fn value(signal: hsa_signal_t) -> i64 {
    let mut place: *mut i64 = null_mut();
    assert_eq!(call!(hsa_amd_signal_value_pointer(hsa_signal_t = signal, *mut *mut i64 = &mut place)), OK);
    // SAFETY: the signal lives on; all access to the word is atomic.
    unsafe { std::sync::atomic::AtomicI64::from_ptr(place) }.load(std::sync::atomic::Ordering::SeqCst)
}

fn prefetch(
    at: *mut c_void,
    size: usize,
    agent: hsa_agent_t,
    after: &[hsa_signal_t],
    done: hsa_signal_t,
) -> hsa_status_t {
    call!(hsa_amd_svm_prefetch_async(
        *mut c_void = at,
        usize = size,
        hsa_agent_t = agent,
        u32 = after.len() as u32,
        *const hsa_signal_t = after.as_ptr(),
        hsa_signal_t = done,
    ))
}

#[test]
fn attributes_are_of_pages_and_read_back() {
    let _alone = alone();
    let agents = agents();
    let [cpu, gpu] = agents[..] else { panic!("{agents:?}") };
    let at = map(4);
    let second = at.wrapping_byte_add(PAGE);
    let one = HSA_AMD_SVM_ATTRIB_READ_MOSTLY;
    // The driver's defaults for memory without attributes.
    for (attribute, expected) in [
        (HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, u64::from(HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED)),
        (HSA_AMD_SVM_ATTRIB_READ_ONLY, 0),
        (HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 9),
        (HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 0),
        (HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 0),
    ] {
        assert_eq!(get(at, 4 * PAGE, attribute), expected, "{attribute}");
    }
    assert_eq!(access(at, 4 * PAGE, cpu), HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
    assert_eq!(access(at, 4 * PAGE, gpu), HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);

    // Two bytes that are in two pages.
    assert_eq!(
        set(second.wrapping_byte_sub(1), 2, &[(one, 1), (HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, gpu.handle)]),
        OK
    );
    assert_eq!((get(at, 2 * PAGE, one), get(at, 2 * PAGE + 1, one), get(second, 1, one)), (1, 0, 1));
    assert_eq!(get(at, 2 * PAGE, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION), gpu.handle);
    assert_eq!(get(at, 4 * PAGE, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION), 0);
    assert_eq!(set(at, PAGE, &[(HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 0)]), OK);
    assert_eq!(get(at, PAGE, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION), 0);

    let coarse = u64::from(HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED);
    assert_eq!(
        set(second, PAGE, &[(HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, coarse), (HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 60)]),
        OK
    );
    assert_eq!(get(second, PAGE, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG), coarse);
    assert_eq!(get(at, 4 * PAGE, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG), u64::from(HSA_AMD_SVM_GLOBAL_FLAG_INDETERMINATE));
    assert_eq!(get(second, PAGE, HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY), 18);

    for attribute in [
        HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE,
        HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE,
        HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS,
    ] {
        assert_eq!(set(at, 4 * PAGE, &[(attribute, gpu.handle), (attribute, cpu.handle)]), OK);
        assert_eq!((access(at, 4 * PAGE, gpu), access(second, PAGE, cpu)), (attribute, attribute));
    }

    // An invalid entry changes nothing, even if the others are valid.
    let list = HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE;
    for (wrong, status) in [
        (vec![(one, 0), (99, 1)], HSA_STATUS_ERROR_INVALID_ARGUMENT),
        (vec![(one, 0), (HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, gpu.handle)], HSA_STATUS_ERROR_INVALID_ARGUMENT),
        (vec![(one, 0), (HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, gpu.handle)], HSA_STATUS_ERROR_INVALID_ARGUMENT),
        (vec![(one, 0), (HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 2)], HSA_STATUS_ERROR_INVALID_ARGUMENT),
        (vec![(one, 0), (list, 77)], HSA_STATUS_ERROR_INVALID_AGENT),
        (vec![(one, 0), (one, 0)], HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS),
        (vec![(one, 0), (list, gpu.handle), (list + 1, gpu.handle)], HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS),
    ] {
        assert_eq!(set(at, PAGE, &wrong), status, "{wrong:?}");
        assert_eq!(get(at, PAGE, one), 1);
    }
    assert_eq!(try_get(at, PAGE, (list, gpu.handle)), Err(HSA_STATUS_ERROR_INVALID_ARGUMENT));
    assert_eq!(try_get(at, PAGE, (HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, 1)), Err(HSA_STATUS_ERROR_INVALID_AGENT));
    // Invalid or unmapped ranges.
    for (at, size) in [(null_mut(), PAGE), (at, 0), (at, usize::MAX)] {
        assert_eq!(set(at, size, &[(one, 0)]), HSA_STATUS_ERROR_INVALID_ARGUMENT);
        assert_eq!(try_get(at, size, (one, 0)), Err(HSA_STATUS_ERROR_INVALID_ARGUMENT));
    }
    unmap(at.wrapping_byte_add(3 * PAGE), 1);
    assert_eq!(set(at, 4 * PAGE, &[(one, 0)]), HSA_STATUS_ERROR);
    assert_eq!(get(at, PAGE, one), 1);
    unmap(at, 3);
    assert_eq!(try_get(at, PAGE, (one, 0)), Err(HSA_STATUS_ERROR));
}

/// As the HIP runtimes of 6.4 and 5.7 do with managed memory.
#[test]
fn memory_in_the_place_of_what_was_unmapped_is_new() {
    let _alone = alone();
    let agents = agents();
    let [_, gpu] = agents[..] else { panic!("{agents:?}") };
    let at = map(4);
    let given = [(HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpu.handle), (HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1)];
    // Once as a whole, once in two steps; the remaining half is unchanged.
    assert_eq!(set(at, 4 * PAGE, &given), OK);
    let half = at.wrapping_byte_add(2 * PAGE);
    unmap(half, 2);
    assert_eq!(get(at, 2 * PAGE, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 1);
    assert_eq!(access(at, 2 * PAGE, gpu), HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
    // The same addresses, mapped again.
    remap(at, 2);
    assert_eq!(get(at, 2 * PAGE, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 0);
    // Locked memory is no longer shared virtual memory.
    let mut agent_address = null_mut();
    let none: *const hsa_agent_t = null_mut();
    let mut lock = || {
        let result = &mut agent_address;
        call!(hsa_amd_memory_lock(*mut c_void = at, usize = 100, *const hsa_agent_t = none, i32 = 0, *mut *mut c_void = result))
    };
    // SAFETY: pages of this test's own.
    unsafe { at.cast::<u8>().write(1) };
    assert_eq!(lock(), OK);
    assert_ne!(set(at, PAGE, &given), OK);
    assert_eq!(access(at.wrapping_byte_add(PAGE), PAGE, gpu), HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
    assert_eq!(call!(hsa_amd_memory_unlock(*mut c_void = at)), OK);
    assert_eq!(access(at, PAGE, gpu), HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);
    assert_eq!(set(at, PAGE, &given), OK);
    // If locked memory is unmapped and mapped again, it is shared virtual memory again, regardless of later unlocks.
    // SAFETY: as above.
    unsafe { at.cast::<u8>().write(1) };
    assert_eq!(lock(), OK);
    remap(at, 1);
    assert_eq!(set(at, PAGE, &given), OK);
    assert_eq!(call!(hsa_amd_memory_unlock(*mut c_void = at)), OK);
    assert_eq!(access(at, PAGE, gpu), HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
    // A stale lock: other memory has replaced the locked memory.
    assert_eq!(lock(), OK);
    remap(at, 2);
    assert_eq!(set(at, PAGE, &given), OK);
    assert_eq!(access(at, PAGE, gpu), HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
    unmap(at, 2);
}

#[test]
fn what_is_left_of_memory_that_was_unmapped_is_in_nobodys_way() {
    let _alone = alone();
    let agents = agents();
    let [_, gpu] = agents[..] else { panic!("{agents:?}") };
    let at = map(3);
    let [second, third] = [1, 2].map(|page| at.wrapping_byte_add(page * PAGE));
    let given = [(HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpu.handle)];
    assert_eq!(set(at, 3 * PAGE, &given), OK);
    // Unmapped without notice. It is replaced by new memory, adjacent to an inaccessible page, like the guard page of a thread's stack.
    remap(second, 1);
    for page in [at, third] {
        // SAFETY: replaces a page of this test's own.
        let guard = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            libc::mmap(page, PAGE, libc::PROT_NONE, flags, -1, 0)
        };
        assert_eq!(guard, page);
    }
    assert_eq!(set(second, PAGE, &[(HSA_AMD_SVM_ATTRIB_READ_ONLY, 1)]), OK);
    assert_eq!(access(second, PAGE, gpu), HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
    assert_eq!(access(at, PAGE, gpu), HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS, "nothing is known of it");
    assert_eq!(set(at, 2 * PAGE, &given), HSA_STATUS_ERROR);
    unmap(at, 3);
}

#[test]
fn a_prefetch_waits_for_its_signals_and_tells_when_it_is_done() {
    let _alone = alone();
    let agents = agents();
    let [cpu, gpu] = agents[..] else { panic!("{agents:?}") };
    let at = map(2);
    let place = |size| get(at, size, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION);
    let done = signal(2);
    assert_eq!(prefetch(at, PAGE + 1, gpu, &[], done), OK);
    assert_eq!((value(done), place(2 * PAGE)), (1, gpu.handle));
    assert_eq!(prefetch(at, 1, cpu, &[], hsa_signal_t::default()), OK);
    assert_eq!((place(1), place(2 * PAGE)), (cpu.handle, 0));

    let before = [signal(1), signal(1)];
    assert_eq!(prefetch(at, 2 * PAGE, gpu, &before, done), OK);
    for (signal, left) in before.into_iter().zip([1, 0]) {
        assert_eq!(value(done), 1);
        // SAFETY: the type is that of hsa.h.
        let store: unsafe extern "C" fn(hsa_signal_t, i64) = unsafe {
            let name = |export: &&hsa_sim::Export| export.name == "hsa_signal_store_screlease";
            std::mem::transmute(hsa_sim::EXPORTS.iter().find(name).unwrap().address())
        };
        // SAFETY: the signal is live.
        unsafe { store(signal, 0) };
        while left == 0 && value(done) != left {
            std::thread::yield_now();
        }
    }
    assert_eq!(place(2 * PAGE), gpu.handle);

    let none = hsa_signal_t { handle: 8 };
    assert_eq!(prefetch(null_mut(), PAGE, gpu, &[], done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_eq!(prefetch(at, 0, gpu, &[], done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_eq!(prefetch(at, PAGE, hsa_agent_t { handle: 1 }, &[], done), HSA_STATUS_ERROR_INVALID_AGENT);
    assert_eq!(prefetch(at, PAGE, gpu, &[none], done), HSA_STATUS_ERROR_INVALID_SIGNAL);
    assert_eq!(prefetch(at, PAGE, gpu, &[], none), HSA_STATUS_ERROR_INVALID_SIGNAL);
    assert_eq!(value(done), 0);
    // Unmapped memory: reported by a negative value.
    unmap(at, 2);
    let failed = signal(1);
    assert_eq!(prefetch(at, PAGE, gpu, &[], failed), OK);
    assert_eq!(value(failed), -1);
}

#[test]
fn memory_that_is_not_registered_is_the_hosts_until_it_is_given() {
    let _alone = alone();
    let agents = agents();
    let [_, gpu] = agents[..] else { panic!("{agents:?}") };
    let mut at = null_mut();
    let flags = u64::from(HSA_AMD_VMEM_ADDRESS_NO_REGISTER);
    let free = |at: *mut c_void, size: usize| call!(hsa_amd_vmem_address_free(*mut c_void = at, usize = size));
    for _ in 0..3 {
        let reserved = call!(hsa_amd_vmem_address_reserve_align(
            *mut *mut c_void = &mut at,
            usize = 2 * PAGE,
            u64 = 0,
            u64 = 1 << 21,
            u64 = flags,
        ));
        assert_eq!((reserved, at as usize % (1 << 21)), (OK, 0));
        // SAFETY: memory of the host, by the flag.
        unsafe { at.cast::<u64>().write(7) };
        assert_eq!(get(at, 2 * PAGE, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 0);
        let attributes = [(HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpu.handle), (HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1)];
        assert_eq!(set(at, 2 * PAGE, &attributes), OK);
        assert_eq!(access(at, 2 * PAGE, gpu), HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
        assert_ne!(free(at, PAGE), OK);
        assert_eq!(free(at, 2 * PAGE), OK);
        assert_ne!(free(at, 2 * PAGE), OK);
    }
    let too_much =
        call!(hsa_amd_vmem_address_reserve(*mut *mut c_void = &mut at, usize = 1 << 50, u64 = 0, u64 = flags));
    assert_eq!(too_much, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    // Memory that the program maps cannot get attributes either, if it is larger than the host's.
    let size = 1_usize << 44;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    let vast = unsafe { libc::mmap(null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    assert_ne!(vast, libc::MAP_FAILED);
    let attributes = [(HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpu.handle)];
    assert_eq!(set(vast, size, &attributes), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    assert_eq!(set(vast, PAGE, &attributes), OK);
    // SAFETY: it was mapped here.
    assert_eq!(unsafe { libc::munmap(vast, size) }, 0);
    // Memory that agents can access anyway has no such attributes.
    let size = 2 * PAGE;
    let registered = u64::default();
    let reserved =
        call!(hsa_amd_vmem_address_reserve(*mut *mut c_void = &mut at, usize = size, u64 = 0, u64 = registered));
    assert_eq!(reserved, OK);
    assert_ne!(set(at, size, &[(HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpu.handle)]), OK);
    assert_eq!(free(at, size), OK);
}
