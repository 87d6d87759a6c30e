//! The checks: their findings in kernels with known mistakes, and no findings in correct kernels.

mod common;

use std::sync::Arc;

use amdgpu_sim::{
    Access, AllocKind, Arch, BeyondLds, Checks, Config, Denied, Fault, FaultKind, Finding, FindingKind, Gpu,
    Misaligned, Module, Schedule, Space,
};
use common::{Args, Random, launch, load, upload, zeros};

const GFX90A: &[u8] = include_bytes!("kernels/observe.co");
const GFX942: &[u8] = include_bytes!("kernels/observe-gfx942.co");

fn with(config: Config) -> (Gpu, Arc<Module>) {
    let code = if config.arch == Arch::Gfx90a { GFX90A } else { GFX942 };
    let gpu = Gpu::new(Config { instruction_budget: Some(50_000_000), ..config });
    let module = load(&gpu, code);
    (gpu, module)
}

fn checked(arch: Arch, checks: Checks) -> (Gpu, Arc<Module>) {
    with(Config { arch, checks, ..Config::default() })
}

const RACE: Checks = Checks { init: false, race: true, barrier: false, fail: false };
const INIT: Checks = Checks { init: true, race: false, barrier: false, fail: false };
const BARRIER: Checks = Checks { init: false, race: false, barrier: true, fail: false };

/// Runs a kernel that must succeed, and returns the findings.
fn run(gpu: &Gpu, module: &Module, name: &str, blocks: u32, threads: u32, args: &Args) -> Vec<Finding> {
    launch(gpu, module, name, [blocks, 1, 1], [threads, 1, 1], args).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    gpu.take_findings()
}

fn nothing(findings: &[Finding]) {
    assert!(findings.is_empty(), "{}", findings[0]);
}

/// The kinds of access of a race, the earlier one last.
fn race(finding: &Finding) -> (Space, Access, Access) {
    match &finding.kind {
        FindingKind::Race { space, access, other_access, .. } => (*space, *access, *other_access),
        other => panic!("{other:?}"),
    }
}

fn on_both(test: impl Fn(Arch)) {
    Arch::ALL.into_iter().for_each(test);
}

#[test]
fn a_reduction_needs_its_barriers() {
    on_both(|arch| {
        let (gpu, module) = checked(arch, RACE);
        let (input, out) = (upload(&gpu, &[1_i32; 512]), zeros::<i32>(&gpu, 2));
        let args = Args::default().pointer(&input).pointer(&out);
        nothing(&run(&gpu, &module, "reduce", 2, 256, &args));
        assert_eq!(out.get(), [256, 256]);
        let found = run(&gpu, &module, "reduce_racy", 2, 256, &args);
        assert!(!found.is_empty());
        for finding in &found {
            assert_eq!(race(finding).0, Space::Lds, "{finding}");
            let FindingKind::Race { other, .. } = &finding.kind else { unreachable!() };
            assert_eq!(other.workgroup, finding.place.workgroup);
            assert_ne!(other.wave, finding.place.wave, "{finding}");
            assert!(finding.place.lane.is_some() && other.lane.is_some());
        }
        let text = found[0].to_string();
        for part in ["kernel reduce_racy: race at LDS address 0x", "no barrier between them", "wave", "lane"] {
            assert!(text.contains(part), "{text}");
        }
        // Both workgroups do it; it is reported once.
        assert!(found.iter().any(|f| f.count >= 2), "{text}");
        nothing(&gpu.take_findings());
    });
}

#[test]
fn workgroups_that_share_memory_need_atomics_or_fences() {
    on_both(|arch| {
        let (gpu, module) = checked(arch, RACE);
        let input = upload(&gpu, &[1_i32; 8]);
        for (name, racy) in [("fenced", false), ("unfenced", true)] {
            let (part, count, out) = (zeros::<i32>(&gpu, 8), zeros::<u32>(&gpu, 1), zeros::<i32>(&gpu, 1));
            let args = Args::default().pointer(&input).pointer(&part).pointer(&count).pointer(&out);
            let found = run(&gpu, &module, name, 8, 128, &args);
            if racy {
                assert_eq!(found.iter().map(race).collect::<Vec<_>>(), [(Space::Global, Access::Read, Access::Write)]);
                let text = found[0].to_string();
                assert!(text.contains("nothing orders the two workgroups") && text.contains("device memory"), "{text}");
            } else {
                nothing(&found);
            }
        }
        let out = zeros::<u32>(&gpu, 1);
        let found = run(&gpu, &module, "all_write", 4, 128, &Args::default().pointer(&out));
        // Within one workgroup, and between several: the same instruction.
        assert_eq!(found.iter().map(race).collect::<Vec<_>>(), [(Space::Global, Access::Write, Access::Write)]);
        assert_eq!(found[0].nearest.unwrap().allocation.base, out.address);
        nothing(&run(&gpu, &module, "all_set", 4, 128, &Args::default().pointer(&out)));
    });
}

