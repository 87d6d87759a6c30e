use cuda_compat::cusparse::result;
use cuda_compat::cusparse::sys::{
    cusparseGetPointerMode, cusparsePointerMode_t, cusparseSetPointerMode, cusparseStatus_t,
};

use crate::stream_with;

#[test]
fn a_handle_is_made_used_and_destroyed() {
    let Some(_stream) = stream_with!(cusparse, "hipsparseCreate") else { return };
    let handle = result::create().unwrap();
    let mut mode = cusparsePointerMode_t::default();
    // SAFETY: the handle is alive, and there is room for the result.
    unsafe {
        cusparseSetPointerMode(handle, cusparsePointerMode_t::CUSPARSE_POINTER_MODE_DEVICE).result().unwrap();
        cusparseGetPointerMode(handle, &mut mode).result().unwrap();
        result::destroy(handle).unwrap();
    }
    assert_eq!(mode, cusparsePointerMode_t::CUSPARSE_POINTER_MODE_DEVICE);
}

#[test]
fn a_status_is_a_result() {
    assert_eq!(cusparseStatus_t::CUSPARSE_STATUS_SUCCESS.result(), Ok(()));
    let error = cusparseStatus_t::CUSPARSE_STATUS_ZERO_PIVOT.result().unwrap_err();
    assert_eq!(format!("{error:?}"), "CusparseError(HIPSPARSE_STATUS_ZERO_PIVOT)");
}
