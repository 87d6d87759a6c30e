//! Images and samplers: what the image extension knows of them, and the descriptors that kernels read.
//!
//! Every image is linear, rows of texels and planes of rows, which is a layout that a runtime is free to choose for those that it calls
//! opaque too. A handle is the address of the descriptor, as on the real thing: HIP copies it into texture objects, and kernels read it.

mod descriptor;
mod format;
mod layout;
mod objects;
mod transfer;

pub(crate) use descriptor::{image_words, layout_of_words, sampler_words};
pub(crate) use format::Format;
pub(crate) use layout::{Kind, LIMITS, Layout};
pub(crate) use objects::{Image, Objects};
pub(crate) use transfer::{Box3, Linear, clear, copy, export, import};
