-- What a grant brings to the client: the execution's event, or its message.
local has_payload, with_payloads
do
    local payloads -- id → its event and message, once read
    at_begin(function() payloads = emptied(payloads) end)

    local function payload_of(id)
        payloads[id] = payloads[id] or call('MGET', D.event(id), D.message(id))
        return payloads[id]
    end

    function has_payload(id)
        local payload = payload_of(id)
        return payload[1] or payload[2]
    end

    local function is_granted(id)
        local m = call('HMGET', D.meta(id), 'state', 'nonce')
        return m[1] == 'RUNNING' and m[2] == nonce
    end

    -- A reply whose last part is grants, with these as the client takes them: id, attempt, nonce, lane, lease in ms, event or
    -- '', message or ''. A repeated grant that was lost meanwhile is left out.
    function with_payloads(reply)
        local full = {}
        for _, given in ipairs(reply[#reply]) do
            local id, attempt, lane, lease = unpack(given)
            if payloads[id] or is_granted(id) then
                local payload = payload_of(id)
                full[#full + 1] = {id, attempt, nonce, lane, lease, payload[1] or '', payload[2] or ''}
            end
        end
        reply[#reply] = full
        return reply
    end
end
