"""Makes the component: `python3 build.py` -> team.wasm. It needs componentize-py (requirements.txt).

`python3 build.py bindings` makes the modules of the contract for an editor and for the native tests.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "team"


def tool():
    """componentize-py beside this interpreter, or on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("componentize-py", path=path)
    return found or sys.exit("componentize-py is not installed: pip install -r requirements.txt")


def world():
    """The tool wants the world beside the packages that it names."""
    folder = HERE / "build" / "wit"
    shutil.rmtree(folder, ignore_errors=True)
    deps = folder / "deps" / "baton-policy"
    deps.mkdir(parents=True)
    for file in (HERE / "wit").glob("*.wit"):
        shutil.copy(file, deps)
    shutil.copy(HERE / "world.wit", folder)
    return [tool(), "--wit-path", str(folder), "--world", "guest"]


def bindings():
    shutil.rmtree(HERE / "build" / "bindings", ignore_errors=True)
    subprocess.run([*world(), "bindings", str(HERE / "build" / "bindings")], check=True)


def component():
    made = HERE / f"{NAME}.wasm"
    # A policy has no clock, randomness, files or network: without WASI the component imports nothing of the kind.
    subprocess.run([*world(), "--quiet", "componentize", "--stub-wasi", "policy", "--output", str(made)], check=True, cwd=HERE)
    wants = json.loads((HERE / "wants.json").read_text())
    made.write_bytes(made.read_bytes() + section(wants))
    print(f"built {made.name}, {made.stat().st_size} bytes")


def section(wants):
    """What the policy asks for, as a custom section: a person is shown it before a workflow grants it."""
    name, body = b"baton:wants", json.dumps({"schema": 1, **wants}).encode()
    content = leb128(len(name)) + name + body
    return b"\0" + leb128(len(content)) + content


def leb128(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


if __name__ == "__main__":
    bindings() if sys.argv[1:] == ["bindings"] else component()
