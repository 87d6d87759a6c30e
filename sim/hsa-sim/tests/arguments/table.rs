//! What each function takes, from `hsa.h`, `hsa_ext_amd.h`, `hsa_ext_image.h` and `hsa_ven_amd_loader.h`.

use std::ffi::{CStr, c_void};

use hsa_sim::abi::*;

use crate::row::Argument::{Attribute, Callback, Fresh, In, List, Number, Of, Out, Text};
use crate::row::{Argument, Expect, Returns, Row, Undo, kept};
use crate::world::{CODE, Kind, SIZE, World, picture};

/// Start and end of the runtime, which everything else is between.
pub(crate) const SPECIAL: [&str; 2] = ["hsa_init", "hsa_shut_down"];

const INVALID: Expect = Expect::Is(HSA_STATUS_ERROR_INVALID_ARGUMENT);
/// What functions that are not there say.
pub(crate) const NOT_SUPPORTED: Expect = Expect::Is(HSA_STATUS_ERROR_NOT_SUPPORTED);
const HUGE: u64 = u64::MAX;

/// Functions that the software GPU does not have; whatever they are given, they say so.
const UNSUPPORTED: [&str; 39] = [
    "hsa_amd_ais_file_read",
    "hsa_amd_ais_file_write",
    "hsa_amd_ipc_signal_attach",
    "hsa_amd_ipc_signal_create",
    "hsa_amd_memory_migrate",
    "hsa_amd_portable_close_dmabuf",
    "hsa_amd_portable_export_dmabuf",
    "hsa_amd_portable_export_dmabuf_v2",
    "hsa_amd_spm_acquire",
    "hsa_amd_spm_release",
    "hsa_amd_spm_set_dest_buffer",
    "hsa_code_object_deserialize",
    "hsa_code_object_destroy",
    "hsa_code_object_get_info",
    "hsa_code_object_get_symbol",
    "hsa_code_object_get_symbol_from_name",
    "hsa_code_object_iterate_symbols",
    "hsa_code_object_serialize",
    "hsa_code_symbol_get_info",
    "hsa_executable_load_code_object",
    "hsa_executable_load_program_code_object",
    "hsa_ext_program_add_module",
    "hsa_ext_program_create",
    "hsa_ext_program_destroy",
    "hsa_ext_program_finalize",
    "hsa_ext_program_get_info",
    "hsa_ext_program_iterate_modules",
    "hsa_signal_group_create",
    "hsa_signal_group_destroy",
    "hsa_signal_group_wait_any_relaxed",
    "hsa_signal_group_wait_any_scacquire",
    "hsa_soft_queue_create",
    "hsa_ven_amd_pcs_create",
    "hsa_ven_amd_pcs_create_from_id",
    "hsa_ven_amd_pcs_destroy",
    "hsa_ven_amd_pcs_flush",
    "hsa_ven_amd_pcs_iterate_configuration",
    "hsa_ven_amd_pcs_start",
    "hsa_ven_amd_pcs_stop",
];

/// Names of functions of one kind, one for each ordering.
macro_rules! orderings {
    ($prefix:literal: $($ordering:literal)*) => {
        [$(concat!($prefix, "_", $ordering)),*]
    };
}

extern "C" fn success(_: u64, _: u64, _: u64, _: u64) -> hsa_status_t {
    HSA_STATUS_SUCCESS
}

extern "C" fn done(_: u64, _: u64) -> bool {
    false
}

extern "C" fn nowhere(_: usize) -> *mut c_void {
    std::ptr::null_mut()
}

fn of(kind: Kind) -> Argument {
    Of(kind, None)
}

fn gpu() -> Argument {
    of(Kind::Gpu)
}

fn out() -> Argument {
    Out { nullable: false, made: None }
}

fn made(undo: Undo) -> Argument {
    Out { nullable: false, made: Some(undo) }
}

/// A place where it is allowed to have none.
fn may_out() -> Argument {
    Out { nullable: true, made: None }
}

/// A pointer to some words.
fn words(words: &[u64]) -> Argument {
    In { bytes: words.iter().flat_map(|word| word.to_ne_bytes()).collect(), nullable: false }
}

/// A pointer to some half words.
fn halves(halves: &[u32]) -> Argument {
    In { bytes: halves.iter().flat_map(|word| word.to_ne_bytes()).collect(), nullable: false }
}

/// A number that may be anything.
fn any(value: u64) -> Argument {
    Number(value, [0, 1, 1 << 31, 1 << 63, HUGE].map(|other| (other, Expect::Any)).to_vec())
}

/// A number that is not looked at, or says how much room there is and so must be true.
fn fixed(value: u64) -> Argument {
    Number(value, Vec::new())
}

/// A number of which some are invalid arguments.
fn number(value: u64, wrong: &[u64]) -> Argument {
    Number(value, wrong.iter().map(|wrong| (*wrong, INVALID)).collect())
}

/// One of a list of choices: any number above the last is none.
fn choice(value: u64, last: u64) -> Argument {
    number(value, &[last + 1, 99, 1 << 31, u64::from(u32::MAX)])
}

/// Bytes of something that is made: none, and more than there can be.
fn size(value: u64) -> Argument {
    let most =
        [(1 << 46, Expect::Error), (1 << 63, Expect::Error), (HUGE, Expect::Error), (HUGE - 4095, Expect::Error)];
    Number(value, [(0, INVALID)].into_iter().chain(most).collect())
}

/// A part of something that is there: what is more leaves it.
fn part(value: u64) -> Argument {
    let wrong =
        [(1 << 40, Expect::Error), (1 << 63, Expect::Error), (HUGE, Expect::Error), (HUGE - 4095, Expect::Error)];
    Number(value, [(0, Expect::Any)].into_iter().chain(wrong).collect())
}

fn callback() -> Argument {
    Callback(success as *const c_void, false)
}

fn text(text: &'static CStr) -> Argument {
    Text(text, false)
}

fn options() -> Argument {
    Text(c"", true)
}

fn attribute(valid: u32) -> Argument {
    Attribute(u64::from(valid))
}

/// The words of a description, without gaps.
fn words_of(of: &hsa_ext_image_descriptor_t) -> [u64; 6] {
    let format = u64::from(of.format.channel_type) | u64::from(of.format.channel_order) << 32;
    let [width, height, depth, layers] = [of.width, of.height, of.depth, of.array_size].map(|size| size as u64);
    [u64::from(of.geometry), width, height, depth, layers, format]
}

