target triple = "amdgcn-amd-amdhsa"
@ext = external addrspace(1) global i32
@tab = addrspace(1) global [2 x ptr addrspace(1)] [ptr addrspace(1) @ext, ptr addrspace(1) @here]
@here = addrspace(1) global i32 5
define amdgpu_kernel void @k(ptr addrspace(1) %o) { 
  %p = load ptr addrspace(1), ptr addrspace(1) @tab
  %v = load i32, ptr addrspace(1) %p
  store i32 %v, ptr addrspace(1) %o
  ret void }
