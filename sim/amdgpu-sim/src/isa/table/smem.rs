//! Scalar memory.

macro_rules! smem_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => {
        $next! { [$($rest)*] $($rows)*
            Smem {
                s_load_dword = 0x00: B32 <- (B64, U32);
                s_load_dwordx2 = 0x01: B64 <- (B64, U32);
                s_load_dwordx4 = 0x02: B128 <- (B64, U32);
                s_load_dwordx8 = 0x03: B256 <- (B64, U32);
                s_load_dwordx16 = 0x04: B512 <- (B64, U32);
                s_scratch_load_dword = 0x05: B32 <- (B64, U32);
                s_scratch_load_dwordx2 = 0x06: B64 <- (B64, U32);
                s_scratch_load_dwordx4 = 0x07: B128 <- (B64, U32);
                s_buffer_load_dword = 0x08: B32 <- (B128, U32);
                s_buffer_load_dwordx2 = 0x09: B64 <- (B128, U32);
                s_buffer_load_dwordx4 = 0x0a: B128 <- (B128, U32);
                s_buffer_load_dwordx8 = 0x0b: B256 <- (B128, U32);
                s_buffer_load_dwordx16 = 0x0c: B512 <- (B128, U32);
                s_store_dword = 0x10: _ <- (B64, U32, B32);
                s_store_dwordx2 = 0x11: _ <- (B64, U32, B64);
                s_store_dwordx4 = 0x12: _ <- (B64, U32, B128);
                s_scratch_store_dword = 0x15: _ <- (B64, U32, B32);
                s_scratch_store_dwordx2 = 0x16: _ <- (B64, U32, B64);
                s_scratch_store_dwordx4 = 0x17: _ <- (B64, U32, B128);
                s_buffer_store_dword = 0x18: _ <- (B128, U32, B32);
                s_buffer_store_dwordx2 = 0x19: _ <- (B128, U32, B64);
                s_buffer_store_dwordx4 = 0x1a: _ <- (B128, U32, B128);
                s_dcache_inv = 0x20: _ <- ();
                s_dcache_wb = 0x21: _ <- ();
                s_dcache_inv_vol = 0x22: _ <- ();
                s_dcache_wb_vol = 0x23: _ <- ();
                s_memtime = 0x24: U64 <- ();
                s_memrealtime = 0x25: U64 <- ();
                s_atc_probe = 0x26: _ <- (B64, U32, Uimm7);
                s_atc_probe_buffer = 0x27: _ <- (B128, U32, Uimm7);
                s_dcache_discard = 0x28: _ <- (B64, U32);
                s_dcache_discard_x2 = 0x29: _ <- (B64, U32);
                s_buffer_atomic_swap = 0x40: B32 <- (B128, U32, B32) [atomic];
                s_buffer_atomic_cmpswap = 0x41: B32 <- (B128, U32, B64) [atomic];
                s_buffer_atomic_add = 0x42: U32 <- (B128, U32, U32) [atomic];
                s_buffer_atomic_sub = 0x43: U32 <- (B128, U32, U32) [atomic];
                s_buffer_atomic_smin = 0x44: I32 <- (B128, U32, I32) [atomic];
                s_buffer_atomic_umin = 0x45: U32 <- (B128, U32, U32) [atomic];
                s_buffer_atomic_smax = 0x46: I32 <- (B128, U32, I32) [atomic];
                s_buffer_atomic_umax = 0x47: U32 <- (B128, U32, U32) [atomic];
                s_buffer_atomic_and = 0x48: B32 <- (B128, U32, B32) [atomic];
                s_buffer_atomic_or = 0x49: B32 <- (B128, U32, B32) [atomic];
                s_buffer_atomic_xor = 0x4a: B32 <- (B128, U32, B32) [atomic];
                s_buffer_atomic_inc = 0x4b: U32 <- (B128, U32, U32) [atomic];
                s_buffer_atomic_dec = 0x4c: U32 <- (B128, U32, U32) [atomic];
                s_buffer_atomic_swap_x2 = 0x60: B64 <- (B128, U32, B64) [atomic];
                s_buffer_atomic_cmpswap_x2 = 0x61: B64 <- (B128, U32, B128) [atomic];
                s_buffer_atomic_add_x2 = 0x62: U64 <- (B128, U32, U64) [atomic];
                s_buffer_atomic_sub_x2 = 0x63: U64 <- (B128, U32, U64) [atomic];
                s_buffer_atomic_smin_x2 = 0x64: I64 <- (B128, U32, I64) [atomic];
                s_buffer_atomic_umin_x2 = 0x65: U64 <- (B128, U32, U64) [atomic];
                s_buffer_atomic_smax_x2 = 0x66: I64 <- (B128, U32, I64) [atomic];
                s_buffer_atomic_umax_x2 = 0x67: U64 <- (B128, U32, U64) [atomic];
                s_buffer_atomic_and_x2 = 0x68: B64 <- (B128, U32, B64) [atomic];
                s_buffer_atomic_or_x2 = 0x69: B64 <- (B128, U32, B64) [atomic];
                s_buffer_atomic_xor_x2 = 0x6a: B64 <- (B128, U32, B64) [atomic];
                s_buffer_atomic_inc_x2 = 0x6b: U64 <- (B128, U32, U64) [atomic];
                s_buffer_atomic_dec_x2 = 0x6c: U64 <- (B128, U32, U64) [atomic];
                s_atomic_swap = 0x80: B32 <- (B64, U32, B32) [atomic];
                s_atomic_cmpswap = 0x81: B32 <- (B64, U32, B64) [atomic];
                s_atomic_add = 0x82: U32 <- (B64, U32, U32) [atomic];
                s_atomic_sub = 0x83: U32 <- (B64, U32, U32) [atomic];
                s_atomic_smin = 0x84: I32 <- (B64, U32, I32) [atomic];
                s_atomic_umin = 0x85: U32 <- (B64, U32, U32) [atomic];
                s_atomic_smax = 0x86: I32 <- (B64, U32, I32) [atomic];
                s_atomic_umax = 0x87: U32 <- (B64, U32, U32) [atomic];
                s_atomic_and = 0x88: B32 <- (B64, U32, B32) [atomic];
                s_atomic_or = 0x89: B32 <- (B64, U32, B32) [atomic];
                s_atomic_xor = 0x8a: B32 <- (B64, U32, B32) [atomic];
                s_atomic_inc = 0x8b: U32 <- (B64, U32, U32) [atomic];
                s_atomic_dec = 0x8c: U32 <- (B64, U32, U32) [atomic];
                s_atomic_swap_x2 = 0xa0: B64 <- (B64, U32, B64) [atomic];
                s_atomic_cmpswap_x2 = 0xa1: B64 <- (B64, U32, B128) [atomic];
                s_atomic_add_x2 = 0xa2: U64 <- (B64, U32, U64) [atomic];
                s_atomic_sub_x2 = 0xa3: U64 <- (B64, U32, U64) [atomic];
                s_atomic_smin_x2 = 0xa4: I64 <- (B64, U32, I64) [atomic];
                s_atomic_umin_x2 = 0xa5: U64 <- (B64, U32, U64) [atomic];
                s_atomic_smax_x2 = 0xa6: I64 <- (B64, U32, I64) [atomic];
                s_atomic_umax_x2 = 0xa7: U64 <- (B64, U32, U64) [atomic];
                s_atomic_and_x2 = 0xa8: B64 <- (B64, U32, B64) [atomic];
                s_atomic_or_x2 = 0xa9: B64 <- (B64, U32, B64) [atomic];
                s_atomic_xor_x2 = 0xaa: B64 <- (B64, U32, B64) [atomic];
                s_atomic_inc_x2 = 0xab: U64 <- (B64, U32, U64) [atomic];
                s_atomic_dec_x2 = 0xac: U64 <- (B64, U32, U64) [atomic];
            }
        }
    };
}
