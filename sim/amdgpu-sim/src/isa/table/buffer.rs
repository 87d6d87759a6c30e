//! Buffers and images.

macro_rules! buffer_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => {
        $next! { [$($rest)*] $($rows)*
            Mubuf {
                buffer_load_format_x = 0x00: B32 <- (U32, _, B128, U32) [lds format];
                buffer_load_format_xy = 0x01: B64 <- (U32, _, B128, U32) [format];
                buffer_load_format_xyz = 0x02: B96 <- (U32, _, B128, U32) [format];
                buffer_load_format_xyzw = 0x03: B128 <- (U32, _, B128, U32) [format];
                buffer_store_format_x = 0x04: _ <- (U32, B32, B128, U32) [format];
                buffer_store_format_xy = 0x05: _ <- (U32, B64, B128, U32) [format];
                buffer_store_format_xyz = 0x06: _ <- (U32, B96, B128, U32) [format];
                buffer_store_format_xyzw = 0x07: _ <- (U32, B128, B128, U32) [format];
                buffer_load_format_d16_x = 0x08: B16 <- (U32, _, B128, U32) [d16 format];
                buffer_load_format_d16_xy = 0x09: B16x2 <- (U32, _, B128, U32) [d16 format];
                buffer_load_format_d16_xyz = 0x0a: B16x3 <- (U32, _, B128, U32) [d16 format];
                buffer_load_format_d16_xyzw = 0x0b: B16x4 <- (U32, _, B128, U32) [d16 format];
                buffer_store_format_d16_x = 0x0c: _ <- (U32, B16, B128, U32) [d16 format];
                buffer_store_format_d16_xy = 0x0d: _ <- (U32, B16x2, B128, U32) [d16 format];
                buffer_store_format_d16_xyz = 0x0e: _ <- (U32, B16x3, B128, U32) [d16 format];
                buffer_store_format_d16_xyzw = 0x0f: _ <- (U32, B16x4, B128, U32) [d16 format];
                buffer_load_ubyte = 0x10: U8 <- (U32, _, B128, U32) [lds];
                buffer_load_sbyte = 0x11: I8 <- (U32, _, B128, U32) [lds];
                buffer_load_ushort = 0x12: U16 <- (U32, _, B128, U32) [lds];
                buffer_load_sshort = 0x13: I16 <- (U32, _, B128, U32) [lds];
                buffer_load_dword = 0x14: B32 <- (U32, _, B128, U32) [lds];
                buffer_load_dwordx2 = 0x15: B64 <- (U32, _, B128, U32);
                buffer_load_dwordx3 = 0x16: B96 <- (U32, _, B128, U32);
                buffer_load_dwordx4 = 0x17: B128 <- (U32, _, B128, U32);
                buffer_store_byte = 0x18: _ <- (U32, B8, B128, U32);
                buffer_store_byte_d16_hi = 0x19: _ <- (U32, B8, B128, U32) [d16_hi];
                buffer_store_short = 0x1a: _ <- (U32, B16, B128, U32);
                buffer_store_short_d16_hi = 0x1b: _ <- (U32, B16, B128, U32) [d16_hi];
                buffer_store_dword = 0x1c: _ <- (U32, B32, B128, U32);
                buffer_store_dwordx2 = 0x1d: _ <- (U32, B64, B128, U32);
                buffer_store_dwordx3 = 0x1e: _ <- (U32, B96, B128, U32);
                buffer_store_dwordx4 = 0x1f: _ <- (U32, B128, B128, U32);
                buffer_load_ubyte_d16 = 0x20: U8 <- (U32, _, B128, U32) [d16];
                buffer_load_ubyte_d16_hi = 0x21: U8 <- (U32, _, B128, U32) [d16_hi];
                buffer_load_sbyte_d16 = 0x22: I8 <- (U32, _, B128, U32) [d16];
                buffer_load_sbyte_d16_hi = 0x23: I8 <- (U32, _, B128, U32) [d16_hi];
                buffer_load_short_d16 = 0x24: B16 <- (U32, _, B128, U32) [d16];
                buffer_load_short_d16_hi = 0x25: B16 <- (U32, _, B128, U32) [d16_hi];
                buffer_load_format_d16_hi_x = 0x26: B16 <- (U32, _, B128, U32) [d16_hi format];
                buffer_store_format_d16_hi_x = 0x27: _ <- (U32, B16, B128, U32) [d16_hi format];
                buffer_wbl2 = 0x28: _ <- ();
                buffer_inv = _ / 0x29: _ <- ();
                buffer_invl2 = 0x29 / _: _ <- ();
                buffer_store_lds_dword = 0x3d / _: _ <- (U32, _, B128, U32) [lds_only];
                buffer_wbinvl1 = 0x3e / _: _ <- ();
                buffer_wbinvl1_vol = 0x3f / _: _ <- ();
                buffer_atomic_swap = 0x40: B32 <- (U32, B32, B128, U32) [atomic];
                buffer_atomic_cmpswap = 0x41: B32 <- (U32, B64, B128, U32) [atomic];
                buffer_atomic_add = 0x42: U32 <- (U32, U32, B128, U32) [atomic];
                buffer_atomic_sub = 0x43: U32 <- (U32, U32, B128, U32) [atomic];
                buffer_atomic_smin = 0x44: I32 <- (U32, I32, B128, U32) [atomic];
                buffer_atomic_umin = 0x45: U32 <- (U32, U32, B128, U32) [atomic];
                buffer_atomic_smax = 0x46: I32 <- (U32, I32, B128, U32) [atomic];
                buffer_atomic_umax = 0x47: U32 <- (U32, U32, B128, U32) [atomic];
                buffer_atomic_and = 0x48: B32 <- (U32, B32, B128, U32) [atomic];
                buffer_atomic_or = 0x49: B32 <- (U32, B32, B128, U32) [atomic];
                buffer_atomic_xor = 0x4a: B32 <- (U32, B32, B128, U32) [atomic];
                buffer_atomic_inc = 0x4b: U32 <- (U32, U32, B128, U32) [atomic];
                buffer_atomic_dec = 0x4c: U32 <- (U32, U32, B128, U32) [atomic];
                buffer_atomic_add_f32 = 0x4d: F32 <- (U32, F32, B128, U32) [atomic];
                buffer_atomic_pk_add_f16 = 0x4e: F16x2 <- (U32, F16x2, B128, U32) [atomic];
                buffer_atomic_add_f64 = 0x4f: F64 <- (U32, F64, B128, U32) [atomic];
                buffer_atomic_min_f64 = 0x50: F64 <- (U32, F64, B128, U32) [atomic];
                buffer_atomic_max_f64 = 0x51: F64 <- (U32, F64, B128, U32) [atomic];
                buffer_atomic_swap_x2 = 0x60: B64 <- (U32, B64, B128, U32) [atomic];
                buffer_atomic_cmpswap_x2 = 0x61: B64 <- (U32, B128, B128, U32) [atomic];
                buffer_atomic_add_x2 = 0x62: U64 <- (U32, U64, B128, U32) [atomic];
                buffer_atomic_sub_x2 = 0x63: U64 <- (U32, U64, B128, U32) [atomic];
                buffer_atomic_smin_x2 = 0x64: I64 <- (U32, I64, B128, U32) [atomic];
                buffer_atomic_umin_x2 = 0x65: U64 <- (U32, U64, B128, U32) [atomic];
                buffer_atomic_smax_x2 = 0x66: I64 <- (U32, I64, B128, U32) [atomic];
                buffer_atomic_umax_x2 = 0x67: U64 <- (U32, U64, B128, U32) [atomic];
                buffer_atomic_and_x2 = 0x68: B64 <- (U32, B64, B128, U32) [atomic];
                buffer_atomic_or_x2 = 0x69: B64 <- (U32, B64, B128, U32) [atomic];
                buffer_atomic_xor_x2 = 0x6a: B64 <- (U32, B64, B128, U32) [atomic];
                buffer_atomic_inc_x2 = 0x6b: U64 <- (U32, U64, B128, U32) [atomic];
                buffer_atomic_dec_x2 = 0x6c: U64 <- (U32, U64, B128, U32) [atomic];
            }
            Mtbuf {
                tbuffer_load_format_x = 0x00: B32 <- (U32, _, B128, U32) [format];
                tbuffer_load_format_xy = 0x01: B64 <- (U32, _, B128, U32) [format];
                tbuffer_load_format_xyz = 0x02: B96 <- (U32, _, B128, U32) [format];
                tbuffer_load_format_xyzw = 0x03: B128 <- (U32, _, B128, U32) [format];
                tbuffer_store_format_x = 0x04: _ <- (U32, B32, B128, U32) [format];
                tbuffer_store_format_xy = 0x05: _ <- (U32, B64, B128, U32) [format];
                tbuffer_store_format_xyz = 0x06: _ <- (U32, B96, B128, U32) [format];
                tbuffer_store_format_xyzw = 0x07: _ <- (U32, B128, B128, U32) [format];
                tbuffer_load_format_d16_x = 0x08: B16 <- (U32, _, B128, U32) [d16 format];
                tbuffer_load_format_d16_xy = 0x09: B16x2 <- (U32, _, B128, U32) [d16 format];
                tbuffer_load_format_d16_xyz = 0x0a: B16x3 <- (U32, _, B128, U32) [d16 format];
                tbuffer_load_format_d16_xyzw = 0x0b: B16x4 <- (U32, _, B128, U32) [d16 format];
                tbuffer_store_format_d16_x = 0x0c: _ <- (U32, B16, B128, U32) [d16 format];
                tbuffer_store_format_d16_xy = 0x0d: _ <- (U32, B16x2, B128, U32) [d16 format];
                tbuffer_store_format_d16_xyz = 0x0e: _ <- (U32, B16x3, B128, U32) [d16 format];
                tbuffer_store_format_d16_xyzw = 0x0f: _ <- (U32, B16x4, B128, U32) [d16 format];
            }
            Mimg {
                image_load = 0x00 / _: B128 <- (B32, _, B256);
                image_load_mip = 0x01 / _: B128 <- (B32, _, B256);
                image_load_pck = 0x02 / _: B128 <- (B32, _, B256);
                image_load_pck_sgn = 0x03 / _: B128 <- (B32, _, B256);
                image_load_mip_pck = 0x04 / _: B128 <- (B32, _, B256);
                image_load_mip_pck_sgn = 0x05 / _: B128 <- (B32, _, B256);
                image_store = 0x08 / _: _ <- (B32, B128, B256);
                image_store_mip = 0x09 / _: _ <- (B32, B128, B256);
                image_store_pck = 0x0a / _: _ <- (B32, B128, B256);
                image_store_mip_pck = 0x0b / _: _ <- (B32, B128, B256);
                image_get_resinfo = 0x0e / _: B128 <- (B32, _, B256);
                image_atomic_swap = 0x10 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_cmpswap = 0x11 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_add = 0x12 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_sub = 0x13 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_smin = 0x14 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_umin = 0x15 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_smax = 0x16 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_umax = 0x17 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_and = 0x18 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_or = 0x19 / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_xor = 0x1a / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_inc = 0x1b / _: B128 <- (B32, B128, B256) [atomic];
                image_atomic_dec = 0x1c / _: B128 <- (B32, B128, B256) [atomic];
                image_sample = 0x20 / _: B128 <- (B32, _, B256, B128);
            }
        }
    };
}
