//! Random operations on several streams and threads, each checked against what the same operations do to a `Vec`.

use hip::{Device, DeviceBuffer, Kernel, LaunchConfig, Module, PinnedBuffer, Stream};

use crate::module;

const LEN: usize = 256;
const STEPS: usize = 300;

/// A small generator: the same operations in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

struct Player {
    random: Random,
    device: Device,
    add: Kernel,
    streams: Vec<Stream>,
    buffers: Vec<(DeviceBuffer<i32>, Vec<i32>)>,
    pinned: Vec<(PinnedBuffer<i32>, Vec<i32>)>,
}

impl Player {
    fn new(seed: u64, device: Device, add: Kernel, shared: &Stream) -> Self {
        let mut streams: Vec<Stream> = (0..3).map(|_| Stream::new(&device).unwrap()).collect();
        streams.push(shared.clone());
        let zeros = vec![0; LEN];
        let buffers = (0..3).map(|_| (DeviceBuffer::zeroed(&device, LEN).unwrap(), zeros.clone())).collect();
        let pinned = (0..2).map(|_| (PinnedBuffer::zeroed(&device, LEN).unwrap(), zeros.clone())).collect();
        Self { random: Random(seed), device, add, streams, buffers, pinned }
    }

    fn step(&mut self) {
        let r = &mut self.random;
        let which = r.below(self.streams.len());
        let (b, p) = (r.below(self.buffers.len()), r.below(self.pinned.len()));
        let value = r.below(1000) as i32;
        let start = r.below(LEN);
        let len = r.below(LEN - start + 1);
        let operation = r.below(12);
        let source = (b + 1) % self.buffers.len();
        let stream = &self.streams[which];
        let (pinned, on_host) = &mut self.pinned[p];
        match operation {
            // Twice as likely as the rest.
            0 | 1 => {
                let (buffer, model) = &mut self.buffers[b];
                let mut slice = buffer.slice_mut(start..start + len).unwrap();
                if len == 0 {
                    return;
                }
                let config = LaunchConfig::for_elements(len, 64);
                // SAFETY: `len` elements, and the kernel checks against it.
                unsafe { self.add.launch(stream, config, (&mut slice, value, len as u32)) }.unwrap();
                model[start..start + len].iter_mut().for_each(|x| *x += value);
            }
            2 => {
                let (buffer, model) = &mut self.buffers[b];
                buffer.slice_mut(start..start + len).unwrap().fill_async(stream, value).unwrap();
                model[start..start + len].fill(value);
            }
            3 => {
                let (buffer, model) = &mut self.buffers[b];
                buffer.copy_from_pinned_async(stream, &*pinned).unwrap();
                model.copy_from_slice(on_host);
            }
            4 => {
                let (buffer, model) = &self.buffers[b];
                buffer.copy_to_pinned_async(stream, &mut *pinned).unwrap();
                on_host.copy_from_slice(model);
            }
            5 => {
                let (from, from_model) = self.buffers.swap_remove(source);
                let at = if b == self.buffers.len() { source } else { b };
                let (to, to_model) = &mut self.buffers[at];
                let part = from.slice(start..start + len).unwrap();
                to.slice_mut(..len).unwrap().copy_from_device_async(stream, part).unwrap();
                to_model[..len].copy_from_slice(&from_model[start..start + len]);
                self.buffers.push((from, from_model));
            }
            6 => assert_eq!(pinned.as_slice().unwrap(), on_host),
            7 => {
                pinned.as_mut_slice().unwrap()[start..start + len].fill(value);
                on_host[start..start + len].fill(value);
            }
            8 => {
                let (buffer, model) = &self.buffers[b];
                assert_eq!(&buffer.slice(start..start + len).unwrap().to_vec().unwrap(), &model[start..start + len]);
            }
            9 => {
                let (buffer, model) = &mut self.buffers[b];
                model.fill(value);
                buffer.copy_from_slice(model).unwrap();
            }
            10 => {
                // Replaced while it may be in use.
                self.buffers[b] = (DeviceBuffer::zeroed(&self.device, LEN).unwrap(), vec![0; LEN]);
            }
            _ => {
                // The last is the shared one.
                let own = which % (self.streams.len() - 1);
                self.streams[own] = Stream::new(&self.device).unwrap();
            }
        }
    }

    fn check(&self) {
        for (buffer, model) in &self.buffers {
            assert_eq!(&buffer.to_vec().unwrap(), model);
        }
        for (pinned, model) in &self.pinned {
            assert_eq!(pinned.as_slice().unwrap(), model);
        }
    }
}

fn play(modules: &[Module], threads: u64) {
    let shared: Vec<Stream> = modules.iter().map(|module| Stream::new(&module.device()).unwrap()).collect();
    std::thread::scope(|scope| {
        for seed in 0..threads {
            let at = seed as usize % modules.len();
            let (module, shared) = (&modules[at], &shared[at]);
            scope.spawn(move || {
                let add = module.kernel("add_in_place").unwrap();
                let mut player = Player::new(seed, module.device(), add, shared);
                for _ in 0..STEPS {
                    player.step();
                }
                player.check();
            });
        }
    });
}

#[test]
fn random_work_on_streams_that_share_buffers() {
    let Some(module) = module() else { return };
    play(&[module], 4);
}

#[test]
fn random_work_on_two_devices() {
    if !crate::is_child() {
        crate::in_child("stress::random_work_on_two_devices", &[("HIP_SIM_DEVICES", "2")]);
        return;
    }
    crate::device().unwrap();
    let modules: Vec<Module> =
        Device::all().unwrap().iter().map(|device| Module::load(device, crate::KERNELS).unwrap()).collect();
    assert_eq!(modules.len(), 2);
    play(&modules, 4);
}
