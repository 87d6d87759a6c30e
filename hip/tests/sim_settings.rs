//! The software GPU's settings come from the environment; an invalid value is an error that names it.
#![cfg(feature = "sim")]

use hip::Device;

#[test]
fn a_setting_that_makes_no_sense_is_named() {
    if std::env::var_os("HIP_SIM_MEMORY").is_none_or(|value| value != "plenty") {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_setting_that_makes_no_sense_is_named"])
            .envs([("HIP_RS_BACKEND", "sim"), ("HIP_SIM_MEMORY", "plenty")])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let text = Device::get(0).unwrap_err().to_string();
    assert!(text.contains("HIP_SIM_MEMORY") && text.contains("plenty"), "{text}");
}
