#!/bin/bash
# Durable teacher queries beside a bare reply of the web library, and beside one that waits for a group sync and does
# nothing else (the limit of any such service on this disk); and uploads. All in one run on this machine: cores that
# others use make all of it slower, so compare rows, not days.
#
#   bench/bench_http.sh BUILD-DIRECTORY          (make bench does it)
#
# BENCH_ROUNDS (5) of BENCH_SECONDS (3) a measurement, BENCH_UPLOAD_MB (500). Where the kernel takes that wish no
# processor sleeps during the run, whatever is measured;
# BENCH_AWAKE=off: as the machine is.
set -euo pipefail
bin=$1
rounds=${BENCH_ROUNDS:-5}
seconds=${BENCH_SECONDS:-3}
upload_mb=${BENCH_UPLOAD_MB:-500}
work=$(mktemp -d -p "${BENCH_DIR:-/tmp}")
bare=()
. bench/service.sh
stop() {
    end_server
    kill "${bare[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT

awake=off
if [ "${BENCH_AWAKE:-on}" = on ] && [ -c /dev/cpu_dma_latency ] && { : >/dev/cpu_dma_latency; } 2>/dev/null; then
    exec 8>/dev/cpu_dma_latency
    printf '\0\0\0\0' >&8 # a 32-bit number: no microsecond of waking up
    awake=on
fi
mkfifo "$work/bare.in"
"$bin/bare_mhd" <"$work/bare.in" >"$work/bare.port" &
bare=($!)
"$bin/bare_sync" "$work/synced" <"$work/bare.in" >"$work/sync.port" &
bare+=($!)
exec 9>"$work/bare.in"
serve
for _ in $(seq 100); do [ -s "$work/bare.port" ] && [ -s "$work/sync.port" ] && break; sleep 0.1; done
open_people
open_teacher
export TOKEN=$student

measure() { # CONNECTIONS URL
    wrk -t1 -c"$1" -d"${seconds}s" -s bench/query.lua "$2" | awk '/^RESULT/ {print $2, $3, $4, $5}'
}
median() { sort -n | awk '{value[NR] = $1} END {print value[int((NR + 1) / 2)]}'; }

# compare CONNECTIONS: the bare reply, the one behind a sync and the query in turn, so that a minute in which the machine
# is slow is slow for all three; medians of the rounds, and of their shares the lowest and the highest, too.
compare() {
    local -A url=([bare]="http://127.0.0.1:$(cat "$work/bare.port")/" [sync]="http://127.0.0.1:$(cat "$work/sync.port")/"
        [query]="$base/v1/teachers/$teacher/queries")
    local -A title=([bare]="bare libmicrohttpd reply" [sync]="the same behind a sync" [query]="durable teacher query")
    local name round
    rm -f "$work"/*.rounds
    for round in $(seq "$rounds"); do
        for name in bare sync query; do measure "$1" "${url[$name]}" >>"$work/$name.rounds"; done
    done
    for name in bare sync query; do
        printf '%-42s %11s %9s %9s' "${title[$name]}, $1 connections" "$(awk '{print $1}' "$work/$name.rounds" | median)" \
            "$(awk '{print $2}' "$work/$name.rounds" | median)" "$(awk '{print $3}' "$work/$name.rounds" | median)"
        [ $name = bare ] || paste "$work/bare.rounds" "$work/$name.rounds" | awk '{print $5 / $1}' | sort -n |
            awk '{share[NR] = $1} END {printf "   %.2f of bare (%.2f to %.2f)", share[int((NR + 1) / 2)], share[1], share[NR]}'
        awk '{errors += $4} END {print (errors > 0 ? ", " errors " ERRORS" : "")}' "$work/$name.rounds"
    done
}
echo "processors kept awake: $awake"
printf '%-42s %11s %9s %9s\n' "HTTP, wrk on the same cores, $rounds rounds" "requests/s" "p50 ms" "p99 ms"
for connections in 1 16 64; do compare $connections; done

# A released Q-function of one coordinate, two actions, whose path has 2^20 steps; learned in a moment from next to nothing.
dataset=$(call "$steward" POST /v1/datasets -d '{"name":"line","state_dim":1,"action_count":2,"max_episode_steps":2,
    "discount":0.9,"budget":{"epsilon":3,"delta":1e-4}}' | jq -r .id)
for e in $(seq 20); do
    echo "{\"expert\":\"e$e\",\"states\":[[0.1],[0.3],[0.5]],\"actions\":[0,1],\"rewards\":[1,2],\"terminated\":true,\"truncated\":false}"
done >"$work/line.ndjson"
curl -sS --fail-with-body -X POST -H "Authorization: Bearer $steward" -H 'Content-Type: application/x-ndjson' \
    --data-binary @"$work/line.ndjson" "$base/v1/datasets/$dataset/trajectories" >/dev/null
call "$steward" POST "/v1/datasets/$dataset:seal" -d '{}' >/dev/null
job=$(call "$steward" POST /v1/jobs -H 'Idempotency-Key: line' -d "{\"algorithm\":\"gp_q_learning\",\"dataset\":\"$dataset\",
    \"privacy\":{\"epsilon\":2,\"delta\":1e-5},\"parameters\":{\"shards\":100,\"steps\":5,\"hidden\":[4]}}" | jq -r .id)
for _ in $(seq 300); do
    release=$(call "$steward" GET "/v1/jobs/$job" | jq -r .q_release)
    [ "$release" = null ] || break
    sleep 0.2
done
measure_q() { wrk -t1 -c"$1" -d"${seconds}s" -s bench/q_query.lua "$2" | awk '/^RESULT/ {print $2, $3, $4, $5}'; }
for connections in 1 64; do
    read -r bare_rate p50 p99 errors < <(measure_q $connections "http://127.0.0.1:$(cat "$work/bare.port")/")
    read -r rate p50 p99 errors < <(measure_q $connections "$base/v1/q-releases/$release/queries")
    printf '%-42s %11s %9s %9s   %s of bare' "Q-release, one state, $connections connections" "$rate" "$p50" "$p99" \
        "$(awk -v a="$rate" -v b="$bare_rate" 'BEGIN{printf "%.2f", a / b}')"
    [ "$errors" = 0 ] && echo || echo ", $errors ERRORS"
done
read -r rate p50 p99 errors < <(STATES=1000 measure_q 1 "$base/v1/q-releases/$release/queries")
printf '%-42s %11s %9s %9s' "Q-release, 1000 states, 1 connection" "$rate" "$p50" "$p99"
[ "$errors" = 0 ] && echo || echo ", $errors ERRORS"

# Reports of 112 numbers by 200 agents, a point of the sphere as privunit sends it; 100 to an update.
aggregation=$(call "$steward" POST /v1/aggregations \
    -d '{"environment":"cartpole","epsilon":5000,"submissions_per_agent":1000,"buffer":100}' | jq -r .id)
TOKENS=$(for _ in $(seq 200); do person agent; done)
REPORT=$({ printf '\200\200\010'; head -c 112 /dev/zero; } | base64 -w0)
export TOKENS REPORT
ticks() { awk '{print $14 + $15}' "/proc/$server/stat"; }
before=$(ticks)
read -r rate p50 p99 errors < <(wrk -t1 -c64 -d"${seconds}s" -s bench/reports.lua \
    "$base/v1/aggregations/$aggregation/submissions" | awk '/^RESULT/ {print $2, $3, $4, $5}')
after=$(ticks)
reports=$(call "$steward" GET "/v1/aggregations/$aggregation" | jq .reports)
printf '%-42s %11s %9s %9s   %s for each CPU second of the server' "durable report of 112, 64 connections" "$rate" "$p50" "$p99" \
    "$(awk -v n="$reports" -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" 'BEGIN{printf "%.0f", n * hz / (t > 0 ? t : 1)}')"
[ "$errors" = 0 ] && echo || echo ", $errors ERRORS"

echo
dataset=$(call "$steward" POST /v1/datasets -d '{"name":"bench","environment":"cartpole","budget":{"epsilon":1,"delta":1e-5}}' | jq -r .id)
"$bin/ndjson" "$upload_mb" >"$work/upload.ndjson"
memory() { awk -v of="$1" '$1 == of {printf "%.0f", $2 / 1024}' "/proc/$server/status"; } # MB
before=$(memory VmRSS:)
span='during it'
{ echo 5 >"/proc/$server/clear_refs"; } 2>/dev/null || span='since it started' # 5: its peak begins anew
result=$(curl -sS -X POST -H "Authorization: Bearer $steward" -H 'Content-Type: application/x-ndjson' -T "$work/upload.ndjson" \
    -o "$work/answer" -w '%{http_code} %{speed_upload}' "$base/v1/datasets/$dataset/trajectories")
awk -v r="$result" -v m="$upload_mb" -v b="$before" -v h="$(memory VmHWM:)" -v s="$span" 'BEGIN{split(r, a, " ");
    printf "upload of %d MB NDJSON: status %s, %.0f MB/s; the server held %s MB before it and %s at most %s\n",
        m, a[1], a[2] / 1e6, b, h, s}'
[ "${result%% *}" = 201 ] || { cat "$work/answer"; exit 1; }
