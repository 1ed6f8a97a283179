//! Every form of the derives.

use super::derive_input;
use crate::syntax::{Count, DynamicKind, OutputKind, Shape, StaticBody, input_tree, output_tree, static_arg};

#[test]
fn an_input_tree_has_groups_and_names_of_its_own() {
    let tree = input_tree(&derive_input(
        "/// Weights.
         pub(crate) struct Params<Leaf> {
             /// The slope.
             #[dynamic(dtype = [f32, f64], shape = [m, k], donate)] pub w: Leaf,
             #[dynamic(dtype = dtype(w), shape = [k])] b: Vec<Leaf>,
             #[dynamic(like(w))] c: [Leaf; 2],
             #[dynamic] inner: other::Inner<Leaf>,
         }",
    ))
    .unwrap();
    assert_eq!(tree.header.ident, "Params");
    assert_eq!(tree.header.leaf, "Leaf");
    assert_eq!(tree.header.docs.lines, ["Weights."]);
    assert_eq!(tree.fields[0].docs.lines, ["The slope."]);
    assert_eq!(tree.groups[0].members, [0, 1, 2]);
    assert_eq!(tree.captures.len(), 2);
    assert!(tree.fields[0].leaves().unwrap().donate);
    assert!(matches!(tree.fields[1].leaves().unwrap().count, Count::Any));
    assert!(matches!(tree.fields[2].leaves().unwrap().shape, Shape::Same(0)));
    assert!(matches!(tree.fields[3].kind, DynamicKind::Tree(_)));
}

#[test]
fn an_output_tree_may_also_be_an_input_tree() {
    let source = "struct Fit<T = Array> {
        #[dynamic(dtype = f64, shape = [n])] coef: T,
        #[dynamic(dtype = f64, shape = [n])] steps: [T; 3],
        #[dynamic] inner: Other<T>,
    }";
    let tree = output_tree(&derive_input(source)).unwrap();
    assert!(matches!(tree.fields[0].kind, OutputKind::Leaf));
    assert!(matches!(tree.fields[1].kind, OutputKind::Array(_)));
    assert!(matches!(tree.fields[2].kind, OutputKind::Tree(_)));
    assert!(input_tree(&derive_input(source)).is_ok());
}

#[test]
fn static_types_are_structs_and_enums() {
    let arg = static_arg(&derive_input("struct Pair<T: Clone, const N: usize>(T, [i64; N]);")).unwrap();
    assert_eq!(arg.generics.params.len(), 2);
    let StaticBody::Struct(fields) = arg.body else { panic!("no struct") };
    assert_eq!(fields.len(), 2);
    let arg = static_arg(&derive_input("enum Mode { Fast, Slow { steps: u32 }, By(f64) }")).unwrap();
    let StaticBody::Enum(variants) = arg.body else { panic!("no enum") };
    let counts: Vec<usize> = variants.iter().map(|variant| variant.fields.len()).collect();
    assert_eq!(counts, [0, 1, 1]);
    assert!(
        matches!(static_arg(&derive_input("struct Unit;")).unwrap().body, StaticBody::Struct(none) if none.is_empty())
    );
}
