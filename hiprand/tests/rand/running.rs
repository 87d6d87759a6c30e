//! Streams, threads, graphs, generators that are dropped.

use hip::{DeviceBuffer, Stream};
use hiprand::{Error, Generator, Pseudo};

use crate::{PSEUDO, device, filled, seeded};

#[test]
fn work_follows_the_stream_and_the_buffers_know_it() {
    let Some((device, stream)) = device() else { return };
    let other = Stream::new(&device).unwrap();
    let mut generator = seeded(&stream, Pseudo::Philox4x32_10, 3);
    let all: Vec<u32> = filled(&mut generator, 1 << 14, |generator, to| generator.generate(to));
    generator.set_seed(3).unwrap();
    let mut numbers = DeviceBuffer::<u32>::zeroed(&device, 1 << 10).unwrap();
    for (round, expected) in all.chunks(1 << 10).enumerate() {
        numbers.fill_async(if round % 3 == 0 { &other } else { &stream }, 0).unwrap();
        generator.set_stream(if round % 2 == 0 { &stream } else { &other }).unwrap();
        generator.generate(&mut numbers).unwrap();
        assert_eq!(numbers.to_vec().unwrap(), expected, "round {round}");
    }
}

/// The state of a generator in device memory is used by one call at a time, whatever their streams.
#[test]
fn a_generator_goes_on_across_streams() {
    let Some((device, stream)) = device() else { return };
    let other = Stream::new(&device).unwrap();
    for kind in [Pseudo::Xorwow, Pseudo::Mrg32k3a] {
        let mut expected = Vec::new();
        let mut generator = seeded(&stream, kind, 8);
        for _ in 0..6 {
            expected.push(filled::<_, u32>(&mut generator, 3000, |generator, to| generator.generate(to)));
        }
        generator.set_seed(8).unwrap();
        let mut parts: Vec<_> = (0..6).map(|_| DeviceBuffer::<u32>::zeroed(&device, 3000).unwrap()).collect();
        for (round, part) in parts.iter_mut().enumerate() {
            generator.set_stream(if round % 2 == 0 { &stream } else { &other }).unwrap();
            generator.generate(part).unwrap();
        }
        let found: Vec<_> = parts.iter().map(|part| part.to_vec().unwrap()).collect();
        assert!(found == expected, "{kind:?}");
    }
}

/// While the stream is held, the library has not filled a table yet: λ may differ from that of its last call.
#[test]
fn each_call_has_the_tables_of_its_lambda() {
    let Some((device, stream)) = device() else { return };
    let lambdas = [1.0, 50.0, 1.0, 1.0, 200.0, 50.0];
    let mut generator = seeded(&stream, Pseudo::Philox4x32_10, 12);
    let mut parts: Vec<_> = lambdas.iter().map(|_| DeviceBuffer::<u32>::zeroed(&device, 2000).unwrap()).collect();
    generator.prepare().unwrap();
    // Calls are likely to come while it is held, and wait for it if they must. The tables are right whenever they come.
    stream.launch_host_function(|| std::thread::sleep(std::time::Duration::from_millis(30))).unwrap();
    for (part, lambda) in parts.iter_mut().zip(lambdas) {
        generator.poisson(part, lambda).unwrap();
    }
    for (part, lambda) in parts.iter().zip(lambdas) {
        let mean = part.to_vec().unwrap().iter().map(|count| f64::from(*count)).sum::<f64>() / 2000.0;
        assert!((mean - lambda).abs() < 6.0 * (lambda / 2000.0).sqrt(), "{lambda}: {mean}");
    }
}

#[test]
fn a_generator_outlives_its_work() {
    let Some((device, stream)) = device() else { return };
    for kind in PSEUDO {
        let expected: Vec<u32> = filled(&mut seeded(&stream, kind, 77), 500, |generator, to| generator.generate(to));
        let mut numbers = DeviceBuffer::<u32>::zeroed(&device, 500).unwrap();
        let mut generator = seeded(&stream, kind, 77);
        generator.prepare().unwrap();
        let (go, held) = std::sync::mpsc::channel::<()>();
        stream.launch_host_function(move || held.recv().unwrap()).unwrap();
        generator.generate(&mut numbers).unwrap();
        drop(generator);
        go.send(()).unwrap();
        assert_eq!(numbers.to_vec().unwrap(), expected, "{kind:?}");
    }
}

