//! Shapes that no array has, and programs that are not what they seem: errors, on a plugin that would end the process
//! or compute with the wrong bytes.

use dispatch_runtime::prelude::*;

#[dispatch_family]
fn identity(#[dynamic(dtype = any, shape = [..])] x: Aval) -> Result<Program> {
    Program::stablehlo(format!("func.func @main(%x: {x}) -> {x} {{ return %x : {x} }}"))
}

#[test]
fn a_shape_that_no_array_has_is_an_error_wherever_its_zero_stands() {
    let client = Client::cpu().unwrap();
    let family = Identity::new(&client);
    let none: &[f32] = &[];
    for shape in [[i64::MAX, 0], [0, i64::MAX]] {
        assert_eq!(family.call((none, shape)).unwrap_err().code(), "shape");
        assert_eq!(client.array(none, shape).unwrap_err().code(), "shape");
    }
    assert_eq!(client.array(none, [i64::MAX, i64::MAX, 0]).unwrap_err().code(), "shape");
    assert!(Aval::try_new(DType::F32, [1 << 32, 1 << 32]).is_none());
    let mut rank = vec![1; (1 << 24) + 1];
    rank[0] = 0;
    assert_eq!(client.array(none, rank).unwrap_err().code(), "shape");
    assert_eq!(family.stats().misses, 0);
}

#[test]
fn a_program_with_a_type_that_no_array_has_is_not_compiled() {
    #[dispatch_family]
    fn vast(#[static_arg] ty: String) -> Result<Program> {
        Program::stablehlo(format!(
            "func.func @main() -> {ty} {{ %0 = stablehlo.constant dense<0.0> : {ty} return %0 : {ty} }}"
        ))
    }
    let family = Vast::new(&Client::cpu().unwrap());
    for ty in ["tensor<4611686018427387904x2x2x0xf32>", "tensor<9223372036854775807xf32>"] {
        let error = family.call(ty.into()).unwrap_err();
        assert_eq!(error.code(), "invalid_program");
        assert!(error.to_string().contains(ty), "{error}");
    }
}

/// A program whose real `@main`, by an escaped name or in the generic form, takes other bytes of the same size than
/// the decoy that a reader of the text finds.
#[test]
fn a_decoy_of_main_does_not_hide_what_the_program_takes() {
    #[dispatch_family]
    fn bait(#[dynamic(dtype = f32, shape = [16])] x: Aval, #[static_arg] name: String) -> Result<Program> {
        Program::stablehlo(format!(
            "module {{
               module @inner {{ func.func @main(%x: {x}) -> {x} {{ return %x : {x} }} }}
               func.func {name}(%x: tensor<16xi32>) -> tensor<16xi32> {{ return %x : tensor<16xi32> }}
             }}"
        ))
    }
    let family = Bait::new(&Client::cpu().unwrap());
    for name in [r#"@"\6Dain""#, r#"@"main""#, "@main"] {
        let error = family.call([1f32; 16], name.into()).unwrap_err();
        assert!(["program", "invalid_program", "pjrt"].contains(&error.code()), "{error}");
    }
    assert_eq!(family.stats().entries, 0);
}

#[test]
fn an_escaped_alias_is_seen() {
    #[dispatch_family]
    fn taking(#[dynamic(dtype = f32, shape = [n])] x: Aval) -> Result<Program> {
        let _ = n;
        let alias = r#"{"tf.\61liasing_output" = 0 : i32}"#;
        Program::stablehlo(format!(
            "func.func @main(%x: {x} {alias}) -> {x} {{ %y = stablehlo.add %x, %x : {x} return %y : {x} }}"
        ))
    }
    let client = Client::cpu().unwrap();
    let x = client.array(&[1f32; 4], [4]).unwrap();
    let compiled = client.compile(taking(x.aval()).unwrap()).unwrap();
    assert_eq!(compiled.compiled().aliased(), [true]);
    let error = Taking::new(&client).call(&x).unwrap_err();
    assert!(error.to_string().contains("must leave `x` to the caller"), "{error}");
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0; 4]);
}
