//! Arrays, textures and surfaces through HIP's functions: copies of every kind, what kernels see, and misuse.

mod common;

use std::ffi::c_void;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::*;
use hip_sys::rocm_7_2::*;

/// `hip/tests/kernels/images.hip`.
const IMAGES: &[u8] = include_bytes!("../../../hip/tests/kernels/images.gfx90a.co");

const FLOAT: hipChannelFormatDesc = hipChannelFormatDesc { x: 32, y: 0, z: 0, w: 0, f: hipChannelFormatKindFloat };
const BYTES: hipChannelFormatDesc = hipChannelFormatDesc { x: 8, y: 8, z: 8, w: 8, f: hipChannelFormatKindUnsigned };
const BAD: hipError_t = hipErrorInvalidValue;

/// Serializes tests: any synchronising thread receives a kernel's failure.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    start();
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn array(texel: &hipChannelFormatDesc, [width, height, depth]: [usize; 3], flags: u32) -> hipArray_t {
    start();
    let mut array = null_mut();
    // SAFETY: both are valid.
    ok(unsafe { hipMalloc3DArray(&mut array, texel, hipExtent { width, height, depth }, flags) });
    array
}

/// A plane of 8 by 4 numbers.
fn plane(texels: &[f32; 32]) -> hipArray_t {
    let array = array(&FLOAT, [8, 4, 0], 0);
    // SAFETY: as many as there are.
    ok(unsafe { hipMemcpy2DToArray(array, 0, 0, texels.as_ptr().cast(), 32, 32, 4, hipMemcpyHostToDevice) });
    array
}

fn read(array: hipArray_t) -> [f32; 32] {
    let mut back = [0.0; 32];
    // SAFETY: as many as there are.
    ok(unsafe { hipMemcpy2DFromArray(back.as_mut_ptr().cast(), 32, array, 0, 0, 32, 4, hipMemcpyDeviceToHost) });
    back
}

fn numbers() -> [f32; 32] {
    std::array::from_fn(|i| i as f32)
}

fn of_array(array: hipArray_t) -> hipResourceDesc {
    let mut resource = hipResourceDesc { resType: hipResourceTypeArray, ..Default::default() };
    resource.res.array = hipResourceDesc_res_array { array };
    resource
}

/// Clamped, the nearest texel as it is.
fn plain() -> hipTextureDesc {
    hipTextureDesc { addressMode: [hipAddressModeClamp; 3], ..Default::default() }
}

fn texture(resource: &hipResourceDesc, description: &hipTextureDesc) -> hipTextureObject_t {
    let mut texture = null_mut();
    // SAFETY: all are valid.
    ok(unsafe { hipCreateTextureObject(&mut texture, resource, description, null()) });
    texture
}

/// Samples of a plane at (x, y).
fn sample(texture: hipTextureObject_t, at: &[[f32; 2]]) -> (hipError_t, Vec<f32>) {
    let kernel = kernel(load(IMAGES), "sample_2d");
    let [xs, ys] = [0, 1].map(|d| upload(&at.iter().map(|at| at[d]).collect::<Vec<f32>>()));
    let out = malloc(4 * at.len());
    ok(launch!(kernel, [1; 3], [64, 1, 1], null_mut(), (texture, xs, ys, out, at.len() as u32)));
    // SAFETY: no pointers.
    let status = unsafe { hipDeviceSynchronize() };
    (status, download(out, at.len()))
}

#[test]
fn arrays_tell_what_they_are() {
    start();
    for (extent, flags) in
        [([8, 0, 0], 0), ([8, 4, 0], 8), ([8, 4, 2], 2), ([8, 0, 2], hipArrayLayered), ([8, 4, 2], hipArrayLayered)]
    {
        let array = array(&BYTES, extent, flags);
        let (mut texel, mut found, mut found_flags) = Default::default();
        let (mut flat, mut deep) = (HIP_ARRAY_DESCRIPTOR::default(), HIP_ARRAY3D_DESCRIPTOR::default());
        // SAFETY: all are valid.
        unsafe {
            ok(hipArrayGetInfo(&mut texel, &mut found, &mut found_flags, array));
            assert_eq!(([found.width, found.height, found.depth], found_flags), (extent, flags));
            assert_eq!((texel.x, texel.y, texel.z, texel.w, texel.f), (8, 8, 8, 8, hipChannelFormatKindUnsigned));
            ok(hipGetChannelDesc(&mut texel, array));
            ok(hipArrayGetDescriptor(&mut flat, array));
            ok(hipArray3DGetDescriptor(&mut deep, array));
            assert_eq!((flat.Width, flat.Height, flat.NumChannels), (8, extent[1], 4));
            assert_eq!((flat.Format, deep.Format), (HIP_AD_FORMAT_UNSIGNED_INT8, HIP_AD_FORMAT_UNSIGNED_INT8));
            assert_eq!((deep.Width, deep.Height, deep.Depth, deep.Flags), (8, extent[1], extent[2], flags));
            // A second array with the description that the first one reports.
            let mut again = null_mut();
            ok(hipArray3DCreate(&mut again, &deep));
            ok(hipArrayDestroy(again));
            ok(hipFreeArray(array));
        }
    }
}

