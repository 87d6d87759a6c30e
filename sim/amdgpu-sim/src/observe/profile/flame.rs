//! Profiles as flame graphs: SVG, with the instructions of each kernel by function and source line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{InstructionProfile, KernelProfile, Profile};

const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;
const MARGIN: f64 = 10.0;
const TITLE: f64 = 40.0;
/// Narrower boxes are left out.
const NARROWEST: f64 = 0.2;
/// Of a character.
const LETTER: f64 = 6.6;

/// A box, and what stands on it.
#[derive(Default)]
struct Node {
    count: u64,
    /// By where they are in the code, so that the graph reads in its order.
    above: BTreeMap<(i64, String), Node>,
    /// Where each of them is.
    places: BTreeMap<String, i64>,
}

impl Node {
    fn add(&mut self, path: &[String], offset: i64, count: u64) {
        self.count += count;
        let Some((first, rest)) = path.split_first() else { return };
        let place = *self.places.entry(first.clone()).or_insert(offset);
        self.above.entry((place, first.clone())).or_default().add(rest, offset, count);
    }

    fn depth(&self) -> usize {
        self.above.values().map(|node| 1 + node.depth()).max().unwrap_or(0)
    }
}

impl Profile {
    /// The profile as a flame graph: an SVG whose boxes are as wide as the number of instructions (once a wave) that they stand for.
    ///
    /// On the kernels stand the functions that were inlined and the lines of the source, where the code object has debug information (`-g`) and
    /// the feature `profile` is on; otherwise basic blocks, by the offset of their first instruction. On top are the instructions.
    pub fn to_svg(&self) -> String {
        let mut root = Node::default();
        for kernel in &self.kernels {
            let blocks = blocks(kernel);
            for (instruction, block) in kernel.instructions.iter().zip(blocks) {
                let mut path = vec![kernel.name.clone()];
                path.extend(stack(kernel, instruction, block));
                path.push(format!("{:+#x} {}", instruction.offset, instruction.text));
                root.add(&path, instruction.offset, instruction.count);
            }
        }
        let height = TITLE + ROW * (root.depth() + 1) as f64 + MARGIN;
        let mut svg = String::new();
        let _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"monospace\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"{MARGIN}\" y=\"24\" font-size=\"14\">Instructions by kernel, source and address (once a wave)</text>"
        );
        let whole = root.count.max(1);
        draw(
            &mut svg,
            "all kernels",
            &root,
            MARGIN,
            (WIDTH - 2.0 * MARGIN) / whole as f64,
            height - MARGIN - ROW,
            whole,
        );
        svg.push_str("</svg>\n");
        svg
    }
}

/// What stands between a kernel and an instruction.
fn stack(kernel: &KernelProfile, instruction: &InstructionProfile, block: i64) -> Vec<String> {
    if instruction.source.is_empty() {
        return vec![format!("block {block:+#x}")];
    }
    let mut stack = Vec::new();
    // Outermost first. The kernel itself is there already.
    for frame in instruction.source.iter().rev() {
        if let Some(function) =
            frame.function.as_ref().filter(|f| **f != kernel.name && f.split('(').next() != Some(&kernel.name))
        {
            stack.push(function.clone());
        }
        if let (Some(file), Some(line)) = (&frame.file, frame.line) {
            let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
            stack.push(format!("{name}:{line}"));
        }
    }
    stack
}

/// Where the basic block of each instruction begins, as far as counts tell: after a branch, and where the count changes.
fn blocks(kernel: &KernelProfile) -> Vec<i64> {
    let mut blocks = Vec::with_capacity(kernel.instructions.len());
    let mut previous: Option<&InstructionProfile> = None;
    let mut block = 0;
    for instruction in &kernel.instructions {
        let begins =
            previous.is_none_or(|p| p.count != instruction.count || p.class == crate::observe::plan::Class::Branch);
        if begins {
            block = instruction.offset;
        }
        blocks.push(block);
        previous = Some(instruction);
    }
    blocks
}

fn draw(svg: &mut String, name: &str, node: &Node, x: f64, scale: f64, y: f64, whole: u64) {
    let width = node.count as f64 * scale;
    if width < NARROWEST {
        return;
    }
    let percent = 100.0 * node.count as f64 / whole as f64;
    let label = escaped(name);
    let _ = write!(
        svg,
        "<g><title>{label}: {} ({percent:.2} %)</title><rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" \
         fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.5\"/>",
        node.count,
        ROW - 1.0,
        colour(name)
    );
    let letters = (width / LETTER) as usize;
    if letters >= 3 {
        let text: String = if name.chars().count() > letters {
            name.chars().take(letters - 2).chain("..".chars()).collect()
        } else {
            name.to_owned()
        };
        let _ = write!(svg, "<text x=\"{:.2}\" y=\"{:.1}\">{}</text>", x + 3.0, y + ROW - 6.0, escaped(&text));
    }
    svg.push_str("</g>\n");
    let mut at = x;
    for ((_, name), above) in &node.above {
        draw(svg, name, above, at, scale, y - ROW, whole);
        at += above.count as f64 * scale;
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no other control characters.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A warm colour that a name always has.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    format!("#{:02x}{:02x}{:02x}", 205 + hash % 50, 110 + (hash >> 8) % 110, 60 + (hash >> 16) % 50)
}
