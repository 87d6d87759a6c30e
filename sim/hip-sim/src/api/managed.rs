//! Managed memory: advice, prefetches and discards, single and batched.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use hip_sys::rocm_7_2::*;

use super::copy::enqueue;
use super::hip_functions;
use crate::fault::Failure;
use crate::memory::Kind;
use crate::placement::{HOST, Placement};
use crate::queue::Work;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

/// `hipInvalidDeviceId`: no location, or not the same one for all bytes.
const NOWHERE: c_int = -2;

/// The fill value of discarded memory, so that a use of it is noticed.
const DISCARDED: u8 = 0xdd;

/// `hipMemLocation`, the same in all releases.
#[repr(C)]
#[derive(Clone, Copy)]
struct Location {
    kind: c_uint,
    id: c_int,
}

const _: () = {
    assert!(size_of::<Location>() == size_of::<hipMemLocation>());
};

impl Location {
    /// Converts to the older form: a device ordinal, or the host.
    fn place(self, runtime: &Runtime) -> Result<c_int, Refusal> {
        match self.kind {
            1 => known(runtime, self.id),
            // The host, a NUMA node of it, or the nearest node.
            2..=4 => Ok(HOST),
            _ => Err(hipErrorInvalidValue.into()),
        }
    }
}

/// Checks that a location is a device ordinal or the host.
fn known(runtime: &Runtime, place: c_int) -> Result<c_int, Refusal> {
    if place != HOST {
        runtime.device(place)?;
    }
    Ok(place)
}

/// The start and end of a range, which must be managed memory.
fn range(runtime: &Runtime, start: *const c_void, bytes: usize) -> Result<(u64, u64), Refusal> {
    let start = start.expose_provenance() as u64;
    let refused = |text: String| Refusal::new(hipErrorInvalidValue, text);
    let block = runtime.blocks.find(start).filter(|block| block.kind == Kind::Managed);
    let block = block.ok_or_else(|| refused(format!("{start:#x} is not in live managed memory")))?;
    if bytes == 0 || bytes as u64 > block.left(start) {
        return Err(refused(format!(
            "{bytes} bytes at {start:#x} of the managed memory of {} bytes at {:#x}",
            block.size, block.base
        )));
    }
    Ok((start, start + bytes as u64))
}

#[allow(non_upper_case_globals)]
fn advise(start: *const c_void, bytes: usize, advice: hipMemoryAdvise, place: c_int) -> Outcome {
    let runtime = runtime()?;
    runtime.captures.refuse_unsafe()?;
    runtime.captures.deny_concerned()?;
    let (start, end) = range(runtime, start, bytes)?;
    let place = || known(runtime, place);
    let place = match advice {
        hipMemAdviseSetPreferredLocation | hipMemAdviseSetAccessedBy | hipMemAdviseUnsetAccessedBy => place()?,
        _ => HOST,
    };
    let change: Box<dyn Fn(&mut Placement)> = match advice {
        hipMemAdviseSetReadMostly => Box::new(|p| p.read_mostly = true),
        hipMemAdviseUnsetReadMostly => Box::new(|p| p.read_mostly = false),
        hipMemAdviseSetPreferredLocation => Box::new(move |p| p.preferred = Some(place)),
        hipMemAdviseUnsetPreferredLocation => Box::new(|p| p.preferred = None),
        hipMemAdviseSetAccessedBy => Box::new(move |p| {
            p.accessed_by.retain(|other| *other != place);
            p.accessed_by.push(place);
        }),
        hipMemAdviseUnsetAccessedBy => Box::new(move |p| p.accessed_by.retain(|other| *other != place)),
        hipMemAdviseSetCoarseGrain => Box::new(|p| p.coarse_grained = true),
        hipMemAdviseUnsetCoarseGrain => Box::new(|p| p.coarse_grained = false),
        _ => return Err(hipErrorInvalidValue.into()),
    };
    runtime.placements.change(start, end, change);
    Ok(())
}

/// The values of an attribute of a range, at most `room` numbers.
#[allow(non_upper_case_globals)]
fn attribute(
    start: *const c_void,
    bytes: usize,
    which: hipMemRangeAttribute,
    room: usize,
) -> Result<Vec<c_int>, Refusal> {
    let runtime = runtime()?;
    let (start, end) = range(runtime, start, bytes)?;
    let placements = &runtime.placements;
    let place = |ask: fn(&Placement) -> Option<i32>| placements.common(start, end, ask).flatten().unwrap_or(NOWHERE);
    Ok(match which {
        hipMemRangeAttributeReadMostly => {
            vec![c_int::from(placements.common(start, end, |p| p.read_mostly) == Some(true))]
        }
        hipMemRangeAttributePreferredLocation => vec![place(|p| p.preferred)],
        hipMemRangeAttributeLastPrefetchLocation => vec![place(|p| p.last_prefetch)],
        hipMemRangeAttributeAccessedBy => {
            let mut by = placements.common(start, end, |p| p.accessed_by.clone()).unwrap_or_default();
            by.resize(room, NOWHERE);
            by
        }
        // Fine-grained is 0, coarse-grained 1, a mix 2.
        hipMemRangeAttributeCoherencyMode => {
            vec![placements.common(start, end, |p| p.coarse_grained).map_or(2, c_int::from)]
        }
        _ => return Err(hipErrorInvalidValue.into()),
    })
}

