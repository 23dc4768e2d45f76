-- What this call changed: the lanes, which include/lanes.lua settles, and how much it moved.
local MAX_MOVES = 100
local moves -- how many executions, flows or gates this call has moved or looked at
at_begin(function() moves = 0 end)

local changed = {}
at_begin(function()
    changed.touched = emptied(changed.touched) -- lanes whose best candidate may be another one
    changed.offered = emptied(changed.offered) -- lane → the best score of the executions that entered it
    changed.freed = emptied(changed.freed) -- lanes of which an execution gave its slot back
    changed.due_soon = emptied(changed.due_soon) -- lane → what is due there sooner than an idle consumer asks again
end)

-- `what`: an execution, or a gate.
function changed.note_soon(lane, what, is_soon)
    local soon = changed.due_soon[lane] or {}
    changed.due_soon[lane], soon[what] = soon, is_soon or nil
end