#[test]
fn memory_is_dropped_while_it_is_filled() {
    let Some((device, stream)) = device() else { return };
    let mut generator = seeded(&stream, Pseudo::Xorwow, 77);
    for round in 0..20 {
        let mut numbers = DeviceBuffer::<u32>::zeroed(&device, 5000).unwrap();
        generator.generate(&mut numbers).unwrap();
        drop(numbers);
        // The next owner of the memory only has its own data.
        let next = DeviceBuffer::<u32>::zeroed(&device, 5000).unwrap();
        assert_eq!(next.to_vec().unwrap(), [0; 5000], "round {round}");
    }
}

#[test]
fn generators_move_between_threads() {
    let Some((device, _stream)) = device() else { return };
    let expected: Vec<u32> = {
        let stream = Stream::new(&device).unwrap();
        filled(&mut seeded(&stream, Pseudo::Mrg32k3a, 5), 3000, |generator, to| generator.generate(to))
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = Stream::new(&device).unwrap();
                let mut generator = seeded(&stream, Pseudo::Mrg32k3a, 5);
                let numbers: Vec<u32> = std::thread::scope(|inner| {
                    inner
                        .spawn(move || filled(&mut generator, 3000, |generator, to| generator.generate(to)))
                        .join()
                        .unwrap()
                });
                assert!(numbers == expected);
            });
        }
    });
}

#[test]
fn calls_are_captured_in_graphs() {
    let Some((device, stream)) = device() else { return };
    let mut generator = seeded(&stream, Pseudo::Philox4x32_10, 6);
    let mut numbers = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut counts = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    // Its code is loaded, and its tables are made.
    generator.generate(&mut numbers).unwrap();
    generator.poisson(&mut counts, 9.0).unwrap();
    let expected: Vec<u32> = filled(&mut generator, 64, |generator, to| generator.generate(to));
    generator.set_seed(6).unwrap();
    // Not ready: making the state waits.
    let refused = stream.capture(|_| {
        let error = generator.generate(&mut numbers).unwrap_err();
        assert!(matches!(error, Error::Hip(hip::Error::Capture { .. })), "{error}");
        Ok(())
    });
    drop(refused);
    generator.generate(&mut numbers).unwrap();
    generator.poisson(&mut counts, 9.0).unwrap();
    numbers.fill(0).unwrap();
    counts.fill(0).unwrap();
    let captured = stream.capture(|_| {
        generator.generate(&mut numbers).expect("captured");
        let error = generator.poisson(&mut counts, 10.0).expect_err("other tables");
        assert!(matches!(error, Error::Hip(hip::Error::Capture { .. })), "{error}");
        Ok(())
    });
    let graph = captured.unwrap().instantiate().unwrap();
    drop(generator); // the graph keeps it
    assert_eq!(numbers.to_vec().unwrap(), [0; 64]);
    for _ in 0..3 {
        numbers.fill(0).unwrap();
        graph.launch(&stream).unwrap();
        assert_eq!(numbers.to_vec().unwrap(), expected);
    }
}

/// A seed that is set while work is queued is the next call's, not that work's.
#[test]
fn settings_are_for_the_calls_to_come() {
    let Some((device, stream)) = device() else { return };
    for kind in PSEUDO {
        let with =
            |seed| filled::<_, u32>(&mut seeded(&stream, kind, seed), 300, |generator, to| generator.generate(to));
        let expected = [with(1), with(2)];
        let mut parts = [1, 2].map(|_| DeviceBuffer::<u32>::zeroed(&device, 300).unwrap());
        let mut generator = Generator::new(&stream, kind).unwrap();
        for (seed, part) in [1, 2].into_iter().zip(&mut parts) {
            generator.set_seed(seed).unwrap();
            generator.generate(part).unwrap();
        }
        assert!(parts.each_ref().map(|part| part.to_vec().unwrap()) == expected, "{kind:?}");
    }
}

fn mean(counts: &[u32]) -> f64 {
    counts.iter().map(|count| f64::from(*count)).sum::<f64>() / counts.len() as f64
}

/// Captures a graph of one call that fills `numbers`, and returns the numbers that a launch writes.
fn graph_of<K: hiprand::Kind>(
    generator: &mut Generator<K>,
    numbers: &mut DeviceBuffer<u32>,
    fill: impl Fn(&mut Generator<K>, &mut DeviceBuffer<u32>) -> hiprand::Result<()>,
) -> hip::GraphExec {
    fill(generator, numbers).unwrap(); // its code is loaded
    let stream = generator.stream().clone();
    let graph = stream.capture(|_| {
        fill(generator, numbers).expect("captured");
        Ok(())
    });
    graph.unwrap().instantiate().unwrap()
}

