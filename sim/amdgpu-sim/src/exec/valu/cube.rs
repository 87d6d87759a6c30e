//! Faces and coordinates of cube maps.

use super::lane_loop::operations;

/// The axis with the largest magnitude; ties prefer z, then y, then x.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Major {
    X,
    Y,
    Z,
}

#[inline(always)]
fn major(x: f32, y: f32, z: f32) -> Major {
    let (x, y, z) = (x.abs(), y.abs(), z.abs());
    if z >= x && z >= y {
        Major::Z
    } else if y >= x {
        Major::Y
    } else {
        Major::X
    }
}

#[inline(always)]
fn face(x: f32, y: f32, z: f32) -> f32 {
    let (positive, along) = match major(x, y, z) {
        Major::X => (0.0, x),
        Major::Y => (2.0, y),
        Major::Z => (4.0, z),
    };
    if along < 0.0 { positive + 1.0 } else { positive }
}

#[inline(always)]
fn across(x: f32, y: f32, z: f32) -> f32 {
    match major(x, y, z) {
        Major::Z if z < 0.0 => -x,
        Major::Z | Major::Y => x,
        Major::X if x < 0.0 => z,
        Major::X => -z,
    }
}

#[inline(always)]
fn down(x: f32, y: f32, z: f32) -> f32 {
    match major(x, y, z) {
        Major::Y if y < 0.0 => -z,
        Major::Y => z,
        Major::Z | Major::X => -y,
    }
}

#[inline(always)]
fn twice(x: f32, y: f32, z: f32) -> f32 {
    2.0 * match major(x, y, z) {
        Major::X => x,
        Major::Y => y,
        Major::Z => z,
    }
}

operations! { table;
    v_cubeid_f32(a: f32, b: f32, c: f32) -> f32 = face(a, b, c);
    v_cubesc_f32(a: f32, b: f32, c: f32) -> f32 = across(a, b, c);
    v_cubetc_f32(a: f32, b: f32, c: f32) -> f32 = down(a, b, c);
    v_cubema_f32(a: f32, b: f32, c: f32) -> f32 = twice(a, b, c);
}
