//! Families on the host engine.

use dispatch_runtime::prelude::*;

#[dispatch_family(capacity = 64)]
fn add(
    #[dynamic(dtype = [f32, f64], shape = [n])] a: Aval,
    #[dynamic(dtype = dtype(a), shape = [n])] b: Aval,
    #[static_arg(default = false)] negate: bool,
) -> Result<Program> {
    assert_eq!(n, a.shape()[0]);
    let sign = if negate { -1.0 } else { 1.0 };
    let out = a.clone();
    Program::host([a, b], [out], move |args| {
        let (a, b) = (args[0].as_slice::<f32>().unwrap(), args[1].as_slice::<f32>().unwrap());
        let sum: Vec<f32> = a.iter().zip(b).map(|(a, b)| sign * (a + b)).collect();
        Ok(vec![HostArray::new(sum, args[0].shape())?])
    })
}

#[test]
fn a_family_compiles_once() {
    let client = Client::host();
    let family = Add::new(&client);
    let a = client.array(&[1f32, 2.0], [2]).unwrap();
    for _ in 0..3 {
        let y = family.call(&a, &a, false).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), [2.0, 4.0]);
    }
    let y = family.call(&a, [0.5, 0.25], true).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [-1.5, -2.25]);
    assert_eq!((family.stats().compiles, family.stats().hits), (2, 2));
}
