//! The profile: known counts, and the reports.

mod common;

use std::sync::Arc;

use amdgpu_sim::{Arch, Class, Config, Gpu, Hint, KernelProfile, Limit, Module, Schedule};
use common::{Args, launch_1d, load, upload, zeros};

const GFX90A: &[u8] = include_bytes!("kernels/observe.co");
const GFX942: &[u8] = include_bytes!("kernels/observe-gfx942.co");

fn profiled(arch: Arch, threads: Option<usize>) -> (Gpu, Arc<Module>) {
    let gpu = Gpu::new(Config { arch, threads, profile: true, ..Config::default() });
    let module = load(&gpu, if arch == Arch::Gfx90a { GFX90A } else { GFX942 });
    (gpu, module)
}

/// The profile of one launch of a kernel.
fn one(arch: Arch, name: &str, blocks: u32, threads: u32, args: impl Fn(&Gpu) -> Args) -> KernelProfile {
    let (gpu, module) = profiled(arch, None);
    let stats = launch_1d(&gpu, &module, name, blocks, threads, &args(&gpu));
    let profile = gpu.profile();
    let kernel = profile.kernel(name).unwrap().clone();
    let c = &kernel.counters;
    assert_eq!((c.dispatches, c.workgroups, c.waves), (1, stats.workgroups, stats.waves));
    assert_eq!(c.total(), kernel.instructions.iter().map(|i| i.count).sum::<u64>());
    assert!(c.total() <= stats.instructions);
    kernel
}

/// A leaked buffer: the tests' GPUs are dropped as a whole.
fn buffer(gpu: &Gpu, words: usize) -> u64 {
    gpu.memory().alloc(4 * words as u64, 0, amdgpu_sim::AllocKind::Device).unwrap()
}

#[test]
fn lines_of_coalesced_and_strided_accesses() {
    for arch in Arch::ALL {
        let copy = |stride: u32| {
            one(arch, "copy_strided", 2, 256, |gpu| {
                Args::default().value(buffer(gpu, 512 * stride as usize)).value(buffer(gpu, 512)).value(stride)
            })
        };
        // 8 waves: 4 lines each for the store; the load takes `stride` times as many, up to one a lane.
        for (stride, load) in [(1, 4), (2, 8), (8, 32), (16, 64), (100, 64)] {
            let c = copy(stride).counters;
            assert_eq!((c.lines, c.best_lines), (8 * (load + 4), 8 * (4 + 4)), "stride {stride}");
            assert_eq!(c.global_written, 512 * 4);
            assert_eq!((c.of(Class::VectorLoad), c.of(Class::VectorStore)), (8, 8));
        }
        let hot = copy(16);
        let load = hot.instructions.iter().find(|i| i.class == Class::VectorLoad).unwrap();
        assert_eq!((load.count, load.active_lanes, load.bytes, load.lines), (8, 512, 2048, 512), "{}", load.text);
    }
}

#[test]
fn bank_conflicts_of_columns() {
    for arch in Arch::ALL {
        let columns = |name| one(arch, name, 1, 64, |gpu| Args::default().value(buffer(gpu, 64))).counters;
        // 64 rows in 2 cycles each. In a column, all words are in one bank: 32 cycles for each half of the wave.
        let c = columns("columns");
        assert_eq!((c.lds_turns, c.bank_conflicts), (64 * 2 + 64, 62));
        assert_eq!((c.lds_written, c.lds_read), (64 * 256, 256));
        let c = columns("padded_columns");
        assert_eq!((c.lds_turns, c.bank_conflicts), (64 * 2 + 2, 0));
    }
}

#[test]
fn active_lanes_of_a_divergent_loop() {
    for arch in Arch::ALL {
        let kernel = one(arch, "divergent", 3, 128, |gpu| Args::default().value(buffer(gpu, 384)));
        let add =
            kernel.instructions.iter().filter(|i| i.text.starts_with("v_add_f32") && i.active_lanes < 64 * i.count);
        let (count, lanes) = add.fold((0, 0), |(c, l), i| (c + i.count, l + i.active_lanes));
        // Six waves, 16 lanes, a hundred times.
        assert_eq!((count, lanes), (600, 9600));
        let used = kernel.counters.lane_use().unwrap();
        assert!(used > 0.25 && used < 0.6, "{used}");
        assert_eq!(
            one(arch, "copy", 1, 64, |gpu| Args::default().value(buffer(gpu, 64)).value(buffer(gpu, 64)))
                .counters
                .lane_use(),
            Some(1.0)
        );
    }
}

