//! hipSPARSE on a device with ROCm's own libraries: the GPU if there is one, or the software GPU under `hsa-sim`. Dense
//! references on the host in 64-bit floats, with the error bounds of theory, over structures that are generated here.

mod bad_input;
mod banded;
mod conversions;
mod descriptions;
mod devices;
mod duplicates;
mod graphs;
mod interop;
mod names;
mod older;
mod older_functions;
mod products;
mod properties;
mod running;
mod solves;
mod structures;
mod sums;

use std::collections::BTreeMap;

use hip::{Device, DeviceBuffer, Stream};
use hip_linalg::MatrixBuffer;
use hipsparse::{Base, BlockedEll, Bsr, Coo, Csc, Csr, Index, Sparse, Value, format};
use linalg_testing::{Host, Number, Rng, skipped};

/// The device and hipSPARSE on a stream of it.
pub(crate) fn sparse() -> Option<(Device, Sparse)> {
    let device = linalg_testing::device()?;
    if !hipsparse::is_available() {
        skipped(&"hipSPARSE is not available (cargo xtask rocm fetch 7.2 --with hipsparse)");
        return None;
    }
    let sparse = Sparse::new(&Stream::new(&device).unwrap()).unwrap();
    Some((device, sparse))
}

/// Returns whether the library is of ROCm 5.
pub(crate) fn is_5() -> bool {
    hipsparse_sys::BINDING.symbol(c"hipsparseCreateConstCsr").is_none()
}

/// An index that tests count with.
pub(crate) trait Narrow: Index {
    fn of(value: usize, base: Base) -> Self;
    fn back(self, base: Base) -> usize;
}

macro_rules! narrow {
    ($($type:ty)*) => {$(
        impl Narrow for $type {
            fn of(value: usize, base: Base) -> Self {
                <$type>::try_from(value).unwrap() + <$type>::from(base == Base::One)
            }
            fn back(self, base: Base) -> usize {
                usize::try_from(self - <$type>::from(base == Base::One)).unwrap()
            }
        }
    )*};
}

narrow!(i32 i64);

/// A sparse matrix on the host: its entries, row after row.
#[derive(Clone, Debug)]
pub(crate) struct Entries<T> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) entries: Vec<(usize, usize, T)>,
}

impl<T: Number + Value> Entries<T> {
    pub(crate) fn new(
        rows: usize,
        cols: usize,
        places: impl IntoIterator<Item = (usize, usize)>,
        rng: &mut Rng,
    ) -> Self {
        let places: BTreeMap<(usize, usize), ()> = places.into_iter().map(|place| (place, ())).collect();
        let entries = places.into_keys().map(|(row, col)| (row, col, rng.number())).collect();
        Self { rows, cols, entries }
    }

    /// From a dense matrix, all elements that are not zero.
    pub(crate) fn of(host: &Host) -> Self {
        let places = (0..host.rows).flat_map(|row| (0..host.cols).map(move |col| (row, col)));
        let entries = places.filter(|&(row, col)| host.at(row, col).norm() != 0.0);
        Self {
            rows: host.rows,
            cols: host.cols,
            entries: entries.map(|(row, col)| (row, col, T::narrow(host.at(row, col)))).collect(),
        }
    }

    pub(crate) fn host(&self) -> Host {
        let mut host = Host::from_fn(self.rows, self.cols, |_, _| 0.0.into());
        for &(row, col, value) in &self.entries {
            host.data[col * self.rows + row] += value.wide();
        }
        host
    }

    fn compress<I: Narrow>(base: Base, lines: usize, line: impl Iterator<Item = usize>) -> Vec<I> {
        let mut counts = vec![0; lines + 1];
        line.for_each(|line| counts[line + 1] += 1);
        let mut sum = 0;
        counts
            .iter()
            .map(|count| {
                sum += count;
                I::of(sum, base)
            })
            .collect()
    }

    pub(crate) fn csr<I: Narrow>(&self, device: &Device, base: Base) -> Csr<T, I> {
        let offsets = Self::compress(base, self.rows, self.entries.iter().map(|entry| entry.0));
        let cols: Vec<I> = self.entries.iter().map(|entry| I::of(entry.1, base)).collect();
        let values: Vec<T> = self.entries.iter().map(|entry| entry.2).collect();
        Csr::from_host(device, (self.rows, self.cols), base, &offsets, &cols, &values).unwrap()
    }

    pub(crate) fn csc<I: Narrow>(&self, device: &Device, base: Base) -> Csc<T, I> {
        let mut entries = self.entries.clone();
        entries.sort_by_key(|&(row, col, _)| (col, row));
        let offsets = Self::compress(base, self.cols, entries.iter().map(|entry| entry.1));
        let rows: Vec<I> = entries.iter().map(|entry| I::of(entry.0, base)).collect();
        let values: Vec<T> = entries.iter().map(|entry| entry.2).collect();
        Csc::from_host(device, (self.rows, self.cols), base, &offsets, &rows, &values).unwrap()
    }

