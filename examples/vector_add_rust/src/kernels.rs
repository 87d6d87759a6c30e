//! The kernels: a module of the program, which is also compiled for the GPU.

use hip_kernel::prelude::*;

/// `c = a + b`
#[kernel(same_len(a, b, c))]
pub(crate) fn vector_add(a: &[f32], b: &[f32], mut c: DisjointSlice<'_, f32>) {
    c.set(|i| a[i] + b[i]);
}

/// How soon each point of a picture escapes: the Mandelbrot set.
#[kernel]
pub(crate) fn mandelbrot(mut picture: DisjointGrid<'_, u8>, limit: u8) {
    let (width, height) = (picture.width() as f32, picture.height() as f32);
    picture.set(|x, y| {
        let (a, b) = (x as f32 / width * 3.0 - 2.2, y as f32 / height * 2.4 - 1.2);
        let (mut re, mut im, mut steps) = (0.0f32, 0.0f32, 0);
        while steps < limit && re * re + im * im < 4.0 {
            (re, im) = (re * re - im * im + a, 2.0 * re * im + b);
            steps += 1;
        }
        steps
    });
}
