//! Tensors and neural networks: hipTensor and hipDNN.

use super::super::library::{Library, Status};

pub(super) const HIPTENSOR: Library = Library {
    name: "hiptensor",
    package: "hiptensor-sys",
    prelude: "typedef struct FILE FILE;\n",
    allow: "hiptensor.*|HIPTENSOR.*",
    uses: &["hip"],
    statuses: &[Status::new("hiptensorStatus_t", "HIPTENSOR_STATUS_NOT_INITIALIZED", "HIPTENSOR_STATUS_NOT_SUPPORTED")],
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
