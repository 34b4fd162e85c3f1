#!/bin/bash
# Answers about the mean of many networks over HTTP, durable: how fast, what they cost the server, and how long others
# wait meanwhile.
#
#   bench/bench_shards.sh BUILD-DIRECTORY         (make bench-shards does it)
#
# BENCH_SECONDS (5) a measurement, BENCH_SHARDS ("10 100 1000"), BENCH_HIDDEN (32), BENCH_EXPERTS (1000).
set -euo pipefail
bin=$1
seconds=${BENCH_SECONDS:-5}
shards=${BENCH_SHARDS:-10 100 1000}
hidden=${BENCH_HIDDEN:-32}
experts=${BENCH_EXPERTS:-1000}
work=$(mktemp -d -p "${BENCH_DIR:-/tmp}")
. bench/service.sh
trap 'end_server; rm -rf "$work"' EXIT

serve
open_people
export TOKEN=$student

# Walkers of ten steps: what they do does not matter here.
dataset=$(call "$steward" POST /v1/datasets -d "{\"name\":\"shards\",\"environment\":\"cartpole\",
    \"nominal_experts\":$experts,\"budget\":{\"epsilon\":1e6,\"delta\":1e-2}}" | jq -r .id)
awk -v n="$experts" 'BEGIN {
    for (e = 0; e < n; e++) {
        printf "{\"expert\":\"e%d\",\"states\":[[0,0,0,0]", e
        for (t = 1; t <= 10; t++) printf ",[%.3f,%.3f,0.01,-0.02]", t / 100, (e % 50) / 100
        printf "],\"actions\":[0,1,0,1,1,0,1,0,1,1],\"rewards\":[1,1,1,1,1,1,1,1,1,1],\"terminated\":true,\"truncated\":false}\n"
    }}' >"$work/walks.ndjson"
curl -sS --fail-with-body -X POST -H "Authorization: Bearer $steward" -H 'Content-Type: application/x-ndjson' \
    --data-binary @"$work/walks.ndjson" "$base/v1/datasets/$dataset/trajectories" >/dev/null
call "$steward" POST "/v1/datasets/$dataset:seal" -d '{}' >/dev/null

# Noise so large that the budget lasts for any number of answers: their time does not depend on it.
teacher_of() { # POLICY ADJACENCY
    call "$steward" POST /v1/teachers -d "{\"policy\":\"$1\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":100},
        \"adjacency\":$2,\"budget\":{\"epsilon\":9e5,\"delta\":1e-5},\"client_budget\":{\"epsilon\":9e5,\"delta\":1e-5}}" | jq -r .id
}
ensemble_of() { # SHARDS
    local job policy=null
    job=$(call "$steward" POST /v1/jobs -H "Idempotency-Key: shards-$1" -d "{\"algorithm\":\"behaviour_cloning\",
        \"dataset\":\"$dataset\",\"shards\":$1,\"parameters\":{\"hidden\":[$hidden],\"batch_size\":8,\"steps\":20}}" | jq -r .id)
    while [ "$policy" = null ]; do
        sleep 0.2
        policy=$(call "$steward" GET "/v1/jobs/$job" | jq -r .policy)
    done
    teacher_of "$policy" '{"unit":"expert"}'
}
single=$(teacher_of "$(import_policy)" '{"unit":"observation","radius":1e-6}')

ticks() { awk '{print $14 + $15}' "/proc/$server/stat"; }
ask() { wrk -t1 -c"$2" -d"${seconds}s" -s bench/query.lua "$base/v1/teachers/$1/queries" | awk '/^RESULT/ {print $2, $3, $4, $5}'; }
row() { # NAME TEACHER CONNECTIONS
    local before after rate p50 p99 errors
    before=$(ticks)
    read -r rate p50 p99 errors < <(ask "$2" "$3")
    after=$(ticks)
    printf '%-44s %9s %8s %8s %10s' "$1, $3 connections" "$rate" "$p50" "$p99" \
        "$(awk -v n="$rate" -v s="$seconds" -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" 'BEGIN{printf "%.1f", 1e6 * t / hz / (n * s)}')"
    [ "$errors" = 0 ] && echo || echo ", $errors ERRORS"
}
printf '%-44s %9s %8s %8s %10s\n' "durable answers, wrk on the same cores" "answers/s" "p50 ms" "p99 ms" "server us"
row "one network 4-64-64-2" "$single" 1
row "one network 4-64-64-2" "$single" 16
declare -A teachers
for m in $shards; do
    teachers[$m]=$(ensemble_of "$m")
    row "$m networks 4-$hidden-2" "${teachers[$m]}" 1
    row "$m networks 4-$hidden-2" "${teachers[$m]}" 16
done
for m in $shards; do
    SALT=77 ask "${teachers[$m]}" 8 >"$work/beside" &
    beside=$!
    row "one network, beside 8 that ask $m" "$single" 4
    wait "$beside"
done
echo "the server used $(awk '/VmHWM/ {printf "%.0f", $2 / 1024}' "/proc/$server/status") MiB at most"
