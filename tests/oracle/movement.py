"""Operations that move elements and change none: shapes, slices, joins, triangles."""

from common import *


def text(ranges):
    """`1:3:2,::,-1` as one word."""
    return ";".join(ranges)


def as_slices(ranges):
    parts = []
    for part in ranges:
        if ":" not in part:
            parts.append(int(part))
        else:
            parts.append(slice(*(int(x) if x else None for x in part.split(":"))))
    return tuple(parts)


def shapes(group, name):
    a = bits_of(name, 12).reshape(3, 4)
    point, none = a[0, 0].reshape(()), a[:0]
    for x, shape in [(a, (2, 6)), (a, (2, -1)), (a, (12,)), (point, (1, 1)), (none, (0, 7)), (a[0, :1], ())]:
        group.case("reshape", [x], x.reshape(shape), shape=shape)
    for x in (a, point, none):
        group.case("flatten", [x], x.reshape(-1))
    cube = a.reshape(2, 3, 2)
    for x, axes in [(a, (1, 0)), (cube, (2, 0, 1)), (cube, (-1, 1, 0)), (point, ()), (none, (1, 0))]:
        group.case("transpose", [x], x.transpose(axes), axes=axes)
    group.case("t", [cube], cube.swapaxes(-1, -2))
    group.case("t", [none], none.T)
    group.case("swap_axes", [cube], cube.swapaxes(0, -1), a=0, b=-1)
    group.case("move_axis", [cube], np.moveaxis(cube, 0, -1), a=0, b=-1)
    group.case("move_axis", [cube], np.moveaxis(cube, 2, 0), a=2, b=0)
    for x, axis in [(a, 0), (a, -1), (a, 1), (point, 0), (none, 2)]:
        group.case("expand_dims", [x], np.expand_dims(x, axis), axis=axis)
    ones = a.reshape(1, 12, 1)
    for axes in [(0,), (-1,), (0, 2)]:
        group.case("squeeze", [ones], np.squeeze(ones, axes), axes=axes)
    group.case("squeeze", [ones], np.squeeze(ones), axes="..")
    group.case("squeeze", [point], point, axes="..")
    for x, shape in [(a[0], (3, 4)), (a[:, :1], (3, 4)), (point, (2, 3)), (point, ()), (none, (2, 0, 4)), (a[:1], (0, 4))]:
        group.case("broadcast_to", [x], np.broadcast_to(x, shape), shape=shape)


def slices(group, name):
    a = bits_of(name, 24).reshape(4, 6)
    for ranges in [["1:3", "::2"], [":", "-3:"], ["1::2", "1:6:3"], ["2", ":"], ["-1", "-2"], ["1:1", ":"], [":-1"], []]:
        group.case("slice", [a], a[as_slices(ranges)], ranges=text(ranges))
    group.case("slice_axis", [a], a[:, 1:-1], axis=1, start=1, stop=-1)
    group.case("slice_axis", [a], a[2:2], axis=-2, start=2, stop=2)
    group.case("split", [a], [a[:, :1], a[:, 1:1], a[:, 1:]], axis=-1, sizes=(1, 0, 5))
    group.case("split", [a[:0]], [a[:0]], axis=0, sizes=(0,))
    for axes in [(0,), (-1,), (0, 1), ()]:
        group.case("reverse", [a], np.flip(a, axes), axes=axes)
    group.case("reverse", [a], np.flip(a), axes="..")
    group.case("reverse", [a[:0]], a[:0], axes=0)
    for shift in (1, -2, 0, 8, -13):
        group.case("roll", [a], np.roll(a, shift, 1), shift=shift, axis=1)
    group.case("roll", [a[:0]], a[:0], shift=1, axis=0)
    for x, k in [(a, 0), (a, 1), (a, -2), (a, 9), (a.reshape(2, 3, 4), 0), (a[:0], 0)]:
        group.case("tril", [x], np.tril(x, k), k=k)
        group.case("triu", [x], np.triu(x, k), k=k)
    for n in (0, 1, 3):
        group.case("eye", [], np.eye(n).astype(DTYPES[name]), dtype=name, n=n)
    group.case("diag", [a[0, :4]], np.diag(a[0, :4]))
    group.case("diag", [a], np.diag(a))
    group.case("diag", [a[:0]], np.diag(a[:0]))
    group.case("diag", [a[0, :0]], np.diag(a[0, :0]))
    group.case("diagonal", [a.reshape(2, 3, 4)], np.diagonal(a.reshape(2, 3, 4), axis1=-2, axis2=-1))


def padded(a, low, high, interior, value):
    """`pad` as StableHLO says it, axis by axis."""
    for axis, (l, h, i) in enumerate(zip(low, high, interior)):
        n = a.shape[axis]
        size = max(n + (n - 1) * i, 0) if n else 0
        shape = list(a.shape)
        shape[axis] = size
        spread = np.full(shape, value, a.dtype)
        spread[(slice(None),) * axis + (slice(None, None, i + 1),)] = a
        parts = [spread]
        for n, first in ((l, True), (h, False)):
            if n > 0:
                shape[axis] = n
                part = np.full(shape, value, a.dtype)
                parts = [part] + parts if first else parts + [part]
        a = np.concatenate(parts, axis)
        start, stop = max(-l, 0), a.shape[axis] - max(-h, 0)
        a = a[(slice(None),) * axis + (slice(start, stop),)]
    return a


def joins(group, name):
    a = bits_of(name, 12).reshape(3, 4)
    b = bits_of(name, 8, 1).reshape(2, 4)
    fill = bits_of(name, 7, 2)[6].reshape(())
    point = a[0, 0].reshape(())
    for arrays, axis in [((a, b), 0), ((a, b, a[:0]), -2), ((a, a), 1), ((a,), 0)]:
        group.case("concatenate", arrays, np.concatenate(arrays, axis), axis=axis)
    for arrays, axis in [((a, a), 0), ((a, a[::-1]), -1), ((a, a), 1), ((point, point), 0), ((a[:0],), 0)]:
        group.case("stack", arrays, np.stack(arrays, axis), axis=axis)
    paddings = [((1, 0), (0, 2), (0, 0)), ((0, 0), (0, 0), (1, 2)), ((-1, 2), (1, -1), (0, 0)), ((2, -2), (-1, 0), (1, 1))]
    for low, high, interior in paddings:
        group.case("pad", [a, fill], padded(a, low, high, interior, fill), low=low, high=high, interior=interior)
    group.case("pad", [point, fill], point, low=(), high=(), interior=())
    group.case("pad", [a[:0], fill], padded(a[:0], (1, 0), (1, 0), (2, 0), fill), low=(1, 0), high=(1, 0), interior=(2, 0))
    for x, reps in [(a, (2, 1)), (a, (2,)), (b, (2, 1, 3)), (point, (3,)), (a, (0, 1)), (a[:0], (2, 2))]:
        group.case("tile", [x], np.tile(x, reps), reps=reps)
    for x, n, axis in [(a, 2, 0), (a, 3, -1), (a, 0, 1), (a[:0], 2, 0)]:
        group.case("repeat", [x], np.repeat(x, n, axis), n=n, axis=axis)


def make():
    group = Group("movement")
    for i, name in enumerate(ALL):
        # Each dtype with one of the three parts, the commonest with all: bits are moved in one way, whatever they are.
        parts = [shapes, slices, joins]
        for part in parts if name in ("bool", "f32", "c128", "bf16", "u8") else [parts[i % 3]]:
            part(group, name)
    group.write()
