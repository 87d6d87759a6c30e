//! `malloc`, `free`, `new` and `delete` in kernels.

use crate::device::{Buffer, Module, args, is_embedded, skip};
use crate::on_a_device;

const SOURCE: &str = r#"
extern "C" __global__ void blocks(unsigned *out)
{
    unsigned *mine = (unsigned *)malloc(16 + threadIdx.x);
    mine[0] = threadIdx.x;
    mine[3] = 2;
    __syncthreads();
    out[threadIdx.x] = mine[0] * mine[3];
    free(mine);
}

struct Shape {
    __device__ virtual unsigned area(unsigned) = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    __device__ unsigned area(unsigned side) override { return side * side; }
};

extern "C" __global__ void objects(unsigned *out)
{
    Shape *shape = new Square();
    out[threadIdx.x] = shape->area(threadIdx.x);
    delete shape;
}
"#;

on_a_device! {
    fn kernels_allocate() {
        if is_embedded() {
            skip("the embedded runtime has no heap for kernels");
            return;
        }
        let module = Module::with("heap.cu", SOURCE, &[], &[]);
        let output = Buffer::zeros::<u32>(256);
        // Freed memory is used again.
        for _ in 0..3 {
            module.run("blocks", 1, 256, args![&output]);
            assert_eq!(output.read::<u32>(256), (0..256).map(|thread| 2 * thread).collect::<Vec<_>>());
            module.run("objects", 1, 256, args![&output]);
            assert_eq!(output.read::<u32>(256), (0..256).map(|thread| thread * thread).collect::<Vec<_>>());
        }
    }
}
