"""Operations on each element: arithmetic, comparisons, choices, changes of dtype, constants."""

import math

import numpy as np

from common import *

# --- integers, by Python's own numbers


def int_div(a, b, bits):
    if b == 0:
        return -1
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def int_rem(a, b, bits):
    return a if b == 0 else a - b * int_div(a, b, bits)


def unsigned(a, bits):
    return a & ((1 << bits) - 1)


def shift(a, n, bits, go, beyond):
    n = unsigned(n, bits)
    return go(a, n) if n < bits else beyond


INT_BINARY = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "div": int_div,
    "rem": int_rem,
    "maximum": lambda a, b, bits: max(a, b),
    "minimum": lambda a, b, bits: min(a, b),
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "shl": lambda a, b, bits: shift(a, b, bits, lambda a, n: a << n, 0),
    "shr_arithmetic": lambda a, b, bits: shift(
        signed(a, bits), b, bits, lambda a, n: a >> n, -1 if signed(a, bits) < 0 else 0
    ),
    "shr_logical": lambda a, b, bits: shift(unsigned(a, bits), b, bits, lambda a, n: a >> n, 0),
}


def signed(a, bits):
    """The bits of a number, also of an unsigned one, read with a sign: so is the sign filled in."""
    a = unsigned(a, bits)
    return a - (1 << bits) if a >> (bits - 1) else a


INT_UNARY = {
    "neg": lambda a, bits: -a,
    "sign": lambda a, bits: (a > 0) - (a < 0),
    "abs": lambda a, bits: abs(a),
    "not": lambda a, bits: ~a,
    "square": lambda a, bits: a * a,
    "popcnt": lambda a, bits: unsigned(a, bits).bit_count(),
    "count_leading_zeros": lambda a, bits: bits - unsigned(a, bits).bit_length(),
}


def on_ints(f, name, *arrays):
    bits = 8 * DTYPES[name].itemsize
    arrays = np.broadcast_arrays(*arrays)
    results = [f(*(int(x) for x in row), bits) for row in zip(*(a.ravel() for a in arrays))]
    return cast(np.array(results, dtype=object).reshape(arrays[0].shape), name)


# --- floats and complex numbers, computed wider and rounded once


def on_floats(f, name, *arrays):
    with np.errstate(all="ignore"):
        return cast(f(*(wide(a) for a in arrays)), name)


def half_away(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def sign(x):
    if np.iscomplexobj(x):
        return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))
    return np.where((x == 0) | np.isnan(x), x, np.sign(x))


def cbrt(x):
    return np.cbrt(x)


FLOAT_UNARY = {
    "neg": np.negative,
    "sign": sign,
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": np.rint,
    "round_half_away": half_away,
    "sqrt": lambda x: np.sqrt(x if np.iscomplexobj(x) else x.astype(np.float64)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": cbrt,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "logistic": logistic,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "recip": lambda x: 1 / x,
    "square": lambda x: x * x,
}
# cbrt of a complex number is left out: XLA has none on the CPU.
COMPLEX_UNARY = ["neg", "sign", "sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "logistic", "tanh", "sin", "cos", "tan", "recip", "square"]


def ieee_extreme(pick):
    def f(a, b):
        return np.where(np.isnan(a) | np.isnan(b), np.nan, pick(a, b))

    return f


FLOAT_BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rem": np.fmod,
    "pow": np.power,
    "maximum": ieee_extreme(np.maximum),
    "minimum": ieee_extreme(np.minimum),
    "atan2": np.arctan2,
}
COMPLEX_BINARY = ["add", "sub", "mul", "div", "pow"]

COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
LOGIC = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "maximum": np.logical_or, "minimum": np.logical_and}


