//! Exported macros, which may expand to items of all lower layers.

mod kernel;
