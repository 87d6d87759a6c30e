//! Each type, operator and reduction.

use half::{bf16, f16};
use hip::{DeviceBuffer, DeviceSlice};
use rccl::{Group, Op};

use crate::{Number, World, random, world};

/// Numbers of a rank: small integers for integers, all between -2 and 2 for others.
fn numbers<T: Number>(rank: usize, count: usize) -> Vec<T> {
    let mut next = random(rank * 1009 + count + 1);
    let number = |bits: u64| {
        if T::ROUNDOFF == 0.0 {
            // At most 3, so that products and sums of eight fit into 8 bits only sometimes: integers wrap.
            return T::of((bits % 3 + 1) as f64);
        }
        T::of((bits % 4_000_001) as f64 / 1e6 - 2.0)
    };
    (0..count).map(|_| number(next())).collect()
}

/// The exact result of an operator, and a bound of the rounding error, relative to the unit roundoff.
type Reference = fn(&[f64]) -> (f64, f64);

fn operators<T: Number>() -> [(Op<'static, T>, &'static str, Reference); 6] {
    [
        (Op::Sum, "sum", |x| (x.iter().sum(), x.len() as f64 * magnitude(x))),
        (Op::Product, "product", |x| {
            let product: f64 = x.iter().product();
            (product, x.len() as f64 * product.abs())
        }),
        (Op::Min, "minimum", |x| (x.iter().copied().fold(f64::MAX, f64::min), 0.0)),
        (Op::Max, "maximum", |x| (x.iter().copied().fold(f64::MIN, f64::max), 0.0)),
        // Each is multiplied by the rounded reciprocal before the sum.
        (Op::Average, "average", |x| {
            (x.iter().sum::<f64>() / x.len() as f64, (x.len() + 2) as f64 * magnitude(x) / x.len() as f64)
        }),
        (Op::Scaled(T::of(2.0)), "scaled sum", |x| {
            (2.0 * x.iter().sum::<f64>(), (x.len() + 1) as f64 * 2.0 * magnitude(x))
        }),
    ]
}

fn magnitude(x: &[f64]) -> f64 {
    x.iter().map(|x| x.abs()).sum()
}

/// Compares the results of a rank with the reference.
#[track_caller]
fn check<T: Number>(what: &str, got: &[T], inputs: &[Vec<T>], first: usize, reference: Reference) {
    for (index, got) in got.iter().enumerate() {
        let numbers: Vec<f64> = inputs.iter().map(|input| input[first + index].value()).collect();
        let (exact, bound) = reference(&numbers);
        if T::ROUNDOFF == 0.0 {
            // In 8 bits products may wrap; all numbers here are small enough for i64.
            let exact = exact.trunc() as i64;
            let wrapped = match size_of::<T>() {
                1 => T::of((exact as u8) as f64).value() == got.value() || (exact as i8) as f64 == got.value(),
                _ => T::of(exact as f64) == *got,
            };
            assert!(wrapped, "{what}[{index}] of {numbers:?}: {got:?} instead of {exact}");
        } else {
            // f16 has subnormal numbers, whose error is absolute.
            let smallest = if size_of::<T>() == 2 { 6e-8 * inputs.len() as f64 } else { 0.0 };
            let error = (got.value() - exact).abs();
            let allowed = bound * T::ROUNDOFF * 1.01 + smallest;
            let allowed = if bound == 0.0 { 0.0 } else { allowed };
            assert!(
                error <= allowed,
                "{what}[{index}] of {numbers:?}: {got:?} instead of {exact}, {error:e} > {allowed:e}"
            );
        }
    }
}

fn all_reductions<T: Number>(world: &World, count: usize) {
    let size = world.size();
    let inputs: Vec<Vec<T>> = (0..size).map(|rank| numbers::<T>(rank, count * size)).collect();
    let send = world.buffers(|rank| inputs[rank][..count].to_vec());
    let parts = world.buffers(|rank| inputs[rank].clone());
    for (op, name, reference) in operators::<T>() {
        if T::ROUNDOFF == 0.0 && matches!(op, Op::Average) {
            continue;
        }
        let name = format!("{name} of {} {}", count, std::any::type_name::<T>());
        let mut receive = world.buffers(|_| vec![T::of(7.0); count]);
        let mut in_place = world.buffers(|rank| inputs[rank][..count].to_vec());
        let mut scattered = world.buffers(|_| vec![T::of(7.0); count]);
        let mut group = Group::new();
        for (rank, receive) in receive.iter_mut().enumerate() {
            group.all_reduce(&world.ranks[rank], &send[rank], receive, op).unwrap();
        }
        group.end().unwrap();
        let mut group = Group::new();
        for (rank, (memory, scattered)) in in_place.iter_mut().zip(&mut scattered).enumerate() {
            group.all_reduce_in_place(&world.ranks[rank], memory, op).unwrap();
            group.reduce_scatter(&world.ranks[rank], &parts[rank], scattered, op).unwrap();
        }
        group.end().unwrap();
        for rank in 0..size {
            let got = receive[rank].to_vec().unwrap();
            check(&format!("all-reduce ({name}) on rank {rank}"), &got, &inputs, 0, reference);
            // Among other calls, perhaps by another algorithm.
            let got = in_place[rank].to_vec().unwrap();
            check(&format!("all-reduce in place ({name}) on rank {rank}"), &got, &inputs, 0, reference);
            let got = scattered[rank].to_vec().unwrap();
            check(&format!("reduce-scatter ({name}) on rank {rank}"), &got, &inputs, rank * count, reference);
        }
    }
}

