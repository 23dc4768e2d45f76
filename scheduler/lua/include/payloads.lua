-- What a grant brings to the client: the execution's event, or its message.
local payloads -- id → its event and message, once read
at_begin(function() payloads = {} end)

local function payload_of(id)
    payloads[id] = payloads[id] or call('MGET', D.event(id), D.message(id))
    return payloads[id]
end

local function has_payload(id)
    local payload = payload_of(id)
    return payload[1] or payload[2]
end

local function is_granted(id, attempt)
    local m = call('HMGET', D.meta(id), 'state', 'attempt')
    return m[1] == 'RUNNING' and tonumber(m[2]) == attempt
end

-- A reply whose last part is grants, with these as the client takes them: id, attempt, lease in ms, event or '', message
-- or ''. A repeated grant that was lost meanwhile is left out.
local function with_payloads(reply)
    local full = {}
    for _, given in ipairs(reply[#reply]) do
        local id, attempt, lease = given[1], given[2], given[3]
        if payloads[id] or is_granted(id, attempt) then
            local payload = payload_of(id)
            full[#full + 1] = {id, attempt, lease, payload[1] or '', payload[2] or ''}
        end
    end
    reply[#reply] = full
    return reply
end
