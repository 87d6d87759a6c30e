//! Bodies that attract each other.

use hip_kernel::prelude::*;

/// The number of threads of a block, and of bodies in its shared memory.
pub const BLOCK: usize = 128;

/// A position and a mass.
#[derive(Clone, Copy, Debug, Default, DeviceCopy)]
#[repr(C, align(16))]
pub struct Body {
    /// Its position.
    pub position: [f32; 3],
    /// Its mass, times the gravitational constant.
    pub mass: f32,
}

/// Moves all bodies by one time step, from `bodies` to `next`. The number of bodies must be a multiple of [`BLOCK`].
#[kernel(same_len(bodies, next, velocities), max_threads(128))]
pub fn nbody(
    bodies: &[Body],
    mut next: DisjointSlice<'_, Body>,
    mut velocities: DisjointSlice<'_, [f32; 4]>,
    step: f32,
    softening: f32,
    tile: Shared<'_, [Body; BLOCK]>,
) {
    assert!(bodies.len() % BLOCK == 0 && block_dim().x as usize == BLOCK);
    let (Some((i, next)), Some((_, velocity))) = (next.mine(), velocities.mine()) else { return };
    let me = bodies[i];
    let mut force = [0.0f32; 3];
    for first in (0..bodies.len()).step_by(BLOCK) {
        // SAFETY: each thread writes its own element, and the barriers keep all reads apart from the writes.
        unsafe { tile.set(thread_idx().x as usize, bodies[first + thread_idx().x as usize]) };
        barrier();
        for j in 0..BLOCK {
            // SAFETY: as above.
            let other = unsafe { tile.get(j) };
            let d: [f32; 3] = core::array::from_fn(|k| other.position[k] - me.position[k]);
            let squared = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2].mul_add(d[2], softening)));
            let inverse = squared.rsqrt();
            let scale = other.mass * inverse * inverse * inverse;
            force.iter_mut().zip(d).for_each(|(force, d)| *force = d.mul_add(scale, *force));
        }
        barrier();
    }
    for k in 0..3 {
        velocity[k] += force[k] * step;
    }
    *next = Body { position: core::array::from_fn(|k| velocity[k].mul_add(step, me.position[k])), mass: me.mass };
}
