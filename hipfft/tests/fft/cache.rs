//! Plans that are kept.

use hip::{DeviceBuffer, Stream};
use hipfft::{C2C, Complex32, Layout, Plan, PlanCache, R2C, Unitary, Unnormalized};

use crate::device;

#[test]
fn plans_are_made_once_and_the_oldest_goes() {
    let Some((device, stream)) = device() else { return };
    let mut cache = PlanCache::new(&stream, 2);
    assert!(cache.is_empty());
    let layouts = [16, 37, 64].map(|n| Layout::new([n]).unwrap());
    let numbers: Vec<Complex32> = linalg_testing::Rng::new(9).numbers(64);
    let from = DeviceBuffer::from_slice(&device, &numbers).unwrap();
    let mut to = DeviceBuffer::<Complex32>::zeroed(&device, 64).unwrap();
    let mut expected = Vec::new();
    for layout in &layouts {
        let mut to = DeviceBuffer::<Complex32>::zeroed(&device, 64).unwrap();
        Plan::<C2C<f32>, Unitary>::new(&stream, layout).unwrap().forward(&from, &mut to).unwrap();
        expected.push(to.to_vec().unwrap());
    }
    for (round, (which, hits)) in
        [(0, 0), (1, 0), (0, 1), (1, 2), (2, 2), (1, 3), (0, 3), (1, 4)].into_iter().enumerate()
    {
        to.fill(Complex32::ZERO).unwrap();
        cache.run::<C2C<f32>, Unitary>(&layouts[which], |plan| plan.forward(&from, &mut to)).unwrap();
        assert_eq!((cache.hits(), cache.len()), (hits, (round + 1).min(2)), "round {round}");
        assert!(to.to_vec().unwrap() == expected[which], "round {round}");
    }
    // Another type is another plan.
    let mut real = DeviceBuffer::<f32>::zeroed(&device, 16).unwrap();
    real.fill(1.0).unwrap();
    cache.run::<R2C<f32>, Unnormalized>(&layouts[0], |plan| plan.forward(&real, &mut to)).unwrap();
    assert_eq!((cache.hits(), to.to_vec().unwrap()[0].re), (4, 16.0));
    // An error leaves it as it is.
    let error = cache.run::<R2C<f32>, Unnormalized>(&layouts[0], |plan| plan.forward(real.slice(..3)?, &mut to));
    assert!(error.is_err() && cache.hits() == 5);
    cache.run::<R2C<f32>, Unnormalized>(&layouts[0], |plan| plan.forward(&real, &mut to)).unwrap();
    cache.clear();
    assert!(cache.is_empty());
    assert_eq!(cache.stream(), &stream);
    let _ = Stream::new(&device).unwrap();
}

/// One workspace for all, on one stream: work of one plan is over before that of the next begins.
#[test]
fn a_workspace_is_shared_in_order() {
    let Some((device, stream)) = device() else { return };
    let mut cache = PlanCache::new(&stream, 4);
    // Both convolve, which takes a workspace.
    let layouts = [37, 41].map(|n| Layout::new([n]).unwrap());
    let numbers: Vec<Complex32> = linalg_testing::Rng::new(9).numbers(41);
    let from = DeviceBuffer::from_slice(&device, &numbers).unwrap();
    let mut results: Vec<_> = (0..6).map(|_| DeviceBuffer::<Complex32>::zeroed(&device, 41).unwrap()).collect();
    for (at, to) in results.iter_mut().enumerate() {
        cache.run::<C2C<f32>, Unnormalized>(&layouts[at % 2], |plan| plan.forward(&from, to)).unwrap();
    }
    let found: Vec<_> = results.iter().map(|to| to.to_vec().unwrap()).collect();
    assert!(found[0] == found[2] && found[2] == found[4] && found[1] == found[3] && found[3] == found[5]);
    assert!(found[0] != found[1] && found[0][..37].iter().all(|x| x.norm() > 0.0));
}

/// A graph uses its workspace and its plan exclusively: the cache does not reuse the workspace, and may drop the plan.
#[test]
fn a_graph_outlives_the_plans_of_the_cache() {
    let Some((device, stream)) = device() else { return };
    let other = hip::Stream::new(&device).unwrap();
    let mut cache = PlanCache::new(&stream, 1);
    // Both convolve, which takes a workspace.
    let [captured, after] = [37, 41].map(|n| Layout::new([n]).unwrap());
    let from = DeviceBuffer::from_slice(&device, &linalg_testing::Rng::new(9).numbers::<Complex32>(41)).unwrap();
    let [mut to, mut beside] = [0; 2].map(|_| DeviceBuffer::<Complex32>::zeroed(&device, 41).unwrap());
    cache.run::<C2C<f32>, Unnormalized>(&captured, |plan| plan.forward(&from, &mut to)).unwrap();
    let expected = to.to_vec().unwrap();
    let graph = stream.capture(|_| {
        cache.run::<C2C<f32>, Unnormalized>(&captured, |plan| plan.forward(&from, &mut to)).expect("captured");
        Ok(())
    });
    let graph = graph.unwrap().instantiate().unwrap();
    cache.run::<C2C<f32>, Unnormalized>(&after, |plan| plan.forward(&from, &mut beside)).unwrap();
    let expected_beside = beside.to_vec().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..10).for_each(|_| graph.launch(&other).unwrap()));
        for _ in 0..10 {
            cache.run::<C2C<f32>, Unnormalized>(&after, |plan| plan.forward(&from, &mut beside)).unwrap();
            assert!(beside.to_vec().unwrap() == expected_beside);
        }
    });
    cache.clear();
    drop(cache);
    to.fill(Complex32::ZERO).unwrap();
    graph.launch(&stream).unwrap();
    assert!(to.to_vec().unwrap() == expected);
}

/// A closure has the plan that was asked for, on the cache's stream, whatever another closure did with its own.
#[test]
fn a_closure_leaves_no_other_plan() {
    let Some((device, stream)) = device() else { return };
    let mut others = PlanCache::new(&Stream::new(&device).unwrap(), 4);
    let mut cache = PlanCache::new(&stream, 4);
    let [eight, four] = [8, 4].map(|n| Layout::new([n]).unwrap());
    let mut impulse = vec![Complex32::ZERO; 8];
    impulse[0].re = 1.0;
    let input = DeviceBuffer::from_slice(&device, &impulse).unwrap();
    let mut out = DeviceBuffer::from_slice(&device, &[Complex32::new(-1.0, 0.0); 8]).unwrap();
    cache
        .run::<C2C<f32>, Unnormalized>(&eight, |plan| {
            others.run::<C2C<f32>, Unnormalized>(&four, |other| {
                assert_eq!((plan.layout().points(), other.layout().points()), (8, 4));
                other.forward(input.slice(..4)?, out.slice_mut(..4)?)
            })
        })
        .unwrap();
    for _ in 0..2 {
        out.fill(Complex32::ZERO).unwrap();
        cache
            .run::<C2C<f32>, Unnormalized>(&eight, |plan| {
                assert!(*plan.layout() == eight && *plan.stream() == stream);
                plan.forward(&input, &mut out)
            })
            .unwrap();
        assert_eq!(out.to_vec().unwrap(), [Complex32::new(1.0, 0.0); 8]);
    }
}
