// A producer and a consumer: each runs on a stream of its own, with an event between them.
extern "C" __global__ void fill_squares(float *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (float)i * (float)i;
}

extern "C" __global__ void scale(const float *in, float *out, float factor, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * factor;
}
