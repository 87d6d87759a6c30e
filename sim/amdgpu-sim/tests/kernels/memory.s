// Memory instructions that compilers rarely emit, form by form. Every kernel takes (in, out), runs one wave, and stores dword i of
// lane t at out + 256 * i + 4 * t. tests/instructions.rs knows what each must be.

.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"

.macro begin name
.text
.globl \name
.p2align 8
.type \name,@function
\name:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v40, v0                     // lane
  v_lshlrev_b32 v41, 2, v40             // 4 * lane
  v_lshlrev_b32 v42, 4, v40             // 16 * lane
  v_mov_b32 v0, 0
.endm

// Stores v\from .. as result dwords \i ...
.macro result i, reg
  v_add_u32 v43, 256 * \i, v41
  global_store_dword v43, \reg, s[6:7]
.endm

.macro finish name, lds, scratch
  s_endpgm
.size \name, .-\name
.rodata
.p2align 6
.amdhsa_kernel \name
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 64
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 64
  .amdhsa_group_segment_fixed_size \lds
  .amdhsa_private_segment_fixed_size \scratch
  .amdhsa_system_sgpr_private_segment_wavefront_offset 0
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel
.endm

begin global_loads
  v_add_co_u32 v2, vcc, s4, v42
  v_mov_b32 v3, s5
  v_addc_co_u32 v3, vcc, 0, v3, vcc
  global_load_ubyte v4, v[2:3], off offset:1
  global_load_sbyte v5, v[2:3], off offset:1
  global_load_ushort v6, v[2:3], off offset:1
  global_load_sshort v7, v[2:3], off offset:2
  v_mov_b32 v8, -1
  v_mov_b32 v9, -1
  v_mov_b32 v10, -1
  v_mov_b32 v11, -1
  v_mov_b32 v12, -1
  v_mov_b32 v13, -1
  global_load_ubyte_d16 v8, v[2:3], off
  global_load_ubyte_d16_hi v9, v[2:3], off
  global_load_sbyte_d16 v10, v[2:3], off offset:3
  global_load_sbyte_d16_hi v11, v[2:3], off offset:3
  global_load_short_d16 v12, v[2:3], off offset:4
  global_load_short_d16_hi v13, v[2:3], off offset:6
  global_load_dwordx2 v[14:15], v42, s[4:5] offset:8
  global_load_dwordx3 v[16:18], v42, s[4:5] offset:4
  global_load_dwordx4 v[20:23], v42, s[4:5]
  v_add_co_u32 v2, vcc, 64, v2
  v_addc_co_u32 v3, vcc, 0, v3, vcc
  global_load_dword v24, v[2:3], off offset:-64
  flat_load_dwordx2 v[26:27], v[2:3] offset:16
  v_mov_b32 v28, 7
  s_mov_b64 s[8:9], exec
  s_mov_b32 exec_lo, 0x0f0f0f0f
  s_mov_b32 exec_hi, 0xff
  global_load_dword v28, v42, s[4:5]
  s_mov_b64 exec, s[8:9]
  result 0, v4
  result 1, v5
  result 2, v6
  result 3, v7
  result 4, v8
  result 5, v9
  result 6, v10
  result 7, v11
  result 8, v12
  result 9, v13
  result 10, v14
  result 11, v15
  result 12, v16
  result 13, v17
  result 14, v18
  result 15, v20
  result 16, v21
  result 17, v22
  result 18, v23
  result 19, v24
  result 20, v26
  result 21, v27
  result 22, v28
finish global_loads, 0, 0

begin global_stores
  v_mov_b32 v4, 0xa1b2c3d4
  v_add_u32 v4, v4, v40
  v_mov_b32 v5, 0x11111111
  v_mov_b32 v6, 0x22222222
  v_mov_b32 v7, 0x33333333
  global_store_byte v42, v4, s[6:7]
  global_store_byte_d16_hi v42, v4, s[6:7] offset:1
  global_store_short v42, v4, s[6:7] offset:2
  global_store_short_d16_hi v42, v4, s[6:7] offset:4
  v_add_u32 v42, 0x400, v42
  global_store_dwordx2 v42, v[4:5], s[6:7]
  v_add_u32 v42, 0x400, v42
  global_store_dwordx3 v42, v[4:6], s[6:7]
  v_add_u32 v42, 0x400, v42
  global_store_dwordx4 v42, v[4:7], s[6:7]
finish global_stores, 0, 0

