//! Memory, copies, addresses apart from memory.

use super::*;

pub(super) fn memory(world: &World) -> Vec<Row> {
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
        // Nothing may be written to a struct whose stated size is 0. And an allocator that returns null.
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

pub(super) fn copies(world: &World) -> Vec<Row> {
    let bytes = SIZE as u64;
    let signals = || List(Kind::Signal, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    let (memory, own) = (world.live[&Kind::Memory], world.own);
    let freed = world.ended.get(&Kind::Memory).copied().unwrap_or(memory);
    let reserved = world.live[&Kind::Reserved];
    let linear = |name: &'static str, more: Vec<Argument>| {
        // For memory of the program, only the copy itself detects whether it is mapped; its signal reports that.
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
            // Rows at one address: a huge number of them must not be copied one by one.
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

pub(super) fn virtual_memory(world: &World) -> Vec<Row> {
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
    let export = |name: &'static str, more: Vec<Argument>| {
        let close = made(|_, _, file| {
            // SAFETY: the call has opened it for its caller.
            unsafe { libc::close(file as i32) };
        });
        let sizes = [(0, INVALID), (bytes + 1, Expect::Error), (1 << 63, Expect::Error), (HUGE, Expect::Error)];
        let arguments = vec![Of(Kind::Memory, None), Number(bytes, sizes.to_vec()), close, out()];
        Row::new(name, arguments.into_iter().chain(more).collect()).also(&[(0, 0)], INVALID)
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
        // As host memory.
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
        // A file that is not shared memory.
        .also(&[(2, descriptor(world))], INVALID),
        export("hsa_amd_portable_export_dmabuf", vec![]),
        export("hsa_amd_portable_export_dmabuf_v2", vec![number(0, &[2, 1 << 31, 1 << 32, HUGE])])
            .also(&[(4, 1)], Expect::Is(HSA_STATUS_SUCCESS)),
        // A file that is not shared memory is not closed.
        Row::new("hsa_amd_portable_close_dmabuf", vec![any(descriptor(world))])
            .never()
            .off(Expect::Is(HSA_STATUS_ERROR_RESOURCE_FREE))
            .also(&[(0, u64::from(u32::MAX))], Expect::Is(HSA_STATUS_ERROR_RESOURCE_FREE))
            .also(&[(0, descriptor(world))], Expect::Is(HSA_STATUS_ERROR_RESOURCE_FREE)),
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

/// The size of a mapping: a part of a reservation is allowed.
fn whole_or_less(bytes: u64) -> Argument {
    Number(bytes, [0, 1, bytes + 4096, 1 << 63, HUGE - 4095].map(|wrong| (wrong, Expect::Error)).to_vec())
}
