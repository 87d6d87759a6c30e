//! Devices: enumeration, properties and the current device.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

use hip_sys::rocm_7_2::*;

use super::{hip_functions, put, put_if_wanted};
use crate::allocation::release;
use crate::device::{Device, STACK};
use crate::pool::Pool;
use crate::properties::{PCI_DOMAIN, R0000, R0600, device_name};
use crate::properties::{
    SURFACE_1D, TEXTURE_1D, TEXTURE_1D_LINEAR, TEXTURE_1D_MIPMAP, TEXTURE_2D, TEXTURE_3D, TEXTURE_CUBE,
};
use crate::queue::Scope;
use crate::runtime::{Runtime, runtime};
use crate::status::ensure;

/// The HIP release that this runtime implements.
pub(crate) const RELEASE: (u32, u32) = hip_sys::rocm_7_2::API_LEVEL;
/// Its version as HIP writes it.
pub(crate) const VERSION: c_int = (RELEASE.0 * 10_000_000 + RELEASE.1 * 100_000) as c_int;

/// `HSA_AMD_LINK_INFO_TYPE_XGMI`: the link between any two devices.
const LINK_TYPE: u32 = 4;
/// The flags for scheduling, mapped memory and local memory.
const KNOWN_DEVICE_FLAGS: c_uint = 0x7 | 0x8 | 0x10;

/// Copies `text`, truncated to fit, to a buffer of `len` bytes, with a terminating NUL.
///
/// # Safety
/// `to` must be valid for writes of `len` bytes, and `len` at least 1.
unsafe fn put_text(to: *mut c_char, len: usize, text: &str) {
    let bytes = text.as_bytes();
    let count = bytes.len().min(len - 1);
    // SAFETY: `count < len`, which the caller vouches for.
    unsafe {
        to.copy_from_nonoverlapping(bytes.as_ptr().cast(), count);
        to.add(count).write(0);
    }
}

fn pci_bus_id(ordinal: usize) -> String {
    format!("{PCI_DOMAIN:04x}:{:02x}:00.0", ordinal + 1)
}

