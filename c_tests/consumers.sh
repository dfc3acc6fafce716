#!/bin/sh
# The installed library, used from outside the tree in three ways: find_package, pkg-config, and the static library. The installed tree is moved first: nothing
# in it may remember where it was.
#
#     consumers.sh ROOT BUILD
set -eu
root=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0
fail() { echo "FAILED $1"; echo "$passed passed, 1 failed"; exit 1; }
works() { # NAME PROGRAM...
    name=$1
    shift
    "$@" > "$folder/out" || fail "$name"
    grep -q '^42$' "$folder/out" || fail "$name printed something else"
    passed=$((passed + 1))
    echo "ok     $name"
}

# What has been built is installed; nothing is built here.
make -s -C "$root" install CARGO=false DESTDIR="$folder/stage" PREFIX=/usr BUILD="$build" > /dev/null
mv "$folder/stage/usr" "$folder/moved"
prefix=$folder/moved
mkdir "$folder/project"
cp "$root"/c_tests/consumers/* "$folder/project"

cmake -S "$folder/project" -B "$folder/cmake" -DCMAKE_PREFIX_PATH="$prefix" > "$folder/log" 2>&1 || { cat "$folder/log"; fail "find_package"; }
cmake --build "$folder/cmake" > "$folder/log" 2>&1 || { cat "$folder/log"; fail "find_package: build"; }
works find_package_gives_the_shared_library "$folder/cmake/consumer"
works find_package_gives_the_static_library "$folder/cmake/consumer_static"
ldd "$folder/cmake/consumer_static" | grep -q libcompute && fail "the static consumer needs the shared library"

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
# shellcheck disable=SC2046
cc -std=c99 -Wall -Wextra -Wpedantic -Werror "$folder/project/consumer.c" $(pkg-config --cflags --libs libcompute) "-Wl,-rpath,$prefix/lib" -o "$folder/by_pkg_config"
works pkg_config_gives_the_shared_library "$folder/by_pkg_config"
# shellcheck disable=SC2046
cc -std=c99 "$folder/project/consumer.c" $(pkg-config --cflags libcompute) "$prefix/lib/libcompute.a" $(pkg-config --static --libs-only-l libcompute | sed 's/-lcompute//') -o "$folder/by_archive"
works the_static_library_links_by_hand "$folder/by_archive"
pkg-config --atleast-version=0.1 libcompute || fail "the version in libcompute.pc"
readelf -d "$folder/by_pkg_config" | grep -q 'NEEDED.*\[libcompute\.so\.0\.1\]' || fail "the program does not ask for the SONAME"
grep -rn "$root" "$prefix" --include='*.pc' --include='*.cmake' && fail "a path of the build tree is in the packages"
echo "$passed passed, 0 failed"
