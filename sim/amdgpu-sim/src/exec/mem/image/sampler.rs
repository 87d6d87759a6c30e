//! The sampler descriptor (S#): four scalar registers, and the texels of a sample.
//!
//! Weights are exact; hardware keeps only some bits of them. Without levels of detail (which no compute instruction
//! has), the filters for magnification and minification must be the same.

use super::resource::{Resource, Shape};
use crate::exec::Wave;
use crate::exec::mem::format::Format;

/// The maximum number of texels of a sample: two along each axis.
pub(super) const MOST_TAPS: usize = 8;

/// The treatment of coordinates outside the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clamp {
    Wrap,
    Mirror,
    LastTexel,
    MirrorOnceLastTexel,
    HalfBorder,
    MirrorOnceHalfBorder,
    Border,
    MirrorOnceBorder,
}

impl Clamp {
    fn of(bits: u32) -> Self {
        match bits & 7 {
            0 => Self::Wrap,
            1 => Self::Mirror,
            2 => Self::LastTexel,
            3 => Self::MirrorOnceLastTexel,
            4 => Self::HalfBorder,
            5 => Self::MirrorOnceHalfBorder,
            6 => Self::Border,
            _ => Self::MirrorOnceBorder,
        }
    }

    fn has_border(self) -> bool {
        matches!(self, Self::HalfBorder | Self::MirrorOnceHalfBorder | Self::Border | Self::MirrorOnceBorder)
    }

    /// The coordinate in texels, before a texel is selected.
    fn limit(self, u: f64, size: u32) -> f64 {
        let size = f64::from(size);
        match self {
            Self::HalfBorder => u.clamp(0.0, size),
            Self::MirrorOnceHalfBorder => u.abs().min(size),
            _ => u,
        }
    }

    /// The texel for a number that may be outside; `None` is the border.
    fn texel(self, i: i64, size: u32) -> Option<u32> {
        let last = i64::from(size) - 1;
        let inside = match self {
            Self::Wrap => i.rem_euclid(last + 1),
            Self::Mirror => {
                let i = i.rem_euclid(2 * (last + 1));
                if i > last { 2 * last + 1 - i } else { i }
            }
            Self::LastTexel => i.clamp(0, last),
            Self::MirrorOnceLastTexel => i.max(-1 - i).min(last),
            Self::MirrorOnceBorder | Self::MirrorOnceHalfBorder => i.max(-1 - i),
            Self::HalfBorder | Self::Border => i,
        };
        u32::try_from(inside).ok().filter(|i| *i < size)
    }
}

/// How the texels of a sample are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    Blend,
    Minimum,
    Maximum,
}

/// A decoded sampler descriptor.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    clamp: [Clamp; 3],
    /// Coordinates are in texels, not normalised.
    texels: bool,
    /// For each axis: whether the two nearest texels are interpolated.
    linear: [bool; 3],
    reduction: Reduction,
    /// 0: transparent black, 1: black, 2: white.
    border: u32,
    /// Filtering stops at the edges of a cube's faces.
    separate_faces: bool,
}

const DETAIL: &str = "a sampler that needs the level of detail, which depends on neighbouring pixels";

