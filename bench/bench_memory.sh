#!/bin/bash
# What a server holds, and how long it takes, when a job asks thousands of experts who uploaded no network: every one
# is cloned in the job. A selective one, so stable prefixes of their play come first and DP-SGD second.
#
#   bench/bench_memory.sh BUILD-DIRECTORY         (make bench-memory does it)
#
# BENCH_EXPERTS (3000; of a few hundred no prefix could be released), BENCH_TRAJECTORIES (20) of each, in CartPole, of
# at most 200 steps. BENCH_WHOLE=1 deals out trajectories of 200 steps alone, so that all experts have as many
# transitions as can be. BENCH_WIDTH=256 uploads a network of two hidden layers of that width for each of them instead
# of letting it be cloned. BENCH_DIR (/tmp) has to have room for the file and the database: 2 GB, with networks 4.
set -euo pipefail
bin=$1
experts=${BENCH_EXPERTS:-3000}
trajectories=${BENCH_TRAJECTORIES:-20}
width=${BENCH_WIDTH:-0}
work=$(mktemp -d -p "${BENCH_DIR:-/tmp}")
. bench/service.sh
trap 'end_server; rm -rf "$work"' EXIT

ticks() { awk '{sub(/.*\) /, ""); print $12 + $13}' "/proc/$server/stat"; }
peak() { awk '/VmHWM/ {printf "%.0f", $2 / 1024}' "/proc/$server/status"; }
tell() { # WHAT TICKS-BEFORE NANOSECONDS-BEFORE
    awk -v w="$1" -v t=$(($(ticks) - $2)) -v hz="$(getconf CLK_TCK)" -v n=$(($(date +%s%N) - $3)) -v m="$(peak)" \
        'BEGIN {printf "%-32s %8.1f s, server %7.1f s of CPU, %5d MiB at most so far\n", w, n / 1e9, t / hz, m}'
}

# The trajectories that lasted to the end, over and over, under new names.
deal_out() {
    awk -v n="$experts" -v k="$trajectories" '
        /"truncated":true/ {sub(/^\{"expert":"[^"]*",/, ""); line[count++] = $0}
        END {
            if (count == 0) exit 1
            for (i = 0; i < n * k; i++) printf "{\"expert\":\"e%06d\",%s\n", i / k, line[i % count]
        }'
}

make_experts() { # HOW-MANY; standard output: theirs
    "$bin/tacet" experts --environment cartpole --experts "$1" --trajectories "$trajectories" 2>"$work/said" ||
        { cat "$work/said" >&2; exit 1; }
}
write_trajectories() {
    if [ "${BENCH_WHOLE:-0}" = 1 ]; then
        make_experts 300 | deal_out
    else
        make_experts "$experts"
    fi >"$work/trajectories.ndjson"
}

# The same network for everybody: what it plays does not matter here.
write_network() {
    awk -v w="$width" '
        function layer(into, out, r, c) {
            printf "{\"weight\":["
            for (r = 0; r < out; r++) {
                printf "%s[", r ? "," : ""
                for (c = 0; c < into; c++) printf "%s%g", c ? "," : "", ((r * 31 + c * 17) % 23 - 11) / 200
                printf "]"
            }
            printf "],\"bias\":["
            for (r = 0; r < out; r++) printf "%s0", r ? "," : ""
            printf "]}"
        }
        BEGIN {
            printf "{\"activation\":\"relu\",\"output\":\"softmax\",\"layers\":["
            layer(4, w); printf ","; layer(w, w); printf ","; layer(w, 2)
            printf "]}"
        }' >"$work/network.json"
}

put_networks() {
    for ((e = 0; e < experts; e++)); do
        [ "$e" = 0 ] || echo next
        printf 'url = "%s/v1/datasets/%s/experts/e%06d/policy"\nupload-file = "%s"\nfail\nsilent\nshow-error\n' \
            "$base" "$dataset" "$e" "$work/network.json"
        printf 'header = "Authorization: Bearer %s"\nheader = "Content-Type: application/json"\n' "$steward"
    done | curl -K -
}

write_trajectories
serve
open_people
dataset=$(call "$steward" POST /v1/datasets -d "{\"name\":\"memory\",\"environment\":\"cartpole\",
    \"nominal_experts\":$experts,\"min_action_probability\":0.02,\"budget\":{\"epsilon\":10,\"delta\":1e-3}}" | jq -r .id)
tell "started" 0 "$(date +%s%N)"

before=$(ticks) begun=$(date +%s%N)
curl -sS --fail-with-body -X POST -T "$work/trajectories.ndjson" -H "Authorization: Bearer $steward" \
    -H 'Content-Type: application/x-ndjson' "$base/v1/datasets/$dataset/trajectories" |
    jq -r '"\(.experts) experts, \(.trajectories) trajectories, \(.transitions) transitions"'
rm "$work/trajectories.ndjson"
tell "uploaded" "$before" "$begun"
if [ "$width" != 0 ]; then
    before=$(ticks) begun=$(date +%s%N)
    write_network
    put_networks
    tell "networks of $width x $width uploaded" "$before" "$begun"
fi
call "$steward" POST "/v1/datasets/$dataset:seal" -d '{}' >/dev/null

before=$(ticks) begun=$(date +%s%N)
reply=$(call "$steward" POST /v1/jobs -H 'Idempotency-Key: memory' -d "{\"algorithm\":\"cql\",
    \"mechanism\":\"selective_dpsgd\",\"dataset\":\"$dataset\",\"privacy\":{\"epsilon\":10,\"delta\":3e-4}}") ||
    { echo "$reply" >&2; exit 1; }
job=$(jq -r .id <<<"$reply")
state=queued
while [ "$state" = queued ] || [ "$state" = running ]; do
    sleep 2
    state=$(call "$steward" GET "/v1/jobs/$job" | jq -r .state)
done
tell "selective job, $state" "$before" "$begun"
[ "$state" = succeeded ] || { call "$steward" GET "/v1/jobs/$job" | jq . >&2; exit 1; }
