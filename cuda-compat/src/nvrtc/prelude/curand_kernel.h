#error "curand_kernel.h: random numbers in kernels need rocRAND's headers. Include <hiprand/hiprand_kernel.h> with -I to ROCm's include folder, or fill a buffer by cuRAND on the host"
