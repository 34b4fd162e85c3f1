#!/bin/bash
# What a large ledger does to a query: the same measurement on a store without history and on one with
# BENCH_ACCOUNTS (100000) accounts and BENCH_ENTRIES (10000000) entries, and a stored answer for every tenth charge.
#
#   bench/bench_ledger.sh BUILD-DIRECTORY          (make bench-ledger does it)
#
# BENCH_SECONDS (5) a measurement, BENCH_DIR (/tmp): 3 GB are needed there for a while. CPU time is the server's own; it
# says more than the rate where cores and disk are shared.
set -euo pipefail
bin=$1
seconds=${BENCH_SECONDS:-5}
work=$(mktemp -d -p "${BENCH_DIR:-/tmp}")
. bench/service.sh
trap 'end_server; rm -rf "$work"' EXIT

ticks() { awk '{sub(/.*\) /, ""); print $12 + $13}' "/proc/$server/stat"; }

measure() { # NAME
    local rate p50 p99 errors before after
    for connections in 1 64; do
        TOKEN=$student wrk -t1 -c$connections -d1s -s bench/query.lua "$base/v1/teachers/$teacher/queries" >/dev/null
        before=$(ticks)
        read -r rate p50 p99 errors < <(TOKEN=$student wrk -t1 -c$connections -d"${seconds}s" -s bench/query.lua \
            "$base/v1/teachers/$teacher/queries" | awk '/^RESULT/ {print $2, $3, $4, $5}')
        after=$(ticks)
        awk -v n="$1, $connections connections" -v r="$rate" -v p="$p50" -v q="$p99" -v s="$seconds" \
            -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v e="$errors" 'BEGIN{
            printf "%-34s %9s/s  p50 %6s ms  p99 %7s ms  server %5.1f us of CPU a query%s\n", n, r, p, q,
                   t / hz * 1e6 / (r * s), e == 0 ? "" : ", " e " ERRORS"}'
    done
}

serve
open_people
open_teacher
measure "a new ledger"
end_server
"$bin/fill_ledger" "$work/data" "$teacher" "${BENCH_ACCOUNTS:-100000}" "${BENCH_ENTRIES:-10000000}"
du -h "$work/data/tacet.db" | awk '{print "the database has " $1}'
begun=$(date +%s%N)
serve
awk -v b="$begun" -v e="$(date +%s%N)" 'BEGIN{printf "opened in %.1f s:", (e - b) / 1e9}'
grep -o 'entries=[0-9]* ms=[0-9]*' "$work/log" | awk '{print " the whole ledger was verified,", $1 ",", $2}'
measure "the large ledger"
