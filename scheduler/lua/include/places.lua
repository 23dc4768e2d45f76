-- Where a flow stands: among the lane's ready flows, or behind a gate that it found closed, which the hash `behind` names.
local places = {}
do
    local behind -- lane → flow → the gate, false if it is ready, once read
    at_begin_and_failure(function() behind = emptied(behind) end)

    -- Returns the gate behind which a flow stands, if it does. Where none ever did, nobody has to look.
    function places.gate_before(lane, flow)
        if not any_behind then return false end
        behind[lane] = behind[lane] or {}
        if behind[lane][flow] == nil then behind[lane][flow] = call('HGET', K.behind, lane .. '\n' .. flow) end
        return behind[lane][flow]
    end

    -- `gate`: nil if it is ready, or gone.
    function places.keep(lane, flow, gate)
        if not gate then
            call('HDEL', K.behind, lane .. '\n' .. flow)
        else
            call('HSET', K.behind, lane .. '\n' .. flow, gate)
            if not any_behind then keep_setting('behind', 1) end
            any_behind = true
        end
        behind[lane] = behind[lane] or {}
        behind[lane][flow] = gate or false
    end
end
