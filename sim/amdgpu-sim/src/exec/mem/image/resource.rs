//! The image descriptor (T#): eight scalar registers.

use crate::exec::Wave;
use crate::exec::mem::format::Format;

/// The dimensionality of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Line,
    Plane,
    Volume,
    Cube,
}

/// A decoded image descriptor.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) shape: Shape,
    /// The address can select a layer.
    array: bool,
    /// The size of the largest level: width, height, and depth or layers.
    size: [u32; 3],
    /// Address of the first texel.
    base: u64,
    data_format: u32,
    number_format: u32,
    /// The row pitch in texels.
    pitch: u32,
    first_layer: u32,
    first_level: u32,
    last_level: u32,
    /// The source of each component: 0, 1, or 4 to 7 for the components in memory.
    select: [u32; 4],
    tiling: u32,
    compressed: bool,
}

const LEVELS: &str = "a level of a mip chain other than the largest: how they lie in memory is not documented";

impl Resource {
    /// Decodes the descriptor that starts at `slot`, or returns why it is invalid.
    pub(super) fn read(w: &Wave, slot: u16) -> Result<Self, &'static str> {
        Self::of(std::array::from_fn(|i| w.slot(slot + i as u16)))
    }

    fn of(words: [u32; 8]) -> Result<Self, &'static str> {
        let field = |word: usize, first: u32, bits: u32| words[word] >> first & (u32::MAX >> (32 - bits));
        let (shape, array) = match field(3, 28, 4) {
            8 => (Shape::Line, false),
            9 => (Shape::Plane, false),
            10 => (Shape::Volume, false),
            11 => (Shape::Cube, false),
            12 => (Shape::Line, true),
            13 => (Shape::Plane, true),
            14 | 15 => return Err("a multisampled image"),
            _ => return Err("an image descriptor whose type is no image's"),
        };
        let (depth, height) = (field(4, 0, 13) + 1, field(2, 14, 14) + 1);
        Ok(Self {
            shape,
            array,
            size: [
                field(2, 0, 14) + 1,
                if shape == Shape::Line { 1 } else { height },
                match shape {
                    Shape::Cube => 6 * depth,
                    Shape::Volume => depth,
                    _ if array => depth,
                    _ => 1,
                },
            ],
            base: (u64::from(words[0]) | u64::from(field(1, 0, 8)) << 32) << 8,
            data_format: field(1, 20, 6),
            number_format: field(1, 26, 4),
            pitch: field(4, 13, 16) + 1,
            first_layer: if array || shape == Shape::Cube { field(5, 0, 13) } else { 0 },
            first_level: field(3, 12, 4),
            last_level: field(3, 16, 4),
            select: std::array::from_fn(|i| field(3, 3 * i as u32, 3)),
            tiling: field(3, 20, 5),
            compressed: field(6, 21, 1) == 1,
        })
    }

    /// The texel format, or why the texels cannot be accessed.
    pub(super) fn format(&self) -> Result<Format, &'static str> {
        if self.tiling != 0 {
            return Err("a tiled image: only the linear layout (swizzle mode 0) is known");
        }
        if self.compressed {
            return Err("a compressed image");
        }
        Format::of_image(self.data_format, self.number_format)
            .ok_or("an image format that is not one, or of blocks of texels, or of depth and stencil")
    }

    /// The size of the largest level in texels: width, height, and depth or layers.
    pub(super) fn size(&self) -> [u32; 3] {
        self.size
    }

    /// The address components for x, y, and for depth, layer or face. `declared`: the instruction declares an array.
    pub(super) fn address(&self, declared: bool) -> [Option<u16>; 3] {
        let layer = |place: u16| (declared && self.array).then_some(place);
        match self.shape {
            Shape::Line => [Some(0), None, layer(1)],
            Shape::Plane => [Some(0), Some(1), layer(2)],
            Shape::Volume | Shape::Cube => [Some(0), Some(1), Some(2)],
        }
    }

    /// The number of address components without a level. An instruction that declares an array has a layer even if the
    /// image is not an array.
    pub(super) fn addresses(&self, declared: bool) -> u16 {
        match self.shape {
            Shape::Line => 1 + u16::from(declared),
            Shape::Plane => 2 + u16::from(declared),
            Shape::Volume | Shape::Cube => 3,
        }
    }

    /// Returns whether the level `level` exists, counted from the first of the view.
    pub(super) fn has_level(&self, level: u32) -> Result<bool, &'static str> {
        match self.first_level.checked_add(level) {
            Some(0) => Ok(true),
            Some(level) if level <= self.last_level => Err(LEVELS),
            // The manual does not define a view without levels.
            _ if level == 0 => Err(LEVELS),
            _ => Ok(false),
        }
    }

    /// Returns whether there are several levels to choose from.
    pub(super) fn has_levels(&self) -> bool {
        self.last_level > self.first_level
    }

    /// The layer or depth of an address.
    pub(super) fn layer(&self, z: u32) -> Option<u32> {
        self.first_layer.checked_add(z)
    }

    /// The number of layers.
    pub(super) fn layers(&self) -> u32 {
        self.size[2].saturating_sub(self.first_layer).max(1)
    }

    /// The address of a texel; `None` if it is outside.
    pub(super) fn texel(&self, [x, y]: [u32; 2], layer: Option<u32>) -> Option<u64> {
        let [width, height, depth] = self.size;
        let layer = layer.filter(|layer| *layer < depth && x < width && y < height)?;
        let row = u64::from(layer) * u64::from(height) + u64::from(y);
        let bytes = Format::of_image(self.data_format, self.number_format)?.bytes();
        Some(self.base + (row * u64::from(self.pitch) + u64::from(x)) * u64::from(bytes))
    }

    /// Selects each component of a loaded texel according to the descriptor.
    pub(super) fn select(&self, texel: [u32; 4], one: u32) -> [u32; 4] {
        self.select.map(|choice| match choice {
            1 => one,
            4.. => texel[choice as usize - 4],
            _ => 0,
        })
    }

    /// Arranges the components of a stored texel for memory: the inverse of `select`. BGRA images rely on it.
    pub(super) fn place(&self, texel: [u32; 4]) -> [u32; 4] {
        std::array::from_fn(|i| {
            let from = self.select.iter().position(|choice| *choice == 4 + i as u32);
            from.map_or(0, |from| texel[from])
        })
    }

    /// Returns whether a loaded component comes from memory.
    pub(super) fn is_from_memory(&self, i: usize) -> bool {
        self.select[i] >= 4
    }

    /// The result of `image_get_resinfo` for a level: width, height, depth or layers, and the number of levels.
    pub(super) fn sizes(&self, level: u32) -> [u32; 4] {
        let levels = (self.last_level + 1).saturating_sub(self.first_level);
        if level >= levels {
            return [0, 0, 0, levels];
        }
        let [width, height, depth] = self.size;
        let shrunk = |size: u32| (size >> (self.first_level + level)).max(1);
        let (layers, height) = (self.layers(), shrunk(height));
        match (self.shape, self.array) {
            (Shape::Line, false) => [shrunk(width), 0, 0, levels],
            // As in Direct3D, from which the instruction comes.
            (Shape::Line, true) => [shrunk(width), layers, 0, levels],
            (Shape::Plane, false) => [shrunk(width), height, 0, levels],
            (Shape::Plane, true) => [shrunk(width), height, layers, levels],
            (Shape::Cube, _) => [shrunk(width), height, layers / 6, levels],
            (Shape::Volume, _) => [shrunk(width), height, shrunk(depth), levels],
        }
    }
}
