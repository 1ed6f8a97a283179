//! Every form of the language's table, and what it becomes.

use super::{family, with_params};
use crate::syntax::{
    CaptureKind, Class, Count, DType, DTypes, DevicePolicy, Dim, Dynamic, DynamicKind, Leading, Leaves,
    Param, Pattern, Position, Shape,
};

fn dtypes(form: &str) -> DTypes {
    with_params(&format!("#[dynamic(dtype = {form}, shape = [])] a: Aval")).groups[0].dtypes.clone()
}

fn shape(form: &str) -> Pattern {
    let family = with_params(&format!("#[dynamic(dtype = any, shape = {form})] a: Aval"));
    match &leaves(&family.params[0]).shape {
        Shape::Pattern(pattern) => pattern.clone(),
        Shape::Same(_) => panic!("{form} is no pattern"),
    }
}

fn leaves(param: &Param) -> &Leaves {
    match param {
        Param::Dynamic(dynamic) => dynamic.leaves().unwrap(),
        Param::Static(_) => panic!("a static argument"),
    }
}

fn dynamic(param: &Param) -> &Dynamic {
    match param {
        Param::Dynamic(dynamic) => dynamic,
        Param::Static(_) => panic!("a static argument"),
    }
}

#[test]
fn every_dtype_by_name() {
    for dtype in DType::all() {
        assert_eq!(dtypes(dtype.name()), DTypes::One(dtype));
    }
    assert_eq!(DType::all().count(), 15);
    assert_eq!(DType::Bf16.variant(), "Bf16");
}

#[test]
fn choices_and_classes_of_dtypes() {
    assert_eq!(dtypes("[f64, f32,]"), DTypes::Choice(vec![DType::F64, DType::F32]));
    assert_eq!(dtypes("[f32]"), DTypes::One(DType::F32));
    assert_eq!(dtypes("any"), DTypes::Class(Class::Any));
    assert_eq!(dtypes("float").members(), [DType::F16, DType::Bf16, DType::F32, DType::F64]);
    assert_eq!(dtypes("int").members().len(), 8);
    assert!(!dtypes("int").members().contains(&DType::Bool));
}

#[test]
fn shapes() {
    assert_eq!(shape("[]").rank(), Some(0));
    assert_eq!(shape("[m, 128, _, m]").dims, [Dim::Captured(0), Dim::Fixed(128), Dim::Any, Dim::Captured(0)]);
    assert!(shape("[..]").is_any());
    assert_eq!(shape("[0]").dims, [Dim::Fixed(0)]);
    let leading = shape("[.., k]");
    assert_eq!((leading.leading, leading.rank()), (Some(Leading::Anonymous), None));
    let named = shape("[batch.., m, k,]");
    assert_eq!(named.leading, Some(Leading::Captured(0)));
    assert_eq!(named.dims, [Dim::Captured(1), Dim::Captured(2)]);
}

#[test]
fn references_join_a_group_and_follow_each_other() {
    let family = with_params(
        "#[dynamic(dtype = dtype(b), shape = shape(b))] a: Aval,
         #[dynamic(like(c))] b: Aval,
         #[dynamic(dtype = [f32, f64], shape = [m])] c: Aval,
         #[static_arg] n: i64,
         #[dynamic(dtype = i32, shape = shape(a))] d: Aval,
         #[dynamic(dtype = dtype(d), shape = [_, m])] e: Vec<Aval>",
    );
    assert_eq!(family.groups.len(), 2);
    assert_eq!((family.groups[0].root, &family.groups[0].members[..]), (2, &[0, 1, 2][..]));
    assert_eq!((family.groups[1].root, &family.groups[1].members[..]), (4, &[4, 5][..]));
    assert_eq!(leaves(&family.params[1]).group, 0);
    for index in [0, 1, 4] {
        assert!(matches!(leaves(&family.params[index]).shape, Shape::Same(2)), "{index}");
    }
    assert_eq!(family.captures[0].occurrences.len(), 2);
}

#[test]
fn captures_know_where_they_stand() {
    let family = with_params(
        "cx: &CompileCx,
         #[dynamic(dtype = f32, shape = [batch.., m, k])] a: Aval,
         #[static_arg] flag: bool,
         #[dynamic(dtype = f32, shape = [k, n])] b: Aval",
    );
    let names: Vec<String> = family.captures.iter().map(|capture| capture.ident.to_string()).collect();
    assert_eq!(names, ["batch", "m", "k", "n"]);
    assert_eq!(family.captures[0].kind, CaptureKind::Leading);
    assert_eq!(family.captures[0].binding().at, Position::Leading);
    assert_eq!(family.captures[1].binding().at, Position::Back(1));
    let k = &family.captures[2];
    assert_eq!((k.occurrences[0].param, k.occurrences[0].at), (0, Position::Back(0)));
    assert_eq!((k.occurrences[1].param, k.occurrences[1].at), (2, Position::Front(0)));
    assert_eq!(family.cx.unwrap(), "cx");
}