hip_functions! {
    fn hipInit(flags: c_uint) {
        runtime()?;
        ensure(flags == 0, hipErrorInvalidValue)
    }

    fn hipDriverGetVersion(version: *mut c_int) {
        put(version, VERSION)
    }

    fn hipRuntimeGetVersion(version: *mut c_int) {
        put(version, VERSION)
    }

    fn hipGetDeviceCount(count: *mut c_int) {
        put(count, runtime()?.devices.len() as c_int)
    }

    fn hipGetDevice(device: *mut c_int) {
        put(device, runtime()?.current().ordinal as c_int)
    }

    fn hipSetDevice(device: c_int) {
        runtime()?.set_current(device)
    }

    fn hipDeviceGet(device: *mut hipDevice_t, ordinal: c_int) {
        ensure(!device.is_null(), hipErrorInvalidValue)?;
        put(device, runtime()?.device(ordinal)?.ordinal as hipDevice_t)
    }

    fn hipDeviceGetName(name: *mut c_char, len: c_int, device: hipDevice_t) {
        let device = runtime()?.device(device)?;
        ensure(!name.is_null() && len > 0, hipErrorInvalidValue)?;
        put_text(name, len as usize, &device_name(device));
        Ok(())
    }

    fn hipDeviceGetUuid(uuid: *mut hipUUID, device: hipDevice_t) {
        let properties = R0600::of(runtime()?.device(device)?);
        ensure(!uuid.is_null(), hipErrorInvalidValue)?;
        uuid.cast::<[u8; 16]>().write(properties.uuid);
        Ok(())
    }

    fn hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t) {
        put(bytes, runtime()?.device(device)?.total_bytes() as usize)
    }

    fn hipDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: hipDevice_t) {
        let properties = R0600::of(runtime()?.device(device)?);
        ensure(!major.is_null() && !minor.is_null(), hipErrorInvalidValue)?;
        put(major, properties.major)?;
        put(minor, properties.minor)
    }

    fn hipDeviceGetPCIBusId(to: *mut c_char, len: c_int, device: c_int) {
        let device = runtime()?.device(device)?;
        ensure(!to.is_null() && len > 0, hipErrorInvalidValue)?;
        put_text(to, len as usize, &pci_bus_id(device.ordinal));
        ensure(len > 12, hipErrorInvalidValue)
    }

    fn hipDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) {
        ensure(!device.is_null() && !id.is_null(), hipErrorInvalidValue)?;
        let wanted = CStr::from_ptr(id).to_string_lossy();
        let known = runtime()?.devices.iter().find(|d| wanted.eq_ignore_ascii_case(&pci_bus_id(d.ordinal)));
        put(device, known.ok_or(hipErrorInvalidValue)?.ordinal as c_int)
    }

    fn hipDeviceGetAttribute(value: *mut c_int, attribute: hipDeviceAttribute_t, device: c_int) {
        ensure(!value.is_null(), hipErrorInvalidValue)?;
        let device = runtime()?.device(device)?;
        // The properties do not contain this attribute.
        if attribute == hipDeviceAttributeImageSupport {
            return put(value, c_int::from(device.has_images()));
        }
        put(value, attribute_of(&R0600::of(device), attribute).ok_or(hipErrorInvalidValue)?)
    }

    fn hipDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        let runtime = runtime()?;
        ensure(!can.is_null(), hipErrorInvalidValue)?;
        let (device, peer) = (runtime.device(device)?, runtime.device(peer)?);
        put(can, c_int::from(device.ordinal != peer.ordinal))
    }

    fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        let runtime = runtime()?;
        ensure(flags == 0, hipErrorInvalidValue)?;
        let (peer, device) = (runtime.device(peer)?, runtime.current());
        ensure(peer.ordinal != device.ordinal, hipErrorInvalidDevice)?;
        ensure(change_access(runtime, device, peer, true), hipErrorPeerAccessAlreadyEnabled)
    }

    fn hipDeviceDisablePeerAccess(peer: c_int) {
        let runtime = runtime()?;
        let (peer, device) = (runtime.device(peer)?, runtime.current());
        ensure(peer.ordinal != device.ordinal, hipErrorInvalidDevice)?;
        ensure(change_access(runtime, device, peer, false), hipErrorPeerAccessNotEnabled)
    }

    fn hipDeviceGetP2PAttribute(value: *mut c_int, attribute: hipDeviceP2PAttr, from: c_int, to: c_int) {
        let runtime = runtime()?;
        ensure(!value.is_null(), hipErrorInvalidValue)?;
        let (from, to) = (runtime.device(from)?, runtime.device(to)?);
        ensure(from.ordinal != to.ordinal, hipErrorInvalidDevice)?;
        put(value, match attribute.0 {
            // Performance rank: that of the link, which is reported as xGMI.
            0 => LINK_TYPE as c_int,
            // Access, atomic operations and array access are supported.
            1..=3 => 1,
            _ => return Err(hipErrorInvalidValue.into()),
        })
    }

    fn hipExtGetLinkTypeAndHopCount(from: c_int, to: c_int, link: *mut u32, hops: *mut u32) {
        let runtime = runtime()?;
        ensure(!link.is_null() && !hops.is_null() && from != to && from >= 0 && to >= 0, hipErrorInvalidValue)?;
        runtime.device(from)?;
        runtime.device(to)?;
        put(link, LINK_TYPE)?;
        put(hops, 1)
    }

    fn hipDeviceSynchronize() {
        let runtime = runtime()?;
        runtime.captures.refuse_all()?;
        runtime.synchronize(Scope::Device(runtime.current().ordinal))
    }

    fn hipDeviceReset() {
        let runtime = runtime()?;
        let device = runtime.current();
        reset(runtime, device.ordinal);
        device.alive()
    }

    fn hipGetDeviceFlags(flags: *mut c_uint) {
        put(flags, runtime()?.current().flags.load(Ordering::Relaxed))
    }

    fn hipSetDeviceFlags(flags: c_uint) {
        let device = runtime()?.current();
        ensure(flags & !KNOWN_DEVICE_FLAGS == 0 && (flags & 0x7).count_ones() <= 1, hipErrorInvalidValue)?;
        device.flags.store(flags, Ordering::Relaxed);
        Ok(())
    }

    fn hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        runtime()?;
        put_if_wanted(least, 1);
        put_if_wanted(greatest, -1);
        Ok(())
    }

    fn hipMemGetInfo(free: *mut usize, total: *mut usize) {
        let runtime = runtime()?;
        let device = runtime.live_current()?;
        put_if_wanted(free, runtime.free_bytes(device) as usize);
        put_if_wanted(total, device.total_bytes() as usize);
        Ok(())
    }

    fn hipDevicePrimaryCtxGetState(device: hipDevice_t, flags: *mut c_uint, active: *mut c_int) {
        let device = runtime()?.device(device)?;
        put_if_wanted(flags, device.flags.load(Ordering::Relaxed));
        put_if_wanted(active, 1);
        Ok(())
    }

    fn hipDevicePrimaryCtxRetain(context: *mut hipCtx_t, device: hipDevice_t) {
        let device = runtime()?.device(device)?;
        put(context, context_of(device.ordinal))
    }

    fn hipDevicePrimaryCtxRelease(device: hipDevice_t) {
        runtime()?.device(device)?;
        Ok(())
    }

    fn hipDevicePrimaryCtxReset(device: hipDevice_t) {
        let runtime = runtime()?;
        reset(runtime, runtime.device(device)?.ordinal);
        Ok(())
    }

    fn hipDevicePrimaryCtxSetFlags(device: hipDevice_t, flags: c_uint) {
        let _ = flags;
        runtime()?.device(device)?;
        Err(hipErrorContextAlreadyInUse.into())
    }

    fn hipCtxGetCurrent(context: *mut hipCtx_t) {
        put(context, context_of(runtime()?.current().ordinal))
    }

    fn hipCtxSetCurrent(context: hipCtx_t) {
        let runtime = runtime()?;
        if context.is_null() {
            return Ok(());
        }
        let ordinal = (1..=runtime.devices.len()).position(|n| context_of(n - 1) == context);
        runtime.set_current(ordinal.ok_or(hipErrorInvalidContext)? as c_int)
    }

    fn hipCtxGetDevice(device: *mut hipDevice_t) {
        put(device, runtime()?.current().ordinal as hipDevice_t)
    }

    since:

    fn hipGetDevicePropertiesR0600(to: *mut R0600, device: c_int) {
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        put(to, R0600::of(runtime()?.device(device)?))
    }

    fn hipGetDevicePropertiesR0000(to: *mut R0000, device: c_int) {
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        put(to, R0000::from(&R0600::of(runtime()?.device(device)?)))
    }

    fn hipGetDeviceProperties(to: *mut R0000, device: c_int) {
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        put(to, R0000::from(&R0600::of(runtime()?.device(device)?)))
    }
}

