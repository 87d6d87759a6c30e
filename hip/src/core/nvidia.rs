//! NVIDIA's GPUs: the crate `hip-nvidia`, if it is built in.

#[cfg(feature = "nvidia")]
mod built_in {
    /// Replaces the HIP runtime by NVIDIA's driver.
    pub(crate) fn choose() -> Result<(), String> {
        hip_sys::set_provider(hip_nvidia::provider()).map_err(|error| error.to_string())
    }

    /// Returns whether the functions of HIP are those of NVIDIA's driver.
    pub(crate) fn is_in_use() -> bool {
        hip_sys::BINDING.provider_name() == Some(hip_nvidia::provider().name())
    }

    /// Returns why no device of NVIDIA's can be used, if so. Binds nothing.
    pub(crate) fn refusal() -> Option<String> {
        hip_nvidia::devices().err()
    }

    /// Returns the driver's description of this thread's last failed call.
    pub(crate) fn last_fault() -> Option<String> {
        if is_in_use() { hip_nvidia::last_fault() } else { None }
    }
}

#[cfg(not(feature = "nvidia"))]
mod built_in {
    pub(crate) fn is_in_use() -> bool {
        false
    }

    pub(crate) fn refusal() -> Option<String> {
        Some("this program was built without the feature `nvidia` of `hip`".to_owned())
    }

    pub(crate) fn last_fault() -> Option<String> {
        None
    }
}

pub(crate) use built_in::*;
