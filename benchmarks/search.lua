-- For wrk: POST the lines of the file that ONLINEHASH_BODIES names, in turn, and say the figures as JSON.
local bodies = {}
for line in io.lines(os.getenv("ONLINEHASH_BODIES")) do bodies[#bodies + 1] = line end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local i = 0

function request()
  i = i % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[i])
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests": %d, "seconds": %f, "failed": %d, "p50": %f, "p99": %f}\n',
    summary.requests, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
