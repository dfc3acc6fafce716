# Builds, checks and installs libcompute. `make` builds the library into build/; CARGO_TARGET_DIR is respected.

VERSION := $(shell sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# What programs ask the loader for: before 1.0 each minor version is another library, as the interface may change.
SOVERSION := $(shell echo $(VERSION) | sed -e 's/^0\.\([0-9]*\).*/0.\1/; t' -e 's/\..*//')
TARGET := $(or $(CARGO_TARGET_DIR),target)
BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
CC ?= cc
CARGO ?= cargo
# Which of wgpu, cuda and hip the library has beside the cpu device: `make FEATURES=wgpu,cuda`, `make FEATURES=`.
FEATURES ?= default

SHARED := $(BUILD)/libcompute.so.$(VERSION)
STATIC := $(BUILD)/libcompute.a
ARCHIVE := $(TARGET)/release/libcompute.a
# What the static library needs besides itself.
STATIC_LIBS := -lpthread -ldl -lm

.PHONY: all needs lib archive header test rust-test c-test demo bench bench-peers bench-wgpu lint fmt install packages clean setup

all: lib

setup:
	scripts/setup

# What tests and demo need beyond Rust and a C compiler: installed where it is missing.
needs:
	scripts/setup test

lib: $(SHARED) $(STATIC) packages

archive:
	$(CARGO) build --release --locked --lib --no-default-features --features "$(FEATURES)"

$(ARCHIVE): archive ;

# The shared library is linked here rather than by cargo: versioned symbols, a SONAME, nothing visible but compute_*, never unloaded, its own functions in its
# table whatever else of that name is in the process, and needing nothing but the C library (libgcc_s is not always there).
$(SHARED): $(ARCHIVE) $(BUILD)/libcompute.map Makefile
	@mkdir -p $(BUILD)
	$(CC) -shared -o $@.tmp -Wl,--whole-archive $(ARCHIVE) -Wl,--no-whole-archive -Wl,--version-script=$(BUILD)/libcompute.map \
	    -Wl,-soname,libcompute.so.$(SOVERSION) -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-z,defs -Wl,-z,noexecstack \
	    -Wl,--gc-sections -Wl,--as-needed -static-libgcc $(STATIC_LIBS) -lc
	objcopy --only-keep-debug $@.tmp $@.debug
	objcopy --strip-unneeded --add-gnu-debuglink=$@.debug $@.tmp
	mv $@.tmp $@
	ln -sf libcompute.so.$(VERSION) $(BUILD)/libcompute.so.$(SOVERSION)
	ln -sf libcompute.so.$(SOVERSION) $(BUILD)/libcompute.so

$(STATIC): $(ARCHIVE)
	@mkdir -p $(BUILD)
	objcopy --strip-debug $(ARCHIVE) $@

# Descriptions for pkg-config and CMake. They find library and header by where they themselves are, so that an installed tree may be moved. Made anew each
# time, because LIBDIR and INCLUDEDIR may be others than before.
FORCE:
packages: $(BUILD)/libcompute.pc $(BUILD)/libcomputeConfig.cmake $(BUILD)/libcomputeConfigVersion.cmake

$(BUILD)/%: packaging/%.in FORCE
	@mkdir -p $(BUILD)
	sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@SOVERSION@|$(SOVERSION)|g' -e 's|@STATIC_LIBS@|$(STATIC_LIBS)|g' \
	    -e "s|@INCLUDE@|$$(realpath -m --relative-to=$(LIBDIR) $(INCLUDEDIR))|g" $< > $@.tmp
	mv $@.tmp $@ # what root has installed from here can still be made anew

header:
	UPDATE_HEADER=1 $(CARGO) test --locked --test header the_committed

test: rust-test c-test

# Tests that generate kernels take other seeds with each commit, beside those that never change.
rust-test: export COMPUTE_SHARD ?= $(shell printf '%d' 0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0))
rust-test:
	@echo "generated kernels: COMPUTE_SHARD=$(COMPUTE_SHARD)"
	$(CARGO) test --workspace --locked
	$(CARGO) test --locked -p compute-trust --features loom --test loom --release

c-test: needs lib
	cmake -S c_tests -B $(BUILD)/c_tests -DLIBCOMPUTE_BUILD=$(abspath $(BUILD)) $(C_TEST_OPTIONS)
	cmake --build $(BUILD)/c_tests --parallel 2
	ctest --test-dir $(BUILD)/c_tests --output-on-failure $(CTEST_OPTIONS)

demo: needs lib
	cmake -S c_tests -B $(BUILD)/c_tests -DLIBCOMPUTE_BUILD=$(abspath $(BUILD))
	cmake --build $(BUILD)/c_tests --target photo
	@mkdir -p $(BUILD)/photo
	$(BUILD)/c_tests/photo $(BUILD)/photo examples/photo

bench: needs lib
	cmake -S c_tests -B $(BUILD)/c_tests -DLIBCOMPUTE_BUILD=$(abspath $(BUILD))
	cmake --build $(BUILD)/c_tests --target host_cost strided graph_cost cuda_cost
	$(BUILD)/c_tests/host_cost
	$(BUILD)/c_tests/strided
	$(BUILD)/c_tests/graph_cost
	$(BUILD)/c_tests/cuda_cost
	$(CARGO) bench --locked

# Other runtimes' pools on our traces. Not part of `bench`, as it fetches them.
bench-peers:
	$(CARGO) run --release --locked --manifest-path benches/peers/Cargo.toml

# The wgpu device beside wgpu itself, wgpu-native, cubecl and OpenCL: on all cores, and on one. `PEERS=` leaves cubecl out, which takes long to build.
bench-wgpu:
	@mkdir -p $(BUILD)
	scripts/bench_wgpu $(BUILD)

lint:
	scripts/lint

fmt:
	$(CARGO) fmt --all

# Installs what has been built, and builds nothing: `sudo` often has neither the user's Rust nor the FEATURES that were asked for.
install: packages
	@[ -e $(SHARED) ] || { echo "there is no $(SHARED) to install: run \`make\` first (without sudo)" >&2; exit 1; }
	install -d $(DESTDIR)$(INCLUDEDIR)/libcompute $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/libcompute
	install -m 644 include/libcompute/*.h include/libcompute/*.hpp $(DESTDIR)$(INCLUDEDIR)/libcompute
	install -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)
	install -m 644 $(STATIC) $(DESTDIR)$(LIBDIR)
	ln -sf libcompute.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libcompute.so.$(SOVERSION)
	ln -sf libcompute.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libcompute.so
	install -m 644 $(BUILD)/libcompute.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(BUILD)/libcomputeConfig.cmake $(BUILD)/libcomputeConfigVersion.cmake $(DESTDIR)$(LIBDIR)/cmake/libcompute

clean:
	rm -rf $(BUILD)
	$(CARGO) clean
