//! Ranks are threads, one for each device: GPUs, or software GPUs under `hip-sim run --devices 2`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use cuda_compat::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cuda_compat::driver::{CudaContext, CudaStream};
use cuda_compat::nccl::result::{self, NcclStatus};
use cuda_compat::nccl::sys::{ncclDataType_t, ncclResult_t};
use cuda_compat::nccl::{Comm, Id, NcclType, ReduceOp};
use half::{bf16, f16};

use crate::stream_with;

/// Collectives of two sets of ranks on the same devices can wait for each other: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The number of devices, if there are two or more, and RCCL.
fn devices() -> Option<(usize, MutexGuard<'static, ()>)> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    stream_with!(nccl, "ncclCommInitAll")?;
    let count = CudaContext::device_count().unwrap() as usize;
    if count < 2 {
        linalg_testing::skipped(&"there is one device, and two are needed (hip-sim run --devices 2)");
        return None;
    }
    Some((count, turn))
}

/// Runs a function for each rank, in its own thread.
fn ranks(run: impl Fn(&Comm, &Arc<CudaStream>) + Send + Sync) {
    let Some((count, _turn)) = devices() else { return };
    let id = Id::new().unwrap();
    let same = Id::uninit(*id.internal());
    thread::scope(|scope| {
        for rank in 0..count {
            let run = &run;
            scope.spawn(move || {
                let stream = CudaContext::new(rank).unwrap().new_stream().unwrap();
                let comm = Comm::from_rank(stream.clone(), rank, count, same).unwrap();
                assert_eq!((comm.rank(), comm.world_size(), comm.ordinal()), (rank, count, rank));
                run(&comm, &stream);
                stream.synchronize().unwrap();
            });
        }
    });
}

const LEN: usize = 5;

/// The data that a rank sends: different at each position.
fn sent(rank: usize) -> Vec<f32> {
    (0..LEN).map(|place| (rank * 10 + place + 1) as f32).collect()
}

/// One number for each place, of all ranks.
fn combined(count: usize, combine: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    let ranks: Vec<_> = (0..count).map(sent).collect();
    (0..LEN).map(|place| ranks.iter().map(|rank| rank[place]).reduce(&combine).unwrap()).collect()
}

#[test]
fn each_collective_is_that_of_the_reference() {
    ranks(|comm, stream| {
        let (rank, count) = (comm.rank(), comm.world_size());
        let read = |slice: &_| stream.clone_dtoh::<f32, _>(slice).unwrap();
        let from = stream.clone_htod(&sent(rank)).unwrap();
        let mut to = stream.alloc_zeros::<f32>(LEN).unwrap();
        let sum = combined(count, |a, b| a + b);
        let average: Vec<f32> = sum.iter().map(|sum| sum / count as f32).collect();
        let reductions = [
            (ReduceOp::Sum, sum.clone()),
            (ReduceOp::Prod, combined(count, |a, b| a * b)),
            (ReduceOp::Max, combined(count, f32::max)),
            (ReduceOp::Min, combined(count, f32::min)),
            (ReduceOp::Avg, average),
        ];
        for (op, want) in reductions {
            comm.all_reduce(&from, &mut to, &op).unwrap();
            assert_eq!(read(&to), want, "{op:?}");
        }
        // NCCL divides a sum of integers that may have wrapped.
        let bytes = stream.clone_htod(&[200 + rank as u8; 4]).unwrap();
        let mut of_bytes = stream.alloc_zeros::<u8>(4).unwrap();
        comm.all_reduce(&bytes, &mut of_bytes, &ReduceOp::Avg).unwrap();
        let wrapped = (0..count).fold(0_u8, |all, rank| all.wrapping_add(200 + rank as u8));
        assert_eq!(stream.clone_dtoh::<u8, _>(&of_bytes).unwrap(), [wrapped / count as u8; 4]);
        let mut place = from.clone();
        comm.all_reduce_in_place(&mut place, &ReduceOp::Sum).unwrap();
        assert_eq!(read(&place), sum);

        let root = count - 1;
        let is_root = rank == root;
        comm.broadcast(is_root.then_some(&from), &mut to, root as i32).unwrap();
        assert_eq!(read(&to), sent(root));
        let mut place = from.clone();
        comm.broadcast_in_place(&mut place, 0).unwrap();
        assert_eq!(read(&place), sent(0));

        to = stream.alloc_zeros(LEN).unwrap();
        comm.reduce(&from, is_root.then_some(&mut to), &ReduceOp::Sum, root as i32).unwrap();
        assert_eq!(read(&to), if is_root { sum.clone() } else { vec![0.0; LEN] });
        let mut place = from.clone();
        comm.reduce_in_place(&mut place, &ReduceOp::Max, root as i32).unwrap();
        assert_eq!(read(&place), if is_root { combined(count, f32::max) } else { sent(rank) });

        let mut all = stream.alloc_zeros::<f32>(count * LEN).unwrap();
        comm.all_gather(&from, &mut all).unwrap();
        assert_eq!(read(&all), (0..count).flat_map(sent).collect::<Vec<_>>());
        comm.reduce_scatter(&all, &mut to, &ReduceOp::Sum).unwrap();
        let want: Vec<f32> = sent(rank).iter().map(|number| number * count as f32).collect();
        assert_eq!(read(&to), want);
    });
}

