//! The positions of a transform's points in memory.

use std::fmt;

use crate::transform::{Transform, TransformKind};
use crate::{Error, Result, invalid};

/// The dimensions of a transform, the number of transforms, and the positions of their points in memory.
///
/// ```
/// use hipfft::{Layout, R2C, Spacing};
/// # fn main() -> hipfft::Result<()> {
/// let images = Layout::new([480, 640])?.batch(10)?; // ten arrays of 480 rows, without gaps
/// assert_eq!(images.input_len::<R2C<f32>>(), 10 * 480 * 640);
/// assert_eq!(images.output_len::<R2C<f32>>(), 10 * 480 * 321);
/// // The columns of a matrix with 8 rows of 100: 100 transforms of 8 points, which are 100 apart.
/// let columns = Layout::new([8])?.batch(100)?.spaced(Spacing::new([8], 100, 1), Spacing::new([8], 100, 1))?;
/// # let _ = columns;
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    rank: usize,
    lengths: [usize; 3],
    batch: usize,
    spacing: Option<[Spacing; 2]>,
}

/// The positions of the points of one side of a transform: `embed`, `stride` and `dist` in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spacing {
    rank: usize,
    pub(crate) embed: [usize; 3],
    pub(crate) stride: usize,
    pub(crate) distance: usize,
}

impl Spacing {
    /// Creates the spacing of points inside an array with dimensions `embed`, whose first dimension is ignored.
    /// Neighbours in the last dimension are `stride` elements apart, and the first points of two transforms of a batch
    /// are `distance` elements apart.
    #[must_use]
    pub const fn new<const N: usize>(embed: [usize; N], stride: usize, distance: usize) -> Self {
        const { assert!(N >= 1 && N <= 3, "1, 2 or 3 dimensions") };
        let (mut all, mut at) = ([1; 3], 0);
        while at < N {
            all[at] = embed[at];
            at += 1;
        }
        Self { rank: N, embed: all, stride, distance }
    }
}

/// One side of a transform: lengths and strides of its dimensions, the last dimension first, then of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    counts: [usize; 4],
    strides: [usize; 4],
    rank: usize,
}

impl Side {
    fn axes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.counts.into_iter().zip(self.strides).take(self.rank + 1)
    }

    /// Returns the minimum number of elements of the memory. The library may also use gaps after the last point.
    fn len(&self) -> Option<usize> {
        let (mut last, mut span) = (0_usize, 0);
        for (count, stride) in self.axes() {
            last = last.checked_add((count - 1).checked_mul(stride)?)?;
            span = span.max(count.checked_mul(stride)?);
        }
        Some(span.max(last.checked_add(1)?))
    }

    /// Returns whether all points are at different positions: each dimension's stride is larger than the extent of the
    /// dimensions with smaller strides.
    fn is_apart(&self) -> bool {
        let mut axes: Vec<_> = self.axes().filter(|(count, _)| *count > 1).collect();
        axes.sort_by_key(|(_, stride)| *stride);
        let mut last = 0_usize;
        axes.into_iter().all(|(count, stride)| {
            let apart = stride > last;
            last = last.saturating_add((count - 1).saturating_mul(stride));
            apart
        })
    }
}

impl Layout {
    /// Creates the layout of one array of 1, 2 or 3 dimensions without gaps. The last dimension is contiguous.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a length of 0.
    pub fn new<const N: usize>(lengths: [usize; N]) -> Result<Self> {
        const { assert!(N >= 1 && N <= 3, "1, 2 or 3 dimensions") };
        let mut all = [1; 3];
        all[..N].copy_from_slice(&lengths);
        let layout = Self { rank: N, lengths: all, batch: 1, spacing: None };
        if lengths.contains(&0) {
            return Err(invalid("a length of a transform", format!("0, in {layout:?}"), "1 or more"));
        }
        layout.fits()?;
        Ok(layout)
    }

    /// Sets the number of transforms, which follow each other.
    ///
    /// # Errors
    /// [`Error::Invalid`] for 0.
    pub fn batch(mut self, count: usize) -> Result<Self> {
        if count == 0 {
            return Err(invalid("the transforms of a batch", "0", "1 or more"));
        }
        self.batch = count;
        self.fits()?;
        Ok(self)
    }

