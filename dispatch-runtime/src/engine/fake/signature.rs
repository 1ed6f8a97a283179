//! The arguments and results that a StableHLO text names, without a compiler.

use crate::{Aval, DType, Error, Result};

/// Arguments, results, and which arguments are donated.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) inputs: Vec<Aval>,
    pub(super) outputs: Vec<Aval>,
    pub(super) donors: Vec<bool>,
}

/// Reads the comment line `// fake: f32[4], f32[] donated -> f32[4]` or, without one, the signature of `@main`. An
/// argument is a donor if either says so.
pub(super) fn read(text: &str) -> Result<Signature> {
    let main = main_signature(text);
    let comment = text.lines().find_map(|line| line.trim().strip_prefix("// fake:"));
    let Some(comment) = comment else {
        return main;
    };
    let mut signature = comment_signature(comment)?;
    if let Ok(main) = main {
        for (donor, marked) in signature.donors.iter_mut().zip(main.donors) {
            *donor |= marked;
        }
    }
    Ok(signature)
}

fn comment_signature(comment: &str) -> Result<Signature> {
    let (inputs, outputs) = comment.split_once("->").ok_or_else(|| {
        invalid(format!("the comment `// fake:{comment}` has no `->` between arguments and results"))
    })?;
    let inputs = split_list(inputs);
    Ok(Signature {
        donors: inputs.iter().map(|a| a.ends_with(" donated")).collect(),
        inputs: inputs.iter().map(|a| short_aval(a.trim_end_matches(" donated"))).collect::<Result<_>>()?,
        outputs: split_list(outputs).iter().map(|a| short_aval(a)).collect::<Result<_>>()?,
    })
}

/// `f32[2,3]`.
fn short_aval(text: &str) -> Result<Aval> {
    let wrong = || invalid(format!("`{text}` is no dtype with a shape, such as `f32[2,3]`"));
    let (dtype, sizes) = text.trim().strip_suffix(']').and_then(|t| t.split_once('[')).ok_or_else(wrong)?;
    let sizes = sizes.split(',').map(str::trim).filter(|s| !s.is_empty());
    let shape: Vec<u32> = sizes.map(|s| s.parse().map_err(|_| wrong())).collect::<Result<_>>()?;
    Ok(Aval::new(dtype.parse()?, shape.into_iter().map(i64::from).collect::<Vec<i64>>()))
}

fn main_signature(text: &str) -> Result<Signature> {
    let start = text.find("@main(").ok_or_else(|| {
        invalid("the fake engine takes arguments and results from `@main` or a line `// fake: … -> …`".into())
    })?;
    let rest = &text[start + "@main".len()..];
    let inputs = parenthesised(rest)?;
    let outputs = match rest[inputs.len() + 2..].trim_start().strip_prefix("->").map(str::trim_start) {
        None => "",
        Some(list) if list.starts_with('(') => parenthesised(list)?,
        Some(one) => &one[..type_end(one)?],
    };
    let inputs = split_list(inputs);
    Ok(Signature {
        donors: inputs.iter().map(|a| a.contains("jax.buffer_donor = true")).collect(),
        inputs: inputs.iter().map(|a| tensor(a)).collect::<Result<_>>()?,
        outputs: split_list(outputs).iter().map(|a| tensor(a)).collect::<Result<_>>()?,
    })
}

/// The first `tensor<2x3xf32>` in a text.
fn tensor(text: &str) -> Result<Aval> {
    let wrong =
        || invalid(format!("`{text}` has no type that the fake engine knows, such as `tensor<2x3xf32>`"));
    let start = text.find("tensor<").ok_or_else(wrong)?;
    let text = &text[start..];
    let mut element = &text["tensor<".len()..type_end(text)? - 1];
    let mut shape = Vec::new();
    while let Some((size, rest)) =
        element.split_once('x').filter(|(s, _)| s.bytes().all(|b| b.is_ascii_digit()))
    {
        shape.push(size.parse::<i64>().map_err(|_| wrong())?);
        element = rest;
    }
    let dtype = DType::ALL.iter().find(|d| d.mlir() == element).ok_or_else(wrong)?;
    Ok(Aval::new(*dtype, shape))
}

