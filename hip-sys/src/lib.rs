//! Raw bindings to AMD's HIP for ROCm 5.7 to 10.0, loaded at run time.
