//! Inline PTX, which becomes C++.
//!
//! A statement `asm("add.u32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));` becomes a block that reads the operands,
//! calls a function of the prelude (`ptx.h`) for each instruction, and writes the operands. An instruction without a
//! translation becomes the call of a function that the compiler reports as an error, unless the call is optimised out.

mod block;
mod instructions;
mod memory;
mod statement;
mod table;
#[cfg(test)]
mod tests;

use super::lanes::tokens::tokens;
use statement::Statement;

/// The beginning of the names of functions whose calls are errors. A line and a column follow.
const REFUSAL: &str = "__cuda_compat_ptx_";

/// A statement of PTX that has no translation.
pub(super) struct Refused {
    /// The line, from 1.
    pub(super) line: usize,
    /// The column, from 1, in bytes.
    pub(super) column: usize,
    /// The reason, with the instruction's name.
    pub(super) why: String,
}

/// Returns the statements of PTX that have no translation.
pub(super) fn refused(source: &str) -> Vec<Refused> {
    let tokens = tokens(source);
    let found = Statement::all(source, &tokens).into_iter().filter_map(|statement| {
        let why = instructions::translate(&statement).err()?;
        Some(Refused { line: statement.line, column: statement.column, why })
    });
    found.collect()
}

/// Returns a program with C++ in the place of PTX. Lines stay the same.
pub(super) fn translated(source: &str) -> String {
    if !source.contains("asm") {
        return source.to_owned();
    }
    let tokens = tokens(source);
    let (mut result, mut done) = (String::with_capacity(source.len()), 0);
    for statement in Statement::all(source, &tokens) {
        let code = instructions::translate(&statement).unwrap_or_else(|why| {
            let name = format!("{REFUSAL}{}_{}", statement.line, statement.column);
            let why = why.replace('\\', "/").replace('"', "'");
            format!("__device__ void {name}() __attribute__((error(\"{why}\"))); {name}();")
        });
        result.push_str(&source[done..statement.range.start]);
        result += &format!("do {{ {code} }} while (0)");
        result.push_str(&lines(&source[statement.range.clone()]));
        done = statement.range.end;
    }
    result.push_str(&source[done..]);
    result
}

/// Returns the ends of lines of a text: each with the backslash that continues a macro.
fn lines(text: &str) -> String {
    let ends = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    ends.map(|line| if line.trim_end().ends_with('\\') { " \\\n" } else { "\n" }).collect()
}

/// Returns a log in which the calls that are errors are errors of the statements.
pub(super) fn explained(log: &str) -> String {
    let (mut result, mut is_ours) = (String::with_capacity(log.len()), false);
    for line in log.split_inclusive('\n') {
        let call = line.split_once("declared with 'error' attribute: ").and_then(|(head, why)| {
            let (_, place) = head.split_once(REFUSAL)?;
            let (place, _) = place.split_once("()")?;
            let (file, _) = head.split_once(": error: ")?;
            let file = file.rsplitn(3, ':').nth(2)?;
            Some(format!("{file}:{}: error: {why}", place.replace('_', ":")))
        });
        // The compiler shows the code of the call below.
        is_ours = match &call {
            Some(_) => true,
            None => is_ours && (line.starts_with(' ') || line.contains(REFUSAL)),
        };
        match call {
            Some(call) if result.contains(&call) => {}
            Some(call) => result.push_str(&call),
            None if is_ours => {}
            None => result.push_str(line),
        }
    }
    result
}