/// Where rows of the copy of a block lie.
fn pitched(base: u64) -> Argument {
    words(&[base, 64, 0])
}

fn offset() -> Argument {
    halves(&[0; 3])
}

fn region() -> Argument {
    halves(&[0, 0, 0, 4, 2, 1])
}

/// The table.
pub(crate) fn table(world: &World) -> Vec<Row> {
    let mut all: Vec<Row> = SPECIAL.into_iter().map(|name| Row::new(name, vec![])).map(Row::unsupported).collect();
    all.extend(UNSUPPORTED.into_iter().map(|name| Row::new(name, (0..6).map(|_| any(0)).collect()).unsupported()));
    all.extend(system());
    all.extend(agents(world));
    all.extend(signals(world));
    all.extend(queues());
    all.extend(memory(world));
    all.extend(copies(world));
    all.extend(virtual_memory(world));
    all.extend(code(world));
    all.extend(images(world));
    all
}

fn system() -> Vec<Row> {
    let (images, loader) = (u64::from(HSA_EXTENSION_IMAGES), u64::from(HSA_EXTENSION_AMD_LOADER));
    let extension = || number(loader, &[4, 99, 0x1ff, 0x2ff, 0xffff]);
    vec![
        // Both work at any time, so that the error of the start itself can be told.
        Row::new("hsa_status_string", vec![number(0, &[2, 0xfff, 0x4000, u64::from(u32::MAX)]), out()])
            .off(Expect::Is(HSA_STATUS_SUCCESS)),
        Row::new("hsa_extension_get_name", vec![extension(), out()]).off(Expect::Is(HSA_STATUS_SUCCESS)),
        Row::new("hsa_system_get_info", vec![attribute(HSA_SYSTEM_INFO_TIMESTAMP), out()]),
        Row::new("hsa_system_extension_supported", vec![extension(), any(1), any(0), out()]),
        Row::new("hsa_system_major_extension_supported", vec![extension(), any(1), out(), out()]),
        Row::new("hsa_system_get_extension_table", vec![number(loader, &[4, 99, 0xffff]), any(1), any(0), out()])
            .also(&[(1, 2)], Expect::Error)
            .also(&[(2, 9)], Expect::Error)
            .also(&[(0, u64::from(HSA_EXTENSION_AMD_PC_SAMPLING))], Expect::Error),
        Row::new(
            "hsa_system_get_major_extension_table",
            vec![number(images, &[4, 99, 0xffff]), any(1), any(64), out()],
        )
        .also(&[(1, 2)], Expect::Error)
        .also(&[(2, 0)], INVALID),
        Row::new("hsa_amd_register_system_event_handler", vec![callback(), any(0)]),
        Row::new("hsa_amd_enable_logging", vec![may_out(), any(0)]),
    ]
}

fn agents(world: &World) -> Vec<Row> {
    let cpu = (0, world.cpu);
    let none = Expect::Is(HSA_STATUS_ERROR_INVALID_AGENT);
    let loader = number(u64::from(HSA_EXTENSION_AMD_LOADER), &[4, 99, 0x2ff, 0xffff]);
    let same = number(u64::from(HSA_EXTENSION_AMD_LOADER), &[4, 99, 0x2ff, 0xffff]);
    vec![
        Row::new("hsa_iterate_agents", vec![callback(), any(0)]),
        Row::new("hsa_agent_get_info", vec![gpu(), attribute(HSA_AGENT_INFO_NAME), out()]),
        Row::new("hsa_agent_get_exception_policies", vec![gpu(), choice(1, 1), out()]),
        Row::new("hsa_agent_iterate_caches", vec![gpu(), callback(), any(0)]),
        Row::new("hsa_cache_get_info", vec![of(Kind::Cache), attribute(HSA_CACHE_INFO_SIZE), out()]),
        Row::new("hsa_agent_iterate_isas", vec![gpu(), callback(), any(0)]),
        Row::new("hsa_agent_iterate_regions", vec![gpu(), callback(), any(0)]),
        Row::new("hsa_agent_extension_supported", vec![loader, gpu(), any(1), any(0), out()]),
        Row::new("hsa_agent_major_extension_supported", vec![same, gpu(), any(1), out(), out()]),
        Row::new("hsa_amd_agent_set_async_scratch_limit", vec![gpu(), any(0)]).also(&[cpu], none),
        Row::new("hsa_amd_coherency_get_type", vec![gpu(), out()]).also(&[cpu], none),
        Row::new("hsa_amd_coherency_set_type", vec![gpu(), choice(0, 1)]).also(&[cpu], none),
        Row::new("hsa_amd_agent_iterate_memory_pools", vec![gpu(), callback(), any(0)]),
        Row::new(
            "hsa_amd_agent_memory_pool_get_info",
            vec![gpu(), of(Kind::Pool), attribute(HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS), out()],
        ),
        Row::new("hsa_isa_from_name", vec![text(c"amdgcn-amd-amdhsa--gfx90a"), made(|_, _, _| {})])
            .also(&[(0, c"gfx90a".as_ptr() as u64)], Expect::Is(HSA_STATUS_ERROR_INVALID_ISA_NAME))
            .also(&[(0, c"\xff\xfe".as_ptr() as u64)], Expect::Error),
        Row::new("hsa_isa_get_info_alt", vec![of(Kind::Isa), attribute(HSA_ISA_INFO_NAME), out()]),
        Row::new("hsa_isa_get_info", vec![of(Kind::Isa), attribute(HSA_ISA_INFO_NAME), fixed(0), out()])
            .also(&[(2, 1)], Expect::Is(HSA_STATUS_ERROR_INVALID_INDEX)),
        Row::new("hsa_isa_get_exception_policies", vec![of(Kind::Isa), choice(1, 1), out()]),
        Row::new(
            "hsa_isa_get_round_method",
            vec![of(Kind::Isa), number(4, &[0, 3, 99]), number(2, &[0, 3, 99]), out()],
        ),
        Row::new("hsa_isa_iterate_wavefronts", vec![of(Kind::Isa), callback(), any(0)]),
        Row::new("hsa_isa_compatible", vec![of(Kind::Isa), of(Kind::Isa), out()]),
        Row::new("hsa_wavefront_get_info", vec![of(Kind::Wavefront), attribute(HSA_WAVEFRONT_INFO_SIZE), out()]),
    ]
}

