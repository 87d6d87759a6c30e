//! Tensors and neural networks: hipTensor and hipDNN.

use super::super::library::{Library, Status};

pub(super) const HIPTENSOR: Library = Library {
    name: "hiptensor",
    package: "hiptensor-sys",
    prelude: "typedef struct FILE FILE;\n",
    allow: "hiptensor.*|HIPTENSOR.*",
    uses: &["hip"],
    // No available source has the values of its constants. This value is none of them, and not 0, which is success.
    statuses: &[Status::new("hiptensorStatus_t", "Self(u32::MAX)", "Self(u32::MAX)")],
    ..Library::NEW
};

pub(super) const HIPDNN_BACKEND: Library = Library {
    name: "hipdnn_backend",
    package: "hipdnn-sys",
    allow: "hipdnn.*|Hipdnn.*|HIPDNN.*",
    uses: &["hip"],
    statuses: &[Status::new("hipdnnStatus_t", "HIPDNN_STATUS_NOT_INITIALIZED", "HIPDNN_STATUS_NOT_SUPPORTED")],
    ..Library::NEW
};
