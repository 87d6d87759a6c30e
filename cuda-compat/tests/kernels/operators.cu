// Operators of vectors that are not HIP's.
inline __device__ float4 operator*(float4 a, float4 b) { return make_float4(10 * a.x * b.x, a.y, a.z, a.w); }
inline __device__ float4 operator*(const float4 &a, float b) { return make_float4(100 * a.x * b, a.y, a.z, a.w); }
inline __device__ float4 operator*(float b, float4 a) { return make_float4(1000 * a.x * b, a.y, a.z, a.w); }
inline __device__ float4 operator+(float4 a, float4 b) { return make_float4(7 + a.x + b.x, a.y, a.z, a.w); }
inline __device__ void operator+=(float4 &a, float4 b) { a.x += b.x + 5; }
inline __device__ float3 operator-(const float3 &a, const float3 &b) { return make_float3(a.x - b.x + 1, 0, 0); }
inline __device__ float3 operator-(float3 a) { return make_float3(3 - a.x, 0, 0); }
inline __device__ int2 operator/(int2 a, int b) { return make_int2(a.x / b + 20, 0); }
inline __device__ bool operator==(int2 a, int2 b) { return a.x == b.x; }

extern "C" __global__ void operators(float *out)
{
    float4 a = make_float4(1, 2, 3, 4), b = make_float4(2, 2, 2, 2);
    out[0] = (a * b).x;
    out[1] = (a * 2.0f).x;
    out[2] = (2.0f * a).x;
    out[3] = (a + b).x;
    a += b;
    out[4] = a.x;
    float3 c = make_float3(5, 6, 7), d = make_float3(1, 1, 1);
    out[5] = (c - d).x;
    out[6] = (-c).x;
    out[7] = (make_int2(8, 9) / 2).x;
    out[8] = make_int2(1, 2) == make_int2(1, 3);
    // HIP's, where the program has none.
    out[9] = (make_float2(4, 4) + make_float2(1, 1)).x;
}
