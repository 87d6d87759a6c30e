//! Starts programs and their child processes on a ROCm release that has its own C library.
//!
//! Such a release's libraries do not work with an older host's C library, so a program is started through the release's
//! loader. [`Launcher`] makes that command. The loader covers one process only; the rest of this crate is for a shared
//! library that the loader preloads into it:
//!
//! - [`exec_functions!`] defines the functions that start programs (`execve`, `posix_spawn`, `system`, ...). They start
//!   dynamically linked programs and scripts through the loader of this process, with the same options.
//! - [`functions!`] defines functions that take a path. [`Place::of_this_program`] is the redirection that makes
//!   `/proc/self/exe` the program instead of the loader.
//!
//! The macros define the functions in the crate that uses them, so that a program that merely depends on this crate
//! keeps the C library's. The options come from the command line of the process (the loader's own), not from the
//! environment: a program may start children with an empty one.
//!
//! - `kind`: how `exec` treats a file. `launch`: [`Launcher`]. Only on Linux on x86-64: `real`: the C library's own
//!   functions. `process`: the loader and program of this process. `place`: redirected paths. `functions`: the macro
//!   for functions that take a path. `arguments`: argument lists. `children`: starting programs.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod kind;
mod launch;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod arguments;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[doc(hidden)] // For the macros.
pub mod children;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod exec_functions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod functions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod place;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod process;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod real;

pub use launch::{Launcher, NotStarted};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use functions::{Failure, Function, missing};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[doc(hidden)] // For the macros.
pub use libc;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use place::Place;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use process::read_link;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use real::Real;
