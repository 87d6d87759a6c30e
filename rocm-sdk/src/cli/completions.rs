//! `rocm-sdk completions`

use std::process::ExitCode;

use clap_complete::Shell;

use super::output::{self, Outcome};

/// Print a shell's completion script for this command
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Completions {
    #[arg(value_enum)]
    shell: Shell,
}

const AFTER: &str = "\
Examples:
  rocm-sdk completions bash > ~/.local/share/bash-completion/completions/rocm-sdk
  rocm-sdk completions fish > ~/.config/fish/completions/rocm-sdk.fish
  rocm-sdk completions zsh > ~/.zfunc/_rocm-sdk";

impl Completions {
    /// Prints the script of `command`.
    pub(crate) fn run(&self, mut command: clap::Command) -> Outcome {
        // Written to memory first: the generator would panic if the reader closed the pipe.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "rocm-sdk", &mut script);
        output::bytes(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
