-- status: how many wait and run, by band, in one moment. A band is counted between its base plus now, 5*10^11 ms
-- to either side, since the bands' scores overlap the ranges that a reader of the formula expects (D1).
-- Read only.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV:
-- Returns: {queue_depth, active_count, scheduled_count, dead_count, {count of band 0, …, 4}, {setting, value, …}}
-- include: keys settings time
local COUNT_WINDOW_MS = 500000000000
local bands = {}
for band = 0, 4 do
    local middle = band * BAND_WIDTH_MS + now
    bands[band + 1] = redis.call('ZCOUNT', K.pending, exact(middle - COUNT_WINDOW_MS), '(' .. exact(middle + COUNT_WINDOW_MS))
end
local values = {}
for name in pairs(DEFAULTS) do
    values[#values + 1], values[#values + 2] = name, exact(setting(name))
end
return {redis.call('ZCARD', K.pending), redis.call('SCARD', K.active), redis.call('ZCARD', K.scheduled),
    redis.call('ZCARD', K.dead), bands, values}
