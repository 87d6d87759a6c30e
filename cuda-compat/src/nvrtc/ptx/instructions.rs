//! Instructions of PTX, as calls of the functions in `ptx.h`.

use std::collections::HashMap;

use super::block::{Block, SPACE, cpp, is_type, list, not_supported};
use super::statement::Statement;
use super::{memory, table};

/// The C++ of a statement, or the reason that it has no translation.
pub(super) fn translate(statement: &Statement) -> Result<String, String> {
    let text = statement.text.as_ref().map_err(Clone::clone)?;
    let mut block = Block::new(&statement.outputs, &statement.inputs)?;
    for line in lines(text) {
        match line {
            Line::Open => {
                block.scopes.push(HashMap::new());
                block.code.push_str("{ ");
            }
            Line::Close => {
                block.scopes.pop();
                block.code.push_str("} ");
            }
            Line::Instruction(text) => block.line(&text)?,
        }
    }
    Ok(format!("{}{}{}", block.before, block.code, block.after))
}

enum Line {
    Open,
    Close,
    Instruction(String),
}

/// Splits PTX into scopes and instructions. Comments are left out.
fn lines(text: &str) -> Vec<Line> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '/' if rest.starts_with("//") => length = rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => length = rest.find("*/").map_or(rest.len(), |end| end + 2),
            '{' if line.trim().is_empty() => lines.push(Line::Open),
            '}' if line.trim().is_empty() => lines.push(Line::Close),
            ';' => lines.push(Line::Instruction(std::mem::take(&mut line))),
            _ => line.push(first),
        }
        rest = &rest[length..];
    }
    lines.push(Line::Instruction(line));
    lines.retain(|line| !matches!(line, Line::Instruction(text) if text.trim().is_empty()));
    lines
}