impl Sampler {
    /// Decodes the descriptor that starts at `slot`, for `image`, or returns what is not supported.
    pub(super) fn read(w: &Wave, slot: u16, texels: bool, image: &Resource) -> Result<Self, &'static str> {
        let words: [u32; 4] = std::array::from_fn(|i| w.slot(slot + i as u16));
        let field = |word: usize, first: u32, bits: u32| words[word] >> first & (u32::MAX >> (32 - bits));
        let (magnify, minify, depth, levels) = (field(2, 20, 2), field(2, 22, 2), field(2, 24, 2), field(2, 26, 2));
        let anisotropic = magnify >= 2 && field(0, 9, 3) != 0;
        if magnify != minify || anisotropic || levels != 0 && image.has_levels() {
            return Err(DETAIL);
        }
        if !image.has_level(0)? {
            return Err("an image without levels");
        }
        let clamp: [Clamp; 3] = std::array::from_fn(|i| Clamp::of(field(0, 3 * i as u32, 3)));
        let border = field(3, 30, 2);
        if border == 3 && clamp.iter().any(|c| c.has_border()) {
            return Err("a border colour out of a table, which is set up outside of kernels");
        }
        let reduction = match field(0, 29, 2) {
            0 => Reduction::Blend,
            1 => Reduction::Minimum,
            2 => Reduction::Maximum,
            _ => return Err("a sampler whose way to filter is none"),
        };
        // Integers are not interpolated.
        let integer = image.format()?.integer();
        let plane = magnify & 1 == 1 && !integer;
        let across = match depth {
            0 => plane,
            1 => false,
            _ => !integer,
        };
        Ok(Self {
            clamp,
            texels: texels || field(0, 15, 1) == 1,
            linear: [plane, plane, across],
            reduction,
            border,
            separate_faces: field(0, 28, 1) == 1,
        })
    }

    /// The texels of a sample at these coordinates.
    pub(super) fn taps(&self, image: &Resource, coordinates: [f64; 3]) -> Result<Taps, &'static str> {
        let (size, cube) = (image.size(), image.shape == Shape::Cube);
        let mut axes = [[(Some(0), 1.0), (None, 0.0)]; 3];
        let sides = match image.shape {
            Shape::Line => 1,
            Shape::Plane | Shape::Cube => 2,
            Shape::Volume => 3,
        };
        for (d, axis) in axes.iter_mut().enumerate().take(sides) {
            // On a cube's face they are from 0 to 1 (in AMD's device library) or from 1 to 2 (in graphics compilers).
            let c = coordinates[d] - if cube && coordinates[d] > 1.0 { 1.0 } else { 0.0 };
            let u = if self.texels { c } else { c * f64::from(size[d]) };
            *axis = self.axis(d, u, size[d], cube)?;
        }
        let layer = if image.shape == Shape::Volume {
            None
        } else {
            let nearest = coordinates[2].round_ties_even().clamp(0.0, f64::from(image.layers() - 1));
            image.layer(nearest as u32)
        };
        let mut taps = Taps::default();
        for (i, tap) in taps.0.iter_mut().enumerate() {
            let [x, y, z] = [0, 1, 2].map(|d| axes[d][i >> d & 1]);
            let weight = x.1 * y.1 * z.1;
            let at = match (x.0, y.0, z.0) {
                (Some(x), Some(y), Some(z)) => image.texel([x, y], layer.or(Some(z))),
                _ => None,
            };
            *tap = (at, weight);
        }
        Ok(taps)
    }

    /// The texels along one axis with their weights.
    fn axis(&self, d: usize, u: f64, size: u32, cube: bool) -> Result<[(Option<u32>, f64); 2], &'static str> {
        let clamp = if cube { Clamp::LastTexel } else { self.clamp[d] };
        let u = clamp.limit(u, size);
        let linear = self.linear[d];
        let start = if linear { u - 0.5 } else { u };
        let first = start.floor();
        let second = if linear { start - first } else { 0.0 };
        // Far outside, the fraction is meaningless.
        let second = if second.is_finite() { second } else { 0.0 };
        let number = first as i64;
        if !linear && matches!(clamp, Clamp::HalfBorder | Clamp::MirrorOnceHalfBorder) {
            return Ok([(Clamp::LastTexel.texel(number, size), 1.0), (None, 0.0)]);
        }
        let numbers = [number, number.saturating_add(1)];
        let weights = [1.0 - second, second];
        let crosses = |i: usize| weights[i] != 0.0 && !(0..i64::from(size)).contains(&numbers[i]);
        if cube && linear && !self.separate_faces && (crosses(0) || crosses(1)) {
            return Err("a sample across the edges of a cube");
        }
        Ok([0, 1].map(|i| (clamp.texel(numbers[i], size), weights[i])))
    }

    /// The border texel, before the descriptor's component selection.
    pub(super) fn border(&self, image: &Resource, format: Format) -> [u32; 4] {
        let value = |i: usize| match self.border {
            2 => format.one(),
            1 if i == 3 => format.one(),
            _ => 0,
        };
        // The colour is that of the result, independent of the component selection.
        let mut texel = [0; 4];
        for i in (0..4).filter(|i| image.is_from_memory(*i)) {
            let mut result = [0; 4];
            result[i] = u32::MAX;
            let from = image.place(result).iter().position(|x| *x != 0);
            if let Some(from) = from {
                texel[from] = value(i);
            }
        }
        texel
    }
}

/// The texels of one sample: their positions (`None`: the border) and weights.
#[derive(Clone, Debug, Default)]
pub(super) struct Taps([(Option<u64>, f64); MOST_TAPS]);

impl Taps {
    /// The position of texel `i`, if it has a weight and is inside.
    pub(super) fn place(&self, i: usize) -> Option<u64> {
        self.0[i].0.filter(|_| self.0[i].1 != 0.0)
    }

    /// The weight of texel `i`, if it has one.
    pub(super) fn weight(&self, i: usize) -> Option<f64> {
        Some(self.0[i].1).filter(|w| *w != 0.0)
    }
}

/// An accumulated sample.
#[derive(Clone, Debug)]
pub(super) struct Mix {
    reduction: Reduction,
    integer: bool,
    /// The unconverted texel, while there is only one.
    only: Option<[u32; 4]>,
    sum: [f64; 4],
    count: u32,
}

impl Mix {
    pub(super) fn new(sampler: &Sampler, format: Format) -> Self {
        Self { reduction: sampler.reduction, integer: format.integer(), only: None, sum: [0.0; 4], count: 0 }
    }

    pub(super) fn add(&mut self, texel: [u32; 4], weight: f64) {
        self.only = (self.count == 0).then_some(texel);
        for (sum, bits) in self.sum.iter_mut().zip(texel) {
            let value = f64::from(f32::from_bits(bits));
            *sum = match self.reduction {
                Reduction::Blend => *sum + weight * value,
                _ if self.count == 0 => value,
                Reduction::Minimum => sum.min(value),
                Reduction::Maximum => sum.max(value),
            };
        }
        self.count += 1;
    }

    pub(super) fn result(&self) -> [u32; 4] {
        match self.only {
            Some(texel) if self.integer || self.count == 1 => texel,
            _ => self.sum.map(|sum| (sum as f32).to_bits()),
        }
    }
}
