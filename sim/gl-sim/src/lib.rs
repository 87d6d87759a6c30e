//! A software libGL and libX11 for tests: the functions that ROCm's HIP runtime uses to share buffers and textures with
//! OpenGL, and those that a program needs to create some.
//!
//! It draws nothing. It implements what interop needs: displays, contexts that share objects, buffers and textures in
//! memory that another driver can map, and Mesa's entry points that export this memory (`GL/mesa_glinterop.h`). Memory
//! is an anonymous file where a GPU driver has a dma-buf; `hsa-sim` maps such a file where ROCm's library maps a
//! dma-buf.
//!
//! The display `:N` is on the N-th software GPU; a display with another name is on a GPU of another vendor. Behaviour
//! that programs can observe follows real drivers: objects belong to a group of contexts, a new data store is new
//! memory, an error is kept until it is queried, and a call without a context does nothing.
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
