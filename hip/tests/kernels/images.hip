// Textures and surfaces, one fetch a thread. `xs`, `ys` and `zs` are the coordinates.
#define EACH(i) const unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)

extern "C" __global__ void fetch_buffer(hipTextureObject_t t, float* out, unsigned n) {
    EACH(i) out[i] = tex1Dfetch<float>(t, (int)i);
}

extern "C" __global__ void fetch_buffer_bytes(hipTextureObject_t t, float4* out, unsigned n) {
    EACH(i) out[i] = tex1Dfetch<float4>(t, (int)i);
}

extern "C" __global__ void sample_1d(hipTextureObject_t t, const float* xs, float* out, unsigned n) {
    EACH(i) out[i] = tex1D<float>(t, xs[i]);
}

extern "C" __global__ void sample_2d(hipTextureObject_t t, const float* xs, const float* ys, float* out, unsigned n) {
    EACH(i) out[i] = tex2D<float>(t, xs[i], ys[i]);
}

extern "C" __global__ void sample_2d_four(hipTextureObject_t t, const float* xs, const float* ys, float4* out,
                                          unsigned n) {
    EACH(i) out[i] = tex2D<float4>(t, xs[i], ys[i]);
}

extern "C" __global__ void sample_2d_short(hipTextureObject_t t, const float* xs, const float* ys, short2* out,
                                           unsigned n) {
    EACH(i) out[i] = tex2D<short2>(t, xs[i], ys[i]);
}

extern "C" __global__ void sample_3d(hipTextureObject_t t, const float* xs, const float* ys, const float* zs, float* out,
                                     unsigned n) {
    EACH(i) out[i] = tex3D<float>(t, xs[i], ys[i], zs[i]);
}

extern "C" __global__ void sample_1d_layered(hipTextureObject_t t, const float* xs, int layer, float* out, unsigned n) {
    EACH(i) out[i] = tex1DLayered<float>(t, xs[i], layer);
}

extern "C" __global__ void sample_2d_layered(hipTextureObject_t t, const float* xs, const float* ys, int layer,
                                             float* out, unsigned n) {
    EACH(i) out[i] = tex2DLayered<float>(t, xs[i], ys[i], layer);
}

extern "C" __global__ void transpose_surface(hipSurfaceObject_t from, hipSurfaceObject_t to, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float value;
        surf2Dread(&value, from, x * (int)sizeof(float), y);
        surf2Dwrite(value + 0.5f, to, y * (int)sizeof(float), x);
    }
}

extern "C" __global__ void double_surface_3d(hipSurfaceObject_t s, int width, int height, int depth) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    for (int z = 0; x < width && y < height && z < depth; ++z) {
        uint2 value;
        surf3Dread(&value, s, x * (int)sizeof(uint2), y, z);
        surf3Dwrite(make_uint2(2 * value.x, value.y + 1), s, x * (int)sizeof(uint2), y, z);
    }
}

extern "C" __global__ void sample_cube(hipTextureObject_t t, const float* xs, const float* ys, const float* zs,
                                       float* out, unsigned n) {
    EACH(i) out[i] = texCubemap<float>(t, xs[i], ys[i], zs[i]);
}

extern "C" __global__ void sample_cube_layered(hipTextureObject_t t, const float* xs, const float* ys, const float* zs,
                                               int layer, float* out, unsigned n) {
    EACH(i) out[i] = texCubemapLayered<float>(t, xs[i], ys[i], zs[i], layer);
}

// Adds `by` to each texel of the faces.
extern "C" __global__ void add_to_cube_surface(hipSurfaceObject_t s, int width, float by) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    for (int face = 0; x < width && y < width && face < 6; ++face) {
        float value;
        surfCubemapread(&value, s, x * (int)sizeof(float), y, face);
        surfCubemapwrite(value + by, s, x * (int)sizeof(float), y, face);
    }
}
