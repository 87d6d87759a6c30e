//! Creating images: texel formats, memory layouts, and the descriptors that kernels read.
//!
//! Every image is linear: rows of texels, and planes of rows. A runtime may choose that layout freely. The descriptors
//! are those of AMD's CDNA2 ISA manual. The words after an image descriptor are read by AMD's device libraries for
//! properties that the descriptor does not hold in plain form.
//!
//! ```
//! use amdgpu_sim::image::{ChannelOrder, ChannelType, Format, Kind, Layout};
//!
//! let format = Format::new(ChannelType::Float, ChannelOrder::R).unwrap();
//! let layout = Layout::opaque(Kind::Plane, format, [65, 3, 1])?;
//! assert_eq!((layout.pitch(), layout.bytes()), (512, 1536));
//! let words = layout.words(0x1000);
//! assert_eq!(words[0], 0x10);
//! # Ok::<(), amdgpu_sim::image::ImageError>(())
//! ```

mod descriptor;
mod format;
mod layout;

pub use descriptor::{AddressMode, IMAGE_WORDS, SAMPLER_WORDS, Sampler};
pub use format::{ChannelOrder, ChannelType, Format};
pub use layout::{ALIGNMENT, ImageError, Kind, Layout, MOST_DEPTH, MOST_LAYERS, MOST_SIDE, MOST_TEXELS_OF_BUFFER};