begin lds
  s_mov_b32 s8, 0x01010101
  v_mul_lo_u32 v2, s8, v40
  v_xor_b32 v2, 0x80ff7f01, v2
  ds_write_b32 v41, v2
  v_lshlrev_b32 v13, 3, v40
  ds_write_b64 v13, v[40:41] offset:4096
  s_waitcnt lgkmcnt(0)
  ds_read_u8 v4, v41 offset:3
  ds_read_i8 v5, v41 offset:3
  ds_read_u16 v6, v41 offset:2
  ds_read_i16 v7, v41 offset:2
  v_mov_b32 v8, -1
  v_mov_b32 v9, -1
  v_mov_b32 v10, -1
  ds_read_u8_d16 v8, v41
  ds_read_u16_d16_hi v9, v41 offset:2
  ds_read_i8_d16_hi v10, v41 offset:2
  v_and_b32 v11, 0xfc, v41
  v_lshrrev_b32 v12, 1, v11
  v_and_b32 v12, 0x7c, v12
  ds_read2_b32 v[14:15], v12 offset0:1 offset1:9
  ds_read2st64_b32 v[16:17], v11 offset0:0 offset1:16
  ds_read_b96 v[18:20], v12
  ds_read_b128 v[22:25], v12 offset:16
  ds_read2_b64 v[26:29], v12 offset0:2 offset1:3
  v_mov_b32 v30, 0
  ds_write2_b32 v41, v40, v2 offset0:64 offset1:128
  ds_write2st64_b64 v42, v[40:41], v[2:3] offset0:8 offset1:12
  ds_write_b8 v41, v2 offset:1024
  ds_write_b8_d16_hi v41, v2 offset:1025
  ds_write_b16_d16_hi v41, v2 offset:1026
  ds_read_b32 v31, v41 offset:256
  ds_read_b32 v32, v41 offset:512
  ds_read_b32 v33, v41 offset:1024
  ds_read_b64 v[34:35], v42 offset:4096
  ds_read_b64 v[36:37], v42 offset:6144
  s_waitcnt lgkmcnt(0)
  result 0, v4
  result 1, v5
  result 2, v6
  result 3, v7
  result 4, v8
  result 5, v9
  result 6, v10
  result 7, v14
  result 8, v15
  result 9, v16
  result 10, v17
  result 11, v18
  result 12, v20
  result 13, v22
  result 14, v25
  result 15, v26
  result 16, v29
  result 17, v31
  result 18, v32
  result 19, v33
  result 20, v34
  result 21, v35
  result 22, v36
finish lds, 8192, 0

begin lds_atomics
  v_mov_b32 v2, 100
  ds_write_b32 v41, v2
  v_mov_b32 v3, 0
  ds_write_b64 v42, v[2:3] offset:1024
  v_mov_b32 v4, 3
  v_mov_b32 v5, 0
  v_and_b32 v6, 0xc0, v41               // four cells, 16 lanes each
  ds_add_rtn_u32 v8, v6, v4
  ds_sub_u32 v41, v40 offset:4
  ds_wrxchg_rtn_b32 v9, v41, v40 offset:0
  v_mov_b32 v10, 100
  v_mov_b32 v11, 55
  ds_cmpst_rtn_b32 v12, v41, v10, v11 offset:4
  ds_add_rtn_u64 v[14:15], v42, v[4:5] offset:1024
  ds_max_rtn_i32 v16, v6, v40 offset:512
  v_mov_b32 v17, 1.5
  ds_add_rtn_f32 v18, v6, v17 offset:768
  s_mov_b32 m0, 0xf00
  ds_append v19 offset:16
  s_mov_b64 exec, 0xff
  ds_append v20 offset:16
  ds_consume v20 offset:16
  s_mov_b64 exec, -1
  ds_read_b32 v21, v41 offset:4
  ds_wrxchg2_rtn_b32 v[22:23], v41, v40, v2 offset0:0 offset1:64
  s_waitcnt lgkmcnt(0)
  result 0, v8
  result 1, v9
  result 2, v12
  result 3, v14
  result 4, v16
  result 5, v18
  result 6, v19
  result 7, v20
  result 8, v21
  result 9, v22
finish lds_atomics, 8192, 0

begin lanes
  v_mul_u32_u24 v2, 3, v40
  ds_swizzle_b32 v4, v2 offset:swizzle(QUAD_PERM, 3, 2, 1, 0)
  ds_swizzle_b32 v5, v2 offset:swizzle(BROADCAST, 8, 5)
  v_mul_u32_u24 v6, 20, v40
  ds_permute_b32 v7, v6, v2
  ds_bpermute_b32 v8, v6, v2 offset:4
  v_mov_b32 v9, -1
  s_mov_b32 exec_hi, 0
  ds_bpermute_b32 v9, v6, v2
  s_mov_b64 exec, -1
  s_waitcnt lgkmcnt(0)
  result 0, v4
  result 1, v5
  result 2, v7
  result 3, v8
  result 4, v9
finish lanes, 0, 0

