// Inline PTX.
typedef unsigned u32;
typedef unsigned long long u64;

extern "C" __global__ void registers(u32 *out)
{
    u32 t = threadIdx.x, n = blockDim.x, value;
    asm("mov.u32 %0, %laneid;" : "=r"(value));
    out[t] = value;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(value));
    out[n + t] = value;
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(value));
    out[2 * n + t] = value;
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(value));
    out[3 * n + t] = value;
    asm("mov.u32 %0, %lanemask_ge;" : "=r"(value));
    out[4 * n + t] = value;
    asm("mov.u32 %0, %lanemask_eq;" : "=r"(value));
    out[5 * n + t] = value;
    asm("mov.u32 %0, %%warpid;" : "=r"(value));
    out[6 * n + t] = value;
    asm("{\n\t.reg .u32 a, b;\n\tmov.u32 a, %tid.x;\n\tmov.u32 b, %ntid.x;\n\tmad.lo.u32 %0, b, WARP_SZ, a;\n}" : "=r"(value));
    out[7 * n + t] = value;
}

extern "C" __global__ void clocks(u64 *out)
{
    u32 low, multiprocessor;
    u64 clock, timer, later;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(low));
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    asm volatile("nanosleep.u32 2000;");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    out[0] = clock > 0;
    out[1] = timer;
    out[2] = later;
    out[3] = multiprocessor;
}

struct Pair {
    u32 a, b;
};

// Each form of a load reads in, each form of a store writes a part of out.
extern "C" __global__ void memory(const u32 *in, u32 *out)
{
    __shared__ u32 kept[128];
    __shared__ unsigned char bytes[256];
    u32 t = threadIdx.x, n = blockDim.x, a, b, c, d;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(a) : "l"(in + t));
    asm volatile("st.global.u32 [%0], %1;" :: "l"(out + t), "r"(a) : "memory");
    asm volatile("ld.global.ca.u32 %0, [%1+4];" : "=r"(a) : "l"(in + t));
    asm volatile("ld.global.cg.L2::128B.u32 %0, [%1 + 8];" : "=r"(b) : "l"(in + t));
    asm volatile("ld.global.cs.u32 %0, [%1];" : "=r"(c) : "l"(in + t + 3));
    asm volatile("ld.volatile.global.u32 %0, [%1+-4];" : "=r"(d) : "l"(in + t + 5));
    asm volatile("st.global.cs.u32 [%0], %1;" :: "l"(out + n + t), "r"(a + 2 * b + 3 * c + 4 * d) : "memory");
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(in + 4 * (t / 4)));
    asm volatile("st.global.wt.v2.b32 [%0], {%1, %2};" :: "l"(out + 2 * n + 2 * t), "r"(a + b), "r"(c ^ d) : "memory");
    // In shared memory, by its own addresses.
    u32 place = (u32)__cvta_generic_to_shared(kept + t);
    asm volatile("st.shared.u32 [%0], %1;" :: "r"(place), "r"(in[t]));
    asm volatile("bar.sync 0;");
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"((u32)__cvta_generic_to_shared(kept + (t ^ 1))));
    u64 generic;
    asm("{ .reg .u64 s; cvta.to.shared.u64 s, %1; cvta.shared.u64 %0, s; }" : "=l"(generic) : "l"(kept + (t ^ 2)));
    asm volatile("ld.u32 %0, [%1];" : "=r"(b) : "l"(generic));
    out[4 * n + t] = a;
    out[5 * n + t] = b;
    // Bytes and halves, with their signs.
    unsigned short h;
    int s;
    asm volatile("ld.global.u8 %0, [%1];" : "=h"(h) : "l"((const unsigned char *)in + t));
    asm volatile("ld.global.s8 %0, [%1];" : "=r"(s) : "l"((const unsigned char *)in + t));
    out[6 * n + t] = h;
    out[7 * n + t] = s;
    u64 both;
    asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(both) : "l"((const u64 *)in + t / 2));
    asm("mov.b64 {%0, %1}, %2;" : "=r"(a), "=r"(b) : "l"(both));
    asm("mov.b64 %0, {%1, %2};" : "=l"(both) : "r"(b), "r"(a));
    asm("mov.b32 {%0, _}, %1;" : "=h"(h) : "r"(b));
    out[8 * n + t] = a + h;
    out[9 * n + t] = (u32)both;
    // Asynchronous copies, of which a part may be zeros.
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;\n" :: "r"((u32)__cvta_generic_to_shared(kept + t)), "l"(in + (n - 1 - t)), "n"(4));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    out[10 * n + t] = kept[t ^ 1];
    int given = t % 5 * 4;
    if (t < 16) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2, %3;\n" :: "r"((u32)__cvta_generic_to_shared(bytes + 16 * t)), "l"(in + 4 * t), "n"(16), "r"(given < 16 ? given : 16));
        asm volatile("cp.async.wait_all;");
    }
    __syncthreads();
    out[11 * n + t] = ((u32 *)bytes)[t];
    asm volatile("{.reg .pred p; setp.ne.b32 p, %0, 0; @p st.global.u32 [%1], %2;\n@!p st.global.u32 [%1], 7;}" :: "r"(t & 1), "l"(out + 12 * n + t), "r"(t));
    asm volatile("membar.cta; membar.gl; membar.sys; fence.acq_rel.gpu; prefetch.global.L2 [%0];" :: "l"(in));
}

