"""The addition of two arrays f32[4] under jax.jit, for the benchmark that starts this.

Reads a number of calls a line from the standard input, does them without waiting for the results, and answers with
a line: the seconds that they took.
"""

import sys
import time

import jax
import jax.numpy as jnp


@jax.jit
def add(x, y):
    return x + y


def calls(n, x, y):
    start = time.perf_counter()
    for _ in range(n):
        add(x, y)
    return time.perf_counter() - start


def main():
    x, y = jnp.arange(4, dtype=jnp.float32), jnp.ones(4, jnp.float32)
    for line in sys.stdin:
        print(calls(int(line), x, y), flush=True)


main()
