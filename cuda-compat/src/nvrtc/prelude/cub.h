#error "CUB and Thrust are not in the prelude. Use hipCUB and rocThrust with -I to ROCm's include folder"
