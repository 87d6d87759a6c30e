// cuda.h, cuda_runtime.h and others of CUDA's API: in a program for NVRTC they give types and versions. The functions are the host's: host.h.
#pragma once

#define CUDA_VERSION 12080
#define CUDART_VERSION 12080

#ifdef CUDA_COMPAT_HOST
#include "cuda_compat/host.h"
#endif
