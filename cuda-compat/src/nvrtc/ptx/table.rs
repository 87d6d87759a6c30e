//! The instructions that are one call of a function of the prelude.

/// The translation of an instruction: `name.options.type`.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The parts that may follow the name, separated by spaces.
    pub(super) options: &'static str,
    /// The types of the last part; an empty string if the name has all parts.
    pub(super) types: &'static str,
    /// The type of the result and of each operand: `T` is the instruction's, `W` twice as wide, `U` unsigned 32 bits, `L` unsigned 64 bits, `P` a predicate,
    /// `N` none. Others are as in `F`, float.
    pub(super) form: &'static str,
    /// The function of `ptx.h`.
    pub(super) call: &'static str,
}

const INTEGERS: &str = "u16 s16 u32 s32 u64 s64";
const BITS: &str = "b16 b32 b64";
const BITS_AND_PREDICATES: &str = "b16 b32 b64 pred";
const WORDS: &str = "b32 b64";
const NARROW: &str = "u16 s16 u32 s32";
const FLOATS: &str = "f32 f64 f16 f16x2";
const ROUNDED: &str = "rn rz rm rp ftz sat";
const PLACES: &str = "cta gpu sys cluster";

const fn row(
    name: &'static str,
    options: &'static str,
    types: &'static str,
    form: &'static str,
    call: &'static str,
) -> Row {
    Row { name, options, types, form, call }
}

