-- wrk: single-state questions to a released Q-function, a thousand different states in turn; the bare server gets the
-- very same requests. TOKEN is in the environment; STATES (1) to a request.
local requests = {}
local at = 0

function init(args)
   local states = tonumber(os.getenv("STATES") or "1")
   for i = 1, 1000 do
      local list = {}
      for k = 1, states do list[k] = string.format("[%.6f]", ((i * 7919 + k * 104729) % 1000003) / 1000003) end
      requests[i] = wrk.format("POST", nil, {
         ["Authorization"] = "Bearer " .. os.getenv("TOKEN"),
         ["Content-Type"] = "application/json",
      }, '{"states":[' .. table.concat(list, ",") .. ']}')
      if states > 1 and i == 20 then break end
   end
end

function request()
   at = at % #requests + 1
   return requests[at]
end

function done(summary, latency, requests)
   local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write
                  + summary.errors.timeout
   io.write(string.format("RESULT %.0f %.3f %.3f %d\n", summary.requests / summary.duration * 1e6,
                          latency:percentile(50) / 1000, latency:percentile(99) / 1000, bad))
end
