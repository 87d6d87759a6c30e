use super::*;

/// Finds one position, and returns it with the code there.
#[track_caller]
fn one(source: &str) -> (Finding, &str) {
    let found = find(source);
    assert_eq!(found.len(), 1, "{source}: {found:?}");
    let finding = found.into_iter().next().unwrap();
    let line = source.lines().nth(finding.line - 1).unwrap();
    (finding.clone(), &line[finding.column - 1..])
}

#[track_caller]
fn none(source: &str) {
    assert_eq!(find(source), [], "{source}");
}

#[test]
fn masks_of_32_bits() {
    let (found, at) = one("void f() {\n  v = __shfl_down_sync(0xffffffff, v, 1);\n}");
    assert!(at.starts_with("0xffffffff, v"));
    assert_eq!((found.line, found.column, found.advice), (2, 24, MASK));
    assert!(one("#define FULL_MASK 0xFFFFFFFFu").1.starts_with("0xFFFFFFFFu"));
    assert!(one("const unsigned mask = 4294967295;").1.starts_with("4294967295"));
    assert!(one("__syncwarp(); __any_sync(0xffff, p)").1.starts_with("0xffff, p"));
    none("v = __shfl_down_sync(~0ull, v, 1); v = __shfl_sync(0xffffffffffffffff, v, 1);");
    none("hash ^= 0xffffffff; unsigned limit = 0xffffffff; __threadfence(); f(0xffffffff);");
}

#[test]
fn ballots_in_32_bits() {
    assert!(one("unsigned m = __ballot_sync(mask, p);").1.starts_with("__ballot_sync"));
    assert!(one("uint32_t m = __activemask();").1.starts_with("__activemask"));
    assert!(one("int n = __popc(__ballot_sync(m, p));").0.what.contains("__popc counts 32 bits"));
    none(
        "unsigned long long m = __ballot_sync(mask, p); auto n = __popcll(__ballot_sync(m, p)); auto b = __activemask();",
    );
}

#[test]
fn lanes_as_a_constant() {
    assert!(one("#define WARP_SIZE 32").1.starts_with("WARP_SIZE 32"));
    assert!(one("static constexpr int kWarpSize = 32;").1.starts_with("kWarpSize"));
    assert!(one("enum { THREADS_PER_WARP = 0x20 };").1.starts_with("THREADS_PER_WARP"));
    none("#define WARP_SIZE 64\n#define TILE_SIZE 32\nint n = warpSize;");
}

#[test]
fn arithmetic_on_indices_of_threads() {
    assert!(one("int l = threadIdx.x % 32;").1.starts_with("% 32"));
    assert!(one("int w = threadIdx.x >> 5;").1.starts_with(">> 5"));
    assert!(one("int l = tid & 31;").1.starts_with("& 31"));
    assert!(one("int l = (threadIdx.y * blockDim.x + threadIdx.x) / 32u;").1.starts_with("/ 32u"));
    assert!(one("int me = threadIdx.x;\nint w = me / 0x20;").1.starts_with("/ 0x20"));
    assert!(one("int w = block.thread_rank() >> 5;").1.starts_with(">> 5"));
    none("int b = bits >> 5; int r = n % 32; int i = blockIdx.x * blockDim.x + threadIdx.x; int w = i / 32;");
    none("int l = threadIdx.x % 16; int w = threadIdx.x >> 6; x = tid && 31;");
}

#[test]
fn arrays_for_each_warp() {
    let source = "__shared__ float partial[32];\npartial[warp_id] = v;";
    assert_eq!(one(source).1, "partial[32];");
    assert_eq!(find("__shared__ float s[32];\ns[threadIdx.x / 32] = v;").len(), 2);
    assert!(one("__shared__ int s[2 * warpSize];").1.starts_with("s[2"));
    none("__shared__ float tile[32]; tile[threadIdx.x] = v; __shared__ float t[32][33];");
}

