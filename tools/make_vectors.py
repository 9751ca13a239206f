# SPDX-License-Identifier: MIT
"""Makes tests/vectors/methods.json: the table of every method, computed with 60 decimal digits.

This is the independent reference for the C++ code: it was written from the formulas (docs/theory.md, sections 1-6), not
from the C++ source, and should stay so. It computes in real numbers; nothing is rounded to float32 or float64 on the way.

    python3 tools/make_vectors.py            write tests/vectors/methods.json
    python3 tools/make_vectors.py -o FILE    write another file
    python3 tools/make_vectors.py --check    exit 1 if the file is not what this script makes

Needs only mpmath (PyPI). Symbols: n pairs, base b, trained length L, target length L', S = L'/L, theta_i = b^(-i/n),
turns r_i = L theta_i / 2 pi, pair factor s_i (theta'_i = theta_i / s_i; infinite = the pair does not rotate).
"""
import argparse
import json
import pathlib
import sys
from decimal import Decimal

from mpmath import ceil, cos, floor, inf, isinf, ln, mp, mpf, nstr, pi, sqrt

mp.dps = 60
DIGITS = 21  # significant digits written: more than any binary64 or 80-bit value holds
DEFAULT_FILE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "vectors" / "methods.json"


class Rope:
    """One model at one target length. `S` is L'/L: 60 digits of the exact rational."""

    def __init__(self, rotary_dim, base, trained, target, length):
        self.n, self.b, self.L, self.length = rotary_dim // 2, mpf(base), mpf(trained), length
        self.S = mpf(target) / trained
        self.theta = [self.b ** (-mpf(i) / self.n) for i in range(self.n)]
        self.turns = [self.L * t / (2 * pi) for t in self.theta]
        # Pairs whose trained wavelength 2 pi / theta exceeds L; theta falls with i, so they are the last ones.
        self.unfinished = sum(2 * pi / t > self.L for t in self.theta)


class Params(dict):
    """key=value texts of one spelling; taking a number removes it, so what remains is a misspelt key."""

    def number(self, key, default):
        return mpf(self.pop(key, default))

    def numbers(self, key):
        return [mpf(x) for x in self.pop(key).split("/")]


def clamp01(x):
    return min(max(x, mpf(0)), mpf(1))


def band(r, p):
    """c(t) = n ln(L / (2 pi t)) / ln b; low = max(0, floor c(beta_fast)), high = min(2n-1, ceil c(beta_slow))."""
    def c(t):
        return r.n * ln(r.L / (2 * pi * t)) / ln(r.b)
    low, high = c(p.number("beta_fast", 32)), c(p.number("beta_slow", 1))
    if p.pop("truncate", "true") == "true":
        low, high = floor(low), ceil(high)
    return p.number("low", max(mpf(0), low)), p.number("high", min(mpf(2 * r.n - 1), high))


def over_band(r, p, inside):
    """1 up to low, S from high on, inside(k, N) between them; a band without width is a step after low."""
    low, high = band(r, p)
    return [mpf(1) if i <= low else r.S if i >= high else inside(i - low, high - low) for i in range(r.n)]


def none(r, p):
    return [mpf(1)] * r.n  # s = 1


def linear(r, p):
    return [r.S] * r.n  # s = S


def ntk(r, p, S=None):
    S = r.S if S is None else S
    return [S ** (mpf(i) / (r.n - 1)) if r.n > 1 else mpf(1) for i in range(r.n)]  # s = S^(i/(n-1))


def abf(r, p, new_base=None):
    new_base = p.number("base", None) if new_base is None else new_base
    return [(new_base / r.b) ** (mpf(i) / r.n) for i in range(r.n)]  # s = (b'/b)^(i/n)


def gradient_base(r, p):
    return abf(r, p, r.b ** (ln(r.S * r.L / (2 * pi)) / ln(r.L / (2 * pi))))  # b' = b^(ln(L'/2pi) / ln(L/2pi))


