//! Exported macros, which expand to items of every layer below.

mod kernel;
