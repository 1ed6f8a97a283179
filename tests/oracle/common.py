"""What the groups share: dtypes, values worth trying, and the file that cases are written to."""

import itertools
import pathlib

import ml_dtypes
import numpy as np

DATA = pathlib.Path(__file__).parent / "data"

DTYPES = {
    "bool": np.dtype(bool),
    **{f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["u8", "u16", "u32", "u64"]
INTS = SIGNED + UNSIGNED
FLOATS = ["f16", "bf16", "f32", "f64"]
COMPLEX = ["c64", "c128"]
REALS = INTS + FLOATS
NUMBERS = REALS + COMPLEX
ANALYTIC = FLOATS + COMPLEX
BITS = ["bool"] + INTS
ORDERED = ["bool"] + REALS
ALL = ["bool"] + NUMBERS

WIDE = np.longdouble
WIDE_COMPLEX = np.clongdouble


def finfo(name):
    return ml_dtypes.finfo(DTYPES[name])


def cast(values, name):
    """Values at a dtype. Integers wrap around; floats are rounded to the nearest, ties to even."""
    if name in INTS:
        bits = 8 * DTYPES[name].itemsize
        wrap = np.vectorize(lambda x: int(x) & ((1 << bits) - 1), otypes=[object])
        values = np.asarray(values, dtype=object)
        unsigned = wrap(values).astype(np.uint64) if values.size else np.zeros(values.shape, np.uint64)
        return unsigned.astype(f"uint{bits}").view(DTYPES[name])
    with np.errstate(all="ignore"):
        if name in ("f16", "bf16") and np.asarray(values).dtype in (np.longdouble, np.float64):
            return from_wide(np.asarray(values, np.float64), name)
        return np.asarray(values).astype(DTYPES[name])


def from_wide(values, name):
    """float64 to a half precision, rounded once: numpy and ml_dtypes may round by way of float32."""
    dtype, info = DTYPES[name], finfo(name)
    near = values.astype(np.float32).astype(dtype) if name == "bf16" else values.astype(dtype)
    # The neighbours of a twice rounded value, and the one of them that is nearest.
    bits = near.view(np.uint16)
    best, off = near.copy(), np.abs(near.astype(np.float64) - values)
    limit = float(info.max)
    for step in (np.uint16(1), np.uint16(0xFFFF)):
        other = (bits + step).view(dtype)
        wide = other.astype(np.float64)
        with np.errstate(all="ignore"):
            distance = np.abs(wide - values)
            same_sign = np.signbit(wide) == np.signbit(values)
            fits = np.isfinite(wide) & (np.abs(wide) <= limit) & np.isfinite(values) & same_sign
            tie = (distance == off) & (other.view(np.uint16) & 1 == 0) & (best.view(np.uint16) & 1 == 1)
            take = fits & np.isfinite(near.astype(np.float64)) & ((distance < off) | tie)
        best, off = np.where(take, other, best), np.where(take, distance, off)
    return best.astype(dtype)


def wide(array):
    """An array at the precision in which expected values are computed."""
    array = np.asarray(array)
    name = NAMES[array.dtype]
    if name == "f64":
        return array.astype(WIDE)
    if name in FLOATS:
        return array.astype(np.float64)
    return np.asarray(array.astype(WIDE_COMPLEX if name in COMPLEX else object))


def ints(name):
    """Integers worth trying."""
    info = np.iinfo(DTYPES[name])
    values = {0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1, info.max // 3, info.bits - 1, info.bits}
    if info.min < 0:
        values |= {-1, -2, -5}
    return np.array(sorted(values), dtype=object).astype(DTYPES[name])


def floats(name, special=True):
    """Floats worth trying, without subnormals: see README.md."""
    info = finfo(name)
    values = [0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, 1e-3, -0.1, 60.0]
    if special:
        values += [-0.0, np.inf, -np.inf, np.nan, float(info.max), -float(info.max), float(info.smallest_normal)]
    return cast(np.array(values, np.float64), name)


def complexes(name):
    part = {"c64": "f32", "c128": "f64"}[name]
    re = np.array([0.0, 1.0, -1.5, 2.25, -0.125, 3.0, -2.0, 0.5])
    im = np.array([1.0, 0.0, 0.75, -2.0, -3.0, 0.5, -0.25, 0.0])
    return (cast(re, part) + 1j * cast(im, part)).astype(DTYPES[name])


def values(name, special=True):
    if name == "bool":
        return np.array([False, True])
    if name in INTS:
        return ints(name)
    return floats(name, special) if name in FLOATS else complexes(name)


def bits_of(name, n, seed=0):
    """Elements for operations that move data: every bit pattern may come, subnormals and NaNs among them."""
    if name == "bool":
        return np.random.default_rng(seed).integers(0, 2, n).astype(bool)
    dtype = DTYPES[name]
    raw = np.random.default_rng(seed).bytes(n * dtype.itemsize)
    out = np.frombuffer(raw, dtype).copy()
    if name in FLOATS and n >= 6:
        extra = [-0.0, np.inf, -np.inf, float(finfo(name).smallest_subnormal), 0.0]
        out[:5] = np.array(extra).astype(dtype)
    if name == "bf16":
        # XLA on the CPU may move these as f32, where subnormals become zeros.
        out[np.abs(out.astype(np.float64)) < float(finfo(name).smallest_normal)] = dtype.type(1)
    return out


def small(name, shape, seed=0, low=-4, high=5):
    """Small whole numbers, whose sums and products are exact at every dtype."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    if name == "bool":
        return rng.integers(0, 2, n).astype(bool).reshape(shape)
    if name in UNSIGNED:
        low = 0
    if name in COMPLEX:
        parts = rng.integers(low, high, (2, n))
        return (parts[0] + 1j * parts[1]).astype(DTYPES[name]).reshape(shape)
    return rng.integers(low, high, n).astype(DTYPES[name]).reshape(shape)


def uniform(name, shape, seed=0, low=-2.0, high=2.0):
    """Numbers with a fraction."""
    rng = np.random.default_rng(seed)
    if name in COMPLEX:
        parts = rng.uniform(low, high, (2, *shape))
        return (parts[0] + 1j * parts[1]).astype(DTYPES[name])
    return cast(rng.uniform(low, high, shape), name)


# Shapes are the same code for every dtype: the rarer ones are tried with these only.
EVERY_EDGE = ["i32", "f32"]


def edges(name, shapes, always=3):
    """Which of some shapes to try with a dtype: all, or as many of the first ones."""
    shapes = list(shapes)
    return shapes if name in EVERY_EDGE else shapes[:always]


class Group:
    """The cases of one group of operations, and the arrays that they use: each is written once."""

    def __init__(self, name):
        self.name, self.arrays, self.cases, self.seen = name, {}, [], set()

    def array(self, array):
        array = np.asarray(array)
        sizes = ",".join(str(n) for n in array.shape)
        little = array.astype(array.dtype.newbyteorder("<")) if array.dtype.itemsize > 1 and array.dtype.kind in "iufc" else array
        text = f"{NAMES[array.dtype]}[{sizes}] {np.ascontiguousarray(little).tobytes().hex()}"
        return self.arrays.setdefault(text, len(self.arrays))

    def case(self, operation, inputs, outputs, **params):
        """One case: what goes in, what has to come out, and what the call says besides."""
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        words = [operation]
        for key, value in params.items():
            if isinstance(value, (list, tuple)):
                value = ",".join(str(x) for x in value)
            words.append(f"{key}={value}")
        words += [str(self.array(a)) for a in inputs] + ["->"] + [str(self.array(a)) for a in outputs]
        line = " ".join(words)
        if line not in self.seen:
            self.seen.add(line)
            self.cases.append(line)

    def write(self):
        path = DATA / f"{self.name}.txt"
        lines = [f"= {text}".rstrip() for text in self.arrays] + self.cases
        path.write_text("\n".join(lines) + "\n")
        print(f"{self.name}: {len(self.cases)} cases, {len(self.arrays)} arrays, {path.stat().st_size} bytes")


def pairs(a):
    """Every pair of the elements of a list, as two lists."""
    both = list(itertools.product(range(len(a)), repeat=2))
    return a[[i for i, _ in both]], a[[j for _, j in both]]
