//! Kernels that panic, or leave the grid before a barrier.

use hip_kernel::prelude::*;

/// Out of bounds where `y` is longer than `x`.
#[kernel]
pub fn out_of_bounds(x: &[u32], mut y: DisjointSlice<u32>) {
    y.set(|i| x[i] + 1);
}

/// Panics in the thread whose number the first element of `at` has. It writes to no memory.
#[kernel]
pub fn panics_at(at: &[u32]) {
    assert!(global_idx().x != at[0], "as asked");
}

/// Panics in the thread of element `at`, if there is one.
#[kernel]
pub fn says_why(at: u32, how: u32, mut y: DisjointSlice<u32>) {
    y.set(|i| {
        if i as u32 == at {
            let (none, bad): (Option<u32>, Result<u32, u32>) = (Some(how).filter(|how| *how > 9), Err(how));
            match how {
                0 => return none.expect("an element that is there"),
                1 => assert!(i == 0, "element {i} of {how}"),
                2 => return bad.unwrap(),
                _ => assert_eq!(i, 0),
            }
        }
        7
    });
}

/// Threads of block 1 leave by `how` before the barrier: 0: none; 1: all return; 2: one wave returns; 3: one thread
/// panics; 4: all panic; 5: one thread returns; 6: one wave returns between two barriers.
#[kernel]
pub fn leaves(how: u32, cells: AtomicSlice<u32>, mut out: DisjointSlice<u32>, grid: GridBarrier) {
    let (i, n, thread) = (global_idx().x as usize, global_dim().x as usize, thread_idx().x);
    if block_idx().x == 1 {
        match how {
            1 => return,
            2 if thread / wave::size() == 1 => return,
            3 => assert!(thread != 3),
            4 => panic!("all of block 1"),
            5 if thread == 70 => return,
            _ => {}
        }
    }
    cells[i].store(i as u32 + 1);
    grid.wait();
    if how == 6 && block_idx().x == 1 && thread / wave::size() == 1 {
        return;
    }
    let other = cells[n - 1 - i].load();
    grid.wait();
    out.set(|_| other + 1);
}

/// Each call has 256 bytes and more on the stack.
#[inline(never)]
pub fn deep(n: u32, x: &mut [u32; 64]) -> u32 {
    let mut mine = [n; 64];
    if n == 0 {
        return x[0];
    }
    mine[n as usize % 64] = n.wrapping_add(x[(n as usize + 1) % 64]);
    let result = deep(n - 1, &mut mine);
    result.wrapping_add(mine[result as usize % 64]).wrapping_add(x[result as usize % 64])
}

/// Calls itself `depth` times.
#[kernel(stack(24_576))]
pub fn recurse(depth: u32, mut out: DisjointSlice<u32>) {
    out.set(|i| deep(depth, &mut [i as u32; 64]));
}

/// Functions that are called by `dyn` alone.
pub trait Step {
    /// Adds something to `sum`, and goes on with `next`.
    fn step(&self, n: u32, sum: u32, next: &dyn Step) -> u32;
}

/// It has little on the stack.
pub struct Small(pub u32);
/// It has 2400 bytes on the stack, more than any function that is called by name.
pub struct Large(pub u32);

impl Step for Small {
    #[inline(never)]
    fn step(&self, n: u32, sum: u32, next: &dyn Step) -> u32 {
        if n == 0 { sum } else { next.step(n - 1, sum.wrapping_add(self.0), self) }
    }
}

impl Step for Large {
    #[inline(never)]
    fn step(&self, n: u32, sum: u32, next: &dyn Step) -> u32 {
        let mut mine = [self.0; 600];
        mine[n as usize * 7 % 600] = sum;
        let rest = if n == 0 { sum } else { next.step(n - 1, sum.wrapping_mul(3), self) };
        rest.wrapping_add(mine[rest as usize % 600])
    }
}

/// Goes through `depth` steps by `dyn`, every other of them a large one.
#[kernel(stack(24_576))]
pub fn steps(depth: u32, mut out: DisjointSlice<u32>) {
    out.set(|i| {
        let (small, large) = (Small(i as u32), Large(i as u32 + 1));
        let steps: [&dyn Step; 2] = [&small, &large];
        steps[i % 2].step(depth, i as u32, steps[1 - i % 2])
    });
}