/// Discards and prefetches ranges in stream order. All ranges are validated before any is queued. Refused for a
/// captured stream, since graphs have no nodes for it.
fn act(stream: hipStream_t, ranges: Vec<((u64, u64), Option<c_int>)>, discard: bool) -> Outcome {
    let runtime = runtime()?;
    runtime.captures.refuse_use(runtime.live_target(stream)?.queue)?;
    act_captured_or_not(stream, ranges, discard)
}

/// As [`act`], except that for a captured stream it acts immediately, as HIP does.
fn act_captured_or_not(stream: hipStream_t, ranges: Vec<((u64, u64), Option<c_int>)>, discard: bool) -> Outcome {
    let runtime = runtime()?;
    let target = runtime.live_target(stream)?;
    let work = Work::Device(Box::new(move || {
        for ((start, end), place) in ranges {
            if discard {
                let filled = runtime.memory().fill(start, &[DISCARDED], end - start);
                filled.map_err(|error| {
                    Failure::new(hipErrorIllegalAddress, format!("a queued discard lost its memory: {error}"))
                })?;
            }
            if place.is_some() {
                runtime.placements.change(start, end, |p| p.last_prefetch = place);
            }
        }
        Ok(())
    }));
    enqueue(runtime, target, work, false)
}

/// Reads the ranges of a batch.
///
/// # Safety
/// `starts` and `sizes` must be null or have `count` entries.
unsafe fn batch(
    starts: *const *mut c_void,
    sizes: *const usize,
    count: usize,
    flags: c_ulonglong,
) -> Result<Vec<(u64, u64)>, Refusal> {
    let runtime = runtime()?;
    ensure(!starts.is_null() && !sizes.is_null() && count > 0 && flags == 0, hipErrorInvalidValue)?;
    // SAFETY: not null, hence of `count` entries, as the caller vouches.
    let (starts, sizes) =
        unsafe { (std::slice::from_raw_parts(starts, count), std::slice::from_raw_parts(sizes, count)) };
    starts.iter().zip(sizes).map(|(start, size)| range(runtime, *start, *size)).collect()
}

/// The location of each range of a batch. Location k applies to the ranges from `indices[k]` up to `indices[k + 1]`.
///
/// # Safety
/// `locations` and `indices` must be null or have `count` entries.
unsafe fn places(
    locations: *const Location,
    indices: *const usize,
    count: usize,
    ranges: usize,
) -> Result<Vec<c_int>, Refusal> {
    let runtime = runtime()?;
    ensure(!locations.is_null() && !indices.is_null(), hipErrorInvalidValue)?;
    ensure((1..=ranges).contains(&count), hipErrorInvalidValue)?;
    // SAFETY: not null, hence of `count` entries, as the caller vouches.
    let (locations, indices) =
        unsafe { (std::slice::from_raw_parts(locations, count), std::slice::from_raw_parts(indices, count)) };
    let ascending = indices.windows(2).all(|pair| pair[0] < pair[1]);
    ensure(indices[0] == 0 && ascending && indices[count - 1] < ranges, hipErrorInvalidValue)?;
    let mut places = Vec::with_capacity(ranges);
    for (k, location) in locations.iter().enumerate() {
        let next = indices.get(k + 1).copied().unwrap_or(ranges);
        places.resize(next, location.place(runtime)?);
    }
    Ok(places)
}

/// `hipMemDiscardBatchAsync`.
///
/// # Safety
/// As for [`batch`].
unsafe fn discard(
    starts: *const *mut c_void,
    sizes: *const usize,
    count: usize,
    flags: c_ulonglong,
    stream: hipStream_t,
) -> Outcome {
    // SAFETY: as the caller vouches.
    let ranges = unsafe { batch(starts, sizes, count, flags) }?;
    act(stream, ranges.into_iter().map(|range| (range, None)).collect(), true)
}

/// The arrays of a batch with locations.
struct Batch {
    starts: *const *mut c_void,
    sizes: *const usize,
    count: usize,
    locations: *const Location,
    indices: *const usize,
    places: usize,
    flags: c_ulonglong,
}

/// `hipMemPrefetchBatchAsync`, optionally with a discard before it.
///
/// # Safety
/// As for [`batch`] and [`places`].
unsafe fn prefetch(of: &Batch, stream: hipStream_t, discard: bool) -> Outcome {
    // SAFETY: as the caller vouches.
    let (ranges, places) = unsafe {
        let ranges = batch(of.starts, of.sizes, of.count, of.flags)?;
        let places = places(of.locations, of.indices, of.places, ranges.len())?;
        (ranges, places)
    };
    act(stream, ranges.into_iter().zip(places.into_iter().map(Some)).collect(), discard)
}

