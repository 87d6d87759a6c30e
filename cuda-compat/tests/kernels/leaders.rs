//! Values that only the leader of a warp has: the other lanes leave their variable unset.

use crate::device::{Buffer, Module, args};
use crate::on_a_device;

fn module() -> Module {
    Module::of("leaders.cu", include_str!("leaders.cu"))
}

on_a_device! {
    fn aggregated_atomics_without_a_first_value() {
        let (counter, places) = (Buffer::zeros::<u32>(1), Buffer::zeros::<u32>(64));
        module().run("aggregated", 1, 64, args![&counter, &places]);
        assert_eq!(counter.read::<u32>(1), [22]);
        let mut places: Vec<u32> = places.read::<u32>(64).into_iter().step_by(3).collect();
        places.sort_unstable();
        assert_eq!(places, (0..22).collect::<Vec<_>>());
    }

    fn values_of_one_lane_reach_the_others() {
        let module = module();
        for name in
            ["indexed", "indexed_half", "indexed_double", "old_indexed", "crossed", "wrapped", "of_tile", "crossed_tile", "structs"]
        {
            let (counter, output) = (Buffer::zeros::<u32>(1), Buffer::zeros::<u32>(64));
            module.run(name, 1, 64, args![&counter, &output]);
            assert_eq!(counter.read::<u32>(1), [2], "{name}");
            let output = output.read::<u32>(64);
            for warp in output.chunks(32) {
                assert!([40, 41].contains(&warp[0]) && *warp == [warp[0]; 32], "{name}: {warp:?}");
            }
            assert_ne!(output[0], output[32], "{name}");
        }
    }

    fn a_leader_is_one_lane_with_every_function_of_warps() {
        let module = module();
        let names = [
            "up", "down", "up_tile", "down_tile", "of_group", "voted", "voted_tile", "matched", "matched_all", "matched_tile",
            "reduced", "reduced_tile",
        ];
        for name in names {
            let (counter, output) = (Buffer::zeros::<u32>(1), Buffer::zeros::<u32>(64));
            module.run(name, 1, 64, args![&counter, &output]);
            assert_eq!(counter.read::<u32>(1), [2], "{name}");
            assert!([40, 41].contains(&output.read::<u32>(64)[5]), "{name}");
        }
    }
}
