"""Builds cygrad: runs the code generator, lays the stubs beside the modules, compiles cygrad/_core in parallel.

All compiler directives and build switches live here:
  CYGRAD_DEBUG=1                   bounds checks, assertions, -O1
  CYGRAD_SANITIZE=address|thread   gcc's sanitizer (and no recycling of memory blocks, so that it sees every one)
  CYGRAD_JOBS=n                    compiler processes at a time (default: the number of cores)
Everything else (metadata, tools) is in pyproject.toml.

A compiled module is kept under build/ and used again while neither its sources nor its flags change, so that a rebuild
compiles what was edited: by `pip install .`, `pip install -e .` and `python setup.py build_ext --inplace` alike.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent.resolve()
CORE = ROOT / "cygrad" / "_core"
DEBUG = os.environ.get("CYGRAD_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("CYGRAD_SANITIZE", "")
JOBS = int(os.environ.get("CYGRAD_JOBS", "0")) or len(os.sched_getaffinity(0))
# Translated sources of a release lie beside the .pyx; those of other kinds apart, since their directives differ, which
# time stamps do not show.
TRANSLATED = f"build/{SANITIZE or 'debug'}" if SANITIZE or DEBUG else None

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
    "autotestdict": False,
    "freethreading_compatible": False,
}


def compile_arguments() -> list[str]:
    """Flags of the C++ compiler for the chosen build."""
    flags = ["-std=c++17", "-fno-strict-aliasing", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math"]
    flags += ["-Wno-unused-function", "-Wno-cpp"]
    if SANITIZE:
        flags += ["-O1", "-g1", f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-DCYGRAD_NO_RECYCLING=1"]
        if SANITIZE == "address":
            flags += ["-fsanitize=undefined", "-fno-sanitize=vptr,alignment"]
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
            include_dirs=[np.get_include(), str(path.parent.relative_to(ROOT))],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("CYTHON_USE_TYPE_SPECS", "0")],
            extra_compile_args=compile_arguments(),
            extra_link_args=link_arguments(),
            language="c++",
        )
        for path in sorted(CORE.rglob("*.pyx"))
    ]


def kept_modules() -> Path:
    """Where compiled modules of this kind are kept: one folder for each choice of flags, compiler and versions."""
    facts = [*compile_arguments(), *link_arguments(), np.__version__, importlib.metadata.version("Cython")]
    facts += [os.environ.get(name, "") for name in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS")]
    facts += [str(sysconfig.get_config_var(name)) for name in ("EXT_SUFFIX", "CC", "CFLAGS")]
    return ROOT / "build" / f"modules-{hashlib.sha256(repr(facts).encode()).hexdigest()[:12]}"


class ParallelBuild(build_ext):
    """build_ext that compiles several modules at once, largest source first, and none that is kept and current."""

    def build_extensions(self) -> None:
        """Build all modules; the first failure is raised."""
        self.check_extensions_list(self.extensions)
        ordered = sorted(self.extensions, key=lambda e: -max(Path(s).stat().st_size for s in e.sources))
        with ThreadPoolExecutor(JOBS) as pool:
            for done in [pool.submit(self.build_extension, e) for e in ordered]:
                done.result()

    def build_extension(self, ext: Extension) -> None:
        """Compile one module, or take the kept one."""
        target = Path(self.get_ext_fullpath(ext.name))
        kept = kept_modules() / target.name.replace(ext.name.rpartition(".")[2], ext.name, 1)
        newest = max(Path(s).stat().st_mtime for s in [*ext.sources, *ext.depends])
        if self.force or not kept.exists() or kept.stat().st_mtime <= newest:
            target.unlink(missing_ok=True)
            super().build_extension(ext)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, kept)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kept, target)


def main() -> None:
    """Generate, translate, compile."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    from codegen.stub_files import install

    if (ROOT / "codegen" / "generate.py").exists():
        from codegen.generate import generate

        generate()
    install()
    modules = extensions()
    if any(a.startswith(("build", "bdist", "install", "editable", "develop")) for a in sys.argv):
        modules = cythonize(modules, nthreads=JOBS, build_dir=TRANSLATED, compiler_directives=DIRECTIVES, quiet=True)
    setup(ext_modules=modules, cmdclass={"build_ext": ParallelBuild})


main()