    pub(crate) fn coo<I: Narrow>(&self, device: &Device, base: Base) -> Coo<T, I> {
        let rows: Vec<I> = self.entries.iter().map(|entry| I::of(entry.0, base)).collect();
        let cols: Vec<I> = self.entries.iter().map(|entry| I::of(entry.1, base)).collect();
        let values: Vec<T> = self.entries.iter().map(|entry| entry.2).collect();
        Coo::from_host(device, (self.rows, self.cols), base, &rows, &cols, &values).unwrap()
    }

    /// The blocks that have entries, by row and column of blocks, each element by element as it is stored.
    fn blocks(&self, block: format::Bsr) -> BTreeMap<(usize, usize), Vec<T>> {
        let mut blocks: BTreeMap<(usize, usize), Vec<T>> = BTreeMap::new();
        for &(row, col, value) in &self.entries {
            let elements = blocks
                .entry((row / block.rows, col / block.cols))
                .or_insert_with(|| vec![T::ZERO; block.rows * block.cols]);
            let (row, col) = (row % block.rows, col % block.cols);
            let at = match block.order {
                hipsparse::BlockOrder::Rows => row * block.cols + col,
                hipsparse::BlockOrder::Columns => col * block.rows + row,
            };
            elements[at] = value;
        }
        blocks
    }

    pub(crate) fn bsr(&self, device: &Device, base: Base, block: format::Bsr) -> Bsr<T> {
        let blocks = self.blocks(block);
        let offsets = Self::compress(base, self.rows / block.rows, blocks.keys().map(|place| place.0));
        let cols: Vec<i32> = blocks.keys().map(|place| Narrow::of(place.1, base)).collect();
        let values: Vec<T> = blocks.values().flatten().copied().collect();
        Bsr::from_host_with_format(device, block, (self.rows, self.cols), base, &offsets, &cols, &values).unwrap()
    }

    pub(crate) fn blocked_ell<I: Narrow>(&self, device: &Device, base: Base, size: usize) -> BlockedEll<T, I> {
        let square = format::Bsr { rows: size, cols: size, order: hipsparse::BlockOrder::Columns };
        let blocks = self.blocks(square);
        let lines = self.rows / size;
        let most = (0..lines).map(|line| blocks.keys().filter(|place| place.0 == line).count()).max().unwrap_or(0);
        let padding: I = hip::bytemuck::pod_read_unaligned(&vec![0xff_u8; size_of::<I>()]);
        let mut cols = vec![padding; lines * most];
        let mut values = vec![T::ZERO; lines * size * most * size];
        for line in 0..lines {
            for (at, (place, elements)) in blocks.iter().filter(|(place, _)| place.0 == line).enumerate() {
                cols[at * lines + line] = I::of(place.1, base);
                values[(at * lines + line) * size * size..][..size * size].copy_from_slice(elements);
            }
        }
        let format = format::BlockedEll { block: size, width: most * size };
        BlockedEll::from_host_with_format(device, format, (self.rows, self.cols), base, &[], &cols, &values).unwrap()
    }
}

/// Shapes and places of entries that go wrong most easily, by number; the others are random.
pub(crate) fn structure<T: Number + Value>(index: usize, rng: &mut Rng) -> Entries<T> {
    let all = |rows: usize, cols: usize| (0..rows).flat_map(move |row| (0..cols).map(move |col| (row, col)));
    match index {
        0 => Entries::new(1, 1, [(0, 0)], rng),
        1 => Entries::new(1, 1, [], rng),
        2 => Entries::new(7, 5, [], rng),
        // Rows without entries, the first and the last one among them.
        3 => Entries::new(9, 6, all(9, 6).filter(|(row, col)| [2, 3, 6].contains(row) && col % 2 == 0), rng),
        // One dense row.
        4 => Entries::new(6, 300, all(6, 300).filter(|&(row, col)| row == 3 || col == row), rng),
        // Very wide.
        5 => Entries::new(2, 1000, (0..60).map(|at| (at % 2, at * 16)), rng),
        // Very tall.
        6 => Entries::new(900, 3, (0..300).map(|at| (at * 3, at % 3)), rng),
        // One dense column.
        7 => Entries::new(40, 8, all(40, 8).filter(|&(row, col)| col == 5 || row == col), rng),
        8 => laplacian_2d(7, 6),
        9 => laplacian_3d(4, 3, 5),
        10 => Entries::new(70, 70, banded(70, 3), rng),
        _ => {
            let (rows, cols) = (1 + rng.below(80), 1 + rng.below(80));
            let count = rng.below(rows * cols / 3 + 2);
            let places: Vec<_> = (0..count).map(|_| (rng.below(rows), rng.below(cols))).collect();
            Entries::new(rows, cols, places, rng)
        }
    }
}

/// Structures that have numbers of their own.
pub(crate) const STRUCTURES: usize = 11;

pub(crate) fn banded(order: usize, width: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..order).flat_map(move |row| (row.saturating_sub(width)..(row + width + 1).min(order)).map(move |col| (row, col)))
}

