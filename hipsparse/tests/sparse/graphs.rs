//! Graphs and checked indices: a graph neither changes the indices of a matrix, nor runs with others than those that
//! were checked.

use hipsparse::{CallError, Error, SpMatRef, SpVec};

use super::*;

const N: usize = 64;

fn indices(device: &Device) -> DeviceBuffer<i32> {
    DeviceBuffer::from_slice(device, &(0..N as i32).collect::<Vec<_>>()).unwrap()
}

fn offsets(device: &Device) -> DeviceBuffer<i32> {
    DeviceBuffer::from_slice(device, &(0..=N as i32).collect::<Vec<_>>()).unwrap()
}

fn values(device: &Device, value: f64) -> DeviceBuffer<f64> {
    DeviceBuffer::from_slice(device, &[value; N]).unwrap()
}

fn diagonal(device: &Device) -> Csr<f64> {
    Csr::new((N, N), Base::Zero, offsets(device), indices(device), values(device, 2.0)).unwrap()
}

/// An error of a graph that is in the way.
fn is_refused<T>(result: hipsparse::Result<T>) -> bool {
    match result {
        Err(Error::Call(CallError::Hip(hip::Error::Graph { reason }))) => {
            assert!(reason.contains("the indices of a sparse operand"), "{reason}");
            true
        }
        Err(other) => panic!("{other}"),
        Ok(_) => false,
    }
}

fn captured(sparse: &Sparse, mut body: impl FnMut() -> hipsparse::Result<()>) -> hip::Graph {
    let graph = sparse.stream().capture(|_| {
        body().expect("it can be captured");
        Ok(())
    });
    graph.unwrap()
}

/// Makes a product once on ROCm 5.7, where the first one waits.
fn run_if_old(mut product: impl FnMut() -> hipsparse::Result<()>) {
    if is_5() {
        product().unwrap();
    }
}

/// Graphs that write to an array before it becomes one of indices.
#[test]
fn arrays_that_a_graph_writes_to_are_no_indices() {
    let Some((device, sparse)) = sparse() else { return };
    let stream = sparse.stream().clone();
    let written = |mut array: DeviceBuffer<i32>| {
        let graph = stream.capture(|stream| array.fill_async(stream, 0x0fff_ffff)).unwrap();
        (graph, array)
    };
    let (graph, second) = written(indices(&device));
    assert!(is_refused(Csr::new((N, N), Base::Zero, offsets(&device), second, values(&device, 1.0))));
    drop(graph);
    let (_graph, first) = written(offsets(&device));
    assert!(is_refused(Csc::new((N, N), Base::Zero, first, indices(&device), values(&device, 1.0))));
    let (_graph, rows) = written(indices(&device));
    assert!(is_refused(Coo::new((N, N), Base::Zero, rows, indices(&device), values(&device, 1.0))));
    let (_graph, entries) = written(indices(&device));
    let block = format::Bsr { rows: 1, cols: 1, order: Default::default() };
    let made = Bsr::with_format(block, (N, N), Base::Zero, offsets(&device), entries, values(&device, 1.0));
    assert!(is_refused(made));
    let (graph, entries) = written(indices(&device));
    assert!(is_refused(SpVec::new(N, Base::Zero, entries, values(&device, 1.0))));
    let (_graph, second) = written(indices(&device));
    let (first, values) = (offsets(&device), values(&device, 1.0));
    assert!(is_refused(SpMatRef::new(format::Csr, (N, N), Base::Zero, &first, &second, &values)));
    drop(graph);
    assert!(is_refused(SpMatRef::new(format::Csr, (N, N), Base::Zero, &first, &second, &values)));
    // SAFETY: the indices are right.
    assert!(is_refused(unsafe { Csr::new_unchecked(format::Csr, (N, N), Base::Zero, first, second, values) }));
}

