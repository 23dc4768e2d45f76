-- Data of an id whose execution's meta is gone, so that late or repeated calls are not taken for new ones.
local function load_tombstone(id)
    local state, attempt, lasting = string.match(call('GET', D.ended(id)) or '', '^(%u+) (%d+) ?(%S*)$')
    return state and {state = state, attempt = attempt, ended_at = true, lasting = lasting} or nil
end

-- Returns the text that identifies the execution's sending, if its sender chose the id.
local function lasting_of(id)
    return field(id, 'lasting') or (load_tombstone(id) or {}).lasting or ''
end

-- If a body runs again, its hook sends the same executions again, however late. So the body's execution, the parent,
-- keeps their ids among its own fields as long as it lives.
local function note_sent(id, parent)
    if parent ~= '' and call('EXISTS', D.meta(parent)) == 1 then call('HSET', D.meta(parent), 'sent:' .. id, '') end
end

-- Returns the state of a live or lately ended execution; '' if only its parent knows the id; nil if the id is free.
local function state_of(id, parent)
    if call('EXISTS', D.meta(id), D.ended(id)) > 0 then
        return call('HGET', D.meta(id), 'state') or (load_tombstone(id) or {}).state
    end
    return parent ~= '' and call('HEXISTS', D.meta(parent), 'sent:' .. id) == 1 and '' or nil
end
