-- resume: end a pause; its length is added up, so that the time paused does not count as waiting.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: gate
--   gate   a gate key, `lane:NAME` or `*` for everything
-- Returns: 1 if it was paused before, else 0
-- include: keys settings time gates lanes
local gate = ARGV[1]
local since = redis.call('HGET', K.paused, gate)
if not since then return 0 end
redis.call('HDEL', K.paused, gate)
redis.call('HINCRBY', K.paused, gate .. '\ntotal', math.max(0, now - tonumber(since)))
reindex(gate)
for _, lane in ipairs(redis.call('ZRANGE', K.lanes, 0, -1)) do touched[lane] = true end
settle_lanes()
return 1
