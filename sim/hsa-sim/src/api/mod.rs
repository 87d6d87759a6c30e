//! HSA's functions. Each validates its arguments and catches panics.

mod agent;
mod executable;
mod function;
mod image;
mod interop;
mod ipc;
mod isa;
mod loader;
mod memory;
mod queue;
mod signal;
mod svm;
mod system;
mod unsupported;
mod vmem;

pub use function::Export;

const LISTS: [&[Export]; 17] = [
    agent::FUNCTIONS,
    executable::FUNCTIONS,
    image::FUNCTIONS,
    interop::FUNCTIONS,
    ipc::FUNCTIONS,
    isa::FUNCTIONS,
    loader::FUNCTIONS,
    memory::FUNCTIONS,
    queue::FUNCTIONS,
    queue::INDEX_FUNCTIONS,
    signal::FUNCTIONS,
    signal::VALUE_FUNCTIONS,
    signal::WAIT_FUNCTIONS,
    svm::FUNCTIONS,
    system::FUNCTIONS,
    unsupported::FUNCTIONS,
    vmem::FUNCTIONS,
];

const fn count() -> usize {
    let (mut at, mut count) = (0, 0);
    while at < LISTS.len() {
        count += LISTS[at].len();
        at += 1;
    }
    count
}

/// Every function that the shared library exports. The library's binary refers to this list, so that the linker keeps
/// the functions.
pub static EXPORTS: &[Export] = &{
    let mut all = [LISTS[0][0]; count()];
    let (mut list, mut next) = (0, 0);
    while list < LISTS.len() {
        let mut at = 0;
        while at < LISTS[list].len() {
            all[next] = LISTS[list][at];
            next += 1;
            at += 1;
        }
        list += 1;
    }
    all
};