fn signals(world: &World) -> Vec<Row> {
    let signal = || of(Kind::Signal);
    let mut all = Vec::new();
    let value = |name: &'static str, more: usize| {
        let arguments = [signal()].into_iter().chain((0..more).map(|_| fixed(0))).collect();
        Row::new(name, arguments)
    };
    let orderings = |names: &'static [&'static str], more: usize, returns: Returns| {
        names.iter().map(move |name| value(name, more).returns(returns)).collect::<Vec<_>>()
    };
    all.extend(orderings(&orderings!("hsa_signal_load": "scacquire" "acquire" "relaxed"), 0, Returns::Number(0)));
    all.extend(orderings(&orderings!("hsa_signal_store": "relaxed" "screlease" "release"), 1, Returns::Nothing));
    all.extend(orderings(&orderings!("hsa_signal_silent_store": "relaxed" "screlease"), 1, Returns::Nothing));
    macro_rules! every_ordering {
        ($prefix:literal) => {
            &orderings!($prefix: "scacq_screl" "acq_rel" "scacquire" "acquire" "relaxed" "screlease" "release")
        };
    }
    all.extend(orderings(every_ordering!("hsa_signal_exchange"), 1, Returns::Number(0)));
    all.extend(orderings(every_ordering!("hsa_signal_cas"), 2, Returns::Number(0)));
    all.extend(orderings(every_ordering!("hsa_signal_add"), 1, Returns::Nothing));
    all.extend(orderings(every_ordering!("hsa_signal_subtract"), 1, Returns::Nothing));
    all.extend(orderings(every_ordering!("hsa_signal_and"), 1, Returns::Nothing));
    all.extend(orderings(every_ordering!("hsa_signal_or"), 1, Returns::Nothing));
    all.extend(orderings(every_ordering!("hsa_signal_xor"), 1, Returns::Nothing));
    for name in orderings!("hsa_signal_wait": "scacquire" "acquire" "relaxed") {
        // Equal to 0, as it is; after a microsecond it is given up.
        let arguments = vec![signal(), choice(0, 3), any(0), fixed(1000), any(0)];
        let row = Row::new(name, arguments).returns(Returns::Number(0));
        all.push(row.also(&[(3, 0)], Expect::Any).also(&[(3, HUGE)], Expect::Any));
    }
    let timed_out = Returns::Number(u64::from(u32::MAX));
    for name in ["hsa_amd_signal_wait_any", "hsa_amd_signal_wait_all"] {
        let null = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        let lists = vec![List(Kind::Signal, null), halves(&[0]), words(&[0])];
        let arguments = [fixed(1)].into_iter().chain(lists).chain([fixed(1000), any(0), may_out()]).collect();
        let row = Row::new(name, arguments).returns(timed_out);
        // Of none there is none to wait for: that must not last for ever.
        let nothing = if name.ends_with("any") { Expect::Error } else { Expect::Any };
        let row = row.also(&[(0, 0), (4, HUGE)], nothing).also(&[(0, 0), (1, 0), (2, 0), (3, 0), (4, HUGE)], nothing);
        all.push(row.also(&[(0, u64::from(u32::MAX))], Expect::Error).also(&[(4, HUGE)], Expect::Any));
    }
    let agents = || List(Kind::Gpu, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    let new = || made(|world, _, signal| world.end(Kind::Signal, signal));
    let twice = kept(&[world.live[&Kind::Gpu]; 2]);
    let create = |row: Row| {
        row.also(&[(1, 0), (2, 0)], Expect::Any)
            .also(&[(1, 2), (2, twice)], INVALID)
            .also(&[(1, u64::from(u32::MAX))], Expect::Error)
    };
    all.push(create(Row::new("hsa_signal_create", vec![any(0), fixed(1), agents(), new()])));
    let attributes = number(0, &[4, 1 << 31, 1 << 32, HUGE]);
    all.push(create(Row::new("hsa_amd_signal_create", vec![any(0), fixed(1), agents(), attributes, new()])));
    all.extend([
        Row::new("hsa_signal_destroy", vec![Fresh(Kind::Signal, None)]).also(&[(0, 0)], INVALID),
        Row::new("hsa_amd_signal_value_pointer", vec![signal(), out()]),
        Row::new(
            "hsa_amd_signal_async_handler",
            vec![signal(), choice(0, 3), any(0), Callback(done as *const c_void, false), any(0)],
        ),
        Row::new("hsa_amd_async_function", vec![callback(), any(0)]),
        Row::new("hsa_amd_profiling_get_async_copy_time", vec![signal(), out()]),
    ]);
    all
}

fn queues() -> Vec<Row> {
    let queue = || of(Kind::Queue);
    let new = made(|world, _, queue| world.end(Kind::Queue, queue));
    let sizes = number(64, &[0, 1, 3, 63, 65, 1 << 31, u64::from(u32::MAX)]);
    let mut all = vec![
        Row::new(
            "hsa_queue_create",
            vec![gpu(), sizes, choice(0, 2), Callback(std::ptr::null(), true), any(0), any(0), any(0), new],
        ),
        Row::new("hsa_queue_destroy", vec![Fresh(Kind::Queue, None)]).also(&[(0, 0)], INVALID),
        Row::new("hsa_queue_inactivate", vec![Fresh(Kind::Queue, None)]).also(&[(0, 0)], INVALID),
        Row::new("hsa_amd_queue_cu_set_mask", vec![queue(), number(32, &[1, 31, 33, 1 << 31]), halves(&[1])])
            .also(&[(1, 0), (2, 0)], Expect::Is(HSA_STATUS_SUCCESS))
            .also(&[(1, u64::from(u32::MAX))], INVALID),
        Row::new("hsa_amd_queue_cu_get_mask", vec![queue(), number(32, &[0, 1, 31, 33]), out()]),
        Row::new("hsa_amd_queue_set_priority", vec![queue(), choice(1, 2)]),
        Row::new("hsa_amd_queue_get_info", vec![queue(), attribute(HSA_AMD_QUEUE_INFO_AGENT), out()]),
        Row::new("hsa_amd_profiling_set_profiler_enabled", vec![queue(), any(1)]),
        Row::new("hsa_amd_profiling_async_copy_enable", vec![fixed(1)]).also(&[(0, 0)], Expect::Any),
        Row::new("hsa_amd_profiling_get_dispatch_time", vec![gpu(), of(Kind::Signal), out()]),
        Row::new("hsa_amd_profiling_convert_tick_to_system_domain", vec![gpu(), any(0), out()]),
    ];
    let mut add = |names: &[&'static str], more: usize, returns: Returns| {
        for name in names {
            let arguments = [queue()].into_iter().chain((0..more).map(|_| fixed(0))).collect();
            all.push(Row::new(name, arguments).returns(returns));
        }
    };
    add(&orderings!("hsa_queue_load_read_index": "acquire" "scacquire" "relaxed"), 0, Returns::Number(0));
    add(&orderings!("hsa_queue_load_write_index": "acquire" "scacquire" "relaxed"), 0, Returns::Number(0));
    add(&orderings!("hsa_queue_store_write_index": "relaxed" "release" "screlease"), 1, Returns::Nothing);
    add(&orderings!("hsa_queue_store_read_index": "relaxed" "release" "screlease"), 1, Returns::Nothing);
    macro_rules! every_ordering {
        ($prefix:literal) => {
            &orderings!($prefix: "acq_rel" "scacq_screl" "acquire" "scacquire" "relaxed" "release" "screlease")
        };
    }
    add(every_ordering!("hsa_queue_add_write_index"), 1, Returns::Number(0));
    add(every_ordering!("hsa_queue_cas_write_index"), 2, Returns::Number(0));
    all
}

