-- What is known of an id whose execution's meta is gone, so that what comes late, or once more, is not taken for new.
local function load_tombstone(id)
    local state, attempt, lasting = string.match(call('GET', D.ended(id)) or '', '^(%u+) (%d+) ?(%S*)$')
    return state and {state = state, attempt = attempt, ended_at = true, lasting = lasting} or nil
end

-- What tells its sending, if its sender named it.
local function lasting_of(id)
    return field(id, 'lasting') or (load_tombstone(id) or {}).lasting or ''
end

-- What a hook sends after a body, it sends again if the body runs again, however late: so the parent, whose body it was,
-- keeps the ids among its own fields as long as it lives.
local function note_sent(id, parent)
    if parent ~= '' and call('EXISTS', D.meta(parent)) == 1 then call('HSET', D.meta(parent), 'sent:' .. id, '') end
end

-- The state of what lives or has ended of late; '' if only its parent knows of it; nil for an id that is free.
local function state_of(id, parent)
    if call('EXISTS', D.meta(id), D.ended(id)) > 0 then
        return call('HGET', D.meta(id), 'state') or (load_tombstone(id) or {}).state
    end
    return parent ~= '' and call('HEXISTS', D.meta(parent), 'sent:' .. id) == 1 and '' or nil
end