#[test]
fn collectives_are_refused_in_captures() {
    ranks(|comm, stream| {
        let from = stream.clone_htod(&sent(comm.rank())).unwrap();
        let mut to = stream.alloc_zeros::<f32>(LEN).unwrap();
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        let refused = comm.all_reduce(&from, &mut to, &ReduceOp::Sum).map(drop).unwrap_err();
        assert_eq!(refused.0, ncclResult_t::ncclInvalidUsage);
        drop(stream.end_capture(CUgraphInstantiate_flags(0)));
        comm.all_reduce(&from, &mut to, &ReduceOp::Sum).unwrap();
        assert_eq!(stream.clone_dtoh(&to).unwrap(), combined(comm.world_size(), |a, b| a + b));
    });
}

#[test]
fn a_group_sends_around_the_ring() {
    ranks(|comm, stream| {
        let (rank, count) = (comm.rank(), comm.world_size());
        let from = stream.clone_htod(&sent(rank)).unwrap();
        let mut to = stream.alloc_zeros::<f32>(LEN).unwrap();
        let (next, before) = ((rank + 1) % count, (rank + count - 1) % count);
        {
            let (from, to) = (from.as_view(), to.as_view_mut());
            let mut group = comm.group();
            assert_eq!(group.comm().rank(), rank);
            group.send(from, next as i32).unwrap();
            group.recv(to, before as i32).unwrap();
        }
        assert_eq!(stream.clone_dtoh(&to).unwrap(), sent(before));

        let mut all = stream.alloc_zeros::<f32>(count * LEN).unwrap();
        let mut place = from.clone();
        {
            let (views, to) = ([from.as_view(), from.as_view()], to.as_view_mut());
            let (all, place) = (all.as_view_mut(), place.as_view_mut());
            let [first, second] = views;
            let mut group = comm.group();
            group.all_reduce(first, to, &ReduceOp::Sum).unwrap();
            group.all_gather(second, all).unwrap();
            group.all_reduce_in_place(place, &ReduceOp::Min).unwrap();
        }
        assert_eq!(stream.clone_dtoh(&to).unwrap(), combined(count, |a, b| a + b));
        assert_eq!(stream.clone_dtoh(&all).unwrap(), (0..count).flat_map(sent).collect::<Vec<_>>());
        assert_eq!(stream.clone_dtoh(&place).unwrap(), combined(count, f32::min));

        let is_root = rank == 0;
        let mut place = from.clone();
        {
            let (source, to) = (from.as_view(), to.as_view_mut());
            let place = place.as_view_mut();
            let mut group = comm.group();
            group.broadcast(is_root.then_some(source), to, 0).unwrap();
            group.broadcast_in_place(place, count as i32 - 1).unwrap();
        }
        assert_eq!(stream.clone_dtoh(&to).unwrap(), sent(0));
        assert_eq!(stream.clone_dtoh(&place).unwrap(), sent(count - 1));

        let mut part = stream.alloc_zeros::<f32>(LEN).unwrap();
        let mut place = from.clone();
        {
            let (from, all) = (from.as_view(), all.as_view());
            let (to, part, place) = (to.as_view_mut(), part.as_view_mut(), place.as_view_mut());
            let mut group = comm.group();
            group.reduce(from, is_root.then_some(to), &ReduceOp::Sum, 0).unwrap();
            group.reduce_scatter(all, part, &ReduceOp::Avg).unwrap();
            group.reduce_in_place(place, &ReduceOp::Sum, 0).unwrap();
        }
        let sum = combined(count, |a, b| a + b);
        if is_root {
            assert_eq!(stream.clone_dtoh(&to).unwrap(), sum);
            assert_eq!(stream.clone_dtoh(&place).unwrap(), sum);
        }
        assert_eq!(stream.clone_dtoh(&part).unwrap(), sent(rank));
    });
}

