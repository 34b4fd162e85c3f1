# Tacet's one build file.  `make help` lists what can be asked of it.

BUILD   ?= build
VARIANT ?= release
PREFIX  ?= /usr/local
MARCH   ?= x86-64-v3
OUT     := $(BUILD)/$(VARIANT)

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes
# Two builds of one commit give the same program wherever they stand (scripts/reproducible), so no path of ours is in a release.
# What computes (LTO_ROOMS) is linked into the service with link-time optimisation. Of the other rooms it made no query cheaper and
# a build a fifth longer. What only tests is linked from the machine code beside it, which takes a second instead of a minute a
# program.  clang keeps one form per object, so there all of these rooms are optimised at the link.
LTO_ROOMS      := memory envs algos
FAT_OBJECTS    := $(if $(findstring clang,$(CC)),,-ffat-lto-objects)
CFLAGS_release := -O3 -g -ffile-prefix-map=$(CURDIR)=. -fno-semantic-interposition
LINK_FOR_TESTS := $(if $(FAT_OBJECTS),-fno-lto)
CFLAGS_debug   := -O0 -g3
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
# Without an optimiser they are built in two thirds of the time, and their kept inputs take about as long. In a night the optimiser
# pays: with it fuzz_table runs twice as many inputs, fuzz_http half as many again, fuzz_json a fifth more.
SANITIZE_FUZZ  := -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
CFLAGS_fuzz    := -O0 $(SANITIZE_FUZZ)
CFLAGS_night   := -O1 $(SANITIZE_FUZZ)
CFLAGS_cover   := -O1 -g -fprofile-instr-generate -fcoverage-mapping -DNDEBUG -Wno-unused -Wno-unused-parameter
ifneq ($(filter fuzz night cover,$(VARIANT)),)
CC  := clang
CXX := clang++
endif
ifeq ($(origin CC),default)
CC  := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
AR  := $(if $(findstring clang,$(CC)),ar,gcc-ar)
comma := ,
# make V=1 shows whole commands.
Q   := $(if $(V),,@)
say  = @echo '  $(1) $(2)'

