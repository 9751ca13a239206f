# SPDX-License-Identifier: MIT
"""What must not be in anything that people download: folders of the machine that built it, which differ from one to the next."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = (str(ROOT), str(pathlib.Path.home()) + "/.cache", "/tmp/tmp.")  # the checkout, the caches, temporary folders


def check_no_place_of_the_builder(program, name):
    for place in PLACES:
        assert place.encode() not in program, f"{name} names {place}; made with a library of before?"
