//! The HIP runtime's functions over a software AMD GPU, embedded in the program.
