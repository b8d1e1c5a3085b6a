"""What the documentation says of random numbers, once more and slowly: the reference for tests."""

from __future__ import annotations

from statistics import NormalDist

WORD = 2**64 - 1
HALF = 2**32 - 1


def mix(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & WORD
    return x ^ (x >> 31)


def module_key(seed: int, name: str) -> int:
    digest = 0xCBF29CE484222325
    for byte in name.encode():
        digest = (digest ^ byte) * 0x100000001B3 & WORD
    return mix(mix(seed + 0x9E3779B97F4A7C15 & WORD) ^ digest)


def run_key(key: int, run: int) -> int:
    return mix(key ^ (run * 0x9E3779B97F4A7C15 & WORD))


def philox(counter: tuple[int, int, int, int], key: int) -> tuple[int, int, int, int]:
    """Philox4x32-10."""
    a, b, c, d = counter
    low, high = key & HALF, key >> 32
    for _ in range(10):
        of_a, of_c = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (of_c >> 32) ^ b ^ low, of_c & HALF, (of_a >> 32) ^ d ^ high, of_a & HALF
        low, high = low + 0x9E3779B9 & HALF, high + 0xBB67AE85 & HALF
    return a, b, c, d


def word(seed: int, name: str, run: int, lumi: int, event: int, position: int) -> int:
    """The 64-bit word at a position of an event's stream."""
    key = run_key(module_key(seed, name), run)
    value = philox((position // 2, event & HALF, event >> 32, lumi), key)
    low, high = value[2:] if position % 2 else value[:2]
    return low | high << 32


def uniform(word: int) -> float:
    return float((word >> 11) / 2**53)


def normal(word: int) -> float:
    """The standard library has the same algorithm, but not the same order of operations."""
    return NormalDist().inv_cdf(((word >> 11) + 0.5) / 2**53)
