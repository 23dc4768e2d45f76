-- Every key of the engine: the fixed ones are declared in KEYS in the order of scheduler/keys.py, those of one
-- id, lane, gate, action or caller are derived from the prefix here. A test holds this file against keys.py.
local K = {
    pending = KEYS[1], active = KEYS[2], lease = KEYS[3], pod_lease = KEYS[4], lanes = KEYS[5],
    scheduled = KEYS[6], limits = KEYS[7], paused = KEYS[8], settings = KEYS[9], users = KEYS[10],
    clock = KEYS[11], dead = KEYS[12], journal = KEYS[13], leader = KEYS[14], epoch = KEYS[15], rounds = KEYS[16],
}
local prefix = string.sub(K.pending, 1, -(#':pending' + 1))
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
