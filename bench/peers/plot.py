"""Draws plot.png: the time of a training step against the sparsity."""

from table import collect, problem_key, threads_text

STYLES = {
    "Rigel": {"color": "#0b5fa5", "marker": "o", "linewidth": 2.4},
    "SparseProp": {"color": "#8a6fb0", "marker": "^", "linewidth": 1.6},
    "PyTorch masked": {"color": "#d1495b", "marker": "s", "linewidth": 1.8},
    "PyTorch dense": {"color": "#666666", "linestyle": "--", "linewidth": 1.6},
}


def draw(path, measured):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    wide = max((m["layers"] for m in measured if m["op"] == "step"), key=sum)
    steps = [m for m in measured if m["op"] == "step" and m["layers"] == wide]
    keys = sorted({problem_key(m) for m in steps}, key=lambda key: key[-1])
    figure, axes = pyplot.subplots(1, len(keys), figsize=(5.4 * len(keys), 4.6), sharey=True, squeeze=False)
    for axis, key in zip(axes[0], keys):
        panel(axis, [m for m in steps if problem_key(m) == key])
        axis.set_title(threads_text(key[-1]), fontsize=11)
    axes[0][0].set_ylabel("best time of a training step, ms (log scale)")
    axes[0][0].legend(frameon=False, fontsize=9, loc="lower left")
    _, _, _, batch, layers, _ = keys[0]
    figure.suptitle(f"Training step {'-'.join(map(str, layers))}, batch {batch}, Adam, float32", fontsize=13)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def panel(axis, measured):
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    values = collect(measured, "ms_best", min)
    sparsities = sorted({s for _, s in values if s > 0})
    places = range(len(sparsities))
    for peer, style in STYLES.items():
        line = [values.get((peer, 0.0 if peer == "PyTorch dense" else s)) for s in sparsities]
        if None in line:
            continue
        axis.plot(places, line, label=peer, **style)
        if peer in ("Rigel", "PyTorch masked"):
            for x, y in zip(places, line):
                axis.annotate(f"{y:.3g}", (x, y), textcoords="offset points", xytext=(0, 8), ha="center", fontsize=8,
                              color=style["color"])
    axis.set_yscale("log")
    axis.set_yticks([0.5, 1, 2, 5, 10, 20, 50])
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_xticks(list(places), [f"{100 * s:g} %" for s in sparsities])
    axis.set_xlabel("sparsity: share of weights left out")
    axis.grid(axis="y", alpha=0.3)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
