//! An image as a texture: rotated by an angle, each pixel blended by the device from the four nearest.
//!
//! `cargo run --example texture`

use hip::memory::array::{Array, ArrayShape};
use hip::texture::{AddressMode, FilterMode, Texture, TextureOptions};
use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, if_supported, kernels, open_device};

const SIDE: usize = 64;

/// Returns a pixel of a smooth image that is dark at its edges.
fn pixel(x: f64, y: f64) -> f64 {
    let (u, v) = (x / SIDE as f64, y / SIDE as f64);
    let bump = (u * (1.0 - u) * v * (1.0 - v) * 16.0).max(0.0);
    bump * (0.5 + 0.5 * (9.0 * u).sin() * (7.0 * v).cos())
}

fn main() -> Result {
    let device = open_device()?;
    let image: Vec<f32> =
        (0..SIDE * SIDE).map(|i| pixel((i % SIDE) as f64 + 0.5, (i / SIDE) as f64 + 0.5) as f32).collect();
    let shape = ArrayShape::D2(SIDE, SIDE);
    let Some(array) = if_supported(Array::from_slice(&device, shape, &image))? else { return Ok(()) };
    // Pixels outside of the image are black.
    let options = TextureOptions::new().filter(FilterMode::Linear).address(AddressMode::Border);
    let texture = Texture::from_array(&array, options)?;

    let turn = kernels!("texture").load(&device)?.kernel("turn")?;
    let stream = Stream::new(&device)?;
    let mut turned = DeviceBuffer::<f32>::zeroed(&device, SIDE * SIDE)?;
    let angle = 0.5f64;
    let (cosine, sine) = (angle.cos() as f32, angle.sin() as f32);
    let config = LaunchConfig::new((SIDE as u32 / 16, SIDE as u32 / 16), (16, 16));
    // SAFETY: the kernel reads the texture and writes one pixel for each thread that is inside.
    unsafe { turn.launch(&stream, config, (&texture, &mut turned, SIDE as i32, SIDE as i32, cosine, sine))? };

    let half = SIDE as f64 / 2.0;
    let mut worst = 0.0f64;
    for (i, got) in turned.to_vec()?.into_iter().enumerate() {
        let (u, v) = ((i % SIDE) as f64 + 0.5 - half, (i / SIDE) as f64 + 0.5 - half);
        let (x, y) = (angle.cos() * u - angle.sin() * v + half, angle.sin() * u + angle.cos() * v + half);
        let inside = (1.0..SIDE as f64 - 1.0).contains(&x) && (1.0..SIDE as f64 - 1.0).contains(&y);
        if inside {
            worst = worst.max((f64::from(got) - pixel(x, y)).abs());
        }
    }
    // Blending four pixels does not exactly give the smooth image.
    check(worst < 0.02, format_args!("a pixel is off by {worst}"))?;
    println!("texture: turned {SIDE} x {SIDE} pixels by {angle} rad, at most {worst:.4} off: all right");
    Ok(())
}
