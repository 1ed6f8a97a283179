//! Logistic regression by Newton's method, in f64, on a real table: R's `mtcars`, the model `am ~ wt + hp`.
//!
//! One family is the step. It is compiled once, for the size of the table, and called until the coefficients stand
//! still; each step's result is the next one's argument and never leaves the device.

mod table;

use std::time::Instant;

use dispatch_runtime::engine::RawBuffer;
use dispatch_runtime::prelude::*;
use table::Table;

/// `coef(glm(am ~ wt + hp, binomial, mtcars))` of R 4.2.2, with `epsilon = 1e-14`.
const R_COEFFICIENTS: [f64; 3] = [18.866298717204096, -8.083475182444628, 0.03625559608221655];

/// What one step gives.
#[derive(OutputTree)]
struct Step<T> {
    /// The coefficients after the step.
    coefficients: T,
    /// The step itself: the coefficients minus those before.
    change: T,
}

/// One Newton step of a logistic regression of `y` (0 or 1) on the columns of `x`: solves
/// `t(x) W x change = t(x) (y - mu)`, with `mu = 1 / (1 + exp(-x beta))` and `W = diag(mu (1 - mu))`.
#[dispatch_family(capacity = 4)]
fn newton_step(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [n, p])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [n])] y: Value,
    #[dynamic(dtype = dtype(x), shape = [p])] beta: Value,
) -> Result<Program<Step<Array>>> {
    let mu = x.matmul(&beta).logistic().named("mu");
    let weights = (&mu * (1.0 - &mu)).named("weights");
    let gradient = x.t().matmul(&(y - mu)).named("gradient");
    let hessian = x.t().matmul(&(weights.expand_dims(1) * &x)).named("hessian");
    let change = hessian.solve_spd(&gradient).named("change");
    cx.program(Step { coefficients: beta + &change, change })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = Table::read(include_str!("../data/mtcars.csv"), "am", &["wt", "hp"])?;
    let (n, p) = (table.rows as i64, table.columns.len() as i64);
    println!("am ~ wt + hp, {n} cars, {p} coefficients");

    let client = Client::cpu()?;
    let family = NewtonStep::new(&client);
    let x = client.array(&table.x, [n, p])?;
    let y = client.array(&table.y, [n])?;
    let mut beta = client.array(&vec![0f64; p as usize], [p])?;

    let mut steps = 0;
    loop {
        let step = family.call(&x, &y, &beta)?;
        beta = step.coefficients;
        steps += 1;
        let change = step.change.to_vec::<f64>()?.iter().fold(0f64, |most, c| most.max(c.abs()));
        println!("step {steps:>2}: largest change {change:.3e}");
        if change < 1e-12 || steps == 50 {
            break;
        }
    }

    println!("\n{:<12} {:>20} {:>20} {:>10}", "", "this program", "R's glm()", "difference");
    for ((name, ours), r) in table.columns.iter().zip(beta.to_vec::<f64>()?).zip(R_COEFFICIENTS) {
        println!("{name:<12} {ours:>20.12} {r:>20.12} {:>10.1e}", (ours - r).abs());
        assert!((ours - r).abs() < 1e-8, "{name} differs from R's");
    }

    let stats = family.stats();
    println!("\n{stats}");
    assert_eq!((stats.compiles, stats.hits), (1, steps - 1), "the step is compiled once");
    time_per_step(&family, &x, &y, &beta)
}

/// Times the step, and the part of it that is spent outside PJRT: the family's call against the engine's execute on
/// the same buffers, in alternating pairs, by the median of the differences.
fn time_per_step(
    family: &NewtonStep,
    x: &Array,
    y: &Array,
    beta: &Array,
) -> Result<(), Box<dyn std::error::Error>> {
    let client = x.client();
    let text = family.inspect(x.aval(), y.aval(), beta.aval())?.stablehlo.ok_or("a graph gives text")?;
    let executable = client.compile(&Program::<Step<Array>>::stablehlo(text)?)?;
    let args: Vec<RawBuffer> = [x, y, beta].iter().map(|array| array.raw()).collect();

    let (mut calls, mut differences) = (Vec::new(), Vec::new());
    for _ in 0..4000 {
        let start = Instant::now();
        family.call(x, y, beta)?.coefficients.await_ready()?;
        let call = start.elapsed().as_secs_f64() * 1e6;

        let start = Instant::now();
        let mut outs = [None; 2];
        // SAFETY: the arguments are the live buffers of arrays with the dtypes and shapes that the program was
        // compiled for, on its device.
        unsafe { executable.compiled().execute(&args, &mut outs)? };
        // SAFETY: the results are ours, and are used once more and given up.
        unsafe {
            let engine = client.engine();
            engine.await_ready(outs[0].expect("the first result"))?;
            outs.into_iter().flatten().for_each(|buffer| engine.destroy(buffer));
        }
        let raw = start.elapsed().as_secs_f64() * 1e6;
        calls.push(call);
        differences.push(call - raw);
    }
    let (call, outside) = (median(&mut calls), median(&mut differences).max(0.0));
    println!(
        "time per step: {call:.2} µs, of which {outside:.2} µs ({:.1} %) outside PJRT",
        100.0 * outside / call
    );
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
