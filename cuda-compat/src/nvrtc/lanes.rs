//! Code in CUDA C++ that assumes warps of 32 lanes.

mod branches;
mod names;
pub(super) mod tokens;

use std::collections::HashSet;
use std::fmt;

use super::ptx;
use names::{is_index, is_lanes, is_mask, is_sync, is_warp_id};
use tokens::{Kind, Token, tokens};

/// A position in CUDA C++ that assumes 32 lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in bytes.
    pub column: usize,
    /// The code and its assumption.
    pub what: String,
    /// The change for waves of 64 lanes.
    pub advice: &'static str,
}

impl Finding {
    /// Returns whether the code is wrong with warps of 32 lanes, too: inline PTX, and collectives that are
    /// [refused](Self::is_refused).
    pub fn needs_change(&self) -> bool {
        self.is_ptx() || self.is_refused()
    }

    /// Returns whether the code is inline PTX without a translation. The compiler reports it if the program uses it.
    pub(super) fn is_ptx(&self) -> bool {
        self.advice == PTX
    }

    /// Returns whether [`nvrtcCompileProgram`](super::nvrtcCompileProgram) refuses the code: a collective of a whole
    /// warp in both branches of an `if`, which would give wrong numbers.
    pub fn is_refused(&self) -> bool {
        self.advice == BRANCHES
    }
}

impl fmt::Display for Finding {
    /// `12:5: the mask 0xffffffff has 32 bits (use …)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} ({})", self.line, self.column, self.what, self.advice)
    }
}

const MASK: &str = "use a mask with a bit for each lane of the wave: ~0ull on 64 lanes";
const BALLOT: &str = "keep the lanes of a 64-lane wave in unsigned long long";
const COUNT: &str = "use the function for 64 bits, such as __popcll or __ffsll";
const CONSTANT: &str = "use warpSize, or pass the number of lanes as a template parameter";
const INDEX: &str = "divide by warpSize, and take the remainder of it";
const SHARED: &str = "blocks have half as many 64-lane waves: read only the elements that were written";
const OFFSET: &str = "start at warpSize / 2";
const BOUND: &str = "the bound must be known when compiling: use the largest number of lanes";
const BRANCHES: &str =
    "a wave runs one branch after the other: call it behind the `if`, or with a mask of the branch's lanes";
const PTX: &str = "AMD GPUs have no PTX: use CUDA's functions, or AMD's builtins";

/// Returns the positions in CUDA C++ that assume warps of 32 lanes, in source order.
///
/// - 32-bit masks: `__shfl_sync(0xffffffff, …)`, `#define FULL_MASK 0xffffffff`
/// - a ballot or an active mask in a 32-bit variable, or passed to a 32-bit function such as `__popc`
/// - the number of lanes as a constant: `#define WARP_SIZE 32`, `constexpr int kWarpSize = 32`
/// - arithmetic with 32 on thread indices: `threadIdx.x % 32`, `tid >> 5`, `lane & 31`
/// - `__shared__` arrays of 32 elements that are indexed by the number of a warp, and arrays with the bound `warpSize`
/// - loops over the shuffle offsets 16, 8, … 1
/// - inline PTX that is not [translated](super#ptx)
/// - collectives of a whole warp in both branches of an `if` on the lane, where NVIDIA's lanes meet since sm_70
///
/// The source is not preprocessed: code that `#if` excludes is searched, and included files are not. Code behind a
/// macro or another name is not found. Code that is found can be right: with the default `--warp-size=32` of
/// [`nvrtcCompileProgram`](super::nvrtcCompileProgram) it is, except for the last two.
///
/// ```
/// use cuda_compat::nvrtc::lanes;
///
/// let found = lanes::find("int lane = threadIdx.x % 32;\nv += __shfl_xor_sync(0xffffffff, v, 1);");
/// assert_eq!((found[0].line, found[0].column), (1, 24));
/// assert_eq!((found[1].line, found[1].column), (2, 22));
/// ```
pub fn find(source: &str) -> Vec<Finding> {
    let tokens = tokens(source);
    let mut search = Search { indices: indices(&tokens), tokens: &tokens, found: Vec::new() };
    for at in 0..tokens.len() {
        search.mask(at);
        search.ballot(at);
        search.constant(at);
        search.arithmetic(at);
        search.shared(at);
        search.offsets(at);
    }
    for refused in ptx::refused(source) {
        let ptx::Refused { line, column, why } = refused;
        search.found.push(Finding { line, column, what: why, advice: PTX });
    }
    let branches = branches::find(&tokens, &search.indices);
    for (at, name) in branches {
        let what = format!("{name} for all lanes is in both branches of a condition on the lane");
        search.tell(at, what, BRANCHES);
    }
    let mut found = search.found;
    found.sort_by_key(|finding| (finding.line, finding.column));
    found.dedup_by_key(|finding| (finding.line, finding.column));
    found
}

