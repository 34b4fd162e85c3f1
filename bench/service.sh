# shellcheck shell=bash
# A server of a measurement, people and a teacher on it: sourced by the scripts beside it, which set bin (the build
# directory) and work (theirs, to be removed at the end).
server=

serve() { # waits until it listens; sets server and base
    rm -f "$work/port"
    "$bin/tacet" serve --data "$work/data" --listen 127.0.0.1:0 --port-file "$work/port" --client-rate 0 >/dev/null 2>"$work/log" &
    server=$!
    for _ in $(seq 6000); do [ ! -s "$work/port" ] && kill -0 "$server" 2>/dev/null || break; sleep 0.1; done
    [ -s "$work/port" ] || { cat "$work/log" >&2; exit 1; }
    base=http://127.0.0.1:$(cat "$work/port")
}

end_server() {
    [ -z "$server" ] || { kill -TERM "$server" && wait "$server"; } 2>/dev/null || true
    server=
}

call() { # TOKEN METHOD PATH [curl arguments]
    local token=$1 method=$2 path=$3; shift 3
    curl -sS --fail-with-body -X "$method" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@" \
        "$base$path"
}

person() { call "$admin" POST /v1/clients -d "{\"name\":\"$1\",\"role\":\"$1\"}" | jq -r .token; }

open_people() { # sets admin, steward and student: their tokens
    admin=$("$bin/tacet" client create --data "$work/data" --role admin --name bench)
    steward=$(person steward)
    student=$(person student)
}

import_policy() { # prints the id: a network of 4-64-64-2 with small fixed weights
    local network
    network=$(jq -n '
        def w(i; o): [range(o) as $r | [range(i) as $c | ((($r * 31 + $c * 17) % 23) - 11) / 200]];
        def layer(i; o): {weight: w(i; o), bias: [range(o) | 0]};
        {name: "bench", environment: "cartpole",
         network: {activation: "relu", output: "softmax", layers: [layer(4; 64), layer(64; 64), layer(64; 2)]}}')
    call "$steward" POST /v1/policies -d "$network" | jq -r .id
}

open_teacher() { # sets teacher: a Dirichlet one of that network
    teacher=$(call "$steward" POST /v1/teachers -d "{\"policy\":\"$(import_policy)\",
        \"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,\"min_probability\":0.1},
        \"adjacency\":{\"unit\":\"observation\",\"radius\":1e-6},\"accounting\":\"renyi\",
        \"budget\":{\"epsilon\":1e6,\"delta\":1e-5},\"client_budget\":{\"epsilon\":1e6,\"delta\":1e-5}}" | jq -r .id)
}
