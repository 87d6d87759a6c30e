//! The variables of a statement in PTX: registers, operands and numbers.

use std::collections::HashMap;

use super::statement::Operand;
use super::table;

/// The namespace of the functions of `ptx.h`.
pub(super) const SPACE: &str = "::__cuda_compat::ptx::";

/// A place that holds a value.
#[derive(Clone, Debug)]
pub(super) struct Register {
    /// The variable in C++.
    pub(super) name: String,
    /// Whether it is a predicate.
    is_predicate: bool,
}

/// A statement's variables and its code so far.
pub(super) struct Block {
    /// The operands: registers, or a constant expression.
    operands: Vec<Result<Register, String>>,
    /// The registers that the assembly declares, by scope.
    pub(super) scopes: Vec<HashMap<String, Register>>,
    count: usize,
    pub(super) before: String,
    pub(super) code: String,
    pub(super) after: String,
}

/// Returns the C++ type of a type of PTX.
pub(super) fn cpp(kind: &str) -> String {
    format!("{SPACE}{kind}")
}

const TYPES: &str = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 f32 f64 pred";

pub(super) fn is_type(kind: &str) -> bool {
    TYPES.split(' ').any(|known| known == kind)
}

pub(super) fn not_supported(name: &str) -> String {
    format!("the PTX instruction {name} is not supported")
}

impl Block {
    pub(super) fn new(outputs: &[Operand], inputs: &[Operand]) -> Result<Self, String> {
        let mut block = Self {
            operands: Vec::new(),
            scopes: vec![HashMap::new()],
            count: 0,
            before: String::new(),
            code: String::new(),
            after: String::new(),
        };
        for (at, operand) in outputs.iter().chain(inputs).enumerate() {
            let constraint = operand.constraint.trim_start_matches(['=', '+', '&']);
            let kind = match constraint {
                "r" => "u32",
                "l" => "u64",
                "h" => "u16",
                "f" => "f32",
                "d" => "f64",
                "n" => {
                    block.operands.push(Err(format!("({})", operand.value)));
                    continue;
                }
                _ => return Err(format!("the constraint '{constraint}' of PTX is not supported")),
            };
            let (name, value) = (format!("cuda_compat_{at}"), &operand.value);
            let start = match at < outputs.len() && !operand.constraint.contains('+') {
                true => format!("{} {name}{{}}; ", cpp(kind)),
                false => format!("{} {name} = {SPACE}in<{}>({value}); ", cpp(kind), cpp(kind)),
            };
            block.before += &start;
            if at < outputs.len() {
                block.after += &format!("({value}) = (__typeof__({value})){name}; ");
            }
            block.operands.push(Ok(Register { name, is_predicate: false }));
        }
        Ok(block)
    }

    /// Returns a new name of a variable.
    pub(super) fn variable(&mut self) -> String {
        self.count += 1;
        format!("cuda_compat_v{}", self.count)
    }

    /// Declares registers: `.reg .b32 a, b<4>`.
    pub(super) fn declare(&mut self, text: &str) -> Result<(), String> {
        let refuse = || format!("the PTX directive .reg{text} is not supported");
        let (kind, names) = text.trim().split_once(char::is_whitespace).ok_or_else(refuse)?;
        let kind = kind.strip_prefix('.').filter(|kind| is_type(kind)).ok_or_else(refuse)?;
        for name in names.split(',').map(str::trim) {
            let all = match name.split_once('<') {
                Some((name, count)) => {
                    let count: u32 = count.trim_end_matches('>').trim().parse().map_err(|_| refuse())?;
                    (0..count).map(|at| format!("{name}{at}")).collect()
                }
                None => vec![name.to_owned()],
            };
            for name in all {
                let variable = self.variable();
                self.code += &format!("{} {variable}{{}}; ", cpp(kind));
                let register = Register { name: variable, is_predicate: kind == "pred" };
                if let Some(scope) = self.scopes.last_mut() {
                    scope.insert(name.trim_start_matches('%').to_owned(), register);
                }
            }
        }
        Ok(())
    }