def dynamic_ntk(r, p):
    return ntk(r, p, r.S * r.length / r.L - (r.S - 1) if r.length > r.L else mpf(1))  # S(len) = S len/L - (S-1)


def yarn(r, p):
    return over_band(r, p, lambda k, N: 1 / (k / N / r.S + 1 - k / N))  # s = 1/(g/S + 1-g), g = k/N


def yarn_rotations(r, p):
    fast, slow = p.number("beta_fast", 32), p.number("beta_slow", 1)
    return over_turns(r, slow, fast)


def dynamic_yarn(r, p):
    r.S = max(mpf(1), r.length / r.L)  # yarn with S(len), also in its attention scale
    return yarn(r, p)


def llama3(r, p):
    low, high = p.number("low_freq_factor", 1), p.number("high_freq_factor", 4)
    return over_turns(r, low, high)  # turns = L / wavelength


def over_turns(r, slow, fast):
    """s = 1/((1-g)/S + g), g = clamp((turns - slow)/(fast - slow), 0, 1)."""
    ramp = [clamp01((t - slow) / (fast - slow)) for t in r.turns]
    return [1 / ((1 - g) / r.S + g) for g in ramp]


def longrope(r, p):
    short, long = p.numbers("short_factors"), p.numbers("long_factors")
    return long if r.length > r.L else short


def mrrope_uni(r, p):
    return over_band(r, p, lambda k, N: r.S ** (k / N))


def mrrope_pro(r, p):
    return over_band(r, p, lambda k, N: r.S ** (k * (k + 1) / (N * (N + 1))))


def mrrope_power(r, p):
    power = p.number("p", None)

    def partial(k):  # sum of d^p, d = 1..k
        return sum(mpf(d) ** power for d in range(1, int(k) + 1))
    return over_band(r, p, lambda k, N: r.S ** (partial(k) / partial(N)))


def mrrope_mirror(r, p):
    return over_band(r, p, lambda k, N: r.S ** ((2 * N + 1 - k) * k / (N * (N + 1))))  # 2 high + 1 - i - low = 2N + 1 - k


def custom(r, p):
    return p.numbers("factors")


def cope(r, p, s):
    """The last N pairs: s *= 2/(1 + cos(pi k/(N-1))), k = 0..N-1; the last one infinite."""
    N = int(p.number("pairs", r.unfinished))
    soft = [2 / (1 + cos(pi * k / (N - 1))) for k in range(N - 1)] + [inf] * (N > 0)
    return s[:r.n - N] + [x * y for x, y in zip(s[r.n - N:], soft)]


def clip(r, p, s):
    keep = int(p.number("keep", r.n - r.unfinished))
    return s[:keep] + [inf] * (r.n - keep)


def resonance(r, p, s):
    """theta' = 2 pi / round(2 pi / theta'), half away from zero (all wavelengths are positive)."""
    return [x if isinf(x) else t * floor(2 * pi * x / t + mpf("0.5")) / (2 * pi) for x, t in zip(s, r.theta)]


def logarithmic_scale(r, p):
    """a = m(S, mscale) / m(S, mscale_all_dim), m(S, k) = 1 if S <= 1 else 0.1 k ln S + 1."""
    def m(k):
        return mpf(1) if r.S <= 1 else k * ln(r.S) / 10 + 1
    return m(p.number("mscale", 1)) / m(p.number("mscale_all_dim", 0))


def longrope_scale(r, p):
    return sqrt(1 + ln(r.S) / ln(r.L))


def unit_scale(r, p):
    return mpf(1)


