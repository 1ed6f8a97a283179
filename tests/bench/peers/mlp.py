"""The training step of examples/rust/mlp under jax.jit, for the benchmark that starts this.

Arguments: the table as a CSV file. Reads a number of steps a line from the standard input, does them, waits for the
results, and answers with a line: the loss.
"""

import csv
import functools
import math
import sys

import jax
import jax.numpy as jnp
import numpy as np

HIDDEN = 16


def table(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    x = np.array([[float(v) for v in row[:-1]] for row in rows], np.float32)
    x = (x - x.mean(0)) / x.std(0)
    species = list(dict.fromkeys(row[-1] for row in rows))
    labels = np.eye(len(species), dtype=np.float32)[[species.index(row[-1]) for row in rows]]
    return jnp.asarray(x), jnp.asarray(labels)


def weights(rows, columns):
    wave = [math.sqrt(1 / rows) * math.sin(i * 12.9898) for i in range(1, rows * columns + 1)]
    return jnp.asarray(np.array(wave, np.float32).reshape(rows, columns))


@functools.partial(jax.jit, donate_argnums=0, static_argnums=3)
def train(network, x, labels, rate):
    w1, b1, w2, b2 = network
    hidden = jnp.tanh(x @ w1 + b1)
    logits = hidden @ w2 + b2
    at_label = jnp.sum(labels * logits, -1)
    loss = jnp.mean(jax.nn.logsumexp(logits, -1) - at_label)
    accuracy = jnp.mean((at_label >= jnp.max(logits, -1)).astype(x.dtype))
    d_logits = (jax.nn.softmax(logits) - labels) / x.shape[0]
    d_hidden = (d_logits @ w2.T) * (1 - hidden * hidden)
    network = (
        w1 - rate * (x.T @ d_hidden),
        b1 - rate * jnp.sum(d_hidden, 0),
        w2 - rate * (hidden.T @ d_logits),
        b2 - rate * jnp.sum(d_logits, 0),
    )
    return network, loss, accuracy


def main():
    x, labels = table(sys.argv[1])
    classes = labels.shape[1]
    network = (weights(x.shape[1], HIDDEN), jnp.zeros(HIDDEN), weights(HIDDEN, classes), jnp.zeros(classes))
    loss = None
    for line in sys.stdin:
        for _ in range(int(line)):
            network, loss, accuracy = train(network, x, labels, 0.5)
        jax.block_until_ready(network)
        print(float(loss) if loss is not None else "ready", flush=True)


main()
