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
server=
stop() {
    [ -z "$server" ] || { kill -TERM "$server" && wait "$server"; } 2>/dev/null || true
    server=
}
trap 'stop; rm -rf "$work"' EXIT

start() {
    rm -f "$work/port"
    "$bin/tacet" serve --data "$work/data" --listen 127.0.0.1:0 --port-file "$work/port" >/dev/null 2>"$work/log" &
    server=$!
    for _ in $(seq 6000); do [ -s "$work/port" ] && break; sleep 0.1; done
    [ -s "$work/port" ] || { cat "$work/log" >&2; exit 1; }
    base=http://127.0.0.1:$(cat "$work/port")
}

call() { # TOKEN METHOD PATH [curl arguments]
    local token=$1 method=$2 path=$3; shift 3
    curl -sS --fail-with-body -X "$method" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@" \
        "$base$path"
}

ticks() { awk '{sub(/.*\) /, ""); print $12 + $13}' "/proc/$server/stat"; }

measure() { # NAME
    local rate p50 p99 errors before after
    for connections in 1 64; do
        TOKEN=$token wrk -t1 -c$connections -d1s -s bench/query.lua "$base/v1/teachers/$teacher/queries" >/dev/null
        before=$(ticks)
        read -r rate p50 p99 errors < <(TOKEN=$token wrk -t1 -c$connections -d"${seconds}s" -s bench/query.lua \
            "$base/v1/teachers/$teacher/queries" | awk '/^RESULT/ {print $2, $3, $4, $5}')
        after=$(ticks)
        awk -v n="$1, $connections connections" -v r="$rate" -v p="$p50" -v q="$p99" -v s="$seconds" \
            -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v e="$errors" 'BEGIN{
            printf "%-34s %9s/s  p50 %6s ms  p99 %7s ms  server %5.1f us of CPU a query%s\n", n, r, p, q,
                   t / hz * 1e6 / (r * s), e == 0 ? "" : ", " e " ERRORS"}'
    done
}

start
admin=$("$bin/tacet" client create --data "$work/data" --role admin --name bench)
person() { call "$admin" POST /v1/clients -d "{\"name\":\"$1\",\"role\":\"$1\"}" | jq -r .token; }
steward=$(person steward)
token=$(person student)
network=$(jq -n '
    def w(i; o): [range(o) as $r | [range(i) as $c | ((($r * 31 + $c * 17) % 23) - 11) / 200]];
    def layer(i; o): {weight: w(i; o), bias: [range(o) | 0]};
    {name: "bench", environment: "cartpole",
     network: {activation: "relu", output: "softmax", layers: [layer(4; 64), layer(64; 64), layer(64; 2)]}}')
policy=$(call "$steward" POST /v1/policies -d "$network" | jq -r .id)
teacher=$(call "$steward" POST /v1/teachers -d "{\"policy\":\"$policy\",
    \"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,\"min_probability\":0.1},
    \"adjacency\":{\"unit\":\"observation\",\"radius\":1e-6},\"accounting\":\"renyi\",
    \"budget\":{\"epsilon\":1e6,\"delta\":1e-5},\"client_budget\":{\"epsilon\":1e6,\"delta\":1e-5}}" | jq -r .id)
measure "a new ledger"
stop
"$bin/fill_ledger" "$work/data/tacet.db" "$teacher" "${BENCH_ACCOUNTS:-100000}" "${BENCH_ENTRIES:-10000000}"
du -h "$work/data/tacet.db" | awk '{print "the database has " $1}'
begun=$(date +%s%N)
start
awk -v b="$begun" -v e="$(date +%s%N)" 'BEGIN{printf "opened in %.1f s:", (e - b) / 1e9}'
grep -o 'entries=[0-9]* ms=[0-9]*' "$work/log" | awk '{print " the whole ledger was verified,", $1 ",", $2}'
measure "the large ledger"
