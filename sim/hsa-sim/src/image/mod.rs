//! The image extension's images and samplers. `amdgpu_sim::image` defines the descriptors that kernels read.
//!
//! Every image is linear: rows of texels, and planes of rows. A runtime may choose that layout for opaque images too. A
//! handle is the address of the descriptor, as in AMD's runtime: HIP copies it into texture objects, and kernels read
//! it.

mod convert;
mod foreign;
mod objects;
mod transfer;

pub(crate) use convert::{capability, info, kind, linear, opaque, sampler};
pub(crate) use foreign::layout_of_words;
pub(crate) use objects::{Image, Objects};
pub(crate) use transfer::{Box3, Linear, clear, copy, export, import};
