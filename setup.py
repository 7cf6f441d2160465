"""Builds cygrad: runs the code generator, then compiles every .pyx under cygrad/_core in parallel.

All compiler directives and build switches live here:
  CYGRAD_DEBUG=1                   bounds checks, assertions, -O1
  CYGRAD_SANITIZE=address|thread   gcc's sanitizer (and no recycling of memory blocks, so that it sees every one)
  CYGRAD_JOBS=n                    compiler processes at a time (default: the number of cores)
Everything else (metadata, tools) is in pyproject.toml.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent.resolve()
CORE = ROOT / "cygrad" / "_core"
DEBUG = os.environ.get("CYGRAD_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("CYGRAD_SANITIZE", "")
JOBS = int(os.environ.get("CYGRAD_JOBS", "0")) or len(os.sched_getaffinity(0))

DIRECTIVES: dict[str, object] = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "nonecheck": DEBUG,
    "embedsignature": True,
    "embedsignature.format": "python",
    "auto_pickle": False,
    "freethreading_compatible": False,
}


def compile_arguments() -> list[str]:
    """Flags of the C++ compiler for the chosen build."""
    flags = ["-std=c++17", "-fno-strict-aliasing", "-fvisibility=hidden", "-Wno-unused-function", "-Wno-cpp", "-fno-math-errno", "-fno-trapping-math"]
    if SANITIZE:
        flags += ["-O1", "-g", f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-DCYGRAD_NO_RECYCLING=1"]
        if SANITIZE == "address":
            flags += ["-fsanitize=undefined", "-fno-sanitize=vptr,alignment,function"]
    elif DEBUG:
        flags += ["-O1", "-g", "-UNDEBUG"]
    else:
        flags += ["-O2", "-g0"]
    return flags


def link_arguments() -> list[str]:
    """Flags of the linker: a release is stripped, a sanitizer build links its run time."""
    if SANITIZE:
        return [f"-fsanitize={SANITIZE}"] + (["-fsanitize=undefined"] if SANITIZE == "address" else [])
    return [] if DEBUG else ["-Wl,-s"]


def extensions() -> list[Extension]:
    """One extension a .pyx file."""
    return [
        Extension(
            ".".join(path.relative_to(ROOT).with_suffix("").parts),
            [str(path.relative_to(ROOT))],
            include_dirs=[numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("CYTHON_USE_TYPE_SPECS", "0")],
            extra_compile_args=compile_arguments(),
            extra_link_args=link_arguments(),
            language="c++",
        )
        for path in sorted(CORE.rglob("*.pyx"))
    ]


class ParallelBuild(build_ext):
    """build_ext that compiles several modules at once, largest source first."""

    def build_extensions(self) -> None:
        self.check_extensions_list(self.extensions)
        ordered = sorted(self.extensions, key=lambda e: -max(os.path.getsize(s) for s in e.sources))
        with ThreadPoolExecutor(JOBS) as pool:
            for done in [pool.submit(self.build_extension, e) for e in ordered]:
                done.result()


def main() -> None:
    """Generate, translate, compile."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    if (ROOT / "codegen" / "generate.py").exists():
        from codegen.generate import generate

        generate()
    building = any(a.startswith(("build", "bdist", "install", "editable", "develop")) for a in sys.argv)
    modules = cythonize(extensions(), nthreads=JOBS, compiler_directives=DIRECTIVES, quiet=True) if building else extensions()
    setup(ext_modules=modules, cmdclass={"build_ext": ParallelBuild})


main()
