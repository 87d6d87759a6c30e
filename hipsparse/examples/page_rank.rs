//! PageRank: finds the most important pages of a small web, with products of a sparse matrix and a vector.
//!
//! `cargo run -p hipsparse --example page_rank`, with an AMD GPU and hipSPARSE; without:
//! `rocm-sdk install 7.2 --with hipsparse`, then `hip-sim run --rocm 7.2 -- target/debug/examples/page_rank`

use hip::{Device, DeviceBuffer, Stream};
use hipsparse::{Base, Coo, Csr, Sparse};

/// Number of pages.
const N: usize = 300;
/// The probability that a reader follows a link instead of jumping to any page.
const DAMPING: f64 = 0.85;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let sparse = Sparse::new(&Stream::new(&device)?)?;
    let links = web();
    // Entry (to, from) is the probability that a reader of `from` goes to `to`.
    let of = |page: usize| links.iter().filter(|(from, _)| *from == page).count();
    let chances: Vec<f64> = links.iter().map(|(from, _)| 1.0 / of(*from) as f64).collect();
    let to: Vec<i32> = links.iter().map(|(_, to)| *to as i32).collect();
    let from: Vec<i32> = links.iter().map(|(from, _)| *from as i32).collect();
    let matrix = sparse.sort(Coo::from_host(&device, (N, N), Base::Zero, &to, &from, &chances)?)?;
    let matrix: Csr<f64> = sparse.coo_to_csr(&matrix)?;

    // rank ← d A rank + (1 - d) / n, until it no longer changes.
    let start = vec![1.0 / N as f64; N];
    let jump = DeviceBuffer::from_slice(&device, &[(1.0 - DAMPING) / N as f64; N])?;
    let mut rank = DeviceBuffer::from_slice(&device, &start)?;
    let mut next = DeviceBuffer::<f64>::zeroed(&device, N)?;
    let mut plan = sparse.spmv_plan(&matrix)?;
    let mut ranks = start;
    let mut rounds = 0;
    loop {
        next.copy_from_device_async(sparse.stream(), &jump)?;
        plan.run(DAMPING, &rank, 1.0, &mut next)?;
        std::mem::swap(&mut rank, &mut next);
        let now = rank.to_vec()?;
        let change: f64 = now.iter().zip(&ranks).map(|(now, before)| (now - before).abs()).sum();
        ranks = now;
        rounds += 1;
        if change < 1e-12 {
            break;
        }
        if rounds == 300 {
            return Err(format!("after {rounds} rounds, ranks still change by {change:e}").into());
        }
    }
    let sum: f64 = ranks.iter().sum();
    if sum.is_nan() || (sum - 1.0).abs() > 1e-10 {
        return Err(format!("the ranks add up to {sum}").into());
    }
    let mut pages: Vec<usize> = (0..N).collect();
    pages.sort_by(|a, b| ranks[*b].total_cmp(&ranks[*a]));
    // All pages link to the first one.
    if pages[0] != 0 {
        return Err(format!("page {} comes first", pages[0]).into());
    }
    let best: Vec<String> = pages.iter().take(3).map(|page| format!("{page} ({:.4})", ranks[*page])).collect();
    println!("page_rank: {} links, {rounds} rounds; the first pages are {}", links.len(), best.join(", "));
    Ok(())
}

/// Links between pages: each page links to the first one, the next one, and others that a linear congruential generator
/// chooses.
fn web() -> Vec<(usize, usize)> {
    let mut state = 1_u32;
    let mut links = Vec::new();
    for from in 0..N {
        links.push((from, (from + 1) % N));
        if from != 0 && from != N - 1 {
            links.push((from, 0));
        }
        for _ in 0..4 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Pages with small numbers have more incoming links.
            let part = f64::from(state) / f64::from(u32::MAX);
            links.push((from, (part * part * (N - 1) as f64) as usize));
        }
    }
    links.sort_unstable();
    links.dedup();
    links
}
