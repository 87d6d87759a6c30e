//! Images and samplers: what the image extension knows of them. Their descriptors, which kernels read, are `amdgpu_sim::image`'s.
//!
//! Every image is linear, rows of texels and planes of rows, which is a layout that a runtime is free to choose for those that it calls
//! opaque too. A handle is the address of the descriptor, as on the real thing: HIP copies it into texture objects, and kernels read it.

mod convert;
mod foreign;
mod objects;
mod transfer;

pub(crate) use convert::{capability, info, kind, linear, opaque, sampler};
pub(crate) use foreign::layout_of_words;
pub(crate) use objects::{Image, Objects};
pub(crate) use transfer::{Box3, Linear, clear, copy, export, import};
