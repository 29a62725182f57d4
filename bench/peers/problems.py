"""What is measured: problems in groups, and the peers that can do them.

A product is Y = W X with W of m x k, X of k x n. SDDMM is the gradient of W at
its non-zeros. A step is forward, cross entropy, backward and Adam.
"""

import dataclasses
import os

SPARSITIES = [0.5, 0.8, 0.9, 0.95, 0.98, 0.99]
STEP_SPARSITIES = [0.5, 0.8, 0.9, 0.95, 0.98]
SHAPES = [(1024, 1024, 256), (4096, 4096, 256)]
STEP = ([784, 1024, 1024, 10], 256)
SMALL_STEP = ([784, 300, 100, 10], 64)

# What each peer can do. The time of a dense one does not depend on the sparsity:
# it is measured at 0.
DENSE_PEERS = {
    "spmm": ["PyTorch dense"],
    "sddmm": ["PyTorch dense"],
    "gemm": ["Rigel", "PyTorch dense", "NumPy dense", "gorgonia", "GoMLX"],
    "step": ["Rigel", "PyTorch dense", "gorgonia", "GoMLX"],
}
SPARSE_PEERS = {
    "spmm": ["Rigel", "PyTorch masked", "PyTorch CSR", "SciPy CSR", "SparseProp"],
    "sddmm": ["Rigel", "PyTorch masked", "PyTorch CSR"],
    "gemm": [],
    "step": ["Rigel", "PyTorch masked", "SparseProp"],
}
# Which program measures a peer.
PROGRAMS = {
    "Rigel": "rigel",
    "PyTorch dense": "torch",
    "PyTorch masked": "torch",
    "PyTorch CSR": "torch",
    "SciPy CSR": "scipy",
    "NumPy dense": "scipy",
    "SparseProp": "sparseprop",
    "gorgonia": "gorgonia",
    "GoMLX": "gomlx",
}


@dataclasses.dataclass(frozen=True)
class Problem:
    peer: str
    op: str
    m: int
    k: int
    n: int
    sparsity: float
    threads: int
    layers: tuple = ()
    reps: int = 20
    seconds: float = 0.5  # a slow peer stops after so long, and two runs

    def flops(self):
        """Useful operations: a zero weight needs none, whoever multiplies it."""
        if self.op != "step":
            return 2 * round((1 - self.sparsity) * self.m * self.k) * self.n
        flops = 0
        for i, (fan_in, out) in enumerate(zip(self.layers, self.layers[1:])):
            products = 2 if i == 0 else 3  # the input needs no gradient
            flops += products * 2 * round((1 - self.sparsity) * fan_in * out) * self.n
        return flops


def thread_counts():
    """1, 2, 4 ... and all processors, for the steps."""
    processors = len(os.sched_getaffinity(0))
    counts = [1]
    while 2 * counts[-1] <= processors:
        counts.append(2 * counts[-1])
    return counts if counts[-1] == processors else counts + [processors]


def group(op, m, k, n, sparsities, threads, **rest):
    """The problems of one table, all peers."""
    problems = [Problem(peer, op, m, k, n, 0.0, threads, **rest) for peer in DENSE_PEERS[op]]
    for sparsity in sparsities:
        problems += [Problem(peer, op, m, k, n, sparsity, threads, **rest) for peer in SPARSE_PEERS[op]]
    return problems


def step_group(network, sparsities, threads, **rest):
    layers, batch = network
    return group("step", layers[1], layers[0], batch, sparsities, threads, layers=tuple(layers), **rest)


def groups(quick):
    """All problems. A group is interleaved: every peer, then the next group."""
    if quick:
        few = {"reps": 3, "seconds": 0.1}
        return [
            *[group(op, *SHAPES[0], [0.9], 1, **few) for op in ("spmm", "sddmm", "gemm")],
            step_group(STEP, [0.9], thread_counts()[-1], **few),
            step_group(SMALL_STEP, [0.9], 1, **few),
        ]
    small, large = SHAPES
    return [
        group("spmm", *small, SPARSITIES, 1),
        group("spmm", *large, SPARSITIES, 1, reps=6),
        group("sddmm", *small, SPARSITIES, 1),
        group("sddmm", *large, SPARSITIES, 1, reps=6),
        group("gemm", *small, [], 1),
        group("gemm", *large, [], 1, reps=6),
        *[step_group(STEP, STEP_SPARSITIES, threads, seconds=1.0) for threads in thread_counts()],
        *[step_group(SMALL_STEP, [0.9], threads, reps=200) for threads in thread_counts()],
    ]
