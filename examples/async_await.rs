//! Work on the GPU in async functions, without an async runtime: any executor works, this one has twenty lines.
//!
//! `cargo run --example async_await`

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

use hip::{Device, DeviceBuffer, Kernel, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, open_device};

/// Returns the squares of the numbers up to `n`, halved.
async fn half_squares(device: &Device, kernels: (&Kernel, &Kernel), n: usize) -> hip::Result<Vec<f32>> {
    let stream = Stream::new(device)?;
    let mut squares = DeviceBuffer::<f32>::zeroed(device, n)?;
    let mut scaled = DeviceBuffer::<f32>::zeroed(device, n)?;
    let config = LaunchConfig::for_elements(n, 256);
    // SAFETY: both kernels check their index against n, which is the length of the buffers.
    unsafe {
        kernels.0.launch(&stream, config, (&mut squares, n as u32))?;
        kernels.1.launch(&stream, config, (&squares, &mut scaled, 0.5f32, n as u32))?;
    }
    // Other tasks can run on this thread while the GPU is busy.
    stream.completion()?.await?;
    scaled.to_vec()
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Unpark(thread::current())).into();
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn main() -> Result {
    let device = open_device()?;
    let module = kernels!("streams").load(&device)?;
    let (fill, scale) = (module.kernel("fill_squares")?, module.kernel("scale")?);

    let values = block_on(async {
        // One after the other; the `join` of an executor would run them concurrently.
        let first = half_squares(&device, (&fill, &scale), 1000);
        let second = half_squares(&device, (&fill, &scale), 2000);
        Ok::<_, hip::Error>((first.await?, second.await?))
    })?;
    check(values.0[10] == 50.0 && values.1[1999] == 1_998_000.5, "halved squares")?;
    println!("async_await: {} and {} values: all right", values.0.len(), values.1.len());
    Ok(())
}
