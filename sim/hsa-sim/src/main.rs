//! The command `hip-sim`: runs ROCm programs on the software GPU. See `hip-sim --help`.

#[cfg(target_os = "linux")]
mod cli;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    cli::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("hip-sim is for Linux");
}
