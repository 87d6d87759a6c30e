extern "C" __global__ void prints(int n)
{
    if (threadIdx.x == 1)
        printf("block %d of %u: %5.2f %s\n", (int)blockIdx.x, gridDim.x, n * 0.5, "done");
}
