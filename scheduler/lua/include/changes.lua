-- Operators: who asked for a call, and their changes of limits, pauses and settings. The journal has both. Changes are
-- rare and looked up late, so the latest also have a stream of their own, from which transitions cannot drive them out.
local asked_by -- the operator who asked for this call's change of an execution, if one did
at_begin(function() asked_by = nil end)

-- Returns the last fields of a journal entry: none if no operator asked. `before`: the state, if it may be another now.
local function asked(before)
    if not asked_by or asked_by == '' then return end
    if before then return 'before', before, 'by', asked_by end
    return 'by', asked_by
end

-- `from` and `to` are '' for none; `from` is nil if nobody has chosen so far, which to choose none is a change of, too.
-- Equal values are no change, so a repeated call (its reply was lost) notes nothing.
local note_change
do
    local KEPT_CHANGES = 1000

    note_change = function(verb, name, from, to, by)
        if from == to then return end
        from = from or ''
        local entry_id = append('verb', verb, 'id', '', 'at', now, 'name', name, 'from', from, 'to', to, 'by', by)
        call('XADD', K.changes, 'MAXLEN', '~', KEPT_CHANGES, '*', 'entry', entry_id, 'verb', verb, 'at', now,
            'name', name, 'from', from, 'to', to, 'by', by)
    end
end
