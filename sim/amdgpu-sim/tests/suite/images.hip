// Textures and surfaces: what HIP's functions make of image instructions.

static __device__ unsigned item() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void lines(hipTextureObject_t texture, const float4* at, float4* out, unsigned n) {
    unsigned i = item();
    if (i < n) out[i] = tex1D<float4>(texture, at[i].x);
}

extern "C" __global__ void planes(hipTextureObject_t texture, const float4* at, float4* out, unsigned n) {
    unsigned i = item();
    if (i < n) out[i] = tex2D<float4>(texture, at[i].x, at[i].y);
}

extern "C" __global__ void volumes(hipTextureObject_t texture, const float4* at, float4* out, unsigned n) {
    unsigned i = item();
    if (i < n) out[i] = tex3D<float4>(texture, at[i].x, at[i].y, at[i].z);
}

extern "C" __global__ void line_layers(hipTextureObject_t texture, const float4* at, float4* out, unsigned n) {
    unsigned i = item();
    if (i < n) out[i] = tex1DLayered<float4>(texture, at[i].x, (int)at[i].z);
}

extern "C" __global__ void plane_layers(hipTextureObject_t texture, const float4* at, float4* out, unsigned n) {
    unsigned i = item();
    if (i < n) out[i] = tex2DLayered<float4>(texture, at[i].x, at[i].y, (int)at[i].z);
}

extern "C" __global__ void cubes(hipTextureObject_t texture, const float4* at, float4* out, unsigned n) {
    unsigned i = item();
    if (i < n) out[i] = texCubemap<float4>(texture, at[i].x, at[i].y, at[i].z);
}

extern "C" __global__ void integers(hipTextureObject_t texture, const float4* at, uchar4* out, unsigned n) {
    unsigned i = item();
    if (i < n) out[i] = tex2D<uchar4>(texture, at[i].x, at[i].y);
}

// Surfaces count bytes along a row.
extern "C" __global__ void flip(hipSurfaceObject_t from, hipSurfaceObject_t to, int width, int height) {
    int x = item() % width, y = item() / width;
    if (y >= height) return;
    float4 texel;
    surf2Dread(&texel, from, x * 16, y);
    texel.w += 1;
    surf2Dwrite(texel, to, (width - 1 - x) * 16, height - 1 - y);
}

extern "C" __global__ void flip_line(hipSurfaceObject_t from, hipSurfaceObject_t to, int width) {
    int x = item();
    if (x >= width) return;
    int texel;
    surf1Dread(&texel, from, x * 4);
    surf1Dwrite(texel * 3, to, (width - 1 - x) * 4);
}

extern "C" __global__ void turn(hipSurfaceObject_t from, hipSurfaceObject_t to, int side) {
    int x = item() % side, y = item() / side % side, z = item() / side / side;
    if (z >= side) return;
    ushort2 texel;
    surf3Dread(&texel, from, x * 4, y, z);
    surf3Dwrite(make_ushort2(texel.y, texel.x), to, z * 4, x, y);
}

extern "C" __global__ void shuffle_layers(hipSurfaceObject_t from, hipSurfaceObject_t to, int side, int layers) {
    int x = item() % side, y = item() / side % side, layer = item() / side / side;
    if (layer >= layers) return;
    uchar4 texel;
    surf2DLayeredread(&texel, from, x * 4, y, layer);
    surf2DLayeredwrite(texel, to, y * 4, x, layers - 1 - layer);
}