METHODS = {  # name: (factors, attention scale)
    "none": (none, unit_scale), "linear": (linear, unit_scale), "ntk": (ntk, unit_scale), "abf": (abf, unit_scale),
    "gradient-base": (gradient_base, unit_scale), "dynamic-ntk": (dynamic_ntk, unit_scale),
    "ntk-by-parts": (yarn_rotations, unit_scale), "yarn": (yarn, logarithmic_scale),
    "yarn-rotations": (yarn_rotations, logarithmic_scale), "dynamic-yarn": (dynamic_yarn, logarithmic_scale),
    "llama3": (llama3, unit_scale), "longrope": (longrope, longrope_scale),
    "mrrope-uni": (mrrope_uni, logarithmic_scale), "mrrope-pro": (mrrope_pro, logarithmic_scale),
    "mrrope-power": (mrrope_power, logarithmic_scale), "mrrope-mirror": (mrrope_mirror, logarithmic_scale),
    "custom": (custom, unit_scale),
}
MODIFIERS = {"cope": cope, "clip": clip, "resonance": resonance}


def table(spelling, r):
    """(pair factors, attention scale) of NAME[:key=value]...[+MODIFIER[:key=value]...]..."""
    (name, p), *modifiers = [parse(part) for part in spelling.split("+")]
    factors, scale = METHODS[name]
    given = p.pop("attention_scale", None)
    r.S = p.number("factor", r.S)  # S of the table, where it is not L'/L
    s = factors(r, p)
    a = scale(r, p) if given is None else mpf(given)
    for modifier, q in modifiers:
        s = MODIFIERS[modifier](r, q, s)
        p.update(q)
    assert not p and len(s) == r.n and all(x > 0 for x in s), (spelling, p)
    return s, a


def parse(part):
    name, *pairs = part.split(":")
    return name, Params(pair.split("=") for pair in pairs)


def growing(n, step):
    """A list of n exact decimals 1, 1 + step/100, 1 + 4 step/100, ... for longrope and custom."""
    return "/".join(str(Decimal(100 + step * i * i) / 100) for i in range(n))


