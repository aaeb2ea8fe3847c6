-- The requests of one block. Arguments after `--`: file of reads, template of a create, first number of a create, and
-- of every hundred requests how many are creates.
local reads, template, number, share, turn = {}, {}, 0, 0, 0

local function read_file(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- Records are a decimal length, a line end, and that many bytes.
local function split(text)
  local records, at = {}, 1
  while at <= #text do
    local stop = string.find(text, "\n", at, true)
    local size = tonumber(string.sub(text, at, stop - 1))
    records[#records + 1] = string.sub(text, stop + 1, stop + size)
    at = stop + size + 1
  end
  return records
end

function init(arguments)
  reads = split(read_file(arguments[1]))
  template = split(read_file(arguments[2]))
  number = tonumber(arguments[3])
  share = tonumber(arguments[4])
end

function request()
  turn = turn + 1
  if (turn * share) % 100 >= share then
    return reads[(turn * 7919) % #reads + 1]
  end
  number = number + 1
  local key = string.format("k%04d", number % 1000)
  return template[1] .. key .. template[2] .. string.format("%012d", number) .. template[3] .. key .. template[4]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests": %d, "microseconds": %d, "bytes": %d, "refused": %d, "broken": %d, "p50": %d, "p90": %d, "p99": %d, "max": %d}\n',
    summary.requests, summary.duration, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(90), latency:percentile(99), latency.max))
end
