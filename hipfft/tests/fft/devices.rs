//! Plans of two devices, and concurrent transforms on both.

use hip::{Device, DeviceBuffer, Stream};
use hipfft::{C2C, Complex32, Complex64, Error, Layout, MultiPlan, Normalized, Plan, Side, Unitary};

use crate::reference::{Number, assert_close, transform};
use linalg_testing::before;

fn two() -> Option<[Device; 2]> {
    super::device()?;
    if Device::count().unwrap() < 2 {
        linalg_testing::skipped(&"another device is not available");
        return None;
    }
    Some([0, 1].map(|index| Device::get(index).unwrap()))
}

#[test]
fn each_device_transforms_at_the_same_time() {
    let Some(devices) = two() else { return };
    let numbers: Vec<Complex32> = linalg_testing::Rng::new(1).numbers(16);
    let run = |device: Device| {
        let stream = Stream::new(&device).unwrap();
        let mut plan = Plan::<C2C<f32>, Normalized>::new(&stream, &Layout::new([16]).unwrap()).unwrap();
        let mut data = DeviceBuffer::from_slice(&device, &numbers).unwrap();
        plan.forward_in_place(&mut data).unwrap();
        data.to_vec().unwrap()
    };
    let [first, second] = std::thread::scope(|scope| {
        devices.map(|device| scope.spawn(move || run(device))).map(|thread| thread.join().unwrap())
    });
    assert!(first == second);
}

#[test]
fn two_devices_share_a_transform() {
    let Some(devices) = two() else { return };
    let lengths = [8, 16];
    let layout = Layout::new(lengths).unwrap();
    let plan = MultiPlan::<C2C<f32>, Unitary>::new(&devices, &layout);
    if before((6, 2)) {
        assert!(matches!(plan, Err(Error::NoSymbol { .. })), "{plan:?}");
        return;
    }
    let mut plan = plan.unwrap();
    assert_eq!((plan.devices(), plan.layout()), (&devices[..], &layout));
    let numbers: Vec<Complex32> = linalg_testing::Rng::new(1).numbers(128);
    let mut want: Vec<Complex64> = numbers.iter().map(|x| f32::wide_complex(*x)).collect();
    transform(&mut want, &lengths, false);
    want.iter_mut().for_each(|x| *x /= 128_f64.sqrt());
    let wide = |numbers: &[Complex32]| numbers.iter().map(|x| f32::wide_complex(*x)).collect::<Vec<_>>();
    let (mut input, mut output) = (plan.buffer(Side::Input).unwrap(), plan.buffer(Side::Output).unwrap());
    let mut found = vec![Complex32::ZERO; 128];
    input.copy_from_slice(&numbers).unwrap();
    plan.forward(&mut input, &mut output).unwrap();
    output.copy_to_slice(&mut found).unwrap();
    assert_close::<f32>("two devices", &wide(&found), &want, 128);
    // In place, there and back.
    let (mut data, mut copy) = (plan.buffer(Side::InPlace).unwrap(), plan.buffer(Side::InPlace).unwrap());
    data.copy_from_slice(&numbers).unwrap();
    plan.forward_in_place(&mut data).unwrap();
    data.copy_to_slice(&mut found).unwrap();
    assert_close::<f32>("two devices in place", &wide(&found), &want, 128);
    copy.copy_from(&data).unwrap();
    plan.inverse_in_place(&mut copy).unwrap();
    copy.copy_to_slice(&mut found).unwrap();
    assert_close::<f32>("there and back", &wide(&found), &wide(&numbers), 128 * 128);
    // Invalid arguments.
    assert!(input.copy_from_slice(&numbers[1..]).is_err() && output.copy_to_slice(&mut found[1..]).is_err());
    assert!(input.copy_to_slice(&mut found).is_err() && output.copy_from_slice(&numbers).is_err());
    assert!(copy.copy_from(&input).is_err());
    let error = plan.forward(&mut data, &mut output).unwrap_err();
    assert!(error.to_string().contains("memory for Input"), "{error}");
    let mut other = MultiPlan::<C2C<f32>, Unitary>::new(&devices, &layout).unwrap();
    let error = other.forward(&mut input, &mut output).unwrap_err();
    assert!(error.to_string().contains("another plan"), "{error}");
    drop(other);
    // The plan's memory keeps it.
    drop(plan);
    copy.copy_to_slice(&mut found).unwrap();
}