fn laplacian<T: Number + Value>(order: usize, neighbours: impl Fn(usize) -> Vec<usize>, diagonal: f64) -> Entries<T> {
    let mut entries = Vec::new();
    for row in 0..order {
        let mut cols: Vec<(usize, f64)> = neighbours(row).into_iter().map(|col| (col, -1.0)).collect();
        cols.push((row, diagonal));
        cols.sort_by_key(|entry| entry.0);
        entries.extend(cols.into_iter().map(|(col, value)| (row, col, T::narrow(value.into()))));
    }
    Entries { rows: order, cols: order, entries }
}

/// The five-point stencil on a grid.
pub(crate) fn laplacian_2d<T: Number + Value>(width: usize, height: usize) -> Entries<T> {
    let near = move |at: usize| {
        let (x, y) = (at % width, at / width);
        let mut near = Vec::new();
        if x > 0 {
            near.push(at - 1)
        }
        if x + 1 < width {
            near.push(at + 1)
        }
        if y > 0 {
            near.push(at - width)
        }
        if y + 1 < height {
            near.push(at + width)
        }
        near
    };
    laplacian(width * height, near, 4.0)
}

/// The seven-point stencil on a grid.
pub(crate) fn laplacian_3d<T: Number + Value>(width: usize, height: usize, depth: usize) -> Entries<T> {
    let layer = width * height;
    let near = move |at: usize| {
        let (x, y, z) = (at % width, at / width % height, at / layer);
        let mut near = Vec::new();
        if x > 0 {
            near.push(at - 1)
        }
        if x + 1 < width {
            near.push(at + 1)
        }
        if y > 0 {
            near.push(at - width)
        }
        if y + 1 < height {
            near.push(at + width)
        }
        if z > 0 {
            near.push(at - layer)
        }
        if z + 1 < depth {
            near.push(at + layer)
        }
        near
    };
    laplacian(layer * depth, near, 6.0)
}

/// Random elements of a column.
pub(crate) fn column<T: Number>(device: &Device, rng: &mut Rng, len: usize) -> (DeviceBuffer<T>, Host) {
    let elements = rng.numbers::<T>(len);
    (DeviceBuffer::from_slice(device, &elements).unwrap(), Host::of(&elements, len, 1, len.max(1)))
}

/// Random elements of a matrix.
pub(crate) fn random<T: Number>(device: &Device, rng: &mut Rng, rows: usize, cols: usize) -> (MatrixBuffer<T>, Host) {
    let elements = rng.numbers::<T>(rows * cols);
    let host = Host::of(&elements, rows, cols, rows.max(1));
    (MatrixBuffer::from_columns(device, &elements, rows, cols).unwrap(), host)
}

pub(crate) fn column_of<T: Number>(buffer: &DeviceBuffer<T>) -> Host {
    Host::of(&buffer.to_vec().unwrap(), buffer.len(), 1, buffer.len().max(1))
}

pub(crate) fn download<T: Number>(matrix: &MatrixBuffer<T>) -> Host {
    Host::of(&matrix.to_vec().unwrap(), matrix.rows(), matrix.cols(), matrix.rows().max(1))
}

/// Converts a matrix of compressed rows to a dense matrix.
pub(crate) fn dense_of<T: Number + Value, I: Narrow>(matrix: &Csr<T, I>) -> Host {
    matrix.validate().unwrap();
    let (offsets, cols, values) = matrix.to_vecs().unwrap();
    let mut host = Host::from_fn(matrix.rows(), matrix.cols(), |_, _| 0.0.into());
    for row in 0..matrix.rows() {
        for at in offsets[row].back(matrix.base())..offsets[row + 1].back(matrix.base()) {
            host.data[cols[at].back(matrix.base()) * matrix.rows() + row] += values[at].wide();
        }
    }
    host
}

/// Calls a generic function for each type of values.
#[macro_export]
macro_rules! for_all_types {
    ($function:ident $(, $argument:expr)*) => {{
        let Some((device, sparse)) = $crate::sparse() else { return };
        let mut rng = linalg_testing::Rng::new(7);
        $function::<f32>(&device, &sparse, &mut rng $(, $argument)*);
        $function::<f64>(&device, &sparse, &mut rng $(, $argument)*);
        $function::<num_complex::Complex32>(&device, &sparse, &mut rng $(, $argument)*);
        $function::<num_complex::Complex64>(&device, &sparse, &mut rng $(, $argument)*);
    }};
}

/// A matrix whose diagonal is larger than the sum of the others: it is well conditioned.
pub(crate) fn dominant<T: Number + Value>(
    order: usize,
    places: impl IntoIterator<Item = (usize, usize)>,
    rng: &mut Rng,
) -> Entries<T> {
    let diagonal = (0..order).map(|at| (at, at));
    let mut made: Entries<T> = Entries::new(order, order, places.into_iter().chain(diagonal), rng);
    for entry in made.entries.iter_mut().filter(|entry| entry.0 == entry.1) {
        entry.2 = T::narrow((2.0 * order as f64 + 1.0).into());
    }
    made
}

/// Random places in a square.
pub(crate) fn places(order: usize, count: usize, rng: &mut Rng) -> Vec<(usize, usize)> {
    (0..count).map(|_| (rng.below(order), rng.below(order))).collect()
}
