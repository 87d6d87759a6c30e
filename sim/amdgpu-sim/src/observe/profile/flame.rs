//! Profiles as flame graphs: SVG with the instructions of each kernel by function and source line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{InstructionProfile, KernelProfile, Profile};

/// Zooms into the clicked box when the SVG is opened directly in a browser.
const SCRIPT: &str = include_str!("flame.js");

const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;
const MARGIN: f64 = 10.0;
const TITLE: f64 = 40.0;
/// Boxes narrower than this are omitted.
const NARROWEST: f64 = 0.2;
/// The width of a character.
const LETTER: f64 = 6.6;

/// The kind of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    #[default]
    All,
    Kernel,
    Function,
    Line,
    Block,
    Instruction,
}

impl Kind {
    /// All kinds, with their names in the legend and their colours.
    const LEGEND: [(Kind, &str, [u8; 3]); 6] = [
        (Kind::All, "all", [190, 190, 190]),
        (Kind::Kernel, "kernel", [214, 96, 77]),
        (Kind::Function, "function", [240, 150, 80]),
        (Kind::Line, "source line", [240, 205, 90]),
        (Kind::Block, "basic block", [170, 195, 120]),
        (Kind::Instruction, "instruction", [130, 175, 210]),
    ];

    /// The colour of a box of this kind. Each name always has the same shade.
    fn colour(self, name: &str) -> String {
        let hash = name.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
        let shade = (hash % 30) as u8;
        let [r, g, b] = Self::LEGEND[self as usize].2.map(|part| part - 15 + shade);
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

/// The kind and name of a box.
type Label = (Kind, String);

/// A box and the boxes above it.
#[derive(Default)]
struct Node {
    kind: Kind,
    count: u64,
    /// By position in the code, so that the graph follows its order.
    above: BTreeMap<(i64, Label), Node>,
    /// The position of each box.
    places: BTreeMap<Label, i64>,
}

impl Node {
    fn add(&mut self, path: &[Label], offset: i64, count: u64) {
        self.count += count;
        let Some((first, rest)) = path.split_first() else { return };
        let place = *self.places.entry(first.clone()).or_insert(offset);
        let above = self.above.entry((place, first.clone())).or_default();
        above.kind = first.0;
        above.add(rest, offset, count);
    }

    fn depth(&self) -> usize {
        self.above.values().map(|node| 1 + node.depth()).max().unwrap_or(0)
    }
}

impl Profile {
    /// The profile as a flame graph: an SVG whose boxes are as wide as their number of instructions (counted once per
    /// wave).
    ///
    /// Above the kernels are the inlined functions and the source lines, if the code object has debug information
    /// (`-g`) and the feature `profile` is enabled; otherwise basic blocks, by the offset of their first instruction.
    /// The instructions are on top. A legend explains the colours. In a browser, a click on a box zooms in, and a click
    /// on a box below it zooms out.
    pub fn to_svg(&self) -> String {
        let mut root = Node::default();
        for kernel in &self.kernels {
            let blocks = blocks(kernel);
            for (instruction, block) in kernel.instructions.iter().zip(blocks) {
                let mut path = vec![(Kind::Kernel, kernel.name.clone())];
                path.extend(stack(kernel, instruction, block));
                path.push((Kind::Instruction, format!("{:+#x} {}", instruction.offset, instruction.text)));
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
             <text x=\"{MARGIN}\" y=\"24\" font-size=\"14\">Instructions by kernel, source and address (once a wave); click to enlarge</text>"
        );
        legend(&mut svg, &root);
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
        let _ = writeln!(svg, "<script>//<![CDATA[\n{SCRIPT}//]]></script>\n</svg>");
        svg
    }
}

/// Draws the legend of the kinds that occur, to the right of the title.
fn legend(svg: &mut String, root: &Node) {
    fn kinds(node: &Node, there: &mut BTreeSet<Kind>) {
        there.insert(node.kind);
        node.above.values().for_each(|node| kinds(node, there));
    }
    let mut there = BTreeSet::new();
    kinds(root, &mut there);
    let mut x = WIDTH - MARGIN;
    for (_, name, [r, g, b]) in Kind::LEGEND.into_iter().rev().filter(|(kind, ..)| there.contains(kind)) {
        x -= LETTER * (name.len() + 4) as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"14\" width=\"12\" height=\"12\" fill=\"#{r:02x}{g:02x}{b:02x}\"/>\
             <text x=\"{:.1}\" y=\"24\">{name}</text>",
            x + 15.0
        );
    }
}

/// The labels between a kernel and an instruction.
fn stack(kernel: &KernelProfile, instruction: &InstructionProfile, block: i64) -> Vec<Label> {
    if instruction.source.is_empty() {
        return vec![(Kind::Block, format!("block {block:+#x}"))];
    }
    let mut stack = Vec::new();
    // Outermost first. The kernel itself is already present.
    for frame in instruction.source.iter().rev() {
        if let Some(function) =
            frame.function.as_ref().filter(|f| **f != kernel.name && f.split('(').next() != Some(&kernel.name))
        {
            stack.push((Kind::Function, function.clone()));
        }
        if let (Some(file), Some(line)) = (&frame.file, frame.line) {
            let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
            stack.push((Kind::Line, format!("{name}:{line}")));
        }
    }
    stack
}

/// The start of each instruction's basic block, estimated from the counts: after a branch, and where the count changes.
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
        node.kind.colour(name)
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
    for ((_, (_, name)), above) in &node.above {
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
