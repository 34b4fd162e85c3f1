# make bench: speed beside this machine's own limits. A file bench/bench_<x>.c is a program that links all rooms and prints a table.
BENCH_OUT     := $(BUILD)/release
BENCH_SOURCES := $(wildcard bench/bench_*.c)
BENCH_ROOMS   := $(foreach r,$(ROOMS),$(if $(call room_src,$(r)),$(BENCH_OUT)/lib$(subst /,-,$(r)).a))
BENCH_PROGRAMS := $(patsubst bench/%.c,$(BENCH_OUT)/%,$(BENCH_SOURCES))

$(BENCH_OUT)/bench_%: $(BENCH_OUT)/bench/bench_%.c.o $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $< -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

# Beside the path from its key, the same path from a table.
$(BENCH_OUT)/bench_privacy: $(BENCH_OUT)/bench/bench_privacy.c.o $(BENCH_OUT)/bench/gp/gaussian_path_table.c.o $(BENCH_OUT)/bench/gp/gaussian_bridge.c.o $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

$(BENCH_OUT)/bare_mhd $(BENCH_OUT)/bare_sync: $(BENCH_OUT)/bare_%: $(BENCH_OUT)/bench/bare_%.c.o
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $< -lmicrohttpd

$(BENCH_OUT)/ndjson $(BENCH_OUT)/delayed_socket: $(BENCH_OUT)/%: $(BENCH_OUT)/bench/%.c.o
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $<

# The law of the rounded Gaussian at a billion draws; a minute.
$(BENCH_OUT)/rounded_gaussian_law: $(BENCH_OUT)/bench/rounded_gaussian_law.c.o $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $< -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

.PHONY: test-law
test-law:
	@scripts/install-deps build bench
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/rounded_gaussian_law
	@$(BENCH_OUT)/rounded_gaussian_law

# A query on a ledger of 100,000 accounts and 10 million entries beside one on a new ledger; minutes, and 3 GB of disk.
$(BENCH_OUT)/fill_ledger: $(BENCH_OUT)/bench/fill_ledger.c.o $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $< -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

.PHONY: bench-ledger
bench-ledger:
	@scripts/install-deps build bench
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/fill_ledger $(BENCH_OUT)/tacet
	@bench/bench_ledger.sh $(BENCH_OUT)

# Answers about the mean of up to a thousand networks over HTTP, and how long others wait meanwhile; a minute.
.PHONY: bench-shards
bench-shards:
	@scripts/install-deps build bench
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/tacet $(BENCH_OUT)/bench_ensemble
	@$(BENCH_OUT)/bench_ensemble
	@bench/bench_shards.sh $(BENCH_OUT)

# What the times of answers, uploads and jobs tell of neighbours; minutes on a machine that does nothing else.
.PHONY: time-leaks
time-leaks:
	@scripts/install-deps build test
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/tacet
	@/usr/bin/python3 bench/time_leaks.py $(BENCH_OUT)

# What a server holds and takes while a job clones thousands of experts; then 100 million transitions in memory and in files. Some
# twenty minutes, 4 GB of memory and of disk.
.PHONY: bench-memory
bench-memory:
	@scripts/install-deps build bench
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/tacet $(BENCH_OUT)/bench_columns
	@bench/bench_memory.sh $(BENCH_OUT)
	@$(BENCH_OUT)/bench_columns

# Learning curves of PPO in all worlds; minutes of CPU time.
$(BENCH_OUT)/curves: $(BENCH_OUT)/bench/curves.c.o $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $< -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

CURVES ?= cartpole acrobot hiv lunar_lander
.PHONY: curves
curves: libraries
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/curves
	@for world in $(CURVES); do $(BENCH_OUT)/curves $$world || exit 1; echo; done

