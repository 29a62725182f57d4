"""Runs one peer's program on some problems, in a process of its own."""

import dataclasses
import json
import os
import subprocess
import sys


HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 300


class PeerError(Exception):
    """The peer cannot do this; the message is the reason for the table."""


def environment(threads):
    """Holds every library to as many threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GOMAXPROCS")
    return os.environ | {name: str(threads) for name in names}


def call(command, threads, stdin=None):
    try:
        reply = subprocess.run(command, input=stdin, env=environment(threads), text=True, capture_output=True,
                               timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise PeerError(f"no answer within {TIMEOUT} s") from None
    if reply.returncode:
        lines = reply.stderr.strip().splitlines() or [f"exit status {reply.returncode}"]
        raise PeerError(lines[-1])
    return reply.stdout


def python_command(program, *args):
    return [sys.executable, os.path.join(HERE, f"peer_{program}.py"), *args]


def measure_python(program, problems):
    """Yields a reply, a dictionary, for each problem; all in one process."""
    lines = "".join(json.dumps(dataclasses.asdict(p)) + "\n" for p in problems)
    replies = call(python_command(program), problems[0].threads, stdin=lines).splitlines()
    for reply in map(json.loads, replies):
        if "error" in reply:
            reply = PeerError(reply["error"])
        yield reply


def go_command(binaries, program, p):
    flags = ["-op", p.op, "-n", str(p.n), "-reps", str(p.reps)]
    if p.op == "step":
        flags += ["-layers", ",".join(map(str, p.layers))]
    else:
        flags += ["-m", str(p.m), "-k", str(p.k)]
    if program != "rigel":
        return [os.path.join(binaries, program), "-seconds", str(p.seconds), *flags]
    return [os.path.join(binaries, "rigel"), "bench", "-json", "-sparsity", str(p.sparsity), "-threads", str(p.threads), *flags]


def measure_go(binaries, program, problems):
    """The same for Go, a process for each problem."""
    for p in problems:
        try:
            reply = json.loads(call(go_command(binaries, program, p), p.threads))
            yield {"version": reply.get("version"), "ms_best": reply["ms"], "ms_median": reply["median_ms"]}
        except PeerError as e:
            yield e


def measure(binaries, program, problems):
    """Returns pairs of a problem and a reply: a dictionary or a PeerError."""
    try:
        if program in ("torch", "scipy", "sparseprop"):
            replies = list(measure_python(program, problems))
        else:
            replies = list(measure_go(binaries, program, problems))
    except PeerError as e:
        replies = [e] * len(problems)
    return list(zip(problems, replies, strict=True))


def about(program):
    """What a Python peer says about itself."""
    try:
        return call(python_command(program, "--about"), 1).rstrip()
    except PeerError as e:
        return f"{program}: {e}"
