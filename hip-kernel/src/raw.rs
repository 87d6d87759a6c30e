//! The functions of the device library's LLVM IR (`ir/`, which `hip-kernel-build` writes). On the host they only exist
//! for the types.

macro_rules! raw {
    // Functions with the same result for each call of a thread.
    (constant $($name:ident = $link:expr;)*) => {
        #[cfg(target_arch = "amdgpu")]
        unsafe extern "C" {
            $(
                #[unsafe(ffi_const)]
                #[link_name = $link]
                pub(crate) fn $name() -> u32;
            )*
        }

        $(
            #[cfg(not(target_arch = "amdgpu"))]
            #[track_caller]
            pub(crate) unsafe fn $name() -> u32 {
                crate::raw::on_the_host()
            }
        )*
    };
    ($($name:ident = $link:expr => ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        #[cfg(target_arch = "amdgpu")]
        unsafe extern "C" {
            $(
                #[link_name = $link]
                pub(crate) fn $name($($argument: $type),*) $(-> $result)?;
            )*
        }

        $(
            // Some are only used by the device half of a function.
            #[cfg(not(target_arch = "amdgpu"))]
            #[allow(dead_code)]
            #[track_caller]
            pub(crate) unsafe fn $name($(_: $type),*) $(-> $result)? {
                crate::raw::on_the_host()
            }
        )*
    };
}

raw! {
    constant
    thread_x = "hk_thread_x";
    thread_y = "hk_thread_y";
    thread_z = "hk_thread_z";
    block_x = "hk_block_x";
    block_y = "hk_block_y";
    block_z = "hk_block_z";
    block_dim_x = "hk_block_dim_x";
    block_dim_y = "hk_block_dim_y";
    block_dim_z = "hk_block_dim_z";
    grid_threads_x = "hk_grid_threads_x";
    grid_threads_y = "hk_grid_threads_y";
    grid_threads_z = "hk_grid_threads_z";
    wave_size = "hk_wave_size";
}

raw! {
    mbcnt_lo = "hk_mbcnt_lo" => (mask: u32, base: u32) -> u32;
    mbcnt_hi = "hk_mbcnt_hi" => (mask: u32, base: u32) -> u32;
    first_lane = "hk_first_lane" => (value: u32) -> u32;
    bpermute = "hk_bpermute" => (address: u32, value: u32) -> u32;
    byte_perm = "hk_byte_perm" => (a: u32, b: u32, selector: u32) -> u32;
    sad_u8 = "hk_sad_u8" => (a: u32, b: u32, sum: u32) -> u32;
    ballot = "hk_ballot" => (value: u32) -> u64;
    barrier = "hk_barrier" => ();
    wave_barrier = "hk_wave_barrier" => ();
    sleep = "hk_sleep" => ();
    cycles = "hk_cycles" => () -> u64;
    steady = "hk_steady" => () -> u64;
    endpgm = "hk_endpgm" => ();
    arguments = "hk_arguments" => () -> *const u64;
    packet = "hk_packet" => () -> *const u8;
    trap = "hk_trap" => ();
    shared_memory = "hk_shared_memory" => () -> *mut u8;
    sqrt_f32 = "hk_sqrt_f32" => (x: f32) -> f32;
    sqrt_f64 = "hk_sqrt_f64" => (x: f64) -> f64;
    fma_f32 = "hk_fma_f32" => (x: f32, y: f32, z: f32) -> f32;
    fma_f64 = "hk_fma_f64" => (x: f64, y: f64, z: f64) -> f64;
    floor_f32 = "hk_floor_f32" => (x: f32) -> f32;
    floor_f64 = "hk_floor_f64" => (x: f64) -> f64;
    ceil_f32 = "hk_ceil_f32" => (x: f32) -> f32;
    ceil_f64 = "hk_ceil_f64" => (x: f64) -> f64;
    trunc_f32 = "hk_trunc_f32" => (x: f32) -> f32;
    trunc_f64 = "hk_trunc_f64" => (x: f64) -> f64;
    round_f32 = "hk_round_f32" => (x: f32) -> f32;
    round_f64 = "hk_round_f64" => (x: f64) -> f64;
    even_f32 = "hk_even_f32" => (x: f32) -> f32;
    even_f64 = "hk_even_f64" => (x: f64) -> f64;
    exp_f32 = "hk_exp_f32" => (x: f32) -> f32;
    exp2_f32 = "hk_exp2_f32" => (x: f32) -> f32;
    log_f32 = "hk_log_f32" => (x: f32) -> f32;
    log2_f32 = "hk_log2_f32" => (x: f32) -> f32;
    log10_f32 = "hk_log10_f32" => (x: f32) -> f32;
    rsq_f32 = "hk_rsq_f32" => (x: f32) -> f32;
    rcp_f32 = "hk_rcp_f32" => (x: f32) -> f32;
    fast_exp2_f32 = "hk_fast_exp2_f32" => (x: f32) -> f32;
    fast_log2_f32 = "hk_fast_log2_f32" => (x: f32) -> f32;
    turn_sin_f32 = "hk_turn_sin_f32" => (x: f32) -> f32;
    turn_cos_f32 = "hk_turn_cos_f32" => (x: f32) -> f32;
    add_f16 = "hk_add_f16" => (x: u16, y: u16) -> u16;
    sub_f16 = "hk_sub_f16" => (x: u16, y: u16) -> u16;
    mul_f16 = "hk_mul_f16" => (x: u16, y: u16) -> u16;
    div_f16 = "hk_div_f16" => (x: u16, y: u16) -> u16;
    f16_to_f32 = "hk_f16_to_f32" => (x: u16) -> f32;
    f32_to_f16 = "hk_f32_to_f16" => (x: f32) -> u16;
}

/// The atomic operations and fences of each scope, in a module with its name.
macro_rules! scoped {
    ($($scope:ident)*) => {$(
        pub(crate) mod $scope {
            raw! {
                fence_acquire = concat!("hk_fence_acquire_", stringify!($scope)) => ();
                fence_release = concat!("hk_fence_release_", stringify!($scope)) => ();
                fence_acq_rel = concat!("hk_fence_acq_rel_", stringify!($scope)) => ();
                fence_seq_cst = concat!("hk_fence_seq_cst_", stringify!($scope)) => ();
                add_u32 = concat!("hk_atomic_add_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                sub_u32 = concat!("hk_atomic_sub_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                and_u32 = concat!("hk_atomic_and_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                or_u32 = concat!("hk_atomic_or_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                xor_u32 = concat!("hk_atomic_xor_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                swap_u32 = concat!("hk_atomic_swap_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                max_u32 = concat!("hk_atomic_max_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                min_u32 = concat!("hk_atomic_min_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                umax_u32 = concat!("hk_atomic_umax_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                umin_u32 = concat!("hk_atomic_umin_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                inc_u32 = concat!("hk_atomic_inc_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                dec_u32 = concat!("hk_atomic_dec_i32_", stringify!($scope)) => (address: *mut u32, value: u32) -> u32;
                load_u32 = concat!("hk_atomic_load_i32_", stringify!($scope)) => (address: *mut u32) -> u32;
                store_u32 = concat!("hk_atomic_store_i32_", stringify!($scope)) => (address: *mut u32, value: u32);
                cas_u32 = concat!("hk_atomic_cas_i32_", stringify!($scope)) => (address: *mut u32, old: u32, new: u32) -> u32;
                add_f32 = concat!("hk_atomic_add_f32_", stringify!($scope)) => (address: *mut f32, value: f32) -> f32;
                add_f32_coarse = concat!("hk_atomic_add_f32_", stringify!($scope), "_coarse") => (address: *mut f32, value: f32) -> f32;
                max_f32 = concat!("hk_atomic_max_f32_", stringify!($scope)) => (address: *mut f32, value: f32) -> f32;
                max_f32_coarse = concat!("hk_atomic_max_f32_", stringify!($scope), "_coarse") => (address: *mut f32, value: f32) -> f32;
                min_f32 = concat!("hk_atomic_min_f32_", stringify!($scope)) => (address: *mut f32, value: f32) -> f32;
                min_f32_coarse = concat!("hk_atomic_min_f32_", stringify!($scope), "_coarse") => (address: *mut f32, value: f32) -> f32;
                add_u64 = concat!("hk_atomic_add_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                sub_u64 = concat!("hk_atomic_sub_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                and_u64 = concat!("hk_atomic_and_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                or_u64 = concat!("hk_atomic_or_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                xor_u64 = concat!("hk_atomic_xor_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                swap_u64 = concat!("hk_atomic_swap_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                max_u64 = concat!("hk_atomic_max_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                min_u64 = concat!("hk_atomic_min_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                umax_u64 = concat!("hk_atomic_umax_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                umin_u64 = concat!("hk_atomic_umin_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                inc_u64 = concat!("hk_atomic_inc_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                dec_u64 = concat!("hk_atomic_dec_i64_", stringify!($scope)) => (address: *mut u64, value: u64) -> u64;
                load_u64 = concat!("hk_atomic_load_i64_", stringify!($scope)) => (address: *mut u64) -> u64;
                store_u64 = concat!("hk_atomic_store_i64_", stringify!($scope)) => (address: *mut u64, value: u64);
                cas_u64 = concat!("hk_atomic_cas_i64_", stringify!($scope)) => (address: *mut u64, old: u64, new: u64) -> u64;
                add_f64 = concat!("hk_atomic_add_f64_", stringify!($scope)) => (address: *mut f64, value: f64) -> f64;
                add_f64_coarse = concat!("hk_atomic_add_f64_", stringify!($scope), "_coarse") => (address: *mut f64, value: f64) -> f64;
                max_f64 = concat!("hk_atomic_max_f64_", stringify!($scope)) => (address: *mut f64, value: f64) -> f64;
                max_f64_coarse = concat!("hk_atomic_max_f64_", stringify!($scope), "_coarse") => (address: *mut f64, value: f64) -> f64;
                min_f64 = concat!("hk_atomic_min_f64_", stringify!($scope)) => (address: *mut f64, value: f64) -> f64;
                min_f64_coarse = concat!("hk_atomic_min_f64_", stringify!($scope), "_coarse") => (address: *mut f64, value: f64) -> f64;
            }
        }
    )*};
}

scoped!(wave block device system);

#[cfg(not(target_arch = "amdgpu"))]
#[track_caller]
pub(crate) fn on_the_host() -> ! {
    panic!("a function of the device library was called on the host: it exists in kernels only")
}