/// A graph uses the indices of the matrix that it was captured with, even after the matrix is dropped.
#[test]
fn indices_that_a_graph_relies_on_are_not_written() {
    let Some((device, sparse)) = sparse() else { return };
    let a = diagonal(&device);
    let x = values(&device, 3.0);
    let mut y = DeviceBuffer::<f64>::zeroed(&device, N).unwrap();
    let mut plan = sparse.spmv_plan(&a).unwrap();
    run_if_old(|| plan.run(1.0, &x, 0.0, &mut y));
    let graph = captured(&sparse, || plan.run(1.0, &x, 0.0, &mut y));
    drop(plan);
    let exec = graph.instantiate().unwrap();
    drop(graph);
    let (mut first, mut second, mut numbers) = a.into_buffers();
    for array in [&mut first, &mut second] {
        let error = array.fill(0x0fff_ffff).unwrap_err();
        assert!(error.to_string().contains("the indices of a sparse operand"), "{error}");
        assert!(array.fill_async(sparse.stream(), -1).is_err());
        assert!(array.slice_mut(3..4).unwrap().copy_from_slice(&[-1]).is_err());
        assert!(sparse.stream().capture(|stream| array.fill_async(stream, -1)).is_err());
    }
    numbers.fill(5.0).unwrap();
    exec.launch(sparse.stream()).unwrap();
    assert_eq!(y.to_vec().unwrap(), [15.0; N]);
    // A matrix of the same arrays is as good.
    let again = Csr::new((N, N), Base::Zero, first, second, numbers).unwrap();
    sparse.spmv(1.0, &again, &x, 0.0, &mut y).unwrap();
    let sorted = sparse.sort(again);
    assert!(is_refused(sorted), "it would write to the indices");
    drop(exec);
    let (mut first, ..) = diagonal(&device).into_buffers();
    first.fill(7).unwrap();
}

/// Every kind of operand is relied on: borrowed arrays, triangles, factors, vectors, plans.
#[test]
fn every_operand_of_a_captured_call_is_relied_on() {
    let Some((device, sparse)) = sparse() else { return };
    let (mut first, mut second) = (offsets(&device), indices(&device));
    let mut numbers = values(&device, 2.0);
    let x = values(&device, 3.0);
    let mut y = DeviceBuffer::<f64>::zeroed(&device, N).unwrap();
    let stream = sparse.stream().clone();
    let refused = |array: &mut DeviceBuffer<i32>| array.slice_mut(5..6).unwrap().fill_async(&stream, 9999).is_err();
    {
        let a = SpMatRef::new(format::Csr, (N, N), Base::Zero, &first, &second, &numbers).unwrap();
        let mut plan = sparse.spmv_plan::<_, f64, i32>(a).unwrap();
        run_if_old(|| plan.run(1.0, &x, 0.0, &mut y));
        let graph = captured(&sparse, || plan.run(1.0, &x, 0.0, &mut y));
        drop(plan);
        assert!(refused(&mut first) && refused(&mut second), "a plan");
        graph.instantiate().unwrap().launch(&stream).unwrap();
        assert_eq!(y.to_vec().unwrap(), [6.0; N]);
    }
    assert!(!refused(&mut first), "its graph is gone");
    first = offsets(&device);
    second = indices(&device);
    {
        let mut a = hipsparse::SpMatMut::new(format::Csr, (N, N), Base::Zero, &first, &second, &mut numbers).unwrap();
        let analyzed = sparse.ilu0(&mut a).unwrap();
        let graph = {
            let mut factors = None;
            let mut analyzed = Some(analyzed);
            let graph = sparse.stream().capture(|_| {
                // Whether a factorisation can be captured is up to it: it may wait.
                factors = analyzed.take().unwrap().factorize().ok();
                Ok(())
            });
            graph.ok().filter(|_| factors.is_some())
        };
        if let Some(graph) = graph {
            assert!(refused(&mut first) && refused(&mut second), "an incomplete factorisation");
            drop(graph);
        }
    }
    let mut entries = indices(&device);
    {
        let x = SpVec::new(N, Base::Zero, indices(&device), values(&device, 1.5)).unwrap();
        let graph = captured(&sparse, || sparse.scatter(&x, &mut y));
        drop(x);
        graph.instantiate().unwrap().launch(&stream).unwrap();
        assert_eq!(y.to_vec().unwrap(), [1.5; N]);
    }
    assert!(!refused(&mut entries));
}

/// A matrix that a captured call would make has no indices yet.
#[test]
fn matrices_are_not_made_in_a_capture() {
    let Some((device, sparse)) = sparse() else { return };
    let a = diagonal(&device);
    let coo = sparse.csr_to_coo(&a).unwrap();
    let csc = sparse.csr_to_csc(&a).unwrap();
    let ways: [&dyn Fn() -> hipsparse::Result<()>; 6] = [
        &|| sparse.csr_to_coo(&a).map(drop),
        &|| sparse.coo_to_csr(&coo).map(drop),
        &|| sparse.csr_to_csc(&a).map(drop),
        &|| sparse.csc_to_csr(&csc).map(drop),
        &|| sparse.spgemm(1.0, &a, &a).map(drop),
        &|| sparse.sort(a.try_clone()?).map(drop),
    ];
    for (number, way) in ways.iter().enumerate() {
        let mut made = None;
        let _ = sparse.stream().capture(|_| {
            made = Some(way());
            Ok(())
        });
        let error = made.unwrap().unwrap_err();
        assert!(matches!(error, Error::Call(CallError::Hip(hip::Error::Capture { .. }))), "{number}: {error}");
        way().unwrap();
    }
}

