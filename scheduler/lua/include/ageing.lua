-- The index `ageing`: PENDING executions below band HIGH whose lane has `ageing_seconds`, by the millisecond in which each
-- has waited for so long in its band, pauses included: then it rises by one (include/banding.lua). When a lane's setting was
-- changed, its waiting executions are re-indexed together with their deadlines. Slots that code takes are of one band.
local ageing = {}
do
    local HIGH = 1
    local SETTING = 'ageing_seconds'
    local known, is_used -- the settings that were looked at last, and whether any lane has its own in them

    local function ms_of(lane)
        local seconds = not code_slots.is_lane(lane) and bound_of(lane, SETTING)
        return seconds and seconds * 1000
    end

    -- Returns whether executions of any lane rise.
    function ageing.is_used()
        if known == overrides then return is_used end
        known, is_used = overrides, false
        for field in pairs(overrides) do
            if string.sub(field, -#SETTING) == SETTING then is_used = true end
        end
        return is_used
    end

    -- Returns when a waiting execution rises; nil if it does not. `since`: when it began to wait.
    function ageing.rises_at(m, since)
        local ms = tonumber(m.band) > HIGH and ms_of(m.lane)
        return ms and math.max(tonumber(since), tonumber(m.band_since or 0)) + ms or nil
    end

    function ageing.enter(id, m, since)
        local at = ageing.rises_at(m, since)
        if at then call('ZADD', K.ageing, at, id) end
    end

    -- `lane`: nil if it is not known.
    function ageing.leave(id, lane)
        if not lane or ms_of(lane) or overrides[deadline.reindexing_field(lane)] then call('ZREM', K.ageing, id) end
    end
end
