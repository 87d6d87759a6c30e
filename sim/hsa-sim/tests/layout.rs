//! Compares HSA's types and constants with the C headers of ROCm 7.2: sizes, alignments, offsets, values.
#![cfg(target_os = "linux")]

mod support;

use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

use hsa_sim::abi::*;

const HEADERS: [&str; 6] =
    ["hsa.h", "hsa_ext_amd.h", "hsa_ext_image.h", "hsa_ext_finalize.h", "amd_hsa_signal.h", "hsa_ven_amd_loader.h"];

/// A fact: its name, C's expression for it, and what it is in Rust.
type Fact = (String, String, u64);

/// Facts of structs: size, alignment, offset of every field.
macro_rules! structs {
    ($out:ident: $($name:ident { $($field:ident)* })*) => {
        $(
            let name = stringify!($name);
            $out.push((format!("size of {name}"), format!("sizeof({name})"), size_of::<$name>() as u64));
            $out.push((format!("alignment of {name}"), format!("_Alignof({name})"), align_of::<$name>() as u64));
            $(
                let field = stringify!($field).trim_start_matches("r#");
                let offset = offset_of!($name, $field) as u64;
                $out.push((format!("{name}.{field}"), format!("offsetof({name}, {field})"), offset));
            )*
        )*
    };
}

