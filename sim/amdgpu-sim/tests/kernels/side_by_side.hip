// Kernels that lack a barrier where a chip never shows it, as the waves of a workgroup go on side by side there. tests/side_by_side.rs
// runs them.

#define K extern "C" __global__ void

// A pivot that every wave reads, and that the first replaces by its square root.
K pivots(const float *in, float *out, unsigned steps) {
    __shared__ float a[64];
    if (threadIdx.x < steps) a[threadIdx.x] = in[threadIdx.x];
    float sum = 0;
    for (unsigned k = 0; k < steps; k++) {
        __syncthreads();
        float pivot = a[k];
        sum += pivot;
        if (threadIdx.x == 0) a[k] = sqrtf(pivot);
    }
    __syncthreads();
    out[threadIdx.x] = sum;
    if (threadIdx.x < steps) out[blockDim.x + threadIdx.x] = a[threadIdx.x];
}