extern "C" __global__ void atomics(u32 *counters, float *sum, u32 *out)
{
    u32 t = threadIdx.x, old;
    __shared__ u32 shared;
    if (t == 0)
        shared = 0;
    __syncthreads();
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(counters), "r"(1));
    out[t] = old;
    asm volatile("red.global.add.u32 [%0], %1;" :: "l"(counters + 1), "r"(t));
    asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" :: "l"(counters + 2), "r"((int)t - 5));
    asm volatile("atom.global.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(counters + 3), "r"(1u << (t & 31)));
    asm volatile("atom.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(counters + 4), "r"(9));
    asm volatile("red.global.add.f32 [%0], %1;" :: "l"(sum), "f"(0.5f));
    asm volatile("red.shared.add.u32 [%0], 2;" :: "r"((u32)__cvta_generic_to_shared(&shared)));
    asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(counters + 5), "r"(0), "r"(t + 1));
    __syncthreads();
    if (t == 0)
        counters[6] = shared;
    asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(counters + 7), "r"(77));
}

extern "C" __global__ void warps(const u32 *in, u32 *out)
{
    u32 t = threadIdx.x, n = blockDim.x, value = in[t], a, p;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(a) : "r"(value), "r"(3));
    out[t] = a;
    asm volatile("{.reg .pred p; shfl.sync.up.b32 %0|p, %2, %3, 0, 0xffffffff; selp.u32 %1, 1, 0, p;}" : "=r"(a), "=r"(p) : "r"(value), "r"(5));
    out[n + t] = a;
    out[2 * n + t] = p;
    // Segments of 8 lanes.
    asm volatile("{.reg .pred p; shfl.sync.down.b32 %0|p, %2, 2, 0x181f, 0xffffffff; selp.u32 %1, 1, 0, p;}" : "=r"(a), "=r"(p) : "r"(value));
    out[3 * n + t] = a;
    out[4 * n + t] = p;
    asm volatile("shfl.sync.idx.b32 %0, %1, 9, 0x181f, 0xffffffff;" : "=r"(a) : "r"(value));
    out[5 * n + t] = a;
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, %2; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(a) : "r"(value), "r"(0x80000000u));
    out[6 * n + t] = a;
    asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 0x10000000; vote.sync.any.pred q, p, 0xffffffff; selp.b32 %0, 1, 0, q; }" : "=r"(a) : "r"(value));
    out[7 * n + t] = a;
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(a) : "r"(value % 4));
    out[8 * n + t] = a;
    asm volatile("activemask.b32 %0;" : "=r"(a));
    out[9 * n + t] = a;
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(a) : "r"(value));
    out[10 * n + t] = a;
    asm volatile("bar.warp.sync 0xffffffff;");
}

