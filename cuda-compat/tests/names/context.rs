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

#[test]
fn a_preference_for_caches_is_taken_and_ignored() {
    start();
    // SAFETY: places for the results, or null.
    unsafe {
        ok(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_SHARED));
        let mut config = CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL;
        ok(cuCtxGetCacheConfig(&mut config));
        assert_eq!(config, CU_FUNC_CACHE_PREFER_NONE);
        assert_eq!(cuCtxGetCacheConfig(null_mut()), CUDA_ERROR_INVALID_VALUE);
    }
}
