//! Random graphs.

use super::sampling::MOST_SAMPLED;
use crate::graph::{Result, invalid};
use crate::random::Random;

/// The parameters of an R-MAT graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rmat {
    /// The graph has `1 << scale` vertices.
    pub scale: u32,
    /// The number of edges, including repeated ones.
    pub edges: usize,
    /// The probability of the upper left quarter of the adjacency matrix.
    pub a: f64,
    /// The probability of the upper right quarter.
    pub b: f64,
    /// The probability of the lower left quarter.
    pub c: f64,
    /// Reverses edges above the diagonal, so that all edges are below it.
    pub clip_and_flip: bool,
    /// Renames vertices, so that their degree does not correlate with their number.
    pub scramble: bool,
}

/// The sources and destinations of the edges of an R-MAT graph.
///
/// # Errors
/// Returns an error if the scale is above 31, the probabilities are invalid, or there would be too many edges.
pub fn rmat(options: Rmat, random: &mut Random) -> Result<(Vec<i64>, Vec<i64>)> {
    let Rmat { scale, edges, a, b, c, clip_and_flip, scramble } = options;
    if scale > 31 {
        return Err(invalid(format!("the scale is {scale}, and must be at most 31")));
    }
    if !(a >= 0.0 && b >= 0.0 && c >= 0.0 && a + b + c <= 1.0) {
        return Err(invalid(format!(
            "a, b and c are {a}, {b} and {c}: each must be at least 0, and their sum at most 1"
        )));
    }
    if edges > MOST_SAMPLED {
        return Err(invalid(format!("{edges} edges: the reference engine generates at most {MOST_SAMPLED}")));
    }
    let (mut sources, mut destinations) = (Vec::with_capacity(edges), Vec::with_capacity(edges));
    for _ in 0..edges {
        let (mut from, mut to) = (0_u64, 0_u64);
        for bit in (0..scale).rev() {
            let at = random.unit();
            let (mut down, mut right) = (at >= a + b, (at >= a && at < a + b) || at >= a + b + c);
            if clip_and_flip && from == to && right && !down {
                (down, right) = (right, down);
            }
            from |= u64::from(down) << bit;
            to |= u64::from(right) << bit;
        }
        if scramble {
            (from, to) = (self::scramble(from, scale), self::scramble(to, scale));
        }
        sources.push(from as i64);
        destinations.push(to as i64);
    }
    Ok((sources, destinations))
}

/// A permutation of the numbers below `1 << scale`.
fn scramble(value: u64, scale: u32) -> u64 {
    if scale == 0 {
        return value;
    }
    let mask = (1_u64 << scale) - 1;
    let half = scale.div_ceil(2);
    let mut value = value;
    for odd in [0x9e37_79b9_7f4a_7c15_u64, 0xc2b2_ae3d_27d4_eb4f] {
        value = value.wrapping_mul(odd) & mask;
        value ^= value >> half;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrambling_is_a_permutation() {
        for scale in 0..12 {
            let mut all: Vec<u64> = (0..1 << scale).map(|value| scramble(value, scale)).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..1 << scale), "{scale}");
        }
    }
}
