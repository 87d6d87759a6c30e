// Texture and surface objects.

extern "C" __global__ void fetch(cudaTextureObject_t texture, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<float>(texture, n - 1 - i) * 2.0f;
}

extern "C" __global__ void filtered(cudaTextureObject_t texture, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = tex2D<float>(texture, x + 1.0f, y + 0.5f);
}
