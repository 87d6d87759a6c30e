//! Compile HIP C++ kernels at run time, or ship them compiled for several AMD GPUs.
