"""Measures Rigel and its peers in rounds; run.sh prepares what this needs.

In a round every group of problems goes through every peer before the next group
begins, in another order each round, so that a slow minute of the machine hits
all of them. One process runs at a time.
"""

import argparse
import datetime
import json
import os
import random
import subprocess

import plot
import problems
import quiet
import runner
import table

SLOW = 1000.0  # a peer that takes so many ms is measured in the first round only


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", required=True, help="folder of the Go programs")
    parser.add_argument("--missing", required=True, help="folder with a file for each program that there is not: the reason")
    parser.add_argument("--rigel-version", default="unknown")
    parser.add_argument("--command", default="compare.py", help="what the table says was run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=12, help="begin no round that would end later")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("out")
    return parser.parse_args()


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def reasons(folder):
    """Which programs there are not, and why."""
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            found[name] = f.read().strip()
    return found


def run_round(number, args, missing, slow, others, log):
    """Measures everything once. It returns the measurements, and adds to the
    reasons of what is missing and to the set of what is slow."""
    measured = []
    shuffle = random.Random(number).shuffle
    for group in problems.groups(args.quick):
        programs = list(dict.fromkeys(problems.PROGRAMS[p.peer] for p in group))
        shuffle(programs)
        for program in programs:
            todo = [p for p in group if problems.PROGRAMS[p.peer] == program and p not in slow and p not in missing]
            if not todo:
                continue
            others.wait()
            for p, reply in runner.measure(args.binaries, program, todo):
                if isinstance(reply, runner.PeerError):
                    missing[p] = str(reply)
                    continue
                measured.append(measurement(p, reply, number, args.rigel_version))
                log.write(json.dumps(measured[-1]) + "\n")
                if reply["ms_best"] > SLOW:
                    slow.add(p)
    return measured


def measurement(p, reply, number, rigel_version):
    return {
        "peer": p.peer,
        "version": reply["version"] or rigel_version,
        "op": p.op,
        "m": p.m,
        "k": p.k,
        "n": p.n,
        "layers": list(p.layers),
        "sparsity": p.sparsity,
        "threads": p.threads,
        "ms_best": round(reply["ms_best"], 5),
        "ms_median": round(reply["ms_median"], 5),
        "gflops": round(p.flops() / reply["ms_best"] / 1e6, 2),
        "round": number,
    }


def main():
    args = arguments()
    started = now()
    absent = reasons(args.missing)
    missing = {p: absent[problems.PROGRAMS[p.peer]] for group in problems.groups(args.quick) for p in group
               if problems.PROGRAMS[p.peer] in absent}
    measured, slow, others = [], set(), quiet.Quiet()
    rounds, longest = 0, datetime.timedelta()
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "peers.jsonl"), "w", encoding="utf-8") as log:
        while rounds < (1 if args.quick else args.rounds) and now() - started + longest < datetime.timedelta(minutes=args.minutes):
            begin = now()
            rounds += 1
            measured += run_round(rounds, args, missing, slow, others, log)
            longest = max(longest, now() - begin)
            print(f"round {rounds} took {(now() - begin).seconds} s", flush=True)
    facts = {
        "command": args.command,
        "started": started,
        "ended": now(),
        "rounds": rounds,
        "waited": others.waited,
        "no_plot": absent.get("plot"),
        "go": subprocess.run(["go", "version"], text=True, capture_output=True, check=True).stdout.strip(),
        "about": [runner.about(p) for p in ("torch", "scipy", "sparseprop") if p not in absent],
    }
    table.write(os.path.join(args.out, "table.md"), measured, missing, facts)
    if "plot" not in absent:
        plot.draw(os.path.join(args.out, "plot.png"), measured)


if __name__ == "__main__":
    main()
