//! Programs whose results are stored in another order than row-major.

mod plugin;

use dispatch_runtime::program::Source;
use plugin::{client, client_with_devices, compile, run, values};

/// `%a + %a` with results in this order of dimensions, from the fastest.
fn double(ty: &str, order: &str) -> String {
    format!(
        "func.func @main(%a: {ty}) -> ({ty} {{mhlo.layout_mode = \"{order}\"}}) {{
           %0 = stablehlo.add %a, %a : {ty}
           return %0 : {ty} }}"
    )
}

#[test]
fn results_in_any_order_are_read_row_major() {
    let client = client();
    let data: Vec<i16> = (0..24).collect();
    let doubled: Vec<i16> = data.iter().map(|x| 2 * x).collect();
    let a = client.array(&data, [2, 3, 4]).unwrap();
    for order in ["{2,1,0}", "{0,1,2}", "{1,0,2}", "{1,2,0}", "{0,2,1}", "{2,0,1}"] {
        let result = run(&compile(client, &double("tensor<2x3x4xi16>", order)), &[&a]);
        assert_eq!(values::<i16>(&result), doubled, "{order}");
    }
}

#[test]
fn results_in_another_order_are_right_arguments() {
    let client = client_with_devices(2);
    let data = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let a = client.array(&data, [2, 3]).unwrap();
    let column_major = run(&compile(client, &double("tensor<2x3xf32>", "{0,1}")), &[&a]);
    let negated = compile(
        client,
        "func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
           %0 = stablehlo.negate %a : tensor<2x3xf32>
           return %0 : tensor<2x3xf32> }",
    );
    assert_eq!(values::<f32>(&run(&negated, &[&column_major])), [-2.0, -4.0, -6.0, -8.0, -10.0, -12.0]);
    let second = client.devices().nth(1).unwrap();
    assert_eq!(values::<f32>(&column_major.to_device(second).unwrap()), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
}

#[test]
fn one_result_in_another_order_leaves_the_others_alone() {
    let client = client();
    let text = "func.func @main(%a: tensor<2x2xi32>)
        -> (tensor<2x2xi32>, tensor<2x2xi32> {mhlo.layout_mode = \"{0,1}\"}, tensor<i32>) {
           %0 = stablehlo.add %a, %a : tensor<2x2xi32>
           %1 = stablehlo.negate %a : tensor<2x2xi32>
           %2 = stablehlo.constant dense<7> : tensor<i32>
           return %0, %1, %2 : tensor<2x2xi32>, tensor<2x2xi32>, tensor<i32> }";
    let a = client.array(&[1i32, 2, 3, 4], [2, 2]).unwrap();
    let results = compile(client, text).execute(&[&a]).unwrap();
    let results: Vec<Vec<i32>> = results.iter().map(values).collect();
    assert_eq!(results, [vec![2, 4, 6, 8], vec![-1, -2, -3, -4], vec![7]]);
}

#[test]
fn an_argument_in_another_order_is_refused() {
    let text = "func.func @main(%a: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}) -> tensor<2x3xf32> {
        %0 = stablehlo.add %a, %a : tensor<2x3xf32>
        return %0 : tensor<2x3xf32> }";
    let error = client().compile_on(Source::StableHlo(text.into()), client().default_device()).unwrap_err();
    assert_eq!(error.code(), "invalid_program");
    assert!(error.to_string().contains("argument 1 has the layout [0, 1]"), "{error}");
}
