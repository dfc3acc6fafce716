#!/bin/sh
# Builds the forwarder: build.sh FOLDER makes FOLDER/libamdhip64.so, which is libhiprtc too. Nothing of NVIDIA's or AMD's is needed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
# The text that stands before every kernel is a part of the library.
{
    printf 'static const char KERNEL_H[] = R"==(\n'
    cat "$here/kernel.h"
    printf ')==";\n'
} > "$1/embedded.h"
# -Bsymbolic: its own calls are never another HIP's.
"${CXX:-c++}" -std=c++17 -O1 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -I "$1" -I "$here" -shared -Wl,-Bsymbolic \
    -Wl,-soname,libamdhip64.so "$here"/*.cpp -o "$1/libamdhip64.so.new" -lpthread -ldl
mv "$1/libamdhip64.so.new" "$1/libamdhip64.so"
