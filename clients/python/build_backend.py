"""Builds the package by PEP 517 with the standard library alone.

The same files give the same bytes with every Python, so nothing in a wheel is compressed: that is another library's.
"""

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
NAME = "writ_client"
VERSION = re.search(r'^version = "([^"]+)"$', (HERE / "pyproject.toml").read_text(encoding="utf-8"), re.M).group(1)
INFO = f"{NAME}-{VERSION}.dist-info"

METADATA = f"""\
Metadata-Version: 2.1
Name: writ-client
Version: {VERSION}
Summary: Puts the tools of an agent behind a Writ server: declare a plan, guard a function, verify a receipt.
License: Apache-2.0
Classifier: Private :: Do Not Upload
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

"""

WHEEL = "Wheel-Version: 1.0\nGenerator: writ\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _metadata() -> bytes:
    return (METADATA + (HERE / "README.md").read_text(encoding="utf-8")).encode()


def _licence(path):
    """The licence is that of the repository, and beside its folders in an archive; a source archive has it itself."""
    for file in (HERE / "LICENSE", HERE.parent.parent / "LICENSE"):
        if file.is_file():
            return [(path, file.read_bytes())]
    return []


def _sources():
    files = [*sorted((HERE / NAME).glob("*.py")), HERE / NAME / "py.typed"]
    return [(f"{NAME}/{file.name}", file.read_bytes()) for file in files]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = [*_sources(), (f"{INFO}/METADATA", _metadata()), (f"{INFO}/WHEEL", WHEEL.encode())]
    files += _licence(f"{INFO}/LICENSE")
    lines = []
    for path, content in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}")
    record = "\n".join([*lines, f"{INFO}/RECORD,,", ""])
    name = f"{NAME}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_STORED) as wheel:
        for path, content in [*files, (f"{INFO}/RECORD", record.encode())]:
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16  # as Unix writes it, wherever it is built
            wheel.writestr(entry, content)
    return name


def build_sdist(sdist_directory, config_settings=None):
    root = f"{NAME}-{VERSION}"
    files = [*_sources(), ("PKG-INFO", _metadata()), *_licence("LICENSE")]
    files += [(name, (HERE / name).read_bytes()) for name in ("pyproject.toml", "build_backend.py", "README.md")]
    with tarfile.open(Path(sdist_directory) / f"{root}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files:
            entry = tarfile.TarInfo(f"{root}/{path}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return f"{root}.tar.gz"


if __name__ == "__main__":
    import sys

    print(build_wheel(sys.argv[1]))
