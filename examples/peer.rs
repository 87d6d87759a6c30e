//! Two devices: copies between them, and kernels on one that use the other's memory.
//!
//! `cargo run --example peer`, and without two GPUs `HIP_RS_BACKEND=sim HIP_SIM_DEVICES=2 cargo run --example peer`

use hip::{Device, DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, open_device};

fn main() -> Result {
    const LEN: usize = 10_000;
    let first = open_device()?;
    let Some(second) = Device::all()?.into_iter().find(|device| *device != first) else {
        println!("peer: there is one device only");
        return Ok(());
    };

    // A copy needs no peer access: the runtime chooses a path.
    let here = DeviceBuffer::from_slice(&first, &[5.0f32; LEN])?;
    let mut there = DeviceBuffer::<f32>::zeroed(&second, LEN)?;
    there.copy_from_device(&here)?;
    check(there.to_vec()? == [5.0; LEN], "the copy")?;

    if !first.can_access_peer(&second)? {
        println!("peer: copied {LEN} numbers; the devices cannot use each other's memory in place");
        return Ok(());
    }
    println!("peer: {:?} from the first to the second", first.link_to(&second)?);
    first.enable_peer_access(&second)?;
    let fill = kernels!("streams").load(&first)?.kernel("fill_squares")?;
    let stream = Stream::new(&first)?;
    // SAFETY: the kernel writes LEN elements and checks its index.
    unsafe { fill.launch(&stream, LaunchConfig::for_elements(LEN, 256), (&mut there, LEN as u32))? };
    check(there.slice(300..301)?.to_vec()? == [90_000.0], "300 squared, by the first device in the second's memory")?;
    println!("peer: the first device has written to the second's memory: all right");
    Ok(())
}