#[test]
fn rows_and_bytes_go_to_arrays_and_return() {
    let _alone = alone();
    let array = plane(&numbers());
    assert_eq!(read(array), numbers());
    let (mut back, s) = ([0.0_f32; 32], stream(hipStreamNonBlocking));
    let to: *mut c_void = back.as_mut_ptr().cast();
    // SAFETY: as many as there are.
    unsafe {
        // From the third number of the second row on: two rows of two, 12 bytes apart.
        ok(hipMemcpy2DFromArray(to, 12, array, 8, 1, 8, 2, hipMemcpyDeviceToHost));
        assert_eq!(back[..5], [10.0, 11.0, 0.0, 18.0, 19.0]);
        let source = [50.0_f32, 51.0, 52.0, 53.0];
        ok(hipMemcpy2DToArrayAsync(array, 8, 1, source.as_ptr().cast(), 8, 8, 2, hipMemcpyHostToDevice, s));
        ok(hipMemcpy2DFromArrayAsync(to, 32, array, 0, 1, 32, 2, hipMemcpyDeviceToHost, s));
        ok(hipStreamSynchronize(s));
        assert_eq!(back[..4], [8.0, 9.0, 50.0, 51.0]);
        assert_eq!(back[8..12], [16.0, 17.0, 52.0, 53.0]);
        // Byte copies: a part of a row, and whole rows.
        ok(hipMemcpyToArray(array, 4, 3, source.as_ptr().cast(), 16, hipMemcpyHostToDevice));
        ok(hipMemcpyFromArray(to, array, 0, 2, 64, hipMemcpyDeviceToHost));
        assert_eq!(back[8..14], [24.0, 50.0, 51.0, 52.0, 53.0, 29.0]);
        ok(hipMemcpyHtoA(array, 28, source.as_ptr().cast(), 4));
        ok(hipMemcpyAtoH(to, array, 24, 8));
        assert_eq!(back[..2], [6.0, 50.0]);
        // Device memory on the other side.
        let memory = malloc(128);
        ok(hipMemcpy2DFromArray(memory, 32, array, 0, 0, 32, 4, hipMemcpyDeviceToDevice));
        assert_eq!(download::<f32>(memory, 1), [0.0]);
        free(memory);
        ok(hipStreamDestroy(s));
        ok(hipFreeArray(array));
    }
}

