"""SciPy's CSR matrix times a dense one, and NumPy's dense product (OpenBLAS)."""

import sys

import numpy
import scipy
import scipy.sparse

from timing import serve

random = numpy.random.default_rng(1)


def operands(p):
    """Float32 throughout; the weight is dense with zeros in it."""
    w = random.standard_normal((p["m"], p["k"]), dtype=numpy.float32)
    w[random.random(w.shape, dtype=numpy.float32) < p["sparsity"]] = 0
    return w, random.standard_normal((p["k"], p["n"]), dtype=numpy.float32)


def csr_product(p):
    w, x = operands(p)
    w = scipy.sparse.csr_array(w)
    return lambda: w @ x


def dense_product(p):
    w, x = operands(p)
    return lambda: w @ x


PROBLEMS = {("SciPy CSR", "spmm"): csr_product, ("NumPy dense", "gemm"): dense_product}

if __name__ == "__main__":
    if "--about" in sys.argv:
        print("NumPy", numpy.__version__, "SciPy", scipy.__version__)
        blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        print(" ", blas.get("name"), blas.get("version"), blas.get("openblas configuration", ""))
        sys.exit()
    serve(PROBLEMS, f"SciPy {scipy.__version__}, NumPy {numpy.__version__}")