#[test]
fn atomics_locks_and_flags_are_no_races() {
    on_both(|arch| {
        let (gpu, module) = checked(arch, RACE);
        let mut random = Random(3);
        let data: Vec<u32> = (0..1024).map(|_| random.next() as u32).collect();
        let (input, bins) = (upload(&gpu, &data), zeros::<u32>(&gpu, 64));
        nothing(&run(&gpu, &module, "histogram", 4, 256, &Args::default().pointer(&input).pointer(&bins)));
        assert_eq!(bins.get().iter().sum::<u32>(), 1024);

        let (flags, values) = (zeros::<i32>(&gpu, 20), zeros::<i32>(&gpu, 20));
        nothing(&run(&gpu, &module, "chain", 20, 64, &Args::default().pointer(&flags).pointer(&values)));
        assert_eq!(values.get(), (1..=20).collect::<Vec<_>>());

        let (lock, sum) = (zeros::<i32>(&gpu, 1), zeros::<i32>(&gpu, 1));
        nothing(&run(&gpu, &module, "locked", 6, 256, &Args::default().pointer(&lock).pointer(&sum)));
        assert_eq!(sum.get(), [24]);

        // A flag in LDS that is found set, or not set.
        for first in [0_u32, 64] {
            let out = zeros::<u32>(&gpu, 64);
            let args = Args::default().value(first).pointer(&out);
            nothing(&run(&gpu, &module, "local_flag", 1, 128, &args));
            assert_eq!(out.get(), [42; 64]);
            // A store after the flag is not published by it; a loop that sums another wave's stores does not poll.
            for racy in ["local_flag_late", "local_sum"] {
                let found = run(&gpu, &module, racy, 1, 128, &args);
                assert!(found.iter().any(|f| matches!(f.kind, FindingKind::Race { space: Space::Lds, .. })), "{racy}");
            }
        }

        let next = zeros::<u32>(&gpu, 1);
        let out = zeros::<u32>(&gpu, 12);
        nothing(&run(&gpu, &module, "tickets", 3, 256, &Args::default().pointer(&next).pointer(&out)));
    });
}

#[test]
fn a_loop_of_compare_and_swaps_is_no_race() {
    on_both(|arch| {
        let (gpu, module) = checked(arch, RACE);
        let (single, double) = (zeros::<f32>(&gpu, 1), zeros::<f64>(&gpu, 1));
        nothing(&run(&gpu, &module, "add_float", 4, 256, &Args::default().pointer(&single)));
        nothing(&run(&gpu, &module, "add_double", 4, 256, &Args::default().pointer(&double)));
        assert_eq!((single.get(), double.get()), (vec![1024.0], vec![1024.0]));
        let product = upload(&gpu, &[1_u32]);
        nothing(&run(&gpu, &module, "triple", 4, 256, &Args::default().pointer(&product)));
        assert_eq!(product.get(), [3_u32.wrapping_pow(1024)]);
        let out = zeros::<u32>(&gpu, 4);
        nothing(&run(&gpu, &module, "triple_local", 4, 256, &Args::default().pointer(&out)));
        assert_eq!(out.get(), [3_u32.wrapping_pow(256); 4]);

        // A plain read of a location that others add to is a race, whether it is found at the read or at the operation.
        let (sum, out, elsewhere) = (zeros::<i32>(&gpu, 1), zeros::<i32>(&gpu, 16), zeros::<i32>(&gpu, 1));
        let args = Args::default().pointer(&sum).pointer(&out).pointer(&elsewhere);
        let found = run(&gpu, &module, "peek", 4, 256, &args);
        assert!(!found.is_empty());
        for finding in &found {
            let (space, access, other) = race(finding);
            assert_eq!(space, Space::Global, "{finding}");
            assert!(
                [(Access::Read, Access::Atomic), (Access::Atomic, Access::Read)].contains(&(access, other)),
                "{finding}"
            );
            assert_eq!(finding.nearest.unwrap().allocation.base, sum.address, "{finding}");
        }
        assert_eq!(sum.get(), [16]);
    });
}