    /// Sets the positions of the input and output points, with gaps. Call it after [`batch`](Self::batch). In-place
    /// transforms need the same on both sides.
    ///
    /// The sides are those of the forward complex transform: [`Plan::inverse`](crate::Plan::inverse) exchanges them, so
    /// it reads the positions that `forward` writes. A real transform has one direction, and the sides are its own.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless both sides have the dimensions of the transform, and arrays that are not smaller.
    /// Overlaps of output points are checked when a plan is made.
    pub fn spaced(mut self, input: Spacing, output: Spacing) -> Result<Self> {
        for (what, spacing) in [("the spacing of the input", input), ("the spacing of the output", output)] {
            if spacing.rank != self.rank {
                let allowed = format!("in {}, as the transform", self.rank);
                return Err(invalid(what, format!("in {} dimensions", spacing.rank), allowed));
            }
            if spacing.stride == 0 {
                return Err(invalid(what, "a stride of 0", "a stride of 1 or more"));
            }
            if spacing.distance == 0 && self.batch > 1 {
                return Err(invalid(what, "a distance of 0", "a distance of 1 or more between transforms"));
            }
        }
        self.spacing = Some([input, output]);
        self.fits()?;
        Ok(self)
    }

    /// Returns the lengths.
    #[must_use]
    pub fn lengths(&self) -> &[usize] {
        &self.lengths[..self.rank]
    }

    /// Returns the number of transforms.
    #[must_use]
    pub fn batch_size(&self) -> usize {
        self.batch
    }

    /// Returns the number of points of one transform.
    #[must_use]
    pub fn points(&self) -> usize {
        self.lengths.iter().product()
    }

    /// Returns the number of input elements of a transform, gaps included. For complex transforms, this is also the
    /// output of the inverse.
    #[must_use]
    pub fn input_len<T: Transform>(&self) -> usize {
        self.sides(T::KIND)[0].len().unwrap_or(usize::MAX)
    }

    /// Returns the number of output elements of a transform, gaps included. For complex transforms, this is also the
    /// input of the inverse.
    #[must_use]
    pub fn output_len<T: Transform>(&self) -> usize {
        self.sides(T::KIND)[1].len().unwrap_or(usize::MAX)
    }

    pub(crate) fn spacing(&self) -> Option<&[Spacing; 2]> {
        self.spacing.as_ref()
    }

    /// Returns whether a complex transform has the same positions for input and output.
    pub(crate) fn is_symmetric(&self) -> bool {
        let [input, output] = self.sides(TransformKind::C2C);
        input == output
    }

    /// Returns the layout of the inverse of a complex transform: input and output exchanged.
    pub(crate) fn exchanged(&self) -> Self {
        let spacing = self.spacing.map(|[input, output]| [output, input]);
        Self { spacing, ..self.clone() }
    }

    /// Returns an error unless all element counts fit into a signed 64-bit integer.
    fn fits(&self) -> Result<()> {
        let long =
            |side: Side| side.len().and_then(|len| len.checked_mul(16)).is_some_and(|len| i64::try_from(len).is_ok());
        let kinds = [TransformKind::C2C, TransformKind::R2C, TransformKind::C2R];
        if kinds.into_iter().all(|kind| self.sides_checked(kind).is_some_and(|sides| sides.into_iter().all(long))) {
            return Ok(());
        }
        Err(invalid("the size of a transform", format!("{self:?}"), "of fewer bytes than 2^63"))
    }

    fn sides_checked(&self, kind: TransformKind) -> Option<[Side; 2]> {
        let half = |lengths: [usize; 3]| {
            let mut lengths = lengths;
            lengths[self.rank - 1] = lengths[self.rank - 1] / 2 + 1;
            lengths
        };
        let lengths = match kind {
            TransformKind::C2C => [self.lengths; 2],
            TransformKind::R2C => [self.lengths, half(self.lengths)],
            TransformKind::C2R => [half(self.lengths), self.lengths],
        };
        let side = |index: usize| {
            let lengths = lengths[index];
            let (embed, stride) = match &self.spacing {
                Some(spacing) => (spacing[index].embed, spacing[index].stride),
                None => (lengths, 1),
            };
            let mut side = Side { counts: [1; 4], strides: [1; 4], rank: self.rank };
            let mut step = stride;
            for at in 0..self.rank {
                let dimension = self.rank - 1 - at;
                (side.counts[at], side.strides[at]) = (lengths[dimension], step);
                step = step.checked_mul(embed[dimension])?;
            }
            (side.counts[self.rank], side.strides[self.rank]) = match &self.spacing {
                Some(spacing) => (self.batch, spacing[index].distance.max(1)),
                None => (self.batch, step),
            };
            Some(side)
        };
        Some([side(0)?, side(1)?])
    }