#[test]
fn classes_and_many_threads() {
    let count = |threads| {
        let (gpu, module) = profiled(Arch::Gfx90a, threads);
        let (input, out) = (upload(&gpu, &[1_i32; 256 * 40]), zeros::<i32>(&gpu, 40));
        for _ in 0..3 {
            launch_1d(&gpu, &module, "reduce", 40, 256, &Args::default().pointer(&input).pointer(&out));
        }
        assert_eq!(out.get(), [256; 40]);
        gpu.profile().kernel("reduce").unwrap().clone()
    };
    let one = count(Some(1));
    assert_eq!(one, count(Some(4)));
    let c = &one.counters;
    assert_eq!((c.dispatches, c.workgroups, c.waves, one.recent.len()), (3, 120, 480, 3));
    // Eight barriers a wave.
    assert_eq!(c.of(Class::Barrier), 480 * 8);
    assert_eq!(c.global_read, 120 * 256 * 4 + scalar_bytes(&one));
    assert_eq!(c.of(Class::Mfma) + c.of(Class::VectorAtomic), 0);
    assert_eq!(Class::ALL.into_iter().map(|class| c.of(class)).sum::<u64>(), c.total());
}

/// Bytes that scalar loads moved.
fn scalar_bytes(kernel: &KernelProfile) -> u64 {
    kernel.instructions.iter().filter(|i| i.class == Class::Smem).map(|i| i.bytes).sum()
}

#[test]
fn hints_and_occupancy() {
    let kernel = one(Arch::Gfx90a, "columns", 1, 40, |gpu| Args::default().value(buffer(gpu, 64)));
    let last = &kernel.recent[0];
    // 16 KiB of LDS: four workgroups of one wave.
    assert_eq!((last.occupancy.waves, last.occupancy.workgroups, last.occupancy.limit), (4, 4, Limit::Lds));
    assert!(last.hints.contains(&Hint::PartialWave { work_items: 40, idle: 24 }), "{:?}", last.hints);
    assert!(last.hints.contains(&Hint::LdsLimitsOccupancy { lds: 16384, waves: 4 }), "{:?}", last.hints);
    assert!(last.hints.iter().any(|h| matches!(h, Hint::SmallGrid { workgroups: 1, .. })), "{:?}", last.hints);
    let args = |gpu: &Gpu| Args::default().value(buffer(gpu, 256 * 400)).value(buffer(gpu, 256 * 400));
    let kernel = one(Arch::Gfx942, "copy", 400, 256, args);
    let last = &kernel.recent[0];
    assert_eq!((last.occupancy.waves, last.occupancy.workgroups, last.occupancy.limit), (32, 8, Limit::Full));
    assert!(last.hints.is_empty(), "{:?}", last.hints);
}