fn facts() -> Vec<Fact> {
    let mut out: Vec<Fact> = Vec::new();
    structs! { out:
        hsa_agent_t { handle }
        hsa_signal_t { handle }
        hsa_signal_group_t { handle }
        hsa_region_t { handle }
        hsa_isa_t { handle }
        hsa_cache_t { handle }
        hsa_wavefront_t { handle }
        hsa_code_object_reader_t { handle }
        hsa_executable_t { handle }
        hsa_loaded_code_object_t { handle }
        hsa_executable_symbol_t { handle }
        hsa_code_object_t { handle }
        hsa_code_symbol_t { handle }
        hsa_callback_data_t { handle }
        hsa_amd_memory_pool_t { handle }
        hsa_amd_vmem_alloc_handle_t { handle }
        hsa_ext_image_t { handle }
        hsa_ext_sampler_t { handle }
        hsa_ext_program_t { handle }
        hsa_dim3_t { x y z }
        hsa_queue_t { r#type features base_address doorbell_signal size reserved1 id }
        scratch_last_used_index_xcc_t { main alt }
        amd_queue_v2_t { hsa_queue caps reserved1 write_dispatch_id group_segment_aperture_base_hi private_segment_aperture_base_hi max_cu_id max_wave_id max_legacy_doorbell_dispatch_id_plus_1 legacy_doorbell_lock reserved2 read_dispatch_id read_dispatch_id_field_base_byte_offset compute_tmpring_size scratch_resource_descriptor scratch_backing_memory_location scratch_backing_memory_byte_size scratch_wave64_lane_byte_size queue_properties scratch_max_use_index queue_inactive_signal alt_scratch_max_use_index alt_scratch_resource_descriptor alt_scratch_backing_memory_location alt_scratch_dispatch_limit_x alt_scratch_dispatch_limit_y alt_scratch_dispatch_limit_z alt_scratch_wave64_lane_byte_size alt_compute_tmpring_size reserved5 scratch_last_used_index }
        amd_signal_t { kind value event_mailbox_ptr event_id reserved1 start_ts end_ts queue_ptr reserved3 }
        hsa_amd_profiling_dispatch_time_t { start end }
        hsa_amd_profiling_async_copy_time_t { start end }
        hsa_amd_hdp_flush_t { HDP_MEM_FLUSH_CNTL HDP_REG_FLUSH_CNTL }
        hsa_amd_clock_counters_t { gpu_clock_counter cpu_clock_counter system_clock_counter system_clock_frequency }
        hsa_pitched_ptr_t { base pitch slice }
        hsa_amd_memory_pool_link_info_t { min_latency max_latency min_bandwidth max_bandwidth atomic_support_32bit atomic_support_64bit coherent_support link_type numa_distance }
        hsa_amd_pointer_info_t { size r#type agentBaseAddress hostBaseAddress sizeInBytes userData agentOwner global_flags registered }
        hsa_amd_ipc_memory_t { handle }
        hsa_amd_gpu_memory_fault_info_t { agent virtual_address fault_reason_mask }
        hsa_amd_gpu_hw_exception_info_t { agent reset_type reset_cause }
        hsa_amd_event_t { event_type }
        hsa_amd_svm_attribute_pair_t { attribute value }
        hsa_amd_memory_access_desc_t { permissions agent_handle }
        hsa_ven_amd_loader_segment_descriptor_t { agent executable code_object_storage_type code_object_storage_base code_object_storage_size code_object_storage_offset segment_base segment_size }
        hsa_ven_amd_loader_1_03_pfn_t { hsa_ven_amd_loader_query_host_address hsa_ven_amd_loader_query_segment_descriptors hsa_ven_amd_loader_query_executable hsa_ven_amd_loader_executable_iterate_loaded_code_objects hsa_ven_amd_loader_loaded_code_object_get_info hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size hsa_ven_amd_loader_iterate_executables }
        hsa_ext_image_format_t { channel_type channel_order }
        hsa_ext_image_descriptor_t { geometry width height depth array_size format }
        hsa_amd_image_descriptor_t { version deviceID data }
        hsa_ext_image_data_info_t { size alignment }
        hsa_ext_image_region_t { offset range }
        hsa_ext_sampler_descriptor_t { coordinate_mode filter_mode address_mode }
        hsa_ext_sampler_descriptor_v2_t { coordinate_mode filter_mode address_modes }
        hsa_ext_images_1_pfn_t { hsa_ext_image_get_capability hsa_ext_image_data_get_info hsa_ext_image_create hsa_ext_image_destroy hsa_ext_image_copy hsa_ext_image_import hsa_ext_image_export hsa_ext_image_clear hsa_ext_sampler_create hsa_ext_sampler_destroy hsa_ext_image_get_capability_with_layout hsa_ext_image_data_get_info_with_layout hsa_ext_image_create_with_layout hsa_ext_sampler_create_v2 }
        hsa_kernel_dispatch_packet_t { header setup workgroup_size_x workgroup_size_y workgroup_size_z reserved0 grid_size_x grid_size_y grid_size_z private_segment_size group_segment_size kernel_object kernarg_address reserved2 completion_signal }
        hsa_barrier_and_packet_t { header reserved0 reserved1 dep_signal reserved2 completion_signal }
        hsa_amd_vendor_packet_header_t { header AmdFormat reserved }
        hsa_amd_barrier_value_packet_t { header reserved0 signal value mask cond reserved1 reserved2 reserved3 completion_signal }
    }
    out.extend(CONSTANTS.iter().map(|(name, value)| ((*name).to_owned(), (*name).to_owned(), u64::from(*value))));
    out.extend(STATUSES.iter().map(|(name, value)| ((*name).to_owned(), (*name).to_owned(), u64::from(value.0))));
    // The members of an unnamed C union are members of the enclosing struct.
    for variant in ["memory_fault", "hw_exception"] {
        let offset = std::mem::offset_of!(hsa_amd_event_t, info) as u64;
        out.push((variant.to_owned(), format!("offsetof(hsa_amd_event_t, {variant})"), offset));
    }
    out.push(("doorbell".to_owned(), "AMD_SIGNAL_KIND_DOORBELL".to_owned(), AMD_SIGNAL_KIND_DOORBELL as u64));
    out.push(("user signal".to_owned(), "AMD_SIGNAL_KIND_USER".to_owned(), AMD_SIGNAL_KIND_USER as u64));
    out
}

#[test]
fn types_and_constants_are_those_of_the_headers() {
    let include = support::trees().join("7.2/usr/include/hsa");
    if !include.is_dir() {
        support::skipped(&"no headers of ROCm 7.2 (cargo xtask rocm fetch 7.2)");
        return;
    }
    let facts = facts();
    let mut source = String::from("#include <stddef.h>\n#include <stdio.h>\n");
    HEADERS.iter().for_each(|header| _ = writeln!(source, "#include \"{header}\""));
    source += "int main(void) {\n";
    for (_, expression, _) in &facts {
        let _ = writeln!(source, "printf(\"%llu\\n\", (unsigned long long)({expression}));");
    }
    source += "}\n";
    let folder = tempfile::tempdir().unwrap();
    let (file, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    std::fs::write(&file, source).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(&compiler);
    command.args(["-std=gnu11", "-w", "-I"]).arg(&include).arg(&file).arg("-o").arg(&program);
    match command.output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            support::skipped(&format_args!("no C compiler ({}): {error}", compiler.to_string_lossy()));
            return;
        }
    }
    let output = Command::new(&program).output().unwrap();
    let values: Vec<u64> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), facts.len());
    let wrong: Vec<_> = facts.iter().zip(values).filter(|((.., ours), theirs)| ours != theirs).collect();
    assert!(wrong.is_empty(), "(what, C's expression, here), in C: {wrong:#?}");
    assert!(facts.len() > 400, "{}", facts.len());
}
