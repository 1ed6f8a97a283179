//! Trains the network and prints how well it does.

use std::time::Instant;

use dispatch_runtime::prelude::*;
use mlp::{Iris, Train, initial};

const HIDDEN: i64 = 16;
const STEPS: usize = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let iris = Iris::read(include_str!("../data/iris.csv"))?;
    let (n, features, classes) = (iris.rows as i64, iris.features as i64, iris.species.len() as i64);
    println!("iris: {n} flowers, {features} measures, species {}", iris.species.join(", "));

    let client = Client::cpu()?;
    let family = Train::new(&client);
    let x = client.array(&iris.x, [n, features])?;
    let labels = client.array(&iris.labels, [n, classes])?;
    let mut network = initial(&client, features, HIDDEN, classes)?;

    let start = Instant::now();
    for step in 0..=STEPS {
        let trained = family.call(&network, &x, &labels, 0.5)?;
        network = trained.network;
        if step % (STEPS / 5) == 0 {
            let (loss, accuracy) = (trained.loss.to_vec::<f32>()?[0], trained.accuracy.to_vec::<f32>()?[0]);
            println!("step {step:>4}: loss {loss:.4}, accuracy {:.1} %", 100.0 * accuracy);
            if step == STEPS {
                assert!(accuracy > 0.97, "the network has learned the species");
            }
        }
    }
    let stats = family.stats();
    println!("{:.1} µs a step, with the compile", start.elapsed().as_secs_f64() * 1e6 / STEPS as f64);
    println!("{stats}");
    assert_eq!((stats.compiles, stats.hits), (1, STEPS as u64), "the step is compiled once");
    Ok(())
}
