-- reprioritise: move a waiting execution to another band at its own time; in a fair lane, at a new tag.
-- Atomic: it acts only on a waiting execution, so one that was just admitted is never added again (D12). The time is
-- unique, so its score equals no other there.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, id, band, by
--   caller number   the request token
--   by              the operator who asks, '' for none
-- Returns: {code, state}; code OK | UNKNOWN | ENDED | NOT_WAITING
-- Uses: call, keys, journal, tombstones, changes, banding, transitions
once('reprioritise', function(id, band, by)
    asked_by = by
    local m = load(id) or load_tombstone(id)
    if not m then return {'UNKNOWN', ''} end
    if m.ended_at then return {'ENDED', m.state} end
    if m.state ~= 'PENDING' and m.state ~= 'SCHEDULED' then return {'NOT_WAITING', m.state} end

    local from = m.band
    if m.state == 'PENDING' then banding.move(id, m, band) else call('HSET', D.meta(id), 'band', band) end
    m.band = band
    journal('reprioritise', id, m, 'state', m.state, 'from', from, 'to', band, 'score', m.state == 'PENDING' and m.score or '', asked())
    return {'OK', m.state}
end)
