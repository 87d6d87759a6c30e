//! Profiles as text and JSON.

use std::fmt::{self, Write as _};

use super::{Counters, Hint, KernelProfile, Limit, Profile};
use crate::observe::plan::Class;

/// The number of instructions listed for a kernel.
const LISTED: usize = 12;

impl fmt::Display for Profile {
    /// Writes a table for every kernel, in decreasing order of instructions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kernels: Vec<&KernelProfile> = self.kernels.iter().collect();
        kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.counters.total()));
        for (i, kernel) in kernels.into_iter().enumerate() {
            if i > 0 {
                f.write_char('\n')?;
            }
            kernel.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for KernelProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = &self.counters;
        writeln!(f, "kernel {}", self.name)?;
        writeln!(f, "  dispatches {}, workgroups {}, waves {}", c.dispatches, c.workgroups, c.waves)?;
        instructions(f, c)?;
        memory(f, c)?;
        if let Some(last) = self.recent.last() {
            let o = &last.occupancy;
            writeln!(
                f,
                "  occupancy    {} of {} waves a compute unit in {} workgroups ({}); {} vector and {} scalar registers, {} bytes of LDS",
                o.waves,
                o.most,
                o.workgroups,
                limit(o.limit),
                o.vector_registers,
                o.scalar_registers,
                o.lds
            )?;
        }
        let mut hints: Vec<&Hint> = Vec::new();
        for hint in self.recent.iter().flat_map(|dispatch| &dispatch.hints) {
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        for hint in hints {
            writeln!(f, "  hint         {hint}")?;
        }
        self.hottest(f)
    }
}

impl KernelProfile {
    fn hottest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hot: Vec<_> = self.instructions.iter().collect();
        // Equally frequent instructions are sorted by data moved and conflicts.
        hot.sort_by_key(|i| (std::cmp::Reverse((i.count, i.lines + i.bank_conflicts, i.bytes)), i.offset));
        writeln!(
            f,
            "  {:>12} {:>6} {:>12} {:>10} {:>10}  most frequent instructions",
            "count", "lanes", "bytes", "lines", "conflicts"
        )?;
        for i in hot.into_iter().take(LISTED) {
            let lanes = if i.class.is_vector() {
                format!("{:.1}", i.active_lanes as f64 / i.count.max(1) as f64)
            } else {
                String::new()
            };
            write!(
                f,
                "  {:>12} {lanes:>6} {:>12} {:>10} {:>10}",
                i.count,
                blank(i.bytes),
                blank(i.lines),
                blank(i.bank_conflicts)
            )?;
            write!(f, "  {:+#x} {}", i.offset, i.text)?;
            match i.source.first() {
                Some(frame) => writeln!(f, "  // {frame}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

fn blank(n: u64) -> String {
    if n == 0 { String::new() } else { n.to_string() }
}

fn instructions(f: &mut fmt::Formatter<'_>, c: &Counters) -> fmt::Result {
    write!(f, "  instructions {} (once a wave)", c.total())?;
    for (i, class) in Class::ALL.into_iter().filter(|class| c.of(*class) > 0).enumerate() {
        write!(f, "{} {} {}", if i == 0 { ":" } else { "," }, class.name(), c.of(class))?;
    }
    writeln!(f)?;
    if let Some(used) = c.lane_use() {
        writeln!(
            f,
            "  divergence   {:.1} of 64 lanes are enabled in vector instructions ({:.1} %)",
            64.0 * used,
            100.0 * used
        )?;
    }
    Ok(())
}

fn memory(f: &mut fmt::Formatter<'_>, c: &Counters) -> fmt::Result {
    if c.global_read + c.global_written > 0 {
        write!(f, "  global       {} bytes read, {} written", c.global_read, c.global_written)?;
        if let Some(good) = c.coalescing() {
            write!(f, "; {} lines of 64 bytes touched, {} needed ({:.0} %)", c.lines, c.best_lines, 100.0 * good)?;
        }
        writeln!(f)?;
    }
    if c.lds_turns > 0 {
        write!(f, "  LDS          {} bytes read, {} written", c.lds_read, c.lds_written)?;
        let part = 100.0 * c.bank_conflicts as f64 / c.lds_turns as f64;
        writeln!(f, "; {} turns, {} of them lost to bank conflicts ({part:.0} %)", c.lds_turns, c.bank_conflicts)?;
    }
    if c.scratch_read + c.scratch_written > 0 {
        writeln!(f, "  scratch      {} bytes read, {} written", c.scratch_read, c.scratch_written)?;
    }
    Ok(())
}

fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Full => "full",
        Limit::VectorRegisters => "limited by vector registers",
        Limit::ScalarRegisters => "limited by scalar registers",
        Limit::Lds => "limited by LDS",
        Limit::Workgroup => "limited by the size of the workgroup",
    }
}

#[cfg(feature = "profile")]
impl Profile {
    /// The profile as JSON: the fields of these types by name; `instructions` of [`Counters`] in the order of
    /// [`Class::ALL`].
    pub fn to_json(&self) -> String {
        // Cannot fail: it contains only numbers, strings and lists.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
