//! The functions over a recording stand-in of the driver, and the layouts of structures.

mod functions;
mod layouts;
mod stand_in;
