// Kernels that a test marks as run by the runtime, when the module is loaded and unloaded. Compiled as kernels.hip is.

__device__ unsigned begun = 0;
__device__ unsigned* out;

extern "C" __global__ void begin() { begun += 1; }

extern "C" __global__ void tell(unsigned* p) { out = p; }

extern "C" __global__ void end() { *out = 7; }