    fn sides(&self, kind: TransformKind) -> [Side; 2] {
        // Lengths are checked when a layout is made.
        self.sides_checked(kind).unwrap_or([Side { counts: [usize::MAX; 4], strides: [usize::MAX; 4], rank: 0 }; 2])
    }

    /// Returns an error unless a plan can have this layout.
    pub(crate) fn check<T: Transform>(&self) -> Result<()> {
        let [input, output] = self.sides(T::KIND);
        for (what, side) in [("the spacing of the input", input), ("the spacing of the output", output)] {
            if !side.is_apart() && (what == "the spacing of the output" || T::KIND != TransformKind::C2C) {
                return Err(invalid(
                    what,
                    format!("{self:?}, where points overlap"),
                    "so wide that no two points have one place",
                ));
            }
        }
        Ok(())
    }

    /// Returns how many complex numbers the memory needs for an in-place transform.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the two sides have different positions.
    pub(crate) fn in_place_len<T: Transform>(&self) -> Result<usize> {
        let [input, output] = self.sides(T::KIND);
        let misfit = || -> Error {
            let allowed = match T::KIND {
                TransformKind::C2C => "the same for input and output",
                _ => {
                    "rows of real numbers that are as long as those of complex numbers, 2 (n / 2 + 1), at a stride of 1"
                }
            };
            invalid("the layout of a transform in place", format!("{self:?}"), allowed)
        };
        let (real, complex) = match T::KIND {
            TransformKind::C2C if input == output => return input.len().ok_or_else(misfit),
            TransformKind::C2C => return Err(misfit()),
            TransformKind::R2C => (input, output),
            TransformKind::C2R => (output, input),
        };
        if self.spacing.is_some() {
            let rows = (1..=self.rank).all(|at| complex.counts[at] == 1 || real.strides[at] == 2 * complex.strides[at]);
            if real.strides[0] != 1 || complex.strides[0] != 1 || !rows {
                return Err(misfit());
            }
        }
        complex.len().ok_or_else(misfit)
    }

    /// Returns the arguments of the C functions, if they fit into 32 bits.
    pub(crate) fn narrow(&self) -> Option<Many<i32>> {
        self.many(|size| i32::try_from(size).ok())
    }

    /// Returns the arguments of the C functions, in 64 bits.
    pub(crate) fn wide(&self) -> Result<Many<i64>> {
        self.many(|size| i64::try_from(size).ok())
            .ok_or_else(|| invalid("the size of a transform", format!("{self:?}"), "of fewer bytes than 2^63"))
    }

    fn many<I: Copy>(&self, to: impl Fn(usize) -> Option<I>) -> Option<Many<I>> {
        let all = |sizes: [usize; 3]| Some([to(sizes[0])?, to(sizes[1])?, to(sizes[2])?]);
        // Some of the functions compute spans in 32 bits, even if they do not fit.
        let total =
            |kind| self.sides_checked(kind).into_iter().flatten().all(|side| side.len().and_then(&to).is_some());
        if ![TransformKind::C2C, TransformKind::R2C, TransformKind::C2R].into_iter().all(total) {
            return None;
        }
        let sides = match &self.spacing {
            None => None,
            Some(sides) => {
                let side =
                    |spacing: &Spacing| Some((all(spacing.embed)?, to(spacing.stride)?, to(spacing.distance.max(1))?));
                Some([side(&sides[0])?, side(&sides[1])?])
            }
        };
        Some(Many { rank: self.rank as i32, n: all(self.lengths)?, sides, one: to(1)?, batch: to(self.batch)? })
    }
}

