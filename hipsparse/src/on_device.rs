//! Finds defects of index arrays on the device, with kernels that this crate ships.

use hip::{Device, DeviceBuffer, DeviceSlice, Kernel, LaunchConfig, Stream};
use hip_linalg::Shipped;

use crate::defect::Defect;
use crate::structure::Layout;
use crate::{Index, Result};

/// `cargo xtask kernels` builds it from `structure.hip`.
static BUNDLE: &[u8] = include_bytes!("kernels/structure.hipfb");

/// The loaded state of a device: a stream for the launches, and the kernels for 32-bit and 64-bit indices.
#[derive(Clone)]
struct Loaded {
    stream: Stream,
    kernels: [Kernel; 2],
}

/// Returns `None` for a device without code.
fn loaded(device: &Device) -> Result<Option<Loaded>> {
    static SHIPPED: Shipped<Loaded> = Shipped::new(BUNDLE);
    let loaded = SHIPPED.on(device, |module| {
        let kernels = [module.kernel("structure_32")?, module.kernel("structure_64")?];
        Ok(Loaded { stream: Stream::new(device)?, kernels })
    })?;
    Ok(loaded)
}

/// Threads per block, and maximum number of blocks: each thread checks several entries.
const THREADS: u32 = 256;
const BLOCKS: usize = 4096;

/// The kinds of defects that the kernels look for, as indices into their results.
const DECREASES: usize = 0;
const FIRST_OUTSIDE: usize = 1;
const SECOND_OUTSIDE: usize = 2;
const UNSORTED: usize = 3;
const DUPLICATE: usize = 4;

/// Finds the first unsafe defect, or else the first of the others, as [`Layout::check`] does. It waits for the device.
pub(crate) fn find<I: Index>(
    layout: Layout,
    base: i64,
    first: DeviceSlice<'_, I>,
    second: DeviceSlice<'_, I>,
) -> Result<Result<(), Defect>> {
    let Some(Loaded { stream, kernels }) = loaded(&second.device())? else {
        return Ok(layout.check(base, &first.to_vec()?, &second.to_vec()?));
    };
    let (kind, lines, first_size, second_size) = match layout {
        Layout::Compressed { size } => (0_i32, first.len() - 1, 0, size),
        Layout::Coordinates { rows, cols } => (1, 0, rows, cols),
        Layout::Ell { rows, size } => (2, rows, 0, size),
        Layout::Vector { size } => (3, 0, 0, size),
    };
    let at = |slice: DeviceSlice<'_, I>, index: usize| -> Result<i64> {
        Ok(slice.slice(index..index + 1)?.to_vec()?[0].wide().wrapping_sub(base))
    };
    let entries = second.len();
    let mut found = [u64::MAX; 5];
    let work = entries.max(if kind == 0 { lines } else { 0 });
    if work != 0 {
        let mut places = DeviceBuffer::from_slice(&second.device(), &found)?;
        let blocks = work.div_ceil(THREADS as usize).min(BLOCKS) as u32;
        let kernel = &kernels[usize::from(size_of::<I>() == 8)];
        let sizes = (lines as i64, entries as i64, first_size as i64, second_size as i64);
        // SAFETY: the kernel reads `lines + 1` offsets, or as many of the first indices as there are entries, if it reads any, and the
        // entries; it writes to five positions. Its index type has as many bits as `I`.
        unsafe {
            let arguments = (first, second, sizes.0, sizes.1, sizes.2, sizes.3, base, kind, &mut places);
            kernel.launch(&stream, LaunchConfig::new(blocks, THREADS), arguments)?;
        }
        places.copy_to_slice(&mut found)?;
    }
    let place = |kind: usize| usize::try_from(found[kind]).ok().filter(|_| found[kind] != u64::MAX);
    if let Layout::Compressed { .. } = layout {
        let start = at(first, 0)?;
        if start != 0 {
            return Ok(Err(Defect::FirstOffset { found: start }));
        }
        if let Some(line) = place(DECREASES) {
            return Ok(Err(Defect::OffsetDecreases { line }));
        }
        let end = at(first, lines)?;
        if end != entries as i64 {
            return Ok(Err(Defect::LastOffset { found: end, entries }));
        }
    }
    for (kind, of, size) in [(FIRST_OUTSIDE, first, first_size), (SECOND_OUTSIDE, second, second_size)] {
        if let Some(position) = place(kind) {
            return Ok(Err(Defect::OutOfRange { position, found: at(of, position)?, size }));
        }
    }
    Ok(match (place(UNSORTED), place(DUPLICATE)) {
        (None, None) => Ok(()),
        (Some(position), duplicate) if duplicate.is_none_or(|other| position < other) => {
            Err(Defect::Unsorted { position })
        }
        (_, Some(position)) => Err(Defect::Duplicate { position }),
        (Some(position), None) => Err(Defect::Unsorted { position }),
    })
}

#[cfg(test)]
mod tests {
    use linalg_testing::Rng;

    use super::*;

