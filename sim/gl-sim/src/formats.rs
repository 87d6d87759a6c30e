//! Formats of texels.

/// A texel format: OpenGL's names for it, and its encoding in a GPU's image descriptor.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// The sized internal format.
    pub(crate) internal: u32,
    /// The format and type of bit-identical texels in the program's memory. Others are not supported.
    pub(crate) client: [u32; 2],
    /// Bytes of a texel.
    pub(crate) bytes: usize,
    /// Data format and number format, by the numbers of AMD's CDNA2 ISA manual.
    pub(crate) data: u32,
    pub(crate) number: u32,
    /// The source of each component of a loaded texel: 0, 1, or 4 to 7 for those in memory.
    pub(crate) select: [u32; 4],
}

const RED: u32 = 0x1903;
const RG: u32 = 0x8227;
const RGBA: u32 = 0x1908;
const RED_INTEGER: u32 = 0x8d94;
const RG_INTEGER: u32 = 0x8228;
const UNSIGNED_BYTE: u32 = 0x1401;
const UNSIGNED_INT: u32 = 0x1405;
const FLOAT: u32 = 0x1406;

const ONE: [u32; 4] = [4, 0, 0, 1];
const TWO: [u32; 4] = [4, 5, 0, 1];
const FOUR: [u32; 4] = [4, 5, 6, 7];

const fn format(internal: u32, client: [u32; 2], bytes: usize, data: u32, number: u32, select: [u32; 4]) -> Format {
    Format { internal, client, bytes, data, number, select }
}

const FORMATS: [Format; 7] = [
    // R8, RGBA8, R32UI, RG32UI, R32F, RG32F, RGBA32F.
    format(0x8229, [RED, UNSIGNED_BYTE], 1, 1, 0, ONE),
    format(0x8058, [RGBA, UNSIGNED_BYTE], 4, 10, 0, FOUR),
    format(0x8236, [RED_INTEGER, UNSIGNED_INT], 4, 4, 4, ONE),
    format(0x823c, [RG_INTEGER, UNSIGNED_INT], 8, 11, 4, TWO),
    format(0x822e, [RED, FLOAT], 4, 4, 7, ONE),
    format(0x8230, [RG, FLOAT], 8, 11, 7, TWO),
    format(0x8814, [RGBA, FLOAT], 16, 14, 7, FOUR),
];

impl Format {
    /// The format with that internal name.
    pub(crate) fn of(internal: u32) -> Option<Self> {
        FORMATS.into_iter().find(|format| format.internal == internal)
    }
}