#[test]
fn a_name_is_bound_where_an_array_always_is() {
    let family = with_params(
        "#[dynamic(dtype = f32, shape = [m])] many: Vec<Aval>,
         #[dynamic(dtype = f32, shape = [m, n])] some: [Aval; 2],
         #[dynamic(dtype = f32, shape = [m])] one: Aval",
    );
    assert_eq!(family.captures[0].binding().param, 2);
    assert_eq!(family.captures[1].binding().param, 1);
}

#[test]
fn nested_inputs() {
    let family = with_params(
        "#[dynamic(dtype = f32, shape = [m])] a: Vec<Aval>,
         #[dynamic(dtype = f32, shape = [m], donate)] b: [Aval; 3],
         #[dynamic] p: models::Params<Aval>,
         #[dynamic(dtype = any, shape = [..])] c: dispatch_runtime::prelude::Aval",
    );
    assert!(matches!(leaves(&family.params[0]).count, Count::Any));
    let b = leaves(&family.params[1]);
    assert!(matches!(b.count, Count::Exactly(_)) && b.donate);
    let DynamicKind::Tree(path) = &dynamic(&family.params[2]).kind else { panic!("no tree") };
    assert_eq!(quote::quote!(#path<Array>).to_string(), "models :: Params < Array >");
    assert!(matches!(leaves(&family.params[3]).count, Count::One));
    assert_eq!(family.dynamics().count(), 4);
}

#[test]
fn graph_values_stand_wherever_abstract_values_may() {
    let family = with_params(
        "cx: &CompileCx,
         #[dynamic(dtype = f32, shape = [m])] a: Value,
         #[dynamic(like(a), donate)] b: Vec<Value>,
         #[dynamic(like(a))] c: [graph::Value; 3],
         #[dynamic] p: models::Params<Value>,
         #[dynamic(like(a))] d: Aval",
    );
    let counts: Vec<&Count> =
        family.dynamics().filter_map(|(_, field)| Some(&field.leaves()?.count)).collect();
    assert!(matches!(counts[..], [Count::One, Count::Any, Count::Exactly(_), Count::One]));
    let DynamicKind::Tree(path) = &dynamic(&family.params[3]).kind else { panic!("no tree") };
    assert_eq!(quote::quote!(#path<Array>).to_string(), "models :: Params < Array >");
    assert_eq!(family.groups[0].members, [0, 1, 2, 4]);
}

#[test]
fn statics_of_any_owned_type() {
    let family = with_params(
        "#[static_arg] mode: my::Mode, #[static_arg(default = f(1, 2))] n: Option<Vec<i64>>,
         #[static_arg(default = \"x\",)] name: &'static str, #[static_arg()] json: serde_json::Value,
         #[allow(unused)] #[static_arg] mut r#type: HashMap<String, [f64; 2]>",
    );
    let defaults: Vec<bool> = family.statics().map(|(_, fixed)| fixed.default.is_some()).collect();
    assert_eq!(defaults, [false, true, true, false, false]);
    assert_eq!(family.params[4].name(), "r#type");
    assert!(family.groups.is_empty() && family.captures.is_empty());
}

#[test]
fn options_of_a_family() {
    let family = family(
        "#[dispatch_family(capacity = CAP * 2, eviction = ByBytes(1 << 20), device = first_input,
            default_device = crate::best, context = ctx, r_export, r_name = \".scaled.matmul_2\",)]
         fn f() -> Result<Program> {}",
    );
    let options = family.unwrap().options;
    assert!(options.capacity.is_some() && options.eviction.is_some() && options.context.is_some());
    assert_eq!(options.default_device.unwrap().segments.len(), 2);
    assert_eq!(options.device, DevicePolicy::FirstInput);
    assert!(options.r_export);
    assert_eq!(options.r_name.unwrap().value(), ".scaled.matmul_2");
    let fixed = super::family("#[dispatch_family(device = fixed)] fn f() -> Result<Program> {}").unwrap();
    assert_eq!(fixed.options.device, DevicePolicy::Fixed);
    assert!(fixed.options.capacity.is_none());
}

#[test]
fn results() {
    for (form, output, error) in [
        ("Result<Program>", None, None),
        ("dispatch_runtime::Result<dispatch_runtime::Program>", None, None),
        ("Result<Program<Array>>", Some("Array"), None),
        ("Result<Program<(Array, [Array; 2])>, MyError>", Some("(Array, [Array; 2])"), Some("MyError")),
        ("Result<Program<my::Fit<Array>>, Box<dyn Error>>", Some("my::Fit<Array>"), Some("Box<dyn Error>")),
        ("Result<Program<Alias>>", Some("Alias"), None),
    ] {
        let family = family(&format!("#[dispatch_family] fn f() -> {form} {{}}")).unwrap();
        let text = |ty: Option<syn::Type>| ty.map(crate::syntax::text::text);
        assert_eq!(text(family.output.ty).as_deref(), output, "{form}");
        assert_eq!(text(family.output.error).as_deref(), error, "{form}");
    }
}
