#!/bin/sh
# FFI-04: compute.h alone, and compute.hpp, compile without a warning in every language mode that callers use, by gcc and by clang.
#
#     header.sh INCLUDE_DIR
set -eu
include=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0

# Every INIT macro is used once, so that their fields are looked at too.
{
    echo '#include <libcompute/compute.h>'
    echo 'extern unsigned libcompute_sizes(void);'
    echo 'unsigned libcompute_sizes(void) {'
    sed -n 's/^#define COMPUTE_\([A-Z_]*\)_INIT .*sizeof(struct \([a-z_]*\)).*/    \2 a\1 = COMPUTE_\1_INIT;/p' "$include/libcompute/compute.h"
    echo '    unsigned sum = 0;'
    sed -n 's/^#define COMPUTE_\([A-Z_]*\)_INIT .*/    sum += a\1.struct_size;/p' "$include/libcompute/compute.h"
    echo '    return sum;'
    echo '}'
} > "$folder/header.c"
cp "$folder/header.c" "$folder/header.cpp"
echo '#include <libcompute/compute.hpp>' > "$folder/hpp.cpp"
grep -q aBUFFER_DESC "$folder/header.c"

try() {
    "$@" "-I$include" -c -o "$folder/object.o" || { echo "FAILED $*"; echo "$passed passed, 1 failed"; exit 1; }
    passed=$((passed + 1))
}
strict="-Wall -Wextra -Wpedantic -Werror"
for standard in c99 c11 c17; do
    try gcc -std=$standard $strict -Wconversion -Wshadow -Wredundant-decls "$folder/header.c"
done
for standard in c++11 c++17; do
    try g++ -std=$standard $strict -Wconversion -Wshadow -Wredundant-decls "$folder/header.cpp"
done
try g++ -std=c++17 $strict -Wconversion -Wshadow -Wredundant-decls "$folder/hpp.cpp"
clang=$(command -v clang-19 || command -v clang || true)
if [ -n "$clang" ]; then
    # Off: what is about other language versions, or about taste.
    style="-Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-padded -Wno-pre-c11-compat -Wno-declaration-after-statement -Wno-unsafe-buffer-usage"
    for standard in c99 c11 c17; do
        try "$clang" -std=$standard -Weverything $style -Werror "$folder/header.c"
    done
    for standard in c++11 c++17; do
        try "$clang" -x c++ -std=$standard -Weverything $style -Werror "$folder/header.cpp"
    done
    try "$clang" -x c++ -std=c++17 $strict "$folder/hpp.cpp"
else
    echo "clang is not there: its half is left out"
fi
echo "$passed passed, 0 failed"
