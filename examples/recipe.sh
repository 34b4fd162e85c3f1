#!/usr/bin/env bash
# From a table to a private policy with a certificate, without a simulator. The table is made up, in the form that a
# hospital, a fund or a factory would have; everything behind it is what you would do with yours (docs/own-data.md).
#
#   TACET=build/tacet examples/recipe.sh ward          or fund, or factory
#
# RECIPE_EXPERTS, RECIPE_EPSILON and RECIPE_MECHANISM (dpsgd or consensus: the first candidate of it is taken) may be
# set. The simulator that made the table plays the released policy at the end, which no owner of real data could do:
# nothing before reads it.
source "$(dirname "$0")/service.sh"
here=$(dirname "$0")
world=${1:-ward}
case $world in
ward) experts=600 low=-10 high=12 steps_most=48 discount=0.97 ;;
fund) experts=40 low=-20 high=25 steps_most=52 discount=0.97 ;;
factory) experts=500 low=-10 high=40 steps_most=64 discount=0.97 ;;
*) echo "recipe.sh: ward, fund or factory" >&2; exit 2 ;;
esac
experts=${RECIPE_EXPERTS:-$experts}
epsilon=${RECIPE_EPSILON:-3}
description=$here/$world.json

say "1. A table: $experts experts of the $world, one row a step"
"$tacet" experts --environment "$world" --experts "$experts" --trajectories 10 --seed 7 >"$work/made.ndjson"
/usr/bin/python3 "$here/table.py" "$description" <"$work/made.ndjson" >"$work/table.csv"
head -n 3 "$work/table.csv"

say "2. What is in it? The dry run sends nothing"
"$tacet" import "$work/table.csv" --description "$description" --dry-run | head -n 30

say "3. A server, a dataset with its description and a budget of epsilon $epsilon for each expert, the upload"
start_server
steward=$(client owner steward)
TACET_TOKEN=$steward "$tacet" import "$work/table.csv" --description "$description" --upload "$base" --name "$world" \
    --epsilon "$epsilon" --delta 1e-6 --max-steps $steps_most --discount $discount --nominal-experts "$experts" --seal
dataset=$(call "$steward" GET /v1/datasets | jq -r '.items[0].id')

say "4. What may be expected? The advice is free"
call "$steward" POST /v1/jobs:advise "$(json)" \
    -d "{\"dataset\":\"$dataset\",\"privacy\":{\"epsilon\":$epsilon,\"delta\":1e-6}}" >"$work/advice.json"
jq -r '.candidates[] | "  \(.job.algorithm) \(.job.mechanism): \(.verdict). \(.sentence)"' "$work/advice.json"
candidate=$(jq -c "[.candidates[] | select(.job.mechanism | test(\"${RECIPE_MECHANISM:-.}\"))][0]" "$work/advice.json")
budget() { call "$steward" GET "/v1/datasets/$dataset/budget" | jq -c '{limit, spent, remaining}'; }
if [ "$(jq -r .verdict <<<"$candidate")" = hopeless ]; then
    say "This is not worth a budget: what would be learned is noise. Nothing was spent"
    budget
    exit 0
fi

say "5. Train. With dpsgd a fifth of 100 experts or more is held out: under noise they say how far the policy does as they do.
   It takes some hundreds of experts, or a large epsilon, for their verdict to mean something"
job=$(jq -c ".job + {evaluate:{environment:\"$world\",episodes:200}} + if .job.mechanism == \"dpsgd\" and $experts >= 100
    then {judge:{held_out:0.2,return_low:$low,return_high:$high}} else {} end" <<<"$candidate")
id=$(call "$steward" POST /v1/jobs "$(json)" -H "$(fresh_key)" -d "$job" | jq -r .id)
watch_job "$steward" "$id"
call "$steward" GET "/v1/jobs/$id" >"$work/job.json"
jq -c '.findings.judge | select(.) | {verdict, reasons}' "$work/job.json"

say "6. The certificate says for whom the guarantee holds, and is checked beside the weights"
policy=$(jq -r .policy "$work/job.json")
curl -s "$base/.well-known/jwks.json" >"$work/keys.json"
call "$steward" GET "/v1/policies/$policy/certificate" >"$work/certificate.json"
curl -sS --fail -H "Authorization: Bearer $steward" "$base/v1/policies/$policy/weights?format=onnx" >"$work/policy.onnx"
jq '{expert_means, privacy}' "$work/certificate.json"
"$here/verify_certificate.py" "$work/certificate.json" "$work/keys.json" "$work/policy.onnx"

say "7. How good is it really? The simulator tells"
jq -r '"  mean return \(.evaluation.mean_return)"' "$work/job.json"
budget