begin buffers
  s_mov_b64 s[8:9], s[4:5]
  s_mov_b32 s10, 512                    // records: 512 bytes
  s_mov_b32 s11, 0x00027000
  s_mov_b32 s12, 16
  v_mov_b32 v4, -1
  v_mov_b32 v5, -1
  v_mov_b32 v6, -1
  v_mov_b32 v7, -1
  buffer_load_dword v4, v42, s[8:11], 0 offen offset:4
  buffer_load_dwordx2 v[6:7], v42, s[8:11], s12 offen
  buffer_load_ubyte v5, v41, s[8:11], 0 offen offset:1
  s_or_b32 s9, s9, 0x00080000           // stride 8
  s_mov_b32 s10, 32                     // records: 32 elements
  v_mov_b32 v8, -1
  v_mov_b32 v10, v40
  v_mov_b32 v11, 4
  buffer_load_dword v8, v[10:11], s[8:11], 0 idxen offen
  v_mov_b32 v9, -1
  buffer_load_dword v9, v10, s[8:11], 0 idxen
  s_mov_b32 s10, 4
  s_buffer_load_dword s16, s[8:11], 0x1c
  s_buffer_load_dwordx2 s[18:19], s[8:11], 0x1c
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v12, s16
  v_mov_b32 v13, s18
  v_mov_b32 v14, s19
  // Stores beyond the end are dropped; atomics too.
  s_mov_b64 s[8:9], s[6:7]
  s_mov_b32 s10, 8192
  v_mov_b32 v15, 77
  v_add_u32 v16, 8192 - 128, v41
  buffer_store_dword v15, v16, s[8:11], 0 offen
  buffer_atomic_add v15, v16, s[8:11], 0 offen glc
  s_waitcnt vmcnt(0)
  result 0, v4
  result 1, v5
  result 2, v6
  result 3, v7
  result 4, v8
  result 5, v9
  result 6, v12
  result 7, v13
  result 8, v14
  result 9, v15
finish buffers, 0, 0

begin scratch
  v_mov_b32 v4, 0x55667788
  v_add_u32 v4, v4, v40
  v_mov_b32 v5, 0x11223344
  v_mov_b32 v7, 0
  scratch_store_dwordx2 v7, v[4:5], off offset:8
  v_mov_b32 v6, 16
  scratch_store_short v6, v4, off offset:1
  s_mov_b32 s8, 8
  scratch_load_dword v8, off, s8 offset:4
  scratch_load_ubyte v9, v6, off offset:-7
  scratch_load_dword v10, off, s8
  scratch_load_ushort v11, v6, off offset:1
  // The same through a generic pointer: offset 8 of the private aperture.
  s_mov_b64 s[10:11], src_private_base
  v_mov_b32 v12, 8
  v_mov_b32 v13, s11
  flat_load_dword v14, v[12:13]
  flat_store_dword v[12:13], v40 offset:4
  scratch_load_dword v15, off, s8 offset:4
  flat_atomic_add v16, v[12:13], v40 offset:4 glc
  scratch_load_dword v17, off, s8 offset:4
  s_waitcnt vmcnt(0)
  result 0, v8
  result 1, v9
  result 2, v10
  result 3, v11
  result 4, v14
  result 5, v15
  result 6, v16
  result 7, v17
finish scratch, 0, 64

begin scalar
  s_load_dword s8, s[4:5], 0x4
  s_load_dwordx2 s[10:11], s[4:5], 0x8
  s_mov_b32 s12, 32
  s_load_dwordx8 s[16:23], s[4:5], s12
  s_load_dword s13, s[4:5], s12 offset:0x4
  s_memtime s[24:25]
  s_memrealtime s[26:27]
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v4, s8
  v_mov_b32 v5, s10
  v_mov_b32 v6, s11
  v_mov_b32 v7, s16
  v_mov_b32 v8, s23
  v_mov_b32 v9, s13
  result 0, v4
  result 1, v5
  result 2, v6
  result 3, v7
  result 4, v8
  result 5, v9
finish scalar, 0, 0

.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - { .name: global_loads, .symbol: global_loads.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 32, .vgpr_count: 64, .max_flat_workgroup_size: 64, .args: [ { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }, { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: global_stores, .symbol: global_stores.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 32, .vgpr_count: 64, .max_flat_workgroup_size: 64, .args: [ { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }, { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: lds, .symbol: lds.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 8192, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 32, .vgpr_count: 64, .max_flat_workgroup_size: 64, .args: [ { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }, { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: lds_atomics, .symbol: lds_atomics.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 8192, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 32, .vgpr_count: 64, .max_flat_workgroup_size: 64, .args: [ { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }, { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: lanes, .symbol: lanes.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 32, .vgpr_count: 64, .max_flat_workgroup_size: 64, .args: [ { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }, { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: buffers, .symbol: buffers.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 32, .vgpr_count: 64, .max_flat_workgroup_size: 64, .args: [ { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }, { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: scratch, .symbol: scratch.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 0, .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 32, .vgpr_count: 64, .max_flat_workgroup_size: 64, .args: [ { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }, { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: scalar, .symbol: scalar.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 32, .vgpr_count: 64, .max_flat_workgroup_size: 64, .args: [ { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }, { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
...
.end_amdgpu_metadata