#[test]
fn global_wave_sync_orders_workgroups() {
    let (gpu, module) = checked(Arch::Gfx90a, RACE);
    let share = |sync: u32| {
        nothing(&run(&gpu, &module, "gws_init", 1, 1, &Args::default().value(7_u32)));
        let (data, out) = (zeros::<i32>(&gpu, 8), zeros::<i32>(&gpu, 8));
        let args = Args::default().pointer(&data).pointer(&out).value(sync);
        (run(&gpu, &module, "gws_share", 8, 128, &args), out.get())
    };
    let (found, out) = share(1);
    nothing(&found);
    assert_eq!(out, [1, 2, 3, 4, 5, 6, 7, 0]);
    assert!(!share(0).0.is_empty());
}

#[test]
fn races_are_found_in_every_order_of_waves() {
    for seed in 0..6 {
        let (gpu, module) = with(Config { checks: RACE, schedule: Schedule::Shuffled(seed), ..Config::default() });
        let (input, out) = (upload(&gpu, &[1_i32; 512]), zeros::<i32>(&gpu, 2));
        let args = Args::default().pointer(&input).pointer(&out);
        nothing(&run(&gpu, &module, "reduce", 2, 256, &args));
        assert!(!run(&gpu, &module, "reduce_racy", 2, 256, &args).is_empty());
        let (part, count, out) = (zeros::<i32>(&gpu, 8), zeros::<u32>(&gpu, 1), zeros::<i32>(&gpu, 1));
        let args = Args::default().pointer(&input).pointer(&part).pointer(&count).pointer(&out);
        nothing(&run(&gpu, &module, "fenced", 8, 128, &args));
        let (flags, values) = (zeros::<i32>(&gpu, 20), zeros::<i32>(&gpu, 20));
        nothing(&run(&gpu, &module, "chain", 20, 64, &Args::default().pointer(&flags).pointer(&values)));
        let (lock, sum) = (zeros::<i32>(&gpu, 1), zeros::<i32>(&gpu, 1));
        nothing(&run(&gpu, &module, "locked", 6, 256, &Args::default().pointer(&lock).pointer(&sum)));
    }
}

/// Two lanes of a wave whose stores, in one instruction, write different values to one address.
#[test]
fn lanes_of_one_wave_must_not_store_different_values_to_one_place() {
    on_both(|arch| {
        let (gpu, module) = with(Config { arch, checks: RACE, misaligned: Misaligned::Allow, ..Config::default() });
        let out = zeros::<u32>(&gpu, 64);
        let store = |name: &str, share: u32, values: u32| {
            run(&gpu, &module, name, 1, 64, &Args::default().pointer(&out).value(share).value(values))
        };
        for (name, space) in
            [("lanes_local", Space::Lds), ("lanes_global", Space::Global), ("lanes_bytes", Space::Global)]
        {
            // An address per lane, or one value.
            for (share, values) in [(1, 64), (64, 1), (4, 1)] {
                nothing(&store(name, share, values));
            }
            for (share, values) in [(64, 64), (2, 2), (64, 63)] {
                let found = store(name, share, values);
                let [finding] = &found[..] else { panic!("{name} {share} {values}: {found:?}") };
                assert_eq!(race(finding), (space, Access::Write, Access::Write), "{finding}");
                let FindingKind::Race { address, other, .. } = &finding.kind else { unreachable!() };
                let place = &finding.place;
                assert_eq!((place.pc, place.wave, other.wave), (other.pc, 0, 0), "{finding}");
                assert_eq!((place.lane, other.lane, finding.count), (Some(1), Some(0), 1), "{finding}");
                assert_eq!(*address, if space == Space::Lds { 0 } else { out.address }, "{finding}");
                let text = finding.to_string();
                assert!(text.contains("lanes of one wave write different values at once"), "{text}");
            }
        }
        // Partly overlapping stores: their common bytes are equal, or not.
        let overlap =
            |apart: u32| run(&gpu, &module, "lanes_overlap", 1, 32, &Args::default().pointer(&out).value(apart));
        for (apart, differs) in [(4, false), (2, false), (1, true), (3, true)] {
            let found = overlap(apart);
            assert_eq!(!found.is_empty(), differs, "{apart} bytes apart: {found:?}");
        }
        // The same instruction, executed at different times.
        nothing(&run(&gpu, &module, "lanes_in_turns", 1, 64, &Args::default().pointer(&out).value(64_u32)));
        assert_eq!(out.get()[0], 63);
    });
}

