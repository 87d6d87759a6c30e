// One Jacobi sweep of the 2D Laplace equation on an nx x ny grid whose border is fixed, and the sweep's squared change.
extern "C" __global__ void jacobi_step(const double *u, double *next, double *change, unsigned nx, unsigned ny)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 || y == 0 || x + 1 >= nx || y + 1 >= ny)
        return;
    unsigned i = y * nx + x;
    double v = 0.25 * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx]);
    double d = v - u[i];
    next[i] = v;
    change[i] = d * d;
}