macro_rules! for_types {
    ($($test:ident: $t:ty;)*) => {$(
        #[test]
        fn $test() {
            let Some(world) = world() else { return };
            all_reductions::<$t>(&world, 371);
        }
    )*};
}

for_types! {
    i8_is_reduced: i8;
    u8_is_reduced: u8;
    i32_is_reduced: i32;
    u32_is_reduced: u32;
    i64_is_reduced: i64;
    u64_is_reduced: u64;
    f16_is_reduced: f16;
    bf16_is_reduced: bf16;
    f32_is_reduced: f32;
    f64_is_reduced: f64;
}

#[test]
fn counts_from_none_to_many_are_reduced() {
    let Some(world) = world() else { return };
    // The last is moved piece by piece, and by other protocols.
    for count in [0, 1, 2, 3, 1023, 70_001] {
        let inputs: Vec<Vec<f32>> = (0..world.size()).map(|rank| numbers(rank, count)).collect();
        let mut memory = world.buffers(|rank| inputs[rank].clone());
        let mut group = Group::new();
        for (rank, memory) in world.ranks.iter().zip(&mut memory) {
            group.all_reduce_in_place(rank, memory, Op::Sum).unwrap();
        }
        group.end().unwrap();
        let [(_, name, reference), ..] = operators::<f32>();
        for memory in &memory {
            check(&format!("{name} of {count}"), &memory.to_vec().unwrap(), &inputs, 0, reference);
        }
    }
}

#[test]
fn only_the_root_of_a_reduction_gets_results() {
    let Some(world) = world() else { return };
    let (root, count) = (world.size() - 1, 501);
    let inputs: Vec<Vec<i32>> = (0..world.size()).map(|rank| numbers(rank, count)).collect();
    let send = world.buffers(|rank| inputs[rank].clone());
    let mut results = DeviceBuffer::<i32>::zeroed(&world.devices[root], count).unwrap();
    let mut in_place = world.buffers(|rank| inputs[rank].clone());
    let mut group = Group::new();
    let mut receive = Some(results.as_slice_mut());
    for (rank, memory) in in_place.iter_mut().enumerate() {
        let receive = if rank == root { receive.take() } else { None };
        group.reduce(&world.ranks[rank], &send[rank], receive, Op::Max, root).unwrap();
        group.reduce_in_place(&world.ranks[rank], memory, Op::Sum, root).unwrap();
    }
    group.end().unwrap();
    let [(_, _, sum), _, _, (_, _, max), ..] = operators::<i32>();
    check("reduce", &results.to_vec().unwrap(), &inputs, 0, max);
    check("reduce in place", &in_place[root].to_vec().unwrap(), &inputs, 0, sum);
    for (rank, send) in send.iter().enumerate() {
        assert_eq!(send.to_vec().unwrap(), inputs[rank], "what is sent stays");
    }
}

#[test]
fn each_rank_has_a_factor_of_its_own() {
    let Some(world) = world() else { return };
    let count = 300;
    let send = world.buffers(|rank| vec![(rank + 1) as f32; count]);
    let factors = world.buffers(|rank| vec![(rank + 2) as f32]);
    let expected: f32 = (0..world.size()).map(|rank| (rank + 1) as f32 * (rank + 2) as f32).sum();
    for on_device in [false, true] {
        let mut receive = world.buffers(|_| vec![0_f32; count]);
        let mut group = Group::new();
        for (rank, receive) in receive.iter_mut().enumerate() {
            let op =
                if on_device { Op::ScaledBy(DeviceSlice::from(&factors[rank])) } else { Op::Scaled((rank + 2) as f32) };
            group.all_reduce(&world.ranks[rank], &send[rank], receive, op).unwrap();
        }
        group.end().unwrap();
        for receive in &receive {
            assert_eq!(receive.to_vec().unwrap(), vec![expected; count], "on the device: {on_device}");
        }
    }
}