fn memory(world: &World) -> Vec<Row> {
    let bytes = SIZE as u64;
    let free = |world: &World, _: &[u64], memory: u64| world.end(Kind::Memory, memory);
    let unlock = |world: &World, _: &[u64], memory: u64| world.end(Kind::Locked, memory);
    let agents = || List(Kind::Gpu, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    let owner = |kind| Of(kind, Some(HSA_STATUS_ERROR_INVALID_REGION));
    let freed = world.ended.get(&Kind::Memory).copied().unwrap_or(0x1000);
    let wild = [0x1000_u64, 1 << 46, u64::MAX - 4095, freed];
    let flags = || number(0, &[1 << 31]);
    let lock = |row: Row, count: usize| {
        let mut row = row
            .also(&[(count, 0), (count - 1, 0)], Expect::Is(HSA_STATUS_SUCCESS))
            .also(&[(count, 0)], INVALID)
            .also(&[(count, u64::from(u32::MAX))], INVALID)
            .also(&[(count, 1 << 31)], INVALID)
            .also(&[(count, 0x7fff_ffff)], Expect::Error);
        for address in wild {
            row = row.also(&[(0, address)], Expect::Error);
        }
        row
    };
    let host = || Number(world.lockable, vec![(0, INVALID)]);
    let info = |pointer: u64| {
        let arguments = vec![
            Number(pointer, vec![(0, INVALID), (1, Expect::Any), (0xdead_beef, Expect::Any), (HUGE, Expect::Any)]),
            words(&[56, 0, 0, 0, 0, 0, 0]),
            Callback(std::ptr::null(), true),
            may_out(),
            may_out(),
        ];
        // Of a struct that claims to be empty there is nothing to be written; room that is refused.
        let empty = kept(&[0_u64; 8]);
        let huge = kept(&[u64::from(u32::MAX); 8]);
        let refuses = nowhere as *const c_void as u64;
        Row::new("hsa_amd_pointer_info", arguments)
            .also(&[(1, empty)], INVALID)
            .also(&[(1, huge)], Expect::Is(HSA_STATUS_SUCCESS))
            .also(&[(2, refuses)], Expect::Is(HSA_STATUS_ERROR_OUT_OF_RESOURCES))
            .also(&[(2, refuses), (3, 0)], INVALID)
            .also(&[(2, refuses), (4, 0)], INVALID)
    };
    let svm = || Number(world.own, vec![(0, INVALID), (1, Expect::Any), (HUGE, INVALID), (HUGE - 4095, INVALID)]);
    let pages =
        || Number(bytes, vec![(0, INVALID), (1 << 46, Expect::Error), (1 << 63, Expect::Error), (HUGE, INVALID)]);
    let pairs = kept(&[3_u64, 9, 3, 9]);
    let unknown = kept(&[99_u64, 0, HUGE, 0]);
    let no_agent = kept(&[0x200_u64, 1]);
    let attributes = |row: Row| {
        row.also(&[(3, 0)], Expect::Is(HSA_STATUS_SUCCESS))
            .also(&[(3, HUGE)], INVALID)
            .also(&[(3, 1 << 60)], INVALID)
            .also(&[(2, unknown)], INVALID)
            .also(&[(2, unknown + 16)], INVALID)
            .also(&[(2, no_agent)], Expect::Error)
    };
    vec![
        Row::new("hsa_amd_memory_pool_get_info", vec![of(Kind::Pool), attribute(HSA_AMD_MEMORY_POOL_INFO_SIZE), out()]),
        Row::new("hsa_region_get_info", vec![owner(Kind::Pool), attribute(HSA_REGION_INFO_SIZE), out()]),
        Row::new("hsa_amd_memory_pool_allocate", vec![of(Kind::Pool), size(bytes), flags(), made(free)]),
        Row::new("hsa_memory_allocate", vec![owner(Kind::Pool), size(bytes), made(free)]),
        Row::new("hsa_amd_memory_pool_free", vec![Fresh(Kind::Memory, None)]).also(&[(0, 0)], Expect::Any),
        Row::new("hsa_memory_free", vec![Fresh(Kind::Memory, None)]).also(&[(0, 0)], Expect::Any),
        Row::new(
            "hsa_amd_agents_allow_access",
            vec![number(1, &[0]), agents(), Number(0, vec![(world.own, INVALID)]), Of(Kind::Memory, None)],
        )
        .also(&[(0, u64::from(u32::MAX))], Expect::Error),
        Row::new("hsa_amd_memory_pool_can_migrate", vec![of(Kind::Pool), of(Kind::HostPool), out()]),
        lock(Row::new("hsa_amd_memory_lock", vec![host(), size(bytes), agents(), fixed(1), made(unlock)]), 3),
        lock(
            Row::new(
                "hsa_amd_memory_lock_to_pool",
                vec![host(), size(bytes), agents(), fixed(1), of(Kind::HostPool), flags(), made(unlock)],
            ),
            3,
        )
        .also(&[(4, world.live[&Kind::Pool])], Expect::Is(HSA_STATUS_ERROR_INVALID_MEMORY_POOL)),
        Row::new("hsa_amd_memory_unlock", vec![Fresh(Kind::Locked, None)]),
        info(world.live[&Kind::Memory]),
        Row::new("hsa_amd_pointer_info_set_userdata", vec![Of(Kind::Memory, None), any(7)]),
        Row::new("hsa_amd_register_deallocation_callback", vec![Fresh(Kind::Memory, None), callback(), any(0)]),
        Row::new(
            "hsa_amd_deregister_deallocation_callback",
            vec![Fresh(Kind::Memory, None), Callback(success as *const c_void, false)],
        )
        .off(Expect::Is(HSA_STATUS_ERROR_NOT_INITIALIZED))
        .never(),
        Row::new("hsa_memory_register", vec![Number(world.own, vec![(0, INVALID)]), number(bytes, &[0])]),
        Row::new("hsa_memory_deregister", vec![any(world.own), any(bytes)]),
        Row::new(
            "hsa_memory_assign_agent",
            vec![
                Number(world.live[&Kind::Memory], vec![(0, INVALID)]),
                gpu(),
                number(1, &[0, 4, 99, u64::from(u32::MAX)]),
            ],
        ),
        attributes(Row::new("hsa_amd_svm_attributes_set", vec![svm(), pages(), words(&[3, 9]), fixed(1)]))
            .also(&[(2, pairs), (3, 2)], Expect::Is(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS)),
        attributes(Row::new("hsa_amd_svm_attributes_get", vec![svm(), pages(), words(&[3, 9]), fixed(1)])),
        Row::new(
            "hsa_amd_svm_prefetch_async",
            vec![
                svm(),
                Number(bytes, vec![(0, INVALID), (HUGE, INVALID), (1 << 46, Expect::Any)]),
                gpu(),
                fixed(1),
                List(Kind::Signal, HSA_STATUS_ERROR_INVALID_ARGUMENT),
                Fresh(Kind::Signal, None),
            ],
        )
        .also(&[(3, u64::from(u32::MAX))], Expect::Error)
        .also(&[(5, 0)], Expect::Is(HSA_STATUS_SUCCESS)),
    ]
}

fn copies(world: &World) -> Vec<Row> {
    let bytes = SIZE as u64;
    let signals = || List(Kind::Signal, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    let (memory, own) = (world.live[&Kind::Memory], world.own);
    let freed = world.ended.get(&Kind::Memory).copied().unwrap_or(memory);
    let reserved = world.live[&Kind::Reserved];
    let linear = |name: &'static str, more: Vec<Argument>| {
        // Of the program's own memory only the copy itself finds out whether it is there; its signal tells.
        let place = |address| Number(address, vec![(0, INVALID), (freed, Expect::Error), (reserved, Expect::Any)]);
        let arguments =
            vec![place(memory), gpu(), place(own), gpu(), part(bytes), fixed(1), signals(), Fresh(Kind::Signal, None)];
        Row::new(name, arguments.into_iter().chain(more).collect())
            .also(&[(5, u64::from(u32::MAX))], Expect::Error)
            .also(&[(0, memory + 1)], Expect::Error)
            .also(&[(0, HUGE)], Expect::Error)
            .also(&[(2, HUGE - 8)], Expect::Error)
    };
    let block = || {
        let arguments = vec![
            pitched(memory),
            offset(),
            pitched(own),
            offset(),
            halves(&[16, 4, 1]),
            gpu(),
            choice(3, 3),
            fixed(1),
            signals(),
            Fresh(Kind::Signal, None),
        ];
        let at = |numbers: [u64; 3]| kept(&numbers);
        let range = |range: [u32; 3]| kept(&range);
        let all = u32::MAX;
        Row::new("hsa_amd_memory_async_copy_rect", arguments)
            .also(&[(7, u64::from(u32::MAX))], Expect::Error)
            .also(&[(0, at([0, 64, 0]))], Expect::Error)
            .also(&[(0, at([memory, HUGE, HUGE]))], Expect::Error)
            .also(&[(0, at([freed, 64, 0]))], Expect::Error)
            .also(&[(1, range([all; 3]))], Expect::Any)
            .also(&[(4, range([all; 3]))], Expect::Error)
            // Rows that all lie at one place: as many as can be counted must not be copied one by one.
            .also(&[(0, at([memory, 0, 0])), (2, at([memory, 0, 0])), (4, range([1, all, all]))], Expect::Error)
            .also(&[(0, at([memory, 1, 0])), (2, at([memory, 1, 0])), (4, range([1, 8, all]))], Expect::Error)
            .also(&[(0, at([memory, 8, 64])), (4, range([16, 4, 1]))], Expect::Error)
            .also(&[(4, range([0, all, all]))], Expect::Any)
    };
    let engines = || vec![gpu(), gpu(), out()];
    let both_host = [(0, world.cpu), (1, world.cpu)];
    vec![
        linear("hsa_amd_memory_async_copy", vec![]),
        linear("hsa_amd_memory_async_copy_on_engine", vec![any(1), fixed(0)]),
        block(),
        Row::new(
            "hsa_memory_copy",
            vec![
                Number(memory, vec![(0, INVALID), (1, Expect::Error), (freed, Expect::Error), (HUGE, Expect::Error)]),
                Number(own, vec![(0, INVALID), (1, Expect::Error), (reserved, Expect::Error), (HUGE, Expect::Error)]),
                part(bytes),
            ],
        ),
        Row::new(
            "hsa_amd_memory_fill",
            vec![
                Number(
                    memory,
                    vec![(0, INVALID), (memory + 1, INVALID), (freed, Expect::Error), (HUGE - 3, Expect::Error)],
                ),
                any(7),
                Number(
                    bytes / 4,
                    vec![(0, Expect::Any), (bytes, Expect::Error), (1 << 61, Expect::Error), (HUGE, INVALID)],
                ),
            ],
        ),
        Row::new("hsa_amd_memory_copy_engine_status", engines())
            .also(&both_host, Expect::Is(HSA_STATUS_ERROR_INVALID_AGENT)),
        Row::new("hsa_amd_memory_get_preferred_copy_engine", engines())
            .also(&both_host, Expect::Is(HSA_STATUS_ERROR_INVALID_AGENT)),
        Row::new(
            "hsa_amd_ipc_memory_create",
            vec![
                Of(Kind::Memory, None),
                Number(bytes, [0, 1, bytes - 4096, bytes + 4096, HUGE].map(|wrong| (wrong, Expect::Error)).to_vec()),
                out(),
            ],
        )
        .also(&[(0, own)], Expect::Error),
        Row::new(
            "hsa_amd_ipc_memory_attach",
            vec![
                In { bytes: world.shared.clone(), nullable: false },
                size(bytes),
                fixed(1),
                List(Kind::Gpu, HSA_STATUS_ERROR_INVALID_ARGUMENT),
                made(|world, _, memory| world.undo("hsa_amd_ipc_memory_detach", &[memory])),
            ],
        )
        .also(&[(0, own)], Expect::Error)
        .also(&[(2, u64::from(u32::MAX))], Expect::Error)
        .also(&[(2, 0), (3, 0)], Expect::Is(HSA_STATUS_SUCCESS)),
        Row::new("hsa_amd_ipc_memory_detach", vec![Of(Kind::Memory, None)]).never(),
    ]
}

fn virtual_memory(world: &World) -> Vec<Row> {
    let bytes = SIZE as u64;
    let give_back = |world: &World, arguments: &[u64], base: u64| {
        world.call("hsa_amd_vmem_address_free", &[base, arguments[1]]);
    };
    let wanted = || Number(0, vec![(1, INVALID), (1 << 63, Expect::Any), (HUGE - 4095, Expect::Any), (HUGE, INVALID)]);
    let flags = || number(0, &[2, 1 << 31, 1 << 63, HUGE]);
    let granules = || {
        let more = [(1, INVALID), (4097, INVALID)];
        Number(bytes, wrong_sizes().into_iter().chain(more).collect())
    };
    let physical = || Of(Kind::Physical, None);
    let whole = |refused| {
        Number(bytes, [0, 1, 4096, bytes + 4096, 1 << 63, HUGE - 4095].map(|wrong| (wrong, refused)).to_vec())
    };
    let description = |permissions: u64, agent: u64| kept(&[permissions, agent]);
    vec![
        Row::new("hsa_amd_vmem_address_reserve", vec![made(give_back), granules(), wanted(), flags()]),
        Row::new(
            "hsa_amd_vmem_address_reserve_align",
            vec![
                made(give_back),
                granules(),
                wanted(),
                Number(
                    0,
                    vec![
                        (1, Expect::Any),
                        (4097, Expect::Error),
                        (12288, Expect::Error),
                        (1 << 63, Expect::Error),
                        (HUGE, Expect::Error),
                    ],
                ),
                flags(),
            ],
        )
        // As memory of the host.
        .also(&[(3, 12288), (4, 1)], Expect::Error)
        .also(&[(3, 1 << 63), (4, 1)], Expect::Error)
        .also(&[(1, HUGE), (4, 1)], Expect::Error)
        .also(&[(2, HUGE - 4095), (4, 1)], Expect::Any),
        Row::new("hsa_amd_vmem_address_free", vec![Fresh(Kind::Reserved, None), whole(Expect::Error)])
            .also(&[(0, world.live[&Kind::Mapped])], Expect::Is(HSA_STATUS_ERROR_RESOURCE_FREE)),
        Row::new(
            "hsa_amd_vmem_handle_create",
            vec![
                of(Kind::Pool),
                granules(),
                choice(0, 1),
                any(0),
                made(|world, _, memory| world.end(Kind::Physical, memory)),
            ],
        ),
        Row::new("hsa_amd_vmem_handle_release", vec![Fresh(Kind::Physical, None)]),
        Row::new(
            "hsa_amd_vmem_map",
            vec![
                Fresh(Kind::Reserved, None),
                whole_or_less(bytes),
                Number(0, vec![(1, INVALID), (4096, INVALID), (1 << 63, INVALID), (HUGE - 4095, INVALID)]),
                physical(),
                any(0),
            ],
        )
        .undo(|world, arguments| world.undo("hsa_amd_vmem_unmap", &arguments[..2]))
        .also(&[(0, world.live[&Kind::Mapped])], Expect::Error)
        .also(&[(0, world.live[&Kind::Memory])], Expect::Error),
        Row::new("hsa_amd_vmem_unmap", vec![Fresh(Kind::Mapped, None), whole(Expect::Error)]),
        Row::new(
            "hsa_amd_vmem_set_access",
            vec![
                Of(Kind::Mapped, None),
                whole(Expect::Error),
                words(&[3, world.live[&Kind::Gpu]]),
                number(1, &[0, HUGE, 1 << 60]),
            ],
        )
        .also(&[(2, description(4, world.live[&Kind::Gpu]))], INVALID)
        .also(&[(2, description(0xffff_ffff, world.live[&Kind::Gpu]))], INVALID)
        .also(&[(2, description(3, 0))], Expect::Is(HSA_STATUS_ERROR_INVALID_AGENT)),
        Row::new("hsa_amd_vmem_get_access", vec![Of(Kind::Mapped, None), out(), gpu()]),
        Row::new(
            "hsa_amd_vmem_export_shareable_handle",
            vec![
                made(|_, _, file| {
                    // SAFETY: the call has opened it for its caller.
                    unsafe { libc::close(file as i32) };
                }),
                physical(),
                any(0),
            ],
        ),
        Row::new(
            "hsa_amd_vmem_import_shareable_handle",
            vec![
                number(descriptor(world), &[u64::from(u32::MAX), 1 << 31, 99_999]),
                made(|world, _, memory| world.end(Kind::Physical, memory)),
            ],
        )
        .never(),
        Row::new(
            "hsa_amd_interop_map_buffer",
            vec![
                fixed(1),
                List(Kind::Gpu, HSA_STATUS_ERROR_INVALID_ARGUMENT),
                number(world.foreign as u64, &[u64::from(u32::MAX), 1 << 31, 99_999]),
                number(0, &[1, 1 << 31, u64::from(u32::MAX)]),
                out(),
                made(|world, _, memory| world.end(Kind::Foreign, memory)),
                may_out(),
                may_out(),
            ],
        )
        .also(&[(0, 0)], INVALID)
        .also(&[(0, u64::from(u32::MAX))], Expect::Error)
        // A file that is no memory.
        .also(&[(2, descriptor(world))], INVALID),
        Row::new("hsa_amd_interop_unmap_buffer", vec![Fresh(Kind::Foreign, None)]),
        Row::new(
            "hsa_amd_vmem_retain_alloc_handle",
            vec![made(|world, _, memory| world.end(Kind::Physical, memory)), Of(Kind::Mapped, None)],
        ),
        Row::new("hsa_amd_vmem_get_alloc_properties_from_handle", vec![physical(), out(), out()]),
    ]
}

fn wrong_sizes() -> Vec<(u64, Expect)> {
    [0, 1 << 60, 1 << 63, HUGE, HUGE - 4095].map(|wrong| (wrong, Expect::Error)).to_vec()
}

/// Bytes to be mapped: part of a reservation may be.
fn whole_or_less(bytes: u64) -> Argument {
    Number(bytes, [0, 1, bytes + 4096, 1 << 63, HUGE - 4095].map(|wrong| (wrong, Expect::Error)).to_vec())
}

fn descriptor(world: &World) -> u64 {
    world.descriptor() as u64
}

fn code(world: &World) -> Vec<Row> {
    let new = || made(|world, _, executable| world.end(Kind::Open, executable));
    let reader = || made(|world, _, reader| world.end(Kind::Reader, reader));
    let executable = || of(Kind::Frozen);
    let file = || {
        let closed = [u64::from(u32::MAX), 1 << 31, 99_999];
        Number(descriptor(world), closed.map(|wrong| (wrong, Expect::Is(HSA_STATUS_ERROR_INVALID_FILE))).to_vec())
    };
    let name = c"say.kd".as_ptr() as u64;
    let code = || {
        let address = CODE.as_ptr() as u64;
        Number(address, vec![(0, INVALID), (1, Expect::Error), (0x1000, Expect::Error), (HUGE, Expect::Error)])
    };
    let len = CODE.len() as u64;
    let frozen = world.live[&Kind::Frozen];
    let is_frozen = Expect::Is(HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
    let address = world.live[&Kind::Memory];
    let mut all = vec![
        Row::new("hsa_code_object_reader_create_from_memory", vec![code(), size(len), reader()]),
        Row::new("hsa_code_object_reader_create_from_file", vec![file(), reader()]),
        Row::new(
            "hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size",
            vec![
                file(),
                Number(0, vec![(len + 1, Expect::Error), (1 << 63, Expect::Error), (HUGE, Expect::Error)]),
                size(len),
                reader(),
            ],
        )
        .also(&[(1, 1), (2, len)], Expect::Error),
        Row::new("hsa_code_object_reader_destroy", vec![Fresh(Kind::Reader, None)]),
        Row::new("hsa_executable_create_alt", vec![choice(1, 1), choice(0, 2), options(), new()]),
        Row::new("hsa_executable_create", vec![choice(1, 1), choice(0, 1), options(), new()]),
        Row::new("hsa_executable_destroy", vec![Fresh(Kind::Open, None)]),
        Row::new(
            "hsa_executable_load_agent_code_object",
            vec![Fresh(Kind::Open, None), gpu(), of(Kind::Reader), options(), may_out()],
        )
        .also(&[(0, frozen)], is_frozen)
        .also(&[(1, world.cpu)], Expect::Error),
        Row::new("hsa_executable_freeze", vec![Fresh(Kind::Open, None), options()]).also(&[(0, frozen)], is_frozen),
        Row::new("hsa_executable_get_info", vec![executable(), attribute(HSA_EXECUTABLE_INFO_STATE), out()]),
        Row::new("hsa_executable_validate", vec![executable(), out()]),
        Row::new("hsa_executable_validate_alt", vec![executable(), options(), out()]),
        Row::new(
            "hsa_executable_get_symbol_by_name",
            vec![
                executable(),
                text(c"say.kd"),
                In { bytes: world.live[&Kind::Gpu].to_ne_bytes().to_vec(), nullable: true },
                out(),
            ],
        )
        .also(&[(1, c"".as_ptr() as u64)], Expect::Is(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME))
        .also(&[(1, c"\xff".as_ptr() as u64)], Expect::Error)
        .also(&[(2, kept(&[7_u64]))], Expect::Is(HSA_STATUS_ERROR_INVALID_AGENT)),
        Row::new("hsa_executable_get_symbol", vec![executable(), options(), text(c"say.kd"), gpu(), any(0), out()])
            .also(&[(1, name)], Expect::Is(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME)),
        Row::new(
            "hsa_executable_symbol_get_info",
            vec![of(Kind::Symbol), attribute(HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH), out()],
        ),
        Row::new("hsa_executable_iterate_symbols", vec![executable(), callback(), any(0)]),
        Row::new("hsa_executable_iterate_agent_symbols", vec![executable(), gpu(), callback(), any(0)]),
        Row::new("hsa_executable_iterate_program_symbols", vec![executable(), callback(), any(0)]),
        Row::new("hsa_executable_global_variable_define", vec![Fresh(Kind::Open, None), text(c"global"), any(address)])
            .also(&[(0, frozen)], is_frozen),
    ];
    for name in ["hsa_executable_agent_global_variable_define", "hsa_executable_readonly_variable_define"] {
        let arguments = vec![Fresh(Kind::Open, None), gpu(), text(c"global"), any(address)];
        all.push(Row::new(name, arguments).also(&[(0, frozen)], is_frozen));
    }
    let inside = || Number(address, vec![(0, Expect::Error), (1, Expect::Error), (HUGE, Expect::Error)]);
    all.extend([
        Row::new("hsa_ven_amd_loader_query_host_address", vec![inside(), out()]).never(),
        Row::new("hsa_ven_amd_loader_query_executable", vec![inside(), out()]).never(),
        Row::new("hsa_ven_amd_loader_query_segment_descriptors", vec![Out { nullable: true, made: None }, words(&[0])])
            .also(&[(0, 0)], Expect::Is(HSA_STATUS_SUCCESS))
            .never(),
        Row::new("hsa_ven_amd_loader_executable_iterate_loaded_code_objects", vec![executable(), callback(), any(0)]),
        Row::new(
            "hsa_ven_amd_loader_loaded_code_object_get_info",
            vec![of(Kind::Loaded), attribute(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE), out()],
        ),
        Row::new("hsa_ven_amd_loader_iterate_executables", vec![callback(), any(0)]),
    ]);
    all
}

fn images(world: &World) -> Vec<Row> {
    let image = || of(Kind::Image);
    let own = world.own;
    let memory = || Number(world.live[&Kind::Memory], vec![(0, INVALID), (world.live[&Kind::Memory] + 1, INVALID)]);
    let format = || halves(&[picture().format.channel_type, picture().format.channel_order]);
    let permission = || number(3, &[0, 4, 99, u64::from(u32::MAX)]);
    let layout = || number(1, &[2, 99, u64::from(u32::MAX)]);
    let pitch = |value| Number(value, vec![(1, Expect::Error), (1 << 63, Expect::Error), (HUGE, Expect::Error)]);
    let row = || pitch(256);
    // Of one plane.
    let slice = || any(0);
    let new_image = || made(|world, _, image| world.end(Kind::Image, image));
    let new_sampler = || made(|world, _, sampler| world.end(Kind::Sampler, sampler));
    let described = |of: hsa_ext_image_descriptor_t| kept(&words_of(&of));
    // A descriptor of the GPU's, as another driver writes it.
    let laid_out: Vec<u32> = [1, 0x1002 << 16 | world.chip].into_iter().chain(world.image_words()).collect();
    let wrong = |mut row: Row| {
        let of = picture();
        let mut add =
            |descriptor: hsa_ext_image_descriptor_t| row.more.push((vec![(1, described(descriptor))], Expect::Error));
        for size in [0, 1 << 20, 1 << 63, usize::MAX] {
            add(hsa_ext_image_descriptor_t { width: size, ..of });
            add(hsa_ext_image_descriptor_t { height: size, ..of });
        }
        for many in [1 << 20, 1 << 63, usize::MAX] {
            add(hsa_ext_image_descriptor_t { geometry: HSA_EXT_IMAGE_GEOMETRY_2DA, array_size: many, ..of });
            add(hsa_ext_image_descriptor_t { geometry: HSA_EXT_IMAGE_GEOMETRY_3D, depth: many, ..of });
        }
        for number in [8, 99, u32::MAX] {
            add(hsa_ext_image_descriptor_t { geometry: number, ..of });
        }
        for number in [20, 99, u32::MAX] {
            add(hsa_ext_image_descriptor_t {
                format: hsa_ext_image_format_t { channel_type: number, ..of.format },
                ..of
            });
            add(hsa_ext_image_descriptor_t {
                format: hsa_ext_image_format_t { channel_order: number, ..of.format },
                ..of
            });
        }
        row
    };
    let region_of = |offset: [u32; 3], range: [u32; 3]| kept(&[offset, range].concat());
    let three = |numbers: [u32; 3]| kept(&numbers);
    let outside = [
        region_of([16, 0, 0], [1, 1, 1]),
        region_of([0; 3], [17, 1, 1]),
        region_of([u32::MAX; 3], [1; 3]),
        region_of([1; 3], [u32::MAX; 3]),
    ];
    let boxes = |mut row: Row, index: usize| {
        outside.into_iter().for_each(|region| row.more.push((vec![(index, region)], Expect::Error)));
        row
    };
    let flat = || Number(own, vec![(0, INVALID), (1, Expect::Error), (0x1000, Expect::Error), (HUGE, Expect::Error)]);
    let sampler = |words: usize| halves(&vec![0; words]);
    let bad_sampler = kept(&[99_u32; 5]);
    let refused = Expect::Error;
    vec![
        Row::new("hsa_ext_image_get_capability", vec![gpu(), choice(1, 7), format(), out()]),
        Row::new("hsa_ext_image_get_capability_with_layout", vec![gpu(), choice(1, 7), format(), layout(), out()]),
        wrong(Row::new("hsa_ext_image_data_get_info", vec![gpu(), words(&words_of(&picture())), permission(), out()])),
        wrong(Row::new(
            "hsa_ext_image_data_get_info_with_layout",
            vec![gpu(), words(&words_of(&picture())), permission(), layout(), row(), slice(), out()],
        )),
        wrong(Row::new(
            "hsa_ext_image_create",
            vec![gpu(), words(&words_of(&picture())), memory(), permission(), new_image()],
        )),
        wrong(Row::new(
            "hsa_ext_image_create_with_layout",
            vec![gpu(), words(&words_of(&picture())), memory(), permission(), layout(), row(), slice(), new_image()],
        )),
        wrong(Row::new(
            "hsa_amd_image_create",
            vec![gpu(), words(&words_of(&picture())), halves(&laid_out), memory(), permission(), new_image()],
        ))
        .also(&[(2, kept(&[[2, laid_out[1]], [0; 2], [0; 2], [0; 2], [0; 2]]))], Expect::Error)
        .also(&[(2, kept(&[[1, !laid_out[1]], [0; 2], [0; 2], [0; 2], [0; 2]]))], Expect::Error)
        .also(
            &[(2, kept(&[[1, laid_out[1]], [u32::MAX; 2], [u32::MAX; 2], [u32::MAX; 2], [u32::MAX; 2]]))],
            Expect::Error,
        ),
        Row::new("hsa_ext_image_destroy", vec![gpu(), Fresh(Kind::Image, None)]),
        Row::new("hsa_ext_image_copy", vec![gpu(), image(), offset(), image(), offset(), halves(&[4, 2, 1])])
            .also(&[(2, three([16, 0, 0]))], Expect::Error)
            .also(&[(2, three([u32::MAX; 3]))], Expect::Error)
            .also(&[(4, three([13, 0, 0]))], Expect::Error)
            .also(&[(4, three([u32::MAX; 3]))], Expect::Error)
            .also(&[(5, three([17, 1, 1]))], Expect::Error)
            .also(&[(5, three([u32::MAX; 3]))], Expect::Error),
        boxes(Row::new("hsa_ext_image_import", vec![gpu(), flat(), pitch(0), slice(), image(), region()]), 5),
        boxes(Row::new("hsa_ext_image_export", vec![gpu(), image(), flat(), pitch(0), slice(), region()]), 5),
        boxes(Row::new("hsa_ext_image_clear", vec![gpu(), image(), halves(&[0; 4]), region()]), 3),
        Row::new("hsa_ext_sampler_create", vec![gpu(), sampler(3), new_sampler()]).also(&[(1, bad_sampler)], refused),
        Row::new("hsa_ext_sampler_create_v2", vec![gpu(), sampler(5), new_sampler()])
            .also(&[(1, bad_sampler)], refused),
        Row::new("hsa_ext_sampler_destroy", vec![gpu(), Fresh(Kind::Sampler, None)]),
        Row::new(
            "hsa_amd_image_get_info_max_dim",
            vec![gpu(), attribute(HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS), out()],
        ),
    ]
}
