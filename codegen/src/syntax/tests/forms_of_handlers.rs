//! Every form of a handler's declaration, and what it becomes.

use syn::Type;

use super::{derive_input, handler};
use crate::syntax::{
    AttrBody, CaptureKind, Class, Ctx, DType, DTypes, Dim, Handler, HandlerKind, Place, Returns, Shape,
    Sharing, Side, Stage, attr_value,
};

fn with_params(params: &str) -> Handler {
    handler(&format!("#[ffi_handler] fn f({params}) -> ffi::Result<()> {{}}")).unwrap()
}

fn text(ty: &Type) -> String {
    crate::syntax::text::text(ty)
}

/// The dtypes that the buffer of this index allows.
fn dtypes(handler: &Handler, index: usize) -> DTypes {
    let (_, _, buffer) = handler.buffers().find(|(at, ..)| *at == index).unwrap();
    handler.groups[buffer.leaves().unwrap().group].dtypes.clone()
}

#[test]
fn a_handler_with_buffers_and_an_attribute() {
    let handler = handler(
        "#[ffi_handler]
        /// Adds.
        pub fn rotate_add(
            #[arg(dtype = f32, shape = [m])] b: Buffer<f32>,
            #[arg(dtype = f32, shape = [n])] c: Buffer<f32>,
            #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
            /// The factor.
            #[attr(default = 1.0)] scale: f32,
        ) -> ffi::Result<()> {}",
    )
    .unwrap();
    assert_eq!(handler.static_name, "ROTATE_ADD");
    assert_eq!(handler.docs.lines, ["Adds."]);
    assert_eq!(handler.params[3].docs.lines, ["The factor."]);
    assert_eq!(handler.captures.iter().map(|c| c.ident.to_string()).collect::<Vec<_>>(), ["m", "n"]);
    assert!(handler.captures.iter().all(|capture| capture.kind == CaptureKind::Dim));
    assert_eq!(handler.captures[1].binding().param, 1);
    assert_eq!(
        handler.buffers().map(|(index, side, _)| (index, side)).collect::<Vec<_>>(),
        [(0, Side::Arg), (1, Side::Arg), (2, Side::Ret)]
    );
    let (param, scale) = handler.attrs().next().unwrap();
    assert_eq!(
        (param.name.to_string(), scale.name.value(), text(&scale.ty)),
        ("scale".into(), "scale".into(), "f32".into())
    );
    assert!(scale.default.is_some() && !scale.optional);
    assert!(matches!(handler.returns, Returns::Nothing));
}

#[test]
fn a_buffer_takes_its_dtype_from_its_type() {
    let handler = with_params(
        "#[arg] a: Buffer<f16>, #[arg] b: ffi::AnyBuffer, #[arg(dtype = [f32, f64])] c: AnyBuffer,
         #[arg(dtype = dtype(c), shape = [m])] d: AnyBuffer, #[arg(dtype = c64)] e: Buffer<Complex<f32>>,
         #[arg] f: Option<Buffer<'_, Complex64>>, #[ret(like(a))] g: BufferMut<f16>",
    );
    assert_eq!(dtypes(&handler, 0), DTypes::One(DType::F16));
    assert_eq!(dtypes(&handler, 1), DTypes::Class(Class::Any));
    assert_eq!(dtypes(&handler, 2), DTypes::Choice(vec![DType::F32, DType::F64]));
    assert_eq!(dtypes(&handler, 3), dtypes(&handler, 2));
    assert_eq!(dtypes(&handler, 4), DTypes::One(DType::C64));
    assert_eq!(dtypes(&handler, 5), DTypes::One(DType::C128));
    assert_eq!(dtypes(&handler, 6), DTypes::One(DType::F16));
    let shapes: Vec<&Shape> = handler.buffers().map(|(_, _, b)| &b.leaves().unwrap().shape).collect();
    assert!(matches!(shapes[0], Shape::Pattern(pattern) if pattern.is_any()));
    assert!(matches!(shapes[3], Shape::Pattern(pattern) if pattern.dims == [Dim::Captured(0)]));
    assert!(matches!(shapes[6], Shape::Same(0)));
}

