"""SparseProp (Nikdan et al., 2023): sparse layers for PyTorch on a CPU."""

import importlib.metadata
import os
import sys

import torch
import torch.nn.functional as F
from sparseprop import backend
from sparseprop.modules.linear import SparseLinear
from sparseprop.modules.utils import to_csr_2d

from timing import serve


def sparse_weight(out, fan_in, sparsity):
    w = torch.randn(out, fan_in) / fan_in**0.5
    return w * (torch.rand_like(w) >= sparsity)


def product(p):
    """The forward kernel alone. It adds to its output, which is cleared first."""
    values, (rows, columns) = to_csr_2d(sparse_weight(p["m"], p["k"], p["sparsity"]))
    x, y = torch.randn(p["k"], p["n"]), torch.zeros(p["m"], p["n"])

    def run():
        y.zero_()
        backend.sparse_linear_vectorized_forward(x, rows, columns, values, y)

    return run


def step(p):
    """A training step with its layers and PyTorch's fused Adam."""
    layers = [
        SparseLinear(sparse_weight(out, fan_in, p["sparsity"]), bias=torch.nn.Parameter(torch.zeros(out)))
        for fan_in, out in zip(p["layers"], p["layers"][1:])
    ]
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    x, y = torch.rand(p["n"], p["layers"][0]), torch.randint(0, p["layers"][-1], (p["n"],))

    def run():
        adam.zero_grad()
        F.cross_entropy(model(x), y).backward()
        adam.step()

    return run


if __name__ == "__main__":
    version = importlib.metadata.version("sparseprop")
    if "--about" in sys.argv:
        print("SparseProp", version)
        sys.exit()
    torch.manual_seed(1)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    serve({("SparseProp", "spmm"): product, ("SparseProp", "step"): step}, version)
