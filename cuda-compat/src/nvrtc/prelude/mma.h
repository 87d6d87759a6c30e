#error "mma.h: AMD GPUs have no warp matrix functions of CUDA. Use __builtin_amdgcn_mfma_*, rocWMMA, or cuBLASLt on the host"
