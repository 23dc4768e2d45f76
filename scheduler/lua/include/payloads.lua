-- The payload that a grant brings to the client: the execution's event, or its message.
local GRANT_FIELDS = 4 -- the fields of each grant; a call's grants are one flat list
local payload = {}
local is_spent
do
    local MOST_BYTES = 4 * 1024 * 1024 -- of payloads in one reply: more would block the server for too long
    local payloads -- id → its event and message, once read
    local bytes
    at_begin(function() payloads, bytes = emptied(payloads), 0 end)

    -- Whether this call has reached the bound of moves or of bytes.
    function is_spent()
        return moves >= MAX_MOVES or bytes >= MOST_BYTES
    end

    function payload.is_too_much()
        return bytes > MOST_BYTES
    end

    local function payload_of(id)
        if not payloads[id] then
            local found = call('MGET', D.event(id), D.message(id))
            payloads[id], bytes = found, bytes + #(found[1] or '') + #(found[2] or '')
        end
        return payloads[id]
    end

    function payload.is_there(id)
        local found = payload_of(id)
        return found[1] or found[2]
    end

    local function is_granted(id)
        local m = call('HMGET', D.meta(id), 'state', 'nonce')
        return m[1] == 'RUNNING' and m[2] == nonce
    end

    -- Turns the grants in a reply's fifth part (id, attempt, lane, lease in ms) into their form for the client (id,
    -- attempt, nonce, lane, lease in ms, event or '', message or ''). A repeated reply leaves out grants since lost.
    function payload.added_to(reply)
        local given, full, n = reply[5], {}, 0
        for i = 1, #given, GRANT_FIELDS do
            local id = given[i]
            if payloads[id] or is_granted(id) then
                local found = payload_of(id)
                full[n + 1], full[n + 2], full[n + 3], full[n + 4] = id, given[i + 1], nonce, given[i + 2]
                full[n + 5], full[n + 6], full[n + 7] = given[i + 3], found[1] or '', found[2] or ''
                n = n + 7
            end
        end
        reply[5] = full
        return reply
    end
end
