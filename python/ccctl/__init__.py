# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces of ccctl and runs of ccctl-lab as pandas data frames.

Columns have the same names in both: docs/reference/columns.md.
"""

import io
import json
import os
import subprocess
from pathlib import Path

import pandas

__all__ = ["load", "metrics", "run"]

# Types of files, and those of pandas that keep whole numbers exact where values are missing
_DTYPES = {"integer": "Int64", "real": "float64", "text": "object"}


def load(path):
    """Time series as a frame: of all flows of a folder of `ccctl-lab run`, or of a trace (.csv, .jsonl).

    Each row of a folder has its place: the axes of the sweep, `point`, `repeat`, `group`, `flow` and `algorithm`. Numbers
    count from 1, as in the names of the files. An axis whose name is a column already is called `axis.NAME`. The frame's
    `attrs` have the units of the columns and, of a file, its metadata.
    """
    path = Path(path)
    return _folder(path) if path.is_dir() else _file(path)


def metrics(folder):
    """The metrics of a folder of `ccctl-lab run`: a row per metric and point, with mean and 95 % confidence interval."""
    return _file(Path(folder) / "measures.csv")


def run(scenario, **settings):
    """Runs a scenario, a name or a file, by ccctl-lab, and loads its folder.

    Settings are the options of `ccctl-lab run`: run("demo", repeats=1, only={"first": "cubic", "second": ["bbr", "reno"]}), or
    run("demo", algorithm="./mine.bpf.o") for an algorithm of your own.
    The environment variable CCCTL_LAB names the program where it is not in PATH.
    """
    command = [os.environ.get("CCCTL_LAB", "ccctl-lab"), "run", str(scenario), "--json"]
    for name, value in settings.items():
        command += _option("--" + name.replace("_", "-"), value)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return load(json.loads(done.stdout)["results"][0]["folder"])


def _option(name, value):
    if isinstance(value, dict):
        pairs = [(key, one) for key, values in value.items() for one in _listed(values)]
        return [word for key, one in pairs for word in (name, f"{key}={one}")]
    if value is True:
        return [name]
    return [word for one in _listed(value) for word in (name, str(one))]


def _listed(value):
    return value if isinstance(value, (list, tuple)) else [value]


def _folder(folder):
    flows, units = [], {}
    for file in sorted(folder.glob("units/*.json")):
        unit = json.loads(file.read_text())
        first = 0 if file.stem.startswith("p") else 1  # ccctl 0.1.0 counted from 0
        for flow in unit["flows"]:
            series = folder / "series" / file.stem / f"flow-{flow['group']}-{flow['number']}.csv"
            if series.exists():
                frame = _file(series)
                units.update(frame.attrs["units"])
                flows.append(_placed(frame, unit, flow, first))
    if not flows:
        raise FileNotFoundError(f"{folder} has no time series: was it run with --series none?")
    frame = pandas.concat(flows, ignore_index=True)
    frame.attrs = {"units": units}
    return frame


def _placed(frame, unit, flow, first):
    place = {"point": unit["point"] + first, "repeat": unit["repeat"] + first, "group": flow["group"]}
    place["flow"] = flow["number"] + first
    place["algorithm"] = flow["algorithm"]
    taken = {*frame.columns, *place}
    axes = {f"axis.{name}" if name in taken else name: value for name, value in unit["place"].items()}
    frame.attrs = {}
    return pandas.concat([pandas.DataFrame({**axes, **place}, index=frame.index), frame], axis="columns")


def _file(path):
    with open(path, newline="", encoding="utf-8") as file:
        lines = file.read().splitlines(keepends=True)
    frame, kinds, units, facts = (_jsonl if path.suffix == ".jsonl" else _csv)(lines)
    frame = frame.astype({name: _DTYPES[kind] for name, kind in kinds.items() if name in frame})
    frame.attrs = {"units": units, "facts": facts}
    return frame


def _csv(lines):
    kinds, units, facts = {}, {}, {}
    for line in (line[1:] for line in lines if line.startswith("#")):
        name, value = (part.strip() for part in line.split(":", 1))
        if name.startswith("column "):
            name = name.removeprefix("column ")
            kinds[name], _, units[name] = value.partition(" ")
        else:
            facts[name] = value
    rows = io.StringIO("".join(line for line in lines if not line.startswith("#")))
    return pandas.read_csv(rows, dtype={name: _DTYPES[kind] for name, kind in kinds.items()}), kinds, units, facts


def _jsonl(lines):
    rows = [json.loads(line) for line in lines]
    notes = [row for row in rows if "facts" in row]
    facts = {name: value for note in notes for name, value in note["facts"].items()}
    head = notes[0] if notes else {}
    kinds = head.get("kinds", {})
    frame = pandas.DataFrame([row for row in rows if "facts" not in row], columns=list(kinds) or None)
    return frame, kinds, head.get("units", {}), facts