/// A restart of the sequence makes the library free the generator's state, but not the state that a graph uses.
#[test]
fn a_graph_keeps_the_state_that_it_was_captured_with() {
    let Some((device, stream)) = device() else { return };
    let fill = |generator: &mut Generator, to: &mut DeviceBuffer<u32>| generator.generate(to);
    let launches = |graph: &hip::GraphExec, numbers: &DeviceBuffer<u32>| {
        graph.launch(&stream).unwrap();
        numbers.to_vec().unwrap()
    };
    // The state of MTGP32 is small. Building that of XORWOW takes seconds on the software GPU, so it is built only as often as needed.
    let mut twin = seeded(&stream, Pseudo::Mtgp32, 9);
    let mut numbers = DeviceBuffer::<u32>::zeroed(&device, 3000).unwrap();
    let graph = graph_of(&mut twin, &mut numbers, fill);
    let expected = [(); 2].map(|()| launches(&graph, &numbers));
    drop((graph, twin));
    for (kind, by_seed) in [(Pseudo::Mtgp32, true), (Pseudo::Xorwow, false)] {
        let change = |generator: &mut Generator| match by_seed {
            true => generator.set_seed(2).unwrap(),
            false => generator.set_offset(1000).unwrap(),
        };
        let is_small = kind == Pseudo::Mtgp32;
        let mut generator = seeded(&stream, kind, 9);
        let graph = graph_of(&mut generator, &mut numbers, fill);
        let first = launches(&graph, &numbers);
        change(&mut generator);
        let after: Vec<u32> = filled(&mut generator, 3000, |generator, to| generator.generate(to));
        let victims: Vec<_> =
            (12..22).map(|size| DeviceBuffer::from_slice(&device, &vec![7_u8; 1 << size]).unwrap()).collect();
        let second = launches(&graph, &numbers);
        assert!(second != first && (!is_small || [first, second] == expected), "{kind:?}: the graph goes on");
        let whole = |victim: &DeviceBuffer<u8>| victim.to_vec().unwrap().iter().all(|byte| *byte == 7);
        assert!(victims.iter().all(whole), "{kind:?}: memory of others was written");
        drop(graph);
        if is_small {
            change(&mut generator);
            let again: Vec<u32> = filled(&mut generator, 3000, |generator, to| generator.generate(to));
            assert!(after == again, "{kind:?}: the sequence starts again, with a graph as without");
        }
    }
}

#[test]
fn a_graph_keeps_the_dimensions_that_it_was_captured_with() {
    let Some((device, stream)) = device() else { return };
    let mut generator = Generator::new(&stream, hiprand::Quasi::Sobol32).unwrap();
    generator.set_dimensions(3).unwrap();
    let mut numbers = DeviceBuffer::<u32>::zeroed(&device, 3000).unwrap();
    let graph = graph_of(&mut generator, &mut numbers, |generator, to| generator.generate(to));
    graph.launch(&stream).unwrap();
    let first = numbers.to_vec().unwrap();
    generator.set_dimensions(1000).unwrap();
    let mut other = DeviceBuffer::<u32>::zeroed(&device, 3000).unwrap();
    generator.generate(&mut other).unwrap();
    drop(generator);
    graph.launch(&stream).unwrap();
    let second = numbers.to_vec().unwrap();
    // The numbers that the captured call would have generated: the position in the sequence is part of the capture.
    let mut alone = Generator::new(&stream, hiprand::Quasi::Sobol32).unwrap();
    alone.set_dimensions(3).unwrap();
    alone.generate(&mut other).unwrap();
    alone.generate(&mut other).unwrap();
    let expected = other.to_vec().unwrap();
    assert!(first == expected && second == expected);
}

