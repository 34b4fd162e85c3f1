#!/usr/bin/env bash
# The main job from end to end, with nothing but curl and jq. Read it as a tutorial: every step is a call that you
# would make against a server of your own. It works in a temporary directory and leaves nothing behind.
#
#   make demo            or            TACET=build/tacet examples/demo.sh
#
# DEMO_EXPERTS (300), DEMO_SEED (a fresh one each time) and DEMO_EPSILON (10) may be set.

source "$(dirname "$0")/service.sh"
experts=${DEMO_EXPERTS:-300}
seed=${DEMO_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
epsilon=${DEMO_EPSILON:-10}
started=$SECONDS

# ---- 1. A server -----------------------------------------------------------------------------------------------
say "1. Start a server on a free port of this machine"
start_server
echo "tacet serve --data DIR --listen 127.0.0.1:0     ->  $base"

# ---- 2. Who is who ---------------------------------------------------------------------------------------------
say "2. Make clients: an admin on the command line, the others over HTTP"
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
