"""Fourier transforms, convolutions, and reductions of windows."""

import jax
import jax.numpy as jnp

from common import *


def pairs_text(pairs):
    return [x for pair in pairs for x in pair]


def same(size, window, stride, dilation, lower=False):
    windows = -(-size // stride)
    total = max((windows - 1) * stride + (window - 1) * dilation + 1 - size, 0)
    less = total // 2
    return (total - less, less) if lower else (less, total - less)


def spread(a, dilations, start, fill):
    """The array with gaps of `fill` between its elements, along the axes from `start` on."""
    for i, d in enumerate(dilations):
        axis = start + i
        shape = list(a.shape)
        shape[axis] = max((a.shape[axis] - 1) * d + 1, 0) if a.shape[axis] else 0
        out = np.full(shape, fill, a.dtype)
        out[(slice(None),) * axis + (slice(None, None, d),)] = a
        a = out
    return a


def windows_of(a, fill, sizes, strides, dilation, padding):
    """Every window over the last axes, as one more group of axes at the end."""
    lead = a.ndim - len(sizes)
    for i, (low, high) in enumerate(padding):
        axis = lead + i
        pads = [(0, 0)] * a.ndim
        pads[axis] = (max(low, 0), max(high, 0))
        a = np.pad(a, pads, constant_values=fill)
        stop = a.shape[axis] - max(-high, 0)
        a = a[(slice(None),) * axis + (slice(max(-low, 0), stop),)]
    counts = []
    for i, (size, stride, d) in enumerate(zip(sizes, strides, dilation)):
        reach = (size - 1) * d + 1
        n = a.shape[lead + i]
        counts.append((n - reach) // stride + 1 if n >= reach else 0)
    out = np.empty((*a.shape[:lead], *counts, *sizes), a.dtype)
    for place in np.ndindex(*counts):
        part = tuple(slice(p * s, p * s + (k - 1) * d + 1, d) for p, s, k, d in zip(place, strides, sizes, dilation))
        out[(slice(None),) * lead + place] = a[(slice(None),) * lead + part]
    return out


def convolved(a, k, strides, padding, dilation, input_dilation, groups, batch_groups, flip):
    """`NC…,OI…->NC…`, by its definition."""
    axes = a.ndim - 2
    if flip:
        k = np.flip(k, tuple(range(2, k.ndim)))
    a = spread(a, input_dilation, 2, 0)
    w = windows_of(a, 0, k.shape[2:], strides, dilation, padding)
    examples, outputs = a.shape[0] // batch_groups, k.shape[0]
    out = np.empty((examples, outputs, *w.shape[2 : 2 + axes]), a.dtype)
    inputs = k.shape[1]
    for o in range(outputs):
        group = o * groups // outputs
        batch = o * batch_groups // outputs
        part = w[batch * examples : (batch + 1) * examples, group * inputs : (group + 1) * inputs]
        # Channels, then the kernel's own axes at the end.
        kernel = k[o].reshape(inputs, *(1,) * axes, *k.shape[2:])
        product = part * kernel
        out[:, o] = product.sum(axis=(1, *range(product.ndim - axes, product.ndim)))
    return out


def transforms(group):
    for name, part in (("c64", "f32"), ("c128", "f64")):
        a = uniform(name, (3, 4, 5), 1)
        x = uniform(part, (3, 4, 5), 2)

        def turned(f, a, dtype=name):
            with np.errstate(all="ignore"):
                return f(a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)).astype(DTYPES[dtype])

        for axes in [(-1,), (0,), (1, 2), (2, 0), (0, 1, 2), ()]:
            group.case("fft", [a], turned(lambda a: np.fft.fftn(a, axes=axes) if axes else a, a), axes=axes)
            group.case("ifft", [a], turned(lambda a: np.fft.ifftn(a, axes=axes) if axes else a, a), axes=axes)
            if axes:
                group.case("rfft", [x], turned(lambda x: np.fft.rfftn(x, axes=axes), x), axes=axes)
        for n in (8, 9):
            out = turned(lambda a: np.fft.irfft(a, n, axis=2), a, part)
            group.case("irfft", [a], out, axes=(-1,), n=n)
        half = uniform(part, (3, 5), 3)
        spectrum = turned(lambda x: np.fft.rfftn(x), half)
        group.case("irfft", [spectrum], half, axes=(0, 1), n=5)
        for empty in (a[:0],):
            group.case("fft", [empty], empty, axes=(1,))
        group.case("fft", [a[:1, 0, 0]], a[:1, 0, 0], axes=(0,))


def convolutions(group, name):
    image, kernel = small(name, (2, 4, 6, 5), 1), small(name, (4, 4, 3, 2), 2)
    one, one_kernel = small(name, (2, 4, 7), 3), small(name, (2, 4, 3), 4)
    cases = [
        (image, kernel, {}),
        (one, one_kernel, {"padding": "same", "strides": (2,)}),
        (image, kernel[:, :2], {"groups": 2, "strides": (2, 1), "padding": ((1, 1), (0, 1))}),
        (image, kernel, {"flip": 1, "padding": "lower"}),
        (image, kernel, {"dilation": (2, 1)}),
        (image, kernel, {"input_dilation": (2, 3), "padding": ((1, 2), (-1, 0))}),
        (image, kernel, {"batch_groups": 2}),
        (image[:0], kernel, {}),
        (image, kernel[:0], {}),
        (image[:, :0], kernel[:, :0], {}),
        (one[:, :, :2], one_kernel, {}),
        (one[:, :, 0], one_kernel[:, :, 0], {}),
    ]
    for a, k, how in edges(name, cases):
        axes = a.ndim - 2
        ones = (1,) * axes
        strides, dilation, wider = (how.get(key, ones) for key in ("strides", "dilation", "input_dilation"))
        padding = how.get("padding", ((0, 0),) * axes)
        if isinstance(padding, str):
            along = zip(a.shape[2:], k.shape[2:], strides, dilation)
            padding = [same(*numbers, padding == "lower") for numbers in along]
        groups, batches = how.get("groups", 1), how.get("batch_groups", 1)
        out = convolved(wide(a), wide(k), strides, padding, dilation, wider, groups, batches, how.get("flip", 0))
        if name == "f32" and not how.get("flip"):
            check_by_jax(out, a, k, strides, padding, wider, dilation, groups, batches)
        words = {key: pairs_text(value) if key == "padding" and not isinstance(value, str) else value for key, value in how.items()}
        letters = "XYZ"[:axes]
        out = cast(out, name)
        group.case("conv", [a, k], out, layout=f"NC{letters},OI{letters}->NC{letters}", **words)
        if name in EVERY_EDGE and axes == 2 and not how:
            moved = [np.ascontiguousarray(np.moveaxis(a, 1, -1)), np.ascontiguousarray(k.transpose(2, 3, 1, 0))]
            group.case("conv", moved, np.moveaxis(out, 1, -1), layout="NXYC,XYIO->NXYC")


def check_by_jax(out, a, k, strides, padding, wider, dilation, groups, batches):
    theirs = jax.lax.conv_general_dilated(
        jnp.asarray(a), jnp.asarray(k), strides, padding, wider, dilation,
        feature_group_count=groups, batch_group_count=batches,
    )  # fmt: skip
    np.testing.assert_array_equal(np.asarray(theirs), out.astype(np.float32))


def pools(group, name):
    a = small(name, (2, 6, 5), 5) if name != "bool" else bits_of("bool", 60).reshape(2, 6, 5)
    cases = [
        ((2, 2), {}),
        ((3, 2), {"strides": (2, 1), "padding": "same"}),
        ((2, 2), {"dilation": (2, 3)}),
        ((2, 3), {"padding": ((1, 0), (2, 1)), "strides": (1, 2)}),
        ((1, 1), {"padding": ((-1, 2), (0, -1))}),
        ((7, 1), {}),
    ]
    for sizes, how in edges(name, cases):
        strides, dilation = how.get("strides", (1, 1)), how.get("dilation", (1, 1))
        padding = how.get("padding", ((0, 0), (0, 0)))
        if isinstance(padding, str):
            padding = [same(*numbers) for numbers in zip(a.shape[1:], sizes, strides, dilation)]
        words = {key: pairs_text(value) if key == "padding" and not isinstance(value, str) else value for key, value in how.items()}
        words |= {"axes": (1, 2), "sizes": sizes}
        numbers = a if name == "bool" else wide(a)

        def pooled(f, fill):
            w = windows_of(numbers, fill, sizes, strides, dilation, padding)
            return f(w.reshape(*w.shape[:-2], sizes[0] * sizes[1]))

        ordered = name not in COMPLEX
        if ordered:
            info = np.iinfo(DTYPES[name]) if name in INTS else None
            low, high = (False, True) if name == "bool" else (int(info.min), int(info.max)) if info else (-np.inf, np.inf)
            out = pooled(lambda w: w.max(-1), low)
            group.case("max_pool", [a], out if name == "bool" else cast(out, name), **words)
            out = pooled(lambda w: w.min(-1), high)
            group.case("min_pool", [a], out if name == "bool" else cast(out, name), **words)
        if name != "bool":
            total = pooled(lambda w: w.sum(-1), 0)
            group.case("sum_pool", [a], cast(total, name), **words)
            group.case("reduce_window", [a], cast(total, name), **words)
            if name in ANALYTIC:
                counts = windows_of(np.ones(a.shape), 0, sizes, strides, dilation, padding).sum((-1, -2))
                with np.errstate(all="ignore"):
                    group.case("avg_pool", [a], cast(total / counts, name), **words)


def make():
    group = Group("windows")
    transforms(group)
    for name in NUMBERS:
        convolutions(group, name)
    for name in ALL:
        pools(group, name)
    group.write()