# Plots and statistics that the reproductions share.
PLOT_OBJECTS := $(patsubst %,$(BENCH_OUT)/%.o,$(wildcard bench/plot/*.c))

# Expert-level private offline learning beside published figures: docs/results/offline.md. Resumable; hours with the defaults.
OFFLINE_OBJECTS := $(patsubst %,$(BENCH_OUT)/%.o,$(wildcard bench/offline/*.c)) $(PLOT_OBJECTS)
$(BENCH_OUT)/reproduce_offline: $(OFFLINE_OBJECTS) $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $(OFFLINE_OBJECTS) -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

OFFLINE         ?=
OFFLINE_EXPERTS ?= 3000
OFFLINE_RUN      = $(BENCH_OUT)/reproduce_offline
.PHONY: reproduce-offline
reproduce-offline: libraries
	@scripts/install-deps plot
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/reproduce_offline
	@mkdir -p $(BUILD)/experts docs/results
	@$(OFFLINE_RUN) --experts $(OFFLINE_EXPERTS) --cache $(BUILD)/experts --results docs/results/offline.tsv $(OFFLINE)
	@$(OFFLINE_RUN) --results docs/results/offline.tsv --report docs/results

# What the advisor's candidates are worth, from few experts to many: docs/results/advice.md. Resumable; hours of CPU time.
ADVISE_OBJECTS := $(patsubst %,$(BENCH_OUT)/%.o,$(wildcard bench/advise/*.c) bench/offline/population.c bench/offline/import.c) $(PLOT_OBJECTS)
$(BENCH_OUT)/advise: $(ADVISE_OBJECTS) $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $(ADVISE_OBJECTS) -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

ADVISE         ?=
ADVISE_TABLE    = $(BENCH_OUT)/advise --results docs/results/advice.tsv
ADVISE_JUDGED   = $(BENCH_OUT)/advise --results docs/results/advice-judged.tsv
.PHONY: advise-table
advise-table: libraries
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/advise
	@mkdir -p $(BUILD)/experts docs/results
	@$(ADVISE_TABLE) --cache $(BUILD)/experts $(ADVISE)
	@$(ADVISE_JUDGED) --cache $(BUILD)/experts --population 2 --first-seed 11 --epsilons 1,3,8,0 $(ADVISE)
	@$(ADVISE_TABLE) --beside docs/results/advice-judged.tsv --table algos/advice/runs.c
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/advise
	@$(ADVISE_JUDGED) --beside docs/results/advice.tsv --report docs/results/advice-tables.md

# The ward without a simulator: what its clinicians earn, what is learned without privacy, and the advisor's candidates.
ADVISE_WARD = $(BENCH_OUT)/advise --results docs/results/ward.tsv
.PHONY: ward-table
ward-table: libraries
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/advise
	@mkdir -p $(BUILD)/experts docs/results
	@$(ADVISE_WARD) --cache $(BUILD)/experts --environments ward --experts 120,600 --epsilons 3,0 --seeds 5 \
	  --episodes 1000 --only behaviour,none,dpsgd,linear,grid $(ADVISE)
	@$(ADVISE_WARD) --compare docs/results/ward-table.md

# Q-learning with functional noise, its baselines and the service's releases, claims beside truth: docs/results/gp.md.
# Resumable; four minutes of CPU time.
GP_OBJECTS := $(patsubst %,$(BENCH_OUT)/%.o,$(wildcard bench/gp/*.c)) $(PLOT_OBJECTS)
$(BENCH_OUT)/reproduce_gp: $(GP_OBJECTS) $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $(GP_OBJECTS) -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

GP_SEEDS ?= 10
.PHONY: reproduce-gp
reproduce-gp: libraries
	@scripts/install-deps plot
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/reproduce_gp
	@mkdir -p docs/results
	@$(BENCH_OUT)/reproduce_gp --results docs/results/gp.tsv --seeds $(GP_SEEDS)
	@$(BENCH_OUT)/reproduce_gp --results docs/results/gp.tsv --report docs/results
# Students with and without a teacher's private help beside published figures: docs/results/kickstart.md. Resumable.
KICKSTART_OBJECTS := $(patsubst %,$(BENCH_OUT)/%.o,$(wildcard bench/kickstart/*.c) bench/offline/population.c bench/offline/import.c) $(PLOT_OBJECTS)
$(BENCH_OUT)/reproduce_kickstart: $(KICKSTART_OBJECTS) $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $(KICKSTART_OBJECTS) -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

# With the kernels that every processor of this build has: others add in another order, which gives other networks.
KICKSTART    ?=
KICKSTART_RUN = OPENBLAS_CORETYPE=Haswell $(BENCH_OUT)/reproduce_kickstart
.PHONY: reproduce-kickstart
reproduce-kickstart: libraries
	@scripts/install-deps plot
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/reproduce_kickstart
	@mkdir -p $(BUILD)/kickstart docs/results
	@$(KICKSTART_RUN) --cache $(BUILD)/kickstart --results docs/results/kickstart.tsv $(KICKSTART)
	@$(KICKSTART_RUN) --results docs/results/kickstart.tsv --report docs/results

# Local and on-line privacy beside published figures: docs/results/collection.md, online.md. Resumable; 25 minutes of CPU time.
LOCAL_OBJECTS := $(patsubst %,$(BENCH_OUT)/%.o,$(wildcard bench/local/*.c)) $(PLOT_OBJECTS)
$(BENCH_OUT)/reproduce_local: $(LOCAL_OBJECTS) $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $(LOCAL_OBJECTS) -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

LOCAL     ?=
LOCAL_RUN  = $(BENCH_OUT)/reproduce_local --results docs/results/local.tsv
.PHONY: reproduce-local
reproduce-local: libraries
	@scripts/install-deps plot
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/reproduce_local
	@$(LOCAL_RUN) --experiments collection $(LOCAL)
	@$(LOCAL_RUN) --experiments central,local --seeds 5
	@$(LOCAL_RUN) --report docs/results
# Teachers of shards: how good against how many shards, and what an answer costs. docs/results/ensemble.md; minutes of CPU time.
$(BENCH_OUT)/ensemble: $(BENCH_OUT)/bench/ensemble/ensemble.c.o $(BENCH_OUT)/bench/offline/population.c.o $(BENCH_OUT)/bench/offline/import.c.o $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

ENSEMBLE ?= cartpole
.PHONY: ensemble
ensemble: libraries
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/ensemble
	@mkdir -p $(BUILD)/experts
	@for world in $(ENSEMBLE); do $(BENCH_OUT)/ensemble $$world $(BUILD)/experts || exit 1; done

# How often the judge's intervals hold the truth, and what it supports: docs/results/judge.md. Ten minutes of CPU time.
JUDGE_OBJECTS := $(patsubst %,$(BENCH_OUT)/%.o,$(wildcard bench/judge/*.c))
JUDGE_ROOMS   := $(filter-out %libstorage.a %libapi.a %libserver.a %libcli.a,$(BENCH_ROOMS))
$(BENCH_OUT)/judge_table: $(JUDGE_OBJECTS) $(JUDGE_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $(JUDGE_OBJECTS) -Wl,--start-group $(JUDGE_ROOMS) -Wl,--end-group $(LDLIBS)

.PHONY: judge-table
judge-table: libraries
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/judge_table
	@for run in "ward 2" "ward 3" "fund 11" "factory 11"; do $(BENCH_OUT)/judge_table $$run || exit 1; done > docs/results/judge.tsv
	@$(BENCH_OUT)/judge_table --report < docs/results/judge.tsv > docs/results/judge-tables.md

# How many jobs an account pays for: when epsilons are added, when divergences are, and of a plan fixed in advance.
# docs/results/budgets.md; minutes of CPU time.
BUDGETS_OBJECTS := $(patsubst %,$(BENCH_OUT)/%.o,$(wildcard bench/budgets/*.c)) $(PLOT_OBJECTS)
$(BENCH_OUT)/reproduce_budgets: $(BUDGETS_OBJECTS) $(BENCH_ROOMS)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LINK_FOR_TESTS) $(LDFLAGS) -o $@ $(BUDGETS_OBJECTS) -Wl,--start-group $(BENCH_ROOMS) -Wl,--end-group $(LDLIBS)

BUDGETS ?= 1000
.PHONY: reproduce-budgets
reproduce-budgets: libraries
	@scripts/install-deps plot
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BENCH_OUT)/reproduce_budgets
	@mkdir -p docs/results
	@$(BENCH_OUT)/reproduce_budgets docs/results $(BUDGETS)

.PHONY: bench-programs
bench-programs: $(BENCH_PROGRAMS) $(BENCH_OUT)/bare_mhd $(BENCH_OUT)/bare_sync $(BENCH_OUT)/ndjson $(BENCH_OUT)/tacet

bench:
	@scripts/install-deps build bench
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release bench-programs
	@for program in $(filter-out %/bench_columns,$(BENCH_PROGRAMS)); do echo; $$program || exit 1; done
	@echo; bench/bench_http.sh $(BENCH_OUT)

# The tables and plots of docs/results from the committed runs; nothing is run. With check-results the tables are only compared.
REPORTS    := offline kickstart gp local
REPORT_ALL  = for report in $(REPORTS); do \
  $(BENCH_OUT)/reproduce_$$report --results docs/results/$$report.tsv --report $(1) || exit 1; done
.PHONY: report-programs reports check-results plots
report-programs: libraries
	@scripts/install-deps plot
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(REPORTS:%=$(BENCH_OUT)/reproduce_%)

reports: report-programs
	@$(call REPORT_ALL,docs/results)

check-results: report-programs
	@rm -rf $(BUILD)/results && mkdir -p $(BUILD)/results
	@$(call REPORT_ALL,$(BUILD)/results)
	@python3 scripts/check_results.py $(BUILD)/results

# Every plot of the documentation as PDF, for print.
plots:
	@scripts/install-deps plot
	@rm -rf $(BUILD)/plots && mkdir -p $(BUILD)/plots
	@for plot in docs/*.svg docs/results/*.svg; do \
	  rsvg-convert --format pdf --output $(BUILD)/plots/$$(basename $$plot .svg).pdf $$plot || exit 1; done
	@echo $(BUILD)/plots
