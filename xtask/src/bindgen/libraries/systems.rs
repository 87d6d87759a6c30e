//! Communication, tracing, system management and storage: RCCL, ROCTX, AMD SMI and hipFile.

use super::super::library::{Binary, Headers, Library, Status};

pub(super) const RCCL: Library = Library {
    name: "rccl",
    package: "rccl-sys",
    headers: &[Headers::new((5, 7), "5.7", "RCCL of ROCm 5.4.3"), Headers::new((7, 2), "7.2", "ROCm 7.2.4")],
    includes: &["rccl/rccl.h"],
    folders: &["rccl"],
    allow: "p?nccl.*|P?NCCL.*|rccl.*|RCCL.*",
    uses: &["hip"],
    statuses: &[Status::new("ncclResult_t", "ncclSystemError", "ncclInvalidUsage")],
    binaries: &[Binary::new((5, 7), "5.7", "librccl.so.1"), Binary::new((7, 2), "7.2", "librccl.so.1")],
    topics: &[
        ("p?nccl", "auxiliary"),
        ("p?nccl(All|Reduce|Broadcast|Bcast|Gather|Scatter|Send|Recv|Alltoall)", "collective"),
        ("p?ncclRedOp", "reduction"),
        ("p?ncclComm", "communicator"),
        ("p?ncclGroup", "group"),
        ("p?nccl(Mem|Comm(Register|Deregister|Window)|Win)", "memory"),
        ("p?nccl(Put|Signal|Wait)", "one_sided"),
    ],
    ..Library::NEW
};

pub(super) const ROCTX: Library = Library {
    name: "roctx",
    package: "roctx-sys",
    headers: &[
        Headers::new((5, 7), "5.7", "ROCm 5.7.1"),
        Headers::new((6, 4), "6.4", "ROCm 6.4.1"),
        Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
    ],
    includes: &["roctracer/roctx.h"],
    folders: &["roctracer"],
    allow: "roctx.*|ROCTX.*",
    binaries: &[
        Binary::new((5, 7), "5.7", "libroctx64.so.4"),
        Binary::new((6, 4), "6.4", "libroctx64.so.4"),
        Binary::new((7, 2), "7.2", "libroctx64.so.4"),
    ],
    ..Library::NEW
};

pub(super) const AMDSMI: Library = Library {
    name: "amdsmi",
    package: "amdsmi-sys",
    headers: &[
        Headers::new((6, 2), "5.7", "AMD SMI of ROCm 6.1.2").reference(),
        Headers::new((10, 0), "7.2", "AMD SMI of ROCm 10.1").reference(),
    ],
    // Includes the functions for CPUs, which AMD's own builds have.
    prelude: "#define ENABLE_ESMI_LIB\n",
    includes: &["amd_smi/amdsmi.h"],
    folders: &["amd_smi"],
    allow: "amdsmi.*|AMDSMI.*|AMD_SMI.*",
    // A union, so the index does not matter.
    anonymous: &[("amdsmi_bdf_t", 0, "amdsmi_bdf_t_struct_0")],
    one_enum: &[(
        "amdsmi_init_flags_t",
        "the constant that means all of them, `AMDSMI_INIT_ALL_PROCESSORS`, got another value",
    )],
    packed: &["amdsmi_cper_hdr_t", "amdsmi_hsmp_metrics_table_t"],
    statuses: &[Status::new("amdsmi_status_t", "AMDSMI_STATUS_FAIL_LOAD_MODULE", "AMDSMI_STATUS_FAIL_LOAD_SYMBOL")
        .other_release("AMDSMI_STATUS_NOT_SUPPORTED")],
    binaries: &[Binary::new((10, 0), "7.2", "libamd_smi.so.27")],
    topics: &[
        ("amdsmi_", "general"),
        (
            "amdsmi_(get|set|reset|is|init|clean|stop)_(gpu|power|clk|clock|soc|xgmi|fw|temp|energy|utilization|violation|vcn|supported|minmax|pcie|afids|npm)",
            "gpu",
        ),
        ("amdsmi_gpu", "gpu"),
        ("amdsmi_((get|set|reset)_)?(cpu|hsmp|esmi|ttm|threads|first_online|cpusocket|cpucore)", "cpu"),
        ("amdsmi_first_online", "cpu"),
        ("amdsmi_get_nic", "nic"),
        ("amdsmi_(topo|get_link|get_xgmi|is_P2P|get_.*_link)", "topology"),
        ("amdsmi_((get|free|alloc)_)?fabric", "fabric"),
    ],
    ..Library::NEW
};

pub(super) const HIPFILE: Library = Library {
    name: "hipfile",
    package: "hipfile-sys",
    allow: "hipFile.*|HIPFILE.*",
    results_by_hand: &["hipFileError"],
    uses: &["hip"],
    ..Library::NEW
};
