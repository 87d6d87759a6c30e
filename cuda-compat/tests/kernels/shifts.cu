// Shifts by as many bits as there are, and more.
struct Bits {
    unsigned long long word;
    __device__ Bits operator<<(int by) const { return {word * 1000 + by}; }
};
enum Flag { NONE, FLAG };
template <int AMOUNT> struct Constant { static constexpr int value = 1 << AMOUNT; };
template <class T> __device__ T shifted(T value, int by) { return value << by; }
#define BIT(n) (1u << (n))

extern "C" __global__ void words(unsigned *out)
{
    unsigned t = threadIdx.x;
    out[t] = 1u << t;
    out[64 + t] = (1u << (t + 1)) - 1;
    out[128 + t] = 0xffffffffu >> t;
    out[192 + t] = (unsigned)((int)0x80000000 >> t);
    out[256 + t] = BIT(t - 1 + 1) + shifted(3u, t) + (t >> t == 0);
    unsigned own = 5;
    own <<= t;
    own >>= t > 31 ? t : t;
    out[320 + t] = own;
    out[384 + t] = (unsigned)(0x40000000 >> t + 1);
}

extern "C" __global__ void longs(unsigned long long *out)
{
    unsigned t = 2 * threadIdx.x;
    out[threadIdx.x] = 1ull << t;
    out[64 + threadIdx.x] = ~0ull >> t;
    out[128 + threadIdx.x] = (unsigned long long)(-5ll >> t);
    out[192 + threadIdx.x] = (Bits{7} << t).word;
    out[256 + threadIdx.x] = (FLAG << t) + Constant<4>::value + ((unsigned char)200 << t % 8);
}
