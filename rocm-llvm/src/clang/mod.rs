//! Cursors over libclang.
