"""Solutions of systems of equations, on the host, by NumPy."""

import numpy

from . import arrays, host


class Solve:
    """The solution x of A x = b, where b is a vector or a matrix. A_structure: "general", "lower_triangular",
    "upper_triangular" (the other half is not read) or "symmetric"."""

    def __init__(self, A_structure="general", lower=False, overwrite_A=False, overwrite_b=False):
        if A_structure not in ("general", "lower_triangular", "upper_triangular", "symmetric"):
            raise ValueError("Invalid matrix structure argument", A_structure)
        self.A_structure, self.lower = A_structure, lower

    def _structured(self, a):
        if self.A_structure == "lower_triangular":
            return numpy.tril(a)
        return numpy.triu(a) if self.A_structure == "upper_triangular" else a

    def __call__(self, A, b):
        A, b = host.as_float(host.square(A, "solve")), host.as_float(b)
        if b.ndim not in (1, 2):
            raise AssertionError("b is a vector or a matrix")
        dtype = (A[0, 0] * (b[0] if b.ndim == 1 else b[0, 0])).dtype
        A, b = A.astype(dtype), b.astype(dtype)

        def gradient(inputs, outputs, gs):
            a, c = inputs[0], outputs[0]
            structure = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}
            back = Solve(structure.get(self.A_structure, self.A_structure))(a.T, gs[0])
            g = -arrays.outer(back, c) if c.ndim == 1 else -arrays.dot(back, c.T)
            if self.A_structure == "lower_triangular":
                g = arrays.tril(g)
            elif self.A_structure == "upper_triangular":
                g = arrays.triu(g)
            return [g, back]

        return host.run("solve", lambda a, c: numpy.linalg.solve(self._structured(a), c).astype(c.dtype),
                        lambda a, c: (c.dtype, list(c.shape)), host.wrapped(gradient), A, b)


solve = Solve()
solve_lower_triangular = Solve("lower_triangular", lower=True)
solve_upper_triangular = Solve("upper_triangular", lower=False)
solve_symmetric = Solve("symmetric", lower=True)
