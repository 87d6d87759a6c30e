//! A program that was started with more rights than its user has must not trust the environment: tested with a real
//! set-uid program.
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};

use rocm_loader::{Origin, Reason, Search};
use support::STUB;

#[test]
fn a_real_set_uid_program_ignores_the_environment() {
    const TEST: &str = "a_real_set_uid_program_ignores_the_environment";
    const CHILD: &str = "ROCM_SDK_SET_UID_CHILD";
    if std::env::var_os(CHILD).is_some() {
        // SAFETY: it only reads the auxiliary vector.
        let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
        let report = Search::default().report(&STUB);
        let ours = |a: &&rocm_loader::Attempt| a.origin == Origin::Variable("ROCM_PATH");
        let failure = report.attempts().iter().find(ours).and_then(|a| a.failure.clone());
        assert_eq!(failure == Some(Reason::SetUid), secure, "{report}");
        println!("CHILD: secure {secure}");
        return;
    }
    let skipped = |why: &str| {
        let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
    };
    // SAFETY: it has no precondition.
    if unsafe { libc::geteuid() } != 0 {
        return skipped("only root can make a program that runs as somebody else");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    chown(&program, Some(65_534), None).unwrap();
    for (mode, wanted) in [(0o755, "CHILD: secure false"), (0o4755, "CHILD: secure true")] {
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        let mut command = std::process::Command::new(&program);
        command.args(["--exact", TEST, "--nocapture"]).env(CHILD, "1").env("ROCM_PATH", folder.path());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("CHILD: secure"), "{text}");
        if !text.contains(wanted) {
            return skipped("set-uid programs have no effect here");
        }
    }
}
