"""Uses an installed cygrad in an environment that has nothing else: a gradient, and what `import cygrad` costs.

python .ci/check_installed.py     (from outside of the checkout, so that the installed package is the one imported)
"""

from __future__ import annotations

import subprocess
import sys

GRADIENT = """
import sys
import cygrad as torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x.exp() * x).sum().backward()
assert torch.allclose(x.grad, (x * x.exp() + x.exp()).detach()), x.grad
third = {name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names) - {'cygrad', 'numpy'}
third = {name for name in third if not name.startswith(('_', 'cython_runtime', 'sitecustomize', 'usercustomize'))}
assert not third, f'import cygrad imports {third}'
print('cygrad', torch.__version__, 'from', torch.__file__)
"""
TIMED = "from time import perf_counter as now; start = now(); import {module}; print(now() - start)"
ROUNDS = 15
LIMIT = 2.0


def seconds(module: str) -> float:
    """How long the import takes in a fresh interpreter."""
    command = [sys.executable, "-c", TIMED.format(module=module)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def import_ratio() -> float:
    """The time of `import cygrad` over that of `import numpy`: the least of several rounds that take turns."""
    times: dict[str, list[float]] = {"numpy": [], "cygrad": []}
    for _ in range(ROUNDS):
        for module, found in times.items():
            found.append(seconds(module))
    return min(times["cygrad"]) / min(times["numpy"])


def main() -> int:
    """1 if the import costs too much; an exception if the gradient is wrong."""
    subprocess.run([sys.executable, "-c", GRADIENT], check=True)
    ratio = import_ratio()
    print(f"import cygrad takes {ratio:.2f} times import numpy ({LIMIT} allowed)")
    return 0 if ratio < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
