//! Captured calls, and the memory that calls share: failure numbers, workspaces.

use hip::DeviceBuffer;
use hipsolver::{Cause, Error, Jacobi, MatrixBuffer, Outcome};

use super::*;

const N: usize = 4;

/// 1 everywhere but on the diagonal.
fn with_diagonal(value: f64) -> Host {
    Host::from_fn(N, N, |i, j| if i == j { value } else { 1.0 }.into())
}

fn fill(matrix: &mut MatrixBuffer<f64>, host: &Host) {
    let elements: Vec<f64> = host.data.iter().map(|x| x.re).collect();
    matrix.buffer_mut().copy_from_slice(&elements).unwrap();
}

fn factorise<'a>(solver: &'a Solver, matrix: &mut MatrixBuffer<f64>) -> hipsolver::Result<Outcome<'a>> {
    solver.potrf(matrix.view_mut().lower().unwrap())
}

fn has_failed(result: hipsolver::Result<()>) -> bool {
    match result {
        Ok(()) => false,
        Err(Error::Numerical { cause: Cause::NotPositiveDefinite { .. }, .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

/// Each call has its own number that states whether a matrix was positive definite: a graph that is launched at the
/// same time writes another.
#[test]
fn a_graph_has_outcomes_of_its_own() {
    let Some((device, solver)) = solver() else { return };
    let (good, bad) = (with_diagonal(4.0), with_diagonal(-4.0));
    let (mut a, mut b) = (upload::<f64>(&device, &good), upload::<f64>(&device, &bad));
    assert!(!has_failed(factorise(&solver, &mut a).unwrap().wait()));
    let mut kept = None;
    let graph = solver.stream().capture(|_| {
        kept = Some(factorise(&solver, &mut a).expect("captured"));
        Ok(())
    });
    let (graph, of_graph) = (graph.unwrap().instantiate().unwrap(), kept.unwrap());
    assert!(!has_failed(of_graph.check()), "it was not launched yet");
    // The second time, the graph's outcome was dropped, and its number may not be the next call's.
    let mut of_graph = Some(of_graph);
    for round in 0..2 {
        for (in_graph, alone) in [(&good, &bad), (&bad, &good)] {
            fill(&mut a, in_graph);
            fill(&mut b, alone);
            let outcome = factorise(&solver, &mut b).unwrap();
            graph.launch(solver.stream()).unwrap();
            assert_eq!(has_failed(outcome.wait()), std::ptr::eq(alone, &bad), "round {round}");
            if let Some(of_graph) = &of_graph {
                assert_eq!(has_failed(of_graph.check()), std::ptr::eq(in_graph, &bad));
            }
        }
        of_graph = None;
    }
}

/// A call that waits for the device and fails in a capture adds nothing to the graph: the parameters of Jacobi's method
/// are destroyed with the solver.
#[test]
fn what_waits_is_refused_before_it_is_captured() {
    let Some((device, solver)) = solver() else { return };
    let mut a = upload::<f64>(&device, &with_diagonal(4.0));
    let mut values = DeviceBuffer::<f64>::zeroed(&device, N).unwrap();
    solver.syevj(false, Jacobi::default(), a.view_mut().lower().unwrap(), &mut values).unwrap().wait().unwrap();
    let graph = solver.stream().capture(|_| {
        let refused = solver.syevj(false, Jacobi::default(), a.view_mut().lower().unwrap(), &mut values).map(drop);
        assert!(refused.unwrap_err().to_string().contains("outside of the capture"));
        let refused = solver.syevd(false, a.view_mut().lower().unwrap(), &mut values).map(drop);
        assert!(refused.unwrap_err().to_string().contains("outside of the capture"));
        Ok(())
    });
    assert_eq!(graph.unwrap().nodes().unwrap().len(), 0);
}

/// The workspace of a captured call is not lent to other calls; the workspace of a dropped graph is not used by calls
/// without a workspace.
#[test]
fn a_graph_has_a_workspace_of_its_own() {
    let Some((device, solver)) = solver() else { return };
    let good = with_diagonal(4.0);
    let mut a = upload::<f64>(&device, &good);
    factorise(&solver, &mut a).unwrap().wait().unwrap();
    let factor = download(&a);
    let graph = solver.stream().capture(|_| {
        drop(factorise(&solver, &mut a).expect("captured"));
        Ok(())
    });
    let graph = graph.unwrap().instantiate().unwrap();
    // It needs no workspace, because it has 64-bit pivots.
    let solve = || {
        if lacks("hipsolverDnXgetrs") {
            return;
        }
        let mut lu = upload::<f64>(&device, &good);
        let mut pivots = hipsolver::Pivots::new_64(&device, N, N).unwrap();
        solver.getrf(lu.view_mut(), &mut pivots).unwrap().wait().unwrap();
        let mut x = upload::<f64>(&device, &Host::from_fn(N, 1, |_, _| 7.0.into()));
        solver.getrs(lu.view(), &pivots, x.view_mut()).unwrap().wait().unwrap();
        assert!(download(&x).data.iter().all(|x| (x.re - 1.0).abs() < 1e-12));
    };
    let (other, launches) = (Stream::new(&device).unwrap(), 20);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..launches).for_each(|_| graph.launch(&other).unwrap()));
        let bad = with_diagonal(-4.0);
        for round in 0..launches {
            let mut b = upload::<f64>(&device, if round % 2 == 0 { &good } else { &bad });
            assert_eq!(has_failed(factorise(&solver, &mut b).unwrap().wait()), round % 2 == 1, "round {round}");
            solve();
        }
    });
    fill(&mut a, &good);
    graph.launch(solver.stream()).unwrap();
    assert_eq!(download(&a).data, factor.data);
    drop(graph);
    solve();
}