#[test]
fn devices_of_one_thread_have_communicators() {
    let Some((count, _turn)) = devices() else { return };
    let streams: Vec<_> = (0..count).map(|device| CudaContext::new(device).unwrap().default_stream()).collect();
    let comms = Comm::from_devices(streams).unwrap();
    let from: Vec<_> = comms.iter().map(|comm| comm.stream().clone_htod(&sent(comm.rank())).unwrap()).collect();
    let mut to: Vec<_> = comms.iter().map(|comm| comm.stream().alloc_zeros::<f32>(LEN).unwrap()).collect();
    result::group_start().unwrap();
    for (comm, (from, to)) in comms.iter().zip(from.iter().zip(&mut to)) {
        comm.context().bind_to_thread().unwrap();
        comm.all_reduce(from, to, &ReduceOp::Sum).unwrap();
    }
    result::group_end().unwrap();
    for (comm, to) in comms.iter().zip(&to) {
        assert_eq!(comm.stream().clone_dtoh(to).unwrap(), combined(count, |a, b| a + b));
    }
    assert!(Comm::from_devices(Vec::new()).is_err());
    assert!(result::get_nccl_version().unwrap() > 20_000);
}

/// A group that a program opens itself is queued when it ends, even if its buffers and communicators were dropped.
#[test]
fn a_group_keeps_what_its_calls_use() {
    const MANY: usize = 1 << 16;
    let Some((count, _turn)) = devices() else { return };
    let streams: Vec<_> = (0..count).map(|device| CudaContext::new(device).unwrap().new_stream().unwrap()).collect();
    let comms = Comm::from_devices(streams.clone()).unwrap();
    let mut kept: Vec<_> = streams.iter().map(|stream| stream.alloc_zeros::<f32>(MANY).unwrap()).collect();
    result::group_start().unwrap();
    for (comm, kept) in comms.iter().zip(&mut kept) {
        let from = comm.stream().clone_htod(&[1.0_f32; MANY]).unwrap();
        let mut to = comm.stream().alloc_zeros::<f32>(MANY).unwrap();
        comm.all_reduce(&from, &mut to, &ReduceOp::Sum).unwrap();
        comm.all_reduce(&from, kept, &ReduceOp::Sum).unwrap();
    }
    streams.iter().for_each(|stream| stream.synchronize().unwrap());
    let others: Vec<_> = streams
        .iter()
        .flat_map(|stream| (0..4).map(|_| stream.clone_htod(&[7.0_f32; MANY]).unwrap()).collect::<Vec<_>>())
        .collect();
    result::group_end().unwrap();
    for kept in &kept {
        assert_eq!(kept.stream().clone_dtoh(kept).unwrap(), [count as f32; MANY]);
    }
    assert!(others.iter().all(|other| other.stream().clone_dtoh(other).unwrap() == [7.0; MANY]));

    // And communicators.
    result::group_start().unwrap();
    for (comm, kept) in comms.iter().zip(&mut kept) {
        comm.all_reduce_in_place(kept, &ReduceOp::Max).unwrap();
    }
    drop(comms);
    result::group_end().unwrap();
    streams.iter().for_each(|stream| stream.synchronize().unwrap());
    assert!(result::group_end().is_err(), "no group is open");
}

