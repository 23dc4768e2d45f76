-- Every key of the engine: the fixed ones are declared in KEYS in the order of scheduler/keys.py, those of one
-- id, lane, gate, action or caller are derived from the prefix here. A test holds this file against keys.py.
local FIXED = {
    'pending', 'active', 'lease', 'pod_lease', 'lanes', 'scheduled', 'limits', 'paused', 'settings', 'users', 'clock',
    'dead', 'journal', 'leader', 'epoch', 'rounds',
}
local K = {}
local prefix

-- One server may hold several queues; most calls are of the one that the last was of.
at_begin(function()
    if KEYS[1] == K.pending then return end
    for i, name in ipairs(FIXED) do K[name] = KEYS[i] end
    prefix = string.sub(K.pending, 1, -(#':pending' + 1))
end)

local D = {
    event = function(id) return prefix .. ':event:' .. id end,
    message = function(id) return prefix .. ':message:' .. id end,
    meta = function(id) return prefix .. ':meta:' .. id end,
    result = function(id) return prefix .. ':result:' .. id end,
    reply = function(caller) return prefix .. ':reply:' .. caller end,
    ready = function(lane) return prefix .. ':ready:' .. lane end,
    open = function(lane) return prefix .. ':open:' .. lane end,
    wake = function(lane) return prefix .. ':wake:' .. lane end,
    members = function(lane) return prefix .. ':lane:' .. lane .. ':members' end,
    held = function(gate) return prefix .. ':gate:' .. gate .. ':held' end,
    gate_lanes = function(gate) return prefix .. ':gate:' .. gate .. ':lanes' end,
    waiting = function(gate, lane) return prefix .. ':gate:' .. gate .. ':waiting:' .. lane end,
    action_pending = function(action) return prefix .. ':action:' .. action .. ':pending' end,
    action_stats = function(action) return prefix .. ':action:' .. action .. ':stats' end,
}
