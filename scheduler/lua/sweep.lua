-- sweep: expire executions that waited longer than their lane's stale timeout or their maximum age, some a call (D19);
-- let those rise by a band that waited for their lane's ageing time; drop dead letters whose time is over; and tell how
-- many were refused.
-- Atomic for each execution; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: epoch, count
--   epoch   the leader's, '' for a worker's own round
-- Returns: {expired, more}; more 1: call again | 'STALE_EPOCH'
-- Uses: code_slots, settings, refusing, letters, outbox, staleness, banding, transitions

-- If workers ask for a lane no more, its outbox disappears by its TTL, and only this removes its mark.
local function unmark_ended()
    for field in pairs(overrides) do
        local lane = string.match(field, '^outbox:(.*)$')
        if lane then untold.unmark_if_empty(lane) end
    end
end

led('sweep', function(count)
    local bound = tonumber(count)
    local has_more = reindex_deadlines(bound)
    local expired, is_full = sweep_due(bound)
    local has_aged = banding.rise_due()
    local has_letters = drop_expired()
    unmark_ended()
    code_slots.end_lost()
    tell_refusals()
    return {expired, (has_more or is_full or has_aged or has_letters) and 1 or 0}
end)
