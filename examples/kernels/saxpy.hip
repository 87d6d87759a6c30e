// y[i] = alpha * x[i] + y[i], each thread walking the vector in strides of the whole grid.
extern "C" __global__ void saxpy(float alpha, const float *x, float *y, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = alpha * x[i] + y[i];
}
