//! The image extension through its table: functions that HIP does not call, and invalid use. Kernels' access to images
//! is tested in `hip`, on ROCm's own HIP runtimes.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use hsa_sim::abi::*;
use libloading::os::unix::{Library, Symbol};

/// Calls a function of the library that returns a status.
macro_rules! call {
    ($hsa:ident.$name:ident($($type:ty = $argument:expr),* $(,)?)) => {{
        // SAFETY: types as in hsa.h and hsa_ext_amd.h, and every pointer is to what the function takes or gives.
        unsafe {
            let function: Symbol<unsafe extern "C" fn($($type),*) -> hsa_status_t> =
                $hsa.get(stringify!($name).as_bytes()).unwrap();
            function($($argument),*)
        }
    }};
}

/// The library, started, its GPU, and the extension.
fn open() -> (Library, hsa_agent_t, hsa_ext_images_1_pfn_t) {
    unsafe extern "C" fn last(agent: hsa_agent_t, place: *mut c_void) -> hsa_status_t {
        // SAFETY: the place below.
        unsafe { place.cast::<hsa_agent_t>().write(agent) };
        HSA_STATUS_SUCCESS
    }
    type Callback = unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> hsa_status_t;
    // SAFETY: loading it starts nothing.
    let hsa = unsafe { Library::new(support::library()) }.unwrap();
    assert_eq!(call!(hsa.hsa_init()), HSA_STATUS_SUCCESS);
    let mut gpu = hsa_agent_t::default();
    let place = (&raw mut gpu).cast();
    assert_eq!(call!(hsa.hsa_iterate_agents(Callback = last, *mut c_void = place)), HSA_STATUS_SUCCESS);
    let mut table = MaybeUninit::<hsa_ext_images_1_pfn_t>::uninit();
    let status = call!(hsa.hsa_system_get_major_extension_table(
        u16 = HSA_EXTENSION_IMAGES as u16,
        u16 = 1,
        usize = size_of::<hsa_ext_images_1_pfn_t>(),
        *mut c_void = table.as_mut_ptr().cast(),
    ));
    assert_eq!(status, HSA_STATUS_SUCCESS);
    // SAFETY: the call has filled it.
    (hsa, gpu, unsafe { table.assume_init() })
}

/// Memory of the GPU.
fn memory(hsa: &Library, gpu: hsa_agent_t, bytes: usize) -> *mut c_void {
    unsafe extern "C" fn first(pool: hsa_amd_memory_pool_t, place: *mut c_void) -> hsa_status_t {
        // SAFETY: the place below.
        unsafe { place.cast::<hsa_amd_memory_pool_t>().write(pool) };
        HSA_STATUS_INFO_BREAK
    }
    type Callback = unsafe extern "C" fn(hsa_amd_memory_pool_t, *mut c_void) -> hsa_status_t;
    let (mut pool, mut memory) = (hsa_amd_memory_pool_t::default(), null_mut());
    let place = (&raw mut pool).cast();
    let status =
        call!(hsa.hsa_amd_agent_iterate_memory_pools(hsa_agent_t = gpu, Callback = first, *mut c_void = place));
    assert_eq!(status, HSA_STATUS_INFO_BREAK);
    let status = call!(hsa.hsa_amd_memory_pool_allocate(
        hsa_amd_memory_pool_t = pool,
        usize = bytes,
        u32 = 0,
        *mut *mut c_void = &mut memory,
    ));
    assert_eq!(status, HSA_STATUS_SUCCESS);
    memory
}

const FLOAT: hsa_ext_image_format_t = hsa_ext_image_format_t {
    channel_type: HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
    channel_order: HSA_EXT_IMAGE_CHANNEL_ORDER_R,
};

fn plane(width: usize, height: usize) -> hsa_ext_image_descriptor_t {
    let geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
    hsa_ext_image_descriptor_t { geometry, width, height, format: FLOAT, ..hsa_ext_image_descriptor_t::default() }
}

fn region(offset: [u32; 3], range: [u32; 3]) -> hsa_ext_image_region_t {
    let [offset, range] = [offset, range].map(|[x, y, z]| hsa_dim3_t { x, y, z });
    hsa_ext_image_region_t { offset, range }
}

