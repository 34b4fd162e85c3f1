#!/bin/bash
# Durable teacher queries over SQLite, and over PostgreSQL (a Unix socket, with fsync) with one server, two, and three on the same
# account: queries a second, and for each CPU second of the servers and of PostgreSQL together. With BENCH_DELAY_US, one server once
# more behind a socket that delays by so many microseconds in each direction (delayed_socket, whose CPU time does not count).
#
#   POSTGRES_DURABLE=1 scripts/with-postgres bench/bench_servers.sh BUILD-DIRECTORY
#
# With BENCH_PEER=PORT a service of FastAPI over psycopg on that port comes last (peer_postgres.py names the packages).
#
# BENCH_ROUNDS (3) of BENCH_SECONDS (3), BENCH_CONNECTIONS (64).
set -euo pipefail
bin=$1
rounds=${BENCH_ROUNDS:-3}
seconds=${BENCH_SECONDS:-3}
connections=${BENCH_CONNECTIONS:-64}
top=$(mktemp -d -p "${BENCH_DIR:-/tmp}")
servers=()
. bench/service.sh
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$top"' EXIT

cpu() { # PID...: their CPU seconds
    local pid
    for pid in "$@"; do cat "/proc/$pid/stat"; done | awk -v tick="$(getconf CLK_TCK)" '
        {sub(/.*\) /, ""); sum += $12 + $13} END {printf "%.2f\n", sum / tick}'
}
postgres() { local first; first=$(head -n 1 "$POSTGRES_TEST_CLUSTER/data/postmaster.pid"); echo "$first" && pgrep -P "$first"; }

measure() { # NAME BASE...: one generator for each server, all at once
    local name=$1 base before after own i; shift
    local -a all
    mapfile -t all < <(printf '%s\n' "${servers[@]}"; [ "$name" = sqlite ] || postgres)
    for _ in $(seq "$rounds"); do
        before=$(cpu "${all[@]}") own=$(cpu "${servers[@]}") i=0
        local -a generators=()
        for base in "$@"; do
            i=$((i + 1)) # not in the command, which is another process
            SALT=$i TOKEN=$student wrk -t1 -c$((connections / $#)) -d"${seconds}s" -s bench/query.lua \
                "$base/v1/teachers/$teacher/queries" >"$top/$i.out" &
            generators+=($!)
        done
        wait "${generators[@]}"
        after=$(cpu "${all[@]}")
        cat "$top"/*.out | awk -v name="$name" -v cpu="$before $after $own $(cpu "${servers[@]}")" -v s="$seconds" '
            /^RESULT/ {rate += $2; p50 = $3 > p50 ? $3 : p50; p99 = $4 > p99 ? $4 : p99; bad += $5}
            END {split(cpu, at, " "); printf "%-11s %7.0f /s %7.0f /CPU s (servers alone %7.0f)  p50 %6.1f ms  p99 %6.1f ms  bad %d\n",
                 name, rate, rate * s / (at[2] - at[1]), rate * s / (at[4] - at[3]), p50, p99, bad}'
    done
    rm -f "$top"/*.out
}

work=$top/sqlite && mkdir "$work"
serve && servers=("$server")
open_people
open_teacher
measure sqlite "$base"
end_server

psql -q "postgresql:///postgres?$POSTGRES_TEST_DATABASE" -c 'CREATE DATABASE bench'
export TACET_DATABASE="postgresql:///bench?$POSTGRES_TEST_DATABASE"
work=$top/first && mkdir "$work"
serve && servers=("$server") bases=("$base")
open_people
open_teacher
measure postgresql "$base"
for name in two three; do
    work=$top/$name && mkdir "$work"
    "$bin/tacet" key export --data "$top/first/data" | "$bin/tacet" key import --data "$work/data"
    TACET_KEYS_DIR=$top/first/data/keys serve && servers+=("$server") bases+=("$base")
    measure "$name-servers" "${bases[@]}"
done

kill "${servers[@]}" && wait "${servers[@]}" || true
for mode in ${BENCH_PEER:+thread group}; do
    PEER_DATABASE=$TACET_DATABASE PEER_TOKEN=$student PEER_MODE=$mode bench/peer_postgres.py "$BENCH_PEER" &
    servers=($!)
    curl -s -o /dev/null --retry 50 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$BENCH_PEER/"
    measure "peer-$mode" "http://127.0.0.1:$BENCH_PEER"
    kill "${servers[@]}" && wait "${servers[@]}" || true
done
servers=()

[ -n "${BENCH_DELAY_US:-}" ] || exit 0
name=.s.PGSQL.5432 near=${POSTGRES_TEST_DATABASE#host=}
mkdir "$top/far"
"$bin/delayed_socket" "$top/far/$name" "${near%%&*}/$name" "$BENCH_DELAY_US" 2>/dev/null &
delay=$!
trap 'kill "$delay" "${servers[@]}" 2>/dev/null || true; rm -rf "$top"' EXIT
work=$top/first
TACET_DATABASE="postgresql:///bench?host=$top/far&user=tacet" serve && servers=("$server")
measure delayed "$base"