/// Returns the variables that are set from `threadIdx`.
fn indices<'a>(tokens: &[Token<'a>]) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.text != "=" || at == 0 || tokens[at - 1].kind != Kind::Name {
            continue;
        }
        let value = tokens[at + 1..].iter().take_while(|token| !matches!(token.text, ";" | "," | "{" | "}"));
        if value.clone().any(|token| token.text == "threadIdx" || token.text == "thread_rank") {
            // An index into data is not a thread index, even if it is computed from one.
            if !value.clone().any(|token| token.text == "blockIdx") {
                names.insert(tokens[at - 1].text);
            }
        }
    }
    names
}

struct Search<'a> {
    tokens: &'a [Token<'a>],
    indices: HashSet<&'a str>,
    found: Vec<Finding>,
}

impl<'a> Search<'a> {
    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn number(&self, at: usize) -> Option<u64> {
        self.tokens.get(at).and_then(Token::number)
    }

    fn tell(&mut self, at: usize, what: String, advice: &'static str) {
        let Token { line, column, .. } = self.tokens[at];
        self.found.push(Finding { line, column, what, advice });
    }

    /// Returns the index after the bracket that closes the one at `open`.
    fn closed(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }

    /// Returns the index of the bracket that the one at `close` closes.
    fn opened(&self, close: usize) -> usize {
        let mut depth = 0_usize;
        for at in (0..=close).rev() {
            match self.tokens[at].text {
                ")" | "]" => depth += 1,
                "(" | "[" => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                return at;
            }
        }
        0
    }

    /// Finds a mask that is written as a number.
    fn mask(&mut self, at: usize) {
        let Some(value @ 1..=0xffff_ffff) = self.number(at) else { return };
        let text = self.text(at);
        let before = |back: usize| at.checked_sub(back).map_or("", |at| self.text(at));
        let named = |name: &str| name.to_ascii_lowercase().contains("mask");
        let argument = before(1) == "(" && is_sync(before(2));
        let full = value == 0xffff_ffff;
        let defined = full && before(2) == "define" && named(before(1));
        let assigned = full && before(1) == "=" && named(before(2));
        if argument || defined || assigned {
            let whose = if argument { format!(" of {}", before(2)) } else { String::new() };
            self.tell(at, format!("the mask {text}{whose} has 32 bits"), MASK);
        }
    }

    /// Finds a mask that a function returns, used as 32 bits.
    fn ballot(&mut self, at: usize) {
        let name = self.text(at);
        if !is_mask(name) || self.text(at + 1) != "(" {
            return;
        }
        let before = |back: usize| at.checked_sub(back).map_or("", |at| self.text(at));
        let narrow = ["unsigned", "int", "uint", "uint32_t", "unsigned int"];
        if before(1) == "=" && narrow.contains(&before(3)) {
            self.tell(at, format!("the lanes of {name} are kept in 32 bits"), BALLOT);
        } else if before(1) == "(" && matches!(before(2), "__popc" | "__ffs" | "__clz" | "__brev") {
            let what = format!("{} counts 32 bits of {name}", before(2));
            self.tell(at, what, COUNT);
        }
    }

