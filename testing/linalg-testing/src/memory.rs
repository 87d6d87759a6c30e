//! Operands of random layout in device memory: increments, leading dimensions, transposes, batches. The elements in
//! gaps must not change.

use hip::{Device, DeviceBuffer};
use hip_linalg::{MatrixMut, MatrixRef, PackedMut, PackedRef, Pointers, PointersMut, Uplo, VectorMut, VectorRef};
use num_complex::Complex64;

use crate::{Host, Number, Rng};

/// The number of members of a batch, and their arrangement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A single operand.
    One,
    /// A batch with a constant stride.
    Strided(usize),
    /// A batch with an array of addresses.
    Pointers(usize),
}

impl Kind {
    /// The number of members.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Strided(count) | Self::Pointers(count) => count,
        }
    }

    /// A random kind.
    pub fn any(rng: &mut Rng) -> Self {
        match rng.below(4) {
            0 | 1 => Self::One,
            2 => Self::Strided(1 + rng.below(3)),
            _ => Self::Pointers(1 + rng.below(3)),
        }
    }
}

/// Device memory and its expected contents.
#[derive(Debug)]
pub struct Memory<T> {
    /// The expected contents.
    pub host: Vec<T>,
    device: DeviceBuffer<T>,
    kind: Kind,
    stride: usize,
    span: usize,
}

/// The borrowed data of views.
#[derive(Debug)]
pub enum Held<'a, T> {
    /// The memory, and the stride of the members.
    Plain(&'a DeviceBuffer<T>, Kind, usize),
    /// The members' addresses.
    Table(Pointers<'a, T>),
}

/// The borrowed data of mutable views.
#[derive(Debug)]
pub enum HeldMut<'a, T> {
    /// The memory, and the stride of the members.
    Plain(&'a mut DeviceBuffer<T>, Kind, usize),
    /// The members' addresses.
    Table(PointersMut<'a, T>),
}

impl<T: Number> Memory<T> {
    /// Members of `span` elements each.
    pub fn new(device: &Device, rng: &mut Rng, kind: Kind, span: usize) -> Self {
        let stride = span.max(1) + rng.below(4);
        let len = kind.count() * stride + rng.below(3);
        let host = rng.numbers(len);
        Self { device: DeviceBuffer::from_slice(device, &host).unwrap(), host, kind, stride, span }
    }

    /// The elements of a member.
    pub fn member(&self, index: usize) -> &[T] {
        &self.host[index * self.stride..][..self.span]
    }

    /// Changes the contents.
    pub fn set(&mut self, change: impl Fn(usize, &mut [T])) {
        for index in 0..self.kind.count() {
            change(index, &mut self.host[index * self.stride..][..self.span]);
        }
        self.device.copy_from_slice(&self.host).unwrap();
    }

    /// The borrowed data of views.
    pub fn held(&self) -> Held<'_, T> {
        match self.kind {
            Kind::Pointers(count) => {
                let parts = (0..count).map(|index| {
                    let start = index * self.stride;
                    self.device.slice(start..start + self.span).unwrap()
                });
                Held::Table(Pointers::new(&self.device.device(), parts.collect::<Vec<_>>()).unwrap())
            }
            kind => Held::Plain(&self.device, kind, self.stride),
        }
    }

    /// The borrowed data of mutable views.
    pub fn held_mut(&mut self) -> HeldMut<'_, T> {
        match self.kind {
            Kind::Pointers(count) => {
                let (device, span) = (self.device.device(), self.span);
                let chunks = self.device.as_slice_mut().chunks_mut(self.stride).unwrap().take(count);
                let parts: Vec<_> = chunks.map(|chunk| chunk.into_slice(..span).unwrap()).collect();
                HeldMut::Table(PointersMut::new(&device, parts).unwrap())
            }
            kind => {
                let stride = self.stride;
                HeldMut::Plain(&mut self.device, kind, stride)
            }
        }
    }

    /// Reads the device memory. `written` selects the elements of a member that may have changed.
    #[track_caller]
    pub fn read(&mut self, written: impl Fn(usize) -> bool) {
        let now = self.device.to_vec().unwrap();
        for (index, (now, before)) in now.iter().zip(&self.host).enumerate() {
            let member = index / self.stride.max(1);
            let inside = index - member * self.stride;
            let own = member < self.kind.count() && inside < self.span && written(inside);
            let same = hip::bytemuck::bytes_of(now) == hip::bytemuck::bytes_of(before);
            assert!(own || same, "element {index} is in a gap, and was changed from {before:?} to {now:?}");
        }
        self.host = now;
    }
}

