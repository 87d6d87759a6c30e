//! Kernel arguments.

use super::function::Argument;
use super::launch::LaunchArgs;
use super::usage::Usage;
use super::{CudaSlice, CudaStream, CudaView, CudaViewMut, DeviceRepr, PushKernelArg};

impl<'a> LaunchArgs<'a> {
    /// Adds the bytes of a value.
    pub(super) fn bytes<T>(&mut self, value: &'a T) -> &mut Self {
        self.arguments.push(Argument { bytes: std::ptr::from_ref(value).cast_mut().cast(), size: size_of::<T>() });
        self
    }

    fn is_ordered(&self, owner: &CudaStream) -> bool {
        self.stream.context().is_managing_stream_synchronization()
            || owner.context().is_managing_stream_synchronization()
    }

    fn reads(&mut self, usage: &'a Usage, owner: &CudaStream) {
        self.memory.push(usage);
        if self.is_ordered(owner) {
            self.waits.extend(&usage.write);
            self.records.extend(&usage.read);
        }
    }

    fn writes(&mut self, usage: &'a Usage, owner: &CudaStream) {
        self.memory.push(usage);
        if self.is_ordered(owner) {
            self.waits.extend(usage.before_write());
            self.records.extend(&usage.write);
        }
    }
}

// SAFETY: the value is borrowed for the lifetime of the launch.
unsafe impl<'a, 'b: 'a, T: DeviceRepr> PushKernelArg<&'b T> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b T) -> &mut Self {
        self.bytes(arg)
    }
}

// SAFETY: the slice is borrowed for the lifetime of the launch, and its use is ordered.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b CudaSlice<T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b CudaSlice<T>) -> &mut Self {
        self.reads(&arg.usage, &arg.stream);
        self.bytes(&arg.ptr)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b mut CudaSlice<T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b mut CudaSlice<T>) -> &mut Self {
        self.writes(&arg.usage, &arg.stream);
        self.bytes(&arg.ptr)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b CudaView<'c, T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b CudaView<'c, T>) -> &mut Self {
        self.reads(arg.usage, arg.stream);
        self.bytes(&arg.ptr)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b mut CudaViewMut<'c, T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b mut CudaViewMut<'c, T>) -> &mut Self {
        self.writes(arg.usage, arg.stream);
        self.bytes(&arg.ptr)
    }
}