/// Enables or disables the access of the first device to the memory of the second, once no running work relies on the
/// current access. False if nothing changes.
fn change_access(runtime: &Runtime, device: &Device, peer: &Device, allowed: bool) -> bool {
    runtime.drain(Some(device.ordinal));
    runtime.peers.change(&runtime.devices, &runtime.blocks, device, peer, allowed)
}

/// A device's primary context as a handle: its number, which is never dereferenced.
fn context_of(ordinal: usize) -> hipCtx_t {
    std::ptr::without_provenance_mut((ordinal + 1) << 8 | 0xd)
}

/// Waits for the device, then destroys everything on it.
fn reset(runtime: &Runtime, ordinal: usize) {
    runtime.drain(Some(ordinal));
    for stream in runtime.streams.remove_where(|stream| stream.device == ordinal) {
        runtime.wait_policies().remove(&stream.queue);
        runtime.captures.abandon(&runtime.graphs, stream.queue);
        runtime.scheduler.close(stream.queue);
    }
    super::execution_context::reset(runtime, ordinal);
    runtime.events.remove_where(|event| event.device == ordinal);
    runtime.functions.remove_where(|function| function.device == ordinal);
    runtime.modules.remove_where(|module| module.device == ordinal);
    runtime.virtual_memory.reset(runtime.memory(), &runtime.blocks, ordinal);
    runtime.images.reset(runtime.memory(), ordinal);
    runtime.arrays.remove_where(|array| array.device == ordinal);
    runtime.mipmaps.remove_where(|array| array.device == ordinal);
    for block in runtime.blocks.remove_device(ordinal) {
        if let Some(pool) = block.share.and_then(|share| runtime.pool(share.pool)) {
            pool.freed(block.size);
        }
        release(runtime, &block);
    }
    super::library::reset(runtime, ordinal);
    let device = &runtime.devices[ordinal];
    device.pool.store(device.default_pool, Ordering::Release);
    runtime.pools.remove_where(|pool| pool.device == ordinal && !pool.is_default);
    runtime.pools.each(Pool::settle);
    device.flags.store(0, Ordering::Relaxed);
    super::limit::set_stack(device, STACK);
    device.resets.fetch_add(1, Ordering::AcqRel);
    runtime.scheduler.forgive(ordinal);
}

