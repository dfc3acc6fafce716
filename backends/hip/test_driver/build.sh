#!/bin/sh
# Builds the stand-in: build.sh FOLDER makes FOLDER/libamdhip64.so, which is libhiprtc too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
# The texts that stand before every kernel are a part of the library.
{
    printf 'static const char KERNEL_INTERFACE_H[] = R"==(\n'
    grep -v '^#pragma once' "$here/kernel_interface.h"
    printf ')==";\nstatic const char KERNEL_H[] = R"==(\n'
    cat "$here/kernel.h"
    printf ')==";\n'
} > embedded.h
flags="-std=c++20 -O1 -Wall -Wextra -Werror -Wno-parentheses -fPIC -fvisibility=hidden -I . -I $here"
# The standard library's headers are most of the work, so they are read once.
clang++-19 $flags -x c++-header "$here/driver.h" -o driver.pch
for file in "$here"/*.cpp; do echo "$file"; done |
    xargs -P 2 -I FILE sh -c "clang++-19 $flags -include-pch driver.pch -c FILE -o \$(basename FILE).o"
# -Bsymbolic: its own calls are never another HIP's.
clang++-19 -shared -Wl,-Bsymbolic -Wl,-soname,libamdhip64.so ./*.o -o libamdhip64.so.new -lpthread -ldl
mv libamdhip64.so.new libamdhip64.so
