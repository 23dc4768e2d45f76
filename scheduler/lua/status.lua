-- status: how many executions wait (by band) and run in some lanes, at one moment. A band is counted up to 5*10^11 ms
-- on either side of its base plus now, since its scores do not lie in the range that the formula suggests (D1).
-- Read only.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: (lane), …
-- Returns: {dead_count, {setting, value, …}, {{queue_depth, active_count, live_count, {count of band 0, …, 4},
--   {bound, value, …}}, …}}; dead letters of all lanes; a live one waits, is scheduled or holds a slot; value '' for none
-- Uses: call, keys, now, setting_defaults, settings, scores, transitions
local COUNT_WINDOW_MS = 500000000000

local function bands_of(lane)
    local bands = {}
    for band = 0, 4 do
        local middle = band * BAND_WIDTH_MS + now
        local from, to = exact(middle - COUNT_WINDOW_MS), '(' .. exact(middle + COUNT_WINDOW_MS)
        bands[band + 1] = call('ZCOUNT', D.pending(lane), from, to)
    end
    return bands
end

local function listed(values, name, value)
    values[#values + 1], values[#values + 2] = name, value and exact(value) or ''
end

view('status', function(...)
    local settings, lanes = {}, {}
    for name in pairs(DEFAULTS) do
        if not BOUNDS[name] then listed(settings, name, setting(name)) end
    end
    for i, lane in ipairs({...}) do
        local bounds = {}
        for name in pairs(BOUNDS) do listed(bounds, name, bound_of(lane, name)) end
        lanes[i] = {call('ZCARD', D.pending(lane)), call('SCARD', D.active(lane)), call('SCARD', D.members(lane)),
            bands_of(lane), bounds}
    end
    return {call('ZCARD', K.dead), settings, lanes}
end)