/// The value of an attribute; `None` for an unknown one.
fn attribute_of(p: &R0600, attribute: hipDeviceAttribute_t) -> Option<c_int> {
    let clamp = |size: usize| c_int::try_from(size).unwrap_or(c_int::MAX);
    macro_rules! table {
        ($($($name:ident)|+ => $value:expr,)*) => {
            $(if [$(hip_sys::$name),+].contains(&attribute) { return Some($value); })*
        };
    }
    table! {
        hipDeviceAttributeEccEnabled => p.ECCEnabled,
        hipDeviceAttributeAccessPolicyMaxWindowSize => p.accessPolicyMaxWindowSize,
        hipDeviceAttributeAsyncEngineCount => p.asyncEngineCount,
        hipDeviceAttributeCanMapHostMemory => p.canMapHostMemory,
        hipDeviceAttributeCanUseHostPointerForRegisteredMem => p.canUseHostPointerForRegisteredMem,
        hipDeviceAttributeClockRate => p.clockRate,
        hipDeviceAttributeComputeMode => p.computeMode,
        hipDeviceAttributeComputePreemptionSupported => p.computePreemptionSupported,
        hipDeviceAttributeConcurrentKernels => p.concurrentKernels,
        hipDeviceAttributeConcurrentManagedAccess => p.concurrentManagedAccess,
        hipDeviceAttributeCooperativeLaunch => p.cooperativeLaunch,
        hipDeviceAttributeCooperativeMultiDeviceLaunch => p.cooperativeMultiDeviceLaunch,
        hipDeviceAttributeDeviceOverlap => p.deviceOverlap,
        hipDeviceAttributeDirectManagedMemAccessFromHost => p.directManagedMemAccessFromHost,
        hipDeviceAttributeGlobalL1CacheSupported => p.globalL1CacheSupported,
        hipDeviceAttributeHostNativeAtomicSupported => p.hostNativeAtomicSupported,
        hipDeviceAttributeIntegrated => p.integrated,
        hipDeviceAttributeIsMultiGpuBoard => p.isMultiGpuBoard,
        hipDeviceAttributeKernelExecTimeout => p.kernelExecTimeoutEnabled,
        hipDeviceAttributeL2CacheSize => p.l2CacheSize,
        hipDeviceAttributeLocalL1CacheSupported => p.localL1CacheSupported,
        hipDeviceAttributeLuidDeviceNodeMask => p.luidDeviceNodeMask as c_int,
        hipDeviceAttributeComputeCapabilityMajor => p.major,
        hipDeviceAttributeComputeCapabilityMinor => p.minor,
        hipDeviceAttributeManagedMemory => p.managedMemory,
        hipDeviceAttributeMaxBlocksPerMultiProcessor => p.maxBlocksPerMultiProcessor,
        hipDeviceAttributeMaxBlockDimX => p.maxThreadsDim[0],
        hipDeviceAttributeMaxBlockDimY => p.maxThreadsDim[1],
        hipDeviceAttributeMaxBlockDimZ => p.maxThreadsDim[2],
        hipDeviceAttributeMaxGridDimX => p.maxGridSize[0],
        hipDeviceAttributeMaxGridDimY => p.maxGridSize[1],
        hipDeviceAttributeMaxGridDimZ => p.maxGridSize[2],
        hipDeviceAttributeMaxThreadsPerBlock => p.maxThreadsPerBlock,
        hipDeviceAttributeMaxThreadsPerMultiProcessor => p.maxThreadsPerMultiProcessor,
        hipDeviceAttributeMaxPitch => clamp(p.memPitch),
        hipDeviceAttributeMemoryBusWidth => p.memoryBusWidth,
        hipDeviceAttributeMemoryClockRate => p.memoryClockRate,
        hipDeviceAttributeMultiGpuBoardGroupID => p.multiGpuBoardGroupID,
        hipDeviceAttributeMultiprocessorCount | hipDeviceAttributePhysicalMultiProcessorCount => p.multiProcessorCount,
        hipDeviceAttributePageableMemoryAccess => p.pageableMemoryAccess,
        hipDeviceAttributePageableMemoryAccessUsesHostPageTables => p.pageableMemoryAccessUsesHostPageTables,
        hipDeviceAttributePciBusId => p.pciBusID,
        hipDeviceAttributePciDeviceId => p.pciDeviceID,
        hipDeviceAttributePciDomainID => p.pciDomainID,
        hipDeviceAttributePersistingL2CacheMaxSize => p.persistingL2CacheMaxSize,
        hipDeviceAttributeMaxRegistersPerBlock => p.regsPerBlock,
        hipDeviceAttributeMaxRegistersPerMultiprocessor => p.regsPerMultiprocessor,
        hipDeviceAttributeReservedSharedMemPerBlock => clamp(p.reservedSharedMemPerBlock),
        hipDeviceAttributeMaxSharedMemoryPerBlock => clamp(p.sharedMemPerBlock),
        hipDeviceAttributeSharedMemPerBlockOptin => clamp(p.sharedMemPerBlockOptin),
        hipDeviceAttributeSharedMemPerMultiprocessor => clamp(p.sharedMemPerMultiprocessor),
        hipDeviceAttributeMaxSharedMemoryPerMultiprocessor => clamp(p.maxSharedMemoryPerMultiProcessor),
        hipDeviceAttributeStreamPrioritiesSupported => p.streamPrioritiesSupported,
        hipDeviceAttributeSurfaceAlignment => clamp(p.surfaceAlignment),
        hipDeviceAttributeTextureAlignment => clamp(p.textureAlignment),
        hipDeviceAttributeTexturePitchAlignment => clamp(p.texturePitchAlignment),
        hipDeviceAttributeTotalConstantMemory => clamp(p.totalConstMem),
        hipDeviceAttributeTotalGlobalMem => clamp(p.totalGlobalMem),
        hipDeviceAttributeUnifiedAddressing => p.unifiedAddressing,
        hipDeviceAttributeWarpSize => p.warpSize,
        hipDeviceAttributeMemoryPoolsSupported => p.memoryPoolsSupported,
        hipDeviceAttributeIsLargeBar => p.isLargeBar,
        hipDeviceAttributeAsicRevision => p.asicRevision,
        hipDeviceAttributeFineGrainSupport => 1,
        hipDeviceAttributeWallClockRate | hipDeviceAttributeClockInstructionRate => p.clockInstructionRate,
        hipDeviceAttributeVirtualMemoryManagementSupported => c_int::from(cfg!(target_os = "linux")),
        hipDeviceAttributeCanUseStreamWaitValue => 1,
        hipDeviceAttributeTccDriver
            | hipDeviceAttributeSingleToDoublePrecisionPerfRatio
            | hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc
            | hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim
            | hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim
            | hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem => 0,
        hipDeviceAttributeMaxTexture1DMipmap => p.textures[TEXTURE_1D_MIPMAP],
        hipDeviceAttributeMaxTextureCubemap => p.textures[TEXTURE_CUBE],
        hipDeviceAttributeMaxTexture1DWidth => p.textures[TEXTURE_1D],
        hipDeviceAttributeMaxTexture1DLinear => p.textures[TEXTURE_1D_LINEAR],
        hipDeviceAttributeMaxTexture2DWidth => p.textures[TEXTURE_2D],
        hipDeviceAttributeMaxTexture2DHeight => p.textures[TEXTURE_2D + 1],
        hipDeviceAttributeMaxTexture3DWidth => p.textures[TEXTURE_3D],
        hipDeviceAttributeMaxTexture3DHeight => p.textures[TEXTURE_3D + 1],
        hipDeviceAttributeMaxTexture3DDepth => p.textures[TEXTURE_3D + 2],
        hipDeviceAttributeMaxSurface1D => p.textures[SURFACE_1D],
    }
    // Attributes newer than the lowest API level, by number.
    let host_register_supported = hipDeviceAttributeVirtualMemoryManagementSupported.0 + 1;
    let pool_handle_types = host_register_supported + 1;
    match attribute.0 {
        n if n == host_register_supported => Some(p.hostRegisterSupported),
        n if n == pool_handle_types => Some(p.memoryPoolSupportedHandleTypes as c_int),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::compute_units;

    #[test]
    fn attributes_agree_with_properties() {
        let runtime = runtime().unwrap();
        let device = runtime.device(0).unwrap();
        let properties = R0600::of(device);
        assert_eq!(attribute_of(&properties, hipDeviceAttributeWarpSize), Some(64));
        assert_eq!(
            attribute_of(&properties, hipDeviceAttributeMultiprocessorCount),
            Some(compute_units(device) as c_int)
        );
        assert_eq!(attribute_of(&properties, hipDeviceAttribute_t(9_998)), None);
    }
}
