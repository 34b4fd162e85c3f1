# Tests: unit programs, audits of the mechanisms, HTTP tests against a real server process, the crash test.
#
# A folder below tests/unit is one Criterion program of the same name: build/<variant>/test_<folder>.
# It links the rooms it speaks of and those below them, so that a floor can be tested while one above it is rebuilt.
FLOOR_algos     := $(filter memory envs algos%,$(ROOMS))
NEEDS_memory    := memory
NEEDS_envs      := memory envs
NEEDS_programs  := memory programs
NEEDS_privacy   := memory envs algos/privacy
NEEDS_nn        := memory envs algos/privacy algos/nn
NEEDS_algos     := $(FLOOR_algos)
NEEDS_storage   := memory storage
NEEDS_api       := $(FLOOR_algos) programs storage api
NEEDS_noninterference := $(NEEDS_api)
NEEDS_faults    := $(NEEDS_api)
NEEDS_server    := $(FLOOR_algos) programs storage api server
NEEDS_cli       := $(ROOMS)
NEEDS_bench     := $(FLOOR_algos)

.PHONY: test test-sanitizers test-programs test-run

# Tests call the product's optimised code. Their own is compiled for a fast build: in half the time where it computes, in a third
# where it waits. A trace needs lines alone.
ifeq ($(VARIANT),release)
$(OUT)/tests/%.o: CFLAGS += -O1 -g1 -fno-lto
$(foreach folder,http crash unit/api unit/cli unit/server unit/storage,$(OUT)/tests/$(folder)/%.o): CFLAGS += -O0 -U_FORTIFY_SOURCE
endif

# Criterion's sandbox finds no room for its arena under ThreadSanitizer: there a small runner takes its place.
ifeq ($(VARIANT),tsan)
TEST_RUNNER := $(OUT)/tests/plain_runner.c.o
TEST_LIBS   := -lcurl
else
TEST_RUNNER :=
endif