/// The tables of a Poisson distribution are the generator's: another λ would change those of a graph.
#[test]
fn a_graph_keeps_the_tables_of_its_lambda() {
    let Some((device, stream)) = device() else { return };
    for kind in [Pseudo::Philox4x32_10, Pseudo::Xorwow] {
        let mut generator = seeded(&stream, kind, 5);
        let mut counts = DeviceBuffer::<u32>::zeroed(&device, 4096).unwrap();
        let graph = graph_of(&mut generator, &mut counts, |generator, to| generator.poisson(to, 10.0));
        let mut other = DeviceBuffer::<u32>::zeroed(&device, 4096).unwrap();
        for lambda in [1000.0, 200.0, 3.0] {
            match generator.poisson(&mut other, lambda) {
                Err(Error::Hip(hip::Error::Graph { reason })) => assert!(reason.contains("λ 10"), "{reason}"),
                result => panic!("{result:?}"),
            }
            graph.launch(&stream).unwrap();
            assert!((mean(&counts.to_vec().unwrap()) - 10.0).abs() < 0.5, "{kind:?}");
            generator.poisson(&mut other, 10.0).unwrap();
            assert!((mean(&other.to_vec().unwrap()) - 10.0).abs() < 0.5, "{kind:?}");
        }
        // Other numbers need no tables, and after a new seed the generator has new tables.
        generator.generate(&mut other).unwrap();
        generator.set_seed(6).unwrap();
        generator.poisson(&mut other, 1000.0).unwrap();
        assert!((mean(&other.to_vec().unwrap()) - 1000.0).abs() < 10.0, "{kind:?}");
        graph.launch(&stream).unwrap();
        assert!((mean(&counts.to_vec().unwrap()) - 10.0).abs() < 0.5, "{kind:?}");
        drop(graph);
        generator.poisson(&mut other, 3.0).unwrap();
        assert!((mean(&other.to_vec().unwrap()) - 3.0).abs() < 0.3, "{kind:?}");
    }
}

/// A clone, an executable graph and a parent keep the state after the captured graph is dropped.
#[test]
fn clones_and_parents_of_a_graph_keep_the_state() {
    let Some((device, stream)) = device() else { return };
    let mut numbers = DeviceBuffer::<u32>::zeroed(&device, 3000).unwrap();
    let mut generator = seeded(&stream, Pseudo::Mtgp32, 5);
    let alone = graph_of(&mut generator, &mut numbers, |generator, to| generator.generate(to));
    let expected = [(); 4].map(|()| {
        alone.launch(&stream).unwrap();
        numbers.to_vec().unwrap()
    });
    generator.set_seed(5).unwrap();
    generator.generate(&mut numbers).unwrap();
    let graph = stream.capture(|_| {
        generator.generate(&mut numbers).expect("captured");
        Ok(())
    });
    let graph = graph.unwrap();
    let clone = graph.try_clone().unwrap();
    let mut parent = hip::Graph::new(&device).unwrap();
    parent.add_child(&[], &graph).unwrap();
    drop(graph);
    let execs = [clone.instantiate().unwrap(), parent.instantiate().unwrap()];
    drop((clone, parent));
    for seed in [1, 2] {
        generator.set_seed(seed).unwrap();
        let found: Vec<u32> = filled(&mut generator, 3000, |generator, to| generator.generate(to));
        let mut fresh = seeded(&stream, Pseudo::Mtgp32, seed);
        assert!(found == filled::<_, u32>(&mut fresh, 3000, |generator, to| generator.generate(to)));
    }
    drop(generator);
    for (expected, exec) in expected.iter().zip(execs.iter().chain(&execs)) {
        exec.launch(&stream).unwrap();
        assert!(numbers.to_vec().unwrap() == *expected);
    }
}

/// A capture in progress uses the state, too: it is kept when the generator restarts on another stream.
#[test]
fn a_capture_under_way_keeps_the_state() {
    let Some((device, stream)) = device() else { return };
    let other = Stream::new(&device).unwrap();
    let mut generator = seeded(&stream, Pseudo::Mtgp32, 5);
    let first: Vec<u32> = filled(&mut generator, 3000, |generator, to| generator.generate(to));
    generator.set_seed(5).unwrap();
    generator.prepare().unwrap();
    let mut numbers = DeviceBuffer::<u32>::zeroed(&device, 3000).unwrap();
    let graph = stream.capture(|_| {
        generator.generate(&mut numbers).expect("captured");
        generator.set_stream(&other).expect("of the same device");
        let error = generator.set_seed(6).unwrap_err();
        assert!(matches!(error, Error::Hip(hip::Error::Capture { .. })), "{error}");
        Ok(())
    });
    let exec = graph.unwrap().instantiate().unwrap();
    generator.set_seed(6).unwrap();
    let found: Vec<u32> = filled(&mut generator, 3000, |generator, to| generator.generate(to));
    let mut fresh = seeded(&stream, Pseudo::Mtgp32, 6);
    assert!(found == filled::<_, u32>(&mut fresh, 3000, |generator, to| generator.generate(to)));
    exec.launch(&stream).unwrap();
    assert!(numbers.to_vec().unwrap() == first);
}
