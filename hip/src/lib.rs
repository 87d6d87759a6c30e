//! Safe Rust for AMD GPUs: devices, memory, streams, modules and kernels over HIP.
