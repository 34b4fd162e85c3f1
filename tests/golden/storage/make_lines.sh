#!/bin/bash
# Makes the database of the last version that kept entries as lines and answers as blocks (commit cc30558), with what
# that program said of it, so that a test can migrate it:
#
#   tests/golden/storage/make_lines.sh BUILD-DIRECTORY-OF-cc30558 OUTPUT-DIRECTORY
#
# OUTPUT gets lines.db.zst (the database) and lines.txt: a line "verify ENTRIES OPEN-HOLDS HEAD" for the whole ledger, a
# line "account ID ENTRIES SPENT HELD LIMIT HEAD" for each account, and a line
# "answer CLIENT KEY STATUS BODY" for each stored answer, as HTTP gave them.
set -euo pipefail
bin=$1
out=$2
work=$(mktemp -d)
. bench/service.sh
trap 'end_server; rm -rf "$work"' EXIT

ask() { # TOKEN KEY METHOD PATH BODY: notes the answer under its client and key, and prints it
    local answer status client=${1#tct_} # a token is tct_CLIENT_SECRET
    answer=$(curl -sS -w '\n%{http_code}' -X "$3" -H "Authorization: Bearer $1" -H "Idempotency-Key: $2" \
        -H 'Content-Type: application/json' -d "$5" "$base$4")
    status=${answer##*$'\n'}
    printf 'answer\t%s\t%s\t%s\t%s\n' "cli_${client%_*}" "$2" "$status" "${answer%$'\n'*}" >>"$work/answers"
    echo "${answer%$'\n'*}"
}

serve
open_people
open_teacher
auditor=$(person auditor)

dataset=$(call "$steward" POST /v1/datasets -d '{"name":"line","state_dim":1,"action_count":2,"max_episode_steps":2,
    "discount":0.9,"budget":{"epsilon":3,"delta":1e-4}}'  | jq -r .id)
for e in $(seq 20); do
    echo "{\"expert\":\"e$e\",\"states\":[[0.1],[0.3],[0.5]],\"actions\":[0,1],\"rewards\":[1,2],\"terminated\":true,\"truncated\":false}"
done >"$work/line.ndjson"
curl -sS --fail-with-body -X POST -H "Authorization: Bearer $steward" -H 'Content-Type: application/x-ndjson' \
    --data-binary @"$work/line.ndjson" "$base/v1/datasets/$dataset/trajectories" >/dev/null
call "$steward" POST "/v1/datasets/$dataset:seal" -d '{}' >/dev/null
job=$(ask "$steward" job-1 POST /v1/jobs "{\"algorithm\":\"gp_q_learning\",\"dataset\":\"$dataset\",
    \"privacy\":{\"epsilon\":2,\"delta\":1e-5,\"force\":true},\"parameters\":{\"shards\":10,\"steps\":5,\"hidden\":[4]}}"  | jq -r .id)
for _ in $(seq 300); do
    release=$(call "$steward" GET "/v1/jobs/$job" | jq -r .q_release)
    [ "$release" = null ] || break
    sleep 0.2
done
[ "$release" != null ]
call "$steward" GET "/v1/q-releases/$release" | jq -e .id >/dev/null

query='{"state":[0.02,0.1,0.03,-0.2]}'
for i in $(seq 40); do ask "$student" "query-$i" POST "/v1/teachers/$teacher/queries" "$query" >/dev/null; done
# And many at once, so that blocks hold several lines and answers.
for i in $(seq 1 60); do ask "$student" "at-once-$i" POST "/v1/teachers/$teacher/queries" "$query" >/dev/null & done
wait $(jobs -p | grep -v "^$server$")
ask "$student" refused POST "/v1/teachers/$teacher/queries" '{"state":[1]}' >/dev/null

{
    call "$auditor" POST /v1/ledger:verify | jq -r '["verify", .entries, .open_holds, .head] | @tsv'
    call "$auditor" GET /v1/ledger/accounts | jq -r '.items[] | ["account", .account, .entries, .units.spent, .units.held,
        .units.limit, .head] | @tsv'
} >"$work/books"
end_server # the log is emptied into the file
{ cat "$work/books" && sort "$work/answers"; } >"$out/lines.txt"
zstd -q -19 -f "$work/data/tacet.db" -o "$out/lines.db.zst"
