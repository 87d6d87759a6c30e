//! The initial registers of a wave, as the kernel's descriptor requires.

use super::job::Job;
use crate::exec::mem::{APERTURE_LIMIT, PRIVATE_BASE, SHARED_BASE, Scratch};
use crate::exec::{LANES, Wave, slot};

/// Sets up wave `id` of the workgroup at `group`, whose size is `size` (smaller at the grid's edge). Returns the slots
/// of the position.
pub(super) fn set_up(
    job: &Job<'_>,
    wave: &mut Wave,
    id: u32,
    group: [u32; 3],
    size: [u32; 3],
    scratch: &Scratch,
) -> [Option<u16>; 3] {
    let items = (size[0] * size[1] * size[2]).saturating_sub(id * LANES as u32);
    let lanes = items.min(LANES as u32);
    wave.reset_for(job.program, if lanes == LANES as u32 { u64::MAX } else { (1 << lanes) - 1 });
    wave.id = id;
    work_items(job, wave, size, lanes);
    let position = scalars(job, wave, group, scratch);
    wave.set_slot64(slot::SHARED_BASE, SHARED_BASE);
    wave.set_slot64(slot::SHARED_LIMIT, SHARED_BASE | APERTURE_LIMIT);
    wave.set_slot64(slot::PRIVATE_BASE, PRIVATE_BASE);
    wave.set_slot64(slot::PRIVATE_LIMIT, PRIVATE_BASE | APERTURE_LIMIT);
    position
}

/// The work-item IDs of the first `lanes` lanes, packed in v0: 10 bits each, x lowest. Those that the kernel did not
/// request are zero.
fn work_items(job: &Job<'_>, wave: &mut Wave, size: [u32; 3], lanes: u32) {
    let ids = job.kernel.info().descriptor.work_item_ids();
    let first = wave.id * LANES as u32;
    let row = wave.row_mut(job.program.layout().vgpr(0));
    let (mut x, mut y, mut z) = (first % size[0], first / size[0] % size[1], first / size[0] / size[1]);
    for place in &mut row[..lanes as usize] {
        *place = x;
        if ids >= 1 {
            *place |= y << 10;
        }
        if ids >= 2 {
            *place |= z << 20;
        }
        x += 1;
        if x == size[0] {
            (x, y) = (0, y + 1);
            if y == size[1] {
                (y, z) = (0, z + 1);
            }
        }
    }
}

/// User SGPRs, then system SGPRs. Returns the slots of the workgroup's position.
///
/// Kernel arguments are not preloaded: such a kernel begins with code that loads them, for firmware without preloading.
fn scalars(job: &Job<'_>, wave: &mut Wave, group: [u32; 3], scratch: &Scratch) -> [Option<u16>; 3] {
    let descriptor = &job.kernel.info().descriptor;
    let offset = (scratch.wave_bytes() * u64::from(wave.id)) as u32;
    let mut next = 0;
    let mut put = |words: &[u32]| {
        for word in words {
            // The hardware has 16 user SGPRs, and a descriptor cannot request more than fit.
            wave.set_slot(next, *word);
            next += 1;
        }
    };
    let pair = |value: u64| [value as u32, (value >> 32) as u32];
    if descriptor.private_segment_buffer() {
        // Swizzled, lane added, elements of 4 bytes, 64 lanes; unlimited, since every access is checked anyway.
        let [low, high] = pair(scratch.base());
        put(&[low, high & 0xffff | 1 << 31, u32::MAX, 1 << 23 | 3 << 21 | 1 << 19]);
    }
    if descriptor.dispatch_ptr() {
        put(&pair(job.packet));
    }
    if descriptor.queue_ptr() {
        put(&pair(job.queue));
    }
    if descriptor.kernarg_segment_ptr() {
        put(&pair(job.kernarg));
    }
    if descriptor.dispatch_id() {
        put(&pair(job.dispatch_id));
    }
    if descriptor.flat_scratch_init() {
        put(&pair(scratch.base()));
    }
    if descriptor.private_segment_size() {
        put(&[job.scratch]);
    }
    next = next.max(descriptor.user_sgpr_count() as u16);
    let mut put = |word: u32| {
        wave.set_slot(next, word);
        next += 1;
        next - 1
    };
    let mut position = [None; 3];
    for (d, wanted) in descriptor.workgroup_ids().into_iter().enumerate() {
        if wanted {
            position[d] = Some(put(group[d]));
        }
    }
    if descriptor.workgroup_info() {
        put(0);
    }
    if descriptor.private_segment() {
        put(offset);
    }
    position
}