impl Block {
    fn line(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim();
        if let Some(declared) = text.strip_prefix(".reg") {
            return self.declare(declared);
        }
        let (guard, text) = match text.strip_prefix('@') {
            Some(rest) => {
                let (guard, rest) = rest.split_once(char::is_whitespace).ok_or_else(|| not_supported(text))?;
                (Some(guard), rest.trim())
            }
            None => (None, text),
        };
        let (name, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if name.ends_with(':') || name == "bra" || name.starts_with("bra.") {
            return Err(format!("the PTX instruction {name} is not supported: labels are not"));
        }
        let operands = split(operands);
        if let Some(guard) = guard {
            let condition = self.read(guard, "pred")?;
            self.code += &format!("if ({condition}) {{ ");
        }
        self.instruction(name, &operands)?;
        if guard.is_some() {
            self.code.push_str("} ");
        }
        Ok(())
    }

    fn instruction(&mut self, name: &str, operands: &[&str]) -> Result<(), String> {
        let parts: Vec<&str> = name.split('.').collect();
        match parts[0] {
            "mov" => self.mov(name, &parts, operands),
            "setp" => self.setp(name, &parts, operands),
            "cvt" if table::find(name).is_none() => self.cvt(name, &parts, operands),
            "bar" | "barrier" if !name.starts_with("bar.warp") => self.barrier(name, operands),
            "ld" | "ldu" => memory::load(self, name, &parts, operands),
            "st" => memory::store(self, name, &parts, operands),
            "atom" | "red" => memory::atomic(self, name, &parts, operands),
            "prefetch" | "prefetchu" => Ok(()),
            "cp" if name.starts_with("cp.async.ca.") || name.starts_with("cp.async.cg.") => {
                memory::copy(self, name, operands)
            }
            _ => self.row(name, operands),
        }
    }

    /// Translates an instruction of the table.
    fn row(&mut self, name: &str, operands: &[&str]) -> Result<(), String> {
        let (row, options, kind) = table::find(name).ok_or_else(|| match name {
            _ if name.split('.').any(|part| part == "cc") || name.starts_with("addc.") || name.starts_with("subc.") => {
                format!("{}: there is no carry flag between statements", not_supported(name))
            }
            _ => not_supported(name),
        })?;
        let (result, arguments) = row.form.split_once('=').ok_or_else(|| not_supported(name))?;
        let has = |option: &str| row.name.split('.').chain(options.iter().copied()).any(|part| part == option);
        let results = usize::from(result != "N");
        // A mask is the last operand of collectives with `sync`.
        if operands.len() != results + arguments.len() {
            return Err(format!(
                "the PTX instruction {name} has {} operands here, which is not supported",
                operands.len()
            ));
        }
        let mut values = Vec::new();
        for (operand, letter) in operands[results..].iter().zip(arguments.chars()) {
            let value = self.read(operand, &of_letter(letter, kind))?;
            values.push(if has("ftz") && letter == 'T' { format!("{SPACE}flush({value})") } else { value });
        }
        let rounding = match options.iter().find(|option| matches!(**option, "rn" | "rz" | "rm" | "rp")) {
            Some(&"rz") => "<::__cuda_compat::rounding::rz>",
            Some(&"rm") => "<::__cuda_compat::rounding::rd>",
            Some(&"rp") => "<::__cuda_compat::rounding::ru>",
            _ if row.options.contains("rz") => "<::__cuda_compat::rounding::rn>",
            _ if row.call == "fence" => match options.first() {
                Some(&"cta") => "<__HIP_MEMORY_SCOPE_WORKGROUP>",
                Some(&"gpu") => "<__HIP_MEMORY_SCOPE_AGENT>",
                Some(&"sys") => "<__HIP_MEMORY_SCOPE_SYSTEM>",
                _ => return Err(not_supported(name)),
            },
            _ => "",
        };
        let mut call = format!("{SPACE}{}{rounding}({})", row.call, values.join(", "));
        if has("ftz") {
            call = format!("{SPACE}flush({call})");
        }
        if options.contains(&"sat") {
            call = format!("{SPACE}saturate({call})");
        }
        match result {
            "N" => self.code += &format!("{call}; "),
            "Q" => {
                let variable = self.variable();
                self.code += &format!("auto {variable} = {call}; ");
                let (value, predicate) = operands[0].split_once('|').unwrap_or((operands[0], "_"));
                self.write(value, &format!("{variable}.value"))?;
                self.write(predicate, &format!("{variable}.predicate"))?;
            }
            _ => self.write(operands[0], &call)?,
        }
        Ok(())
    }

    /// `mov.type d, a`; with parts of the number in braces, on either side.
    fn mov(&mut self, name: &str, parts: &[&str], operands: &[&str]) -> Result<(), String> {
        let (&[_, kind], &[to, from]) = (parts, operands) else { return Err(not_supported(name)) };
        if !is_type(kind) {
            return Err(not_supported(name));
        }
        let width: usize = kind.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
        if let Some(to) = list(to) {
            let value = self.read(from, kind)?;
            let (variable, part) = (self.variable(), width / to.len());
            self.code += &format!("auto {variable} = {value}; ");
            for (at, to) in to.into_iter().enumerate() {
                self.write(to, &format!("{SPACE}part<{}>({variable}, {})", cpp(&format!("b{part}")), part * at))?;
            }
            return Ok(());
        }
        let value = match list(from) {
            Some(from) => {
                let part = format!("b{}", width / from.len());
                let values: Result<Vec<String>, String> = from.iter().map(|from| self.read(from, &part)).collect();
                format!("{SPACE}pack<{}>({})", cpp(kind), values?.join(", "))
            }
            None => self.read(from, kind)?,
        };
        self.write(to, &value)
    }

    /// `setp.cmp.type p, a, b`, and `setp.cmp.op.type p|q, a, b, c`.
    fn setp(&mut self, name: &str, parts: &[&str], operands: &[&str]) -> Result<(), String> {
        let refuse = || not_supported(name);
        let (&kind, rest) = parts[1..].split_last().ok_or_else(refuse)?;
        let (&comparison, rest) = rest.split_first().ok_or_else(refuse)?;
        let known = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan";
        if !is_type(kind) || !known.split(' ').any(|known| known == comparison) {
            return Err(refuse());
        }
        let (flush, operation) = match rest {
            [] => (false, None),
            ["ftz"] => (true, None),
            [operation @ ("and" | "or" | "xor")] => (false, Some(*operation)),
            [operation @ ("and" | "or" | "xor"), "ftz"] => (true, Some(*operation)),
            _ => return Err(refuse()),
        };
        let (to, a, b, third) = match *operands {
            [to, a, b] => (to, a, b, None),
            [to, a, b, c] => (to, a, b, Some(c)),
            _ => return Err(refuse()),
        };
        if operation.is_some() != third.is_some() {
            return Err(refuse());
        }
        let value = |operand| {
            let value = self.read(operand, kind)?;
            Ok::<String, String>(if flush { format!("{SPACE}flush({value})") } else { value })
        };
        let compared = format!("{SPACE}{comparison}({}, {})", value(a)?, value(b)?);
        let third = third.map(|third| self.read(third, "pred")).transpose()?;
        let variable = self.variable();
        self.code += &format!("bool {variable} = {compared}; ");
        let (first, second) = to.split_once('|').unwrap_or((to, "_"));
        let combined = |value: String| match (operation, &third) {
            (Some(operation), Some(third)) => format!("{SPACE}bit_{operation}({value}, {third})"),
            _ => value,
        };
        self.write(first, &combined(variable.clone()))?;
        self.write(second, &combined(format!("!{variable}")))
    }

    /// `cvt.rounding.sat.to.from d, a`
    fn cvt(&mut self, name: &str, parts: &[&str], operands: &[&str]) -> Result<(), String> {
        let refuse = || not_supported(name);
        let ([_, options @ .., to, from], [result, operand]) = (parts, operands) else { return Err(refuse()) };
        let (to, from) = (*to, *from);
        let is_number = |kind: &str| is_type(kind) && !matches!(kind, "pred" | "f16x2") && !kind.starts_with('b');
        if !is_number(to) || !is_number(from) {
            return Err(refuse());
        }
        let (mut rounding, mut to_integer, mut flush, mut saturate) = ("rn", "", false, false);
        for option in options {
            match *option {
                "rn" => {}
                "rz" | "rm" | "rp" => rounding = option,
                "rni" | "rzi" | "rmi" | "rpi" => to_integer = option,
                "ftz" => flush = true,
                "sat" => saturate = true,
                _ => return Err(refuse()),
            }
        }
        let (is_float, was_float) = (to.starts_with('f'), from.starts_with('f'));
        if rounding != "rn" && to == "f16" || was_float && !is_float && to_integer.is_empty() {
            return Err(refuse());
        }
        let mut value = self.read(operand, from)?;
        if flush && from == "f32" {
            value = format!("{SPACE}flush({value})");
        }
        if !to_integer.is_empty() {
            value = format!("{SPACE}{to_integer}({value})");
        }
        let to_cpp = cpp(to);
        value = match (is_float, was_float) {
            (false, true) => format!("{SPACE}to_integer<{to_cpp}>({value})"),
            (false, false) if saturate => format!("{SPACE}clamp<{to_cpp}>({value})"),
            (false, false) => format!("({to_cpp}){value}"),
            (true, _) => {
                let mode = match rounding {
                    "rz" => "rz",
                    "rm" => "rd",
                    "rp" => "ru",
                    _ => "rn",
                };
                format!("{SPACE}to_float<{to_cpp}, ::__cuda_compat::rounding::{mode}>({value})")
            }
        };
        if is_float && flush && to == "f32" {
            value = format!("{SPACE}flush({value})");
        }
        if is_float && saturate {
            value = format!("{SPACE}saturate({value})");
        }
        self.write(result, &value)
    }

    /// A barrier of the whole block.
    fn barrier(&mut self, name: &str, operands: &[&str]) -> Result<(), String> {
        if !matches!(
            name,
            "bar.sync"
                | "bar.cta.sync"
                | "barrier.sync"
                | "barrier.sync.aligned"
                | "barrier.cta.sync"
                | "barrier.cta.sync.aligned"
        ) {
            return Err(not_supported(name));
        }
        if operands.len() != 1 {
            return Err(format!(
                "{} with a number of threads: AMD GPUs have barriers of whole blocks",
                not_supported(name)
            ));
        }
        self.code.push_str("__syncthreads(); ");
        Ok(())
    }
}

/// Returns the type of a letter in a row of the table.
fn of_letter(letter: char, kind: &str) -> String {
    match letter {
        'U' => "u32".to_owned(),
        'S' => "s32".to_owned(),
        'L' => "u64".to_owned(),
        'P' => "pred".to_owned(),
        'F' => "f32".to_owned(),
        'W' => kind.replace("32", "64").replace("16", "32"),
        _ => kind.to_owned(),
    }
}

/// Splits operands at commas outside of brackets.
pub(super) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        match character {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    if parts == [""] { Vec::new() } else { parts }
}
