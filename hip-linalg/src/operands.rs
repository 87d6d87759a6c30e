//! The operands of one call: their addresses, whether they overlap, and the form of the function for them.

use std::ffi::c_void;

use hip::interop::Uses;
use hip::{DeviceSlice, DeviceSliceMut, Error, Result, Stream};
use smallvec::SmallVec;

use crate::matrix::{BandRef, Matrix, Packed};
use crate::place::{Batch, Blocks, Mut, Place, Ref, invalid};
use crate::vector::Vector;

/// An operand in the form that C functions expect.
#[derive(Clone, Copy, Debug)]
pub struct Lowered {
    /// Address of the first element, or of the table of addresses.
    pub pointer: *mut c_void,
    /// The increment or leading dimension.
    pub step: i64,
    /// Distance between the starts of two members of a strided batch, in elements.
    pub stride: i64,
}

/// The form of a function: for single operands or for batches; with 32-bit or 64-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The kind of batch.
    pub batch: Batch,
    /// Whether a size does not fit into 32 bits.
    pub wide: bool,
}

impl Form {
    /// Returns the index of the form: plain, `Batched`, `StridedBatched`, and the same with `_64`.
    #[must_use]
    pub fn index(self) -> usize {
        let batch = match self.batch {
            Batch::One => 0,
            Batch::Pointers(_) => 1,
            Batch::Strided(_) => 2,
        };
        batch + if self.wide { 3 } else { 0 }
    }

    /// Returns the number of members, 1 if it is not a batch.
    #[must_use]
    pub fn count(self) -> usize {
        match self.batch {
            Batch::One => 1,
            Batch::Strided(count) | Batch::Pointers(count) => count,
        }
    }
}

struct Range {
    what: &'static str,
    start: usize,
    end: usize,
    written: bool,
    /// Index of the operand: the members of one operand do not overlap.
    operand: usize,
}

/// Collects the operands of one library call on a stream, checks them, and selects the form of the function for them.
///
/// For crates that wrap libraries. It is [`Uses`] for views: name each operand with [`matrix`](Self::matrix),
/// [`vector_mut`](Self::vector_mut) and similar methods, in any order, then request the [`form`](Self::form), which
/// also checks for overlaps, and make the call with [`uses`](Self::into_uses).
#[must_use]
pub struct Operands<'a> {
    uses: Uses<'a>,
    batch: Option<(Batch, &'static str)>,
    single: Option<&'static str>,
    single_read: Option<&'static str>,
    ranges: SmallVec<[Range; 6]>,
    wide: bool,
    operands: usize,
}

impl<'a> Operands<'a> {
    /// Starts a list without operands, for a stream.
    pub fn on(stream: &'a Stream) -> Self {
        let (batch, single, single_read) = (None, None, None);
        Self { uses: Uses::on(stream), batch, single, single_read, ranges: SmallVec::new(), wide: false, operands: 0 }
    }

    /// Converts a size for C. A size that does not fit into 32 bits selects the 64-bit form.
    pub fn size(&mut self, size: usize) -> i64 {
        self.wide |= i32::try_from(size).is_err();
        i64::try_from(size).unwrap_or(i64::MAX)
    }

    fn step(&mut self, step: isize) -> i64 {
        self.wide |= i32::try_from(step).is_err();
        step as i64
    }

