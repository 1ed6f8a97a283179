//! A family of programs, declared as a function, compiled on the first call of each signature, called at the cost of
//! the PJRT call after that.

use dispatch_runtime::prelude::*;

/// Scaled matrix product `scale * op(a) %*% b`.
#[dispatch_family(capacity = 64)]
fn scaled_matmul(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [m, k])] a: Value,
    #[dynamic(dtype = dtype(a), shape = [k, n])] b: Value,
    #[dynamic(dtype = dtype(a), shape = [])] scale: Value,
    #[static_arg(default = false)] transpose: bool,
) -> Result<Program> {
    // Runs only when this combination of dtypes, shapes and `transpose` is new.
    println!("compiling for {a:?}, {b:?}, transpose = {transpose} on {}", cx.device());
    let a = if transpose { a.t() } else { a };
    cx.program(a.matmul(&b) * scale)
}

fn main() -> Result<()> {
    let client = Client::cpu()?;
    println!("{client}");

    let family = ScaledMatmul::new(&client);
    let a = client.array(&[1f32, 2.0, 3.0, 4.0], [2, 2])?;
    let b = client.array(&[1f32, 0.0, 0.0, 1.0], [2, 2])?;

    let y: Array = family.call(&a, &b, 2.0, false)?;
    println!("2 * a %*% b    = {:?}", y.to_vec::<f32>()?);
    assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0, 6.0, 8.0]);
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 0));

    // The same signature again: nothing is compiled, the result of one call is an argument of the next.
    let y = family.call(&y, &b, 0.5, false)?;
    println!("0.5 * y %*% b  = {:?}", y.to_vec::<f32>()?);
    assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);

    // A new static value is a new program.
    println!("transposed?      {}", family.explain(&a, &b, 1.0, true)?);
    let y = family.call(&a, &b, 1.0, true)?;
    println!("t(a) %*% b     = {:?}", y.to_vec::<f32>()?);
    assert_eq!(y.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);

    // A wrong argument is named before anything runs.
    let wrong = family.call(&a, [1f32, 2.0, 3.0], 1.0, false).unwrap_err();
    println!("wrong argument:  {wrong}");

    println!("{}", family.stats());
    assert_eq!((family.stats().compiles, family.stats().hits), (2, 1));
    Ok(())
}
