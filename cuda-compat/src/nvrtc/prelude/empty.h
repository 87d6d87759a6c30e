// HIPRTC has what this header of CUDA or C++ declares, or nothing of it has a meaning in a kernel.
#pragma once