    /// Names a vector that the call reads.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn vector<T>(&mut self, what: &'static str, vector: &Vector<Ref<'a, T>>) -> Result<Lowered> {
        let step = self.step(vector.increment);
        self.read(what, &vector.place, step)
    }

    /// Names a vector that the call writes, and may read.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn vector_mut<T>(&mut self, what: &'static str, vector: Vector<Mut<'a, T>>) -> Result<Lowered> {
        let step = self.step(vector.increment);
        self.write(what, vector.place, step)
    }

    /// Names a matrix that the call reads.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn matrix<T>(&mut self, what: &'static str, matrix: &Matrix<Ref<'a, T>>) -> Result<Lowered> {
        let step = self.size(matrix.leading_dimension());
        self.read(what, &matrix.place, step)
    }

    /// Names a matrix that the call writes, and may read.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn matrix_mut<T>(&mut self, what: &'static str, matrix: Matrix<Mut<'a, T>>) -> Result<Lowered> {
        let step = self.size(matrix.leading_dimension());
        self.write(what, matrix.place, step)
    }

    /// Names a packed triangle that the call reads.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn packed<T>(&mut self, what: &'static str, triangle: &Packed<Ref<'a, T>>) -> Result<Lowered> {
        let place = triangle.into_place();
        self.read(what, &place, 0)
    }

    /// Names a packed triangle that the call writes, and may read.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn packed_mut<T>(&mut self, what: &'static str, triangle: Packed<Mut<'a, T>>) -> Result<Lowered> {
        self.write(what, triangle.into_place(), 0)
    }

    /// Names a band matrix that the call reads.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn band<T>(&mut self, what: &'static str, band: &BandRef<'a, T>) -> Result<Lowered> {
        self.matrix(what, band.matrix())
    }

    /// Names memory that the call reads and that is not part of a batch.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn slice<T: 'a>(&mut self, what: &'static str, slice: DeviceSlice<'a, T>) -> Result<*const c_void> {
        let operand = self.next();
        self.note(what, slice.as_device_ptr().address(), slice.byte_len(), false, operand);
        Ok(self.uses.read(what, slice)?.cast())
    }

    /// As [`slice`](Self::slice), for memory whose content the call relies on: see [`Uses::read_trusted`].
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn trusted<T: 'a>(&mut self, what: &'static str, slice: DeviceSlice<'a, T>) -> Result<*const c_void> {
        let operand = self.next();
        self.note(what, slice.as_device_ptr().address(), slice.byte_len(), false, operand);
        Ok(self.uses.read_trusted(what, slice)?.cast())
    }

    /// Names memory that the call writes, and may read, and that is not part of a batch.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn slice_mut<T: 'a>(&mut self, what: &'static str, slice: DeviceSliceMut<'a, T>) -> Result<*mut c_void> {
        let operand = self.next();
        self.note(what, slice.as_device_ptr().address(), slice.byte_len(), true, operand);
        Ok(self.uses.write(what, slice)?.cast())
    }

    /// As [`slice_mut`](Self::slice_mut), for memory of the caller that only lives until the call returns: a workspace.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    ///
    /// # Safety
    /// The memory must not be dropped before the operands are, or before the call that they are made into has returned.
    pub unsafe fn lend<T: 'a>(&mut self, what: &'static str, slice: DeviceSliceMut<'_, T>) -> Result<*mut c_void> {
        // SAFETY: the types differ in the lifetime only. The operands, whose lifetime cannot become shorter, are dropped before the memory.
        let slice = unsafe { std::mem::transmute::<DeviceSliceMut<'_, T>, DeviceSliceMut<'a, T>>(slice) };
        self.slice_mut(what, slice)
    }

    fn next(&mut self) -> usize {
        self.operands += 1;
        self.operands
    }

    fn note(&mut self, what: &'static str, address: u64, bytes: usize, written: bool, operand: usize) {
        if bytes != 0 {
            let start = address as usize;
            self.ranges.push(Range { what, start, end: start.saturating_add(bytes), written, operand });
        }
    }

    fn noted(&mut self, what: &'static str, batch: Batch, written: bool) -> Result<()> {
        match (batch, self.batch) {
            (Batch::One, _) if written => self.single = Some(what),
            (Batch::One, _) => self.single_read = Some(what),
            (found, None) => {
                self.size(match found {
                    Batch::Strided(count) | Batch::Pointers(count) => count,
                    Batch::One => 1,
                });
                self.batch = Some((found, what));
            }
            (found, Some((other, _))) if found == other => {}
            (found, Some((other, first))) => {
                return Err(invalid(what, format!("{found:?}"), format!("{other:?}, as {first} is")));
            }
        }
        Ok(())
    }

    fn read<T>(&mut self, what: &'static str, place: &Ref<'a, T>, step: i64) -> Result<Lowered> {
        self.noted(what, place.batch(), false)?;
        let operand = self.next();
        let stride = place.stride() as i64;
        let pointer = match place.0 {
            Blocks::One(slice) | Blocks::Strided { slice, .. } => {
                self.note(what, slice.as_device_ptr().address(), slice.byte_len(), false, operand);
                self.uses.read(what, slice)?.cast::<c_void>()
            }
            Blocks::Pointers { table, parts } => {
                for &part in parts {
                    self.note(what, part.as_device_ptr().address(), part.byte_len(), false, operand);
                    self.uses.read(what, part)?;
                }
                self.uses.read(what, table)?.cast()
            }
        };
        Ok(Lowered { pointer: pointer.cast_mut(), step, stride })
    }

    fn write<T>(&mut self, what: &'static str, place: Mut<'a, T>, step: i64) -> Result<Lowered> {
        self.noted(what, place.batch(), true)?;
        let operand = self.next();
        let stride = place.stride() as i64;
        let pointer = match place.0 {
            Blocks::One(slice) | Blocks::Strided { slice, .. } => {
                self.note(what, slice.as_device_ptr().address(), slice.byte_len(), true, operand);
                self.uses.write(what, slice)?.cast::<c_void>()
            }
            Blocks::Pointers { table, parts } => {
                for part in parts {
                    self.note(what, part.as_device_ptr().address(), part.byte_len(), true, operand);
                    self.uses.write(what, part)?;
                }
                self.uses.read(what, table)?.cast::<c_void>().cast_mut()
            }
        };
        Ok(Lowered { pointer, step, stride })
    }

    /// Returns the form of the function for these operands: strided or pointer batches if one of them is a batch. A
    /// single input matrix is shared by every member of strided batches.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if memory that is written overlaps another operand, or if one operand is a batch and
    /// another cannot be.
    pub fn form(&self) -> Result<Form> {
        let batch = self.batch.map_or(Batch::One, |(batch, _)| batch);
        if let Some((batch, first)) = self.batch {
            if let Some(what) = self.single {
                return Err(invalid(what, "no batch", format!("{batch:?}, as {first} is")));
            }
            if let (Batch::Pointers(_), Some(what)) = (batch, self.single_read) {
                return Err(invalid(what, "no batch", format!("{batch:?}, as {first} is")));
            }
        }
        for (index, written) in self.ranges.iter().enumerate().filter(|(_, range)| range.written) {
            for (other_index, other) in self.ranges.iter().enumerate() {
                let apart = other.end <= written.start || written.end <= other.start;
                if index != other_index && other.operand != written.operand && !apart {
                    return Err(invalid(
                        "the memory that a call writes",
                        format!("that of {}, which overlaps that of {}", written.what, other.what),
                        "apart from that of the other operands",
                    ));
                }
            }
        }
        Ok(Form { batch, wide: self.wide })
    }

    /// Returns the operands, to make the call with.
    pub fn into_uses(self) -> Uses<'a> {
        self.uses
    }

    /// Returns the operands, to name more of them.
    pub fn uses(&mut self) -> &mut Uses<'a> {
        &mut self.uses
    }
}

/// Returns the error for shapes that do not fit: the shape found, and the shapes allowed.
#[must_use]
pub fn misfit(what: &'static str, found: impl Into<String>, allowed: impl Into<String>) -> Error {
    invalid(what, found, allowed)
}
