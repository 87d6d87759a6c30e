//! Contexts: a device has one, the primary one.

use std::ptr::null_mut;

use cuda_compat::driver::*;

use crate::{free, has, ok, start, upload};

#[test]
fn a_created_context_is_the_primary_one_and_frees_nothing() {
    if !has(&["hipCtxCreate"]) {
        return;
    }
    start();
    let pointer = upload(&[1, 2, 3, 4]);
    let (mut context, mut device) = (null_mut(), -1);
    // SAFETY: places for the results; the context is destroyed once.
    unsafe {
        ok(cuCtxCreate(&mut context, 0, 0));
        ok(cuCtxGetDevice(&mut device));
        assert_eq!(device, 0);
        assert_eq!(crate::download(pointer, 4), [1, 2, 3, 4]);
        ok(cuCtxDestroy(context));
    }
    start();
    assert_eq!(crate::download(pointer, 4), [1, 2, 3, 4]);
    free(pointer);
}
