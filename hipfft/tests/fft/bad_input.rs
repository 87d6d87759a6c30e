//! Input that is rejected before the library call.

use hip::{DeviceBuffer, Stream};
use hipfft::{C2C, C2R, Complex32, Complex64, Error, Layout, MultiPlan, Normalized, Plan, R2C, Spacing};

use crate::device;
use crate::known::N;

#[track_caller]
pub(crate) fn refused<T>(result: hipfft::Result<T>, words: &str) {
    match result {
        Err(error @ (Error::Invalid { .. } | Error::Hip(hip::Error::InvalidValue { .. }))) => {
            assert!(error.to_string().contains(words), "{error}");
        }
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn lengths_of_memory_that_do_not_fit() {
    let Some((device, stream)) = device() else { return };
    let layout = Layout::new([N]).unwrap();
    let complex = |len| DeviceBuffer::<Complex32>::zeroed(&device, len).unwrap();
    let mut plan = Plan::<C2C<f32>>::new(&stream, &layout).unwrap();
    refused(plan.forward(&complex(N - 1), &mut complex(N)), "the length of the input is 15, but must be 16 or more");
    refused(plan.inverse(&complex(N), &mut complex(N - 1)), "the length of the output");
    refused(plan.forward_in_place(&mut complex(N - 1)), "the length of the data");
    refused(plan.inverse_in_place(&mut complex(0)), "the length of the data");
    plan.forward(&complex(N + 3), &mut complex(N + 1)).unwrap();
    let mut plan = Plan::<R2C<f32>>::new(&stream, &layout).unwrap();
    let real = |len| DeviceBuffer::<f32>::zeroed(&device, len).unwrap();
    refused(plan.forward(&real(N - 1), &mut complex(N)), "the length of the input");
    refused(plan.forward(&real(N), &mut complex(N / 2)), "must be 9 or more");
    refused(plan.forward_in_place(&mut complex(N / 2)), "must be 9 or more");
    let mut plan = Plan::<C2R<f32>>::new(&stream, &layout).unwrap();
    refused(plan.inverse(&mut complex(N / 2), &mut real(N)), "must be 9 or more");
    refused(plan.inverse(&mut complex(N / 2 + 1), &mut real(N - 1)), "the length of the output");
}

#[test]
fn layouts_that_are_none() {
    let Some((device, stream)) = device() else { return };
    refused(Layout::new([0]), "1 or more");
    refused(Layout::new([4, 0]), "1 or more");
    refused(Layout::new([4]).unwrap().batch(0), "1 or more");
    refused(Layout::new([usize::MAX, 3, 3]), "fewer bytes");
    refused(Layout::new([8]).unwrap().spaced(Spacing::new([8], 0, 8), Spacing::new([8], 1, 8)), "stride");
    // More than the device has: the library does not see it.
    let total = device.memory_info().unwrap().total as usize;
    refused(Plan::<C2C<f64>>::new(&stream, &Layout::new([total / 16 + 1]).unwrap()), "at most the device's memory");
    refused(
        Plan::<C2C<f32>>::new(&stream, &Layout::new([1 << 31]).unwrap().batch(1 << 20).unwrap()),
        "at most the device's memory",
    );
    refused(Layout::new([1 << 50]).unwrap().workspace_len::<C2C<f32>>(&device), "at most the device's memory");
    // Points in one place.
    let two = || Layout::new([8]).unwrap().batch(2).unwrap();
    let (good, close) = (Spacing::new([8], 1, 8), Spacing::new([8], 1, 4));
    refused(Plan::<C2C<f32>>::new(&stream, &two().spaced(good, close).unwrap()), "no two points have one place");
    refused(Plan::<C2R<f32>>::new(&stream, &two().spaced(close, good).unwrap()), "no two points have one place");
    // Not in one place.
    let layout = Layout::new([N]).unwrap().batch(2).unwrap();
    let spaced = layout.clone().spaced(Spacing::new([N], 2, 1), Spacing::new([N], 1, N)).unwrap();
    let mut plan = Plan::<C2C<f32>>::new(&stream, &spaced).unwrap();
    let mut data = DeviceBuffer::<Complex32>::zeroed(&device, 4 * N).unwrap();
    refused(plan.forward_in_place(&mut data), "the same for input and output");
}

#[test]
fn memory_that_overlaps_or_is_elsewhere() {
    let Some((device, stream)) = device() else { return };
    let mut plan = Plan::<C2C<f64>>::new(&stream, &Layout::new([N]).unwrap()).unwrap();
    let memory = DeviceBuffer::<Complex64>::zeroed(&device, 2 * N).unwrap();
    // The same memory a second time, as other code could pass it.
    // SAFETY: `memory` owns it and lives to the end of the test, and no call uses both.
    let mut again = unsafe { DeviceBuffer::from_raw_parts_with(&device, memory.as_device_ptr(), 2 * N, ()).unwrap() };
    refused(plan.forward(&memory, &mut again), "overlaps");
    refused(plan.forward(memory.slice(..N).unwrap(), again.slice_mut(1..).unwrap()), "overlaps");
    plan.set_stream(&Stream::new(&device).unwrap()).unwrap();
    if hip::Device::count().unwrap() < 2 {
        return linalg_testing::skipped(&"another device is not available");
    }
    let other = hip::Device::get(1).unwrap();
    assert!(plan.set_stream(&Stream::new(&other).unwrap()).is_err());
    let mut far = DeviceBuffer::<Complex64>::zeroed(&other, N).unwrap();
    let error = plan.forward_in_place(&mut far).unwrap_err();
    assert!(matches!(error, Error::Hip(hip::Error::WrongDevice { .. })), "{error}");
    refused(plan.set_workspace(DeviceBuffer::zeroed(&other, 1024).unwrap()), "the device of a workspace");
}

#[test]
fn devices_that_are_none() {
    let Some((device, _stream)) = device() else { return };
    let layout = Layout::new([N]).unwrap();
    refused(MultiPlan::<C2C<f32>>::new(&[device], &layout), "2 to 64 different ones");
    refused(MultiPlan::<C2C<f32>>::new(&[device, device], &layout), "2 to 64 different ones");
    refused(MultiPlan::<C2C<f32>, Normalized>::new(&[device], &layout), "new_forward");
}
