//! What the model keeps of the function besides its signature.

use quote::ToTokens;

use super::{family, with_params};

#[test]
fn names_of_types_are_in_camel_case() {
    for (name, want) in [
        ("scaled_matmul", "ScaledMatmul"),
        ("mm_2", "Mm2"),
        ("_hidden", "Hidden"),
        ("r#match", "Match"),
        ("f", "F"),
    ] {
        let family = family(&format!("#[dispatch_family] fn {name}() -> Result<Program> {{}}")).unwrap();
        assert_eq!(family.type_name, want);
    }
}

#[test]
fn docs_and_conditions_are_kept() {
    let family = family(
        "#[dispatch_family]
         /// Scales.
         ///
         ///   Indented.
         #[cfg(unix)]
         #[inline]
         pub fn scale(
             /// The array.
             #[dynamic(dtype = f32, shape = [m])] a: Aval,
             /** How
              often. */
             #[static_arg] n: i64,
         ) -> Result<Program> {}",
    )
    .unwrap();
    assert_eq!(family.docs.lines, ["Scales.", "", "  Indented."]);
    assert_eq!(family.cfgs.len(), 1);
    assert_eq!(family.dynamics().next().unwrap().1.docs.lines, ["The array."]);
    assert_eq!(family.statics().next().unwrap().1.docs.lines[0], "How");
    assert_eq!(family.vis.to_token_stream().to_string(), "pub");
    assert_eq!(family.item.attrs.len(), 5);
}

#[test]
fn the_item_has_no_attributes_of_the_toolkit() {
    let family = with_params(
        "/// Doc.
         #[dynamic(dtype = f32, shape = [m])] #[allow(unused)] a: Aval, #[static_arg] mut n: i64",
    );
    let params = family.item.sig.inputs.to_token_stream().to_string();
    assert_eq!(params, "# [allow (unused)] a : Aval , mut n : i64");
}