SPECS = {  # name: rotary_dim, base, context_trained
    "llama2": (128, 10000.0, 4096), "llama3": (128, 500000.0, 8192), "qwen": (128, 1000000.0, 32768),
    "smol": (64, 100000.0, 8192), "d80": (80, 10000.0, 2048), "phi": (96, 10000.0, 131072),
    "d256": (256, 1000000.0, 8192), "d40": (40, 10000.0, 2048), "d2": (2, 10000.0, 4096), "d4": (4, 10000.0, 64),
}
LISTS40 = f"longrope:short_factors={growing(20, 1)}:long_factors={growing(20, 13)}"
LISTS80 = f"longrope:short_factors={growing(40, 0)}:long_factors={growing(40, 7)}"
LISTS96 = f"longrope:short_factors={growing(48, 1)}:long_factors={growing(48, 3)}"
LISTS4 = "longrope:short_factors=1/1.1:long_factors=1.05/12.7"
CASES = [  # spelling, then spec@context_target or spec@context_target/length
    ("none", "llama2@4096 llama3@30000 smol@8192 d2@8192"),
    ("none:attention_scale=1.1", "d4@256"),
    ("linear", "llama2@16384 llama3@30000 d80@2560 d2@16384"),
    ("linear:attention_scale=0.9", "d80@8192"),
    ("ntk", "llama2@65536 llama3@10240 smol@30000 d2@65536 d4@4096"),
    ("abf:base=500000", "llama2@65536 d80@20480"),
    ("abf:base=26000.5", "d80@7578 d4@128"),
    ("abf:base=1e7", "qwen@131072"),
    ("gradient-base", "llama2@40960 llama3@30000 smol@524288 d2@8192 d4@100"),
    ("dynamic-ntk", "llama2@65536/4096 llama2@65536/5000 smol@32768/30000 d80@8192/1 d2@8192/8192 d4@256/1000"),
    ("ntk-by-parts", "llama2@131072 qwen@121242 d80@2560 d4@128"),
    ("ntk-by-parts:beta_fast=16:beta_slow=2", "smol@81920"),
    ("yarn", "llama2@4096 llama2@8192 llama3@30000 qwen@131072 smol@10240 d80@131072 phi@262144 d2@8192 d4@256"),
    ("yarn:truncate=false", "llama2@65536 llama3@30000 qwen@40960 smol@524288 phi@485000 d256@81920 d2@16384 d4@640"),
    ("yarn:beta_fast=16:beta_slow=2", "smol@32768 d80@7578"),
    ("yarn:beta_fast=16:beta_slow=2:truncate=false", "llama2@131072 smol@32768"),
    ("yarn:beta_fast=64:beta_slow=0.5:truncate=false", "d80@20480"),
    ("yarn:mscale=0.707:mscale_all_dim=1", "llama3@81920 d80@65536"),
    ("yarn:mscale=1:mscale_all_dim=1", "d40@8192"),
    ("yarn:truncate=false:mscale=0.707:mscale_all_dim=1", "smol@81920"),
    ("yarn:attention_scale=1", "smol@30000"),
    ("yarn:beta_slow=20", "d4@256"),
    ("yarn:factor=14.5", "llama2@65536"),
    ("dynamic-ntk:factor=3", "smol@32768/30000"),
    ("yarn:beta_slow=20:truncate=false", "d4@256"),
    ("yarn-rotations", "llama2@65536 llama3@524288 smol@10240 d80@65536 d2@65536 d4@640"),
    ("yarn-rotations:beta_fast=16:beta_slow=2", "smol@30000"),
    ("yarn-rotations:mscale=0.707:mscale_all_dim=1", "d80@32768"),
    ("dynamic-yarn", "llama2@65536/4096 llama2@65536/10000 llama3@32768/30000 d80@8192/9000 d4@256/65"),
    ("dynamic-yarn:beta_fast=16:beta_slow=2:truncate=false", "smol@32768/8193"),
    ("llama3", "llama3@131072 llama2@16384 smol@10240 d80@7578 d4@640"),
    ("llama3:low_freq_factor=2:high_freq_factor=8", "smol@262144"),
    (LISTS4, "d4@1024/64 d4@1024/65"),
    (LISTS4 + ":attention_scale=1.25", "d4@256/100"),
    (LISTS40, "d40@8192/2048 d40@7578/7578"),
    (LISTS80, "d80@131072/65536"),
    (LISTS96, "phi@262144/131073"),
    ("mrrope-uni", "llama2@65536 llama3@30000 qwen@131072 smol@10240 d80@65536 phi@262144 d2@8192 d4@256"),
    ("mrrope-uni:beta_fast=16:beta_slow=2", "smol@524288"),
    ("mrrope-uni:low=30:high=30", "d80@8192"),
    ("mrrope-pro", "llama2@4096 llama2@40960 llama2@65536 llama3@30000 llama3@262144 qwen@131072 smol@10240"),
    ("mrrope-pro", "d80@131072 phi@524288 d256@30000 d40@4096 d2@262144 d4@2048"),
    ("mrrope-pro:beta_fast=16:beta_slow=2", "llama2@65536 smol@30000"),
    ("mrrope-pro:low=10:high=25", "smol@32768 d80@20480"),
    ("mrrope-pro:low=5:high=70", "d80@8192"),
    ("mrrope-pro:mscale=0.707:mscale_all_dim=1", "llama2@131072"),
    ("mrrope-pro:attention_scale=1.05", "d40@8192"),
    ("mrrope-power:p=-1", "llama2@65536 smol@30000 d4@640"),
    ("mrrope-power:p=0", "smol@32768"),
    ("mrrope-power:p=0.5", "llama3@30000 d80@65536 phi@262144"),
    ("mrrope-power:p=1", "smol@81920"),
    ("mrrope-power:p=2", "qwen@131072 d40@131072"),
    ("mrrope-power:p=1.7:low=8:high=19:mscale=0.5", "smol@131072"),
    ("mrrope-power:p=1.15:low=1:high=20:attention_scale=1.16:factor=14.07", "smol@131072"),
    ("mrrope-pro:factor=20", "llama2@65536"),
    ("mrrope-mirror", "llama2@65536 llama3@30000 smol@10240 d80@131072 phi@262144 d4@256"),
    ("mrrope-mirror:low=7:high=30", "smol@32768"),
    ("custom:factors=0.5/3.25", "d4@256"),
    ("custom:factors=2.1:attention_scale=1.2", "d2@8192"),
    (f"custom:factors={growing(20, 3)}", "d40@8192"),
    (f"custom:factors={growing(32, 11)}:attention_scale=0.95+resonance", "smol@30000"),
    ("none+cope", "llama2@4096 llama3@30000 phi@262144 d4@256"),
    ("none+cope:pairs=1", "d2@8192 d4@256"),
    ("none+cope:pairs=2", "d40@8192"),
    ("none+clip", "llama2@65536 qwen@32768 phi@262144"),
    ("none+resonance", "llama2@4096 d80@2048"),
    ("linear+clip:keep=8", "smol@30000 d80@8192"),
    ("linear+cope:pairs=20", "smol@10240 d40@8192"),
    ("ntk+clip", "llama3@81920"),
    ("ntk+clip:keep=10", "smol@32768"),
    ("ntk+cope+resonance", "d40@4096"),
    ("dynamic-ntk+cope", "smol@32768/20000"),
    ("llama3+resonance+clip", "smol@262144"),
    ("yarn+resonance", "llama2@65536 smol@30000"),
    ("yarn:truncate=false+resonance", "d80@20480"),
    ("mrrope-uni+cope:pairs=20", "smol@32768"),
    ("mrrope-pro+cope", "llama2@65536 qwen@121242 smol@30000"),
    ("mrrope-pro+resonance", "llama3@131072 d256@32768"),
    ("mrrope-pro:beta_fast=16:beta_slow=2+cope:pairs=20+resonance", "smol@524288"),
    ("mrrope-power:p=2:attention_scale=1.3+clip+cope:pairs=30", "smol@32768"),
    ("mrrope-mirror+clip+resonance", "d80@32768"),
]
COMMENT = (
    "Made by tools/make_vectors.py with mpmath at 60 digits from the formulas of docs/theory.md; do not edit. method: its "
    "spelling; context_target / context_trained = S; length: tokens in the context, for methods that depend on it; "
    f"pair_factors: s_i, i = 0 turns fastest; inv_freq: base^(-2i/rotary_dim) / s_i; {DIGITS} significant digits; a pair that "
    "does not rotate has factor 1e30 and inv_freq 0; attention_scale multiplies cos and sin.")


