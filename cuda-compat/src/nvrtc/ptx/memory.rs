//! Instructions that access memory.

use super::block::{Block, SPACE, cpp, is_type, list, not_supported};

/// The parts of the name of a load, a store or an atomic operation.
struct Access<'a> {
    kind: &'a str,
    is_shared: bool,
    /// Whether others can change or read the value.
    is_volatile: bool,
    acquires: bool,
    releases: bool,
    scope: &'static str,
    /// The number of values.
    count: usize,
    /// Parts that belong to the instruction.
    rest: Vec<&'a str>,
}

impl<'a> Access<'a> {
    fn of(parts: &[&'a str]) -> Option<Self> {
        let (&kind, parts) = parts.split_last()?;
        if !is_type(kind) || kind == "pred" {
            return None;
        }
        let mut access = Self {
            kind,
            is_shared: false,
            is_volatile: false,
            acquires: false,
            releases: false,
            scope: "__HIP_MEMORY_SCOPE_AGENT",
            count: 1,
            rest: Vec::new(),
        };
        for part in parts {
            match *part {
                "shared" | "shared::cta" => access.is_shared = true,
                "global" | "const" | "weak" => {}
                "volatile" => (access.is_volatile, access.scope) = (true, "__HIP_MEMORY_SCOPE_SYSTEM"),
                "relaxed" | "cv" | "wt" => access.is_volatile = true,
                "acquire" => (access.is_volatile, access.acquires) = (true, true),
                "release" => (access.is_volatile, access.releases) = (true, true),
                "acq_rel" => (access.is_volatile, access.acquires, access.releases) = (true, true, true),
                "cta" => access.scope = "__HIP_MEMORY_SCOPE_WORKGROUP",
                "gpu" => access.scope = "__HIP_MEMORY_SCOPE_AGENT",
                "sys" => access.scope = "__HIP_MEMORY_SCOPE_SYSTEM",
                // Hints for the caches.
                "ca" | "cg" | "cs" | "lu" | "wb" | "nc" => {}
                part if part.starts_with("L1::") || part.starts_with("L2::") => {}
                "v2" => access.count = 2,
                "v4" => access.count = 4,
                part => access.rest.push(part),
            }
        }
        Some(access)
    }

    /// Returns the C++ of the pointer for `[address + offset]`.
    fn pointer(&self, block: &Block, operand: &str) -> Result<String, String> {
        let refuse = || format!("the address {operand} of PTX is not supported");
        let inside = operand.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(refuse)?;
        let (base, offset) = match inside.split_once('+') {
            Some((base, offset)) => (base, offset.trim().replace(' ', "")),
            None => (inside, "0".to_owned()),
        };
        let offset = match offset.strip_prefix('%') {
            Some(_) => block.read(&offset, "s64")?,
            None => offset.parse::<i64>().map_err(|_| refuse())?.to_string(),
        };
        let (function, width) = if self.is_shared { ("shared", "u32") } else { ("global", "u64") };
        let base = block.read(base, width)?;
        Ok(format!("{SPACE}{function}<{}>({base} + ({offset}))", cpp(self.kind)))
    }

    /// Adds a fence, if the access is ordered before or after others.
    fn fence(&self, block: &mut Block, is_needed: bool) {
        if is_needed {
            block.code += &format!("{SPACE}fence<{}>(); ", self.scope);
        }
    }
}

/// `ld.space.type d, [a]`
pub(super) fn load(block: &mut Block, name: &str, parts: &[&str], operands: &[&str]) -> Result<(), String> {
    let access = Access::of(&parts[1..]).filter(|access| access.rest.is_empty() && !access.releases);
    let access = access.ok_or_else(|| not_supported(name))?;
    // A policy for the cache may follow.
    let (&[to, address], _) = operands.split_first_chunk().ok_or_else(|| not_supported(name))?;
    let to = list(to).unwrap_or_else(|| vec![to]);
    if to.len() != access.count {
        return Err(not_supported(name));
    }
    let (pointer, values) = (block.variable(), block.variable());
    let code = format!("auto {pointer} = {}; ", access.pointer(block, address)?);
    block.code += &code;
    let read = |at| match access.is_volatile {
        true => format!("{SPACE}load<{}>({pointer} + {at})", access.scope),
        false => format!("{pointer}[{at}]"),
    };
    let all: Vec<String> = (0..access.count).map(read).collect();
    block.code += &format!("{} {values}[] = {{{}}}; ", cpp(access.kind), all.join(", "));
    access.fence(block, access.acquires);
    for (at, to) in to.into_iter().enumerate() {
        block.write(to, &format!("{values}[{at}]"))?;
    }
    Ok(())
}

/// `st.space.type [a], b`
pub(super) fn store(block: &mut Block, name: &str, parts: &[&str], operands: &[&str]) -> Result<(), String> {
    let access = Access::of(&parts[1..]).filter(|access| access.rest.is_empty() && !access.acquires);
    let access = access.ok_or_else(|| not_supported(name))?;
    let (&[address, from], _) = operands.split_first_chunk().ok_or_else(|| not_supported(name))?;
    let from = list(from).unwrap_or_else(|| vec![from]);
    if from.len() != access.count {
        return Err(not_supported(name));
    }
    access.fence(block, access.releases);
    let pointer = block.variable();
    let mut code = format!("auto {pointer} = {}; ", access.pointer(block, address)?);
    for (at, from) in from.into_iter().enumerate() {
        let value = block.read(from, access.kind)?;
        code += &match access.is_volatile {
            true => format!("{SPACE}store<{}>({pointer} + {at}, {value}); ", access.scope),
            false => format!("{pointer}[{at}] = {value}; "),
        };
    }
    block.code += &code;
    Ok(())
}

/// `atom.space.op.type d, [a], b`, and `red.space.op.type [a], b`.
pub(super) fn atomic(block: &mut Block, name: &str, parts: &[&str], operands: &[&str]) -> Result<(), String> {
    let refuse = || not_supported(name);
    let access = Access::of(&parts[1..]).ok_or_else(refuse)?;
    let mut operation = access.rest.clone();
    operation.retain(|part| *part != "noftz");
    let &[operation] = &operation[..] else { return Err(refuse()) };
    let is_integer = access.kind.starts_with(['u', 's']);
    let is_known = access.count == 1
        && match operation {
            "add" => matches!(access.kind, "u32" | "s32" | "u64" | "s64" | "f32" | "f64" | "f16x2"),
            "min" | "max" => is_integer && !access.kind.ends_with("16") && !access.kind.ends_with('8'),
            "inc" | "dec" => access.kind == "u32",
            "and" | "or" | "xor" => matches!(access.kind, "b32" | "b64"),
            "exch" | "cas" => matches!(access.kind, "b32" | "b64" | "u32" | "u64" | "s32" | "s64"),
            _ => false,
        };
    let (result, operands) = match parts[0] {
        "atom" => operands.split_first().map(|(result, rest)| (*result, rest)).ok_or_else(refuse)?,
        _ => ("_", operands),
    };
    let (&address, values) = operands.split_first().ok_or_else(refuse)?;
    if !is_known || values.len() != if operation == "cas" { 2 } else { 1 } {
        return Err(refuse());
    }
    access.fence(block, access.releases);
    let values: Result<Vec<String>, String> = values.iter().map(|value| block.read(value, access.kind)).collect();
    let pointer = access.pointer(block, address)?;
    let call = format!("{SPACE}atom_{operation}<{}>({pointer}, {})", access.scope, values?.join(", "));
    let old = block.variable();
    block.code += &format!("auto {old} = {call}; ");
    access.fence(block, access.acquires);
    block.write(result, &old)
}

/// `cp.async.cg.shared.global [to], [from], size, given`: a copy that is complete when it returns.
pub(super) fn copy(block: &mut Block, name: &str, operands: &[&str]) -> Result<(), String> {
    let refuse = || not_supported(name);
    let parts: Vec<&str> = name.split('.').skip(3).filter(|part| !part.starts_with("L2::")).collect();
    let is_known = matches!(parts[..], ["shared" | "shared::cta", "global"]);
    let (&[to, from, size], rest) = operands.split_first_chunk().ok_or_else(refuse)?;
    let rest = if name.contains("L2::cache_hint") { rest.split_last().map_or(rest, |(_, rest)| rest) } else { rest };
    if !is_known || rest.len() > 1 {
        return Err(refuse());
    }
    let access = |is_shared| Access::of(&["b8"]).map(|access| Access { is_shared, ..access });
    let (to, from) = match (access(true), access(false)) {
        (Some(shared), Some(global)) => (shared.pointer(block, to)?, global.pointer(block, from)?),
        _ => return Err(refuse()),
    };
    let size = block.read(size, "u32")?;
    let given = match rest.first() {
        Some(ignored) if block.is_predicate(ignored.trim_start_matches('!')) => {
            format!("({} ? 0u : {size})", block.read(ignored, "pred")?)
        }
        Some(given) => block.read(given, "u32")?,
        None => size.clone(),
    };
    block.code += &format!("{SPACE}copy({to}, {from}, {size}, {given}); ");
    Ok(())
}
