#!/usr/bin/env bash
# The main job from end to end, with nothing but curl and jq. Read it as a tutorial: every step is a call that you
# would make against a server of your own. It works in a temporary directory and leaves nothing behind.
#
#   make demo            or            TACET=build/tacet examples/demo.sh
#
# DEMO_EXPERTS (300), DEMO_SEED (a fresh one each time) and DEMO_EPSILON (10) may be set.
set -euo pipefail

tacet=${TACET:-build/tacet}
experts=${DEMO_EXPERTS:-300}
seed=${DEMO_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
epsilon=${DEMO_EPSILON:-10}
work=$(mktemp -d)
server=

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
stop() {
    [ -z "$server" ] || { kill -TERM "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
    rm -rf "$work"
}
trap stop EXIT
started=$SECONDS

# ---- 1. A server -----------------------------------------------------------------------------------------------
say "1. Start a server on a free port of this machine"
"$tacet" serve --data "$work/data" --listen 127.0.0.1:0 --port-file "$work/port" >"$work/server.out" 2>"$work/server.log" &
server=$!
for _ in $(seq 200); do [ -s "$work/port" ] && break; sleep 0.05; done
[ -s "$work/port" ] || { cat "$work/server.log" >&2; exit 1; }
base=http://127.0.0.1:$(cat "$work/port")
echo "tacet serve --data DIR --listen 127.0.0.1:0     ->  $base"

# call TOKEN METHOD PATH [curl arguments]: prints the body; a refusal prints its problem and ends the demo.
call() {
    local token=$1 method=$2 path=$3 body; shift 3
    body=$(curl -sS --fail-with-body -X "$method" -H "Authorization: Bearer $token" "$@" "$base$path") || {
        printf '\n%s %s was refused:\n%s\n' "$method" "$path" "$body" >&2; exit 1; }
    printf '%s' "$body"
}
json() { printf '%s' "-HContent-Type: application/json"; }
# A call that may spend budget carries an Idempotency-Key: sent again after a lost answer, it is not charged again.
fresh_key() { printf 'Idempotency-Key: demo-%s' "$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"; }

# ---- 2. Who is who ---------------------------------------------------------------------------------------------
say "2. Make clients: an admin on the command line, the others over HTTP"
admin=$("$tacet" client create --data "$work/data" --role admin --name demo-admin)
client() { call "$admin" POST /v1/clients "$(json)" -d "{\"name\":\"$1\",\"role\":\"$2\"}" | jq -r .token; }
steward=$(client demo-steward steward)
student=$(client demo-student student)
echo "admin, steward (owns data and budgets) and student (asks teachers); tokens are shown once and stored hashed"

# ---- 3. Experts ------------------------------------------------------------------------------------------------
say "3. Train $experts different experts (PPO in perturbed worlds) and record 20 trajectories of each"
"$tacet" experts --environment cartpole --experts "$experts" --trajectories 20 --seed "$seed" >"$work/experts.ndjson"
ls -l "$work/experts.ndjson" | awk '{printf "experts.ndjson: %.0f MB, ", $5/1e6}'
echo "$(wc -l <"$work/experts.ndjson") trajectories, one a line (seed $seed)"

# ---- 4. A dataset with a budget --------------------------------------------------------------------------------
say "4. Create a dataset with a budget of epsilon $epsilon for each expert, upload, seal"
dataset() { # name sensitivity
    local id
    id=$(call "$steward" POST /v1/datasets "$(json)" -d "{\"name\":\"$1\",\"environment\":\"cartpole\",
        \"budget\":{\"epsilon\":$epsilon,\"delta\":1e-5},\"nominal_experts\":$experts,\"sensitivity\":\"$2\"}" | jq -r .id)
    # -T streams the file; a failure anywhere in it stores nothing.
    call "$steward" POST "/v1/datasets/$id/trajectories" -H 'Content-Type: application/x-ndjson' \
        -T "$work/experts.ndjson" | jq -c . >&2
    call "$steward" POST "/v1/datasets/$id:seal" >/dev/null
    echo "$id"
}
private=$(dataset demo-experts private)
echo "dataset $private is sealed"

# ---- 5. What would it cost? ------------------------------------------------------------------------------------
say "5. Ask for an estimate (spends nothing)"
job="{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"$private\",\"privacy\":{\"epsilon\":$epsilon,\"delta\":1e-5},
      \"evaluate\":{\"environment\":\"cartpole\",\"episodes\":100,\"max_episode_steps\":200}}"
call "$steward" POST /v1/jobs:estimate "$(json)" -d "$job" | jq '{feasible, cost, plan}'

# ---- 6. Train privately ----------------------------------------------------------------------------------------
watch_job() { # token id
    local state line
    while :; do
        line=$(call "$1" GET "/v1/jobs/$2")
        state=$(jq -r .state <<<"$line")
        jq -r '"\r  \(.state)  step \(.progress.step) of \(.progress.steps)  \((.progress.fraction*100)|floor)%   "' <<<"$line" | tr -d '\n'
        case $state in succeeded) echo; return 0 ;; failed | cancelled) echo; jq .error <<<"$line"; exit 1 ;; esac
        sleep 1
    done
}
say "6. Train with expert-level DP-SGD; the budget is reserved before the first step"
id=$(call "$steward" POST /v1/jobs "$(json)" -H "$(fresh_key)" -d "$job" | jq -r .id)
watch_job "$steward" "$id"
call "$steward" GET "/v1/jobs/$id" >"$work/job.json"
policy=$(jq -r .policy "$work/job.json")
private_return=$(jq '.evaluation.mean_return * 10 | round / 10' "$work/job.json")

