//! Kernels with indices: indexing, sort, ternary.

use super::types::{Type, sizes};
use super::{Outcome, run};
use crate::device::{Module, args};

pub(super) fn check(module: &Module, name: &str) -> Option<Outcome> {
    let (before, kind) = Type::of(name)?;
    if let Some(order) = before.strip_prefix("asort_") {
        return Some(sort(module, name, kind, order == "asc"));
    }
    let (op, ids) = Type::of(before)?;
    match op {
        "where" => Some(choose(module, name, kind, ids)),
        "is" => Some(select(module, name, kind, ids)),
        "gather" => Some(gather(module, name, kind, ids)),
        "ia" => Some(index_add(module, name, kind, ids)),
        "s" | "sa" => Some(scatter(module, name, kind, ids, op == "sa")),
        _ => None,
    }
}

fn choose(module: &Module, name: &str, kind: Type, ids: Type) -> Outcome {
    const N: usize = 200;
    let (yes, condition) = (kind.numbers(N), (0..N).map(|at| (at % 3) as f64).collect::<Vec<f64>>());
    let no: Vec<f64> = yes.iter().rev().copied().collect();
    let (when, left, right) = (ids.buffer(&condition), kind.buffer(&yes), kind.buffer(&no));
    let (dims, plain, other) = ([10, 20], [20, 1], [1, 10]);
    for is_strided in [false, true] {
        let info = sizes(&[dims, plain, if is_strided { other } else { plain }, plain].concat());
        let output = kind.zeros(N);
        run(module, name, args![N as u64, 2_u64, &info, &when, &left, &right, &output]);
        let of = |at: usize| match condition[at] {
            0.0 => no[at],
            _ if is_strided => yes[at / 20 + at % 20 * 10],
            _ => yes[at],
        };
        kind.compare(&output, &(0..N).map(of).collect::<Vec<f64>>(), 0.0)?;
    }
    Ok(())
}

fn sort(module: &Module, name: &str, kind: Type, is_ascending: bool) -> Outcome {
    const COLUMNS: usize = 50;
    let numbers = kind.numbers(3 * COLUMNS);
    let (input, output) = (kind.buffer(&numbers), Type::U32.zeros(3 * COLUMNS));
    module.launch(name, (3, 1), (64, 1), 64 * 4, args![&input, &output, COLUMNS as i32, 64_i32]);
    for (row, places) in numbers.chunks(COLUMNS).zip(Type::U32.read(&output, 3 * COLUMNS).chunks(COLUMNS)) {
        let mut sorted = row.to_vec();
        sorted.sort_by(|a, b| if is_ascending { a.total_cmp(b) } else { b.total_cmp(a) });
        let found: Vec<f64> =
            places.iter().map(|place| row.get(*place as usize).copied().unwrap_or(f64::NAN)).collect();
        let mut all: Vec<usize> = places.iter().map(|place| *place as usize).collect();
        all.sort_unstable();
        if found != sorted || all != (0..COLUMNS).collect::<Vec<_>>() {
            return Err(format!("the order is {places:?}"));
        }
    }
    Ok(())
}

/// Sizes of the dimensions before the indexed one, of the indexed one, of the indices, and of the dimensions after it.
const LEFT: usize = 2;
const FROM: usize = 5;
const IDS: usize = 4;
const RIGHT: usize = 3;

/// Sums of some of them are exact in all types.
fn small(count: usize) -> Vec<f64> {
    (0..count).map(|at| (at * 5 % 4) as f64).collect()
}

/// The sizes, as arguments.
fn shape(dim: usize, other: usize) -> [u64; 4] {
    [LEFT as u64, dim as u64, other as u64, RIGHT as u64]
}

fn select(module: &Module, name: &str, kind: Type, ids: Type) -> Outcome {
    let (places, numbers) = ([4, 0, 2, 2], small(LEFT * FROM * RIGHT));
    let (indices, input) = (ids.buffer(&places.map(f64::from)), kind.buffer(&numbers));
    let (output, info) = (kind.zeros(LEFT * IDS * RIGHT), sizes(&[2, 5, 3, 15, 3, 1]));
    let [left, from, count, right] = shape(FROM, IDS);
    let numel = (LEFT * IDS * RIGHT) as u64;
    run(module, name, args![numel, 3_u64, &info, &indices, &input, &output, left, from, count, right]);
    let of = |at: usize| {
        let (pre, id, post) = (at / (IDS * RIGHT), at / RIGHT % IDS, at % RIGHT);
        numbers[(pre * FROM + places[id] as usize) * RIGHT + post]
    };
    kind.compare(&output, &(0..LEFT * IDS * RIGHT).map(of).collect::<Vec<f64>>(), 0.0)
}

/// An index for each element.
fn places() -> Vec<f64> {
    (0..LEFT * IDS * RIGHT).map(|at| (at * 3 % FROM) as f64).collect()
}

fn gather(module: &Module, name: &str, kind: Type, ids: Type) -> Outcome {
    let (places, numbers) = (places(), small(LEFT * FROM * RIGHT));
    let (indices, input, output) = (ids.buffer(&places), kind.buffer(&numbers), kind.zeros(places.len()));
    let [left, from, count, right] = shape(FROM, IDS);
    run(module, name, args![places.len() as u64, &indices, &input, &output, left, from, count, right]);
    let of = |at: usize| numbers[(at / (IDS * RIGHT) * FROM + places[at] as usize) * RIGHT + at % RIGHT];
    kind.compare(&output, &(0..places.len()).map(of).collect::<Vec<f64>>(), 0.0)
}

fn index_add(module: &Module, name: &str, kind: Type, ids: Type) -> Outcome {
    let (places, numbers) = ([4, 0, 2, 2], small(LEFT * IDS * RIGHT));
    let (indices, input) = (ids.buffer(&places.map(f64::from)), kind.buffer(&numbers));
    let output = kind.buffer(&vec![1.0; LEFT * FROM * RIGHT]);
    let [left, count, to, right] = shape(IDS, FROM);
    run(module, name, args![&indices, IDS as u64, &input, &output, left, count, to, right]);
    let mut expected = vec![1.0; LEFT * FROM * RIGHT];
    for (at, number) in numbers.iter().enumerate() {
        expected[(at / (IDS * RIGHT) * FROM + places[at / RIGHT % IDS] as usize) * RIGHT + at % RIGHT] += number;
    }
    kind.compare(&output, &expected, 0.0)
}

fn scatter(module: &Module, name: &str, kind: Type, ids: Type, adds: bool) -> Outcome {
    let (places, numbers) = (places(), small(LEFT * IDS * RIGHT));
    let (indices, input) = (ids.buffer(&places), kind.buffer(&numbers));
    let output = kind.buffer(&vec![1.0; LEFT * FROM * RIGHT]);
    let [left, count, to, right] = shape(IDS, FROM);
    run(module, name, args![&indices, &input, &output, left, count, to, right]);
    let mut expected = vec![1.0; LEFT * FROM * RIGHT];
    for (at, number) in numbers.iter().enumerate() {
        let place = &mut expected[(at / (IDS * RIGHT) * FROM + places[at] as usize) * RIGHT + at % RIGHT];
        *place = if adds { *place + number } else { *number };
    }
    kind.compare(&output, &expected, 0.0)
}
