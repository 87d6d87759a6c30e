//! Dropped contexts are freed completely.

use rocm_llvm::llvm::Context;

use crate::support::{llvm, scratch};

/// Returns the resident memory of this process in KiB.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Runs in a separate process, since the other tests use memory too.
#[test]
fn ten_thousand_contexts_do_not_grow() {
    if llvm().is_none() || resident().is_none() {
        return;
    }
    if std::env::var_os("ROCM_LLVM_TEST_GROWTH").is_none() {
        let mut command = crate::libraries::again();
        command.args(["--exact", "growth::ten_thousand_contexts_do_not_grow", "--nocapture"]);
        let output = command.env("ROCM_LLVM_TEST_GROWTH", "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text.lines().filter(|line| line.contains("contexts: ")).for_each(skip_capture);
        return;
    }
    let make = |count: usize| {
        for at in 0..count {
            let context = Context::new().unwrap();
            let module = scratch(&context);
            let b = crate::support::builder(&module);
            let i = b.function().parameter(0).unwrap();
            b.ret(Some(b.add(i, context.i32().const_int(at as i128).unwrap(), "").unwrap())).unwrap();
            drop(b);
            let mut copy = context.parse_ir("copy.ll", module.to_string()).unwrap();
            copy.run_passes("instsimplify").unwrap();
            assert!(context.parse_ir("bad.ll", "define").is_err());
        }
    };
    // All of them with one LLVM; fewer if all tests are run again with others.
    let count = if crate::libraries::is_again() { 2000 } else { 10_000 };
    make(1000);
    let before = resident().unwrap();
    make(count);
    let after = resident().unwrap();
    println!("{count} contexts: {before} KiB before, {after} KiB after");
    // A context takes more than 10 KiB.
    let most = before + 4096.min(count as u64);
    assert!(after < most, "{before} KiB before, {after} KiB after {count} contexts");
}

fn skip_capture(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}
