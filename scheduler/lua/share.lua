-- share: make a lane fair by a kind of gates, or strict again. What waits keeps its score: in a lane that becomes fair, or
-- fair by another kind, it goes before all that comes later.
-- Atomic; repeating it does no harm, so it takes no request token. Sweeps enter what waits in the index of times.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: lane, kind, only_if_unset, by
--   kind            what precedes the colon of a gate, such as user; '' for strict order
--   only_if_unset   1: an application declares it, and an operator's choice stays, strict order too
--   by              the operator who asks; '' for an application
-- Returns: the kind before, '' for none
-- Uses: call, keys, settings, changes, changed, fair, deadlines, transitions
transition('share', function(lane, kind, only_if_unset, by)
    local field, from = field_of(lane, 'fair_by'), fair.kind(lane) or ''
    if only_if_unset == '1' and overrides[field] then return from end
    if only_if_unset ~= '1' then note_change('set', field, overrides[field], kind, by) end
    keep_setting(field, kind)
    if from == kind then return from end
    for band = 0, 4 do call('DEL', D.tags(lane, band), D.idle_tags(lane, band)) end
    if kind == '' then call('DEL', D.times(lane)) else keep_setting(deadline.reindexing_field(lane), '-inf') end
    changed.touched[lane] = true
    return from
end)
