//! The Mandelbrot set.

use hip_kernel::prelude::*;

/// The part of the plane that the picture shows.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct View {
    /// The smallest real and imaginary part.
    pub corner: [f32; 2],
    /// The distance between neighbouring pixels.
    pub step: [f32; 2],
}

/// Returns the number of steps after which a point is known to escape; `limit` if it is not. The host calls it, too.
#[must_use]
pub fn escape(view: View, x: usize, y: usize, limit: u32) -> u32 {
    let (a, b) = (view.corner[0] + x as f32 * view.step[0], view.corner[1] + y as f32 * view.step[1]);
    let (mut re, mut im) = (0.0f32, 0.0f32);
    for step in 0..limit {
        if re * re + im * im > 4.0 {
            return step;
        }
        (re, im) = (re * re - im * im + a, 2.0 * re * im + b);
    }
    limit
}

/// One thread per pixel.
#[kernel]
pub fn mandelbrot(mut picture: DisjointGrid<'_, u32>, view: View, limit: u32) {
    picture.set(|x, y| escape(view, x, y, limit));
}