    /// Returns the register of an operand.
    pub(super) fn register(&self, operand: &str) -> Option<&Register> {
        let name = operand.trim_start_matches('%');
        if let (true, Ok(at)) = (operand.starts_with('%'), name.parse::<usize>()) {
            return self.operands.get(at)?.as_ref().ok();
        }
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    pub(super) fn is_predicate(&self, operand: &str) -> bool {
        self.register(operand).is_some_and(|register| register.is_predicate)
    }

    /// Returns the C++ of an operand's value as a type of PTX.
    pub(super) fn read(&self, operand: &str, kind: &str) -> Result<String, String> {
        let (operand, kind_in_cpp) = (operand.trim(), cpp(kind));
        let refuse = || format!("the operand {operand} of PTX is not supported");
        if let Some(operand) = operand.strip_prefix('!').filter(|_| kind == "pred") {
            return Ok(format!("!{}", self.read(operand, kind)?));
        }
        if let Some(register) = self.register(operand) {
            return Ok(format!("{SPACE}as<{kind_in_cpp}>({})", register.name));
        }
        let name = operand.trim_start_matches('%');
        if operand.starts_with('%') {
            if let Some(Err(constant)) = name.parse::<usize>().ok().and_then(|at| self.operands.get(at)) {
                return Ok(format!("({kind_in_cpp}){constant}"));
            }
            let special = table::REGISTERS.iter().find(|(special, ..)| *special == name);
            let (_, own, value) = special.ok_or_else(|| format!("the PTX register %{name} is not supported"))?;
            return Ok(format!("{SPACE}as<{kind_in_cpp}>(({}){value})", cpp(own)));
        }
        if operand == "WARP_SZ" {
            return Ok(format!("({kind_in_cpp})32"));
        }
        let number = number(operand).ok_or_else(refuse)?;
        Ok(format!("({kind_in_cpp}){number}"))
    }

    /// Writes a value to an operand. `_` takes none.
    pub(super) fn write(&mut self, operand: &str, value: &str) -> Result<(), String> {
        let operand = operand.trim();
        let code = match self.register(operand) {
            Some(register) => format!("{SPACE}set({}, {value}); ", register.name),
            None if operand == "_" => format!("(void)({value}); "),
            None => return Err(format!("the operand {operand} of PTX is not supported")),
        };
        self.code += &code;
        Ok(())
    }
}

/// Returns the parts of `{a, b}`.
pub(super) fn list(operand: &str) -> Option<Vec<&str>> {
    Some(operand.trim().strip_prefix('{')?.strip_suffix('}')?.split(',').map(str::trim).collect())
}

/// Returns a number of PTX in C++.
fn number(text: &str) -> Option<String> {
    let (minus, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let hexadecimal = |digits: &str, length| {
        (digits.len() == length && digits.chars().all(|c| c.is_ascii_hexdigit())).then(|| digits.to_owned())
    };
    if let Some(bits) = digits.strip_prefix("0f").or_else(|| digits.strip_prefix("0F")) {
        return Some(format!("__uint_as_float(0x{}u)", hexadecimal(bits, 8)?)).filter(|_| minus.is_empty());
    }
    if let Some(bits) = digits.strip_prefix("0d").or_else(|| digits.strip_prefix("0D")) {
        return Some(format!("__longlong_as_double(0x{})", hexadecimal(bits, 16)?)).filter(|_| minus.is_empty());
    }
    let is_float = digits.contains('.') && digits.parse::<f64>().is_ok();
    let unsigned = digits.trim_end_matches('U');
    let value = match unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => unsigned.parse().ok(),
    };
    match value {
        Some(value) => Some(format!("({minus}{value}ull)")),
        None if is_float => Some(format!("({minus}{digits})")),
        None => None,
    }
}
