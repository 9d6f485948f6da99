# SPDX-License-Identifier: GPL-2.0-only
"""Runs the same dumbbells in the simulator and in ns-3 and prints both results, a table a scenario.

compare.py OURS NS3 [--smoke] [ALGORITHM...]
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

# Ours, ns-3's, and those of our parameters that ns-3 has other defaults for.
ALGORITHMS = {
    "reno": ("TcpLinuxReno", {}),
    "cubic": ("TcpCubic", {}),
    "bic": ("TcpBic", {"max_step_pkts": 16, "smooth_part": 5}),
    "scalable": ("TcpScalable", {"acks_per_pkt": 50, "reno_growth": "on", "low_window_pkts": 0}),
    "highspeed": ("TcpHighSpeed", {}),
    "htcp": ("TcpHtcp", {}),
    "illinois": ("TcpIllinois", {}),
    "hybla": ("TcpHybla", {}),
    "westwood": ("TcpWestwoodPlus", {}),
    "veno": ("TcpVeno", {}),
    "vegas": ("TcpVegas", {}),
    "yeah": ("TcpYeah", {}),
    "lp": ("TcpLp", {}),
    "bbr": ("TcpBbr", {}),
    "dctcp": ("TcpDctcp", {}),
}
MARKED = {"dctcp"}  # needs marks; runs in a scenario of its own


@dataclass
class Scenario:
    title: str
    options: dict
    marks: bool = False


SCENARIOS = [
    Scenario("One flow, 20 Mbit/s, 60 ms, buffer 100 packets (one BDP)", {"mbit": 20, "rtt-ms": 60, "buffer": 100}),
    Scenario("One flow, 50 Mbit/s, 80 ms, buffer 67 packets (a fifth of the BDP)", {"mbit": 50, "rtt-ms": 80, "buffer": 67}),
    Scenario("Four flows, 20 Mbit/s, 60 ms, buffer 100 packets", {"mbit": 20, "rtt-ms": 60, "buffer": 100, "flows": 4}),
    Scenario(
        "One flow, 100 Mbit/s, 60 ms, one packet of 1000 lost at random",
        {"mbit": 100, "rtt-ms": 60, "buffer": 1000, "loss-ppm": 1000},
    ),
    Scenario(
        "Two flows, 100 Mbit/s, 4 ms, marks above 20 packets",
        {"mbit": 100, "rtt-ms": 4, "buffer": 200, "flows": 2, "mark-above": 20, "seconds": 30, "warmup": 5, "step-ms": 1},
        marks=True,
    ),
]


def run(program, options, parameters=()):
    arguments = [f"--{name}={value}" for name, value in options.items()]
    arguments += [f"--set={name}={value}" for name, value in parameters]
    return json.loads(subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout)


def pair(ours, ns3, scenario, algorithm, times):
    name, parameters = ALGORITHMS[algorithm]
    options = {**times, **scenario.options}
    # ns-3's packets are 1448 bytes and 54 of headers; it knows no sampling step
    theirs = {key: value for key, value in options.items() if key != "step-ms"}
    here = run(ours, {"algorithm": algorithm, "header": 54, **options}, parameters.items())
    return here, run(ns3, {"algorithm": name, **theirs})


def off(here, there):
    return f"{100 * (here / there - 1):+.1f} %" if there else ""


def table(scenario, rows):
    print(f"\n### {scenario.title}\n")
    print("| algorithm | Mbit/s, ours | ns-3 | off | mean window, ours | ns-3 | off | reductions, ours | ns-3 | Jain, ours | ns-3 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for algorithm, (here, there) in rows:
        cells = [algorithm]
        for key in ("goodput_mbit", "cwnd_pkts"):
            cells += [f"{here[key]:.2f}", f"{there[key]:.2f}", off(here[key], there[key])]
        cells += [str(here["reductions"]), str(there["reductions"]), f"{here['jain']:.3f}", f"{there['jain']:.3f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


def main(ours, ns3, *rest):
    smoke = "--smoke" in rest
    names = [name for name in rest if not name.startswith("--")] or list(ALGORITHMS)
    times = {"seconds": 20, "warmup": 10} if smoke else {"seconds": 150, "warmup": 50}
    with ThreadPoolExecutor(max_workers=2) as pool:
        for scenario in SCENARIOS[:1] if smoke else SCENARIOS:
            chosen = [name for name in names if (name in MARKED) == scenario.marks]
            futures = [(name, pool.submit(pair, ours, ns3, scenario, name, times)) for name in chosen]
            table(scenario, [(name, future.result()) for name, future in futures])


main(*sys.argv[1:])