/// A captured call needs nothing that the call has freed, or that later calls change: not the library's, not the
/// workspace.
#[test]
fn captured_calls_run_after_other_calls_have_used_the_handle() {
    let Some((device, mut sparse)) = sparse() else { return };
    let [stream, other] = [sparse.stream().clone(), Stream::new(&device).unwrap()];
    let mut rng = Rng::new(30);
    let entries: Entries<f64> = dominant(N, places(N, 5 * N, &mut rng), &mut rng);
    let (csr, coo) = (entries.csr::<i32>(&device, Base::Zero), entries.coo::<i32>(&device, Base::Zero));
    let blocks = entries.bsr(&device, Base::Zero, format::Bsr { rows: 2, cols: 2, order: Default::default() });
    let larger: Entries<f64> = dominant(3 * N, places(3 * N, 5 * N, &mut rng), &mut rng);
    let larger = larger.csr::<i32>(&device, Base::Zero);
    let (x, _) = column::<f64>(&device, &mut rng, N);
    let (b, _) = random::<f64>(&device, &mut rng, N, 4);
    let diagonals = [1.0, 9.0, 2.0].map(|value| values(&device, value));
    let tridiagonal = || {
        let [lower, main, upper] = diagonals.each_ref().map(|diagonal| diagonal.as_slice());
        hipsparse::Tridiagonal { lower, main, upper }
    };
    type Call<'a> = &'a dyn Fn(&Sparse, &mut MatrixBuffer<f64>) -> hipsparse::Result<()>;
    let calls: [(&str, Call<'_>); 5] = [
        ("spmv of COO", &|sparse, y| sparse.spmv(1.5, &coo, &x, 0.0, y.buffer_mut().slice_mut(..N)?)),
        ("spmm", &|sparse, y| sparse.spmm(1.5, &csr, &b, 0.0, y)),
        ("bsrxmv", &|sparse, y| sparse.bsrxmv(&[1, 3, 7], 1.5, &blocks, &x, 0.0, y.buffer_mut().slice_mut(..N)?)),
        ("gtsv", &|sparse, y| sparse.gtsv(false, tridiagonal(), y)),
        ("gtsv with pivots", &|sparse, y| sparse.gtsv(true, tridiagonal(), y)),
    ];
    let start = || MatrixBuffer::from_buffer(b.buffer().try_clone().unwrap(), N, 4).unwrap();
    for (name, call) in calls {
        let [mut y, mut beside] = [start(), start()];
        call(&sparse, &mut y).unwrap();
        let want = y.to_vec().unwrap();
        y = start();
        // On two branches with one workspace.
        let graph = stream.capture(|_| {
            other.wait_event(&stream.record()?)?;
            call(&sparse, &mut y).expect(name);
            sparse.set_stream(&other).unwrap();
            call(&sparse, &mut beside).expect(name);
            sparse.set_stream(&stream).unwrap();
            stream.wait_event(&other.record()?)
        });
        let exec = graph.unwrap().instantiate().unwrap();
        assert_eq!(y.to_vec().unwrap(), b.to_vec().unwrap(), "{name}: nothing has run yet");
        // Memory that the call has freed is allocated for other data.
        let taken: Vec<_> =
            (0..16).map(|k| DeviceBuffer::from_slice(&device, &vec![f64::NAN; 32 << (k % 8)]).unwrap()).collect();
        sparse.geam(1.0, &larger, 1.0, &larger).unwrap();
        exec.launch(&stream).unwrap();
        // The call once more while the graph exists, with the graph's workspace.
        sparse.set_stream(&other).unwrap();
        let mut again = start();
        call(&sparse, &mut again).unwrap();
        sparse.set_stream(&stream).unwrap();
        assert_eq!(again.to_vec().unwrap(), want, "{name}, beside a graph");
        assert_eq!(y.to_vec().unwrap(), want, "{name}, by a graph");
        assert_eq!(beside.to_vec().unwrap(), want, "{name}, by the other branch");
        assert!(taken.iter().all(|other| other.to_vec().unwrap().iter().all(|x| x.is_nan())), "{name}: others' memory");
    }
}
