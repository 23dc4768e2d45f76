-- status: how many wait and run, by band, in one moment. A band is counted between its base plus now, 5*10^11 ms
-- to either side, since the bands' scores overlap the ranges that a reader of the formula expects (D1).
-- Read only.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV:
-- Returns: {queue_depth, active_count, scheduled_count, dead_count, {count of band 0, …, 4}, {setting, value, …}}
local COUNT_WINDOW_MS = 500000000000

view('status', function()
    local bands, values = {}, {}
    for band = 0, 4 do
        local middle = band * BAND_WIDTH_MS + now
        local from, to = exact(middle - COUNT_WINDOW_MS), '(' .. exact(middle + COUNT_WINDOW_MS)
        bands[band + 1] = call('ZCOUNT', K.pending, from, to)
    end
    for name in pairs(DEFAULTS) do
        values[#values + 1], values[#values + 2] = name, exact(setting(name))
    end
    return {call('ZCARD', K.pending), call('SCARD', K.active), call('ZCARD', K.scheduled), call('ZCARD', K.dead), bands,
        values}
end)