UNIT_TESTS := $(filter $(patsubst NEEDS_%,%,$(filter NEEDS_%,$(.VARIABLES))),$(notdir $(patsubst %/,%,$(wildcard tests/unit/*/))))
UNIT_TESTS := $(foreach t,$(UNIT_TESTS),$(if $(wildcard tests/unit/$(t)/*.c),$(t)))
# Of the measuring programs, what is tested here: the files that keep results and sum them up, and published mechanisms.
ALSO_bench := bench/advise/compare.c bench/advise/results.c bench/offline/results.c bench/offline/setting.c \
  bench/plot/lines.c bench/plot/place.c bench/plot/plot.c bench/plot/sample.c \
  $(patsubst %,bench/gp/%.c,baselines private_returns smooth_gaussian line methods functional_noise gaussian_path_table gaussian_bridge)
ALSO_algos := bench/gp/functional_noise.c bench/gp/gaussian_path_table.c bench/gp/gaussian_bridge.c
ALSO_privacy := bench/gp/gaussian_path_table.c bench/gp/gaussian_bridge.c bench/kickstart/published.c
# An issuer of tokens, and prices that are computed once.
ALSO_api := tests/http/jwt_kit.c tests/unit/noninterference/prices.c
# What it borrows: a whole service without a socket.
ALSO_noninterference := $(patsubst %,tests/unit/api/%.c,fixture fixture_forms domain export_scene)
# And of this one: the requests that every endpoint takes, and every kind of job.
ALSO_faults := $(ALSO_noninterference) tests/simulator/quick.c tests/unit/api/failing_database.c \
  $(patsubst %,tests/unit/noninterference/%.c,ask chance kinds masks play prices spent transcript)
unit_obj = $(patsubst %,$(OUT)/%.o,$(wildcard tests/unit/$(1)/*.c) $(ALSO_$(1)))
unit_lib = $(foreach r,$(NEEDS_$(1)),$(if $(call room_src,$(r)),$(call room_lib,$(r))))

define unit_rule
$(OUT)/test_$(1): $(call unit_obj,$(1)) $(call unit_lib,$(1)) $(TEST_RUNNER)
	$(call say,LD ,$$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $$@ $(call unit_obj,$(1)) $(TEST_RUNNER) \
	  -Wl,--start-group $(call unit_lib,$(1)) -Wl,--end-group $(TEST_LIBS) $(UNIT_LIBS_$(1)) $(LDLIBS)
endef
# The note beside the database meets a power cut, and a folder an error.
UNIT_LIBS_storage := -Wl,--wrap=pwrite -Wl,--wrap=fsync
# The lunar lander meets the end of memory.
UNIT_LIBS_envs := -Wl,--wrap=malloc
# openapi.yaml is read with libyaml. Trainings meet the end of memory.
UNIT_LIBS_api := -lyaml -Wl,--wrap=stage_train -Wl,--wrap=accountant_pld_figure
# Its chance is public, and a price is computed once.
UNIT_LIBS_noninterference := -Wl,--wrap=getrandom -Wl,--wrap=accountant_pld_figure
# What tests/simulator/quick.c replaces.
QUICK_LIBS := $(patsubst %,-Wl$(comma)--wrap=%,gaussian_dp_epsilon_interval advice_look_at pages_tag_files sqlite_file_stands sqlite_file_sync_folder crypto_hash_sha256 crypto_hash_sha256_update crypto_hash_sha256_final)
# And allocations fail, while the product is at work.
UNIT_LIBS_faults := $(QUICK_LIBS) $(patsubst %,-Wl$(comma)--wrap=%,getrandom accountant_pld_figure malloc calloc realloc $(addprefix memory_,new resize bytes copy copy_text must) \
  api_serve api_serve_quick api_is_heavy api_job_turn)
$(foreach t,$(UNIT_TESTS),$(eval $(call unit_rule,$(t))))

# This one walks 2^32 words through the loops that the optimiser turns into vectors.
$(OUT)/tests/unit/privacy/noise_gaussian_words_test.c.o: CFLAGS += -O3 -fno-sanitize=all

# Audits of the mechanisms: what an attacker can prove (tests/statistical/audit.h).
STATISTICAL_OBJ := $(patsubst %,$(OUT)/%.o,$(wildcard tests/statistical/*.c))
# A clip that forgets the biases stands in for the trainer's in one test, and a sum that keeps the last one's
# episodes for that of reinforce.
STATISTICAL_LIBS := -Wl,--wrap=per_example_group_squared_norm -Wl,--wrap=per_example_lattice_add_one
STATISTICAL_LIB := $(foreach r,$(FLOOR_algos),$(if $(call room_src,$(r)),$(call room_lib,$(r))))

$(OUT)/test_statistical: $(STATISTICAL_OBJ) $(STATISTICAL_LIB) $(TEST_RUNNER)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $(STATISTICAL_OBJ) $(TEST_RUNNER) \
	  -Wl,--start-group $(STATISTICAL_LIB) -Wl,--end-group $(STATISTICAL_LIBS) $(TEST_LIBS) $(LDLIBS)

# Whole services in one thread; the linker puts its disk, clock, log and chance in the place of the system's.
SIMULATOR_OBJ := $(patsubst %,$(OUT)/%.o,$(wildcard tests/simulator/*.c) tests/unit/noninterference/chance.c)
SIMULATOR_OBJ += $(patsubst %,$(OUT)/tests/unit/api/%.c.o,fixture fixture_forms domain export_scene)
SIMULATOR_LIB := $(call unit_lib,server)
SIMULATOR_LIBS := $(patsubst %,-Wl$(comma)--wrap=%,getrandom nanosleep log_event database_heed db_driver_sqlite db_transact) $(QUICK_LIBS)

$(OUT)/test_simulator: $(SIMULATOR_OBJ) $(SIMULATOR_LIB) $(TEST_RUNNER)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $(SIMULATOR_OBJ) $(TEST_RUNNER) \
	  -Wl,--start-group $(SIMULATOR_LIB) -Wl,--end-group $(SIMULATOR_LIBS) $(TEST_LIBS) $(LDLIBS)

# Longer runs by hand: make simulate SEED=1 STEPS=10000000, on two cores (one seed alone: STEPS=1); and mistakes in the
# product that it has to find.
.PHONY: simulate simulate-mutants
simulate: $(OUT)/test_simulator
	@steps=$(or $(STEPS),1000000); seed=$(or $(SEED),1); if [ $$steps -gt 1 ]; then both=1000000; steps=$$((steps / 2)); fi; \
	for more in 0 $$both; do \
	  SEED=$$((seed + more)) STEPS=$$steps $< --filter 'simulator/nothing*' & lives="$$lives $$!"; \
	done; for life in $$lives; do wait $$life || code=1; done; exit $$code

simulate-mutants:
	@python3 tests/simulator/mutants.py

# Over a private PostgreSQL server on a Unix socket; HTTP="jobs replay" names other HTTP tests than a few.
.PHONY: test-postgres
test-postgres: $(OUT)/tacet $(OUT)/test_storage $(OUT)/test_http
	@scripts/install-deps test postgres
	@scripts/test-postgres $(OUT) $(HTTP)

# These two talk to a server process and link no room of ours.
HTTP_OBJ  := $(patsubst %,$(OUT)/%.o,$(wildcard tests/http/*.c))
# What the crash test borrows of the HTTP tests: the process and the client.
HTTP_KIT  := $(patsubst %,$(OUT)/tests/http/%.c.o,server_process http_client desk scene q_scene shards_scene)
CRASH_OBJ := $(patsubst %,$(OUT)/%.o,$(wildcard tests/crash/*.c))

$(OUT)/test_http: $(HTTP_OBJ) $(TEST_RUNNER) | $(OUT)/example_world
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $^ $(TEST_LIBS) -lcurl -ljansson -lcrypto -lz -lzstd -lm

$(OUT)/test_crash: $(CRASH_OBJ) $(HTTP_KIT) $(TEST_RUNNER)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $^ $(TEST_LIBS) -lcurl -ljansson -lm

# The machine is lost under 64 clients, and restored from a backup: DISASTERS=200 times.
.PHONY: disasters
disasters: $(OUT)/tacet $(OUT)/test_crash
	@DISASTERS=$(or $(DISASTERS),200) TACET=$(OUT)/tacet $(OUT)/test_crash --filter 'disaster/*'

# Every endpoint and every kind of job of a server whose system calls fail: the requests of test_faults over HTTP.
SYSTEM_OBJ := $(patsubst %,$(OUT)/%.o,$(wildcard tests/system/*.c) tests/unit/api/fixture_forms.c tests/unit/api/domain.c tests/unit/api/export_scene.c \
  tests/unit/faults/requests.c $(patsubst %,tests/unit/noninterference/%.c,ask chance kinds masks play spent transcript) \
  tests/http/server_process.c tests/http/http_client.c)

$(OUT)/test_system: $(SYSTEM_OBJ) $(call unit_lib,api) $(TEST_RUNNER)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $(SYSTEM_OBJ) $(TEST_RUNNER) \
	  -Wl,--start-group $(call unit_lib,api) -Wl,--end-group -Wl,--wrap=api_job_turn $(TEST_LIBS) $(LDLIBS)

# System calls that fail: loaded into a server as the failing disk is.
$(OUT)/failing_system.so: tests/failing_system.c tests/failing_system.h
	@mkdir -p $(@D)
	$(call say,CC ,$<)
	$(Q)$(CC) -std=c17 $(WARNINGS) -D_GNU_SOURCE -I. -O2 -g -fPIC -shared -pthread -o $@ $<

# A disk that fails: loaded into a server before its libraries, so no sanitizer has a part in it.
$(OUT)/failing_disk.so: tests/failing_disk.c
	@mkdir -p $(@D)
	$(call say,CC ,$<)
	$(Q)$(CC) -std=c17 $(WARNINGS) -D_GNU_SOURCE -O2 -g -fPIC -shared -pthread -o $@ $<

# The example of a world in C, which an HTTP test declares.
$(OUT)/example_world: examples/world.c
	@mkdir -p $(@D)
	$(call say,CC ,$<)
	$(Q)$(CC) -std=c17 $(WARNINGS) -O2 -o $@ $<

# Every price once more, by another accountant. It comes last, because it reads the ledgers that the others left.
$(OUT)/test_oracle: tests/tests.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec /usr/bin/python3 tests/oracle/test_oracle.py $(OUT)/tacet "$$KEPT_LEDGERS" %d\n' \
	  $(if $(filter asan tsan,$(VARIANT)),100,400) > $@
	@chmod +x $@

# The client in Python against a server process. The server is sanitized elsewhere.
$(OUT)/test_python: tests/tests.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec /usr/bin/python3 tests/python/run.py "$$@"\n' > $@
	@chmod +x $@

# All kept inputs of all fuzzers, and new ones for FUZZ_SECONDS each (fuzz/fuzz.mk).
$(OUT)/test_fuzz: tests/tests.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec nice -n 9 scripts/fuzz-run $(BUILD)/fuzz "$${FUZZ_SECONDS:-20}" 4\n' > $@
	@chmod +x $@

# Storage, HTTP and faults over a private PostgreSQL server.
$(OUT)/test_postgres: tests/tests.mk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec scripts/test-postgres $(OUT)\n' > $@
	@chmod +x $@

# Sanitizers stand in for the same functions of libc as test_system.
# No room that these link starts a thread, so ThreadSanitizer could find nothing in them, at thirty times their time.
ONE_THREAD := statistical noninterference faults simulator oracle
TEST_PROGRAMS := $(patsubst %,$(OUT)/test_%,$(filter-out $(if $(filter tsan,$(VARIANT)),$(ONE_THREAD)) $(if $(filter asan tsan,$(VARIANT)),system python),$(UNIT_TESTS) simulator statistical http crash system python oracle))
# They run beside the others.
BESIDE_PROGRAMS := $(if $(filter release,$(VARIANT)),$(OUT)/test_fuzz $(OUT)/test_postgres)

test-programs: $(TEST_PROGRAMS) $(BESIDE_PROGRAMS) $(OUT)/failing_disk.so $(OUT)/failing_system.so $(OUT)/tacet $(OUT)/tacet-import-hdf5

# What the compiler and the linker were asked for is there.
.PHONY: hardening
hardening: $(OUT)/tacet $(OUT)/tacet-import-hdf5
	@python3 scripts/check_hardening.py $(if $(filter release,$(VARIANT)),,--sanitized) $^

test-run: test-programs hardening
	@ledgers=$$(mktemp -d /tmp/tacet-ledgers-XXXXXX); \
	TACET=$(OUT)/tacet KEPT_LEDGERS=$$ledgers scripts/run-tests $(TEST_PROGRAMS) -- $(BESIDE_PROGRAMS); code=$$?; \
	rm -r $$ledgers; exit $$code

# What a bare machine lacks is installed first; make then starts anew, because it looks for libraries when it reads its files.
test:
	@scripts/install-deps build test fuzz postgres
	@python3 scripts/check_rooms.py rooms.txt .
	@python3 scripts/check_style.py
	@python3 tests/simulator/mutants.py --check
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) $(ALL_CORES) --no-print-directory test-run

test-sanitizers:
	@scripts/install-deps build test
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=asan test-run
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=tsan test-run
