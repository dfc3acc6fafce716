#!/usr/bin/env python3
"""Runs kernels on an NVIDIA device and compares the bytes: run_texts.py FOLDER, which `COMPUTE_CXX_DUMP=FOLDER cargo test --test cxx` has filled.

Needs libcuda.so.1 and libnvrtc, found by the loader.
"""
import ast
import ctypes as c
import glob
import os
import sys


def check(status, what):
    if status != 0:
        raise RuntimeError(f"{what}: status {status}")


def compile_text(nvrtc, source, architecture, options):
    program, size = c.c_void_p(), c.c_size_t()
    check(nvrtc.nvrtcCreateProgram(c.byref(program), source, b"kernel.cu", 0, None, None), "create")
    words = [f"--gpu-architecture={architecture}", "-w"] + options
    status = nvrtc.nvrtcCompileProgram(program, len(words), (c.c_char_p * len(words))(*[w.encode() for w in words]))
    nvrtc.nvrtcGetProgramLogSize(program, c.byref(size))
    log = c.create_string_buffer(size.value + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    if status != 0:
        raise RuntimeError(log.value.decode(errors="replace"))
    check(nvrtc.nvrtcGetCUBINSize(program, c.byref(size)), "size")
    code = c.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetCUBIN(program, code), "code")
    return code


def run(cuda, code, entry, grid, block, shared, parameters, addresses, bindings):
    module, function = c.c_void_p(), c.c_void_p()
    check(cuda.cuModuleLoadData(c.byref(module), code), "load")
    check(cuda.cuModuleGetFunction(c.byref(function), module, entry.encode()), "function")
    pointers = []
    for given in bindings + [bytes(1 << 16)]:
        pointer = c.c_uint64()
        check(cuda.cuMemAlloc_v2(c.byref(pointer), c.c_size_t(max(len(given), 16))), "allocate")
        check(cuda.cuMemcpyHtoD_v2(pointer, given, c.c_size_t(len(given))), "write")
        pointers.append(pointer.value)
    bytes_ = bytearray(parameters)
    for offset, binding in addresses:
        bytes_[offset:offset + 8] = pointers[binding].to_bytes(8, "little")
    block_of_parameters = (c.c_char * len(bytes_)).from_buffer(bytes_)
    pointer_list = (c.c_void_p * 1)(c.addressof(block_of_parameters))
    check(cuda.cuLaunchKernel(function, *grid, *block, shared, None, pointer_list, None), "launch")
    check(cuda.cuCtxSynchronize(), "wait")
    out = []
    for pointer, given in zip(pointers, bindings):
        result = c.create_string_buffer(max(len(given), 1))
        check(cuda.cuMemcpyDtoH_v2(result, c.c_uint64(pointer), c.c_size_t(len(given))), "read")
        out.append(result.raw[:len(given)])
    for pointer in pointers:
        cuda.cuMemFree_v2(c.c_uint64(pointer))
    cuda.cuModuleUnload(module)
    return out


def one(cuda, nvrtc, architecture, path):
    lines = open(path).read().splitlines()
    entry, *options = lines[0].split("\t")
    grid, block, shared = (ast.literal_eval(word) for word in lines[1].split("\t"))
    parameters, addresses = lines[2].split("\t")
    pairs = [line.split("\t") for line in lines[3:]]
    with open(path.replace(".launch", ".cu"), "rb") as file:
        code = compile_text(nvrtc, file.read(), architecture, options)
    given = [bytes.fromhex(pair[0]) for pair in pairs]
    got = run(cuda, code, entry, grid, block, shared, bytes.fromhex(parameters), ast.literal_eval(addresses), given)
    wrong = []
    for n, (bytes_, pair) in enumerate(zip(got, pairs)):
        wanted = bytes.fromhex(pair[1])
        words = [i for i in range(0, len(wanted), 4) if bytes_[i:i + 4] != wanted[i:i + 4]]
        if words:
            shown = ", ".join(f"{i // 4}: {bytes_[i:i + 4].hex()} for {wanted[i:i + 4].hex()}" for i in words[:6])
            wrong.append(f"binding {n}: {len(words)} words, {shown}")
    return wrong


def main():
    cuda = c.CDLL("libcuda.so.1")
    nvrtc = next(c.CDLL(name) for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so") if loads(name))
    context, device, major, minor = c.c_void_p(), c.c_int(), c.c_int(), c.c_int()
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDeviceGet(c.byref(device), 0), "device")
    cuda.cuDeviceGetAttribute(c.byref(major), 75, device)
    cuda.cuDeviceGetAttribute(c.byref(minor), 76, device)
    check(cuda.cuDevicePrimaryCtxRetain(c.byref(context), device), "context")
    check(cuda.cuCtxSetCurrent(context), "context")
    failed, paths = 0, sorted(glob.glob(os.path.join(sys.argv[1], "*.launch")))
    for path in paths:
        try:
            wrong = one(cuda, nvrtc, f"sm_{major.value}{minor.value}", path)
        except RuntimeError as error:
            wrong = [str(error)]
        if wrong:
            failed += 1
            print(f"{os.path.basename(path)}: " + "; ".join(wrong)[:800])
    print(f"{len(paths) - failed} of {len(paths)} kernels left the expected bytes")
    return 1 if failed or not paths else 0


def loads(name):
    try:
        return c.CDLL(name) is not None
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
