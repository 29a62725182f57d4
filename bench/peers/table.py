"""Writes table.md from measurements."""

import platform
import statistics

from problems import PROGRAMS, thread_counts

NOTES = """\
A cell is the best time in ms and, in brackets, how many times Rigel's best it is. The time of a dense peer, and of Rigel's
own dense layers, does not depend on the sparsity; a dense peer's is set against Rigel's at each sparsity. The second table
of a problem has medians: of a round's runs, then of the rounds. GFLOP/s count what has to be computed: a zero weight needs
no operation, whoever multiplies it.
"""


def write(path, measured, missing, facts):
    parts = [header(facts)]
    for key in dict.fromkeys(problem_key(m) for m in measured):
        of_problem = [m for m in measured if problem_key(m) == key]
        parts += [f"## {title(key)}", times(of_problem, "ms_best", min)]
        if key[0] == "gemm":
            parts += [rates(of_problem)]
        parts += ["Medians:", times(of_problem, "ms_median", statistics.median)]
        if key[0] in ("spmm", "sddmm"):
            parts += ["GFLOP/s at the best time:", rates(of_problem)]
    parts += [best_threads(measured), missing_list(missing, facts["no_plot"]), footer(facts)]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n\n".join(part for part in parts if part) + "\n")


def problem_key(m):
    return m["op"], m["m"], m["k"], m["n"], tuple(m["layers"]), m["threads"]


def threads_text(threads):
    return f"{threads} thread" + ("s" if threads > 1 else "")


def title(key):
    op, m, k, n, layers, threads = key
    names = {"spmm": "SpMM", "sddmm": "SDDMM", "gemm": "Dense product"}
    if op == "step":
        return f"Training step {'-'.join(map(str, layers))}, batch {n}, Adam, {threads_text(threads)}"
    return f"{names[op]} {m} × {k} × {n}, {threads_text(threads)}"


def header(facts):
    return "\n".join([
        "# Rigel and its peers",
        "",
        f"- Command: `{facts['command']}`; rounds: {facts['rounds']}",
        f"- From {facts['started']:%Y-%m-%d %H:%M} to {facts['ended']:%H:%M} UTC",
        f"- Machine: {cpu_model()}, {thread_counts()[-1]} processors",
        f"- {platform.system()} {platform.release()}, {os_name()}",
        f"- Waited {facts['waited']:.0f} s in all for other processes to be quiet",
        f"- {facts['go']}; Python {platform.python_version()}",
        "",
        NOTES.strip(),
    ])


def cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            fields = dict(line.split(":", 1) for line in f.read().split("\n\n")[0].splitlines())
    except OSError:
        return platform.processor() or platform.machine()
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    family = f"family {fields.get('cpu family')}, model {fields.get('model')}"
    wide = "AVX-512" if "avx512f" in fields.get("flags", "") else "AVX2" if "avx2" in fields.get("flags", "") else "no AVX2"
    return f"{fields.get('model name', 'unknown')} ({family}, {wide})"


def os_name():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return "unknown distribution"


def collect(measured, field, reduce):
    """Maps (peer, sparsity) to one number over the rounds."""
    values = {}
    for m in measured:
        values.setdefault((m["peer"], m["sparsity"]), []).append(m[field])
    return {key: reduce(v) for key, v in values.items()}


def peers_of(measured):
    there = {m["peer"] for m in measured}
    return [peer for peer in PROGRAMS if peer in there]


def is_dense(measured, peer):
    return all(m["sparsity"] == 0 for m in measured if m["peer"] == peer)


def rows_of(measured):
    return sorted({m["sparsity"] for m in measured if m["peer"] == "Rigel"})


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(ms):
    return f"{ms:.3f}" if ms < 10 else f"{ms:.1f}" if ms < 1000 else f"{ms:.0f}"


def times(measured, field, reduce):
    values, peers = collect(measured, field, reduce), peers_of(measured)
    rows = []
    for sparsity in rows_of(measured):
        rigel = values["Rigel", sparsity]
        row = [f"{100 * sparsity:g} %"]
        for peer in peers:
            ms = values.get((peer, 0.0 if is_dense(measured, peer) else sparsity))
            if ms is None:
                row.append("")
            elif peer == "Rigel":
                row.append(number(ms))
            else:
                row.append(f"{number(ms)} ({ms / rigel:.2f}×)")
        rows.append(row)
    return markdown(["Sparsity", *peers], rows)


def rates(measured):
    values = collect(measured, "gflops", max)
    peers = [peer for peer in peers_of(measured) if measured[0]["op"] == "gemm" or not is_dense(measured, peer)]
    rows = [[f"{100 * s:g} %", *(f"{values[peer, s]:.1f}" if (peer, s) in values else "" for peer in peers)] for s in rows_of(measured)]
    return markdown(["GFLOP/s", *peers], rows)


def best_threads(measured):
    """The steps again, each peer with the number of threads that is best for it."""
    parts = []
    steps = [m for m in measured if m["op"] == "step"]
    for layers, batch in dict.fromkeys((tuple(m["layers"]), m["n"]) for m in steps):
        best = {}
        for m in steps:
            if (tuple(m["layers"]), m["n"]) == (layers, batch):
                old = best.setdefault((m["peer"], m["sparsity"]), m)
                best[m["peer"], m["sparsity"]] = min(old, m, key=lambda m: m["ms_best"])
        of_network = list(best.values())
        chosen = {peer: sorted({m["threads"] for m in of_network if m["peer"] == peer}) for peer in peers_of(of_network)}
        used = "; ".join(f"{peer} {'/'.join(map(str, counts))}" for peer, counts in chosen.items())
        parts += [f"## Training step {'-'.join(map(str, layers))}, each peer at its best number of threads",
                  times(of_network, "ms_best", min), f"Threads: {used}."]
    return "\n\n".join(parts)


def missing_list(missing, no_plot):
    reasons = {}
    for p, reason in missing.items():
        reasons.setdefault((p.peer, reason), set()).add(p.op)
    lines = [f"- missing: {peer} ({', '.join(sorted(ops))}): {reason}" for (peer, reason), ops in reasons.items()]
    if no_plot:
        lines.append(f"- missing: plot.png: {no_plot}")
    lines += [
        "- missing: SparseProp (sddmm): it has no such operation, its backward pass computes both gradients in one",
        "- missing: SciPy CSR (sddmm, step): SciPy has neither",
        "- missing: PyTorch CSR (step): Adam does not take sparse CSR parameters",
        "- missing: gorgonia and GoMLX (spmm, sddmm): neither has sparse products",
    ]
    return "## Missing\n\n" + "\n".join(lines)


def footer(facts):
    return "## What the libraries say about themselves\n\n```\n" + "\n".join(facts["about"]) + "\n```"
