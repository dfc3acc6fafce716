#!/usr/bin/env python3
"""NVIDIA's runtime compiler without a GPU: fetched from PyPI, and called on files.

    nvrtc.py fetch FOLDER      downloads the wheel (90 MB) and unpacks the libraries into FOLDER
    nvrtc.py compile FOLDER    compiles each file that a line of the standard input names: file, architecture, options, between tabs

Ends with 1 and the compiler's messages when it refuses a file.
"""
import ctypes
import glob
import os
import subprocess
import sys
import tempfile
import zipfile

WHEEL = "nvidia-cuda-nvrtc-cu12==12.9.86"


def fetch(folder):
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, WHEEL]
        subprocess.run(pip, check=True)
        wheel = zipfile.ZipFile(glob.glob(os.path.join(place, "*.whl"))[0])
        for name in wheel.namelist():
            base = os.path.basename(name)
            if base.startswith("libnvrtc") and ".alt." not in base:
                with open(os.path.join(folder, base), "wb") as out:
                    out.write(wheel.read(name))


def library(folder):
    # The compiler looks for its builtins by name: they have to be there already.
    for path in glob.glob(os.path.join(folder, "libnvrtc-builtins.so*")):
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(sorted(glob.glob(os.path.join(folder, "libnvrtc.so*")))[0])


def compile_one(nvrtc, path, architecture, options):
    program = ctypes.c_void_p()
    with open(path, "rb") as file:
        source = file.read()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None)
    words = [f"--gpu-architecture={architecture}", "-w"] + options
    array = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
    status = nvrtc.nvrtcCompileProgram(program, len(words), array)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status, log.value.decode(errors="replace")


def compile_all(folder):
    nvrtc = library(folder)
    failed = 0
    for line in sys.stdin:
        path, architecture, *options = line.rstrip("\n").split("\t")
        status, log = compile_one(nvrtc, path, architecture, options)
        if status != 0:
            failed += 1
            print(f"{path} for {architecture}: status {status}\n{log}", file=sys.stderr)
    return 1 if failed else 0


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("fetch", "compile"):
        print(__doc__, file=sys.stderr)
        return 2
    return fetch(sys.argv[2]) or 0 if sys.argv[1] == "fetch" else compile_all(sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