extern "C" __global__ void integers(const u32 *left, const u32 *right, const u32 *third, u32 *out)
{
    u32 t = threadIdx.x, n = blockDim.x, a = left[t], b = right[t], c = third[t], r;
    asm("add.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[0 * n + t] = r;
    asm("sub.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[1 * n + t] = r;
    asm("mul.lo.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[2 * n + t] = r;
    asm("mul.hi.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[3 * n + t] = r;
    asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[4 * n + t] = r;
    asm("mad.hi.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[5 * n + t] = r;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[6 * n + t] = r;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[7 * n + t] = r;
    asm("bfi.b32 %0, %1, %2, %3, 7;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[8 * n + t] = r;
    asm("{ .reg .u32 x, y; popc.b32 x, %1; clz.b32 y, %2; add.u32 %0, x, y; }" : "=r"(r) : "r"(a), "r"(b));
    out[9 * n + t] = r;
    asm("brev.b32 %0, %1;" : "=r"(r) : "r"(a), "r"(b));
    out[10 * n + t] = r;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[11 * n + t] = r;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[12 * n + t] = r;
    asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[13 * n + t] = r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[14 * n + t] = r;
    asm("min.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[15 * n + t] = r;
    asm("max.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[16 * n + t] = r;
    asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[17 * n + t] = r;
    asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[18 * n + t] = r;
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[19 * n + t] = r;
    asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[20 * n + t] = r;
    asm("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, 3, 4, p; }" : "=r"(r) : "r"(a), "r"(b));
    out[21 * n + t] = r;
    asm("bfind.s32 %0, %1;" : "=r"(r) : "r"(a), "r"(b));
    out[22 * n + t] = r;
    asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[23 * n + t] = r;
    asm("sad.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[24 * n + t] = r;
    asm("{ .reg .b32 x; xor.b32 x, %1, %2; not.b32 %0, x; }" : "=r"(r) : "r"(a), "r"(b));
    out[25 * n + t] = r;
    u64 wide = ((u64)c << 32) | a, product;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(product) : "r"(a), "r"(b), "l"(wide));
    out[26 * n + t] = (u32)(product >> 32);
    asm("mul.wide.s32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    out[27 * n + t] = (u32)(product >> 32);
    asm("cvt.u32.u8 %0, %1;" : "=r"(c) : "r"(a));
    out[28 * n + t] = c;
    asm("cvt.s32.s16 %0, %1;" : "=r"(c) : "h"((unsigned short)b));
    out[29 * n + t] = c;
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(c) : "r"((int)a / 1000000));
    out[30 * n + t] = c;
    asm("{ .reg .pred p, q; setp.lt.and.u32 p|q, %1, %2, 1; selp.b32 %0, 1, 2, q; }" : "=r"(c) : "r"(a), "r"(b));
    out[31 * n + t] = c;
}

extern "C" __global__ void floats(const float *left, const float *right, const float *third, float *out, u32 *words)
{
    u32 t = threadIdx.x, n = blockDim.x;
    float a = left[t], b = right[t], c = third[t], f;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[0 * n + t] = f;
    asm("add.rz.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[1 * n + t] = f;
    asm("mul.rp.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[2 * n + t] = f;
    asm("fma.rm.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[3 * n + t] = f;
    asm("min.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[4 * n + t] = f;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[5 * n + t] = f;
    asm("add.sat.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[6 * n + t] = f;
    asm("mul.ftz.f32 %0, %1, 0f00800000;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[7 * n + t] = f;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[8 * n + t] = f;
    asm("sqrt.rn.f32 %0, %1;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[9 * n + t] = f;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[10 * n + t] = f;
    asm("rcp.approx.f32 %0, %1;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[11 * n + t] = f;
    asm("cvt.rni.f32.f32 %0, %1;" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[12 * n + t] = f;
    asm("{ .reg .f32 x; abs.f32 x, %1; lg2.approx.f32 %0, x; }" : "=f"(f) : "f"(a), "f"(b), "f"(c));
    out[13 * n + t] = f;
    u32 word;
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(word) : "f"(a * 1e9f));
    words[t] = word;
    asm("cvt.rni.u32.f32 %0, %1;" : "=r"(word) : "f"(a));
    words[n + t] = word;
    float back;
    asm("cvt.rz.f32.u32 %0, %1;" : "=f"(back) : "r"(word * 0x01010101u + t));
    words[2 * n + t] = __float_as_uint(back);
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(a), "f"(b));
    words[3 * n + t] = word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(a), "f"(b));
    words[4 * n + t] = word;
    unsigned short h;
    asm("{cvt.rn.f16.f32 %0, %1;}\n" : "=h"(h) : "f"(b));
    words[5 * n + t] = h;
    asm("cvt.f32.f16 %0, %1;" : "=f"(back) : "h"(h));
    words[6 * n + t] = __float_as_uint(back);
    asm("{ .reg .b32 x; cvt.rn.f16x2.f32 x, %1, %2; fma.rn.f16x2 %0, x, x, x; }" : "=r"(word) : "f"(a), "f"(b));
    words[7 * n + t] = word;
    double d;
    asm("{ .reg .f64 x, y; cvt.f64.f32 x, %1; cvt.f64.f32 y, %2; mul.rn.f64 %0, x, y; }" : "=d"(d) : "f"(a), "f"(b));
    asm("cvt.rm.f32.f64 %0, %1;" : "=f"(back) : "d"(d));
    words[8 * n + t] = __float_as_uint(back);
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(a));
    words[9 * n + t] = word;
}
