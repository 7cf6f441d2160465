"""Sizes of packages: what a download and an installation cost."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

_SHIPPED = {".py", ".pyi", ".pxd", ".so", ".pyd", ".typed", ".yaml"}
_COMPILED = {".so", ".pyd"}


def installed_size(distribution: str) -> int:
    """Bytes of the files that the distribution itself installed, without its dependencies and without bytecode.

    Of a source tree or an editable installation, which lists other files than an installation would have: those of the
    package of the same name that a wheel ships. Raises importlib.metadata.PackageNotFoundError where the distribution
    is not installed.
    """
    found = importlib.metadata.distribution(distribution)
    if found.read_text("RECORD") is None or '"editable": true' in (found.read_text("direct_url.json") or ""):
        return sum(path.stat().st_size for path, _ in package_files(distribution))
    paths = (Path(str(file.locate())) for file in found.files or [] if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file())


def package_files(package: str) -> Iterator[tuple[Path, str]]:
    """The files of an importable package that a wheel would ship, with their names within it.

    Raises ImportError where the package cannot be found.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"benchmarks: there is no package {package!r} to measure; install it first")
    for location in spec.submodule_search_locations:
        root = Path(location)
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix in _SHIPPED:
                yield path, f"{package}/{path.relative_to(root)}"


def wheel_size(package: str) -> int:
    """Bytes of the wheel of `package`: its installed files, stripped of debug symbols and packed as wheels are.

    The installed package is packed rather than a wheel built from source, so that what is measured is the very build
    whose speed the other rows show. Where `strip` is missing the compiled files are packed as they are.
    """
    strip = shutil.which("strip")
    with tempfile.TemporaryDirectory() as directory:
        wheel = Path(directory) / "package.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, name in package_files(package):
                source = path
                if strip is not None and path.suffix in _COMPILED:
                    source = Path(directory) / path.name
                    shutil.copyfile(path, source)
                    subprocess.run([strip, "--strip-unneeded", str(source)], check=False, capture_output=True)
                archive.write(source, name)
        return wheel.stat().st_size
