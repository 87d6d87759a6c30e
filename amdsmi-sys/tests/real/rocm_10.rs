// Tests of ROCm 10 only.

mod of_rocm_10 {
    use std::ffi::CStr;
    use std::path::Path;

    use super::*;

    /// Statuses of the headers for which the library has no text. One had another value before.
    const NAMELESS: [&str; 3] = ["AMDSMI_STATUS_TIMEOUT", "AMDSMI_STATUS_MORE_DATA", "AMDSMI_STATUS_MORE_DATA"];

    #[test]
    fn statuses_have_the_names_that_the_library_gives_them() {
        if run_in_child("of_rocm_10::statuses_have_the_names_that_the_library_gives_them") {
            return;
        }
        let (mut named, mut nameless) = (0, Vec::new());
        for value in (0..100).chain([u32::MAX - 1, u32::MAX]) {
            let status = amdsmi_status_t(value);
            let ours = format!("{status:?}");
            if ours.starts_with("amdsmi_status_t(") {
                continue;
            }
            named += 1;
            let mut theirs = std::ptr::null();
            // SAFETY: `theirs` is valid for the write, and is set to a static string.
            let (result, theirs) = unsafe {
                let result = amdsmi_status_code_to_string(status, &mut theirs);
                (result, CStr::from_ptr(theirs).to_str().unwrap())
            };
            match result {
                AMDSMI_STATUS_SUCCESS => assert_eq!(theirs.split(':').next(), Some(&*ours)),
                _ => {
                    assert_eq!((result, theirs), (AMDSMI_STATUS_UNKNOWN_ERROR, "An unknown error occurred"));
                    nameless.push(ours);
                }
            }
        }
        assert_eq!(nameless, NAMELESS);
        assert!(named > 40, "{named}");
    }

    #[test]
    fn without_a_gpu_it_says_so() {
        if run_in_child("of_rocm_10::without_a_gpu_it_says_so") {
            return;
        }
        let mut count = u32::MAX;
        // SAFETY: `count` is valid for the write, and null requests only the count.
        unsafe {
            assert_eq!(amdsmi_get_socket_handles(&mut count, std::ptr::null_mut()), AMDSMI_STATUS_NOT_INIT);
            let status = amdsmi_init(u64::from(AMDSMI_INIT_AMD_GPUS.0));
            if Path::new("/sys/module/amdgpu").exists() {
                println!("there is a driver: {status:?}");
            } else {
                assert_eq!(status, AMDSMI_STATUS_DRIVER_NOT_LOADED);
                assert_eq!(amdsmi_get_socket_handles(&mut count, std::ptr::null_mut()), AMDSMI_STATUS_NOT_INIT);
                assert_eq!(count, u32::MAX);
            }
        }
    }

    #[test]
    fn version_is_that_of_the_file() {
        if run_in_child("of_rocm_10::version_is_that_of_the_file") {
            return;
        }
        let mut version = amdsmi_version_t::default();
        // SAFETY: `version` is valid for the write, and its text is static.
        let text = unsafe {
            assert_eq!(amdsmi_get_lib_version(&mut version), AMDSMI_STATUS_SUCCESS);
            CStr::from_ptr(version.build).to_str().unwrap()
        };
        // The text follows the numbers in the struct: all are at C's offsets.
        let numbers = format!("{}.{}.{}", version.major, version.minor, version.release);
        assert_eq!(version.major, 27);
        assert!(text.contains(&numbers), "{text} {numbers}");
    }
}