    /// Returns a device, which need not have hipSPARSE: the embedded software GPU works too.
    fn device() -> Option<Device> {
        if let Err(error) = hip::sim_if_no_gpu() {
            linalg_testing::skipped(&error);
            return None;
        }
        Some(Device::get(0).unwrap())
    }

    /// Checks that the device finds the same defects as the host.
    fn same<I: Index>(device: &Device, layout: Layout, base: i64, first: &[i64], second: &[i64]) {
        let narrow = |numbers: &[i64]| numbers.iter().map(|&number| I::narrow(number + base)).collect::<Vec<_>>();
        let (first, second) = (narrow(first), narrow(second));
        let want = layout.check(base, &first, &second);
        let upload = |numbers: &[I]| DeviceBuffer::from_slice(device, numbers).unwrap();
        let found = find(layout, base, upload(&first).as_slice(), upload(&second).as_slice()).unwrap();
        assert_eq!(found, want, "{layout:?} from {base}: {first:?} {second:?}");
    }

    fn all(device: &Device, layout: Layout, first: &[i64], second: &[i64]) {
        for base in [0, 1] {
            same::<i32>(device, layout, base, first, second);
            same::<i64>(device, layout, base, first, second);
        }
    }

    #[test]
    fn the_device_has_code() {
        let Some(device) = device() else { return };
        let there = loaded(&device).unwrap().is_some();
        let shipped = ["gfx90a", "gfx942", "gfx1100", "gfx1201"];
        let arch = device.properties().unwrap().arch.to_string();
        assert_eq!(there, shipped.iter().any(|name| arch.starts_with(name)), "{arch}");
    }

    #[test]
    fn the_device_finds_what_the_host_finds() {
        let Some(device) = device() else { return };
        let mut rng = Rng::new(8);
        for _ in 0..60 {
            let (lines, size) = (rng.below(7), 1 + rng.below(12));
            let mut offsets = vec![0_i64];
            let mut cols = Vec::new();
            for _ in 0..lines {
                cols.extend((0..size as i64).filter(|_| rng.below(3) == 0));
                offsets.push(cols.len() as i64);
            }
            let mut rows: Vec<i64> =
                (0..lines).flat_map(|line| vec![line as i64; (offsets[line + 1] - offsets[line]) as usize]).collect();
            let compressed = Layout::Compressed { size };
            let coordinates = Layout::Coordinates { rows: lines, cols: size };
            let vector = Layout::Vector { size };
            all(&device, compressed, &offsets, &cols);
            all(&device, coordinates, &rows, &cols);
            all(&device, vector, &cols, &cols);
            // Changes some entries: out of range, duplicate, unsorted, an offset too large.
            for _ in 0..=rng.below(3) {
                let any = rng.below(size + 2) as i64 - 1;
                let at = rng.below(cols.len().max(1));
                if let Some(col) = cols.get_mut(at) {
                    *col = any;
                }
                all(&device, compressed, &offsets, &cols);
                all(&device, coordinates, &rows, &cols);
                if let Some(row) = rows.get_mut(at) {
                    *row = rng.below(lines + 2) as i64 - 1;
                }
                all(&device, coordinates, &rows, &cols);
                let line = rng.below(offsets.len());
                offsets[line] = rng.below(cols.len() + 3) as i64 - 1;
                all(&device, compressed, &offsets, &cols);
            }
            let (rows, width) = (1 + rng.below(4), rng.below(4));
            let blocks: Vec<i64> = (0..rows * width).map(|_| rng.below(size + 2) as i64 - 1).collect();
            // Padding is -1, whatever the base.
            same::<i32>(&device, Layout::Ell { rows, size }, 0, &[], &blocks);
            same::<i64>(
                &device,
                Layout::Ell { rows, size },
                1,
                &[],
                &blocks.iter().map(|x| (x - 1).max(-2)).collect::<Vec<_>>(),
            );
        }
        let extreme = [i64::MIN, i64::MAX - 1, 0];
        all_wide(&device, &extreme);
    }

    /// Numbers that overflow when the base is subtracted.
    fn all_wide(device: &Device, extreme: &[i64]) {
        same::<i64>(device, Layout::Vector { size: 3 }, 1, extreme, extreme);
        same::<i64>(device, Layout::Compressed { size: 3 }, 1, extreme, &[]);
        same::<i64>(device, Layout::Coordinates { rows: 3, cols: 3 }, 0, extreme, extreme);
    }

    #[test]
    fn many_entries() {
        let Some(device) = device() else { return };
        // More entries than a launch has threads on a small device: each thread checks several.
        let mut cols: Vec<i64> = (0..300_000).collect();
        let layout = Layout::Compressed { size: cols.len() };
        let offsets = [0, 0, 100_000, 300_000, 300_000];
        all(&device, layout, &offsets, &cols);
        cols[299_999] = 299_998;
        all(&device, layout, &offsets, &cols);
        cols.swap(250_000, 250_001);
        all(&device, layout, &offsets, &cols);
        // The first entry of a line may be less than the last one of the previous line.
        cols[100_000] = 3;
        all(&device, layout, &offsets, &cols);
    }
}