def unary_shapes(a):
    """The values as a list, and the edges: size 0, rank 0, size 1, two dimensions."""
    shapes = [a, a[:0].reshape(2, 0), a[1].reshape(()), a[:1], a[: len(a) // 2 * 2].reshape(2, -1)]
    return edges(NAMES[a.dtype], shapes, 2)


def binary_shapes(a):
    """Every pair by broadcasting, and the edges."""
    b, even = a[::-1], len(a) // 2
    shapes = [
        (a.reshape(-1, 1), a),
        (a[:1], a[:0].reshape(3, 0)),
        (a[0].reshape(()), a[1].reshape(())),
        (a, b),
        (a[1].reshape(()), a[:2]),
        (a[:2], a[0].reshape(())),
        (a[:0], a[:0]),
        (a[: 2 * even].reshape(2, even), b[:even].reshape(1, even)),
    ]
    return edges(NAMES[a.dtype], shapes, 2)


def unary(group):
    for name in INTS + ["bool"]:
        for operation, f in INT_UNARY.items():
            if operation == "sign" and name in UNSIGNED or name == "bool" and operation != "not":
                continue
            for a in unary_shapes(values(name)):
                out = np.logical_not(a) if name == "bool" else on_ints(f, name, a)
                group.case(operation, [a], out)
    for name in FLOATS:
        exact = np.append(floats(name), np.array([float(finfo(name).smallest_subnormal)]).astype(DTYPES[name]))
        more = cast(np.append(np.linspace(-6, 6, 25), [-1.5, -0.5, 1.5, 2.5, 1e4, 0.49]), name)
        for operation, f in FLOAT_UNARY.items():
            a = np.append(exact if operation in ("neg", "abs") else floats(name), more)
            if operation in ("sin", "cos", "tan"):
                # Of a huge angle only its own last bits are left.
                size = np.abs(a.astype(np.float64))
                a = a[(size < 1e4) | ~np.isfinite(size)]
            if operation == "tan":
                a = a[np.isfinite(a.astype(np.float64))]
            for a in unary_shapes(a):
                group.case(operation, [a], on_floats(f, name, a))
        for a in unary_shapes(exact):
            group.case("is_finite", [a], np.isfinite(a.astype(np.float64)))
            group.case("is_inf", [a], np.isinf(a.astype(np.float64)))
            group.case("is_nan", [a], np.isnan(a.astype(np.float64)))
    for name in COMPLEX:
        part = np.float32 if name == "c64" else np.float64
        for a in unary_shapes(complexes(name)):
            for operation in COMPLEX_UNARY:
                # Poles and the ends of branch cuts are left out: no standard says what is there.
                b = np.where(a == 0, DTYPES[name].type(1), np.where(a == -1, DTYPES[name].type(2), a))
                group.case(operation, [b], on_floats(FLOAT_UNARY[operation], name, b))
            group.case("abs", [a], np.abs(wide(a)).astype(part))
            group.case("real", [a], a.real)
            group.case("imag", [a], a.imag)
            group.case("conj", [a], np.conj(a))
            group.case("is_nan", [a], np.isnan(a))
        odd = np.array([complex(np.nan, 1), complex(1, np.nan), complex(np.inf, -0.0), 1j], DTYPES[name])
        group.case("is_nan", [odd], np.isnan(odd))
        group.case("real", [odd], odd.real)
        group.case("imag", [odd], odd.imag)
        group.case("conj", [odd], np.conj(odd))


def binary(group):
    for name in INTS:
        for operation, f in INT_BINARY.items():
            for a, b in binary_shapes(values(name)):
                group.case(operation, [a, b], on_ints(f, name, a, b))
        # Negative exponents, and those that overflow any integer, are left out: StableHLO does not say what they give.
        a, b = values(name).reshape(-1, 1), np.array([0, 1, 2, 3, 5, 13, 31, 63], DTYPES[name])
        for a, b in [(a, b), (a[3, 0], b[2]), (a[:0, 0], b[:0])]:
            group.case("pow", [a, b], on_ints(lambda a, b, bits: pow(a, b, 1 << bits), name, a, b))
    for name in FLOATS:
        for operation, f in FLOAT_BINARY.items():
            for a, b in binary_shapes(floats(name)):
                if operation == "div":
                    # A plugin multiplies by the reciprocal, which must not be subnormal.
                    huge = np.abs(b) == finfo(name).max
                    b = np.where(huge, b / DTYPES[name].type(8), b).astype(DTYPES[name])
                group.case(operation, [a, b], on_floats(f, name, a, b))
    for name in COMPLEX:
        for operation in COMPLEX_BINARY:
            for a, b in binary_shapes(complexes(name)):
                one = DTYPES[name].type(1)
                if operation in ("div", "pow"):
                    b = np.where(b == 0, one, b)
                if operation == "pow":
                    a = np.where(a == 0, one, a)
                group.case(operation, [a, b], on_floats(FLOAT_BINARY[operation], name, a, b))
    for part, _ in (("f32", "c64"), ("f64", "c128")):
        for a, b in binary_shapes(floats(part)):
            out = np.empty(np.broadcast_shapes(a.shape, b.shape), DTYPES[_])
            out.real, out.imag = a, b
            group.case("complex", [a, b], out)
    for operation, f in LOGIC.items():
        for a, b in binary_shapes(values("bool")):
            group.case(operation, [a, b], f(a, b))


def choices(group):
    for name in ALL:
        a = values(name)
        for operation, f in COMPARE.items():
            if name in COMPLEX and operation not in ("eq", "ne"):
                continue
            for x, y in binary_shapes(a):
                with np.errstate(invalid="ignore"):
                    group.case(operation, [x, y], f(x, y))
        raw = bits_of(name, 6)
        x, y = raw, bits_of(name, 6, 1)
        c = np.array([True, False, True, True, False, False])
        sets = [(c, x, y), (c.reshape(2, 3), x[:3], y[0].reshape(())), (c[0].reshape(()), x[0].reshape(()), y[0].reshape(()))]
        sets += [(c[:0], x[:0], y[:0]), (c[:2], x.reshape(3, 2), y[:1])]
        for c, x, y in sets:
            group.case("select", [c, x, y], np.where(c, x, y).astype(x.dtype))
        if name in COMPLEX:
            continue
        low, high = (a[0], a[1]) if name == "bool" else cast_small(name, (1, 3))
        for x, l, h in [
            (a, low.reshape(()), high.reshape(())),
            (a, np.full(a.shape, low), high.reshape(1)),
            (a[0].reshape(()), low.reshape(()), high.reshape(())),
            (a[:0], low.reshape(()), high.reshape(())),
            # Bounds in the wrong order: the upper one wins.
            (a, high.reshape(()), low.reshape(())),
        ]:
            if name in FLOATS:
                out = np.where(np.isnan(x), x, np.minimum(np.maximum(x, l), h)).astype(x.dtype)
            else:
                out = np.minimum(np.maximum(x, l), h).astype(x.dtype)
            group.case("clamp", [x, l, h], out)


def cast_small(name, numbers):
    return [np.array(n).astype(DTYPES[name]) for n in numbers]


def convert(a, target):
    source = NAMES[a.dtype]
    if target == "bool":
        return a != 0
    if target in COMPLEX:
        return a.astype(DTYPES[target])
    if source == "bool":
        return a.astype(np.int8).astype(DTYPES[target])
    if source in INTS:
        if target in INTS:
            return cast(a.astype(object), target)
        if target == "bf16" or target == "f16":
            return cast(exact_half(a, target), target)
        return a.astype(DTYPES[target])
    if target in INTS:
        return a.astype(np.float64).astype(DTYPES[target])
    return cast(a.astype(np.float64), target)


def exact_half(a, target):
    """Integers as float64s that round to a half precision as the integers do."""
    return a.astype(np.float64)


def conversions(group):
    for source in ALL:
        for target in ALL:
            if source in COMPLEX and target not in COMPLEX:
                continue
            a = values(source)
            if source in FLOATS and target in INTS:
                # Out of an integer's range, and NaN, are left out: they are implementation-defined.
                info = np.iinfo(DTYPES[target])
                a = floats(source, special=False)
                f = a.astype(np.float64)
                a = np.append(a[(f >= max(info.min, -1e4)) & (f < info.max)], cast(np.array([-0.0, 0.99]), source))
            with np.errstate(all="ignore"):
                for x in [a, a[:0]] + [a[1].reshape(())] * (source in EVERY_EDGE):
                    group.case("convert", [x], convert(x, target), dtype=target)
    for source in REALS:
        size = DTYPES[source].itemsize
        for target in REALS:
            to = DTYPES[target].itemsize
            raw = bits_of(source, 16)
            rows = raw.reshape(-1, max(to // size, 1)) if to > size else raw
            out = np.ascontiguousarray(rows).view(DTYPES[target])
            out = out.reshape(rows.shape[:-1]) if to > size else out.reshape((16,) if to == size else (16, size // to))
            group.case("bitcast_convert", [rows], out, dtype=target)
            if to == size and source in EVERY_EDGE:
                group.case("bitcast_convert", [raw[7].reshape(())], raw[7].reshape(()).view(DTYPES[target]), dtype=target)
                group.case("bitcast_convert", [raw[:0]], raw[:0].view(DTYPES[target]), dtype=target)


def constants(group):
    for name in ALL:
        dtype = DTYPES[name]
        for shape in edges(name, [(2, 3), (), (2, 0, 3), (0,), (3,)], 2):
            sizes = ",".join(str(n) for n in shape)
            group.case("zeros", [], np.zeros(shape, dtype), dtype=name, shape=sizes)
            group.case("ones", [], np.ones(shape, dtype), dtype=name, shape=sizes)
            number = True if name == "bool" else 3
            group.case("full", [], np.full(shape, number).astype(dtype), dtype=name, shape=sizes)
            for axis in range(len(shape)):
                if name != "bool":
                    steps = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
                    out = np.broadcast_to(steps, shape).astype(dtype)
                    group.case("iota", [], out, dtype=name, shape=sizes, axis=axis)
        a = values(name)
        for x in [a[1].reshape(()), a[:0], a[: len(a) // 2 * 2].reshape(2, -1), np.resize(a, (70, 2))]:
            # Few elements are printed as numbers, many as bytes.
            if name in FLOATS or name in COMPLEX:
                x = np.where(np.isnan(x), dtype.type(4), x).astype(dtype)
            group.case("constant", [x], x)
        for x in edges(name, a, 2):
            group.case("scalar", [x], np.asarray(x))


def make():
    group = Group("elementwise")
    unary(group)
    binary(group)
    choices(group)
    conversions(group)
    constants(group)
    group.write()