/// With the memory check, an access beyond LDS is a fault, except for loads by kernels that are known to rely on zeros.
#[test]
fn accesses_beyond_lds_are_faults_unless_the_kernel_is_known() {
    on_both(|arch| {
        for (beyond_lds, zeros_beyond_lds, faults) in [
            (BeyondLds::Ignore, &[][..], [false, false]),
            (BeyondLds::FaultUnlessKnown, &[][..], [true, true]),
            (BeyondLds::FaultUnlessKnown, &["other", "beyond"][..], [false, true]),
            (BeyondLds::Fault, &["beyond"][..], [true, true]),
        ] {
            let (gpu, module) = with(Config { arch, beyond_lds, zeros_beyond_lds, ..Config::default() });
            let out = zeros::<u32>(&gpu, 64);
            for (store, faults) in [0_u32, 1].into_iter().zip(faults) {
                let args = |by: u32| Args::default().pointer(&out).value(store).value(by);
                // The last place of all is inside.
                launch(&gpu, &module, "beyond_local", [1; 3], [64, 1, 1], &args(0)).unwrap();
                let result = launch(&gpu, &module, "beyond_local", [1; 3], [64, 1, 1], &args(1));
                if !faults {
                    result.unwrap();
                    assert_eq!(out.get()[62..], if store == 1 { [1, 1] } else { [63, 0] });
                    continue;
                }
                let fault = result.unwrap_err();
                let access = if store == 1 { Access::Write } else { Access::Read };
                let kind =
                    FaultKind::Memory { space: Space::Lds, access, address: 256, bytes: 4, why: Denied::OutOfBounds };
                assert_eq!(fault.kind, kind);
                let place = fault.place.as_ref().unwrap();
                assert_eq!((place.wave, place.lane, place.lds), (0, Some(63), Some([256, 0])), "{fault}");
            }
        }
    });
}

/// With a GPU that ignores stores beyond LDS, lanes that all store unneeded values there do not race.
#[test]
fn ignored_stores_are_no_races() {
    on_both(|arch| {
        let (gpu, module) = with(Config { arch, checks: RACE, beyond_lds: BeyondLds::Ignore, ..Config::default() });
        let out = zeros::<u32>(&gpu, 64);
        nothing(&run(&gpu, &module, "aside_local", 1, 64, &Args::default().pointer(&out).value(16_u32)));
        assert_eq!(out.get()[15..17], [16, 16]);
    });
}