/// The length of the type that a text begins with: up to the bracket that closes its first one.
fn type_end(text: &str) -> Result<usize> {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 1 => return Ok(i + 1),
            '>' => depth -= 1,
            _ => {}
        }
    }
    Err(invalid(format!("`{text}` has a type without an end")))
}

/// What stands between the parenthesis that a text begins with and the one that closes it.
fn parenthesised(text: &str) -> Result<&str> {
    let mut scan = Scan::default();
    for (i, c) in text.char_indices() {
        scan.step(c);
        if scan.depth == 0 {
            return Ok(&text[1..i]);
        }
    }
    Err(invalid(format!("`{text}` has a parenthesis without an end")))
}

/// Splits at the commas outside of brackets and strings. No text, no elements.
fn split_list(text: &str) -> Vec<&str> {
    let mut scan = Scan::default();
    let mut start = 0;
    let mut parts = Vec::new();
    for (i, c) in text.char_indices() {
        scan.step(c);
        if c == ',' && scan.depth == 0 && !scan.quoted {
            parts.push(text[start..i].trim());
            start = i + 1;
        }
    }
    parts.push(text[start..].trim());
    if parts == [""] {
        parts.clear();
    }
    parts
}

/// Brackets that are open outside of strings, up to a point in the text.
#[derive(Default)]
struct Scan {
    depth: usize,
    quoted: bool,
}

impl Scan {
    fn step(&mut self, c: char) {
        match c {
            '"' => self.quoted = !self.quoted,
            '(' | '<' | '{' | '[' if !self.quoted => self.depth += 1,
            ')' | '>' | '}' | ']' if !self.quoted => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

fn invalid(reason: String) -> Error {
    Error::InvalidProgram { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let s = read(text).unwrap();
        format!("{:?} {:?} -> {:?}", s.inputs, s.donors, s.outputs)
    }

    #[test]
    fn the_comment_names_arguments_donors_and_results() {
        assert_eq!(
            shown("// fake: f32[2, 3], ui8[] donated -> c64[0]"),
            "[tensor<2x3xf32>, tensor<ui8>] [false, true] -> [tensor<0xcomplex<f32>>]"
        );
        assert_eq!(shown("module {}\n  // fake: -> f32[], i1[]".replace("i1", "bool").as_str()), {
            "[] [] -> [tensor<f32>, tensor<i1>]"
        });
        assert_eq!(shown("// fake: f32[1] ->"), "[tensor<1xf32>] [false] -> []");
    }

    #[test]
    fn main_names_them_too() {
        let text = r#"module @jit attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {jax.buffer_donor = true, mhlo.sharding = "{a, (b}"}, %arg1: tensor<complex<f64>>) -> (tensor<2x3xf32> {jax.result_info = "x[0]"}, tensor<i1>) {
    return %arg0, %arg1 : tensor<2x3xf32>, tensor<complex<f64>>
  }
}"#;
        assert_eq!(
            shown(text),
            "[tensor<2x3xf32>, tensor<complex<f64>>] [true, false] -> [tensor<2x3xf32>, tensor<i1>]"
        );
        assert_eq!(shown("func.func @main() -> tensor<4xbf16> {"), "[] [] -> [tensor<4xbf16>]");
        assert_eq!(shown("func.func @main(%0: tensor<i32>) {"), "[tensor<i32>] [false] -> []");
    }

    #[test]
    fn the_comment_wins_but_donors_add_up() {
        let text = "// fake: f32[4], f32[4] -> f32[4]\n@main(%0: tensor<9xf32>, %1: tensor<9xf32> {jax.buffer_donor = true})";
        assert_eq!(shown(text), "[tensor<4xf32>, tensor<4xf32>] [false, true] -> [tensor<4xf32>]");
    }

    #[test]
    fn what_is_no_signature_is_an_error_that_quotes_it() {
        for (text, part) in [
            ("nothing", "`@main`"),
            ("// fake: f32[4]", "no `->`"),
            ("// fake: f32 -> f32[]", "`f32`"),
            ("// fake: f32[-1] -> f32[]", "`f32[-1]`"),
            ("@main(%0: tensor<?xf32>)", "tensor<?xf32>"),
            ("@main(%0: tensor<4xf32>", "without an end"),
            ("@main() -> tensor<4xf32", "without an end"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