/// The way of a process with several devices and one thread.
#[test]
fn ranks_of_one_thread_are_made_in_a_group() {
    let Some((count, _turn)) = devices() else { return };
    let streams: Vec<_> = (0..count).map(|device| CudaContext::new(device).unwrap().new_stream().unwrap()).collect();
    let id = Id::new().unwrap();
    let mut buffers: Vec<_> =
        streams.iter().enumerate().map(|(rank, stream)| stream.clone_htod(&sent(rank)).unwrap()).collect();
    result::group_start().unwrap();
    let ranks = streams.iter().enumerate();
    let comms: Vec<_> = ranks.map(|(rank, stream)| Comm::from_rank(stream.clone(), rank, count, id).unwrap()).collect();
    let early = comms[0].all_reduce_in_place(&mut buffers[0], &ReduceOp::Sum).unwrap_err();
    assert_eq!(early.0, ncclResult_t::ncclInvalidArgument);
    let nested = Comm::from_devices(streams.clone()).unwrap_err();
    assert_eq!(nested.0, ncclResult_t::ncclInvalidUsage);
    result::group_end().unwrap();
    result::group_start().unwrap();
    for (comm, buffer) in comms.iter().zip(&mut buffers) {
        comm.all_reduce_in_place(buffer, &ReduceOp::Sum).unwrap();
    }
    result::group_end().unwrap();
    for buffer in &buffers {
        assert_eq!(buffer.stream().clone_dtoh(buffer).unwrap(), combined(count, |a, b| a + b));
    }
}

#[test]
fn what_does_not_fit_is_refused_before_the_call() {
    ranks(|comm, stream| {
        let (rank, count) = (comm.rank() as i32, comm.world_size());
        let from = stream.clone_htod(&sent(0)).unwrap();
        let mut short = stream.clone_htod(&[-1.0_f32; LEN - 1]).unwrap();
        let invalid = |queued: Result<NcclStatus, _>| {
            let error: result::NcclError = queued.unwrap_err();
            assert_eq!(error.0, ncclResult_t::ncclInvalidArgument, "{error}");
        };
        invalid(comm.all_reduce(&from, &mut short, &ReduceOp::Sum));
        invalid(comm.all_gather(&from, &mut short));
        let mut long = stream.alloc_zeros::<f32>(LEN * count).unwrap();
        invalid(comm.reduce_scatter(&short, &mut long, &ReduceOp::Sum));
        invalid(comm.reduce(&from, Some(&mut short), &ReduceOp::Sum, rank));
        invalid(comm.reduce::<_, cuda_compat::driver::CudaSlice<f32>, f32>(&from, None, &ReduceOp::Sum, rank));
        invalid(comm.broadcast(Some(&short), &mut long, rank));
        invalid(comm.broadcast::<cuda_compat::driver::CudaSlice<f32>, _, f32>(None, &mut long, rank));
        for nobody in [-1, count as i32] {
            invalid(comm.recv(&mut short, nobody));
            invalid(comm.send(&from, nobody).map(|()| NcclStatus::Success));
            invalid(comm.broadcast_in_place(&mut short, nobody));
            invalid(comm.reduce_in_place(&mut short, &ReduceOp::Sum, nobody));
        }
        assert_eq!(stream.clone_dtoh(&short).unwrap(), [-1.0; LEN - 1]);
    });
}

#[test]
fn types_have_nccls_names() {
    assert_eq!(<f32 as NcclType>::as_nccl_type(), ncclDataType_t::ncclFloat32);
    assert_eq!(<f64 as NcclType>::as_nccl_type(), ncclDataType_t::ncclFloat64);
    assert_eq!(<i8 as NcclType>::as_nccl_type(), ncclDataType_t::ncclInt8);
    assert_eq!(<i32 as NcclType>::as_nccl_type(), ncclDataType_t::ncclInt32);
    assert_eq!(<i64 as NcclType>::as_nccl_type(), ncclDataType_t::ncclInt64);
    assert_eq!(<u8 as NcclType>::as_nccl_type(), ncclDataType_t::ncclUint8);
    assert_eq!(<u32 as NcclType>::as_nccl_type(), ncclDataType_t::ncclUint32);
    assert_eq!(<u64 as NcclType>::as_nccl_type(), ncclDataType_t::ncclUint64);
    assert_eq!(<f16 as NcclType>::as_nccl_type(), ncclDataType_t::ncclFloat16);
    assert_eq!(<bf16 as NcclType>::as_nccl_type(), ncclDataType_t::ncclBfloat16);
}

#[test]
fn a_status_that_is_no_failure_is_a_result() {
    assert!(ncclResult_t::ncclSuccess.result().is_ok_and(|status| status == NcclStatus::Success));
    assert!(ncclResult_t::ncclInProgress.result().is_ok_and(|status| status == NcclStatus::InProgress));
    assert_eq!(ncclResult_t::ncclInvalidUsage.result().unwrap_err().0, ncclResult_t::ncclInvalidUsage);
}
