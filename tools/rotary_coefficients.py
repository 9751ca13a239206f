#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the coefficients of src/rotary/sincos-inl.h and how far the polynomials are from sine and cosine. Needs mpmath.

With z = t^2 and t a fraction of a turn, |t| <= 1/8, so that z <= 1/64:

    sin 2 pi t = 2 pi t + t z S(z),    cos 2 pi t = 1 + z C(z)

S and C are nearly minimax (mpmath.chebyfit). 2 pi and 1 are kept, so that small angles keep their relative precision and
position 0 turns nothing; 2 pi is split into the nearest float32 and the rest.
"""
import struct

import mpmath as mp

mp.mp.dps = 50
TAU = 2 * mp.pi
END = mp.mpf(1) / 64


def float32(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def sine_rest(z):
    """S(z); its series near 0, where the quotient loses its digits."""
    if z < mp.mpf("1e-12"):
        return -(TAU**3) / 6 + TAU**5 / 120 * z
    t = mp.sqrt(z)
    return (mp.sin(TAU * t) - TAU * t) / (t * z)


def cosine_rest(z):
    if z < mp.mpf("1e-12"):
        return -(TAU**2) / 2 + TAU**4 / 24 * z
    return (mp.cos(TAU * mp.sqrt(z)) - 1) / z


def main():
    sine = [float32(c) for c in mp.chebyfit(sine_rest, [0, END], 3)]
    cosine = [float32(c) for c in mp.chebyfit(cosine_rest, [0, END], 4)]
    head = float32(TAU)
    print("2 pi:", mp.nstr(head, 10), "+", mp.nstr(float32(TAU - head), 10))
    print("S, highest first:", ", ".join(mp.nstr(c, 10) for c in sine))
    print("C, highest first:", ", ".join(mp.nstr(c, 10) for c in cosine))

    points = [mp.mpf(k) / 8000 for k in range(1, 1001)]
    errors = [abs(TAU * t + t**3 * mp.polyval(sine, t * t) - mp.sin(TAU * t)) for t in points]
    print("largest error of the sine:  ", mp.nstr(max(errors), 3))
    errors = [abs(1 + t * t * mp.polyval(cosine, t * t) - mp.cos(TAU * t)) for t in points]
    print("largest error of the cosine:", mp.nstr(max(errors), 3))


if __name__ == "__main__":
    main()
