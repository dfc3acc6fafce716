#!/bin/sh
# Builds the library: build.sh FOLDER INCLUDE makes FOLDER/libhsa-runtime64.so.1 with AMD's headers of INCLUDE.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
printf 'ROCR_1 { global: hsa_*; fake_hsa_*; local: *; };\n' > "$1/versions"
"${CXX:-c++}" -std=c++17 -O1 -Wall -Wextra -Werror -Wno-unused-parameter -fPIC -shared -I "$2" "$here"/*.cpp -o "$1/libhsa-runtime64.so.1.new" \
    -Wl,--version-script="$1/versions" -Wl,-soname,libhsa-runtime64.so.1 -lpthread
mv "$1/libhsa-runtime64.so.1.new" "$1/libhsa-runtime64.so.1"
