// Where lanes go: branches, loops, switches, returns, calls.

extern "C" __global__ void branches(const int* in, int* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = in[i], r = 0;
    if (x & 1) {
        if (x & 2) {
            for (int k = 0; k < (x & 31); k++) {
                if (k % 3 == 1) continue;
                if (k * k > x) break;
                r += k ^ x;
            }
            if (x > 5000) { out[i] = -r; return; }
        } else if (x & 4 && x % 7) {
            r = x / 3;
        } else {
            int y = x;
            do { r += y & 15; y >>= 2; if (y == 77) goto end; } while (y);
        }
    } else {
        switch (x % 10) {
        case 0: r += 1; // on to the next
        case 2: r += x; break;
        case 4: { int a = x, b = 36; while (b) { int t = a % b; a = b; b = t; } r = a; break; }
        case 6: for (int a = 0; a < 5; a++) for (int b = a; b < 5; b++) { if (a * b == (x & 15)) goto end; r += a * b; } break;
        default: r = ~x;
        }
    }
end:
    out[i] = r + (x > 100 ? (x > 1000 ? 3 : 2) : 1);
}

// Recursion with arrays in every frame: n queens below a first row that the item chooses.
__device__ __attribute__((noinline)) int queens(int* columns, int row, int size) {
    if (row == size) return 1;
    int found = 0;
    for (int c = 0; c < size; c++) {
        bool free = true;
        for (int r = 0; r < row; r++) {
            int d = columns[r] - c;
            if (d == 0 || d == row - r || d == r - row) free = false;
        }
        if (!free) continue;
        columns[row] = c;
        int below[9];
        for (int r = 0; r <= row; r++) below[r] = columns[r];
        found += queens(below, row + 1, size);
    }
    return found;
}

__device__ __attribute__((noinline)) unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(int* out, unsigned* other) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    int columns[9];
    columns[0] = t % 6;
    out[t] = queens(columns, 1, 6);
    other[t] = ackermann(t % 3, t % 4);
}

// Calls of what the data chooses.
typedef float (*Function)(float, int);
__device__ __attribute__((noinline)) float add(float x, int k) { return x + k; }
__device__ __attribute__((noinline)) float scale(float x, int k) { return x * k; }
__device__ __attribute__((noinline)) float power(float x, int k) { float r = 1; for (; k > 0; k--) r *= x; return r; }
__device__ Function functions[] = {add, scale, power};

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 4; }
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Oblong : Square {
    float other;
    __device__ Oblong(float s, float o) : Square(s), other(o) {}
    __device__ float area() const override { return side * other; }
};
struct Round : Shape {
    float radius;
    __device__ Round(float r) : radius(r) {}
    __device__ float area() const override { return 3.0f * radius * radius; }
    __device__ int corners() const override { return 0; }
};

extern "C" __global__ void calls(const float* in, float* out, int* corners, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[2 * i] = functions[i % 3](in[i], i % 7);
    Square square(in[i]);
    Oblong oblong(in[i], 2.0f);
    Round round(in[i]);
    const Shape* shapes[3] = {&square, &oblong, &round};
    const Shape* shape = shapes[(i / 3) % 3];
    out[2 * i + 1] = shape->area();
    corners[i] = shape->corners();
}

// Many arguments: more than registers hold.
struct Big { int v[20]; };
__device__ __attribute__((noinline)) Big many(int a, long long b, double c, Big d, int e, float f, Big g, short h, int i,
                                              int j, int k, int l, unsigned char m) {
    Big r;
    for (int n = 0; n < 20; n++) r.v[n] = a + (int)b * 2 + (int)c * 3 + d.v[19 - n] + e + (int)f + g.v[n] * h + i - j + k * l - m;
    return r;
}
extern "C" __global__ void arguments(const int* in, int* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    Big x, y;
    for (int k = 0; k < 20; k++) x.v[k] = in[t] + k, y.v[k] = k * k - in[t];
    Big r = many(in[t], in[t] + 1, in[t] * 0.5, x, 4, 5.5f, y, (short)t, 9, 10, 11, 12, (unsigned char)t);
    int hash = 0;
    for (int k = 0; k < 20; k++) hash = hash * 33 + r.v[k];
    out[t] = hash;
}

// Barriers in a loop whose length the whole workgroup agrees on, and lanes that do nothing in between.
extern "C" __global__ void phases(int* data, int rounds) {
    extern __shared__ int ring[];
    unsigned t = threadIdx.x, n = blockDim.x;
    ring[t] = data[blockIdx.x * n + t];
    __syncthreads();
    for (int k = 0; k < rounds; k++) {
        int x = 0;
        if ((t + k) % 3) x = ring[(t + 1) % n] + k;
        __syncthreads();
        if ((t + k) % 3) ring[t] = x;
        __syncthreads();
    }
    data[blockIdx.x * n + t] = ring[t];
}
