//! The kernels that copy and fill images. gfx942 has no image instructions, but the compiler emits them anyway.

use amdgpu_sim::{Arch, ValueKind};

use crate::common::image::{FLOAT, Image, LINES, PLANES, SINT, UINT};
use crate::common::{Args, Buffer, launch, upload, zeros};
use crate::{Blits, bytes, same};

pub(crate) fn check(blits: &Blits) {
    if blits.gpu.config().arch != Arch::Gfx90a {
        return unknown(blits);
    }
    for (data, components, width) in
        [(1, 1, 1), (2, 1, 2), (4, 1, 4), (3, 2, 1), (5, 2, 2), (11, 2, 4), (10, 4, 1), (12, 4, 2), (14, 4, 4)]
    {
        from_and_to_buffers(blits, data, components, width);
        between_images(blits, data, components * width);
    }
    layers_of_lines(blits);
    fills(blits);
}

/// An image with its memory and its descriptor on the GPU.
struct Placed<'g> {
    image: Image,
    memory: Buffer<'g, u8>,
    descriptor: Buffer<'g, u32>,
    texel: usize,
}

impl<'g> Placed<'g> {
    fn new(blits: &'g Blits, image: Image, texel: u32, contents: &[u8]) -> Self {
        assert_eq!(contents.len(), image.texels() * texel as usize);
        let memory = upload(&blits.gpu, contents);
        let descriptor = upload(&blits.gpu, &image.descriptor(memory.address));
        Self { image, memory, descriptor, texel: texel as usize }
    }

    /// The bytes of a texel.
    fn at(&self, place: [u32; 3]) -> std::ops::Range<usize> {
        let first = self.image.texel(place) * self.texel;
        first..first + self.texel
    }
}

fn layers(data: u32, number: u32, size: [u32; 3]) -> Image {
    Image { kind: PLANES, size, pitch: size[0] + 5, data, number, hsa: [0, 0] }
}

fn vector<const N: usize>(args: Args, values: [i32; N]) -> Args {
    args.with(&values.map(i32::to_le_bytes).concat(), 4 * N)
}

fn long_vector(args: Args, values: [u64; 4]) -> Args {
    args.with(&values.map(u64::to_le_bytes).concat(), 32)
}

/// All places of a box.
fn places([width, height, depth]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
}

fn plus(a: [u32; 3], b: [i32; 4]) -> [u32; 3] {
    std::array::from_fn(|d| a[d] + b[d] as u32)
}

fn from_and_to_buffers(blits: &Blits, data: u32, components: u32, width: u32) {
    let texel = components * width;
    let image = layers(data, UINT, [19, 7, 3]);
    let (origin, size) = ([2, 1, 1, 0], [13, 5, 2]);
    // Rows and slices of the buffer, in texels, and where it begins: in units of what the kernel reads at a time.
    let (row, slice) = (15, 90);
    let unit = texel.min(4);
    let begin = 6;
    let format = [components as i32, width as i32, (texel / unit) as i32, 0];
    let in_buffer = |[x, y, z]: [u32; 3]| {
        let first = ((z * slice + y * row + x) * texel + begin * unit) as usize;
        first..first + texel as usize
    };
    let buffer = bytes(10 + u64::from(data), (slice * 2 * texel + 8 * unit) as usize);
    let before = bytes(30 + u64::from(data), image.texels() * texel as usize);
    let items = size.map(|s: u32| s.next_multiple_of(4));

    let (source, placed) = (upload(&blits.gpu, &buffer), Placed::new(blits, image, texel, &before));
    let args = Args::default().pointer(&source).pointer(&placed.descriptor);
    let args = vector(long_vector(args, [begin.into(), 0, 0, 0]), origin);
    let args = vector(vector(args, [size[0] as i32, size[1] as i32, size[2] as i32, 0]), format);
    let args = long_vector(args, [row.into(), slice.into(), 0, 0]);
    blits.run("copyBufferToImage", items, [4, 4, 4], &args);
    let mut expected = before.clone();
    for place in places(size) {
        expected[placed.at(plus(place, origin))].copy_from_slice(&buffer[in_buffer(place)]);
    }
    same(blits, &placed.memory.get(), &expected, format_args!("a buffer to an image of {components} times {width}"));

    let (destination, placed) = (upload(&blits.gpu, &buffer), Placed::new(blits, image, texel, &before));
    // The same buffer as words, half words and bytes.
    let args = Args::default().pointer(&placed.descriptor);
    let args = args.pointer(&destination).pointer(&destination).pointer(&destination);
    let args = long_vector(vector(args, origin), [begin.into(), 0, 0, 0]);
    let args = vector(vector(args, [size[0] as i32, size[1] as i32, size[2] as i32, 0]), format);
    let args = long_vector(args, [row.into(), slice.into(), 0, 0]);
    blits.run("copyImageToBuffer", items, [4, 4, 4], &args);
    let mut expected = buffer.clone();
    for place in places(size) {
        expected[in_buffer(place)].copy_from_slice(&before[placed.at(plus(place, origin))]);
    }
    same(blits, &destination.get(), &expected, format_args!("an image of {components} times {width} to a buffer"));
}

