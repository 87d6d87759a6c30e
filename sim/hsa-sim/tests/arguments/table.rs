//! The parameters of each function, from `hsa.h`, `hsa_ext_amd.h`, `hsa_ext_image.h` and `hsa_ven_amd_loader.h`.

mod code;
mod images;
mod memory;

use std::ffi::{CStr, c_void};

use hsa_sim::abi::*;

use crate::row::Argument::{Attribute, Callback, Fresh, In, List, Number, Of, Out, Text};
use crate::row::{Argument, Expect, Returns, Row, Undo, kept};
use crate::world::{CODE, Kind, SIZE, World, picture};

/// Initialisation and shutdown of the runtime, around everything else.
pub(crate) const SPECIAL: [&str; 2] = ["hsa_init", "hsa_shut_down"];

const INVALID: Expect = Expect::Is(HSA_STATUS_ERROR_INVALID_ARGUMENT);
/// The result of unsupported functions.
pub(crate) const NOT_SUPPORTED: Expect = Expect::Is(HSA_STATUS_ERROR_NOT_SUPPORTED);
const HUGE: u64 = u64::MAX;

/// Functions that the software GPU does not support. They return an error for any arguments.
const UNSUPPORTED: [&str; 34] = [
    "hsa_amd_ais_file_read",
    "hsa_amd_ais_file_write",
    "hsa_amd_memory_migrate",
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

/// An optional output pointer.
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

/// A number with any value.
fn any(value: u64) -> Argument {
    Number(value, [0, 1, 1 << 31, 1 << 63, HUGE].map(|other| (other, Expect::Any)).to_vec())
}

/// A number that is ignored, or that states a buffer size and so must be correct.
fn fixed(value: u64) -> Argument {
    Number(value, Vec::new())
}

/// A number for which some values are invalid.
fn number(value: u64, wrong: &[u64]) -> Argument {
    Number(value, wrong.iter().map(|wrong| (*wrong, INVALID)).collect())
}

/// A choice: any number above the last is invalid.
fn choice(value: u64, last: u64) -> Argument {
    number(value, &[last + 1, 99, 1 << 31, u64::from(u32::MAX)])
}

/// The size of a new object: 0 and too large sizes are invalid.
fn size(value: u64) -> Argument {
    let most =
        [(1 << 46, Expect::Error), (1 << 63, Expect::Error), (HUGE, Expect::Error), (HUGE - 4095, Expect::Error)];
    Number(value, [(0, INVALID)].into_iter().chain(most).collect())
}

/// The size of a part of an existing object: a larger size exceeds it.
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

fn descriptor(world: &World) -> u64 {
    world.descriptor() as u64
}

/// The layout of a strided copy.
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
    all.extend(memory::memory(world));
    all.extend(memory::copies(world));
    all.extend(memory::virtual_memory(world));
    all.extend(code::code(world));
    all.extend(images::images(world));
    all
}

fn system() -> Vec<Row> {
    let (images, loader) = (u64::from(HSA_EXTENSION_IMAGES), u64::from(HSA_EXTENSION_AMD_LOADER));
    let extension = || number(loader, &[4, 99, 0x1ff, 0x2ff, 0xffff]);
    vec![
        // Both work at any time, so that an initialisation error can be described.
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
        // Equal to 0, which holds; otherwise the wait ends after a microsecond.
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
        // With an empty list there is no signal to wait for: that must not block for ever.
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
        Row::new(
            "hsa_amd_ipc_signal_create",
            vec![
                Number(
                    world.signal,
                    vec![
                        (0, Expect::Is(HSA_STATUS_ERROR_INVALID_SIGNAL)),
                        (HUGE, Expect::Is(HSA_STATUS_ERROR_INVALID_SIGNAL)),
                        (world.signal + 8, Expect::Is(HSA_STATUS_ERROR_INVALID_SIGNAL)),
                        (world.live[&Kind::Signal], INVALID),
                    ],
                ),
                out(),
            ],
        ),
        Row::new("hsa_amd_ipc_signal_attach", vec![In { bytes: world.shared_signal.clone(), nullable: false }, new()])
            .also(&[(0, world.own)], INVALID),
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
