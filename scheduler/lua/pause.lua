-- pause: nothing passes this gate until it is resumed; what runs goes on, what waits does not become stale meanwhile.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: gate
--   gate   a gate key, `lane:NAME` or `*` for everything
-- Returns: 1 if it was not paused before, else 0
-- include: keys settings time gates lanes memory
local gate = ARGV[1]
pass_at_maxmemory()
local began = redis.call('HSETNX', K.paused, gate, now)
any_paused = true
reindex(gate)
settle_lanes()
return began
