//! A step: its name, what it does, and where.

use std::process::Command;

use anyhow::Result;

use super::lane::Lane;

/// A condition: satisfied, or the reason why the step cannot run here.
pub(super) type Ready = Box<dyn Fn() -> Result<(), String>>;
/// Work done in this process.
pub(super) type Call = Box<dyn FnOnce() -> Result<()>>;

/// The result of fetching something that the mirror may lack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// All of it.
    All,
    /// All but what these lines name.
    Without(Vec<String>),
    /// Nothing, for this reason.
    Nothing(String),
}

/// One step.
pub(crate) struct Step {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) ready: Ready,
    pub(super) work: Work,
    /// Its lane; `None` if it is in both.
    pub(super) lane: Option<Lane>,
    /// The packages whose suite it is, if any.
    suite: Option<Vec<String>>,
}

pub(super) enum Work {
    /// Each command is one check, unless it reports tests in libtest's format.
    Commands(Vec<Command>),
    /// One check; its error is a failure.
    Call(Call),
    /// One check, which is skipped or partly skipped if the mirror lacks something. It is retried once after an error.
    Fetch(Box<dyn FnMut() -> Result<Got>>),
}

impl Step {
    fn new(name: String, about: String, work: Work, lane: Option<Lane>) -> Self {
        Self { name, about, ready: Box::new(|| Ok(())), work, lane, suite: None }
    }

    /// Creates a step of commands.
    pub(crate) fn commands(name: impl Into<String>, about: impl Into<String>, commands: Vec<Command>) -> Self {
        Self::new(name.into(), about.into(), Work::Commands(commands), Some(Lane::Libraries))
    }

    /// Creates a step of one command.
    pub(crate) fn command(name: impl Into<String>, about: impl Into<String>, command: Command) -> Self {
        Self::commands(name, about, vec![command])
    }

    /// Creates a step that runs in this process.
    pub(crate) fn call(
        name: impl Into<String>,
        about: impl Into<String>,
        call: impl FnOnce() -> Result<()> + 'static,
    ) -> Self {
        Self::new(name.into(), about.into(), Work::Call(Box::new(call)), Some(Lane::Libraries))
    }

    /// Creates a step that fetches, in both lanes: parts that the mirror lacks are skipped and listed in the summary.
    /// It is tried twice, since networks sometimes fail.
    pub(crate) fn fetch(
        name: impl Into<String>,
        about: impl Into<String>,
        call: impl FnMut() -> Result<Got> + 'static,
    ) -> Self {
        Self::new(name.into(), about.into(), Work::Fetch(Box::new(call)), None)
    }

    /// Runs the step only if `ready` finds nothing missing. It is called when the step's turn comes.
    pub(crate) fn when(mut self, ready: impl Fn() -> Result<(), String> + 'static) -> Self {
        self.ready = Box::new(ready);
        self
    }

    /// Moves the step to the lane of the compiler.
    pub(crate) fn by_compiler(self) -> Self {
        Self { lane: Some(Lane::Compiler), ..self }
    }

    /// Puts the step into both lanes: other steps in each need it.
    pub(crate) fn in_both_lanes(self) -> Self {
        Self { lane: None, ..self }
    }

    /// Makes it the suite of these packages, or of folders of xtask: while they are unchanged, a sampled run leaves it
    /// out in most turns.
    pub(crate) fn suite_of(self, packages: &[&str]) -> Self {
        Self { suite: Some(packages.iter().map(|&name| name.to_owned()).collect()), ..self }
    }

    /// Returns the packages whose suite it is.
    pub(crate) fn suite(&self) -> Option<&[String]> {
        self.suite.as_deref()
    }

    /// Returns its commands; none if it runs in this process.
    pub(crate) fn commands_of(&self) -> &[Command] {
        match &self.work {
            Work::Commands(commands) => commands,
            Work::Call(_) | Work::Fetch(_) => &[],
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn about(&self) -> &str {
        &self.about
    }
}
