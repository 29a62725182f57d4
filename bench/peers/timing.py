"""What the Python peers share: the loop that times, and the one that serves."""

import json
import sys
import time


def time_runs(run, reps, seconds):
    """Returns the best and the median milliseconds of up to `reps` runs.

    Two runs warm up. It stops early after `seconds`, but not before the second
    run; where one run alone takes that long, one warm-up is enough.
    """
    start = time.perf_counter()
    run()
    if time.perf_counter() - start < seconds:
        run()
    times = []
    start = time.perf_counter()
    while len(times) < reps and (len(times) < 2 or time.perf_counter() - start < seconds):
        begin = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - begin))
    times.sort()
    return times[0], times[len(times) // 2]


def serve(problems, version):
    """Answers each problem on stdin, a JSON object a line, with one on stdout.

    `problems` maps (peer, op) to a function that takes the problem and returns
    the function to time.
    """
    for line in sys.stdin:
        p = json.loads(line)
        try:
            best, median = time_runs(problems[p["peer"], p["op"]](p), p["reps"], p["seconds"])
            reply = {"version": version, "ms_best": best, "ms_median": median}
        except Exception as e:  # whatever a peer raises is the reason that it is missing
            reply = {"error": f"{type(e).__name__}: {e}".splitlines()[0]}
        print(json.dumps(reply), flush=True)
