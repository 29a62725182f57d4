"""PyTorch: dense, masked dense (how sparse training is simulated) and CSR."""

import os
import sys
import warnings

import torch
import torch.nn.functional as F

from timing import serve


def weight_and_mask(p):
    w = torch.randn(p["m"], p["k"])
    return w, (torch.rand_like(w) >= p["sparsity"]).float()


def csr(p):
    w, mask = weight_and_mask(p)
    return (w * mask).to_sparse_csr()


def dense_product(p):
    w, x = torch.randn(p["m"], p["k"]), torch.randn(p["k"], p["n"])
    return lambda: w @ x


def masked_product(p):
    w, mask = weight_and_mask(p)
    x = torch.randn(p["k"], p["n"])
    return lambda: (w * mask) @ x


def csr_product(p):
    w, x = csr(p), torch.randn(p["k"], p["n"])
    return lambda: torch.sparse.mm(w, x)


def dense_gradient(p):
    dy, x = torch.randn(p["m"], p["n"]), torch.randn(p["k"], p["n"])
    return lambda: dy @ x.t()


def masked_gradient(p):
    _, mask = weight_and_mask(p)
    dy, x = torch.randn(p["m"], p["n"]), torch.randn(p["k"], p["n"])
    return lambda: (dy @ x.t()) * mask


def csr_gradient(p):
    w = csr(p)
    dy, xt = torch.randn(p["m"], p["n"]), torch.randn(p["n"], p["k"])
    return lambda: torch.sparse.sampled_addmm(w, dy, xt, beta=0.0)


def step(p, masked):
    """A training step with Adam. The mask meets the weight in the graph, so
    that autograd masks the gradient too. Adam is the fused one, the fastest."""
    layers = list(zip(p["layers"], p["layers"][1:]))
    weights = [torch.nn.Parameter(torch.randn(out, fan_in) / fan_in**0.5) for fan_in, out in layers]
    biases = [torch.nn.Parameter(torch.zeros(out)) for _, out in layers]
    masks = [(torch.rand_like(w) >= p["sparsity"]).float() for w in weights]
    adam = torch.optim.Adam(weights + biases, lr=1e-3, fused=True)
    x, y = torch.rand(p["n"], p["layers"][0]), torch.randint(0, p["layers"][-1], (p["n"],))

    def run():
        adam.zero_grad()
        h = x
        for i, (w, b, mask) in enumerate(zip(weights, biases, masks)):
            h = F.linear(h, w * mask if masked else w, b)
            if i < len(weights) - 1:
                h = F.relu(h)
        F.cross_entropy(h, y).backward()
        adam.step()

    return run


PROBLEMS = {
    ("PyTorch dense", "spmm"): dense_product,
    ("PyTorch dense", "gemm"): dense_product,
    ("PyTorch dense", "sddmm"): dense_gradient,
    ("PyTorch dense", "step"): lambda p: step(p, masked=False),
    ("PyTorch masked", "spmm"): masked_product,
    ("PyTorch masked", "sddmm"): masked_gradient,
    ("PyTorch masked", "step"): lambda p: step(p, masked=True),
    ("PyTorch CSR", "spmm"): csr_product,
    ("PyTorch CSR", "sddmm"): csr_gradient,
}

if __name__ == "__main__":
    if "--about" in sys.argv:
        print("PyTorch", torch.__version__, "with", torch.backends.cpu.get_cpu_capability())
        print("\n".join(torch.__config__.show().splitlines()[:8]))
        sys.exit()
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
    torch.manual_seed(1)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    serve(PROBLEMS, torch.__version__)
