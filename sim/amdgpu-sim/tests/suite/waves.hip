// What the lanes of a wave do together.

extern "C" __global__ void shuffles(const int* in, int* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int x = in[t], lane = __lane_id();
    int* o = out + 16 * t;
    o[0] = __shfl(x, (lane * 7 + 1) & 63);
    o[1] = __shfl_up(x, 5);
    o[2] = __shfl_down(x, 9);
    o[3] = __shfl_xor(x, 21);
    o[4] = __shfl(x, lane + 3, 16);
    o[5] = __shfl_up(x, 2, 8);
    o[6] = __shfl_down(x, 3, 32);
    o[7] = __shfl_xor(x, 1, 4);
    o[8] = (int)__shfl((double)x * 0.5, 63 - lane);
    o[9] = (int)(__shfl_xor((long long)x << 20, 32) >> 20);
    o[10] = __builtin_amdgcn_ds_bpermute(4 * (63 - lane), x);
    o[11] = __builtin_amdgcn_ds_permute(4 * ((lane * 5 + 3) & 63), x);
    // Quads reversed, lanes swapped by 16 within 32, a lane broadcast to 32.
    o[12] = __builtin_amdgcn_ds_swizzle(x, 0x801b);
    o[13] = __builtin_amdgcn_ds_swizzle(x, 0x401f);
    o[14] = __builtin_amdgcn_readlane(x, 17);
    o[15] = __builtin_amdgcn_readfirstlane(x + lane);
}

extern "C" __global__ void dpp(const int* in, int* out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    int x = in[t];
    int* o = out + 14 * t;
    o[0] = __builtin_amdgcn_update_dpp(-1, x, 0x1b, 0xf, 0xf, false);   // quad_perm:[3,2,1,0]
    o[1] = __builtin_amdgcn_update_dpp(-1, x, 0x101, 0xf, 0xf, false);  // row_shl:1
    o[2] = __builtin_amdgcn_update_dpp(-1, x, 0x113, 0xf, 0xf, false);  // row_shr:3
    o[3] = __builtin_amdgcn_update_dpp(-1, x, 0x125, 0xf, 0xf, false);  // row_ror:5
    o[4] = __builtin_amdgcn_update_dpp(-1, x, 0x130, 0xf, 0xf, false);  // wave_shl:1
    o[5] = __builtin_amdgcn_update_dpp(-1, x, 0x138, 0xf, 0xf, false);  // wave_shr:1
    o[6] = __builtin_amdgcn_update_dpp(-1, x, 0x134, 0xf, 0xf, false);  // wave_rol:1
    o[7] = __builtin_amdgcn_update_dpp(-1, x, 0x13c, 0xf, 0xf, false);  // wave_ror:1
    o[8] = __builtin_amdgcn_update_dpp(-1, x, 0x140, 0xf, 0xf, false);  // row_mirror
    o[9] = __builtin_amdgcn_update_dpp(-1, x, 0x141, 0xf, 0xf, false);  // row_half_mirror
    o[10] = __builtin_amdgcn_update_dpp(-1, x, 0x142, 0xa, 0xf, false); // row_bcast:15
    o[11] = __builtin_amdgcn_update_dpp(-1, x, 0x143, 0xc, 0xf, false); // row_bcast:31
    o[12] = __builtin_amdgcn_update_dpp(-1, x, 0x111, 0x5, 0xe, true);  // row_shr:1, some rows and banks
    o[13] = __builtin_amdgcn_mov_dpp(x, 0x155, 0xf, 0xf, true);         // row_newbcast:5
}

extern "C" __global__ void votes(const int* in, unsigned long long* out, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int x = in[t];
    unsigned long long* o = out + 8 * t;
    o[0] = __ballot(x & 1);
    o[1] = __any(x > 90) | __all(x >= 0) << 1 | __all(x != 5) << 2;
    o[2] = __builtin_amdgcn_mbcnt_hi(0xffff0000u, __builtin_amdgcn_mbcnt_lo(0x0f0f0f0fu, 7));
    o[3] = __builtin_amdgcn_read_exec();
    o[4] = o[5] = o[6] = o[7] = 0;
    if (x % 3 == 0) {
        o[4] = __ballot(x & 2);
        o[5] = __popcll(__ballot(1));
        o[6] = __builtin_amdgcn_readfirstlane(t);
    } else {
        o[4] = __ballot(x % 3 == 1);
        for (int k = 0; k < x % 5; k++) o[7] += __popcll(__ballot(1));
    }
}

// A sum over the wave, by shuffles, in every lane; and a running sum by DPP-like steps.
extern "C" __global__ void sums(const float* in, float* total, int* running, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float x = t < n ? in[t] : 0.0f;
    for (int m = 32; m; m >>= 1) x += __shfl_xor(x, m);
    if (t < n) total[t] = x;
    int r = t < n ? (int)in[t] : 0;
    for (int d = 1; d < 64; d <<= 1) {
        int y = __shfl_up(r, d);
        if ((int)__lane_id() >= d) r += y;
    }
    if (t < n) running[t] = r;
}

// Each lane waits for its turn: the values that are alike are handled together, by the first that has one.
extern "C" __global__ void groups(const int* in, int* leader, int* size, unsigned n) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int x = in[t];
    bool done = false;
    // All lanes stay in the loop to the end: what leaves a loop has no set of lanes that the language defines.
    while (__any(!done)) {
        if (!done) {
            int first = __builtin_amdgcn_readfirstlane(x);
            if (x == first) {
                unsigned long long same = __ballot(1);
                leader[t] = __ffsll((long long)same) - 1;
                size[t] = __popcll(same);
                done = true;
            }
        }
    }
}