#[test]
fn the_text_says_it_all() {
    let text = one(Arch::Gfx90a, "columns", 1, 64, |gpu| Args::default().value(buffer(gpu, 64))).to_string();
    for part in [
        "kernel columns\n",
        "dispatches 1, workgroups 1, waves 1",
        "64.0 of 64 lanes are enabled",
        "192 turns, 62 of them lost to bank conflicts",
        "4 of 32 waves a compute unit in 4 workgroups (limited by LDS)",
        "hint         16384 bytes of LDS a workgroup limit a compute unit to 4 of 32 waves",
        "flat_load_dword",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_flame_graph_of_blocks_without_debug_information() {
    let (gpu, module) = profiled(Arch::Gfx90a, None);
    let (input, out) = (upload(&gpu, &[1_i32; 256]), zeros::<i32>(&gpu, 1));
    launch_1d(&gpu, &module, "reduce", 1, 256, &Args::default().pointer(&input).pointer(&out));
    let svg = gpu.profile().to_svg();
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
    assert!(svg.contains("<title>reduce: ") && svg.contains("<title>block +0x0: "), "{svg}");
    // The legend names only the kinds that occur; clicks are handled.
    for (kind, there) in [("kernel", true), ("basic block", true), ("instruction", true), ("source line", false)] {
        assert_eq!(svg.contains(&format!(">{kind}</text>")), there, "{kind}");
    }
    assert!(svg.contains("addEventListener(\"click\""));
}

#[test]
fn a_kernel_is_the_same_watched_and_unwatched_in_any_order() {
    let run = |config: Config| {
        let gpu = Gpu::new(config);
        let module = load(&gpu, GFX90A);
        let data: Vec<u32> = (0..2048).map(|i| i * i % 77).collect();
        let (input, bins) = (upload(&gpu, &data), zeros::<u32>(&gpu, 64));
        launch_1d(&gpu, &module, "histogram", 8, 256, &Args::default().pointer(&input).pointer(&bins));
        bins.get()
    };
    let expected = run(Config::default());
    assert_eq!(expected, run(Config { profile: true, ..Config::default() }));
    for seed in 0..10 {
        assert_eq!(expected, run(Config { schedule: Schedule::Shuffled(seed), ..Config::default() }), "{seed}");
    }
}

#[test]
fn orders_are_reproducible_and_differ_by_seed() {
    let order = |schedule| {
        let gpu = Gpu::new(Config { schedule, ..Config::default() });
        let module = load(&gpu, GFX90A);
        let (next, tickets) = (zeros::<u32>(&gpu, 1), zeros::<u32>(&gpu, 20 * 4));
        launch_1d(&gpu, &module, "tickets", 20, 256, &Args::default().pointer(&next).pointer(&tickets));
        // A kernel whose result is the order of its waves' accesses.
        let (place, seen) = (zeros::<i32>(&gpu, 1), zeros::<i32>(&gpu, 20 * 4));
        launch_1d(&gpu, &module, "lookers", 20, 256, &Args::default().pointer(&place).pointer(&seen));
        (tickets.get(), seen.get())
    };
    assert_eq!(order(Schedule::InOrder).0, (0..80).collect::<Vec<_>>());
    assert_eq!(order(Schedule::InOrder), order(Schedule::InOrder));
    let orders: Vec<_> = (0..5).map(|seed| order(Schedule::Shuffled(seed))).collect();
    for (seed, (tickets, seen)) in orders.iter().enumerate() {
        assert_eq!(&order(Schedule::Shuffled(seed as u64)), &orders[seed], "{seed}");
        let mut all = tickets.clone();
        all.sort_unstable();
        assert_eq!(all, (0..80).collect::<Vec<_>>());
        for (other, (their_tickets, their_seen)) in orders.iter().enumerate().skip(seed + 1) {
            assert_ne!(tickets, their_tickets, "{seed} and {other}");
            assert_ne!(seen, their_seen, "{seed} and {other}");
        }
    }
}

#[cfg(feature = "profile")]
mod with_debug_information {
    use super::*;
    use amdgpu_sim::AllocKind;

    const LINES: &[u8] = include_bytes!("kernels/lines.co");

    fn cubes(gpu: &Gpu) -> Arc<Module> {
        let module = load(gpu, LINES);
        let (input, out) = (upload(gpu, &[2.0_f32; 80]), zeros::<f32>(gpu, 80));
        launch_1d(gpu, &module, "cubes", 1, 64, &Args::default().pointer(&input).pointer(&out).value(16_i32));
        assert_eq!(out.get()[..79], [9.0; 79]);
        module
    }

    #[test]
    fn source_lines_in_profile_and_flame_graph() {
        let gpu = Gpu::new(Config { profile: true, ..Config::default() });
        let _module = cubes(&gpu);
        let profile = gpu.profile();
        let kernel = profile.kernel("cubes").unwrap();
        let multiply = kernel.instructions.iter().find(|i| i.text.starts_with("v_mul_f32")).unwrap();
        let frames: Vec<_> = multiply.source.iter().map(|f| (f.function.as_deref(), f.line)).collect();
        assert_eq!(frames, [(Some("cube"), Some(3)), (Some("cubes"), Some(9))]);
        let svg = profile.to_svg();
        for part in ["<title>cubes: ", "<title>lines.hip:9: ", "<title>cube: ", "<title>lines.hip:3: "] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        let json = profile.to_json();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let instructions = value["kernels"][0]["instructions"].as_array().unwrap();
        assert_eq!(instructions.len(), kernel.instructions.len());
        assert_eq!(value["kernels"][0]["counters"]["waves"], 1);
        assert!(instructions.iter().any(|i| i["source"][0]["line"] == 3));
    }

    #[test]
    fn source_lines_in_faults() {
        let gpu = Gpu::new(Config::default());
        let module = cubes(&gpu);
        let small = gpu.memory().alloc(256, 0, AllocKind::Device).unwrap();
        let args = Args::default().value(small).value(small).value(2_i32);
        let fault = common::launch(&gpu, &module, "cubes", [1, 1, 1], [64, 1, 1], &args).unwrap_err();
        let text = fault.to_string();
        assert!(text.contains("lines.hip:9 (cubes)") && text.contains("lane 63"), "{text}");
        assert!(text.contains("0 bytes past the end of 256 bytes of device memory"), "{text}");
    }
}