def case(spelling, place):
    spec, numbers = place.split("@")
    target, *length = [int(x) for x in numbers.split("/")]
    r = Rope(*SPECS[spec], target, length[0] if length else None)
    s, a = table(spelling, r)
    row = {"method": spelling} | dict(zip(("rotary_dim", "base", "context_trained"), SPECS[spec])) | {"context_target": target}
    row |= {"length": length[0]} if length else {}
    return row | {"pair_factors": ["1e30" if isinf(x) else nstr(x, DIGITS) for x in s],
                  "inv_freq": ["0" if isinf(x) else nstr(t / x, DIGITS) for x, t in zip(s, r.theta)],
                  "attention_scale": nstr(a, DIGITS)}


def document():
    rows = [json.dumps(case(spelling, place), separators=(",", ":")) for spelling, places in CASES for place in places.split()]
    return '{"_comment": %s,\n"cases": [\n%s\n]}\n' % (json.dumps(COMMENT), ",\n".join(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", metavar="FILE", type=pathlib.Path, default=DEFAULT_FILE, help="default: %(default)s")
    parser.add_argument("--check", action="store_true", help="compare with FILE instead of writing it")
    args = parser.parse_args()
    text = document()
    if not args.check:
        args.o.write_text(text, encoding="ascii")
    elif not args.o.exists() or args.o.read_text(encoding="ascii") != text:
        sys.exit(f"{args.o} differs from what this script makes")


if __name__ == "__main__":
    main()
