-- Operators: who asked for a call, and what was changed of limits, pauses and settings. The journal has both; the changes are
-- rare and looked for late, so their last also stand by themselves, where no mass of transitions drives them out.
local KEPT_CHANGES = 1000
local asked_by -- by whom, if an operator asked for what this call does to an execution
at_begin(function() asked_by = nil end)

-- The last fields of a journal entry: none where no operator asked.
local function asked()
    if asked_by and asked_by ~= '' then return 'by', asked_by end
end

-- `from` and `to` are '' for none. What is as it was before is no change: so one whose reply was lost is noted once.
local function note_change(verb, name, from, to, by)
    if from == to then return end
    call('XADD', K.journal, 'MAXLEN', '~', setting('journal_max_entries'), '*', 'verb', verb, 'id', '', 'at', now,
        'name', name, 'from', from, 'to', to, 'by', by)
    call('XADD', K.changes, 'MAXLEN', '~', KEPT_CHANGES, '*', 'verb', verb, 'at', now, 'name', name, 'from', from,
        'to', to, 'by', by)
end
