//! Code objects and executables.

use super::*;

pub(super) fn code(world: &World) -> Vec<Row> {
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
