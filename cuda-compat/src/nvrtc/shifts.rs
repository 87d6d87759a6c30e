//! Shifts by as many bits as a number has, or more: NVIDIA's GPUs shift everything out, and C++ leaves the result
//! undefined. AMD's GPUs use the low bits of the amount.

use super::lanes::tokens::{Kind, Token, tokens};

/// The macros of the prelude (`shifts.h`) that follow an operator.
const AMOUNT: &str = " CUDA_COMPAT_AMOUNT ";
const ASSIGNED: &str = " CUDA_COMPAT_ASSIGNED_AMOUNT ";

/// The translation of `--saturating-shifts=false`: shifts are those of C++.
pub(super) const PLAIN: &str = "-DCUDA_COMPAT_SATURATING_SHIFTS=0";

/// Returns a program with a macro behind each operator that shifts by an amount that is not a plain number.
///
/// The macro turns the amount into a type of the prelude, which has operators for shifts. Lines stay the same.
pub(super) fn saturating(source: &str) -> String {
    let tokens = tokens(source);
    let mut is_code = vec![true; tokens.len()];
    for at in 0..tokens.len() {
        if tokens[at].text == "#"
            && matches!(text(&tokens, at + 1), "if" | "elif" | "pragma" | "include" | "error" | "line")
        {
            directive(&tokens, at).for_each(|at| is_code[at] = false);
        }
    }
    let (mut result, mut done) = (String::with_capacity(source.len()), 0);
    for (at, token) in tokens.iter().enumerate().filter(|(at, _)| is_code[*at]) {
        if let Some(insert) = macro_behind(&tokens, at) {
            let end = token.text.as_ptr() as usize - source.as_ptr() as usize + token.text.len();
            result.push_str(&source[done..end]);
            result.push_str(insert);
            done = end;
        }
    }
    result.push_str(&source[done..]);
    result
}

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

/// Returns the tokens of the directive that starts at a `#`: to the end of its line, which a backslash continues.
fn directive(tokens: &[Token<'_>], start: usize) -> std::ops::Range<usize> {
    let (mut line, mut end) = (tokens[start].line, start + 1);
    while let Some(token) = tokens.get(end) {
        let is_continued = tokens[end - 1].text == "\\" && token.line == line + 1;
        if token.line != line && !is_continued {
            break;
        }
        (line, end) = (token.line, end + 1);
    }
    start..end
}

/// Returns the macro that belongs behind a token.
fn macro_behind(tokens: &[Token<'_>], at: usize) -> Option<&'static str> {
    let insert = match tokens[at].text {
        "<<" | ">>" => AMOUNT,
        "<<=" | ">>=" => ASSIGNED,
        _ => return None,
    };
    let next = tokens.get(at + 1)?;
    let before = at.checked_sub(1).map_or("", |before| text(tokens, before));
    let is_operand = match next.kind {
        // A number alone is known when compiling.
        Kind::Number => matches!(text(tokens, at + 2), "+" | "-" | "*" | "/" | "%"),
        Kind::Name => true,
        Kind::Text => false,
        Kind::Operator => matches!(next.text, "(" | "-" | "+" | "~" | "!" | "*" | "&" | "::"),
    };
    let is_shift = is_operand && !matches!(before, "operator" | "<" | "<<" | ">>") && !closes_templates(tokens, at);
    is_shift.then_some(insert)
}

/// Returns whether `>>` closes two lists of template arguments: two `<` before it are open.
fn closes_templates(tokens: &[Token<'_>], at: usize) -> bool {
    if tokens[at].text != ">>" {
        return false;
    }
    let (mut brackets, mut closed, mut open) = (0_usize, 0_usize, 0);
    for token in tokens[..at].iter().rev() {
        match token.text {
            ")" | "]" | "}" => brackets += 1,
            "(" | "[" | "{" if brackets == 0 => return false,
            "(" | "[" | "{" => brackets -= 1,
            _ if brackets > 0 => {}
            ";" => return false,
            ">" => closed += 1,
            ">>" => closed += 2,
            "<" if closed > 0 => closed -= 1,
            "<" if open == 1 => return true,
            "<" => open += 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a program, with `@` where the macro is expected.
    #[track_caller]
    fn becomes(expected: &str) {
        let source = expected.replace('@', "");
        assert_eq!(saturating(&source), expected.replace("=@", &format!("={ASSIGNED}")).replace('@', AMOUNT));
    }

    #[test]
    fn amounts_that_are_not_numbers_are_marked() {
        becomes("x = 1u <<@ n; y = x >>@ (n + 1) & 1; z <<=@ n; z >>=@ -n;");
        becomes("x = 1 << 3; y = x >> 0x10u; z <<= 2; s << \"text\";");
        becomes("x = 1 <<@ 3 + n; y = a <<@ b <<@ c; w = x >>@ 32 - n;");
        becomes("#define BIT(n) (1u <<@ (n))\n#define TWO (1 << 2)");
    }

    #[test]
    fn what_is_no_shift_stays() {
        becomes("Vector<Array<int, 2>> x; f<g<T>>(y); std::array<std::pair<int, T>>& r = q; A<B<C<D>>> z;");
        becomes(
            "template <class T, class = enable_if_t<is_same_v<T, Pair<int>>>> void f(); operator<<(Stream &s, int n);",
        );
        becomes("#if FLAGS >> SHIFT & \\\n 1 << N\nint x = a >>@ b;\n#endif");
        becomes("kernel<<<grid, block>>>(x); // a << b\n/* a >> b */ auto s = R\"(a << b)\"; char c = '<';");
    }

    #[test]
    fn comparisons_do_not_open_templates() {
        becomes("if (a < b && (c >>@ d) > e) {} for (int i = 0; i < n; ++i) x += y >>@ i;");
        becomes("bool less = a < b; int x = c >>@ d;");
    }

    #[test]
    fn any_text_is_taken() {
        let source = "#if 1 << n \\\n a << b << (c >>= d) A<B<C>> x é \"<<\" <<";
        for (at, _) in source.char_indices() {
            saturating(&source[..at]);
            saturating(&source[at..]);
        }
    }
}
