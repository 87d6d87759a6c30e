// Turns an image by an angle: each thread makes one pixel, blended from the four nearest.
extern "C" __global__ void turn(hipTextureObject_t from, float* to, int width, int height, float cosine, float sine) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
#if !defined(__HIP_NO_IMAGE_SUPPORT) || !__HIP_NO_IMAGE_SUPPORT
    // From the middle of the image, in pixels.
    const float u = x + 0.5f - 0.5f * width, v = y + 0.5f - 0.5f * height;
    to[y * width + x] = tex2D<float>(from, cosine * u - sine * v + 0.5f * width, sine * u + cosine * v + 0.5f * height);
#endif
}
