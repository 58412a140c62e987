"""How often `tracekit compare` sees a difference: where there is none (false alarms) and where there is one (power).

    python benchmarks/compare.py [--sets 200]

Sessions are drawn at random: every measure log-normal, as walls and token counts of real sessions are (spread 0.5, which is mild, and 0.8).
Beside it what a bare interval would do: a measure is called different when its 95 % bootstrap interval leaves out zero.
"""

import argparse
import random
import time

from tracekit.analysis.compare import Comparison, compare
from tracekit.analysis.measures import Bounds, Measured

MEASURES = ("wall", "ttft", "exposed", "missed", "messages", "retries", "tool_errors", "input_tokens", "output_tokens", "cost")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="pairs of sets for each row")
    count = parser.parse_args().sets
    print(f"no difference, {len(MEASURES)} measures, {count} pairs: any alarm / a bare interval, any / a bare interval, one measure")
    for spread in (0.5, 0.8):
        for size in (4, 6, 10, 20, 40):
            _false_alarms(count, size, spread)
    print(f"\none measure of {len(MEASURES)} differs by a factor, {count} pairs: it is found / found when it alone is compared")
    for size in (6, 10, 20, 40):
        for factor in (1.25, 1.5, 2.0):
            _power(count, size, factor)


def _false_alarms(count: int, size: int, spread: float) -> None:
    rng = random.Random(1)  # noqa: S311  (a simulation is no secret)
    began = time.perf_counter()
    pairs = [compare(_sessions(rng, size, spread), _sessions(rng, size, spread)) for _ in range(count)]
    alarms = sum(any(one.verdict != "no evidence" for one in found) for found in pairs)
    bare = sum(any(map(_leaves_out_zero, found)) for found in pairs)
    single = sum(_leaves_out_zero(one) for found in pairs for one in found) / len(MEASURES)
    seconds = (time.perf_counter() - began) / count
    rates = " / ".join(f"{found / count:6.1%}" for found in (alarms, bare, single))
    print(f"  {size:3} against {size:3}, spread {spread}: {rates}   {seconds:.2f} s each", flush=True)


def _power(count: int, size: int, factor: float) -> None:
    rng = random.Random(2)  # noqa: S311  (as above)
    among = alone = 0
    for _ in range(count):
        base, head = _sessions(rng, size, 0.5), _sessions(rng, size, 0.5, factor)
        among += any(one.measure == "wall" and one.verdict == "worse" for one in compare(base, head))
        alone += compare(base, head, ["wall"])[0].verdict == "worse"
    print(f"  {size:3} against {size:3}, times {factor}: {among / count:6.1%} / {alone / count:6.1%}", flush=True)


def _sessions(rng: random.Random, size: int, spread: float, factor: float = 1.0) -> list[Measured]:
    def value(name: str) -> Bounds:
        drawn = rng.lognormvariate(3, spread) * (factor if name == "wall" else 1)
        return Bounds(drawn, drawn)

    return [{name: value(name) for name in MEASURES} for _ in range(size)]


def _leaves_out_zero(one: Comparison) -> bool:
    return one.interval_lower is not None and one.interval_upper is not None and not one.interval_lower <= 0 <= one.interval_upper


if __name__ == "__main__":
    main()