#[test]
fn texels_go_in_and_out_and_from_image_to_image() {
    let (hsa, gpu, images) = open();
    let of = plane(5, 3);
    let mut info = hsa_ext_image_data_info_t::default();
    // SAFETY: pointers to what the function takes or gives, and images that are there; so below.
    let status = unsafe { (images.hsa_ext_image_data_get_info)(gpu, &of, HSA_ACCESS_PERMISSION_RW, &mut info) };
    assert_eq!((status, info.alignment, info.size), (HSA_STATUS_SUCCESS, 256, 3 * 256));
    let [first, second] = [0, 1].map(|_| {
        let data = memory(&hsa, gpu, info.size);
        let mut image = hsa_ext_image_t::default();
        // SAFETY: as above.
        let status = unsafe { (images.hsa_ext_image_create)(gpu, &of, data, HSA_ACCESS_PERMISSION_RW, &mut image) };
        assert_eq!(status, HSA_STATUS_SUCCESS);
        image
    });
    assert_ne!(first, second);
    let source: Vec<f32> = (0..15_u16).map(f32::from).collect();
    let (whole, inner) = (region([0; 3], [5, 3, 1]), region([1, 1, 0], [3, 2, 1]));
    let export = |image, part: &hsa_ext_image_region_t, out: &mut [f32]| {
        let memory = out.as_mut_ptr().cast();
        // SAFETY: as above; `out` has room for as many texels.
        unsafe { (images.hsa_ext_image_export)(gpu, image, memory, 0, 0, part) }
    };
    // SAFETY: as above.
    unsafe {
        let status = (images.hsa_ext_image_import)(gpu, source.as_ptr().cast(), 20, 60, first, &whole);
        assert_eq!(status, HSA_STATUS_SUCCESS);
        let white = [7.5_f32, 0.0, 0.0, 0.0];
        assert_eq!((images.hsa_ext_image_clear)(gpu, second, white.as_ptr().cast(), &whole), HSA_STATUS_SUCCESS);
        let (from, to, size) =
            (hsa_dim3_t { x: 1, y: 1, z: 0 }, hsa_dim3_t::default(), hsa_dim3_t { x: 3, y: 2, z: 1 });
        let status = (images.hsa_ext_image_copy)(gpu, first, &from, second, &to, &size);
        assert_eq!(status, HSA_STATUS_SUCCESS);
    }
    let mut out = [0.0_f32; 15];
    assert_eq!(export(second, &whole, &mut out), HSA_STATUS_SUCCESS);
    let cleared = 7.5;
    let expected = [6.0, 7.0, 8.0, cleared, cleared, 11.0, 12.0, 13.0, cleared, cleared];
    assert_eq!(out[..10], expected);
    assert_eq!(out[10..], [cleared; 5]);
    assert_eq!(export(first, &inner, &mut out), HSA_STATUS_SUCCESS);
    assert_eq!(out[..6], [6.0, 7.0, 8.0, 11.0, 12.0, 13.0]);
    // Beyond the image.
    assert_eq!(export(first, &region([3, 0, 0], [3, 1, 1]), &mut out), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_eq!(export(first, &region([0, 0, u32::MAX], [1, 1, 1]), &mut out), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    // SAFETY: as above.
    unsafe {
        assert_eq!((images.hsa_ext_image_destroy)(gpu, first), HSA_STATUS_SUCCESS);
        assert_eq!((images.hsa_ext_image_destroy)(gpu, first), HSA_STATUS_ERROR_INVALID_ARGUMENT, "a second time");
    }
    assert_eq!(export(first, &whole, &mut out), HSA_STATUS_ERROR_INVALID_ARGUMENT, "an image that is gone");
}

#[test]
fn what_is_no_image_and_no_sampler_is_refused() {
    let (hsa, gpu, images) = open();
    let data = memory(&hsa, gpu, 1 << 16);
    let mut image = hsa_ext_image_t::default();
    let mut create = |of: hsa_ext_image_descriptor_t, data: *const c_void| {
        // SAFETY: pointers to what the function takes or gives, or what it must refuse.
        unsafe { (images.hsa_ext_image_create)(gpu, &of, data, HSA_ACCESS_PERMISSION_RW, &mut image) }
    };
    let unknown = hsa_ext_image_format_t { channel_type: 77, channel_order: 3 };
    for (of, data, status) in [
        (plane(0, 1), data, HSA_STATUS_ERROR_INVALID_ARGUMENT),
        (plane(1 << 20, 1), data, HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED),
        (plane(4, 4), null_mut(), HSA_STATUS_ERROR_INVALID_ARGUMENT),
        (plane(4, 4), data.wrapping_byte_add(128), HSA_STATUS_ERROR_INVALID_ARGUMENT),
        (hsa_ext_image_descriptor_t { geometry: 1000, ..plane(4, 4) }, data, HSA_STATUS_ERROR_INVALID_ARGUMENT),
        (
            hsa_ext_image_descriptor_t { format: unknown, ..plane(4, 4) },
            data,
            HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED,
        ),
    ] {
        assert_eq!(create(of, data), status, "{of:?}");
    }
    let mut sampler = hsa_ext_sampler_t::default();
    let of = |coordinate_mode, filter_mode, mode| hsa_ext_sampler_descriptor_v2_t {
        coordinate_mode,
        filter_mode,
        address_modes: [mode; 3],
    };
    // SAFETY: as above.
    let mut make = |of| unsafe { (images.hsa_ext_sampler_create_v2)(gpu, &of, &mut sampler) };
    for bad in [of(2, 0, 0), of(0, 2, 0), of(0, 0, 5)] {
        assert_eq!(make(bad), HSA_STATUS_ERROR_INVALID_ARGUMENT, "{bad:?}");
    }
    assert_eq!(make(of(1, 1, 3)), HSA_STATUS_SUCCESS);
    let as_image = hsa_ext_image_t { handle: sampler.handle };
    // SAFETY: handles of the wrong kind and of nothing.
    unsafe {
        assert_eq!((images.hsa_ext_image_destroy)(gpu, as_image), HSA_STATUS_ERROR_INVALID_ARGUMENT);
        for handle in [0, 1, 0xdead_beef, u64::MAX] {
            let status = (images.hsa_ext_image_destroy)(gpu, hsa_ext_image_t { handle });
            assert_eq!(status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        assert_eq!((images.hsa_ext_sampler_destroy)(gpu, sampler), HSA_STATUS_SUCCESS);
        let mut capability = u32::MAX;
        let geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
        let status = (images.hsa_ext_image_get_capability)(gpu, geometry, &unknown, &mut capability);
        assert_eq!((status, capability), (HSA_STATUS_SUCCESS, HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED));
        let status = (images.hsa_ext_image_get_capability)(gpu, geometry, &FLOAT, &mut capability);
        assert_eq!((status, capability & 7), (HSA_STATUS_SUCCESS, 7));
    }
}

#[test]
fn a_gpu_without_image_instructions_has_no_images() {
    const INSIDE: &str = "HSA_SIM_TEST_NO_IMAGES";
    if std::env::var_os(INSIDE).is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_gpu_without_image_instructions_has_no_images", "--nocapture"]);
        let output = command.env(INSIDE, "1").env("HIP_SIM_ARCH", "gfx942").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let (hsa, gpu, images) = open();
    let data = memory(&hsa, gpu, 4096);
    let (mut image, mut capability) = (hsa_ext_image_t::default(), 0);
    // SAFETY: pointers to what each function takes or gives.
    unsafe {
        let status = (images.hsa_ext_image_create)(gpu, &plane(4, 4), data, HSA_ACCESS_PERMISSION_RW, &mut image);
        assert_eq!((status, image.handle), (HSA_STATUS_ERROR_NOT_SUPPORTED, 0));
        let geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
        let status = (images.hsa_ext_image_get_capability)(gpu, geometry, &FLOAT, &mut capability);
        assert_eq!(status, HSA_STATUS_ERROR_NOT_SUPPORTED);
    }
}
