//! Invalid use of HSA: every such call returns a status, and the process continues.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hsa_sim::abi::*;
use libloading::os::unix::{Library, Symbol};

const BAD: [u64; 6] = [0, 1, 8, 0xdead_beef, 0x7fff_ffff_f000, u64::MAX];

/// The library, started once for all tests of the process.
struct Hsa(Library);

impl Hsa {
    fn open() -> Self {
        // SAFETY: loading it starts nothing.
        Self(unsafe { Library::new(support::library()) }.unwrap())
    }

    /// A function; the caller vouches for its type.
    unsafe fn get<T>(&self, name: &str) -> Symbol<T> {
        // SAFETY: as the caller vouches.
        unsafe { self.0.get(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// Calls a function that returns a status.
macro_rules! call {
    ($hsa:ident.$name:ident($($type:ty = $argument:expr),* $(,)?)) => {{
        // SAFETY: types as in hsa.h and hsa_ext_amd.h; what the pointers point to is what the test is about.
        unsafe { $hsa.get::<unsafe extern "C" fn($($type),*) -> hsa_status_t>(stringify!($name))($($argument),*) }
    }};
}

/// The agents: CPU, GPU.
fn agents(hsa: &Hsa) -> Vec<hsa_agent_t> {
    unsafe extern "C" fn add(agent: hsa_agent_t, list: *mut c_void) -> hsa_status_t {
        // SAFETY: the list below, for the time of the call.
        unsafe { (*list.cast::<Vec<hsa_agent_t>>()).push(agent) };
        HSA_STATUS_SUCCESS
    }
    type Callback = unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> hsa_status_t;
    let mut list: Vec<hsa_agent_t> = Vec::new();
    let status = call!(hsa.hsa_iterate_agents(Callback = add, *mut c_void = (&raw mut list).cast()));
    assert_eq!(status, HSA_STATUS_SUCCESS);
    list
}

type QueueCallback = unsafe extern "C" fn(hsa_status_t, *mut hsa_queue_t, *mut c_void);

unsafe extern "C" fn heard(status: hsa_status_t, _: *mut hsa_queue_t, sender: *mut c_void) {
    // SAFETY: a sender that is never freed.
    let sender = unsafe { &*sender.cast::<Mutex<Sender<hsa_status_t>>>() };
    sender.lock().unwrap().send(status).unwrap();
}

/// Creates a queue, and a receiver of its errors.
fn queue(hsa: &Hsa, gpu: hsa_agent_t) -> (*mut hsa_queue_t, Receiver<hsa_status_t>) {
    static SENDERS: Mutex<Vec<Arc<Mutex<Sender<hsa_status_t>>>>> = Mutex::new(Vec::new());
    let (sender, receiver) = channel();
    let sender = Arc::new(Mutex::new(sender));
    let data = Arc::as_ptr(&sender).cast_mut();
    // A queue may report an error at any time.
    SENDERS.lock().unwrap().push(sender);
    let mut queue = null_mut();
    let status = call!(hsa.hsa_queue_create(
        hsa_agent_t = gpu,
        u32 = 64,
        u32 = 0,
        QueueCallback = heard,
        *mut c_void = data.cast(),
        u32 = 0,
        u32 = 0,
        *mut *mut hsa_queue_t = &mut queue,
    ));
    assert_eq!(status, HSA_STATUS_SUCCESS);
    (queue, receiver)
}

/// Writes a packet to the first slot of a queue and rings the doorbell.
fn submit(hsa: &Hsa, queue: *mut hsa_queue_t, words: [u64; 8]) {
    // SAFETY: a live queue; the packet goes to its first place, the header last.
    unsafe {
        let place = (*queue).base_address.cast::<u64>();
        (1..8).for_each(|n| place.add(n).write_volatile(words[n]));
        std::sync::atomic::AtomicU64::from_ptr(place).store(words[0], std::sync::atomic::Ordering::Release);
        let add = hsa.get::<unsafe extern "C" fn(*const hsa_queue_t, u64) -> u64>("hsa_queue_add_write_index_relaxed");
        add(queue, 1);
        let ring = hsa.get::<unsafe extern "C" fn(hsa_signal_t, i64)>("hsa_signal_store_screlease");
        ring((*queue).doorbell_signal, 0);
    }
}

/// One test, since it starts and ends the library.
#[test]
fn nothing_that_is_wrong_does_harm() {
    let hsa = Hsa::open();
    assert_eq!(call!(hsa.hsa_shut_down()), HSA_STATUS_ERROR_NOT_INITIALIZED);
    let mut value = [0_u64; 64];
    let value = (&raw mut value).cast::<c_void>();
    assert_eq!(call!(hsa.hsa_system_get_info(u32 = 0, *mut c_void = value)), HSA_STATUS_ERROR_NOT_INITIALIZED);
    every_function_with_nothing(&hsa);
    assert_eq!(call!(hsa.hsa_init()), HSA_STATUS_SUCCESS);
    let [_, gpu] = agents(&hsa)[..] else { panic!() };

    every_function_with_nothing(&hsa);
    every_function_with_a_handle_that_is_none(&hsa);
    wrong_handles(&hsa, value);
    wrong_memory(&hsa, gpu);
    wrong_code(&hsa, gpu);
    wrong_packets(&hsa, gpu);
    wrong_order(&hsa, gpu);
    random_packets(&hsa, gpu);

    assert_eq!(call!(hsa.hsa_shut_down()), HSA_STATUS_SUCCESS);
    every_function_with_nothing(&hsa);
    assert_eq!(call!(hsa.hsa_shut_down()), HSA_STATUS_ERROR_NOT_INITIALIZED);
    // And again from the start.
    assert_eq!(call!(hsa.hsa_init()), HSA_STATUS_SUCCESS);
    let [_, gpu] = agents(&hsa)[..] else { panic!() };
    let (queue, _) = queue(&hsa, gpu);
    assert_eq!(call!(hsa.hsa_queue_destroy(*mut hsa_queue_t = queue)), HSA_STATUS_SUCCESS);
    assert_eq!(call!(hsa.hsa_shut_down()), HSA_STATUS_SUCCESS);
}

/// A function called with integer arguments only: pointers, handles and sizes are passed in the same way.
type Plain = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;

/// Calls a function with a first argument and nothing else.
fn with_first(hsa: &Hsa, name: &str, first: u64) -> u64 {
    // SAFETY: HSA's functions take at most ten arguments, and ignore other registers and stack slots. The pointers are null.
    unsafe { hsa.get::<Plain>(name)(first, 0, 0, 0, 0, 0, 0, 0, 0, 0) }
}

/// Calls every function with null for each pointer and 0 for each handle and size: before initialisation, while
/// running, and after shutdown.
fn every_function_with_nothing(hsa: &Hsa) {
    for export in hsa_sim::EXPORTS {
        if !["hsa_init", "hsa_shut_down"].contains(&export.name) {
            with_first(hsa, export.name, 0);
        }
    }
}

/// Calls every function whose first argument is a handle with invalid handles.
fn every_function_with_a_handle_that_is_none(hsa: &Hsa) {
    let families =
        ["hsa_agent_", "hsa_signal_", "hsa_queue_", "hsa_executable_", "hsa_isa_", "hsa_region_", "hsa_cache_"];
    let of_amd = [
        "hsa_amd_agent_",
        "hsa_amd_queue_",
        "hsa_amd_memory_pool_get",
        "hsa_amd_vmem_handle_release",
        "hsa_amd_profiling_",
    ];
    let others = ["hsa_code_object_reader_destroy", "hsa_amd_signal_async_handler"];
    let mut called = 0;
    for export in hsa_sim::EXPORTS {
        let takes_one = families.iter().chain(&of_amd).chain(&others).any(|family| export.name.starts_with(family));
        let names = ["create", "group", "from_name"];
        if !takes_one || names.iter().any(|name| export.name.contains(name)) {
            continue;
        }
        called += 1;
        for handle in BAD {
            with_first(hsa, export.name, handle);
        }
    }
    assert!(called > 60, "{called}");
}

/// Objects that are used after their destruction, destroyed twice, or of another kind.
fn wrong_order(hsa: &Hsa, gpu: hsa_agent_t) {
    let (queue, _heard) = queue(hsa, gpu);
    // SAFETY: a live queue.
    let doorbell = unsafe { (*queue).doorbell_signal };
    // A queue's doorbell used as a program's signal, an agent as a signal, a signal as a queue.
    for handle in [doorbell.handle, gpu.handle, queue as u64] {
        let agent = hsa_agent_t { handle };
        let mut value = [0_u64; 64];
        let status =
            call!(hsa.hsa_agent_get_info(hsa_agent_t = agent, u32 = 0, *mut c_void = value.as_mut_ptr().cast()));
        assert_eq!(status == HSA_STATUS_SUCCESS, handle == gpu.handle);
        let status = call!(hsa.hsa_executable_destroy(hsa_executable_t = hsa_executable_t { handle }));
        assert_eq!(status, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
        if handle != queue as u64 {
            let status = call!(hsa.hsa_queue_destroy(*mut hsa_queue_t = handle as *mut hsa_queue_t));
            assert_eq!(status, HSA_STATUS_ERROR_INVALID_QUEUE);
        }
        let reader = hsa_code_object_reader_t { handle };
        assert_ne!(call!(hsa.hsa_code_object_reader_destroy(hsa_code_object_reader_t = reader)), HSA_STATUS_SUCCESS);
    }
    assert_eq!(call!(hsa.hsa_queue_destroy(*mut hsa_queue_t = queue)), HSA_STATUS_SUCCESS);
    // The queue's address after its destruction.
    with_first(hsa, "hsa_queue_load_read_index_relaxed", queue as u64);
    with_first(hsa, "hsa_signal_load_relaxed", doorbell.handle);
    assert_eq!(call!(hsa.hsa_queue_inactivate(*mut hsa_queue_t = queue)), HSA_STATUS_ERROR_INVALID_QUEUE);
}

/// Packets of random bits, some of them written while the queue reads them. Whatever they contain, the queue can be
/// destroyed, and its callback receives an error.
fn random_packets(hsa: &Hsa, gpu: hsa_agent_t) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut signal = hsa_signal_t::default();
    let place = &raw mut signal;
    let status = call!(hsa.hsa_signal_create(i64 = 0, u32 = 0, *const c_void = null(), *mut hsa_signal_t = place));
    assert_eq!(status, HSA_STATUS_SUCCESS);
    let own = [0x1234_5678_9abc_def0_u64; 64];
    let mut told = 0;
    for round in 0..400 {
        let (queue, heard) = queue(hsa, gpu);
        let mut random = || match next() % 8 {
            0..=2 => 0,
            3 => signal.handle,
            4 => BAD[(next() % 6) as usize],
            5 => own.as_ptr() as u64 + next() % 64,
            6 => queue as u64 + next() % 8192,
            _ => next(),
        };
        // The first packet is invalid, and the queue is in order: an error is certain.
        let is_sure = round % 10 == 0;
        let mut packets = if is_sure { vec![[77, 0, 0, 0, 0, 0, 0, 0]] } else { Vec::new() };
        for _ in 0..=round % 5 {
            let mut words: [u64; 8] = std::array::from_fn(|_| random());
            let header = match random() % 6 {
                0 => random(),
                // A dispatch of one work-item; barriers; AMD's own packet; with reserved bits and any fences.
                1 => 2 | (random() & 0xff00) | 1 << 16,
                2 => 3 | (random() & 0xffff_ff00),
                3 => 5 | (random() & 0xffff_ff00),
                4 => (random() & 0xff00) | 2 << 16,
                _ => random() & 0xffff,
            };
            words[0] = header & 0xffff_ffff | words[0] << 32;
            packets.push(words);
        }
        // SAFETY: a live queue of 64 packets, whose ring is written by atomics, the header last.
        unsafe {
            let ring = (*queue).base_address.cast::<u64>();
            let word = |at: usize| std::sync::atomic::AtomicU64::from_ptr(ring.add(at));
            for (n, words) in packets.iter().enumerate() {
                let order = std::sync::atomic::Ordering::Release;
                // In every other round the header is written first, and the rest while the packet is read.
                if round % 2 == 1 {
                    word(8 * n).store(words[0], order);
                }
                (1..8).for_each(|at| word(8 * n + at).store(words[at], order));
                word(8 * n).store(words[0], order);
                if round % 4 == 3 {
                    word(8 * n).store(words[1], order);
                }
            }
            let add =
                hsa.get::<unsafe extern "C" fn(*const hsa_queue_t, u64) -> u64>("hsa_queue_add_write_index_relaxed");
            add(queue, if round % 7 == 0 && !is_sure { u64::MAX } else { packets.len() as u64 });
            let ring = hsa.get::<unsafe extern "C" fn(hsa_signal_t, i64)>("hsa_signal_store_screlease");
            ring((*queue).doorbell_signal, if round % 3 == 0 && !is_sure { -1 } else { packets.len() as i64 - 1 });
        }
        // Some are destroyed while they are working. On a slow machine that may be all of them, which is fine too.
        let patience = Duration::from_millis(if told <= round / 4 { 20 } else { 1 });
        let status = if is_sure { Ok(heard.recv().unwrap()) } else { heard.recv_timeout(patience) };
        if let Ok(status) = status {
            assert_ne!(status, HSA_STATUS_SUCCESS, "{packets:x?}");
            told += 1;
        }
        assert_eq!(call!(hsa.hsa_queue_destroy(*mut hsa_queue_t = queue)), HSA_STATUS_SUCCESS);
    }
    assert!(told >= 40, "only {told} of the queues heard of an error");
    assert_eq!(call!(hsa.hsa_signal_destroy(hsa_signal_t = signal)), HSA_STATUS_SUCCESS);
}

fn wrong_handles(hsa: &Hsa, value: *mut c_void) {
    for handle in BAD {
        let agent = hsa_agent_t { handle };
        let status = call!(hsa.hsa_agent_get_info(hsa_agent_t = agent, u32 = 0, *mut c_void = value));
        assert_eq!(status, HSA_STATUS_ERROR_INVALID_AGENT);
        let pool = hsa_amd_memory_pool_t { handle };
        let status =
            call!(hsa.hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t = pool, u32 = 0, *mut c_void = value));
        assert_eq!(status, HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
        let signal = hsa_signal_t { handle };
        assert_ne!(call!(hsa.hsa_signal_destroy(hsa_signal_t = signal)), HSA_STATUS_SUCCESS);
        // SAFETY: types as in hsa.h; a handle that is none is what this is about.
        unsafe {
            hsa.get::<unsafe extern "C" fn(hsa_signal_t, i64)>("hsa_signal_store_relaxed")(signal, 5);
            type Wait = unsafe extern "C" fn(hsa_signal_t, u32, i64, u64, u32) -> i64;
            assert_eq!(hsa.get::<Wait>("hsa_signal_wait_scacquire")(signal, 0, 7, u64::MAX, 0), 0);
            let index =
                hsa.get::<unsafe extern "C" fn(*const hsa_queue_t) -> u64>("hsa_queue_load_write_index_relaxed");
            assert_eq!(index(handle as *const hsa_queue_t), 0);
        }
        let status = call!(hsa.hsa_queue_destroy(*mut hsa_queue_t = handle as *mut hsa_queue_t));
        let none = if handle == 0 { HSA_STATUS_ERROR_INVALID_ARGUMENT } else { HSA_STATUS_ERROR_INVALID_QUEUE };
        assert_eq!(status, none);
        let executable = hsa_executable_t { handle };
        let status = call!(hsa.hsa_executable_freeze(hsa_executable_t = executable, *const c_void = null()));
        assert_eq!(status, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
        let memory = hsa_amd_vmem_alloc_handle_t { handle };
        let status = call!(hsa.hsa_amd_vmem_handle_release(hsa_amd_vmem_alloc_handle_t = memory));
        assert_eq!(status, HSA_STATUS_ERROR_INVALID_ALLOCATION);
    }
    let none: Option<unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> hsa_status_t> = None;
    let status = call!(hsa.hsa_iterate_agents(Option<_> = none, *mut c_void = null_mut()));
    assert_eq!(status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    let status = call!(hsa.hsa_system_get_info(u32 = 0, *mut c_void = null_mut()));
    assert_eq!(status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_eq!(call!(hsa.hsa_system_get_info(u32 = 9999, *mut c_void = value)), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

fn wrong_memory(hsa: &Hsa, gpu: hsa_agent_t) {
    unsafe extern "C" fn first(pool: hsa_amd_memory_pool_t, place: *mut c_void) -> hsa_status_t {
        // SAFETY: the place below, for the time of the call.
        unsafe { *place.cast::<hsa_amd_memory_pool_t>() = pool };
        HSA_STATUS_INFO_BREAK
    }
    type Callback = unsafe extern "C" fn(hsa_amd_memory_pool_t, *mut c_void) -> hsa_status_t;
    let mut pool = hsa_amd_memory_pool_t::default();
    let place = (&raw mut pool).cast();
    let status =
        call!(hsa.hsa_amd_agent_iterate_memory_pools(hsa_agent_t = gpu, Callback = first, *mut c_void = place));
    assert_eq!(status, HSA_STATUS_INFO_BREAK);
    let allocate = |size: usize, flags: u32| {
        let mut memory: *mut c_void = null_mut();
        let status = call!(hsa.hsa_amd_memory_pool_allocate(
            hsa_amd_memory_pool_t = pool,
            usize = size,
            u32 = flags,
            *mut *mut c_void = &mut memory,
        ));
        (status, memory)
    };
    assert_eq!(allocate(0, 0).0, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_eq!(allocate(16, 1 << 31).0, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    for size in [1 << 45, usize::MAX, usize::MAX - 4095] {
        assert_eq!(allocate(size, 0).0, HSA_STATUS_ERROR_INVALID_ALLOCATION, "{size:#x}");
    }
    let (status, memory) = allocate(1000, 0);
    assert_eq!(status, HSA_STATUS_SUCCESS);
    let mut own = [0_u8; 2000];
    let own: *mut c_void = own.as_mut_ptr().cast();
    let copy = |to: *mut c_void, from: *const c_void, len: usize| call!(hsa.hsa_memory_copy(*mut c_void = to, *const c_void = from, usize = len));
    assert_eq!(copy(memory, own, 1000), HSA_STATUS_SUCCESS);
    for (to, from, len) in [
        (memory, own.cast_const(), 1001),
        (own, memory.cast_const(), 2000),
        (memory.wrapping_byte_add(999), own, 2),
        (null_mut(), own, 8),
        (memory, null(), 8),
        (memory, 0x10 as *const c_void, 8),
        (0x10 as *mut c_void, memory, 8),
        (memory, own, usize::MAX),
    ] {
        assert_ne!(copy(to, from, len), HSA_STATUS_SUCCESS, "{to:?} {from:?} {len}");
    }
    let free = |memory: *mut c_void| call!(hsa.hsa_amd_memory_pool_free(*mut c_void = memory));
    assert_eq!(free(memory.wrapping_byte_add(8)), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    assert_eq!(free(own), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    assert_eq!(free(memory), HSA_STATUS_SUCCESS);
    assert_eq!(free(memory), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    assert_eq!(call!(hsa.hsa_amd_memory_unlock(*mut c_void = own)), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    // A lock of a part, possibly left over from other memory at that address, does not limit copies of the whole.
    let (mut from, mut to) = (vec![7_u8; 1 << 16], vec![0_u8; 1 << 16]);
    let (part, mut agents) = (from.as_mut_ptr().cast::<c_void>(), null_mut());
    let locked = call!(hsa.hsa_amd_memory_lock(*mut c_void = part, usize = 5000, *mut hsa_agent_t = null_mut(), i32 = 0, *mut *mut c_void = &mut agents));
    assert_eq!(locked, HSA_STATUS_SUCCESS);
    assert_eq!(copy(to.as_mut_ptr().cast(), part, to.len()), HSA_STATUS_SUCCESS);
    assert!(to == from);
    assert_eq!(call!(hsa.hsa_amd_memory_unlock(*mut c_void = part)), HSA_STATUS_SUCCESS);
    let mut base = null_mut();
    let reserve = |base: &mut *mut c_void, size: usize| call!(hsa.hsa_amd_vmem_address_reserve(*mut *mut c_void = base, usize = size, u64 = 0, u64 = 0));
    assert_eq!(reserve(&mut base, 100), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_eq!(reserve(&mut base, 1 << 60), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    assert_eq!(reserve(&mut base, 8192), HSA_STATUS_SUCCESS);
    let unmap = |base: *mut c_void, size| call!(hsa.hsa_amd_vmem_unmap(*mut c_void = base, usize = size));
    assert_ne!(unmap(base, 4096), HSA_STATUS_SUCCESS);
    let give_back = |base: *mut c_void, size| call!(hsa.hsa_amd_vmem_address_free(*mut c_void = base, usize = size));
    assert_ne!(give_back(base, 4096), HSA_STATUS_SUCCESS);
    assert_eq!(give_back(base, 8192), HSA_STATUS_SUCCESS);
    assert_ne!(give_back(base, 8192), HSA_STATUS_SUCCESS);
}

fn wrong_code(hsa: &Hsa, gpu: hsa_agent_t) {
    let mut reader = hsa_code_object_reader_t::default();
    let mut executable = hsa_executable_t::default();
    let code = b"\x7fELF and no more";
    let create = |code: *const c_void, size: usize, reader: *mut hsa_code_object_reader_t| {
        call!(hsa.hsa_code_object_reader_create_from_memory(
            *const c_void = code,
            usize = size,
            *mut hsa_code_object_reader_t = reader,
        ))
    };
    // Not mapped; longer than the mapped memory; empty.
    assert_ne!(create(0x1000 as *const c_void, 100, &mut reader), HSA_STATUS_SUCCESS);
    assert_ne!(create(code.as_ptr().cast(), usize::MAX, &mut reader), HSA_STATUS_SUCCESS);
    assert_ne!(create(code.as_ptr().cast(), 0, &mut reader), HSA_STATUS_SUCCESS);
    assert_eq!(create(code.as_ptr().cast(), code.len(), &mut reader), HSA_STATUS_SUCCESS);
    let place = &raw mut executable;
    let status = call!(hsa.hsa_executable_create_alt(
        u32 = 1,
        u32 = 0,
        *const c_void = null(),
        *mut hsa_executable_t = place,
    ));
    assert_eq!(status, HSA_STATUS_SUCCESS);
    let load = |executable: hsa_executable_t| {
        call!(hsa.hsa_executable_load_agent_code_object(
            hsa_executable_t = executable,
            hsa_agent_t = gpu,
            hsa_code_object_reader_t = reader,
            *const c_void = null(),
            *mut c_void = null_mut(),
        ))
    };
    assert_eq!(load(executable), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    assert_eq!(call!(hsa.hsa_executable_destroy(hsa_executable_t = executable)), HSA_STATUS_SUCCESS);
    // A stale handle.
    assert_eq!(load(executable), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
}

fn wrong_packets(hsa: &Hsa, gpu: hsa_agent_t) {
    let dispatch = 2 | 1 << 16;
    let sizes = 64 | 1 << 16;
    // One dimension: workgroup and grid of 64 work-items.
    let kernel = |object: u64| [dispatch | 64 << 32, 1 | 64 << 32, 1 | 1 << 32, 0, object, 0, 0, 0];
    let cases = [
        (kernel(0), HSA_STATUS_ERROR_INVALID_CODE_OBJECT),
        (kernel(0xdead_beef), HSA_STATUS_ERROR_INVALID_CODE_OBJECT),
        (kernel(u64::MAX), HSA_STATUS_ERROR_INVALID_CODE_OBJECT),
        // Invalid packet types, and AMD's own with an unknown format.
        ([4, sizes, 0, 0, 0, 0, 0, 0], HSA_STATUS_ERROR_INVALID_PACKET_FORMAT),
        ([77, 0, 0, 0, 0, 0, 0, 0], HSA_STATUS_ERROR_INVALID_PACKET_FORMAT),
        ([9 << 16, 0, 0, 0, 0, 0, 0, 0], HSA_STATUS_ERROR_INVALID_PACKET_FORMAT),
        // Invalid signals: to wait for, and to complete.
        ([3, 0xdead_beef, 0, 0, 0, 0, 0, 0], HSA_STATUS_ERROR_INVALID_SIGNAL),
        ([3, 0, 0, 0, 0, 0, 0, 0xdead_beef], HSA_STATUS_ERROR_INVALID_SIGNAL),
    ];
    for (words, expected) in cases {
        let (queue, heard) = queue(hsa, gpu);
        submit(hsa, queue, words);
        assert_eq!(heard.recv(), Ok(expected), "{words:x?}");
        assert_eq!(call!(hsa.hsa_queue_destroy(*mut hsa_queue_t = queue)), HSA_STATUS_SUCCESS);
        assert_eq!(call!(hsa.hsa_queue_destroy(*mut hsa_queue_t = queue)), HSA_STATUS_ERROR_INVALID_QUEUE);
    }
    // A barrier that is never satisfied does not keep its queue from being destroyed.
    let mut signal = hsa_signal_t::default();
    let place = &raw mut signal;
    let status = call!(hsa.hsa_signal_create(i64 = 1, u32 = 0, *const c_void = null(), *mut hsa_signal_t = place));
    assert_eq!(status, HSA_STATUS_SUCCESS);
    let (queue, _heard) = queue(hsa, gpu);
    submit(hsa, queue, [3, signal.handle, 0, 0, 0, 0, 0, 0]);
    assert_eq!(call!(hsa.hsa_queue_destroy(*mut hsa_queue_t = queue)), HSA_STATUS_SUCCESS);
    assert_eq!(call!(hsa.hsa_signal_destroy(hsa_signal_t = signal)), HSA_STATUS_SUCCESS);
    // A signal that was destroyed before the packet is processed does not block the queue, and is not completed.
    let ended = signal.handle;
    let status = call!(hsa.hsa_signal_create(i64 = 1, u32 = 0, *const c_void = null(), *mut hsa_signal_t = place));
    assert_eq!(status, HSA_STATUS_SUCCESS);
    assert_ne!(signal.handle, ended);
    for completion in [signal.handle, ended] {
        let (queue, heard) = self::queue(hsa, gpu);
        submit(hsa, queue, [3, ended, 0, 0, 0, 0, 0, completion]);
        type ReadIndex = unsafe extern "C" fn(*const hsa_queue_t) -> u64;
        // SAFETY: types as in hsa.h, and a live queue.
        let read = || unsafe { hsa.get::<ReadIndex>("hsa_queue_load_read_index_scacquire")(queue) };
        while read() == 0 {
            assert_eq!(heard.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty));
            std::thread::yield_now();
        }
        assert_eq!(call!(hsa.hsa_queue_destroy(*mut hsa_queue_t = queue)), HSA_STATUS_SUCCESS);
    }
    type Load = unsafe extern "C" fn(hsa_signal_t) -> i64;
    // SAFETY: types as in hsa.h.
    assert_eq!(unsafe { hsa.get::<Load>("hsa_signal_load_scacquire")(signal) }, 0);
    assert_eq!(call!(hsa.hsa_signal_destroy(hsa_signal_t = signal)), HSA_STATUS_SUCCESS);
}

/// Run by the test below in a separate process.
#[test]
#[ignore = "it ends its process"]
fn a_queue_that_nobody_listens_to() {
    let hsa = Hsa::open();
    assert_eq!(call!(hsa.hsa_init()), HSA_STATUS_SUCCESS);
    let [_, gpu] = agents(&hsa)[..] else { panic!() };
    let mut queue = null_mut();
    let status = call!(hsa.hsa_queue_create(
        hsa_agent_t = gpu,
        u32 = 64,
        u32 = 0,
        Option<QueueCallback> = None,
        *mut c_void = null_mut(),
        u32 = 0,
        u32 = 0,
        *mut *mut hsa_queue_t = &mut queue,
    ));
    assert_eq!(status, HSA_STATUS_SUCCESS);
    submit(&hsa, queue, [77, 0, 0, 0, 0, 0, 0, 0]);
    loop {
        std::thread::park();
    }
}

/// As in ROCr: otherwise a program that waits for the work would wait for ever.
#[test]
fn what_nobody_handles_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;

    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "a_queue_that_nobody_listens_to", "--ignored", "--nocapture"]);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{text}");
    assert!(text.contains("neither the queue nor the system has a handler"), "{text}");
}
