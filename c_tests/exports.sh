#!/bin/sh
# FFI-04 and PKG-01: the shared library shows exactly what symbols.txt lists, with the version, and needs nothing but the C library.
#
#     exports.sh LIBRARY INCLUDE_DIR
set -eu
library=$1 include=$2
# Before 1.0 each minor version is another library: the node of the symbols and the SONAME say so.
part() { sed -n "s/^#define COMPUTE_VERSION_$1 //p" "$include/libcompute/compute.h"; }
version=$(part MAJOR)
[ "$version" -gt 0 ] || version=0.$(part MINOR)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED $1"; echo "0 passed, 1 failed"; exit 1; }

nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort > "$folder/shown"
grep -v "^compute_.*@@LIBCOMPUTE_$version\$" "$folder/shown" && fail "a symbol without the prefix or the version is shown"
sed 's/@@.*//' "$folder/shown" > "$folder/names"
LC_ALL=C sort "$include/libcompute/symbols.txt" > "$folder/wanted"
LC_ALL=C sort "$folder/names" | diff "$folder/wanted" - || fail "the symbols are not those of symbols.txt"

readelf -d "$library" > "$folder/dynamic"
grep -q "SONAME.*\[libcompute\.so\.$version\]" "$folder/dynamic" || fail "the SONAME is wrong"
grep -q 'NODELETE' "$folder/dynamic" || fail "the library could be unloaded"
grep -q 'BIND_NOW' "$folder/dynamic" || fail "symbols are bound late"
readelf -rW "$library" | grep -E ' compute_' && fail "a function of the library could be another's of that name"
grep -q 'RUNPATH\|RPATH' "$folder/dynamic" && fail "a path of the build is baked in"
sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$folder/dynamic" > "$folder/needed"
grep -Ev '^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux-x86-64\.so\.2|ld-linux-aarch64\.so\.1)$' "$folder/needed" && fail "the library needs more than the C library"
echo "1 passed, 0 failed"