/// The place of an uninitialised read.
fn unwritten(finding: &Finding) -> (Space, u64, Access) {
    match finding.kind {
        FindingKind::Uninitialized { space, address, access, .. } => (space, address, access),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn reads_of_memory_that_nothing_has_written() {
    on_both(|arch| {
        let (gpu, module) = checked(arch, INIT);
        let memory = gpu.memory();
        let [a, b, c] = [(); 3].map(|()| memory.alloc(4 * 256, 0, AllocKind::Device).unwrap());
        let copy = |from: u64, to: u64| run(&gpu, &module, "copy", 1, 256, &Args::default().value(from).value(to));
        // The host writes all words except one, which lane 37 of wave 1 reads.
        memory.write(a, &[1; 4 * 101]).unwrap();
        memory.fill(a + 4 * 102, &[0], 4 * 154).unwrap();
        let found = copy(a, b);
        assert_eq!(found.iter().map(unwritten).collect::<Vec<_>>(), [(Space::Global, a + 404, Access::Read)]);
        assert_eq!((found[0].place.wave, found[0].place.lane), (1, Some(37)));
        let text = found[0].to_string();
        assert!(text.contains("at byte 404 of 1024 bytes of device memory"), "{text}");
        // A kernel's writes count as written, and the host's copies preserve the state.
        nothing(&copy(b, c));
        memory.copy(c + 4, a + 404, 4).unwrap();
        assert_eq!(copy(c, b).iter().map(unwritten).collect::<Vec<_>>(), [(Space::Global, c + 4, Access::Read)]);
        // A sum that was never set to zero.
        let sum = memory.alloc(4, 0, AllocKind::Device).unwrap();
        let add = || run(&gpu, &module, "add_to", 1, 64, &Args::default().value(sum));
        assert_eq!(add().iter().map(unwritten).collect::<Vec<_>>(), [(Space::Global, sum, Access::Atomic)]);
        nothing(&add());
        // Memory that the host writes directly is not tracked.
        let pinned = memory.alloc(1024, 0, AllocKind::Host).unwrap();
        nothing(&copy(pinned, b));
    });
}

#[test]
fn a_copy_uses_nothing_and_memory_shared_with_the_host_counts_as_written() {
    on_both(|arch| {
        let config = Config { arch, checks: INIT, copy_kernels: &["cop"], ..Config::default() };
        let (gpu, module) = with(config);
        let [a, b] = [(); 2].map(|()| gpu.memory().alloc(1024, 0, AllocKind::Device).unwrap());
        nothing(&run(&gpu, &module, "copy", 1, 256, &Args::default().value(a).value(b)));
        // Other kernels are checked.
        let add = |sum: u64| run(&gpu, &module, "add_to", 1, 64, &Args::default().value(sum));
        assert_eq!(add(a).iter().map(unwritten).collect::<Vec<_>>(), [(Space::Global, a, Access::Atomic)]);
        let shared = gpu.memory().alloc(1024, 0, AllocKind::Device).unwrap();
        gpu.memory().shared_with_host(shared);
        nothing(&add(shared));
    });
}

#[test]
fn reads_of_local_memory_and_scratch_that_nothing_has_written() {
    on_both(|arch| {
        let (gpu, module) = checked(arch, INIT);
        let out = zeros::<i32>(&gpu, 128);
        let found = run(&gpu, &module, "lds_unwritten", 1, 64, &Args::default().pointer(&out));
        assert_eq!(found.iter().map(unwritten).collect::<Vec<_>>(), [(Space::Lds, 256, Access::Read)]);
        let scratch = |write: u32, read: u32| {
            run(&gpu, &module, "scratch_unwritten", 2, 64, &Args::default().pointer(&out).value(write).value(read))
        };
        nothing(&scratch(5, 5));
        let found = scratch(5, 6);
        assert_eq!(found.len(), 1);
        assert_eq!((unwritten(&found[0]).0, found[0].place.lane, found[0].count), (Space::Private, Some(0), 128));
    });
}

#[test]
fn barriers_that_not_all_waves_come_to() {
    on_both(|arch| {
        let (gpu, module) = checked(arch, BARRIER);
        let out = zeros::<i32>(&gpu, 256);
        let found = run(&gpu, &module, "different_barriers", 1, 128, &Args::default().pointer(&out));
        let [Finding { kind: FindingKind::DifferentBarriers { other }, place, .. }] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(place.instruction == "s_barrier" && other.instruction == "s_barrier" && place.pc != other.pc);
        assert!(found[0].to_string().contains("wait at different barriers"), "{}", found[0]);
        let early = |n: u32| run(&gpu, &module, "early_end", 1, 256, &Args::default().pointer(&out).value(n));
        nothing(&early(256));
        // A wave that has ended counts as having reached every barrier.
        nothing(&early(130));
        nothing(&run(
            &gpu,
            &module,
            "reduce",
            1,
            256,
            &Args::default().pointer(&zeros::<i32>(&gpu, 256)).pointer(&out),
        ));
    });
}

#[test]
fn a_dispatch_with_findings_fails_if_asked_to() {
    let (gpu, module) = checked(Arch::Gfx90a, Checks::ALL);
    let out = zeros::<u32>(&gpu, 1);
    let args = Args::default().pointer(&out);
    let fault: Fault = launch(&gpu, &module, "all_write", [4, 1, 1], [128, 1, 1], &args).unwrap_err();
    let FaultKind::Checks(findings) = &fault.kind else { panic!("{fault}") };
    assert_eq!(findings[..], gpu.take_findings()[..]);
    let text = fault.to_string();
    assert!(
        text.starts_with("kernel all_write: the checks found something\n  kernel all_write: race at address"),
        "{text}"
    );
    // It has completed nevertheless.
    assert_ne!(out.get(), [0]);
    launch(&gpu, &module, "all_set", [4, 1, 1], [128, 1, 1], &args).unwrap();
}

#[test]
fn the_same_run_finds_the_same() {
    let texts = || {
        let (gpu, module) = checked(Arch::Gfx90a, Checks { fail: false, ..Checks::ALL });
        let (input, out) = (upload(&gpu, &[1_i32; 2048]), zeros::<i32>(&gpu, 8));
        let args = Args::default().pointer(&input).pointer(&out);
        let found = run(&gpu, &module, "reduce_racy", 8, 256, &args);
        found
            .into_iter()
            .map(|f| (f.place.offset, f.place.workgroup, f.place.wave, f.place.lane, f.count))
            .collect::<Vec<_>>()
    };
    let first = texts();
    assert!(!first.is_empty());
    assert_eq!(first, texts());
}

#[test]
fn an_unchecked_gpu_finds_nothing_and_memory_faults_are_found_without_checks() {
    let (gpu, module) = with(Config::default());
    let out = zeros::<u32>(&gpu, 256);
    nothing(&run(&gpu, &module, "all_write", 4, 128, &Args::default().pointer(&out)));
    let gone = gpu.memory().alloc(1024, 0, AllocKind::Device).unwrap();
    gpu.memory().free(gone).unwrap();
    let fault =
        launch(&gpu, &module, "copy", [1, 1, 1], [256, 1, 1], &Args::default().value(gone).pointer(&out)).unwrap_err();
    let text = fault.to_string();
    for part in ["use after free: read of 4 bytes", "at byte 0 of freed 1024 bytes of device memory", "lane 0"] {
        assert!(text.contains(part), "{text}");
    }
}

/// A memory limit for the checks: they report that they have reached it, and do not report memory that they could not
/// track.
#[test]
fn a_check_without_room_says_so_and_finds_nothing_else() {
    // The limit applies to the whole process, in which other tests check kernels too: so this runs in a separate process.
    const ALONE: &str = "AMDGPU_SIM_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        // Not `current_exe`: if the program runs under an explicit loader, that returns the loader.
        let mut command = std::process::Command::new(std::env::args_os().next().unwrap());
        command.args(["--exact", "a_check_without_room_says_so_and_finds_nothing_else"]).env(ALONE, "1");
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let most = 1 << 20;
    let config = |checks, check_memory| Config { checks, check_memory, ..Config::default() };
    let run_reduce = |gpu: &Gpu, module: &Module| {
        let (input, out) = (upload(gpu, &vec![1_i32; 256 * 256]), zeros::<i32>(gpu, 256));
        run(gpu, module, "reduce", 256, 256, &Args::default().pointer(&input).pointer(&out))
    };
    let incomplete = |check, most| FindingKind::Incomplete { check, most };
    // Tracking 64 pages takes 3 MiB.
    let (gpu, module) = with(config(RACE, Some(most)));
    let found = run_reduce(&gpu, &module);
    assert_eq!(found.iter().map(|finding| finding.kind.clone()).collect::<Vec<_>>(), [incomplete("race", most)]);
    for part in ["kernel reduce: the check `race`", "1048576 bytes", "HIP_SIM_CHECK_MEMORY"] {
        assert!(found[0].to_string().contains(part), "{}", found[0]);
    }
    // The next dispatch starts fresh.
    let (one, out) = (upload(&gpu, &[1_i32; 256]), zeros::<i32>(&gpu, 1));
    nothing(&run(&gpu, &module, "reduce", 1, 256, &Args::default().pointer(&one).pointer(&out)));
    let (gpu, module) = with(config(RACE, None));
    nothing(&run_reduce(&gpu, &module));

    // Tracking 256 KiB takes 32 KiB; small allocations can be tracked.
    let (gpu, module) = with(config(INIT, Some(0)));
    let found = run_reduce(&gpu, &module);
    assert_eq!(found.iter().map(|finding| finding.kind.clone()).collect::<Vec<_>>(), [incomplete("init", 0)]);
    // Reported once, until memory is refused again; without refusals it is not reported.
    let (gpu, module) = with(config(INIT, None));
    nothing(&run_reduce(&gpu, &module));

    // An untracked dispatch fails if findings make it fail.
    let (gpu, module) = with(config(Checks { fail: true, ..RACE }, Some(most)));
    let (input, out) = (upload(&gpu, &vec![1_i32; 256 * 256]), zeros::<i32>(&gpu, 256));
    let args = Args::default().pointer(&input).pointer(&out);
    let fault = launch(&gpu, &module, "reduce", [256, 1, 1], [256, 1, 1], &args).unwrap_err();
    assert!(matches!(&fault.kind, FaultKind::Checks(found) if found.len() == 1), "{fault}");
    assert_eq!(out.get(), [256; 256]);
}
