# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all cases share: their list, the random inputs, and the coins that the crate draws."""
import numpy as np

ALPHA = 0.05
MASK = (1 << 64) - 1

random = np.random.default_rng(26)
cases = []


def case(quantity, oracle, given, expected):
    cases.append({"quantity": quantity, "oracle": oracle, "input": given, "expected": expected})


class SplitMix:
    """https://prng.di.unimi.it/splitmix64.c"""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def coins(self, count):
        bits = []
        for start in range(0, count, 64):
            word = self.word()
            bits += [word >> bit & 1 for bit in range(min(64, count - start))]
        return bits
