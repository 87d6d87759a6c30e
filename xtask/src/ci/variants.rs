//! Counts how often each crate from the registry is compiled for the tests. Cargo compiles it again for each set of
//! features, which depends on the packages that a command names; `workspace-hack` prevents that.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::{capture, cargo};
use crate::steps::Step;

/// Maximum number of variants of one library: each further one also rebuilds everything that depends on it.
const MOST: usize = 1;

/// Checks that the commands of these steps do not build a library of the registry in more variants than [`MOST`].
///
/// # Errors
/// If one is, with its variants and what to do, or if cargo does not print its build plan.
pub(crate) fn check(steps: &[Step]) -> Result<()> {
    let mut asked = BTreeSet::new();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for command in steps.iter().flat_map(Step::commands_of) {
        let Some(mut command) = plan(command) else { continue };
        let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        if !asked.insert(words) {
            continue;
        }
        let graph = capture(&mut command)?;
        let graph: Value = serde_json::from_str(&graph).context("cargo's plan cannot be read")?;
        for (name, variant) in libraries(&graph) {
            found.entry(name).or_default().insert(variant);
        }
    }
    ensure!(asked.len() > 1 && !found.is_empty(), "no command of the tests builds anything");
    let most = found.values().map(BTreeSet::len).max().unwrap_or(0);
    println!("{} commands build {} libraries of the registry, in at most {most} variants", asked.len(), found.len());
    let many: Vec<String> = found
        .iter()
        .filter(|(_, variants)| variants.len() > MOST)
        .map(|(name, variants)| format!("{name}: {}", variants.iter().cloned().collect::<Vec<_>>().join("; ")))
        .collect();
    ensure!(
        many.is_empty(),
        "these are built in more than {MOST} variant, for their features differ:\n{}\n`cargo hakari generate` unifies them in workspace-hack",
        many.join("\n")
    );
    Ok(())
}

/// Returns a command that prints cargo's plan for a command that builds; `None` for other commands.
fn plan(command: &Command) -> Option<Command> {
    let is_cargo = command.get_program() == cargo().get_program();
    let words: Vec<_> = command.get_args().take_while(|word| *word != "--").collect();
    let builds = words.first().is_some_and(|task| *task == "test" || *task == "build");
    if !is_cargo || !builds {
        return None;
    }
    let mut plan = cargo();
    plan.args(words).args(["--unit-graph", "-Z", "unstable-options"]);
    // The build plan is not stable; its format is only used for this check.
    plan.env("RUSTC_BOOTSTRAP", "1");
    Some(plan)
}

/// Returns the libraries of the registry in a plan, each with the features and the profile that it is compiled with.
fn libraries(graph: &Value) -> Vec<(String, String)> {
    let units = graph["units"].as_array().into_iter().flatten();
    let units = units.filter(|unit| unit["mode"] == "build" && unit["target"]["kind"][0] == "lib");
    units
        .filter_map(|unit| {
            let package = unit["pkg_id"].as_str().filter(|id| id.starts_with("registry+"))?;
            let name = package.rsplit('#').next()?;
            let features: Vec<&str> = unit["features"].as_array()?.iter().filter_map(Value::as_str).collect();
            let profile = format!("opt-level {}", unit["profile"]["opt_level"].as_str().unwrap_or("?"));
            Some((name.to_owned(), format!("{profile}, features {}", features.join(" "))))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_of_cargo_that_build_are_planned() {
        let of = |words: &[&str]| {
            let mut command = cargo();
            command.args(words);
            plan(&command).map(|plan| plan.get_args().map(|word| word.to_string_lossy().into_owned()).collect())
        };
        let planned: Option<Vec<String>> = of(&["test", "-p", "hip", "--", "--skip", "x"]);
        let expected = ["test", "-p", "hip", "--unit-graph", "-Z", "unstable-options"].map(str::to_owned);
        assert_eq!(planned.as_deref(), Some(&expected[..]));
        assert!(of(&["fmt", "--check"]).is_none());
        assert!(plan(&Command::new("true")).is_none());
    }

    #[test]
    fn libraries_of_the_registry_are_read_from_a_plan() {
        let unit = |id: &str, kind: &str, features: &[&str]| {
            serde_json::json!({"pkg_id": id, "mode": "build", "target": {"kind": [kind]}, "features": features,
                "profile": {"opt_level": "0"}})
        };
        let graph = serde_json::json!({"units": [
            unit("registry+index#libc@0.2.1", "lib", &["std"]),
            unit("registry+index#libc@0.2.1", "custom-build", &["std"]),
            unit("path+file:///hip#0.1.0", "lib", &[]),
        ]});
        assert_eq!(libraries(&graph), [("libc@0.2.1".to_owned(), "opt-level 0, features std".to_owned())]);
    }
}
