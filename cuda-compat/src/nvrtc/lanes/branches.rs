//! Collectives of a whole warp in both branches of an `if`.
//!
//! NVIDIA's GPUs since sm_70 let the lanes of both branches meet in them. A wave runs one branch after the other, and
//! in each of them the lanes of the other are absent.

use std::collections::HashSet;
use std::ops::Range;

use super::names::{is_index, is_sync};
use super::tokens::{Kind, Token};

/// Finds them: the index of the `if` or the `?`, and the name of the collective.
pub(super) fn find<'a>(tokens: &[Token<'a>], indices: &HashSet<&'a str>) -> Vec<(usize, &'a str)> {
    let mut code = Code { tokens, indices, lanes: HashSet::new(), masks: HashSet::new(), collective: HashSet::new() };
    code.names();
    code.functions();
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if let Some((condition, first, second)) = code.branches(at) {
            if code.is_of_lanes(condition) && code.collective(first).is_some() {
                found.extend(code.collective(second).map(|name| (at, name)));
            }
        }
    }
    found
}

struct Code<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// Variables that are set from `threadIdx`.
    indices: &'t HashSet<&'a str>,
    /// Variables that are set from a lane.
    lanes: HashSet<&'a str>,
    /// Names of the mask of all lanes.
    masks: HashSet<&'a str>,
    /// Functions of the program with a collective of all lanes.
    collective: HashSet<&'a str>,
}

impl<'a> Code<'_, 'a> {
    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn number(&self, at: usize) -> Option<u64> {
        self.tokens.get(at).and_then(Token::number)
    }

    /// Returns the index after the bracket that closes the one at `open`.
    fn closed(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.text(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }

    /// Returns the index of the first of these tokens that is outside of brackets, or of the bracket that closes the
    /// surrounding ones.
    fn until(&self, start: usize, ends: &[&str]) -> usize {
        let mut at = start;
        while at < self.tokens.len() {
            match self.text(at) {
                ")" | "]" | "}" => return at,
                text if ends.contains(&text) => return at,
                "(" | "[" | "{" => at = self.closed(at),
                _ => at += 1,
            }
        }
        at
    }

    /// Returns the index after the statement at `start`.
    fn statement(&self, start: usize) -> usize {
        match self.text(start) {
            "{" => self.closed(start),
            "if" | "for" | "while" if self.text(start + 1) == "(" => {
                let end = self.statement(self.closed(start + 1));
                if self.text(start) == "if" && self.text(end) == "else" { self.statement(end + 1) } else { end }
            }
            _ => (self.until(start, &[";"]) + 1).min(self.tokens.len()),
        }
    }

    /// Returns the condition and the two branches of an `if` with `else`, or of a `?`.
    fn branches(&self, at: usize) -> Option<(Range<usize>, Range<usize>, Range<usize>)> {
        match self.text(at) {
            "if" if self.text(at + 1) == "(" => {
                let first = self.closed(at + 1);
                let end = self.statement(first);
                let second = end + 1;
                (self.text(end) == "else").then(|| (at + 2..first - 1, first..end, second..self.statement(second)))
            }
            "?" => {
                let colon = self.until(at + 1, &[":", ";"]);
                let start = (0..at).rev().find(|at| matches!(self.text(*at), "=" | ";" | "{" | "}" | "return" | ","));
                let end = self.until(colon + 1, &[";", ","]);
                (self.text(colon) == ":").then(|| (start.map_or(0, |at| at + 1)..at, at + 1..colon, colon + 1..end))
            }
            _ => None,
        }
    }

    /// Reads the names of lanes and of masks.
    fn names(&mut self) {
        for at in 1..self.tokens.len() {
            let full =
                |at| self.number(at) == Some(0xffff_ffff) || self.text(at) == "~" && self.number(at + 1) == Some(0);
            if self.text(at - 1) == "define" && full(at + 1) || self.text(at) == "=" && full(at + 1) {
                let name = if self.text(at) == "=" { at - 1 } else { at };
                self.masks.insert(self.text(name));
            }
            if self.text(at) == "=" && self.tokens[at - 1].kind == Kind::Name {
                let end = self.until(at + 1, &[";", ","]);
                if (at + 1..end).any(|at| self.is_lane(at)) {
                    self.lanes.insert(self.text(at - 1));
                }
            }
        }
    }

    /// Reads the functions of the program that have a collective, and those that call one.
    fn functions(&mut self) {
        let bodies: Vec<(usize, Range<usize>)> = (1..self.tokens.len())
            .filter(|at| self.text(at + 1) == "(" && self.tokens[*at].kind == Kind::Name)
            .filter(|at| !matches!(self.text(*at), "if" | "for" | "while" | "switch"))
            .filter(|at| self.tokens[at - 1].kind == Kind::Name || matches!(self.text(at - 1), "*" | "&" | ">"))
            .filter_map(|at| {
                let open = self.closed(at + 1);
                (self.text(open) == "{").then(|| (at, open..self.closed(open)))
            })
            .collect();
        loop {
            let before = self.collective.len();
            for (name, body) in &bodies {
                if self.collective(body.clone()).is_some() {
                    self.collective.insert(self.text(*name));
                }
            }
            if self.collective.len() == before {
                return;
            }
        }
    }

    /// Returns the first collective of all lanes in a range: its name, or that of the function with it.
    fn collective(&self, range: Range<usize>) -> Option<&'a str> {
        range.clone().find_map(|at| {
            let name = self.text(at);
            let full = |at| {
                self.number(at) == Some(0xffff_ffff)
                    || self.masks.contains(self.text(at))
                    || self.text(at) == "~" && self.number(at + 1) == Some(0)
                    || self.text(at) == "-" && self.number(at + 1) == Some(1)
            };
            let is_collective = is_sync(name) && full(at + 2) || self.collective.contains(name);
            (is_collective && self.text(at + 1) == "(").then_some(name)
        })
    }

    /// Returns whether a token is the lane of a thread, or has the operator behind it that makes it one.
    fn is_lane(&self, at: usize) -> bool {
        let name = self.text(at);
        if self.lanes.contains(name) || (is_index(name) && name.to_ascii_lowercase().contains("lane")) {
            return true;
        }
        let end = match (name, self.text(at + 1)) {
            ("threadIdx", ".") if self.text(at + 2) == "x" => at + 3,
            _ if self.indices.contains(name) || is_index(name) => at + 1,
            _ => return false,
        };
        match (self.text(end), self.number(end + 1)) {
            ("%", Some(by)) => by <= 32,
            ("&", Some(mask)) => mask < 32,
            ("%", None) => self.text(end + 1) == "warpSize",
            _ => false,
        }
    }

    /// Returns whether a condition differs between the lanes of a warp.
    fn is_of_lanes(&self, range: Range<usize>) -> bool {
        range.clone().any(|at| {
            let name = self.text(at);
            let end = match name {
                "threadIdx" if self.text(at + 2) == "x" => at + 3,
                _ if self.indices.contains(name) => at + 1,
                _ => return self.is_lane(at),
            };
            let number = self.number(end + 1).filter(|_| !matches!(self.text(end + 2), "*" | "/"));
            self.is_lane(at)
                || match (self.text(end), number) {
                    ("<" | ">=", Some(limit)) => limit % 32 != 0,
                    ("<=" | ">", Some(limit)) => limit % 32 != 31,
                    ("==" | "!=", Some(_)) => true,
                    _ => false,
                }
        })
    }
}
