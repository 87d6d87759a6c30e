//! LaTeX formulas as plain text: `\alpha \cdot op(A)` becomes `α · op(A)`.

/// Converts formulas in the text to code (`\f$...\f$`), or to lines between `@formula` and `@endformula` (`\f[...\f]`).
pub(super) fn replace(comment: &str) -> String {
    let text = comment.replace("@f$", "\\f$").replace("@f[", "\\f[").replace("@f]", "\\f]");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("\\f$").into_iter().chain(rest.find("\\f[")).min() {
        let display = rest[at..].starts_with("\\f[");
        let end = if display { "\\f]" } else { "\\f$" };
        let Some((formula, after)) = rest[at + 3..].split_once(end) else { break };
        out.push_str(&rest[..at]);
        if display {
            out.push_str(&format!("\n@formula\n{}\n@endformula\n", plain(formula)));
        } else {
            let words = plain(formula).split_whitespace().collect::<Vec<_>>().join(" ");
            out.push_str(&format!("`{}`", words.replace('`', "'")));
        }
        rest = after;
    }
    out + rest
}

/// Converts a formula to text, with LaTeX's line breaks.
pub(super) fn plain(latex: &str) -> String {
    let text = Converter { rest: latex }.until_end();
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n  ").replace(" ,", ",")
}

struct Converter<'a> {
    rest: &'a str,
}

impl Converter<'_> {
    /// Reads up to the closing brace, or to the end.
    fn until_end(&mut self) -> String {
        let mut out = String::new();
        while let Some(c) = self.next() {
            match c {
                '}' => break,
                '{' => out += &self.until_end(),
                '\\' => self.command(&mut out),
                '^' | '_' => {
                    out.push(c);
                    let index = self.argument();
                    let simple = index.chars().all(|c| c.is_alphanumeric() || c == '*');
                    out += &if simple { index } else { format!("({index})") };
                }
                '&' => out.push(' '),
                // Line breaks of the source do not belong to the formula.
                _ if c.is_whitespace() => out.push(' '),
                _ => out.push(c),
            }
        }
        out
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// Reads the argument of a command or an index: a group or a character.
    fn argument(&mut self) -> String {
        self.rest = self.rest.trim_start();
        match self.next() {
            Some('{') => self.until_end().trim().to_owned(),
            Some('\\') => {
                let mut out = String::new();
                self.command(&mut out);
                out
            }
            Some(c) => c.to_string(),
            None => String::new(),
        }
    }

    fn command(&mut self, out: &mut String) {
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        match name {
            "" => match self.next() {
                Some('\\') => out.push('\n'),
                Some(c @ ('{' | '}' | '_' | '%' | '#' | '&' | '|')) => out.push(c),
                _ => out.push(' '),
            },
            // Braces of all sizes; `.` means none.
            "left" | "right" | "big" | "Big" | "bigl" | "bigr" => {
                self.rest = self.rest.strip_prefix('.').unwrap_or(self.rest)
            }
            "begin" => {
                let environment = self.argument();
                if environment == "array" && self.rest.starts_with('{') {
                    self.argument();
                }
                out.push('\n');
            }
            "end" => {
                self.argument();
                out.push('\n');
            }
            "frac" | "dfrac" | "tfrac" => {
                let [above, below] = [self.argument(), self.argument()].map(in_parentheses);
                out.push_str(&format!("{above} / {below}"));
            }
            "sqrt" => out.push_str(&format!("√{}", in_parentheses(self.argument()))),
            "bar" | "overline" => out.push_str(&format!("conj({})", self.argument())),
            "text" | "mathrm" | "mathbf" | "mathit" | "mathbb" | "operatorname" | "textrm" | "texttt" => {
                // Keeps its spaces.
                if self.rest.starts_with('{') {
                    self.next();
                    *out += &self.until_end();
                }
            }
            "hline" | "displaystyle" | "limits" | "nonumber" => {}
            _ => out.push_str(symbol(name).unwrap_or(name)),
        }
    }
}

fn in_parentheses(text: String) -> String {
    if text.chars().all(char::is_alphanumeric) { text } else { format!("({text})") }
}

fn symbol(name: &str) -> Option<&'static str> {
    Some(match name {
        "alpha" => "α",
        "beta" => "β",
        "gamma" => "γ",
        "delta" => "δ",
        "epsilon" | "varepsilon" => "ε",
        "lambda" => "λ",
        "mu" => "μ",
        "pi" => "π",
        "rho" => "ρ",
        "sigma" => "σ",
        "tau" => "τ",
        "phi" => "φ",
        "omega" => "ω",
        "Sigma" => "Σ",
        "sum" => "∑",
        "prod" => "∏",
        "cdot" => "·",
        "times" => "×",
        "circ" => "∘",
        "pm" => "±",
        "le" | "leq" => "≤",
        "ge" | "geq" => "≥",
        "ne" | "neq" => "≠",
        "approx" => "≈",
        "in" => "∈",
        "infty" => "∞",
        "ldots" | "cdots" | "dots" | "vdots" | "ddots" => "…",
        "to" | "rightarrow" => "→",
        "leftarrow" => "←",
        "lfloor" => "⌊",
        "rfloor" => "⌋",
        "lceil" => "⌈",
        "rceil" => "⌉",
        "quad" | "qquad" => "  ",
        "lVert" | "rVert" | "Vert" => "‖",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{plain, replace};

    #[test]
    fn signs_indices_and_fractions() {
        assert_eq!(plain(r"y := \alpha \cdot op(A) \cdot x + \beta \cdot y,"), "y := α · op(A) · x + β · y,");
        assert_eq!(plain(r"x_{ij}^{T} \leq A^H + b_{i+1}"), "x_ij^T ≤ A^H + b_(i+1)");
        assert_eq!(plain(r"\frac{a+b}{2}\,\sqrt{n} \text{if } k"), "(a+b) / 2 √n if k");
    }

    #[test]
    fn cases_stand_in_lines() {
        let latex = "op(A) = \\left\\{\n \\begin{array}{ll}\n A, & \\text{if N == X_1} \\\\\n A^T, & \\text{if T}\n \
                     \\end{array}\n \\right.";
        assert_eq!(plain(latex), "op(A) = {\n  A, if N == X_1\n  A^T, if T");
    }

    #[test]
    fn formulas_in_a_comment() {
        assert_eq!(replace(r"a \f$m \times n\f$ matrix"), "a `m × n` matrix");
        assert_eq!(
            replace("such that\n\\f[\n y := x\n\\f]\nwith"),
            "such that\n\n@formula\ny := x\n@endformula\n\nwith"
        );
        assert_eq!(replace(r"a stray \f$"), r"a stray \f$");
    }
}
