//! A software AMD GPU: runs amdgcn code objects on the CPU, with every access checked.