# Hardening that costs nothing measurable: addresses that nobody knows, a global offset table that nobody writes, checked string
# functions, a stack that cannot be jumped over or run, return addresses with a shadow.  BLAS's assembler has no landing pads, so
# the linker is told of the shadow alone.  FORTIFY needs an optimiser and stands in the sanitizers' way.
X86      := $(findstring x86_64,$(shell $(CC) -dumpmachine))
HARDEN   := -fPIE -fstack-protector-strong -fstack-clash-protection $(if $(X86),-fcf-protection=full)
HARDEN   += $(if $(filter release,$(VARIANT)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
LDHARDEN := -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code $(if $(X86),-Wl$(comma)-z$(comma)shstk)

# A fused multiply-add rounds once where the reference rounds twice: worlds and accountants keep the reference's bits.
# Without AVX gcc remarks on how vectors would be passed; ours never leave their file (-Wno-psabi).
COMMON  := -march=$(MARCH) -Wno-psabi -ffp-contract=off -fno-math-errno -pthread -I. $(HARDEN) $(CFLAGS_$(VARIANT))
# -D_GNU_SOURCE: getrandom, M_PI, sched; the code is C17 on POSIX.
CPPFLAGS += -D_GNU_SOURCE -MMD -MP
# BLAS is the single-threaded build: every job brings its own thread.  That build does not lock its buffers; algos/nn/matrix.c does.
BLAS_DIR := $(firstword $(wildcard /usr/lib/*/openblas-serial /usr/lib/openblas-serial))
BLAS     := -Wl,--wrap=blas_memory_alloc,--wrap=blas_memory_free $(BLAS_DIR)/libopenblas.a
# It holds a set of kernels for each processor since 2004, two thirds of a program.  Where a program needs AVX2 anyway
# (x86-64-v3), the sets for processors without it are not linked: their names mean Haswell's.
ifeq ($(MARCH),x86-64-v3)
OLDER_BLAS := PRESCOTT CORE2 PENRYN DUNNINGTON NEHALEM ATOM NANO SANDYBRIDGE OPTERON OPTERON_SSE3 BARCELONA BOBCAT BULLDOZER PILEDRIVER STEAMROLLER
# Without AVX2 the loader says "CPU ISA level is lower than required" and starts nothing.
LDHARDEN += -Wl,-z,x86-64-v3
BLAS  += $(foreach set,$(OLDER_BLAS),-Wl$(comma)--wrap=gotoblas_$(set)) algos/nn/avx2.ld
endif
LDLIBS   := -lmicrohttpd -lgnutls -ljansson -lsqlite3 -lpq -lsodium -lcrypto -l:libminizip.a -lz -lzstd -lcurl -lbox2d $(BLAS) -lstdc++ -lm
TEST_LIBS := -lcriterion -lcurl

# algos/ has floors that are linked by themselves; any other room is linked with the rooms inside it.
ROOMS := memory envs programs algos/privacy algos/nn algos/data algos/offline algos/online algos/release algos algos/catalogue algos/advice storage api server cli
room_lib   = $(OUT)/lib$(subst /,-,$(1)).a
room_dirs  = $(1) $(if $(filter algos,$(1)),,$(1)/* $(1)/*/*)
room_src   = $(filter-out cli/main.c cli/import_hdf5/%,$(wildcard $(foreach d,$(call room_dirs,$(1)),$(d)/*.c $(d)/*.cpp)))
room_obj   = $(patsubst %,$(OUT)/%.o,$(call room_src,$(1)))
ROOM_LIBS := $(foreach r,$(ROOMS),$(if $(call room_src,$(r)),$(call room_lib,$(r))))

.DEFAULT_GOAL := all
.SECONDARY:
.PHONY: all help debug asan tsan demo bench format lint install-program install uninstall deb sbom release test-deb test-image test-watch test-page clean

# All cores, unless make was told otherwise.
ALL_CORES = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

all: libraries
	@$(MAKE) $(ALL_CORES) --no-print-directory $(BUILD)/tacet

.PHONY: libraries
libraries:
	@[ -n "$(BLAS_DIR)" ] && [ -e /usr/include/microhttpd.h ] && [ -e /usr/include/minizip/unzip.h ] || { echo "libraries are missing: scripts/install-deps build installs them" >&2; exit 1; }

help:
	@echo 'make            build/tacet, optimised for MARCH=$(MARCH)'
	@echo 'make hdf5       build/tacet-import-hdf5, by which tacet import reads HDF5 (Minari, D4RL)'
	@echo 'make demo       the tour of the README on a temporary server, six minutes at most'
	@echo 'make test       unit, HTTP and crash tests (installs what is missing)'
	@echo 'make test-postgres   storage, HTTP and faults over a private PostgreSQL server'
	@echo 'make test-sanitizers   the same under ASan+UBSan and under TSan'
	@echo 'make soak-worlds   ten million random steps in every world under ASan+UBSan'
	@echo 'make soak-retention   2.4 million paid answers pass through a store that keeps two days of them'
	@echo 'make siege      a student among all attacks at once, and campaigns of thousands; hours, prints its seed'
	@echo 'make torture SEED= MINUTES= QUERIES=   three servers, two workers and PostgreSQL with a standby, each in a network of its own, under faults; as root'
	@echo 'make disasters   a machine is lost under 64 clients and restored, 200 times; an hour'
	@echo 'make hardening  how the programs are hardened, a table from readelf'
	@echo 'make bench      speed, next to the limits of this machine'
	@echo 'make bench-ledger bench-shards bench-memory ensemble curves   more measurements (docs/performance.md)'
	@echo 'make time-leaks what times of answers, uploads and jobs tell of neighbouring inputs'
	@echo 'make reproduce-budgets   how many jobs a budget pays for, beside plans fixed in advance'
	@echo 'make reproduce-gp    Q-learning with functional noise, claimed and true epsilons; resumable'
	@echo 'make reproduce-offline   private offline learning compared with published figures; resumable'
	@echo 'make reproduce-local     local and on-line privacy compared with published figures; resumable'
	@echo 'make advise-table   what the advisor forecasts from: its candidates measured in five worlds; resumable'
	@echo 'make judge-table    how often the judge'"'"'s intervals hold the truth'
	@echo 'make reproduce-kickstart   students of a private teacher, compared with published figures; resumable'
	@echo 'make reports plots check-results   tables and plots of docs/results from the committed runs; plots as PDF; a comparison'
	@echo 'make debug asan tsan fuzz   other builds, below build/'
	@echo 'make fuzz-night   all fuzzers for a night; make fuzz-cover: which share of the parsers their inputs reach'
	@echo 'make simulate SEED=1 STEPS=1000000   the whole service in one thread from a seed; make simulate-mutants: mistakes it has to find'
	@echo 'make format lint   clang-format in place; clang-tidy and cppcheck'
	@echo 'make install uninstall PREFIX=$(PREFIX) SYSCONFDIR=$(SYSCONFDIR)'
	@echo 'make test-watch   metrics, alert rules and dashboard, by promtool'
	@echo 'make sbom release KEY=FILE   what the program was made of; a release, signed, in build/dist'
	@echo 'make test-page    the page in Chromium'
	@echo 'make deb test-deb   Debian packages in build/deb; the package installed in a scratch root, started and removed'
	@echo 'make test-image   the container image built, started and asked, with compose and Kubernetes; as root; BASE=IMAGE'

debug asan tsan:
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=$@ $(BUILD)/$@/tacet

$(BUILD)/tacet: $(BUILD)/release/tacet
	@cp -f $< $@

$(OUT)/tacet: $(OUT)/cli/main.c.o $(ROOM_LIBS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDHARDEN) $(LDFLAGS) -Wl,--dependency-file=$@.link -o $@ $< -Wl,--start-group $(ROOM_LIBS) -Wl,--end-group $(LDLIBS)

# `tacet import` with the HDF5 library is a program of its own: the service does not load that library.
HDF5_DIR := $(firstword $(wildcard /usr/lib/*/hdf5/serial))
HDF5_OBJ := $(patsubst %,$(OUT)/%.o,$(wildcard cli/import_hdf5/*.c))
$(HDF5_OBJ): CPPFLAGS += -isystem /usr/include/hdf5/serial

$(OUT)/tacet-import-hdf5: $(HDF5_OBJ) $(ROOM_LIBS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDHARDEN) $(LDFLAGS) -o $@ $(HDF5_OBJ) -Wl,--start-group $(ROOM_LIBS) -Wl,--end-group \
	  -L$(HDF5_DIR) -lhdf5 $(LDLIBS)

.PHONY: hdf5
hdf5:
	@scripts/install-deps build hdf5
	@$(MAKE) $(ALL_CORES) --no-print-directory $(BUILD)/tacet-import-hdf5

$(BUILD)/tacet-import-hdf5: $(OUT)/tacet-import-hdf5
	@cp -f $< $@

# Only these know PostgreSQL's library.
$(patsubst %,$(OUT)/%.o,$(wildcard storage/db/*postgres*.c tests/unit/storage/postgres*.c)): CPPFLAGS += -isystem /usr/include/postgresql

ifeq ($(VARIANT),release)
$(foreach r,$(LTO_ROOMS),$(OUT)/$(r)/%.o): COMMON += -flto=auto $(FAT_OBJECTS)
$(OUT)/tacet: private COMMON += -flto=auto
endif
# Fixed-order products are sums of fused multiply-adds, where the build is optimised.
$(OUT)/algos/nn/matrix_panel.c.o: COMMON += -ffp-contract=fast

$(OUT)/%.c.o: %.c
	@mkdir -p $(@D)
	$(call say,CC ,$<)
	$(Q)$(CC) -std=c17 $(WARNINGS) $(CPPFLAGS) $(COMMON) $(CFLAGS) -c -o $@ $<

$(OUT)/%.cpp.o: %.cpp
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra $(CPPFLAGS) $(COMMON) $(CXXFLAGS) -c -o $@ $<

define room_rule
$(call room_lib,$(1)): $(call room_obj,$(1))
	@rm -f $$@
	@$(AR) rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_rule,$(r))))

# Files inside the program: the compiler does not see .incbin.
$(OUT)/api/embedded.c.o: $(wildcard web/*) openapi.yaml

include tests/tests.mk
include tests/fuzz/fuzz.mk
include tests/soak/soak.mk
include tests/siege/siege.mk
include tests/torture/torture.mk
include bench/bench.mk

# What a bare machine lacks is installed first; make then starts anew, because this file looks for libraries when it is read.
demo:
	@scripts/install-deps build demo
	@$(MAKE) $(ALL_CORES) --no-print-directory $(BUILD)/tacet
	@TACET=$(BUILD)/tacet examples/demo.sh

SOURCES = $(shell git ls-files '*.c' '*.h' '*.cpp' 2>/dev/null)

format:
	clang-format -i $(SOURCES)

lint:
	@scripts/install-deps build hdf5 lint
	@echo '  clang-format'; clang-format --dry-run -Werror $(SOURCES)
	@python3 scripts/check_rooms.py rooms.txt .
	@python3 scripts/check_style.py
	@echo '  cppcheck'; cppcheck --quiet --std=c11 --language=c --enable=warning,portability --inline-suppr --error-exitcode=1 -I. \
	  --suppressions-list=.cppcheck $(filter-out tests/%,$(filter %.c,$(SOURCES)))
	@echo '  clang-tidy'; clang-tidy --quiet $(filter-out tests/%,$(filter %.c,$(SOURCES))) -- -std=c17 -I. -isystem /usr/include/hdf5/serial $(CPPFLAGS) -march=$(MARCH)

# The program and what is made from its help: man pages, completions and the file of settings, which is never overwritten.
ZSH_DIR ?= $(PREFIX)/share/zsh/site-functions
SYSCONFDIR ?= /etc
CONF = $(DESTDIR)$(SYSCONFDIR)/tacet/tacet.conf
install-program: libraries
	@$(MAKE) $(ALL_CORES) --no-print-directory $(BUILD)/tacet
	scripts/describe $(BUILD)/tacet $(BUILD)/described
	install -D -m 0755 $(BUILD)/tacet $(DESTDIR)$(PREFIX)/bin/tacet
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(BUILD)/described/man/*.1
	install -D -m 0644 $(BUILD)/described/bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tacet
	install -D -m 0644 $(BUILD)/described/_tacet $(DESTDIR)$(ZSH_DIR)/_tacet
	[ -e $(CONF) ] || install -D -m 0644 $(BUILD)/described/tacet.conf $(CONF)

install: install-program
	if [ -e $(BUILD)/tacet-import-hdf5 ]; then install -m 0755 $(BUILD)/tacet-import-hdf5 $(DESTDIR)$(PREFIX)/bin/; fi
	install -D -m 0644 debian/tacet.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/tacet.conf
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/bin/|$(PREFIX)/bin/|; s|/etc/tacet/|$(SYSCONFDIR)/tacet/|' debian/tacet.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/tacet.service

# Data stay, and settings that differ from those that were installed.
uninstall:
	! cmp -s $(BUILD)/described/tacet.conf $(CONF) || rm -f $(CONF)
	rmdir $(dir $(CONF)) 2>/dev/null || true
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/tacet bin/tacet-import-hdf5 share/man/man1/tacet.1 share/man/man1/tacet-*.1 \
	  share/bash-completion/completions/tacet lib/sysusers.d/tacet.conf lib/systemd/system/tacet.service) $(DESTDIR)$(ZSH_DIR)/_tacet

# Packages below build/deb: the program, and its debug symbols.
deb:
	@scripts/install-deps build deb
	@$(MAKE) $(ALL_CORES) --no-print-directory $(BUILD)/tacet
	@[ "tacet $$(dpkg-parsechangelog -S Version | sed s/-.*//)" = "$$($(BUILD)/tacet version)" ] || { echo "debian/changelog names another version" >&2; exit 1; }
	rm -rf $(BUILD)/deb && mkdir -p $(BUILD)/deb
	BUILD=$(abspath $(BUILD)) debian/rules binary
	BUILD=$(abspath $(BUILD)) debian/rules clean

# What the program was made of, as CycloneDX.
sbom: all
	scripts/sbom.py $(BUILD)/release/tacet $$(git log -1 --format=%ct) > $(BUILD)/tacet.cdx.json

# Package, source, list of parts, digests, and their signature by KEY, an SSH key.
release: deb sbom
	@[ -n "$(KEY)" ] || { echo "make release KEY=FILE: the SSH key that signs" >&2; exit 1; }
	rm -rf $(BUILD)/dist && mkdir -p $(BUILD)/dist
	cp $(BUILD)/deb/tacet_*.deb $(BUILD)/tacet.cdx.json $(BUILD)/dist
	git archive --prefix=tacet/ -o $(BUILD)/dist/tacet.tar.gz HEAD
	scripts/sign-release $(BUILD)/dist $(KEY)

test-deb: deb
	scripts/test-deb $(BUILD)

# The container image, on the base BASE if one is named.
test-image:
	@scripts/install-deps image
	scripts/test-image $(BASE)

# The metrics, the alert rules and the dashboard, by promtool.
test-watch:
	@scripts/install-deps build watch
	@$(MAKE) $(ALL_CORES) --no-print-directory $(BUILD)/tacet
	scripts/test-watch $(BUILD)/tacet

# The page in a real browser; SHOTS=FOLDER keeps pictures of it.
# axe-core looks for what keeps people out of the page; only its test reads it.
AXE = $(BUILD)/axe-core-4.14.1/axe.min.js
AXE_SHA256 = 29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c

$(AXE):
	@command -v npm >/dev/null || { echo 'test-page: npm is missing, which fetches axe-core' >&2; exit 1; }
	@mkdir -p $(@D)
	cd $(@D) && npm pack --silent axe-core@4.14.1 && tar -xzmf axe-core-4.14.1.tgz --strip-components=1 package/axe.min.js
	@echo '$(AXE_SHA256)  $@' | sha256sum --quiet -c || { rm $@; exit 1; }

test-page: $(AXE)
	@scripts/install-deps build page
	@$(MAKE) $(ALL_CORES) --no-print-directory $(BUILD)/tacet
	TACET=$(BUILD)/tacet AXE=$(AXE) /usr/bin/python3 tests/page/page_test.py

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
