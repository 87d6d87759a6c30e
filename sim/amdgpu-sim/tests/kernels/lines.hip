// A kernel with debug information, whose lines the tests know.
__device__ inline float cube(float x) {
    return x * x * x; // line 3
}

extern "C" __global__ void cubes(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; k++)
        out[i + k] = cube(in[i + k]) + 1.0f; // line 9
}
