"""network_parity_table.py FOLDER: compares the finished runs of scripts/parity_network.sh with their dense run, and writes
FOLDER/curves.csv, a row a round with a validation, a column a run. Ends with 1 if a run is above its bound."""

import csv
import json
import pathlib
import sys

BOUND, BOUND_IN_TROUBLE = 0.5, 1.0


def write_curves(path: pathlib.Path, runs: dict[str, dict]) -> None:
    losses = {name: dict(run["validation"]) for name, run in runs.items()}
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["round", *losses])
        for round_ in sorted({round_ for of in losses.values() for round_ in of}):
            rows.writerow([round_, *(of.get(round_, "") for of in losses.values())])


def main(folder: pathlib.Path) -> int:
    runs = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("s*-seed*.json"))}
    write_curves(folder / "curves.csv", runs)
    missed = False
    print(f"{'run':34} {'rounds':>6} {'loss':>8} {'to dense':>9} {'up B':>8} {'down B':>8}")
    for name, run in runs.items():
        if not run["finished"]:
            print(f"{name:34} not finished: {len(run['validation'])} validations")
            continue
        loss = run["validation"][-1][1]
        slots, kind, *_, seed = name.split("-")
        dense = runs.get(f"{slots}-dense-{seed}", {})
        line = f"{name:34} {run['rounds']:6} {loss:8.4f} "
        if kind != "dense" and dense.get("finished"):
            percent = 100 * (loss / dense["validation"][-1][1] - 1)
            within = percent <= (BOUND_IN_TROUBLE if "trouble" in name else BOUND)
            missed |= not within
            line += f"{percent:+8.2f}%{' ' if within else '!'}"
        else:
            line += " " * 10
        print(line + f"{run['up_bytes_per_parameter']:8.4f} {run['down_bytes_per_parameter']:8.4f}")
    if missed:
        print("parity-network: a run marked ! is above its bound", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