#[test]
fn places_of_every_kind() {
    let handler = with_params(
        "#[arg] t: Token, #[arg] o: Option<AnyBuffer>, #[ret] u: Token, #[ret] v: Option<TokenMut>,
         #[arg] a: RemainingArgs, #[ret] r: ffi::RemainingRets",
    );
    let kinds = |side| {
        let kind = |place: &Place| match place {
            Place::Buffer(..) => "buffer",
            Place::Token { .. } => "token",
            Place::Remaining => "remaining",
        };
        handler.places(side).map(|(_, _, place)| (kind(place), place.is_optional())).collect::<Vec<_>>()
    };
    assert_eq!(kinds(Side::Arg), [("token", false), ("buffer", true), ("remaining", false)]);
    let shared = with_params("#[arg] x: ffi::Aliased, #[ret(like(x), alias = x)] y: AnyBufferMut");
    let sharing: Vec<Sharing> = shared
        .params
        .iter()
        .map(|param| match &param.kind {
            HandlerKind::Place(_, Place::Buffer(_, sharing)) => *sharing,
            _ => panic!("no buffer"),
        })
        .collect();
    assert_eq!(sharing, [Sharing::Lent, Sharing::TakesOver(0)]);
    assert_eq!(kinds(Side::Ret), [("token", false), ("token", true), ("remaining", false)]);
}

#[test]
fn attributes_of_every_kind() {
    let handler = with_params(
        "#[attr] a: bool, #[attr] b: i8, #[attr] c: Complex<f64>, #[attr] d: &str, #[attr] e: &[u64],
         #[attr] f: Option<&'_ str>, #[attr] g: ffi::Dictionary<'_>, #[attr] h: Option<Range>,
         #[attr(name = \"in\", default = 3)] i: u32, #[attr] r#type: i64, #[attr] j: ffi::Pointer,
         #[attrs] all: ffi::Dictionary<'_>",
    );
    let attrs: Vec<_> = handler
        .attrs()
        .map(|(_, a)| (a.name.value(), text(&a.ty), a.optional, a.default.is_some()))
        .collect();
    let of = |name: &str| attrs.iter().find(|(got, ..)| got == name).unwrap().clone();
    assert_eq!(of("e").1, "&[u64]");
    assert_eq!((of("f").1.as_str(), of("f").2), ("&'_ str", true));
    assert_eq!((of("h").1.as_str(), of("h").2), ("Range", true));
    assert!(of("in").3 && !of("in").2);
    assert_eq!(of("type").1, "i64");
    assert!(handler.takes_all_attrs());
}

#[test]
fn the_context_and_stages() {
    let execute = handler(
        "#[ffi_handler(target = \"plan.run\", instantiate = plans::make_plan, command_buffer)]
        fn run(#[ctx] s: ffi::State<'_, Plan>, #[ctx] u: UserData<Mutex<i32>>, #[ctx] p: ThreadPool) -> ffi::Future {}",
    )
    .unwrap();
    assert_eq!(execute.options.target.as_ref().unwrap().value(), "plan.run");
    assert_eq!(execute.options.instantiate.as_ref().unwrap().segments.len(), 2);
    assert!(execute.options.command_buffer && execute.options.stage == Stage::Execute);
    let ctx = |index: usize| match &execute.params[index].kind {
        HandlerKind::Ctx(Ctx::State(ty) | Ctx::UserData(ty)) => text(ty),
        HandlerKind::Ctx(Ctx::ThreadPool) => "pool".to_owned(),
        _ => panic!("no context"),
    };
    assert_eq!([ctx(0), ctx(1), ctx(2)], ["Plan", "Mutex<i32>", "pool"]);
    assert!(matches!(execute.returns, Returns::Future));
    let make =
        handler("#[ffi_handler(stage = instantiate)] fn make_plan(#[attr] n: i64) -> ffi::Result<Plan> {}");
    let make = make.unwrap();
    assert_eq!(make.options.stage, Stage::Instantiate);
    assert!(matches!(&make.returns, Returns::State(ty) if text(ty) == "Plan"));
    let maybe = handler("#[ffi_handler] fn f() -> ffi::Result<ffi::Future, ffi::Error> {}").unwrap();
    assert!(matches!(maybe.returns, Returns::MaybeFuture));
}

#[test]
fn values_of_attributes() {
    let command =
        attr_value(&derive_input("#[derive(Clone)] #[repr(i32)] enum Command { Add = 0, Mul = 1 }")).unwrap();
    assert!(matches!(&command.body, AttrBody::Enum(int, variants) if int == "i32" && variants.len() == 2));
    let options = attr_value(&derive_input(
        "struct Options<'a> { lo: i64, #[attr(name = \"hi\", default = 3)] high: i64, s: Option<&'a str> }",
    ))
    .unwrap();
    let AttrBody::Struct(fields) = options.body else { panic!("a struct") };
    let members: Vec<_> = fields.iter().map(|f| (f.attr.name.value(), f.attr.optional)).collect();
    assert_eq!(members, [("lo".into(), false), ("hi".into(), false), ("s".into(), true)]);
}