    /// Finds the number of lanes as a constant.
    fn constant(&mut self, at: usize) {
        let token = self.tokens[at];
        if token.kind != Kind::Name || !is_lanes(token.text) {
            return;
        }
        let defined = at > 0 && self.text(at - 1) == "define" && self.number(at + 1) == Some(32);
        let assigned = self.text(at + 1) == "=" && self.number(at + 2) == Some(32);
        if defined || assigned {
            self.tell(at, format!("{} is the constant 32", token.text), CONSTANT);
        }
    }

    /// Returns whether the operand before a token is a thread index.
    fn is_index_before(&self, operator: usize) -> bool {
        let Some(last) = operator.checked_sub(1) else { return false };
        let operand = match self.text(last) {
            ")" => self.opened(last)..last,
            "x" | "y" | "z" if last >= 2 && self.text(last - 1) == "." => last - 2..last - 1,
            _ => last..operator,
        };
        let first = operand.start;
        let called = first > 0 && self.text(first) == "(" && self.text(first - 1) == "thread_rank";
        let names = &self.tokens[operand];
        called
            || names
                .iter()
                .any(|token| token.text == "threadIdx" || is_index(token.text) || self.indices.contains(token.text))
                && !names.iter().any(|token| token.text == "blockIdx")
    }

    /// Finds arithmetic with 32 on a thread index.
    fn arithmetic(&mut self, at: usize) {
        let operator = self.text(at);
        let thirty_two = match (operator, self.number(at + 1)) {
            ("%" | "/", Some(32)) | ("&", Some(31)) | (">>", Some(5)) => true,
            _ => return,
        };
        if thirty_two && self.is_index_before(at) {
            let what = format!("`{operator} {}` on the index of a thread", self.text(at + 1));
            self.tell(at, format!("{what} assumes 32 lanes"), INDEX);
        }
    }

    /// Finds an array in shared memory with one element per warp, or with the bound `warpSize`.
    fn shared(&mut self, at: usize) {
        if self.text(at) != "__shared__" {
            return;
        }
        let end = (at..self.tokens.len()).find(|&at| self.text(at) == ";").unwrap_or(self.tokens.len());
        for open in at..end {
            if self.text(open) != "[" || self.tokens[open - 1].kind != Kind::Name {
                continue;
            }
            let (name, close) = (self.text(open - 1), self.closed(open) - 1);
            if (open..close).any(|at| self.text(at) == "warpSize") {
                self.tell(open - 1, format!("warpSize is the bound of {name}"), BOUND);
            } else if close == open + 2 && self.number(open + 1) == Some(32) && self.is_by_warp(name, end) {
                self.tell(open - 1, format!("{name} has an element for each of 32 warps"), SHARED);
            }
        }
    }

    /// Returns whether an array is indexed by the number of a warp after a token.
    fn is_by_warp(&self, name: &str, after: usize) -> bool {
        (after..self.tokens.len()).any(|at| {
            self.text(at) == name && self.text(at + 1) == "[" && {
                let close = self.closed(at + 1);
                let index = at + 2..close;
                index.clone().any(|at| self.tokens[at].kind == Kind::Name && is_warp_id(self.text(at)))
                    || index
                        .clone()
                        .any(|at| matches!((self.text(at), self.number(at + 1)), ("/", Some(32)) | (">>", Some(5))))
            }
        })
    }

    /// Finds a loop over shuffle offsets that starts at 16.
    fn offsets(&mut self, at: usize) {
        if self.text(at) != "for" || self.text(at + 1) != "(" {
            return;
        }
        let head_end = self.closed(at + 1);
        let start = (at..head_end).find(|&at| self.text(at) == "=").unwrap_or(head_end);
        let half = self.number(start + 1) == Some(16) && self.text(start + 2) == ";";
        let halved =
            self.number(start + 1) == Some(32) && self.text(start + 2) == "/" && self.number(start + 3) == Some(2);
        let body_end = match self.text(head_end) {
            "{" => self.closed(head_end),
            _ => (head_end..self.tokens.len()).find(|&at| self.text(at) == ";").unwrap_or(self.tokens.len()),
        };
        if (half || halved) && (head_end..body_end).any(|at| self.text(at).starts_with("__shfl")) {
            self.tell(start + 1, "the offsets of shuffles start at 16".to_owned(), OFFSET);
        }
    }
}

#[cfg(test)]
mod tests;
