//! Marking the arguments that a program may take over.

#[cfg(any(feature = "graph", test))]
use std::fmt::Write as _;

use super::mlir::main_arguments;
use crate::{Error, Result};

/// The attribute by which XLA may give an argument's memory to a result.
const DONOR: &str = "jax.buffer_donor";
/// The attribute by which a program itself gives an argument's memory to a certain result; it is left alone.
const ALIAS: &str = "tf.aliasing_output";

/// Writes `jax.buffer_donor = true` on the arguments of `@main` that `donated` marks, in StableHLO text.
///
/// An error if there is no `@main`, or if it has fewer arguments than `donated` has elements.
pub fn mark_donors(text: &str, donated: &[bool]) -> Result<String> {
    if !donated.contains(&true) {
        return Ok(text.to_owned());
    }
    let invalid =
        |reason: String| Error::InvalidProgram { reason: format!("{reason}, so no argument can be donated") };
    let arguments = main_arguments(text).map_err(invalid)?;
    if arguments.len() < donated.len() {
        return Err(invalid(format!(
            "its `@main` has {} arguments, the family {}",
            arguments.len(),
            donated.len()
        )));
    }
    let mut out = String::with_capacity(text.len() + 32 * donated.len());
    let mut copied = 0;
    for argument in
        arguments.iter().zip(donated).filter(|(_, donated)| **donated).map(|(argument, _)| argument)
    {
        match &argument.attributes {
            None => {
                out.push_str(&text[copied..argument.ty.end]);
                out.push_str(" {jax.buffer_donor = true}");
                copied = argument.ty.end;
            }
            Some(inside) => {
                let entries = &text[inside.clone()];
                let Some(known) = entry(entries, DONOR) else {
                    if entry(entries, ALIAS).is_none() {
                        out.push_str(&text[copied..inside.start]);
                        out.push_str("jax.buffer_donor = true");
                        out.push_str(if entries.trim().is_empty() { "" } else { ", " });
                        copied = inside.start;
                    }
                    continue;
                };
                out.push_str(&text[copied..inside.start + known.start]);
                out.push_str("jax.buffer_donor = true");
                copied = inside.start + known.end;
            }
        }
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

/// Gives `@main`, in StableHLO text, an argument behind the others for each of its results, which nothing reads: the
/// result takes over its memory.
///
/// An error if there is no `@main`.
#[cfg(any(feature = "graph", test))]
pub(crate) fn take_results(text: &str, results: &[crate::Aval]) -> Result<String> {
    let invalid = |reason: String| Error::InvalidProgram {
        reason: format!("{reason}, so no memory can be given for its results"),
    };
    let (arguments, end) = super::mlir::main_function(text).map_err(invalid)?;
    // A name that the text does not have, whatever it names there.
    let mut name = String::from("%into");
    while text.contains(&name) {
        name.push('_');
    }
    let mut added = String::new();
    for (i, result) in results.iter().enumerate() {
        let comma = if arguments.is_empty() && i == 0 { "" } else { ", " };
        let _ = write!(added, "{comma}{name}{i}: {result} {{{ALIAS} = {i} : i32}}");
    }
    Ok([&text[..end], &added, &text[end..]].concat())
}

/// The entry of this name in the inside of an attribute dictionary, with its value.
fn entry(inside: &str, name: &str) -> Option<std::ops::Range<usize>> {
    super::mlir::entries(inside)
        .into_iter()
        .find(|(key, _)| key.trim_matches('"') == name)
        .map(|(_, range)| range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aval, DType};

    fn mark(text: &str, donated: &[bool]) -> String {
        mark_donors(text, donated).unwrap()
    }

    #[test]
    fn only_the_donated_arguments_are_marked() {
        let text = "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {";
        assert_eq!(mark(text, &[false, false]), text);
        assert_eq!(
            mark(text, &[false, true]),
            "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32> {jax.buffer_donor = true}) -> tensor<2xf32> {"
        );
        assert_eq!(
            mark(text, &[true]),
            "func.func @main(%a: tensor<2xf32> {jax.buffer_donor = true}, %b: tensor<2xf32>) -> tensor<2xf32> {"
        );
    }

    #[test]
    fn attributes_that_are_there_stay() {
        let text = r#"func.func public @main(%arg0: tensor<2xf32> {jax.arg_info = "x, {y}", mhlo.sharding = "{}"} loc("a"), %arg1: tensor<f32> {}) {"#;
        assert_eq!(
            mark(text, &[true, true]),
            r#"func.func public @main(%arg0: tensor<2xf32> {jax.buffer_donor = true, jax.arg_info = "x, {y}", mhlo.sharding = "{}"} loc("a"), %arg1: tensor<f32> {jax.buffer_donor = true}) {"#
        );
    }

    #[test]
    fn a_mark_that_is_there_is_not_doubled() {
        let marked = "func.func @main(%a: tensor<2xf32> {jax.buffer_donor = true}) {";
        assert_eq!(mark(marked, &[true]), marked);
        assert_eq!(mark("func.func @main(%a: tensor<2xf32> {jax.buffer_donor = false}) {", &[true]), marked);
        assert_eq!(mark("func.func @main(%a: tensor<2xf32> {jax.buffer_donor}) {", &[true]), marked);
        assert_eq!(
            mark(
                "func.func @main(%a: tensor<2xf32> {x = [1, 2], \"jax.buffer_donor\" = false , y}) {",
                &[true]
            ),
            "func.func @main(%a: tensor<2xf32> {x = [1, 2], jax.buffer_donor = true , y}) {"
        );
        let aliased = "func.func @main(%a: tensor<2xf32> {tf.aliasing_output = 0 : i32}) {";
        assert_eq!(mark(aliased, &[true]), aliased);
        // The name within a string or a nested dictionary is no mark.
        assert_eq!(
            mark(
                "func.func @main(%a: tensor<f32> {x = \"jax.buffer_donor\", y = {jax.buffer_donor = false}}) {",
                &[true]
            ),
            "func.func @main(%a: tensor<f32> {jax.buffer_donor = true, x = \"jax.buffer_donor\", y = {jax.buffer_donor = false}}) {"
        );
    }

    #[test]
    fn comments_locations_and_line_breaks_are_skipped() {
        let text = "// func.func @main(%no: tensor<f32>)\nmodule {\n  func.func @main(\n    %a: tensor<2xf32> // , )\n    ,\n    %b: tensor<f32> loc(#loc1)\n  ) -> tensor<f32> {";
        assert_eq!(
            mark(text, &[true, true]),
            "// func.func @main(%no: tensor<f32>)\nmodule {\n  func.func @main(\n    %a: tensor<2xf32> {jax.buffer_donor = true} // , )\n    ,\n    %b: tensor<f32> {jax.buffer_donor = true} loc(#loc1)\n  ) -> tensor<f32> {"
        );
    }

    #[test]
    fn nested_types_and_quoted_names_are_units() {
        let text = "func.func @\"main\"(%a: tensor<2xf32, #enc<{x = (i32) -> i32}>>, %b: !t) {";
        assert_eq!(
            mark(text, &[true, true]),
            "func.func @\"main\"(%a: tensor<2xf32, #enc<{x = (i32) -> i32}>> {jax.buffer_donor = true}, %b: !t {jax.buffer_donor = true}) {"
        );
    }

    #[test]
    fn results_get_arguments_of_their_own() {
        let avals = [Aval::new(DType::F32, [2]), Aval::new(DType::Bool, [])];
        let text =
            "func.func @f(%x: i1) {} func.func @main(%a: tensor<f32> {x = 1} // , )\n ) -> tensor<f32> {";
        assert_eq!(
            take_results(text, &avals[..1]).unwrap(),
            "func.func @f(%x: i1) {} func.func @main(%a: tensor<f32> {x = 1} // , )\n , \
             %into0: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> tensor<f32> {"
        );
        assert_eq!(
            take_results("func.func @main() { %into = %into_0 }", &avals).unwrap(),
            "func.func @main(%into__0: tensor<2xf32> {tf.aliasing_output = 0 : i32}, \
             %into__1: tensor<i1> {tf.aliasing_output = 1 : i32}) { %into = %into_0 }"
        );
        assert_eq!(take_results("func.func @main()", &[]).unwrap(), "func.func @main()");
        assert!(take_results("func.func @other() {", &avals).is_err());
    }

    #[test]
    fn text_without_the_argument_is_an_error() {
        let error = mark_donors("func.func @main(%a: tensor<f32>) {", &[false, true]).unwrap_err();
        assert_eq!(error.code(), "invalid_program");
        assert!(error.to_string().contains("1 arguments"), "{error}");
        assert!(mark_donors("func.func @other(%a: tensor<f32>) {", &[true]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_marked_or_refused(
            pieces in proptest::collection::vec(proptest::sample::select(vec![
                "func.func", " ", "@main", "(", ")", "%a", ":", "tensor<2xf32>", ",", "{", "}", "\"", "\\", "//", "\n",
                "<", ">", "->", "loc", "jax.buffer_donor", "= true", "é", "@\"main\"", "x = 1", "public", "[", "]",
            ]), 0..40),
            front in proptest::bool::ANY,
        ) {
            let start = if front { "func.func @main(%a: tensor<2xf32>, %b: " } else { "" };
            let text = format!("{start}{}", pieces.concat());
            if let Ok(marked) = mark_donors(&text, &[true]) {
                proptest::prop_assert!(marked.contains(DONOR) || marked.contains(ALIAS));
                proptest::prop_assert_eq!(mark_donors(&marked, &[true]).unwrap(), marked);
            }
        }
    }
}