/// The first row whose name, options and type fit is an instruction's.
pub(super) const ROWS: &[Row] = &[
    // Integers.
    row("add.sat", "", "s32", "T=TT", "add_sat"),
    row("sub.sat", "", "s32", "T=TT", "sub_sat"),
    row("add", "", INTEGERS, "T=TT", "add"),
    row("sub", "", INTEGERS, "T=TT", "sub"),
    row("mul.lo", "", INTEGERS, "T=TT", "mul"),
    row("mul.hi", "", INTEGERS, "T=TT", "mul_hi"),
    row("mul.wide", "", NARROW, "W=TT", "mul_wide"),
    row("mad.lo", "", INTEGERS, "T=TTT", "mad"),
    row("mad.hi", "", INTEGERS, "T=TTT", "mad_hi"),
    row("mad.wide", "", NARROW, "W=TTW", "mad_wide"),
    row("mul24.lo", "", "u32 s32", "T=TT", "mul24"),
    row("mad24.lo", "", "u32 s32", "T=TTT", "mad24"),
    row("sad", "", INTEGERS, "T=TTT", "sad"),
    row("div", "", INTEGERS, "T=TT", "div"),
    row("rem", "", INTEGERS, "T=TT", "rem"),
    row("abs", "", "s16 s32 s64", "T=T", "abs"),
    row("neg", "", "s16 s32 s64", "T=T", "neg"),
    row("min", "", INTEGERS, "T=TT", "min"),
    row("max", "", INTEGERS, "T=TT", "max"),
    row("dp4a.u32.u32", "", "", "U=UUU", "dp4a_uu"),
    row("dp4a.s32.s32", "", "", "S=UUS", "dp4a_ss"),
    row("dp4a.s32.u32", "", "", "S=UUS", "dp4a_su"),
    row("dp4a.u32.s32", "", "", "S=UUS", "dp4a_us"),
    row("dp2a.lo.u32.u32", "", "", "U=UUU", "dp2a_lo_uu"),
    row("dp2a.lo.s32.s32", "", "", "S=UUS", "dp2a_lo_ss"),
    row("dp2a.hi.u32.u32", "", "", "U=UUU", "dp2a_hi_uu"),
    row("dp2a.hi.s32.s32", "", "", "S=UUS", "dp2a_hi_ss"),
    // Bits.
    row("and", "", BITS_AND_PREDICATES, "T=TT", "bit_and"),
    row("or", "", BITS_AND_PREDICATES, "T=TT", "bit_or"),
    row("xor", "", BITS_AND_PREDICATES, "T=TT", "bit_xor"),
    row("not", "", BITS_AND_PREDICATES, "T=T", "bit_not"),
    row("cnot", "", BITS, "T=T", "cnot"),
    row("lop3", "", "b32", "T=TTTU", "lop3"),
    row("shl", "", BITS, "T=TU", "shl"),
    row("shr", "", "u16 s16 b16 u32 s32 b32 u64 s64 b64", "T=TU", "shr"),
    row("shf.l.wrap", "", "b32", "T=TTU", "shf_l_wrap"),
    row("shf.l.clamp", "", "b32", "T=TTU", "shf_l_clamp"),
    row("shf.r.wrap", "", "b32", "T=TTU", "shf_r_wrap"),
    row("shf.r.clamp", "", "b32", "T=TTU", "shf_r_clamp"),
    row("prmt", "", "b32", "T=TTU", "prmt"),
    row("bfe", "", "u32 s32 u64 s64", "T=TUU", "bfe"),
    row("bfi", "", WORDS, "T=TTUU", "bfi"),
    row("bfind", "", "u32 s32 u64 s64", "U=T", "bfind"),
    row("bfind.shiftamt", "", "u32 s32 u64 s64", "U=T", "bfind_shiftamt"),
    row("popc", "", WORDS, "U=T", "popc"),
    row("clz", "", WORDS, "U=T", "clz"),
    row("brev", "", WORDS, "T=T", "brev"),
    row("selp", "", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", "T=TTP", "selp"),
    // Floating-point numbers.
    row("add", ROUNDED, FLOATS, "T=TT", "add"),
    row("sub", ROUNDED, FLOATS, "T=TT", "sub"),
    row("mul", ROUNDED, FLOATS, "T=TT", "mul"),
    row("fma", ROUNDED, FLOATS, "T=TTT", "fma"),
    row("mad", ROUNDED, "f32 f64", "T=TTT", "fma"),
    row("div", "rn rz rm rp ftz", "f32 f64", "T=TT", "div"),
    row("div", "approx full ftz", "f32", "T=TT", "div_approx"),
    row("rcp", "rn rz rm rp ftz", "f32 f64", "T=T", "rcp"),
    row("rcp", "approx ftz", "f32 f64", "T=T", "rcp_approx"),
    row("sqrt", "rn rz rm rp ftz", "f32 f64", "T=T", "sqrt"),
    row("sqrt", "approx ftz", "f32", "T=T", "sqrt_approx"),
    row("rsqrt", "approx ftz", "f32 f64", "T=T", "rsqrt"),
    row("sin", "approx ftz", "f32", "T=T", "sin"),
    row("cos", "approx ftz", "f32", "T=T", "cos"),
    row("lg2", "approx ftz", "f32", "T=T", "lg2"),
    row("ex2", "approx ftz", "f32", "T=T", "ex2"),
    row("tanh", "approx", "f32", "T=T", "tanh"),
    row("abs", "ftz", "f32 f64 f16 f16x2", "T=T", "abs"),
    row("neg", "ftz", "f32 f64 f16 f16x2", "T=T", "neg"),
    row("min.NaN", "ftz", "f32 f16 f16x2", "T=TT", "min_nan"),
    row("max.NaN", "ftz", "f32 f16 f16x2", "T=TT", "max_nan"),
    row("min.ftz.NaN", "", "f32", "T=TT", "min_nan"),
    row("max.ftz.NaN", "", "f32", "T=TT", "max_nan"),
    row("min", "ftz", FLOATS, "T=TT", "min"),
    row("max", "ftz", FLOATS, "T=TT", "max"),
    row("copysign", "", "f32 f64", "T=TT", "copysign"),
    // Addresses.
    row("cvta.to.shared.u64", "", "", "L=L", "to_shared"),
    row("cvta.to.global.u64", "", "", "L=L", "same"),
    row("cvta.to.local.u64", "", "", "L=L", "same"),
    row("cvta.to.const.u64", "", "", "L=L", "same"),
    row("cvta.shared.u64", "", "", "L=L", "of_shared"),
    row("cvta.global.u64", "", "", "L=L", "same"),
    row("cvta.const.u64", "", "", "L=L", "same"),
    row("isspacep.shared", "", "", "P=L", "is_shared"),
    row("isspacep.global", "", "", "P=L", "is_global"),
    row("isspacep.local", "", "", "P=L", "is_local"),
    // Fences, waits and hints.
    row("membar.cta", "", "", "N=", "fence_cta"),
    row("membar.gl", "", "", "N=", "fence_gpu"),
    row("membar.sys", "", "", "N=", "fence_sys"),
    row("fence.sc", PLACES, "", "N=", "fence"),
    row("fence.acq_rel", PLACES, "", "N=", "fence"),
    row("bar.warp.sync", "", "", "N=U", "sync_warp"),
    row("nanosleep.u32", "", "", "N=U", "sleep"),
    row("trap", "", "", "N=", "trap"),
    row("brkpt", "", "", "N=", "brkpt"),
    row("cp.async.commit_group", "", "", "N=", "nothing"),
    row("cp.async.wait_all", "", "", "N=", "nothing"),
    row("cp.async.wait_group", "", "", "N=U", "nothing"),
    row("griddepcontrol.wait", "", "", "N=", "nothing"),
    row("griddepcontrol.launch_dependents", "", "", "N=", "nothing"),
    // Warps.
    row("activemask.b32", "", "", "U=", "active"),
    row("vote.ballot.b32", "", "", "U=P", "ballot"),
    row("vote.sync.ballot.b32", "", "", "U=PU", "ballot"),
    row("vote.all.pred", "", "", "P=P", "all"),
    row("vote.sync.all.pred", "", "", "P=PU", "all"),
    row("vote.any.pred", "", "", "P=P", "any"),
    row("vote.sync.any.pred", "", "", "P=PU", "any"),
    row("vote.uni.pred", "", "", "P=P", "uni"),
    row("vote.sync.uni.pred", "", "", "P=PU", "uni"),
    row("match.any.sync", "", WORDS, "U=TU", "match_any"),
    row("match.all.sync", "", WORDS, "Q=TU", "match_all"),
    row("shfl.up.b32", "", "", "Q=UUU", "shfl_up"),
    row("shfl.down.b32", "", "", "Q=UUU", "shfl_down"),
    row("shfl.bfly.b32", "", "", "Q=UUU", "shfl_bfly"),
    row("shfl.idx.b32", "", "", "Q=UUU", "shfl_idx"),
    row("shfl.sync.up.b32", "", "", "Q=UUUU", "shfl_up"),
    row("shfl.sync.down.b32", "", "", "Q=UUUU", "shfl_down"),
    row("shfl.sync.bfly.b32", "", "", "Q=UUUU", "shfl_bfly"),
    row("shfl.sync.idx.b32", "", "", "Q=UUUU", "shfl_idx"),
    row("redux.sync.add", "", "u32 s32", "T=TU", "redux_add"),
    row("redux.sync.min", "", "u32 s32", "T=TU", "redux_min"),
    row("redux.sync.max", "", "u32 s32", "T=TU", "redux_max"),
    row("redux.sync.and", "", "b32", "T=TU", "redux_and"),
    row("redux.sync.or", "", "b32", "T=TU", "redux_or"),
    row("redux.sync.xor", "", "b32", "T=TU", "redux_xor"),
    // Bit patterns of smaller numbers.
    row("cvt.rn.f16x2.f32", "", "", "U=FF", "two_halves"),
    row("cvt.rn.bf16x2.f32", "", "", "U=FF", "bf16x2"),
    row("cvt.rn.bf16.f32", "", "", "H=F", "bf16"),
    row("cvt.rna.tf32.f32", "", "", "U=F", "tf32"),
    row("createpolicy.fractional.L2::evict_last.b64", "", "", "L=F", "policy"),
    row("createpolicy.fractional.L2::evict_first.b64", "", "", "L=F", "policy"),
    row("createpolicy.fractional.L2::evict_normal.b64", "", "", "L=F", "policy"),
];

/// The special registers: the type of each, and its value in C++.
pub(super) const REGISTERS: &[(&str, &str, &str)] = &[
    ("tid.x", "u32", "threadIdx.x"),
    ("tid.y", "u32", "threadIdx.y"),
    ("tid.z", "u32", "threadIdx.z"),
    ("ntid.x", "u32", "blockDim.x"),
    ("ntid.y", "u32", "blockDim.y"),
    ("ntid.z", "u32", "blockDim.z"),
    ("ctaid.x", "u32", "blockIdx.x"),
    ("ctaid.y", "u32", "blockIdx.y"),
    ("ctaid.z", "u32", "blockIdx.z"),
    ("nctaid.x", "u32", "gridDim.x"),
    ("nctaid.y", "u32", "gridDim.y"),
    ("nctaid.z", "u32", "gridDim.z"),
    ("laneid", "u32", "::__cuda_compat::ptx::lane()"),
    ("warpid", "u32", "::__cuda_compat::ptx::warp()"),
    ("nwarpid", "u32", "::__cuda_compat::ptx::warps()"),
    ("smid", "u32", "::__cuda_compat::ptx::multiprocessor()"),
    ("lanemask_eq", "u32", "::__cuda_compat::ptx::lanes_eq()"),
    ("lanemask_lt", "u32", "::__cuda_compat::ptx::lanes_lt()"),
    ("lanemask_le", "u32", "::__cuda_compat::ptx::lanes_le()"),
    ("lanemask_gt", "u32", "::__cuda_compat::ptx::lanes_gt()"),
    ("lanemask_ge", "u32", "::__cuda_compat::ptx::lanes_ge()"),
    ("clock", "u32", "(unsigned)::clock64()"),
    ("clock_hi", "u32", "(unsigned)((unsigned long long)::clock64() / 0x100000000ull)"),
    ("clock64", "u64", "(unsigned long long)::clock64()"),
    ("globaltimer", "u64", "::__cuda_compat::ptx::nanoseconds()"),
    ("globaltimer_lo", "u32", "(unsigned)::__cuda_compat::ptx::nanoseconds()"),
    ("globaltimer_hi", "u32", "(unsigned)(::__cuda_compat::ptx::nanoseconds() / 0x100000000ull)"),
];

/// Returns the row of an instruction, the options that it has, and its type, which may be empty.
pub(super) fn find(name: &str) -> Option<(&'static Row, Vec<&str>, &str)> {
    ROWS.iter().find_map(|row| {
        let rest = name.strip_prefix(row.name)?;
        let rest = if rest.is_empty() { "" } else { rest.strip_prefix('.')? };
        let mut options: Vec<&str> = rest.split('.').filter(|part| !part.is_empty()).collect();
        let kind = if row.types.is_empty() { "" } else { options.pop()? };
        let is_known = |list: &str, part: &str| list.split(' ').any(|known| known == part);
        let fits =
            options.iter().all(|part| is_known(row.options, part)) && (kind.is_empty() || is_known(row.types, kind));
        // An instruction with several precisions names one.
        let is_precise =
            !is_known(row.options, "approx") || options.iter().any(|part| matches!(*part, "approx" | "full"));
        let is_rounded = !is_known(row.options, "rz")
            || matches!(row.call, "add" | "sub" | "mul")
            || options.iter().any(|part| matches!(*part, "rn" | "rz" | "rm" | "rp"));
        (fits && is_precise && is_rounded).then_some((row, options, kind))
    })
}