hip_functions! {
    fn hipMemAdvise(start: *const c_void, bytes: usize, advice: hipMemoryAdvise, device: c_int) {
        advise(start, bytes, advice, device)
    }

    fn hipMemPrefetchAsync(start: *const c_void, bytes: usize, device: c_int, stream: hipStream_t) {
        let runtime = runtime()?;
        runtime.captures.refuse_unsafe()?;
        let range = range(runtime, start, bytes)?;
        act_captured_or_not(stream, vec![(range, Some(known(runtime, device)?))], false)
    }

    fn hipStreamAttachMemAsync(stream: hipStream_t, start: *mut c_void, bytes: usize, flags: c_uint) {
        let runtime = runtime()?;
        ensure([hipMemAttachGlobal, hipMemAttachHost, hipMemAttachSingle].contains(&flags), hipErrorInvalidValue)?;
        let at = start.expose_provenance() as u64;
        let block = runtime.blocks.find(at).ok_or_else(|| {
            Refusal::new(hipErrorInvalidValue, format!("{at:#x} is not in live memory of HIP's"))
        })?;
        // The size must be that of the whole allocation, or 0 for the same.
        ensure(bytes == 0 || bytes as u64 == block.size, hipErrorInvalidValue)?;
        // A default stream cannot own memory.
        ensure(flags != hipMemAttachSingle || stream.addr() > 2, hipErrorInvalidValue)?;
        let target = runtime.live_target(stream)?;
        runtime.captures.refuse_use(target.queue)?;
        // Host and devices may use managed memory concurrently here, so attaching has no effect.
        let nothing = Work::Always(Box::new(|| {}));
        runtime.scheduler.submit(target.queue, nothing, &[]).ok_or(hipErrorContextIsDestroyed)?;
        Ok(())
    }

    fn hipMemRangeGetAttribute(
        data: *mut c_void, bytes: usize, which: hipMemRangeAttribute, start: *const c_void, count: usize,
    ) {
        let room = bytes / size_of::<c_int>();
        ensure(!data.is_null() && room > 0 && bytes % size_of::<c_int>() == 0, hipErrorInvalidValue)?;
        let values = attribute(start, count, which, room)?;
        ensure(values.len() == room, hipErrorInvalidValue)?;
        data.cast::<u8>().copy_from_nonoverlapping(values.as_ptr().cast(), bytes);
        Ok(())
    }

    since:

    fn hipMemAdvise_v2(start: *const c_void, bytes: usize, advice: hipMemoryAdvise, location: Location) {
        advise(start, bytes, advice, location.place(runtime()?)?)
    }

    fn hipMemPrefetchAsync_v2(
        start: *const c_void, bytes: usize, location: Location, flags: c_uint, stream: hipStream_t,
    ) {
        ensure(flags == 0, hipErrorInvalidValue)?;
        let runtime = runtime()?;
        runtime.captures.refuse_unsafe()?;
        let range = range(runtime, start, bytes)?;
        act_captured_or_not(stream, vec![(range, Some(location.place(runtime)?))], false)
    }

    fn hipMemPrefetchBatchAsync(
        starts: *mut *mut c_void, sizes: *mut usize, count: usize,
        locations: *mut Location, indices: *mut usize, places: usize, flags: c_ulonglong, stream: hipStream_t,
    ) {
        prefetch(&Batch { starts, sizes, count, locations, indices, places, flags }, stream, false)
    }

    fn hipMemDiscardBatchAsync(
        starts: *mut *mut c_void, sizes: *mut usize, count: usize, flags: c_ulonglong, stream: hipStream_t,
    ) {
        discard(starts, sizes, count, flags, stream)
    }

    fn hipDrvMemDiscardBatchAsync(
        starts: *mut *mut c_void, sizes: *mut usize, count: usize, flags: c_ulonglong, stream: hipStream_t,
    ) {
        discard(starts, sizes, count, flags, stream)
    }

    fn hipMemDiscardAndPrefetchBatchAsync(
        starts: *mut *mut c_void, sizes: *mut usize, count: usize,
        locations: *mut Location, indices: *mut usize, places: usize, flags: c_ulonglong, stream: hipStream_t,
    ) {
        prefetch(&Batch { starts, sizes, count, locations, indices, places, flags }, stream, true)
    }

    fn hipDrvMemDiscardAndPrefetchBatchAsync(
        starts: *mut *mut c_void, sizes: *mut usize, count: usize,
        locations: *mut Location, indices: *mut usize, places: usize, flags: c_ulonglong, stream: hipStream_t,
    ) {
        prefetch(&Batch { starts, sizes, count, locations, indices, places, flags }, stream, true)
    }
}