fn between_images(blits: &Blits, data: u32, texel: u32) {
    let (from, to) = (layers(data, UINT, [17, 9, 4]), layers(data, UINT, [20, 8, 3]));
    let contents = |seed, image: Image| bytes(seed, image.texels() * texel as usize);
    let (from_bytes, to_bytes) = (contents(50, from), contents(51, to));
    let (from, to) = (Placed::new(blits, from, texel, &from_bytes), Placed::new(blits, to, texel, &to_bytes));
    let (from_origin, to_origin, size) = ([3, 2, 1, 0], [5, 1, 0, 0], [11, 6, 3]);
    let args = vector(Args::default().pointer(&from.descriptor).pointer(&to.descriptor), from_origin);
    let args = vector(vector(args, to_origin), [size[0] as i32, size[1] as i32, size[2] as i32, 0]);
    blits.run("copyImage", size.map(|s: u32| s.next_multiple_of(4)), [4, 4, 4], &args);
    let mut expected = to_bytes;
    for place in places(size) {
        expected[to.at(plus(place, to_origin))].copy_from_slice(&from_bytes[from.at(plus(place, from_origin))]);
    }
    same(blits, &to.memory.get(), &expected, format_args!("between images of texels of {texel}"));
}

/// In 1D arrays the second coordinate is the layer, which the hardware takes from the third one, as does the kernel:
/// the fourth number of an origin tells it.
fn layers_of_lines(blits: &Blits) {
    let planes = layers(4, UINT, [12, 9, 1]);
    let rows = bytes(60, planes.texels() * 4);
    let (from_origin, to_origin, size) = ([1, 2, 0, 0], [3, 1, 0, 1], [8, 5, 1]);
    // As 2D arrays with one row, where the instruction takes the layer from.
    let lines = Image { size: [14, 1, 7], ..planes };
    let before = bytes(61, lines.texels() * 4);
    let (from, to) = (Placed::new(blits, planes, 4, &rows), Placed::new(blits, lines, 4, &before));
    let args = vector(Args::default().pointer(&from.descriptor).pointer(&to.descriptor), from_origin);
    let args = vector(vector(args, to_origin), [size[0] as i32, size[1] as i32, size[2] as i32, 0]);
    blits.run("copyImage1DA", [8, 8, 1], [4, 4, 1], &args);
    let mut expected = before;
    for [x, y, _] in places(size) {
        expected[to.at([x + 3, 0, y + 1])].copy_from_slice(&rows[from.at([x + 1, y + 2, 0])]);
    }
    same(blits, &to.memory.get(), &expected, format_args!("rows to layers"));
    assert_ne!(LINES, PLANES);
}

/// Fills: floats, signed and unsigned integers; a work-item does up to three texels of a row.
fn fills(blits: &Blits) {
    let floats = [0.5_f32, -1.0, 2.0, 1.0e10];
    let (signed, unsigned) = ([-5_i32, 300, -300, 7], [5_u32, 300, u32::MAX, 7]);
    for (which, data, number, texel) in [(0, 14, FLOAT, 16), (1, 12, SINT, 8), (2, 10, UINT, 4)] {
        let image = layers(data, number, [21, 5, 3]);
        let before = bytes(70, image.texels() * texel as usize);
        let placed = Placed::new(blits, image, texel, &before);
        let (origin, size) = ([2, 1, 1, 0], [16, 3, 2]);
        let args = Args::default().pointer(&placed.descriptor).with(&floats.map(f32::to_le_bytes).concat(), 16);
        let args = vector(args, signed).with(&unsigned.map(u32::to_le_bytes).concat(), 16);
        let args = vector(vector(args, origin), [size[0] as i32, size[1] as i32, size[2] as i32, 0]);
        let every = blits.name.starts_with("5.7");
        // A third of a row in all, or all of it.
        let items = if every { 16 } else { 8 };
        blits.run("fillImage", [items, 4, 2], [4, 4, 2], &args.value(which as u32));
        let filling: Vec<u8> = match which {
            0 => floats.map(f32::to_le_bytes).concat(),
            1 => signed.map(|x| (x as i16).to_le_bytes()).concat(),
            // Values too large for a byte are clamped.
            _ => unsigned.map(|x| x.min(255) as u8).to_vec(),
        };
        let mut expected = before;
        for place in places(size) {
            expected[placed.at(plus(place, origin))].copy_from_slice(&filling);
        }
        same(blits, &placed.memory.get(), &expected, format_args!("an image filled with kind {which}"));
    }
}

fn unknown(blits: &Blits) {
    let gpu = &blits.gpu;
    let memory = zeros::<u64>(gpu, 64);
    for kernel in ["fillImage", "copyImage", "copyImage1DA", "copyBufferToImage", "copyImageToBuffer"] {
        let name = format!("__amd_rocclr_{kernel}");
        let found = blits.module.kernel(&name).unwrap_or_else(|| panic!("{}: no {name}", blits.name));
        // Every pointer refers to that memory, and every number is one.
        let mut args = vec![0; found.info().explicit_size() as usize];
        for arg in found.info().args.iter().filter(|a| !matches!(a.kind, ValueKind::Hidden(_))) {
            let pointer = !matches!(arg.kind, ValueKind::ByValue);
            let (at, size) = (arg.offset as usize, arg.size as usize);
            let bytes = match size {
                _ if pointer => memory.address.to_le_bytes().to_vec(),
                32 => [1_u64; 4].map(u64::to_le_bytes).concat(),
                _ => 1_u32.to_le_bytes().repeat(size / 4),
            };
            args[at..at + size].copy_from_slice(&bytes[..size]);
        }
        let fault = launch(gpu, &blits.module, &name, [1; 3], [1; 3], &Args(args)).unwrap_err().to_string();
        assert!(fault.contains("unknown instruction 0xf0"), "{}: {fault}", blits.name);
    }
}
