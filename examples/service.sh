# What the examples share: a server on a free port and calls to it. They read it with `source`; it makes a temporary
# directory, $work, and removes it when the script ends.
set -euo pipefail

tacet=${TACET:-build/tacet}
work=$(mktemp -d)
server=

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
stop() {
    [ -z "$server" ] || { kill -TERM "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
    rm -rf "$work"
}
trap stop EXIT

# Sets $base, the server's address, and $admin, a token of its admin.
start_server() {
    "$tacet" serve --data "$work/data" --listen 127.0.0.1:0 --port-file "$work/port" >"$work/server.out" 2>"$work/server.log" &
    server=$!
    for _ in $(seq 200); do [ -s "$work/port" ] && break; sleep 0.05; done
    [ -s "$work/port" ] || { cat "$work/server.log" >&2; exit 1; }
    base=http://127.0.0.1:$(cat "$work/port")
    admin=$("$tacet" client create --data "$work/data" --role admin --name demo-admin)
}

# call TOKEN METHOD PATH [curl arguments]: prints the body; a refusal prints its problem and ends the script.
call() {
    local token=$1 method=$2 path=$3 body; shift 3
    body=$(curl -sS --fail-with-body -X "$method" -H "Authorization: Bearer $token" "$@" "$base$path") || {
        printf '\n%s %s was refused:\n%s\n' "$method" "$path" "$body" >&2; exit 1; }
    printf '%s' "$body"
}
json() { printf '%s' "-HContent-Type: application/json"; }
# A call that may spend budget carries an Idempotency-Key: sent again after a lost answer, it is not charged again.
fresh_key() { printf 'Idempotency-Key: %s-%s' "$(date -u +%F)" "$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"; }
# client NAME ROLE: prints the token of a new client.
client() { call "$admin" POST /v1/clients "$(json)" -d "{\"name\":\"$1\",\"role\":\"$2\"}" | jq -r .token; }

# watch_job TOKEN ID: returns when the job has succeeded; a job that fails ends the script.
watch_job() {
    local state line
    while :; do
        line=$(call "$1" GET "/v1/jobs/$2")
        state=$(jq -r .state <<<"$line")
        jq -r '"\r  \(.state)  step \(.progress.step) of \(.progress.steps)  \((.progress.fraction*100)|floor)%   "' <<<"$line" | tr -d '\n'
        case $state in succeeded) echo; return 0 ;; failed | cancelled) echo; jq .error <<<"$line"; exit 1 ;; esac
        sleep 1
    done
}
