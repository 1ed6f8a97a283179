//! A network of two layers learns to tell the three species of R's `iris` by the sizes of their flowers.
//!
//! The step is one family: forward pass, gradients written by hand, update. The parameters are a struct that goes in
//! donated, so that the updated ones take its memory, and comes out again as part of the result.

mod iris;

use dispatch_runtime::graph::Value;
use dispatch_runtime::prelude::*;

pub use iris::Iris;

/// The network: `softmax(tanh(x w1 + b1) w2 + b2)`.
#[derive(InputTree, OutputTree)]
pub struct Network<T> {
    /// The weights of the hidden layer.
    #[dynamic(dtype = [f32, f64], shape = [features, hidden], donate)]
    pub w1: T,
    /// Its biases.
    #[dynamic(dtype = dtype(w1), shape = [hidden], donate)]
    pub b1: T,
    /// The weights of the output.
    #[dynamic(dtype = dtype(w1), shape = [hidden, classes], donate)]
    pub w2: T,
    /// Its biases.
    #[dynamic(dtype = dtype(w1), shape = [classes], donate)]
    pub b2: T,
}

/// What a step gives.
#[derive(OutputTree)]
pub struct Trained<T> {
    /// The updated network.
    pub network: Network<T>,
    /// The mean cross entropy before the step.
    pub loss: T,
    /// The share of rows whose largest logit was that of their class.
    pub accuracy: T,
}

impl Network<Value> {
    /// The hidden layer and the logits of each row of `x`.
    fn forward(&self, x: &Value) -> (Value, Value) {
        let hidden = (x.matmul(&self.w1) + &self.b1).tanh().named("hidden");
        let logits = (hidden.matmul(&self.w2) + &self.b2).named("logits");
        (hidden, logits)
    }
}

/// One step of gradient descent on all rows; `labels` has a 1 in the column of each row's class.
#[dispatch_family(capacity = 4)]
pub fn train(
    cx: &CompileCx,
    #[dynamic] network: Network<Value>,
    #[dynamic(dtype = [f32, f64], shape = [n, _])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [n, _])] labels: Value,
    #[static_arg(default = 0.5)] rate: f64,
) -> Result<Program<Trained<Array>>> {
    let (hidden, logits) = network.forward(&x);
    let at_label = (&labels * &logits).sum(-1).named("at_label");
    let loss = (logits.logsumexp(-1) - &at_label).mean(..);
    let accuracy = at_label.ge(logits.max(-1)).convert(x.dtype()).mean(..);

    let d_logits = ((logits.softmax(-1) - &labels) / n).named("d_logits");
    let d_hidden = (d_logits.matmul(&network.w2.t()) * (1.0 - hidden.square())).named("d_hidden");
    let descend = |parameter: &Value, gradient: Value| parameter - gradient * rate;
    cx.program(Trained {
        network: Network {
            w1: descend(&network.w1, x.t().matmul(&d_hidden)),
            b1: descend(&network.b1, d_hidden.sum(0)),
            w2: descend(&network.w2, hidden.t().matmul(&d_logits)),
            b2: descend(&network.b2, d_logits.sum(0)),
        },
        loss,
        accuracy,
    })
}

/// Small weights that break the symmetry, the same in every run.
pub fn initial(client: &Client, features: i64, hidden: i64, classes: i64) -> Result<Network<Array>> {
    let weights = |rows: i64, columns: i64| {
        let scale = (1.0 / rows as f32).sqrt();
        let wave = |i: i64| scale * (i as f32 * 12.9898).sin();
        client.array(&(1..=rows * columns).map(wave).collect::<Vec<f32>>(), [rows, columns])
    };
    Ok(Network {
        w1: weights(features, hidden)?,
        b1: client.array(&vec![0f32; hidden as usize], [hidden])?,
        w2: weights(hidden, classes)?,
        b2: client.array(&vec![0f32; classes as usize], [classes])?,
    })
}