# ---- 7. What did privacy cost? ---------------------------------------------------------------------------------
say "7. The same without privacy, for comparison (these experts are simulated, so a copy may be declared public)"
public=$(dataset demo-experts-public public)
id=$(call "$steward" POST /v1/jobs "$(json)" -H "$(fresh_key)" -d "{\"algorithm\":\"cql\",\"mechanism\":\"none\",\"dataset\":\"$public\",
      \"evaluate\":{\"environment\":\"cartpole\",\"episodes\":100,\"max_episode_steps\":200}}" | jq -r .id)
watch_job "$steward" "$id"
call "$steward" GET "/v1/jobs/$id" >"$work/plain.json"
printf '\n  mean return of 200:   private (epsilon %s) %s    not private %s    random 22\n' \
    "$epsilon" "$private_return" "$(jq '.evaluation.mean_return * 10 | round / 10' "$work/plain.json")"

# ---- 8. The released policy ------------------------------------------------------------------------------------
say "8. The private policy may be downloaded and asked as often as you like"
call "$steward" GET "/v1/policies/$policy/weights?format=json" >"$work/weights.json"
jq -c '[.layers[] | {weight: [(.weight|length), (.weight[0]|length)]}]' "$work/weights.json"
call "$steward" POST "/v1/policies/$policy/actions" "$(json)" -d '{"states":[[0.02,0.1,0.03,-0.2],[0,0,-0.05,0.3]]}' | jq -c .

# ---- 9. A teacher with a budget --------------------------------------------------------------------------------
say "9. Publish it behind a Dirichlet teacher; a student asks until its budget is spent"
teacher=$(call "$steward" POST /v1/teachers "$(json)" -d "{\"policy\":\"$policy\",
    \"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,\"min_probability\":0.1,\"temperature\":${DEMO_TEMPERATURE:-20}},
    \"adjacency\":{\"unit\":\"observation\",\"radius\":0.001},\"accounting\":\"renyi\",
    \"budget\":{\"epsilon\":8,\"delta\":1e-5},\"client_budget\":{\"epsilon\":4,\"delta\":1e-5}}")
# cost_per_query is what the first answer costs; under "renyi" each later one costs a small part of it.
jq '{id, lipschitz, sensitivity, cost_per_query, queries_in_client_budget}' <<<"$teacher"
teacher=$(jq -r .id <<<"$teacher")
asked=0
while :; do
    status=$(curl -sS -o "$work/answer.json" -w '%{http_code}' -X POST -H "Authorization: Bearer $student" "$(json)" \
        -H "$(fresh_key)" -d '{"state":[0.01,-0.02,0.03,0.04]}' "$base/v1/teachers/$teacher/queries")
    [ "$status" = 200 ] || break
    asked=$((asked + 1))
    [ $((asked % 20)) != 1 ] || jq -c '{probabilities, remaining}' "$work/answer.json"
    [ "$asked" -lt 5000 ] || break
done
echo "after $asked answers the teacher falls silent: $status"
jq '{type, title, violated}' "$work/answer.json"
[ "$status" = 403 ] || exit 1

# ---- 10. The ledger --------------------------------------------------------------------------------------------
say "10. The ledger: every account, and a check that balances are the sums of their entries"
call "$steward" GET /v1/ledger/accounts | jq -r '.items[] | [.account, .kind, .limit.epsilon, .spent.epsilon, .remaining.epsilon] | @tsv' |
    awk 'BEGIN{printf "  %-28s %-10s %10s %10s %10s\n","account","kind","limit","spent","remaining"} {printf "  %-28s %-10s %10.4g %10.4g %10.4g\n",$1,$2,$3,$4,$5}'
call "$steward" POST /v1/ledger:verify | jq -c .

say "11. Stop the server"
kill -TERM "$server"
code=0; wait "$server" || code=$?
server=
echo "exit code $code after $((SECONDS - started)) seconds in all"
exit "$code"
