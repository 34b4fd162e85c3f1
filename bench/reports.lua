-- wrk: reports to an aggregation, each by one of many agents under a fresh Idempotency-Key, so that each is counted,
-- debited and on disk before its answer. TOKENS holds the agents' tokens, one a line; REPORT the report's base64.
local threads = 0
function setup(thread)
   thread:set("id", threads)
   threads = threads + 1
end

function init(args)
   math.randomseed(os.time() + id * 7919)
   run = string.format("%08x%08x", math.random(0, 0x7fffffff), math.random(0, 0x7fffffff))
   local mark = "KEY-OF-THE-REQUEST"
   agents = {}
   for token in string.gmatch(os.getenv("TOKENS"), "%S+") do
      local whole = wrk.format("POST", nil, {
         ["Authorization"] = "Bearer " .. token,
         ["Content-Type"] = "application/json",
         ["Idempotency-Key"] = mark,
      }, '{"version":1,"report":{"bytes":"' .. os.getenv("REPORT") .. '"}}')
      local from, to = string.find(whole, mark, 1, true)
      agents[#agents + 1] = {string.sub(whole, 1, from - 1), string.sub(whole, to + 1)}
   end
   count = 0
end

function request()
   count = count + 1
   local agent = agents[count % #agents + 1]
   return agent[1] .. run .. "-" .. id .. "-" .. count .. agent[2]
end

function done(summary, latency, requests)
   local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write
                  + summary.errors.timeout
   io.write(string.format("RESULT %.0f %.3f %.3f %d\n", summary.requests / summary.duration * 1e6,
                          latency:percentile(50) / 1000, latency:percentile(99) / 1000, bad))
end