/// The arguments of `hipfftMakePlanMany` and similar functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Many<I> {
    pub(crate) rank: i32,
    pub(crate) n: [I; 3],
    /// `embed`, `stride`, `dist` of both sides.
    pub(crate) sides: Option<[([I; 3], I, I); 2]>,
    pub(crate) one: I,
    pub(crate) batch: I,
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, length) in self.lengths().iter().enumerate() {
            write!(f, "{}{length}", if at == 0 { "" } else { " x " })?;
        }
        if self.batch != 1 {
            write!(f, ", {} of them", self.batch)?;
        }
        if let Some(spacing) = &self.spacing {
            for (what, Spacing { rank, embed, stride, distance }) in ["from", "to"].into_iter().zip(spacing) {
                write!(f, ", {what} {:?} at stride {stride} and distance {distance}", &embed[..*rank])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{C2C, C2R, R2C};

    #[test]
    fn lengths_of_memory() {
        let plain = Layout::new([4, 6, 5]).unwrap().batch(3).unwrap();
        assert_eq!((plain.input_len::<C2C<f32>>(), plain.output_len::<C2C<f32>>()), (360, 360));
        assert_eq!((plain.input_len::<R2C<f32>>(), plain.output_len::<R2C<f32>>()), (360, 216));
        assert_eq!((plain.input_len::<C2R<f32>>(), plain.output_len::<C2R<f32>>()), (216, 360));
        assert_eq!(plain.in_place_len::<R2C<f32>>().unwrap(), 216);
        let apart = Layout::new([8]).unwrap().batch(100).unwrap();
        let columns = apart.clone().spaced(Spacing::new([8], 100, 1), Spacing::new([8], 1, 10)).unwrap();
        assert_eq!((columns.input_len::<C2C<f32>>(), columns.output_len::<C2C<f32>>()), (800, 1000));
        assert!(columns.check::<C2C<f32>>().is_ok() && columns.in_place_len::<C2C<f32>>().is_err());
        // With a stride of 2, the gap after the last point counts.
        let every_other = Layout::new([8]).unwrap().spaced(Spacing::new([8], 2, 1), Spacing::new([8], 1, 1)).unwrap();
        assert_eq!(every_other.input_len::<C2C<f32>>(), 16);
    }

    #[test]
    fn points_that_overlap() {
        let eight = || Layout::new([8]).unwrap().batch(2).unwrap();
        let (sliding, apart) = (Spacing::new([8], 1, 4), Spacing::new([8], 1, 8));
        let windows = eight().spaced(sliding, apart).unwrap();
        assert!(windows.check::<C2C<f64>>().is_ok() && windows.check::<C2R<f64>>().is_err());
        assert_eq!(windows.input_len::<C2C<f64>>(), 12);
        assert!(eight().spaced(apart, sliding).unwrap().check::<C2C<f64>>().is_err());
        let rows =
            Layout::new([3, 8]).unwrap().spaced(Spacing::new([3, 8], 1, 24), Spacing::new([3, 7], 1, 24)).unwrap();
        assert!(rows.check::<C2C<f32>>().is_err());
        assert!(rows.check::<R2C<f32>>().is_ok(), "5 complex numbers in rows of 7");
    }

    #[test]
    fn what_is_no_layout() {
        assert!(
            Layout::new([0]).is_err() && Layout::new([4, 0, 4]).is_err() && Layout::new([4]).unwrap().batch(0).is_err()
        );
        assert!(Layout::new([usize::MAX]).is_err() && Layout::new([1 << 32, 1 << 32]).is_err());
        assert!(Layout::new([4]).unwrap().batch(usize::MAX).is_err());
        let four = || Layout::new([4]).unwrap().batch(2).unwrap();
        let good = Spacing::new([4], 1, 4);
        assert!(four().spaced(Spacing::new([4, 4], 1, 4), good).is_err());
        assert!(four().spaced(Spacing::new([4], 0, 4), good).is_err());
        assert!(four().spaced(good, Spacing::new([4], 1, 0)).is_err());
        assert!(four().spaced(good, Spacing::new([4], 1, usize::MAX)).is_err());
        assert!(Layout::new([4]).unwrap().spaced(good, Spacing::new([4], 1, 0)).is_ok(), "one needs no distance");
    }

    #[test]
    fn in_place_of_real_numbers() {
        let rows = |real, complex| Layout::new([3, 6]).unwrap().batch(2).unwrap().spaced(real, complex).unwrap();
        let good = rows(Spacing::new([3, 8], 1, 24), Spacing::new([3, 4], 1, 12));
        assert_eq!(good.in_place_len::<R2C<f32>>().unwrap(), 24);
        let tight = rows(Spacing::new([3, 6], 1, 18), Spacing::new([3, 4], 1, 12));
        assert!(tight.in_place_len::<R2C<f32>>().is_err());
        assert!(tight.check::<R2C<f32>>().is_ok());
    }

    #[test]
    fn arguments_of_c() {
        let narrow = Layout::new([3, 6]).unwrap().batch(2).unwrap().narrow().unwrap();
        assert_eq!((narrow.rank, narrow.n, narrow.batch, narrow.one), (2, [3, 6, 1], 2, 1));
        let long = Layout::new([1 << 31]).unwrap();
        assert!(long.narrow().is_none() && long.wide().unwrap().n[0] == 1 << 31);
        let far = Layout::new([2]).unwrap().batch(2).unwrap();
        let far = far.spaced(Spacing::new([2], 1, 1 << 40), Spacing::new([2], 1, 2)).unwrap();
        assert!(far.narrow().is_none() && far.wide().unwrap().sides.unwrap()[0].2 == 1 << 40);
    }
}