/// A matrix of random layout.
#[derive(Debug)]
pub struct TestMatrix<T> {
    /// Its memory.
    pub memory: Memory<T>,
    /// Rows of the view.
    pub rows: usize,
    /// Columns of the view.
    pub cols: usize,
    /// Leading dimension in memory.
    pub ld: usize,
    /// Whether it is transposed in memory.
    pub transposed: bool,
    /// Whether it is conjugated in memory.
    pub conjugated: bool,
}

impl<T: Number> TestMatrix<T> {
    /// A matrix that is viewed as `rows` x `cols`; in memory it is as the letter says: `N`, `T` or `C`.
    pub fn new(device: &Device, rng: &mut Rng, kind: Kind, (rows, cols): (usize, usize), op: char) -> Self {
        let (transposed, conjugated) = (op != 'N', op == 'C' && T::COMPLEX);
        let (stored_rows, stored_cols) = if transposed { (cols, rows) } else { (rows, cols) };
        let ld = stored_rows.max(1) + rng.below(3);
        let span = if stored_rows == 0 || stored_cols == 0 { 0 } else { (stored_cols - 1) * ld + stored_rows };
        Self { memory: Memory::new(device, rng, kind, span), rows, cols, ld, transposed, conjugated }
    }

    fn stored(&self) -> (usize, usize) {
        if self.transposed { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    /// A member as viewed.
    pub fn reference(&self, member: usize) -> Host {
        let (rows, cols) = self.stored();
        let host = Host::of(self.memory.member(member), rows, cols, self.ld);
        match (self.transposed, self.conjugated) {
            (true, true) => host.h(),
            (true, false) => host.t(),
            _ => host,
        }
    }

    /// The view.
    pub fn view<'a>(&self, held: &'a Held<'_, T>) -> MatrixRef<'a, T> {
        let (rows, cols) = self.stored();
        let view = match held {
            Held::Plain(memory, Kind::Strided(count), stride) => {
                MatrixRef::strided_batch(*memory, (rows, cols, self.ld), *stride, *count)
            }
            Held::Plain(memory, ..) => MatrixRef::with_ld(*memory, rows, cols, self.ld),
            Held::Table(table) => MatrixRef::batch(table, (rows, cols, self.ld)),
        }
        .unwrap();
        match (self.transposed, self.conjugated) {
            (true, true) => view.h(),
            (true, false) => view.t(),
            _ => view,
        }
    }

    /// The layout in memory, for a mutable view.
    pub fn layout(&self) -> Layout {
        let (rows, cols) = self.stored();
        Layout { rows, cols, ld: self.ld, transposed: self.transposed }
    }

    /// Reads it back. `written` selects the elements, as viewed, that may have changed.
    #[track_caller]
    pub fn read(&mut self, written: impl Fn(usize, usize) -> bool) {
        let (rows, cols) = self.stored();
        let (ld, transposed) = (self.ld, self.transposed);
        self.memory.read(|index| {
            let (row, col) = (index % ld, index / ld);
            let (inside, viewed) = (row < rows && col < cols, if transposed { (col, row) } else { (row, col) });
            inside && written(viewed.0, viewed.1)
        });
    }

    /// Fills it with NaN, for memory that must not be read.
    pub fn poison(&mut self) {
        let (rows, ld) = (self.stored().0, self.ld);
        self.memory.set(|_, elements| {
            for (index, element) in elements.iter_mut().enumerate() {
                if index % ld < rows {
                    *element = T::narrow(Complex64::new(f64::NAN, f64::NAN));
                }
            }
        });
    }

    /// Makes it diagonally dominant, and so well conditioned.
    pub fn dominate(&mut self) {
        let (rows, ld) = (self.stored().0, self.ld);
        self.memory.set(|_, elements| {
            for index in 0..rows {
                let element = &mut elements[index * ld + index];
                *element = T::narrow(element.wide() + 2.0 * rows as f64 + 1.0);
            }
        });
    }
}

/// The memory layout of a matrix for a mutable view.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    rows: usize,
    cols: usize,
    ld: usize,
    transposed: bool,
}

impl Layout {
    /// The view.
    pub fn view<'a, T>(&self, held: &'a mut HeldMut<'_, T>) -> MatrixMut<'a, T>
    where
        T: Number,
    {
        let shape = (self.rows, self.cols, self.ld);
        let view = match held {
            HeldMut::Plain(memory, Kind::Strided(count), stride) => {
                MatrixMut::strided_batch(&mut **memory, shape, *stride, *count)
            }
            HeldMut::Plain(memory, ..) => MatrixMut::with_ld(&mut **memory, self.rows, self.cols, self.ld),
            HeldMut::Table(table) => MatrixMut::batch(table, shape),
        }
        .unwrap();
        if self.transposed { view.t() } else { view }
    }
}

/// A vector of random layout.
#[derive(Debug)]
pub struct TestVector<T> {
    /// Its memory.
    pub memory: Memory<T>,
    /// Elements.
    pub len: usize,
    /// In memory.
    pub increment: isize,
}

impl<T: Number> TestVector<T> {
    /// `len` elements with some increment.
    pub fn new(device: &Device, rng: &mut Rng, kind: Kind, len: usize) -> Self {
        let increment: isize = rng.one_of(&[1, 1, 2, 3, -1, -2]);
        let span = if len == 0 { 0 } else { (len - 1) * increment.unsigned_abs() + 1 };
        Self { memory: Memory::new(device, rng, kind, span), len, increment }
    }

