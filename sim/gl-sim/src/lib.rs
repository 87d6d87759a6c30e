//! A software libGL and libX11 for tests: what ROCm's HIP runtime looks up of them to share buffers and textures with OpenGL, and what
//! a program needs to make some.
//!
//! It draws nothing. What it has is what interop is about: displays, contexts that share their objects, buffers and textures in memory
//! that another driver can map, and Mesa's entry points that hand this memory out (`GL/mesa_glinterop.h`). Memory is an anonymous file
//! where a GPU's driver has a dma-buf; `hsa-sim` maps the one where ROCm's own library maps the other.
//!
//! The display `:N` is on the N-th software GPU; a display of another name is on a GPU that is not AMD's. What a real driver does is
//! kept to in what programs can meet: objects belong to a group of contexts, a new data store is new memory, an error stays until asked for, and a
//! call with no context does nothing.
#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "the functions are C's")]

mod formats;
mod gl;
mod glx;
mod interop;
mod procs;
mod state;
mod storage;
mod x11;
