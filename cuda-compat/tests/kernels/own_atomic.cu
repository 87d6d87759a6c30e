// What programs have for GPUs before compute capability 6.0.
#if __CUDA_ARCH__ < 600
__device__ double atomicAdd(double *address, double value)
{
    unsigned long long *bits = (unsigned long long *)address, old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}
#endif

extern "C" __global__ void own_double(double *sum)
{
    atomicAdd(sum, (double)threadIdx.x);
}
