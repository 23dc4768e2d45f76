-- Gates that open and close as executions take and leave them, or as time passes.
local reopening = {}
do
    -- After a grant. `left`: as closed_gate returned it; `behind`: the gate whose best flow in this lane is another one now,
    -- if there is one.
    function reopening.index_held(lane, gates, left, behind)
        for _, gate in ipairs(gates) do
            local room = left[gate] > 1
            if not room then reindex(gate, false) elseif gate == behind then index_in(lane, gate, room) end
        end
    end

    -- A full gate opens when a holder leaves it. A gate limited by its kind is also re-indexed if it had room before: the
    -- kind's limit may have risen.
    function reopening.unhold(id, gates)
        read_limits(gates)
        for _, gate in ipairs(gates) do
            local room = let_go(id, gate)
            if room and (room == 1 or (room > 1 and by_kind[gate])) then reindex(gate) end
        end
    end

    -- Opens the gates whose rate lets the next one through.
    function reopening.open_due()
        for _, due in ipairs(later.take_due(MAX_MOVES - moves)) do
            moves = moves + 1
            index_in(due[1], due[2])
        end
    end
end
