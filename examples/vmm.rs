//! A buffer that grows in place: addresses for its maximum size, and memory that is mapped to them as needed.
//!
//! `cargo run --example vmm`

use hip::Stream;
use hip::memory::virtual_memory::{AddressRange, PhysicalMemory};
use rocm_examples::{Result, check, if_supported, open_device};

fn main() -> Result {
    let device = open_device()?;
    let Some(first) = if_supported(PhysicalMemory::new(&device, 1 << 16))? else { return Ok(()) };
    let piece = first.byte_len();
    let stream = Stream::new(&device)?;
    // Addresses cost nothing: reserve them for 64 pieces.
    let range = AddressRange::reserve(&device, 64 * piece)?;
    let mut pieces = vec![first];

    for round in 0..8u32 {
        // The address is the same each time, and the old content remains.
        let mut numbers = range.map::<u32>(0, &pieces.iter().collect::<Vec<_>>())?;
        let half = numbers.len() - piece / 4;
        numbers.slice_mut(half..)?.fill_async(&stream, round)?;
        println!("vmm: {:>4} KiB at {:#x}", numbers.byte_len() >> 10, numbers.as_device_ptr().address());
        drop(numbers); // unmapped when the fill is done
        pieces.push(PhysicalMemory::new(&device, piece)?);
    }

    let all = range.map::<u32>(0, &pieces.iter().collect::<Vec<_>>())?.to_vec()?;
    for round in 0..8 {
        let part = &all[round * piece / 4..(round + 1) * piece / 4];
        check(part.iter().all(|&number| number == round as u32), format_args!("piece {round}"))?;
    }
    println!("vmm: grew to {} pieces of {} KiB, and nothing was copied: all right", pieces.len(), piece >> 10);
    Ok(())
}