    /// A member, as a column.
    pub fn reference(&self, member: usize) -> Host {
        Host::vector(self.memory.member(member), self.len, self.increment)
    }

    /// The view.
    pub fn view<'a>(&self, held: &'a Held<'_, T>) -> VectorRef<'a, T> {
        match held {
            Held::Plain(memory, Kind::Strided(count), stride) => {
                VectorRef::strided_batch(*memory, self.len, self.increment, *stride, *count)
            }
            Held::Plain(memory, ..) => VectorRef::new(*memory, self.len, self.increment),
            Held::Table(table) => VectorRef::batch(table, self.len, self.increment),
        }
        .unwrap()
    }

    /// Length and increment, for a mutable view.
    pub fn layout(&self) -> (usize, isize) {
        (self.len, self.increment)
    }

    /// Reads it back.
    #[track_caller]
    pub fn read(&mut self) {
        let step = self.increment.unsigned_abs();
        self.memory.read(|index| index % step == 0);
    }
}

/// A mutable view of a vector.
pub fn vector_mut<'a, T: Number>((len, increment): (usize, isize), held: &'a mut HeldMut<'_, T>) -> VectorMut<'a, T> {
    match held {
        HeldMut::Plain(memory, Kind::Strided(count), stride) => {
            VectorMut::strided_batch(&mut **memory, len, increment, *stride, *count)
        }
        HeldMut::Plain(memory, ..) => VectorMut::new(&mut **memory, len, increment),
        HeldMut::Table(table) => VectorMut::batch(table, len, increment),
    }
    .unwrap()
}

/// Unpacks a packed triangle.
pub fn unpacked<T: Number>(elements: &[T], order: usize, lower: bool) -> Host {
    let start = |col: usize| if lower { col * order - col * (col.max(1) - 1) / 2 } else { col * (col + 1) / 2 };
    Host::from_fn(order, order, |row, col| match (row >= col, lower) {
        (true, true) => elements[start(col) + row - col].wide(),
        (_, false) if row <= col => elements[start(col) + row].wide(),
        _ => 0.0.into(),
    })
}

/// The view of packed triangles.
pub fn packed<'a, T: Number>(order: usize, uplo: Uplo, held: &'a Held<'_, T>) -> PackedRef<'a, T> {
    match held {
        Held::Plain(memory, Kind::Strided(count), stride) => {
            PackedRef::strided_batch(memory.as_slice(), order, uplo, *stride, *count)
        }
        Held::Plain(memory, ..) => PackedRef::new(memory.as_slice(), order, uplo),
        Held::Table(table) => PackedRef::batch(table, order, uplo),
    }
    .unwrap()
}

/// A mutable view of packed triangles.
pub fn packed_mut<'a, T: Number>(order: usize, uplo: Uplo, held: &'a mut HeldMut<'_, T>) -> PackedMut<'a, T> {
    match held {
        HeldMut::Plain(memory, Kind::Strided(count), stride) => {
            PackedMut::strided_batch(memory.as_slice_mut(), order, uplo, *stride, *count)
        }
        HeldMut::Plain(memory, ..) => PackedMut::new(memory.as_slice_mut(), order, uplo),
        HeldMut::Table(table) => PackedMut::batch(table, order, uplo),
    }
    .unwrap()
}
