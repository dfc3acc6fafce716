#!/usr/bin/env python3
"""Writes the tables of builtin functions that backends/cpu/tests/builtins checks: inputs, the exact value, and the least and the greatest
result that the WGSL specification allows (its chapter on floating point accuracy).

    pip install mpmath
    scripts/builtin_tables.py backends/cpu/tests/builtins

Exact values come from mpmath with 80 digits. Bounds of functions whose accuracy is "inherited from" an expression are found by interval
arithmetic: each operation of the expression widens the interval by the error that the table allows it, and a correctly rounded one by rounding
outwards. An implementation may always be better than the expression, so the exact value's two neighbours are allowed too.

Stricter than the specification: subnormal numbers are not flushed, and no operation may be fused or reordered where it would leave the interval.
"""

import random
import struct
import sys
from pathlib import Path

import mpmath
from mpmath import mp, mpf

mp.dps = 80
INF = mpf("inf")


class Format:
    """A binary floating point type."""

    def __init__(self, name, precision, least, most, pack):
        self.name, self.precision, self.least, self.most, self.pack = name, precision, least, most, pack
        self.max = (2 - mpf(2) ** (1 - precision)) * mpf(2) ** most
        self.tiny = mpf(2) ** (least - precision + 1)

    def ulp(self, x):
        x = min(abs(x), self.max)
        exponent = self.least if x == 0 else max(int(mpmath.floor(mpmath.log(x, 2))), self.least)
        # The logarithm may be off at powers of two.
        while mpf(2) ** (exponent + 1) <= x:
            exponent += 1
        while exponent > self.least and mpf(2) ** exponent > x:
            exponent -= 1
        return mpf(2) ** (exponent - self.precision + 1)

    def down(self, x):
        """The greatest number of the type that is not above x."""
        if mpmath.isinf(x):
            return x
        if x > self.max:
            return self.max
        if x < -self.max:
            return -INF
        return mpmath.floor(x / self.ulp(x)) * self.ulp(x)

    def up(self, x):
        return -self.down(-x)

    def bits(self, x):
        if mpmath.isinf(x):
            value = float(x)
        else:
            value = float(x)
            assert mpf(value) == x, x
        return int.from_bytes(struct.pack("<" + self.pack, value), "little")

    def value(self, bits):
        size = struct.calcsize(self.pack)
        return struct.unpack("<" + self.pack, bits.to_bytes(size, "little"))[0]

    def nearest(self, x):
        """A number of the type near x."""
        x = mpf(x)
        low, high = self.down(x), self.up(x)
        return low if x - low <= high - x else high


F32 = Format("f32", 24, -126, 127, "f")
F16 = Format("f16", 11, -14, 15, "e")


class Interval:
    """What an operation of the type may give."""

    def __init__(self, low, high):
        self.low, self.high = mpf(low), mpf(high)

    def hull(self, other):
        return Interval(min(self.low, other.low), max(self.high, other.high))


