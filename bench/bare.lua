-- wrk: the same request as query.lua for a server that does not look at it.
wrk.method = "POST"
wrk.body = '{"state":[0.0123,-0.0345,0.0211,0.1042]}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer tct_000000000000000000000000_0000000000000000000000000000000000000000000000000000000000000000"
wrk.headers["Idempotency-Key"] = "0123456789abcdef-0-000000"

function done(summary, latency, requests)
   io.write(string.format("RESULT %.0f %.3f %.3f %d\n", summary.requests / summary.duration * 1e6,
                          latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.errors.status))
end
