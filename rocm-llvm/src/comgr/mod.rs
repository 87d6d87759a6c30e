//! The code object manager: one-call pipelines from source to code objects and back.