#[test]
fn boxes_go_between_arrays_and_memory_in_graphs_too() {
    let _alone = alone();
    let numbers: Vec<[u8; 4]> = (0..8 * 4 * 2).map(|i| [i; 4]).collect();
    let (volume, layers) = (array(&BYTES, [8, 4, 2], 0), array(&BYTES, [8, 4, 2], hipArrayLayered));
    let pitched = |ptr: *mut c_void| hipPitchedPtr { ptr, pitch: 32, xsize: 8, ysize: 4 };
    let all = hipExtent { width: 8, height: 4, depth: 2 };
    let mut back = vec![[0_u8; 4]; 64];
    let mut parameters = hipMemcpy3DParms {
        srcPtr: pitched(numbers.as_ptr().cast_mut().cast()),
        dstArray: volume,
        extent: all,
        kind: hipMemcpyHostToDevice,
        ..Default::default()
    };
    // SAFETY: as many as there are.
    unsafe {
        ok(hipMemcpy3D(&parameters));
        // A box of it, to another position in the other array.
        let pos = |x, y, z| hipPos { x, y, z };
        let part = hipMemcpy3DParms {
            srcArray: volume,
            srcPos: pos(2, 1, 1),
            dstArray: layers,
            dstPos: pos(0, 2, 0),
            extent: hipExtent { width: 5, height: 2, depth: 1 },
            kind: hipMemcpyDeviceToDevice,
            ..Default::default()
        };
        ok(hipMemcpy3D(&part));
        let whole = hipMemcpy3DParms {
            srcArray: layers,
            dstPtr: pitched(back.as_mut_ptr().cast()),
            extent: all,
            kind: hipMemcpyDeviceToHost,
            ..Default::default()
        };
        ok(hipMemcpy3D(&whole));
        assert_eq!(back[16..21], [42, 43, 44, 45, 46].map(|i| [i; 4]));
        assert_eq!(back[24..29], [50, 51, 52, 53, 54].map(|i| [i; 4]));

        // The parameters of a captured copy are reported unchanged.
        let s = stream(hipStreamNonBlocking);
        let (mut graph, mut exec) = (null_mut(), null_mut());
        ok(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
        parameters.dstArray = layers;
        ok(hipMemcpy3DAsync(&parameters, s));
        ok(hipStreamEndCapture(s, &mut graph));
        let (mut node, mut count) = (null_mut(), 1);
        ok(hipGraphGetNodes(graph, &mut node, &mut count));
        let mut told = hipMemcpy3DParms::default();
        ok(hipGraphMemcpyNodeGetParams(node, &mut told));
        assert_eq!((told.dstArray, told.extent.width), (layers, 8));
        ok(hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0));
        ok(hipGraphLaunch(exec, s));
        ok(hipStreamSynchronize(s));
        ok(hipMemcpy3D(&whole));
        assert_eq!(back, numbers);
        ok(hipGraphExecDestroy(exec));
        ok(hipGraphDestroy(graph));
        ok(hipStreamDestroy(s));

        let refused = |change: &dyn Fn(&mut hipMemcpy3DParms)| {
            let mut changed = part;
            change(&mut changed);
            hipMemcpy3D(&changed)
        };
        assert_eq!(refused(&|p| p.extent.width = 7), BAD, "past the row's end");
        assert_eq!(refused(&|p| p.srcPos.y = 3), BAD);
        assert_eq!(refused(&|p| p.dstPos.z = 2), BAD);
        assert_eq!(refused(&|p| p.srcPos.x = usize::MAX), BAD);
        assert_eq!(refused(&|p| p.srcPtr = parameters.srcPtr), BAD, "an array and memory");
        assert_eq!(refused(&|p| p.dstArray = null_mut()), BAD, "neither");
        let floats = array(&hipChannelFormatDesc { x: 16, y: 16, ..FLOAT }, [8, 4, 2], 0);
        let wide = array(&hipChannelFormatDesc { y: 32, ..FLOAT }, [8, 4, 2], 0);
        ok(refused(&|p| p.dstArray = floats));
        assert_eq!(refused(&|p| p.dstArray = wide), BAD, "texels of another size");
        for array in [floats, wide, volume, layers] {
            ok(hipFreeArray(array));
        }
        assert_eq!(hipMemcpy3D(&part), hipErrorInvalidHandle, "freed");
    }
}

