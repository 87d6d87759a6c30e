//! Finds, checks and loads an AMD ROCm installation at run time.