class Arithmetic:
    """Operations on intervals with the errors that the specification allows."""

    def __init__(self, fmt):
        self.f = fmt

    def one(self, x):
        return Interval(x, x)

    def rounded(self, low, high):
        return Interval(self.f.down(low), self.f.up(high))

    def constant(self, text):
        return self.rounded(mpf(text), mpf(text))

    def widen(self, low, high, absolute=None, ulps=None):
        def error(x):
            return mpf(absolute) if absolute is not None else ulps(x) * self.f.ulp(x)

        if mpmath.isinf(low) or mpmath.isinf(high):
            return Interval(low, high)
        return self.rounded(low - error(low), high + error(high))

    def add(self, a, b):
        return self.rounded(a.low + b.low, a.high + b.high)

    def neg(self, a):
        return Interval(-a.high, -a.low)

    def sub(self, a, b):
        return self.add(a, self.neg(b))

    def corners(self, a, b, op):
        values = [op(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return min(values), max(values)

    def mul(self, a, b):
        return self.rounded(*self.corners(a, b, lambda x, y: mpf(0) if x == 0 or y == 0 else x * y))

    def div(self, a, b):
        if b.low <= 0 <= b.high:
            return Interval(-INF, INF)
        return self.widen(*self.corners(a, b, lambda x, y: x / y), ulps=lambda x: mpf("2.5"))

    def inverse_sqrt(self, a):
        if a.low <= 0:
            return Interval(0, INF)
        return self.widen(1 / mpmath.sqrt(a.high), 1 / mpmath.sqrt(a.low), ulps=lambda x: 2)

    def sqrt(self, a):
        if a.high <= 0:
            return Interval(0, 0)
        if a.low <= 0:
            return self.sqrt(Interval(self.f.tiny, a.high)).hull(self.one(0))
        return self.div(self.one(1), self.inverse_sqrt(a))

    def exponential(self, a, function):
        base = 3 if self.f is F32 else 1

        def at(x):
            y = function(x)
            error = (base + 2 * abs(x)) * self.f.ulp(y)
            return self.rounded(y - error, y + error)

        return at(a.low).hull(at(a.high))

    def exp(self, a):
        return self.exponential(a, mpmath.exp)

    def exp2(self, a):
        return self.exponential(a, lambda x: mpf(2) ** x)

    def logarithm(self, a, function):
        near = mpf(2) ** (-21 if self.f is F32 else -7)

        def at(x):
            if x <= 0:
                return Interval(-INF, -INF)
            y = function(x)
            error = near if mpf("0.5") <= x <= 2 else 3 * self.f.ulp(y)
            return self.rounded(y - error, y + error)

        return at(a.low).hull(at(a.high))

    def log(self, a):
        return self.logarithm(a, mpmath.log)

    def log2(self, a):
        return self.logarithm(a, lambda x: mpmath.log(x, 2))

    def periodic(self, x, function):
        """Of one number in [-pi, pi]."""
        error = mpf(2) ** (-11 if self.f is F32 else -7)
        y = function(x)
        return self.rounded(y - error, y + error)

    def arc_ulps(self):
        return 4096 if self.f is F32 else 5

    def atan2(self, y, x):
        low, high = self.corners(y, x, lambda y, x: mpmath.atan2(y, x))
        return self.widen(low, high, ulps=lambda v: self.arc_ulps())

    def dot(self, a, b):
        """Sums in any order: the error of each order is inside that of the sum of sizes."""
        products = [self.mul(x, y) for x, y in zip(a, b)]
        low, high = sum(p.low for p in products), sum(p.high for p in products)
        sizes = sum(max(abs(p.low), abs(p.high)) for p in products)
        slack = (len(products) - 1) * self.f.ulp(sizes)
        return self.rounded(low - slack, high + slack)


class Table:
    """The sections of one file."""

    def __init__(self, fmt):
        self.f, self.a, self.lines, self.count = fmt, Arithmetic(fmt), [], 0

    def section(self, expression, arguments, result):
        self.lines.append(f"\n{expression} : {', '.join(arguments)} -> {result}")

    def row(self, inputs, exact, intervals, neighbours=True):
        """Inputs as bits; exact values and allowed intervals of each component of the result."""
        parts = []
        for x, interval in zip(exact, intervals):
            if neighbours:
                interval = interval.hull(Interval(self.f.down(x), self.f.up(x)))
            low, high = self.f.bits(self.f.up(interval.low)), self.f.bits(self.f.down(interval.high))
            parts.append(f"{mpmath.nstr(x, 17)} {low:x} {high:x}")
        self.lines.append(" ".join(f"{i:x}" for i in inputs) + " = " + ", ".join(parts))
        self.count += 1

    def exact_row(self, inputs, outputs):
        self.lines.append(" ".join(f"{i:x}" for i in inputs) + " = " + ", ".join(f"{o:x}" for o in outputs))
        self.count += 1


def spread(fmt, rng, low, high, count, logarithmic=False):
    """Numbers of the type over a range, its ends among them."""
    numbers = [fmt.nearest(low), fmt.nearest(high)]
    while len(numbers) < count:
        if logarithmic:
            x = mpf(2) ** rng.uniform(float(mpmath.log(low, 2)), float(mpmath.log(high, 2)))
        else:
            x = mpf(rng.uniform(float(low), float(high)))
        numbers.append(fmt.nearest(x))
    return numbers


def both_signs(numbers):
    return numbers + [-x for x in numbers]


def functions_of_one(table, rng):
    f, a = table.f, table.a
    t = f.name
    big = f.max
    edge = [mpf(0), f.tiny, f.tiny * 3, mpf(2) ** f.least, mpf(1), 1 - mpf(2) ** -f.precision, 1 + mpf(2) ** (1 - f.precision), mpf(2), mpf("0.5")]
    pi = f.down(mpmath.pi)
    unit = both_signs(spread(f, rng, 0, 1, 14) + [f.tiny, mpf("0.5"), 1 - mpf(2) ** -f.precision])
    wide = both_signs(edge + spread(f, rng, mpf(2) ** f.least, big, 12, True))
    positive = edge[1:] + spread(f, rng, mpf(2) ** f.least, big, 16, True) + spread(f, rng, mpf("0.5"), 2, 10)
    angles = both_signs(spread(f, rng, 0, pi, 16) + [f.tiny, f.nearest(mpmath.pi / 2), f.nearest(mpmath.pi / 4)])
    small = both_signs(spread(f, rng, 0, 8, 14) + [f.tiny, f.nearest(mpf("1e-4"))])
    top = mpmath.log(big)
    exponents = both_signs(spread(f, rng, 0, mpmath.floor(top), 14) + [f.tiny, mpf(1), mpf("0.5")])
    correct = lambda function: lambda x: (function(x), a.rounded(function(x), function(x)))

    def at(function, interval):
        return lambda x: (function(x), interval(a.one(x)))

    def worse(function, error, interval):
        def both(x):
            y = function(x)
            return y, a.rounded(y - mpf(error), y + mpf(error)).hull(interval(a.one(x)))

        return both

    half_sum = lambda op: lambda x: a.mul(op(a.exp(x), a.exp(a.neg(x))), a.constant("0.5"))
    sinh, cosh = half_sum(a.sub), half_sum(a.add)
    one = a.one(1)
    root = lambda x, sign: a.sqrt(a.add(a.mul(x, x), a.one(sign)))
    rest = lambda x: a.sqrt(a.sub(one, a.mul(x, x)))
    periodic = lambda function: lambda x: (function(x), a.periodic(x, function))
    acos_error, asin_error = ("6.77e-5", "6.81e-5") if f is F32 else ("3.91e-3", "3.91e-3")
    even = lambda x: mpmath.floor(x + mpf("0.5")) - (1 if x + mpf("0.5") == mpmath.floor(x + mpf("0.5")) and mpmath.floor(x + mpf("0.5")) % 2 else 0)
    trunc = lambda x: mpmath.floor(x) if x >= 0 else mpmath.ceil(x)
    halves = both_signs([mpf(n) / 2 for n in range(0, 14)] + [mpf(2) ** (f.precision - 2) - mpf("0.5"), mpf(2) ** (f.precision - 1) - 1])

    def tan(x):
        sine, cosine = a.periodic(x, mpmath.sin), a.periodic(x, mpmath.cos)
        return mpmath.tan(x), a.div(sine, cosine)

    rows = [
        ("abs(a)", wide, correct(abs)),
        ("ceil(a)", wide + halves, correct(mpmath.ceil)),
        ("floor(a)", wide + halves, correct(mpmath.floor)),
        ("round(a)", wide + halves, correct(even)),
        ("trunc(a)", wide + halves, correct(trunc)),
        ("fract(a)", wide + halves, at(lambda x: x - mpmath.floor(x), lambda x: a.sub(x, a.one(mpmath.floor(x.low))))),
        ("sign(a)", wide, correct(mpmath.sign)),
        ("saturate(a)", wide + unit, correct(lambda x: min(max(x, mpf(0)), mpf(1)))),
        ("-a", wide, correct(lambda x: -x)),
        ("sqrt(a)", positive, at(mpmath.sqrt, a.sqrt)),
        ("inverseSqrt(a)", positive, at(lambda x: 1 / mpmath.sqrt(x), a.inverse_sqrt)),
        ("sin(a)", angles, periodic(mpmath.sin)),
        ("cos(a)", angles, periodic(mpmath.cos)),
        ("tan(a)", angles, tan),
        ("asin(a)", unit, worse(mpmath.asin, asin_error, lambda x: a.atan2(x, rest(x)))),
        ("acos(a)", unit, worse(mpmath.acos, acos_error, lambda x: a.atan2(rest(x), x))),
        ("atan(a)", wide, lambda x: (mpmath.atan(x), a.widen(mpmath.atan(x), mpmath.atan(x), ulps=lambda v: a.arc_ulps()))),
        ("sinh(a)", small, at(mpmath.sinh, sinh)),
        ("cosh(a)", small, at(mpmath.cosh, cosh)),
        ("tanh(a)", small, worse(mpmath.tanh, "1e-5", lambda x: a.div(sinh(x), cosh(x)))),
        ("asinh(a)", small + unit, at(mpmath.asinh, lambda x: a.log(a.add(x, root(x, 1))))),
        ("acosh(a)", [x for x in positive if 1 <= x <= 10000], at(mpmath.acosh, lambda x: a.log(a.add(x, root(x, -1))))),
        ("atanh(a)", [x for x in unit if abs(x) < 1], at(mpmath.atanh, lambda x: a.mul(a.log(a.div(a.add(one, x), a.sub(one, x))), a.constant("0.5")))),
        ("exp(a)", exponents, at(mpmath.exp, a.exp)),
        ("exp2(a)", both_signs(spread(f, rng, 0, f.most, 16)), at(lambda x: mpf(2) ** x, a.exp2)),
        ("log(a)", positive, at(mpmath.log, a.log)),
        ("log2(a)", positive, at(lambda x: mpmath.log(x, 2), a.log2)),
        ("radians(a)", wide, at(lambda x: x * mpmath.pi / 180, lambda x: a.mul(x, a.constant("0.017453292519943295474")))),
        ("degrees(a)", [x for x in wide if abs(x) < big / 60], at(lambda x: x * 180 / mpmath.pi, lambda x: a.mul(x, a.constant("57.295779513082322865")))),
    ]
    for expression, numbers, function in rows:
        table.section(expression, [t], t)
        for x in dict.fromkeys(numbers):
            exact, interval = function(x)
            table.row([f.bits(x)], [exact], [interval])


def functions_of_more(table, rng):
    f, a = table.f, table.a
    t = f.name
    near = lambda low, high: f.nearest(rng.uniform(low, high))
    any_size = lambda: f.nearest(rng.choice([-1, 1]) * mpf(2) ** rng.uniform(-12 if f is F16 else -60, 7 if f is F16 else 60))

    def rows(expression, kinds, function, count, make):
        table.section(expression, kinds, t)
        for _ in range(count):
            values = make()
            exact, interval = function(*values)
            table.row([f.bits(v) for v in values], [exact], [interval])

    one = a.one
    pair, triple = (lambda: (any_size(), any_size())), (lambda: (any_size(), any_size(), any_size()))
    correct = lambda function: lambda *x: (function(*x), a.rounded(function(*x), function(*x)))
    rows("a + b", [t, t], correct(lambda x, y: x + y), 24, pair)
    rows("a - b", [t, t], correct(lambda x, y: x - y), 24, pair)
    rows("a * b", [t, t], correct(lambda x, y: x * y), 24, pair)
    rows("a / b", [t, t], lambda x, y: (x / y, a.div(one(x), one(y))), 24, pair)

    def remainder(x, y):
        quotient = a.div(one(x), one(y))
        whole = lambda v: mpmath.floor(v) if v >= 0 else mpmath.ceil(v)
        product = a.mul(one(y), Interval(whole(quotient.low), whole(quotient.high)))
        return x - y * whole(x / y), a.sub(one(x), product)

    rows("a % b", [t, t], remainder, 24, lambda: (near(-100, 100), near(0.5, 20) * rng.choice([-1, 1])))
    rows("min(a, b)", [t, t], correct(min), 16, pair)
    rows("max(a, b)", [t, t], correct(max), 16, pair)
    rows("step(a, b)", [t, t], correct(lambda e, x: mpf(1) if e <= x else mpf(0)), 16, pair)
    rows("clamp(a, b, c)", [t] * 3, correct(lambda x, l, h: min(max(x, l), h)), 16, lambda: (any_size(), *sorted(pair())))
    rows("fma(a, b, c)", [t] * 3, lambda x, y, z: (x * y + z, a.add(a.mul(one(x), one(y)), one(z))), 24, triple)
    rows("mix(a, b, c)", [t] * 3, lambda x, y, z: (x * (1 - z) + y * z, a.add(a.mul(one(x), a.sub(one(1), one(z))), a.mul(one(y), one(z)))), 24, lambda: (near(-9, 9), near(-9, 9), near(-0.5, 1.5)))

    def smoothstep(low, high, x):
        ratio = min(max((x - low) / (high - low), mpf(0)), mpf(1))
        s = a.div(a.sub(one(x), one(low)), a.sub(one(high), one(low)))
        s = Interval(min(max(s.low, 0), 1), min(max(s.high, 0), 1))
        return ratio * ratio * (3 - 2 * ratio), a.mul(a.mul(s, s), a.sub(one(3), a.mul(one(2), s)))

    rows("smoothstep(a, b, c)", [t] * 3, smoothstep, 24, lambda: (near(-4, 0), near(0.5, 4), near(-5, 5)))
    rows("atan2(a, b)", [t, t], lambda y, x: (mpmath.atan2(y, x), a.atan2(one(y), one(x))), 32, pair)
    limit = 3 if f is F16 else 20
    rows("pow(a, b)", [t, t], lambda x, y: (x ** y, a.exp2(a.mul(one(y), a.log2(one(x))))), 32, lambda: (near(0.01, 30 if f is F32 else 8), near(-limit, limit)))
    # The exponent is an integer; tables hold bits of each argument's own type.
    table.section("ldexp(a, b)", [t, "i32"], t)
    for _ in range(32):
        x, e = any_size(), rng.randrange(-40, 41) if f is F32 else rng.randrange(-12, 8)
        y = x * mpf(2) ** e
        table.row([f.bits(x), e & 0xFFFFFFFF], [y], [a.rounded(y, y)])
    for expression, part in (("frexp(a).fract", 0), ("ldexp(frexp(a).fract, i32(frexp(a).exp))", 1)):
        table.section(expression, [t], t)
        for x in [any_size() for _ in range(14)] + [mpf(2) ** f.least, f.max, mpf(1), mpf(0)]:
            mantissa, _ = mpmath.frexp(x)
            y = mantissa if part == 0 else x
            table.row([f.bits(x)], [y], [a.one(y)])
    for expression, part in (("modf(a).fract", 0), ("modf(a).whole", 1)):
        table.section(expression, [t], t)
        for x in [near(-50, 50) for _ in range(14)] + [mpf(0), mpf(3), mpf("-0.25")]:
            whole = mpmath.floor(x) if x >= 0 else mpmath.ceil(x)
            y = whole if part else x - whole
            table.row([f.bits(x)], [y], [a.rounded(y, y)])


def geometry(table, rng):
    f, a = table.f, table.a
    t = f.name
    near = lambda: f.nearest(rng.uniform(-6, 6))
    vectors = lambda n: [near() for _ in range(n)]
    ones = lambda v: [a.one(x) for x in v]
    exact_dot = lambda x, y: sum(p * q for p, q in zip(x, y))

    def section(expression, kinds, size, count, make, function):
        table.section(expression, kinds, t if size == 1 else f"vec{size}<{t}>")
        for _ in range(count):
            values = make()
            exact, intervals = function(*values)
            flat = [x for v in values for x in (v if isinstance(v, list) else [v])]
            table.row([f.bits(x) for x in flat], exact, intervals)

    for n in (2, 3, 4):
        v = f"vec{n}<{t}>"
        two = lambda: (vectors(n), vectors(n))
        section("dot(a, b)", [v, v], 1, 14, two, lambda x, y: ([exact_dot(x, y)], [a.dot(ones(x), ones(y))]))
        length = lambda x: a.sqrt(a.dot(x, x))
        root = lambda x: mpmath.sqrt(exact_dot(x, x))
        section("length(a)", [v], 1, 12, lambda: (vectors(n),), lambda x: ([root(x)], [length(ones(x))]))
        between = lambda x, y: [a.sub(p, q) for p, q in zip(ones(x), ones(y))]
        section("distance(a, b)", [v, v], 1, 12, two, lambda x, y: ([root([p - q for p, q in zip(x, y)])], [length(between(x, y))]))
        section("normalize(a)", [v], n, 10, lambda: (vectors(n),), lambda x: ([p / root(x) for p in x], [a.div(p, length(ones(x))) for p in ones(x)]))

        def reflect(x, y):
            twice = a.mul(a.one(2), a.dot(ones(x), ones(y)))
            exact = [p - 2 * exact_dot(x, y) * q for p, q in zip(x, y)]
            return exact, [a.sub(p, a.mul(twice, q)) for p, q in zip(ones(x), ones(y))]

        section("reflect(a, b)", [v, v], n, 10, two, reflect)

        def face(x, y, z):
            sign = 1 if exact_dot(z, y) < 0 else -1
            return [sign * p for p in x], [a.one(sign * p) for p in x]

        def clear():
            # A product whose sign no rounding can change.
            while True:
                x, y, z = vectors(n), vectors(n), vectors(n)
                if abs(exact_dot(y, z)) > 1:
                    return x, y, z

        section("faceForward(a, b, c)", [v, v, v], n, 8, clear, face)

        def refract(x, y, r):
            d, e = exact_dot(y, x), a.dot(ones(y), ones(x))
            k = 1 - r * r * (1 - d * d)
            ratio = a.one(r)
            ki = a.sub(a.one(1), a.mul(a.mul(ratio, ratio), a.sub(a.one(1), a.mul(e, e))))
            if k < 0:
                return [mpf(0)] * n, [a.one(0)] * n
            along, along_i = r * d + mpmath.sqrt(k), a.add(a.mul(ratio, e), a.sqrt(ki))
            exact = [r * p - along * q for p, q in zip(x, y)]
            return exact, [a.sub(a.mul(ratio, p), a.mul(along_i, q)) for p, q in zip(ones(x), ones(y))]

        def settled():
            while True:
                scale = lambda v: [f.nearest(p / 12) for p in v]
                x, y, r = scale(vectors(n)), scale(vectors(n)), f.nearest(rng.uniform(0.3, 1.6))
                if abs(1 - r * r * (1 - exact_dot(x, y) ** 2)) > mpf("0.05"):
                    return x, y, r

        section("refract(a, b, c)", [v, v, t], n, 10, settled, refract)
    v = f"vec3<{t}>"
    index = [(1, 2), (2, 0), (0, 1)]

    def cross(x, y):
        exact = [x[i] * y[j] - x[j] * y[i] for i, j in index]
        p, q = ones(x), ones(y)
        return exact, [a.sub(a.mul(p[i], q[j]), a.mul(p[j], q[i])) for i, j in index]

    section("cross(a, b)", [v, v], 3, 16, lambda: (vectors(3), vectors(3)), cross)
    section("length(a)", [t], 1, 10, lambda: (near(),), lambda x: ([abs(x)], [a.sqrt(a.mul(a.one(x), a.one(x)))]))


def matrices(table, rng):
    """Of small integers, so that every order of summation gives the same."""
    f = table.f
    t = f.name
    whole = lambda n: [mpf(rng.randrange(-8, 9)) for _ in range(n)]
    for c in (2, 3, 4):
        for r in (2, 3, 4):
            m, cols, rows = f"mat{c}x{r}<{t}>", range(c), range(r)
            at = lambda v, i, j, height: v[i * height + j]
            table.section("a * b", [m, f"vec{c}<{t}>"], f"vec{r}<{t}>")
            for _ in range(4):
                x, v = whole(c * r), whole(c)
                y = [sum(x[i * r + j] * v[i] for i in cols) for j in rows]
                table.row([f.bits(p) for p in x + v], y, [table.a.one(p) for p in y])
            table.section("a * b", [f"vec{r}<{t}>", m], f"vec{c}<{t}>")
            for _ in range(4):
                v, x = whole(r), whole(c * r)
                y = [sum(x[i * r + j] * v[j] for j in rows) for i in cols]
                table.row([f.bits(p) for p in v + x], y, [table.a.one(p) for p in y])
            table.section("transpose(a)[1]", [m], f"vec{c}<{t}>")
            for _ in range(3):
                x = whole(c * r)
                y = [at(x, i, 1, r) for i in cols]
                table.row([f.bits(p) for p in x], y, [table.a.one(p) for p in y])
            k = 2 + (c + r) % 3
            table.section("(a * b)[1]", [m, f"mat{k}x{c}<{t}>"], f"vec{r}<{t}>")
            for _ in range(3):
                x, z = whole(c * r), whole(k * c)
                y = [sum(x[i * r + j] * z[c + i] for i in cols) for j in rows]
                table.row([f.bits(p) for p in x + z], y, [table.a.one(p) for p in y])
    for n in (2, 3, 4):
        table.section("determinant(a)", [f"mat{n}x{n}<{t}>"], t)
        for _ in range(6):
            x = [mpf(rng.randrange(-3, 4)) for _ in range(n * n)]
            y = mpf(int(mpmath.nint(mpmath.det(mpmath.matrix([[x[i * n + j] for i in range(n)] for j in range(n)])))))
            table.row([f.bits(p) for p in x], [y], [table.a.one(y)])


WORD = 0xFFFFFFFF
SPECIAL = [0, 1, 2, 3, 7, 31, 32, 255, 256, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, WORD, 0x55555555, 0xAAAAAAAA]


def signed(x):
    return x - (1 << 32) if x >> 31 else x


def integers(table, rng):
    words = SPECIAL + [rng.getrandbits(32) for _ in range(10)] + [rng.getrandbits(32) >> rng.randrange(32) for _ in range(6)]
    bits = lambda x: f"{x:032b}"

    def leading(x):
        return 31 - bits(x).index("1") if x else WORD

    ones = {
        "countOneBits(a)": lambda x: bits(x).count("1"),
        "countLeadingZeros(a)": lambda x: 32 - x.bit_length(),
        "countTrailingZeros(a)": lambda x: (x & -x).bit_length() - 1 if x else 32,
        "firstTrailingBit(a)": lambda x: (x & -x).bit_length() - 1 if x else WORD,
        "reverseBits(a)": lambda x: int(bits(x)[::-1], 2),
        "~a": lambda x: ~x & WORD,
    }
    for kind in ("u32", "i32"):
        for expression, function in ones.items():
            table.section(expression, [kind], kind)
            for x in words:
                table.exact_row([x], [function(x)])
    for expression, function in {"firstLeadingBit(a)": leading, "abs(a)": lambda x: x}.items():
        table.section(expression, ["u32"], "u32")
        for x in words:
            table.exact_row([x], [function(x)])
    of_signed = {
        "firstLeadingBit(a)": lambda x: leading(~x & WORD if x >> 31 else x),
        "abs(a)": lambda x: abs(signed(x)) & WORD,
        "sign(a)": lambda x: (0 if x == 0 else -1 if x >> 31 else 1) & WORD,
        "-a": lambda x: -x & WORD,
    }
    for expression, function in of_signed.items():
        table.section(expression, ["i32"], "i32")
        for x in words:
            table.exact_row([x], [function(x)])

    def quotient(x, y):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    def divide(x, y):
        return x if y == 0 else quotient(x, y)

    def modulo(x, y):
        return 0 if y == 0 else x - y * quotient(x, y)

    two = {
        "a + b": lambda x, y: x + y,
        "a - b": lambda x, y: x - y,
        "a * b": lambda x, y: x * y,
        "a / b": divide,
        "a % b": modulo,
        "a & b": lambda x, y: x & y,
        "a | b": lambda x, y: x | y,
        "a ^ b": lambda x, y: x ^ y,
        "min(a, b)": min,
        "max(a, b)": max,
    }
    pairs = [(rng.choice(words), rng.choice(words)) for _ in range(20)] + [(0x80000000, WORD), (5, 0), (0x80000000, 0), (0x80000000, 1)]
    for kind, view in (("u32", lambda x: x), ("i32", signed)):
        for expression, function in two.items():
            table.section(expression, [kind, kind], kind)
            for x, y in pairs:
                table.exact_row([x, y], [function(view(x), view(y)) & WORD])
        table.section("a << b", [kind, "u32"], kind)
        for x, y in pairs:
            table.exact_row([x, y], [x << (y % 32) & WORD])
        table.section("a >> b", [kind, "u32"], kind)
        for x, y in pairs:
            table.exact_row([x, y], [view(x) >> (y % 32) & WORD])
        table.section("clamp(a, b, c)", [kind] * 3, kind)
        for _ in range(14):
            x, y, z = (rng.choice(words) for _ in range(3))
            table.exact_row([x, y, z], [min(max(view(x), view(y)), view(z)) & WORD])
        places = [(0, 32), (0, 0), (31, 1), (30, 10), (35, 3), (4, 8), (16, 16), (0, 1), (1, 40), (WORD, 5), (5, WORD)]
        table.section("extractBits(a, b, c)", [kind, "u32", "u32"], kind)
        for x in rng.sample(words, 5):
            for offset, count in places:
                o = min(offset, 32)
                c = min(count, 32 - o)
                value = x >> o & ((1 << c) - 1)
                if kind == "i32" and c and value >> (c - 1):
                    value -= 1 << c
                table.exact_row([x, offset, count], [value & WORD])
        table.section("insertBits(a, b, c, d)", [kind, kind, "u32", "u32"], kind)
        for x in rng.sample(words, 4):
            for offset, count in places:
                new = rng.choice(words)
                o = min(offset, 32)
                c = min(count, 32 - o)
                mask = ((1 << c) - 1) << o
                table.exact_row([x, new, offset, count], [x & ~mask | new << o & mask])
        table.section("dot(a, b)", [f"vec3<{kind}>"] * 2, kind)
        for _ in range(10):
            x, y = ([rng.choice(words) for _ in range(3)] for _ in range(2))
            table.exact_row(x + y, [sum(p * q for p, q in zip(x, y)) & WORD])


def packing(table, rng):
    f32 = lambda x: F32.bits(F32.nearest(x))
    exact = lambda bits: mpf(F32.value(bits))
    # What comes close to half a unit is left out: the specification lets the product be rounded either way, and then the result.
    numbers = [mpf(x) for x in ("0", "1", "-1", "0.25", "-0.25", "2", "-2", "0.1", "-0.9", "0.7", "1e-3", "0.9999", "100")]
    numbers += [mpf(rng.uniform(-1.2, 1.2)) for _ in range(20)]
    for name, count, bits, low, scale in (
        ("pack4x8snorm", 4, 8, -1, 127),
        ("pack4x8unorm", 4, 8, 0, 255),
        ("pack2x16snorm", 2, 16, -1, 32767),
        ("pack2x16unorm", 2, 16, 0, 65535),
    ):
        table.section(f"{name}(a)", [f"vec{count}<f32>"], "u32")
        for _ in range(16):
            inputs, word = [], 0
            while len(inputs) < count:
                x = f32(rng.choice(numbers))
                scaled = scale * min(mpf(1), max(mpf(low), exact(x)))
                fields = {int(mpmath.floor(mpf("0.5") + y)) for y in (F32.down(scaled), F32.up(scaled))}
                if len(fields) == 1:
                    word |= (fields.pop() & ((1 << bits) - 1)) << (bits * len(inputs))
                    inputs.append(x)
            table.exact_row(inputs, [word])
    table.section("pack2x16float(a)", ["vec2<f32>"], "u32")
    for _ in range(16):
        # Exact halves, so that the rounding is not in question.
        halves = [rng.choice([0, 0x3C00, 0xBC00, 1, 0x3FF, 0x400, 0x7BFF, 0xFBFF, rng.randrange(0x7C00)]) for _ in range(2)]
        table.exact_row([f32(mpf(F16.value(h))) for h in halves], [halves[0] | halves[1] << 16])
    table.section("unpack2x16float(a)", ["u32"], "vec2<f32>")
    for _ in range(16):
        halves = [rng.choice([0, 0x8000, 0x3C00, 1, 0x3FF, 0x7BFF, rng.randrange(0x7C00)]) for _ in range(2)]
        values = [mpf(F16.value(h)) for h in halves]
        bits = [struct.unpack("<I", struct.pack("<f", F16.value(h)))[0] for h in halves]
        table.exact_row([halves[0] | halves[1] << 16], bits)
    a = table.a
    for name, count, bits, scale, has_sign in (
        ("unpack4x8snorm", 4, 8, 127, True),
        ("unpack4x8unorm", 4, 8, 255, False),
        ("unpack2x16snorm", 2, 16, 32767, True),
        ("unpack2x16unorm", 2, 16, 65535, False),
    ):
        table.section(f"{name}(a)", ["u32"], f"vec{count}<f32>")
        for word in rng.sample(SPECIAL, 8) + [rng.getrandbits(32) for _ in range(8)]:
            fields = [word >> (bits * i) & ((1 << bits) - 1) for i in range(count)]
            if has_sign:
                fields = [v - (1 << bits) if v >> (bits - 1) else v for v in fields]
            values = [max(mpf(v) / scale, mpf(-1)) for v in fields]
            table.row([word], values, [a.widen(v, v, ulps=lambda x: 3) for v in values])
    clamp = lambda low, high: lambda x: min(max(x, low), high)
    for name, kind, change in (
        ("pack4xI8", "i32", lambda x: x),
        ("pack4xU8", "u32", lambda x: x),
        ("pack4xI8Clamp", "i32", clamp(-128, 127)),
        ("pack4xU8Clamp", "u32", clamp(0, 255)),
    ):
        table.section(f"{name}(a)", [f"vec4<{kind}>"], "u32")
        for _ in range(12):
            inputs = [rng.choice(SPECIAL + [rng.randrange(300), -rng.randrange(300) & WORD]) for _ in range(4)]
            view = signed if kind == "i32" else lambda x: x
            table.exact_row(inputs, [sum((change(view(x)) & 255) << (8 * i) for i, x in enumerate(inputs))])
    byte = lambda word, i: word >> (8 * i) & 255
    signed_byte = lambda word, i: byte(word, i) - (256 if byte(word, i) >> 7 else 0)
    for name, kind, view in (("unpack4xI8", "i32", signed_byte), ("unpack4xU8", "u32", byte)):
        table.section(f"{name}(a)", ["u32"], f"vec4<{kind}>")
        for word in SPECIAL[:10] + [rng.getrandbits(32) for _ in range(6)]:
            table.exact_row([word], [view(word, i) & WORD for i in range(4)])
    for name, kind, view in (("dot4I8Packed", "i32", signed_byte), ("dot4U8Packed", "u32", byte)):
        table.section(f"{name}(a, b)", ["u32", "u32"], kind)
        for _ in range(12):
            x, y = rng.getrandbits(32), rng.choice(SPECIAL + [rng.getrandbits(32)])
            table.exact_row([x, y], [sum(view(x, i) * view(y, i) for i in range(4)) & WORD])
    table.section("quantizeToF16(a)", ["f32"], "f32")
    for x in numbers + [mpf(65504), mpf(2) ** -14, mpf(2) ** -24, mpf("3e-6"), mpf("1000.3")]:
        x = F32.nearest(x)
        table.row([F32.bits(x)], [F16.nearest(x)], [Interval(F16.down(x), F16.up(x))], neighbours=False)


def conversions(table, rng):
    f32 = lambda x: F32.bits(F32.nearest(x))
    numbers = [mpf(x) for x in ("0", "0.5", "-0.5", "3.99", "-3.99", "1e20", "-1e20", "3e9", "2147483520", "-2147483648", "4294967040", "2147483648", "-1", "1e-40")]
    numbers += [mpf(rng.choice([-1, 1])) * mpf(2) ** rng.uniform(-3, 40) for _ in range(16)]
    for kind, low, high in (("i32", -(1 << 31), (1 << 31) - 128), ("u32", 0, (1 << 32) - 256)):
        table.section(f"{kind}(a)", ["f32"], kind)
        for x in numbers:
            x = F32.nearest(x)
            whole = int(mpmath.floor(x) if x >= 0 else mpmath.ceil(x))
            table.exact_row([F32.bits(x)], [min(max(whole, low), high) & WORD])
        table.section("f32(a)", [kind], "f32")
        for word in SPECIAL + [rng.getrandbits(32) for _ in range(10)] + [0x1000001, 0x1000003, 0x7FFFFFBF]:
            x = mpf(word if kind == "u32" else signed(word))
            table.row([word], [x], [table.a.rounded(x, x)])
        table.section("u32(bool(a))", [kind], "u32")
        for word in SPECIAL:
            table.exact_row([word], [int(word != 0)])
    table.section("u32(bool(a))", ["f32"], "u32")
    for x in ("0", "1", "-1", "1e-40"):
        table.exact_row([f32(mpf(x))], [int(mpf(x) != 0)])
    table.section("u32(a)", ["i32"], "u32")
    for word in SPECIAL:
        table.exact_row([word], [word])
    table.section("bitcast<u32>(a)", ["f32"], "u32")
    for word in SPECIAL[:12]:
        table.exact_row([word], [word])


def write(folder, name, table):
    head = "# Made by scripts/builtin_tables.py: do not edit.\n"
    (folder / name).write_text(head + "\n".join(table.lines) + "\n")
    print(f"{name}: {table.count} rows")


def main():
    folder = Path(sys.argv[1])
    for fmt in (F32, F16):
        table, rng = Table(fmt), random.Random(1)
        functions_of_one(table, rng)
        functions_of_more(table, rng)
        geometry(table, rng)
        matrices(table, rng)
        write(folder, f"{fmt.name}.txt", table)
    table, rng = Table(F32), random.Random(2)
    integers(table, rng)
    packing(table, rng)
    conversions(table, rng)
    write(folder, "integers.txt", table)


main()