#[test]
fn kernels_sample_arrays_and_pitched_memory() {
    let _alone = alone();
    let array = plane(&numbers());
    let linear = hipTextureDesc { filterMode: hipFilterModeLinear, ..plain() };
    let texture_of = texture(&of_array(array), &linear);
    let (status, found) = sample(texture_of, &[[0.5, 0.5], [1.0, 0.5], [3.5, 2.5], [3.5, 3.0], [99.0, -1.0]]);
    assert_eq!((status, found), (hipSuccess, vec![0.0, 0.5, 19.0, 23.0, 7.0]));
    // Normalised coordinates that wrap.
    let again = hipTextureDesc { normalizedCoords: 1, addressMode: [hipAddressModeWrap; 3], ..plain() };
    let repeated = texture(&of_array(array), &again);
    let (status, found) = sample(repeated, &[[0.0625, 0.125], [1.0625, -0.125]]);
    assert_eq!((status, found), (hipSuccess, vec![0.0, 24.0]));
    // Normalised bytes in pitched memory.
    let bytes: Vec<u8> = (0..2 * 256).map(|i| (i / 256 * 255) as u8).collect();
    let memory = upload(&bytes);
    let one = hipChannelFormatDesc { y: 0, z: 0, w: 0, ..BYTES };
    let mut resource = hipResourceDesc { resType: hipResourceTypePitch2D, ..Default::default() };
    resource.res.pitch2D =
        hipResourceDesc_res_pitch2D { devPtr: memory, desc: one, width: 8, height: 2, pitchInBytes: 256 };
    let fractions = texture(&resource, &hipTextureDesc { readMode: hipReadModeNormalizedFloat, ..linear });
    let (status, found) = sample(fractions, &[[0.5, 0.5], [0.5, 1.0], [0.5, 1.5]]);
    assert_eq!((status, found), (hipSuccess, vec![0.0, 0.5, 1.0]));
    // A texture reports its descriptions, and a view changes the texel type.
    let (mut told, mut how) = (hipResourceDesc::default(), hipTextureDesc::default());
    let mut view = hipResourceViewDesc { format: hipResViewFormatSignedInt1, ..Default::default() };
    let mut viewed = null_mut();
    // SAFETY: all are valid.
    unsafe {
        ok(hipGetTextureObjectResourceDesc(&mut told, texture_of));
        ok(hipGetTextureObjectTextureDesc(&mut how, texture_of));
        assert_eq!((told.res.array.array, how.filterMode), (array, hipFilterModeLinear));
        ok(hipCreateTextureObject(&mut viewed, &of_array(array), &plain(), &view));
        view.format = hipResViewFormatNone;
        ok(hipGetTextureObjectResourceViewDesc(&mut view, viewed));
        assert_eq!(view.format, hipResViewFormatSignedInt1);
        for texture in [texture_of, repeated, fractions, viewed] {
            ok(hipDestroyTextureObject(texture));
            assert_eq!(hipDestroyTextureObject(texture), BAD);
        }
        ok(hipFreeArray(array));
    }
    free(memory);
}

#[test]
fn kernels_write_surfaces() {
    let _alone = alone();
    let (from, to) = (plane(&numbers()), array(&FLOAT, [4, 8, 0], hipArraySurfaceLoadStore));
    let mut surfaces = [null_mut(); 2];
    let transpose = kernel(load(IMAGES), "transpose_surface");
    let mut back = [0.0_f32; 32];
    // SAFETY: all are valid.
    unsafe {
        for (surface, array) in surfaces.iter_mut().zip([from, to]) {
            ok(hipCreateSurfaceObject(surface, &of_array(array)));
        }
        ok(launch!(transpose, [1; 3], [8, 8, 1], null_mut(), (surfaces[0], surfaces[1], 8_i32, 4_i32)));
        ok(hipMemcpy2DFromArray(back.as_mut_ptr().cast(), 16, to, 0, 0, 16, 8, hipMemcpyDeviceToHost));
        assert_eq!(back, std::array::from_fn(|i| (i % 4 * 8 + i / 4) as f32 + 0.5));
        for surface in surfaces {
            assert_eq!(hipDestroyTextureObject(surface.cast()), BAD, "no texture");
            ok(hipDestroySurfaceObject(surface));
            assert_eq!(hipDestroySurfaceObject(surface), BAD);
        }
        ok(hipDestroySurfaceObject(null_mut()));
        ok(hipFreeArray(from));
        ok(hipFreeArray(to));
    }
}