#[test]
fn offsets_of_shuffles() {
    let source = "for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(m, v, offset);";
    assert!(one(source).1.starts_with("16; offset"));
    assert!(one("for (int o = 32 / 2; o; o /= 2) { v += __shfl_down(v, o); }").1.starts_with("32 / 2"));
    none("for (int o = 16; o > 0; o >>= 1) { v += s[o]; } w = __shfl(v, 0);");
    none("for (int o = warpSize / 2; o > 0; o >>= 1) v += __shfl_xor_sync(m, v, o);");
}

#[test]
fn inline_ptx() {
    assert!(one("asm volatile(\"mma.sync.aligned.m8n8k4.f16 %0;\" : \"=r\"(x));").1.starts_with("asm"));
    none("asm volatile(\"mov.u32 %0, %laneid;\" : \"=r\"(lane));");
    none("asm volatile(\"s_waitcnt lgkmcnt(0)\");");
}

#[test]
fn comments_and_strings_are_skipped() {
    none(
        "// threadIdx.x % 32\n/* #define WARP_SIZE 32 */ const char *s = \"threadIdx.x % 32\"; // a \\\n threadIdx.x % 32",
    );
    none("auto s = R\"x(threadIdx.x % 32 \")x\"; char c = '\\''; char d = '\"';");
    assert_eq!(one("/* a\nb */ int l = threadIdx.x % 32;").0.column, 26);
}

#[test]
fn any_text_is_taken() {
    let source = "for (int o = 16; o; o /= 2) { __shared__ float s[32]; s[warp] = __shfl_sync(0xffffffff, v, (\"x\\\"\", 'c'));\
                  asm(\"mov.u32\") R\"a(b)a\" threadIdx.x % 32 é";
    for (at, _) in source.char_indices() {
        find(&source[..at]);
        find(&source[at..]);
    }
    assert_eq!(find(""), []);
}

/// Returns what is refused in the body of a kernel.
fn refused(body: &str) -> Vec<String> {
    let source = format!(
        "#define FULL 0xffffffff\n__device__ int sum(int v) {{ return __shfl_xor_sync(FULL, v, 1); }}\n\
         __device__ int total(int v) {{ return sum(v) + 1; }}\n\
         __global__ void k(int *out, int n, int mode) {{ int t = threadIdx.x; int place = t % 32; int v = t; {body} out[t] = v; }}"
    );
    find(&source).into_iter().filter(|found| found.is_refused()).map(|found| found.what).collect()
}

#[test]
fn collectives_in_both_branches_on_the_lane_are_refused() {
    for condition in
        ["t % 32 < 16", "place < 16", "threadIdx.x & 1", "threadIdx.x < 16", "lane_id == 0", "t == 3", "t > 40"]
    {
        let body =
            format!("if ({condition}) v = __shfl_sync(0xffffffff, v, 1); else {{ v = __shfl_sync(~0u, v, 2); }}");
        assert_eq!(refused(&body).len(), 1, "{condition}");
    }
    assert!(refused("if (place == 0) v = sum(v); else if (n) v = total(v);")[0].contains("total"));
    assert_eq!(refused("v = place & 1 ? __shfl_sync(FULL, v, 0) : __shfl_sync(FULL, v, 1);").len(), 1);
}

#[test]
fn branches_of_whole_warps_and_masks_of_a_branch_are_right() {
    for condition in
        ["mode == 0", "t < 32", "threadIdx.x >= 64", "t / 32 == 0", "t <= 31", "t < 32 * n", "blockIdx.x == 1"]
    {
        let body =
            format!("if ({condition}) v = __shfl_sync(0xffffffff, v, 1); else v = __shfl_sync(0xffffffff, v, 2);");
        assert!(refused(&body).is_empty(), "{condition}");
    }
    for body in [
        "if (place < 16) v = __shfl_sync(0xffff, v, 1); else v = __shfl_sync(0xffff0000, v, 17);",
        "if (place < 16) v = __shfl_sync(__activemask(), v, 1); else v = __shfl_sync(__activemask(), v, 2);",
        "if (place < 16) v = __shfl_sync(FULL, v, 1); else v = 3;",
        "if (place < 16) v = 1; v = __shfl_sync(FULL, v, 1);",
        "if (place < 16) { __syncwarp(); } else { __syncwarp(); }",
    ] {
        assert!(refused(body).is_empty(), "{body}");
    }
}
