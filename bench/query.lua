-- wrk: teacher queries, each under a fresh Idempotency-Key, so that each one is a durable debit.
-- TOKEN is in the environment.
local threads = 0
function setup(thread)
   thread:set("id", threads)
   threads = threads + 1
end

function init(args)
   math.randomseed(os.time() + id * 7919)
   run = string.format("%08x%08x", math.random(0, 0x7fffffff), math.random(0, 0x7fffffff))
   count = 0
   headers = {
      ["Authorization"] = "Bearer " .. os.getenv("TOKEN"),
      ["Content-Type"] = "application/json",
   }
end

function request()
   count = count + 1
   headers["Idempotency-Key"] = run .. "-" .. id .. "-" .. count
   return wrk.format("POST", nil, headers, '{"state":[0.0123,-0.0345,0.0211,0.1042]}')
end

function done(summary, latency, requests)
   local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write
                  + summary.errors.timeout
   io.write(string.format("RESULT %.0f %.3f %.3f %d\n", summary.requests / summary.duration * 1e6,
                          latency:percentile(50) / 1000, latency:percentile(99) / 1000, bad))
end
