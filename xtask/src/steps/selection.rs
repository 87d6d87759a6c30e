//! The selection of the steps to run.

use anyhow::{Result, ensure};

use super::lane::Lane;
use super::step::Step;

/// The selected steps.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Selection {
    /// The steps of one of the two lanes that CI runs in parallel
    #[arg(long, value_enum)]
    lane: Option<Lane>,
    /// Skip the steps with this name; may be given several times
    #[arg(long, value_name = "STEP")]
    skip: Vec<String>,
    /// Show the steps instead of running them
    #[arg(long)]
    pub(crate) list: bool,
    /// Run the steps with one of these in their name
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
}

impl Selection {
    /// Returns the selected steps.
    ///
    /// # Errors
    /// If no step has the name, or contains one of the words.
    pub(super) fn of(&self, mut steps: Vec<Step>) -> Result<Vec<Step>> {
        let has = |found: &dyn Fn(&str) -> bool| steps.iter().any(|step| found(&step.name));
        for filter in &self.filters {
            ensure!(has(&|name| name.contains(filter)), "no step has `{filter}` in its name; --list shows them");
        }
        for skipped in &self.skip {
            ensure!(has(&|name| name == skipped), "no step is named `{skipped}`; --list shows them");
        }
        steps.retain(|step| self.has(step));
        Ok(steps)
    }

    fn has(&self, step: &Step) -> bool {
        let lane = self.lane.is_none() || step.lane.is_none() || step.lane == self.lane;
        let named = self.filters.is_empty() || self.filters.iter().any(|filter| step.name.contains(filter));
        lane && named && !self.skip.contains(&step.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<Step> {
        let step = |name: &str| Step::call(name, "", || Ok(()));
        vec![step("clippy").by_compiler(), step("fetch").in_both_lanes(), step("hsa 6.4"), step("hsa 7.2")]
    }

    fn names(selection: &Selection) -> Vec<String> {
        selection.of(steps()).unwrap().into_iter().map(|step| step.name).collect()
    }

    #[test]
    fn lanes_have_all_steps_between_them() {
        let of = |lane| Selection { lane, ..Selection::default() };
        assert_eq!(names(&of(Some(Lane::Compiler))), ["clippy", "fetch"]);
        assert_eq!(names(&of(Some(Lane::Libraries))), ["fetch", "hsa 6.4", "hsa 7.2"]);
        assert_eq!(names(&of(None)), ["clippy", "fetch", "hsa 6.4", "hsa 7.2"]);
    }

    #[test]
    fn steps_are_chosen_by_part_of_their_name_and_left_out_by_all_of_it() {
        let of = |filters: &[&str], skip: &[&str]| {
            let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
            Selection { filters: words(filters), skip: words(skip), ..Selection::default() }
        };
        assert_eq!(names(&of(&["hsa", "fetch"], &["hsa 6.4"])), ["fetch", "hsa 7.2"]);
        for (selection, word) in [(of(&["hsa", "has"], &[]), "`has`"), (of(&[], &["hsa"]), "`hsa`")] {
            let error = selection.of(steps()).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