#[test]
fn what_is_gone_is_a_fault_with_a_story() {
    let _alone = alone();
    let array = plane(&numbers());
    let of_freed = texture(&of_array(array), &plain());
    // SAFETY: both are valid.
    unsafe {
        ok(hipFreeArray(array));
        assert_eq!(hipFreeArray(array), hipErrorInvalidHandle);
        let (status, _) = sample(of_freed, &[[0.5, 0.5]]);
        assert_eq!(status, hipErrorIllegalAddress);
        let story = hip_sim::last_fault().unwrap();
        assert!(story.contains("sample_2d") && story.contains("freed"), "{story}");
        ok(hipDestroyTextureObject(of_freed));
        let (status, _) = sample(of_freed, &[[0.5, 0.5]]);
        assert_eq!(status, hipErrorIllegalAddress, "the texture is gone too");
        // A kernel cannot write to a texture.
        let array = plane(&numbers());
        let texture = texture(&of_array(array), &plain());
        let store = kernel(load(GFX90A), "store_at");
        ok(launch!(store, [1; 3], [1; 3], null_mut(), (texture, 0_i64, 1_i32)));
        assert_eq!(hipDeviceSynchronize(), hipErrorIllegalAddress);
        ok(hipDestroyTextureObject(texture));
        ok(hipFreeArray(array));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let _alone = alone();
    let mut made = null_mut();
    let texel = |x, y, z, w, f| hipChannelFormatDesc { x, y, z, w, f };
    // SAFETY: all pointers are null or valid; the simulator checks the rest.
    unsafe {
        assert_eq!(hipMallocArray(null_mut(), &FLOAT, 8, 4, 0), BAD);
        assert_eq!(hipMallocArray(&mut made, null(), 8, 4, 0), BAD);
        for texel in [
            texel(32, 32, 32, 0, hipChannelFormatKindFloat),
            texel(24, 0, 0, 0, hipChannelFormatKindSigned),
            texel(8, 16, 0, 0, hipChannelFormatKindSigned),
            texel(8, 0, 0, 0, hipChannelFormatKindFloat),
            texel(32, 0, 0, 0, hipChannelFormatKindNone),
        ] {
            assert_eq!(hipMallocArray(&mut made, &texel, 8, 4, 0), BAD);
        }
        for (width, height, depth, flags) in [
            (0, 4, 0, 0),
            (1 << 20, 4, 0, 0),
            (8, usize::MAX, 0, 0),
            (8, 0, 2, 0),
            (8, 4, 0, hipArrayLayered),
            (8, 4, 20_000, hipArrayLayered),
            (8, 4, 6, hipArrayCubemap),
            (8, 8, 12, hipArrayCubemap),
            (8, 8, 9, hipArrayCubemap | hipArrayLayered),
            (0, 0, 6, hipArrayCubemap),
            (8, 4, 0, 99),
        ] {
            let extent = hipExtent { width, height, depth };
            assert_eq!(hipMalloc3DArray(&mut made, &FLOAT, extent, flags), BAD, "{width} {height} {depth} {flags}");
        }
        let huge = hipExtent { width: 16384, height: 16384, depth: 8192 };
        assert_eq!(hipMalloc3DArray(&mut made, &FLOAT, huge, 0), hipErrorOutOfMemory);
        assert_eq!(hipFreeArray(null_mut()), BAD);
        assert_eq!(hipArrayDestroy(null_mut()), BAD);
        let (mut flat, mut extent) = (HIP_ARRAY_DESCRIPTOR::default(), hipExtent::default());
        assert_eq!(hipArrayGetDescriptor(&mut flat, null_mut()), hipErrorInvalidHandle);
        assert_eq!(hipArrayGetInfo(null_mut(), &mut extent, null_mut(), null_mut()), hipErrorInvalidHandle);
        let array = plane(&numbers());
        assert_eq!(hipArrayGetDescriptor(null_mut(), array), BAD);
        assert_eq!(hipFree(array.cast()), BAD);

        let host = numbers();
        let from: *const c_void = host.as_ptr().cast();
        let kind = hipMemcpyHostToDevice;
        assert_eq!(hipMemcpy2DToArray(array, 0, 0, from, 16, 32, 4, kind), hipErrorInvalidPitchValue);
        assert_eq!(hipMemcpy2DToArray(array, 4, 0, from, 32, 32, 4, kind), BAD);
        assert_eq!(hipMemcpy2DToArray(array, 0, 1, from, 32, 32, 4, kind), BAD);
        assert_eq!(hipMemcpy2DToArray(array, 2, 0, from, 32, 4, 4, kind), BAD, "half a texel");
        assert_eq!(hipMemcpy2DToArray(array, 0, 0, null(), 32, 32, 4, kind), BAD);
        assert_eq!(hipMemcpy2DToArray(null_mut(), 0, 0, from, 32, 32, 4, kind), hipErrorInvalidHandle);
        ok(hipMemcpy2DToArray(array, 0, 0, from, 32, 0, 4, kind));
        let unknown = hipMemcpyKind(9);
        assert_eq!(hipMemcpy2DToArray(array, 0, 0, from, 32, 32, 4, unknown), hipErrorInvalidMemcpyDirection);
        assert_eq!(hipMemcpyToArray(array, 0, 0, from, 132, kind), BAD);
        assert_eq!(hipMemcpyToArray(array, 4, 0, from, 32, kind), BAD);
        assert_eq!(hipMemcpyHtoA(array, 32, from, 32), BAD);

        let mut made: hipTextureObject_t = null_mut();
        let (of, how) = (of_array(array), plain());
        assert_eq!(hipCreateTextureObject(null_mut(), &of, &how, null()), BAD);
        assert_eq!(hipCreateTextureObject(&mut made, null(), &how, null()), BAD);
        assert_eq!(hipCreateTextureObject(&mut made, &of, null(), null()), BAD);
        assert_eq!(hipCreateTextureObject(&mut made, &of_array(null_mut()), &how, null()), BAD);
        let mut refused = |change: &dyn Fn(&mut hipResourceDesc, &mut hipTextureDesc)| {
            let (mut of, mut how) = (of, how);
            change(&mut of, &mut how);
            hipCreateTextureObject(&mut made, &of, &how, null())
        };
        assert_eq!(refused(&|of, _| of.resType = hipResourceType(9)), BAD);
        assert_eq!(refused(&|_, how| how.addressMode[1] = hipTextureAddressMode(9)), BAD);
        assert_eq!(refused(&|_, how| how.filterMode = hipTextureFilterMode(9)), BAD);
        assert_eq!(refused(&|_, how| how.readMode = hipTextureReadMode(9)), BAD);
        assert_eq!(refused(&|_, how| how.maxAnisotropy = 4), hipErrorNotSupported);
        let colour = |how: &mut hipTextureDesc| {
            (how.addressMode[0], how.borderColor[0]) = (hipAddressModeBorder, 1.0);
        };
        assert_eq!(refused(&|_, how| colour(how)), hipErrorNotSupported);
        let volume = self::array(&FLOAT, [8, 4, 2], 0);
        let blended = |of: &mut hipResourceDesc, how: &mut hipTextureDesc| {
            *of = of_array(volume);
            how.filterMode = hipFilterModeLinear;
        };
        assert_eq!(refused(&|of, how| blended(of, how)), hipErrorNotSupported, "as MI200");
        ok(hipFreeArray(volume));
        let memory = malloc(4096);
        let linear = |ptr: *mut c_void, bytes: usize| {
            move |of: &mut hipResourceDesc, _: &mut hipTextureDesc| {
                of.resType = hipResourceTypeLinear;
                of.res.linear = hipResourceDesc_res_linear { devPtr: ptr, desc: FLOAT, sizeInBytes: bytes };
            }
        };
        ok(refused(&linear(memory, 4096)));
        for (ptr, bytes) in [(memory, 8192), (memory, 0), (memory.byte_add(4), 256), (null_mut(), 256)] {
            assert_eq!(refused(&linear(ptr, bytes)), BAD, "{ptr:?} {bytes}");
        }
        assert_eq!(refused(&linear(host.as_ptr().cast_mut().cast(), 128)), BAD);
        let pitch = |height: usize, pitch: usize| {
            move |of: &mut hipResourceDesc, _: &mut hipTextureDesc| {
                of.resType = hipResourceTypePitch2D;
                of.res.pitch2D =
                    hipResourceDesc_res_pitch2D { devPtr: memory, desc: FLOAT, width: 8, height, pitchInBytes: pitch };
            }
        };
        for (height, bytes) in [(4, 40), (4, 16), (100, 256), (0, 256)] {
            assert_eq!(refused(&pitch(height, bytes)), BAD, "{height} {bytes}");
        }
        free(memory);
        ok(hipDestroyTextureObject(null_mut()));
        assert_eq!(hipGetTextureObjectTextureDesc(&mut hipTextureDesc::default(), null_mut()), BAD);
        let (mut surface, mut of) = (null_mut(), of_array(array));
        assert_eq!(hipCreateSurfaceObject(null_mut(), &of), BAD);
        assert_eq!(hipCreateSurfaceObject(&mut surface, null()), BAD);
        of.resType = hipResourceTypeLinear;
        assert_eq!(hipCreateSurfaceObject(&mut surface, &of), BAD);
        ok(hipFreeArray(array));
        hipGetLastError();
    }
}

/// A mipmapped array with levels of 8 by 4, 4 by 2 and 2 by 1 numbers.
fn levels(flags: u32) -> hipMipmappedArray_t {
    start();
    let mut made = null_mut();
    // SAFETY: both are valid.
    ok(unsafe { hipMallocMipmappedArray(&mut made, &FLOAT, hipExtent { width: 8, height: 4, depth: 0 }, 3, flags) });
    made
}

fn level(of: hipMipmappedArray_t, number: u32) -> hipArray_t {
    let mut level = null_mut();
    // SAFETY: a place for the result.
    ok(unsafe { hipGetMipmappedArrayLevel(&mut level, of, number) });
    level
}

fn of_levels(mipmap: hipMipmappedArray_t) -> hipResourceDesc {
    let mut resource = hipResourceDesc { resType: hipResourceTypeMipmappedArray, ..Default::default() };
    resource.res.mipmap = hipResourceDesc_res_mipmap { mipmap };
    resource
}

#[test]
fn levels_are_arrays_that_go_with_the_whole() {
    let _alone = alone();
    let whole = levels(hipArraySurfaceLoadStore);
    let (of, how) = (of_levels(whole), plain());
    // SAFETY: all are valid; bad handles are found.
    unsafe {
        for (number, [width, height]) in [[8, 4], [4, 2], [2, 1]].into_iter().enumerate() {
            let level = level(whole, number as u32);
            let mut again = null_mut();
            ok(hipMipmappedArrayGetLevel(&mut again, whole, number as u32));
            assert_eq!(again, level);
            let (mut texel, mut found, mut flags) = Default::default();
            ok(hipArrayGetInfo(&mut texel, &mut found, &mut flags, level));
            assert_eq!(([found.width, found.height, found.depth], flags), ([width, height, 0], 2));
            let texels: Vec<f32> = (0..width * height).map(|i| (100 * number + i) as f32).collect();
            let (from, row) = (texels.as_ptr().cast(), 4 * width);
            ok(hipMemcpy2DToArray(level, 0, 0, from, row, row, height, hipMemcpyHostToDevice));
            assert_eq!(hipFreeArray(level), BAD, "it is the whole's");
        }
        // Each level reads as written, through a texture of its own array and through a view of the levels.
        for (number, expected) in [(0, 25.0), (1, 105.0), (2, 201.0)] {
            let at = [[1.5, [3.5, 1.5, 0.5][number]]];
            let own = texture(&of_array(level(whole, number as u32)), &how);
            assert_eq!(sample(own, &at), (hipSuccess, vec![expected]));
            ok(hipDestroyTextureObject(own));
            let (first, last) = (number as u32, 2);
            let view = hipResourceViewDesc {
                format: hipResViewFormatFloat1,
                width: 8,
                height: 4,
                firstMipmapLevel: first,
                lastMipmapLevel: last,
                ..Default::default()
            };
            let mut viewed = null_mut();
            ok(hipCreateTextureObject(&mut viewed, &of, &how, &view));
            assert_eq!(sample(viewed, &at), (hipSuccess, vec![expected]));
            ok(hipDestroyTextureObject(viewed));
        }
        let of_gone = texture(&of_levels(whole), &how);
        let smallest = level(whole, 2);
        ok(hipFreeMipmappedArray(whole));
        let (mut found, mut number) = (null_mut(), HIP_ARRAY_DESCRIPTOR::default());
        assert_eq!(hipArrayGetDescriptor(&mut number, smallest), hipErrorInvalidHandle);
        assert_eq!(hipGetMipmappedArrayLevel(&mut found, whole, 0), hipErrorInvalidHandle);
        assert_eq!(hipFreeMipmappedArray(whole), hipErrorInvalidHandle);
        assert_eq!(sample(of_gone, &[[0.5, 0.5]]).0, hipErrorIllegalAddress);
        ok(hipDestroyTextureObject(of_gone));
        hipGetLastError();
    }
}

#[test]
fn levels_that_make_no_sense_are_refused() {
    let _alone = alone();
    let (mut made, mut found) = (null_mut(), null_mut());
    let whole = levels(0);
    let (of, how) = (of_levels(whole), plain());
    let mut texture = null_mut();
    // SAFETY: all pointers are null or valid; the simulator checks the rest.
    unsafe {
        for (width, height, depth, levels, flags) in [
            (8, 4, 0, 0, 0),
            (8, 4, 0, 5, 0),
            (8, 4, 0, u32::MAX, 0),
            (0, 4, 0, 1, 0),
            (8, 4, 0, 2, 99),
            (8, 4, 0, 2, hipArrayLayered),
            (1 << 20, 0, 0, 2, 0),
        ] {
            let extent = hipExtent { width, height, depth };
            assert_eq!(hipMallocMipmappedArray(&mut made, &FLOAT, extent, levels, flags), BAD, "{width} {levels}");
        }
        let extent = hipExtent { width: 8, height: 4, depth: 0 };
        assert_eq!(hipMallocMipmappedArray(null_mut(), &FLOAT, extent, 1, 0), BAD);
        assert_eq!(hipMallocMipmappedArray(&mut made, null(), extent, 1, 0), BAD);
        assert_eq!(hipGetMipmappedArrayLevel(&mut found, whole, 3), BAD);
        assert_eq!(hipGetMipmappedArrayLevel(null_mut(), whole, 0), BAD);
        // As AMD's runtime.
        assert_eq!(hipGetMipmappedArrayLevel(&mut found, null_mut(), 0), hipErrorInvalidHandle);
        assert_eq!(hipFreeMipmappedArray(null_mut()), BAD);
        assert_eq!(hipFreeMipmappedArray(level(whole, 0).cast()), hipErrorInvalidHandle, "a level is none");
        let mut create = |change: &dyn Fn(&mut hipTextureDesc, &mut hipResourceViewDesc)| {
            let (mut how, mut view) = (how, hipResourceViewDesc::default());
            change(&mut how, &mut view);
            let status = hipCreateTextureObject(&mut texture, &of, &how, &view);
            if status == hipSuccess {
                ok(hipDestroyTextureObject(texture));
            }
            status
        };
        ok(create(&|_, view| view.lastMipmapLevel = 2));
        assert_eq!(create(&|_, view| view.lastMipmapLevel = 3), BAD);
        assert_eq!(create(&|_, view| view.firstMipmapLevel = 1), BAD, "behind the last");
        assert_eq!(create(&|_, view| (view.format, view.width) = (hipResViewFormatFloat1, 4)), hipErrorNotSupported);
        assert_eq!(create(&|how, _| how.mipmapLevelBias = f32::NAN), BAD);
        assert_eq!(create(&|how, _| how.minMipmapLevelClamp = -1.0), BAD);
        assert_eq!(create(&|how, _| how.minMipmapLevelClamp = 1.0), BAD, "beyond the most");
        assert_eq!(create(&|how, _| how.mipmapFilterMode = hipTextureFilterMode(9)), BAD);
        let between = |how: &mut hipTextureDesc, view: &mut hipResourceViewDesc| {
            (how.mipmapFilterMode, view.lastMipmapLevel) = (hipFilterModeLinear, 2);
            (how.minMipmapLevelClamp, how.maxMipmapLevelClamp) = (0.5, 0.5);
        };
        assert_eq!(create(&between), hipErrorNotSupported);
        let of = of_levels(null_mut());
        assert_eq!(hipCreateTextureObject(&mut texture, &of, &how, null()), BAD);
        ok(hipFreeMipmappedArray(whole));
        hipGetLastError();
    }
}

fn attribute(attribute: hipDeviceAttribute_t) -> i32 {
    let mut value = -1;
    // SAFETY: a place for the result.
    ok(unsafe { hipDeviceGetAttribute(&mut value, attribute, 0) });
    value
}

#[test]
fn a_device_says_whether_it_has_images() {
    start();
    assert_eq!(attribute(hipDeviceAttributeImageSupport), 1);
    assert_eq!(attribute(hipDeviceAttributeMaxTexture2DHeight), 16384);
    assert_eq!(attribute(hipDeviceAttributeMaxTexture3DDepth), 8192);
    assert_eq!(attribute(hipDeviceAttributeMaxTexture1DLinear), i32::MAX);
    // A device without image support, in a process of its own.
    let mut command = Command::new(std::env::args_os().next().unwrap());
    command.args(["--exact", "a_device_without_images", "--ignored", "--nocapture"]).env("HIP_SIM_ARCH", "gfx942");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by a_device_says_whether_it_has_images"]
fn a_device_without_images() {
    start();
    assert_eq!(attribute(hipDeviceAttributeImageSupport), 0);
    assert_eq!(attribute(hipDeviceAttributeMaxTexture2DHeight), 0);
    let (mut array, mut texture, of) = (null_mut(), null_mut(), hipResourceDesc::default());
    // SAFETY: all are valid.
    unsafe {
        assert_eq!(hipMallocArray(&mut array, &FLOAT, 8, 4, 0), hipErrorNotSupported);
        assert_eq!(hipCreateTextureObject(&mut texture, &of, &plain(), null()), hipErrorNotSupported);
        let (mut levels, extent) = (null_mut(), hipExtent { width: 8, height: 4, depth: 0 });
        assert_eq!(hipMallocMipmappedArray(&mut levels, &FLOAT, extent, 1, 0), hipErrorNotSupported);
    }
    assert!(hip_sim::last_fault().unwrap().contains("device 0 (gfx942) has no images"));
}
