-- wrk: teacher queries, each under a fresh Idempotency-Key, so that each one is a durable debit. The
-- bare server gets the very same requests: what the generator costs falls on both alike.
-- TOKEN is in the environment; STATES (1) is how many states a query asks about, SALT (0) tells generators apart that run at once. The request is made once but for its key: formatting it anew each
-- time would cost the two cores as much as the bare server itself.
local threads = 0
function setup(thread)
   thread:set("id", threads)
   threads = threads + 1
end

function init(args)
   math.randomseed(os.time() + id * 7919 + tonumber(os.getenv("SALT") or "0"))
   local run = string.format("%08x%08x", math.random(0, 0x7fffffff), math.random(0, 0x7fffffff))
   local mark = "KEY-OF-THE-REQUEST"
   local body = '{"state":[0.0123,-0.0345,0.0211,0.1042]}'
   local states = tonumber(os.getenv("STATES") or "1")
   if states > 1 then
      local rows = {}
      for i = 1, states do
         rows[i] = string.format("[%.4f,%.4f,%.4f,%.4f]", i / 1000, -i / 700, i / 900, 0.1 - i / 800)
      end
      body = '{"states":[' .. table.concat(rows, ",") .. "]}"
   end
   local whole = wrk.format("POST", nil, {
      ["Authorization"] = "Bearer " .. os.getenv("TOKEN"),
      ["Content-Type"] = "application/json",
      ["Idempotency-Key"] = mark,
   }, body)
   local from, to = string.find(whole, mark, 1, true)
   before = string.sub(whole, 1, from - 1) .. run .. "-" .. id .. "-"
   after = string.sub(whole, to + 1)
   count = 0
end

function request()
   count = count + 1
   return before .. count .. after
end

function done(summary, latency, requests)
   local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write
                  + summary.errors.timeout
   io.write(string.format("RESULT %.0f %.3f %.3f %d\n", summary.requests / summary.duration * 1e6,
                          latency:percentile(50) / 1000, latency:percentile(99) / 1000, bad))
end
