// One kernel in every code object version: hidden arguments differ between them.

extern "C" __global__ void geometry(unsigned *out) {
    unsigned i = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (t == 0) {
        out[4 * i] = blockDim.x | blockDim.y << 16;
        out[4 * i + 1] = blockDim.z;
        out[4 * i + 2] = gridDim.x | gridDim.y << 16;
        out[4 * i + 3] = gridDim.z;
    }
}
