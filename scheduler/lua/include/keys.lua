-- Every key of the engine, derived from the prefix of the one key that a call declares. A cluster finds the slot by it,
-- and each further declared key would make every call slower. A test compares this file with scheduler/keys.py.
local K = {}
local prefix
local OWN_LANE = 'executions' -- the lane to which keys and settings that name no lane belong

do
    local FIXED = {
        'pending', 'active', 'lease', 'lanes', 'scheduled', 'limits', 'paused', 'settings', 'users', 'clock',
        'dead', 'journal', 'leader', 'epoch', 'rounds', 'changes', 'actions', 'deadlines', 'incarnation',
        'refusals', 'behind', 'rates', 'later', 'owners', 'weights',
        'ageing', 'crowded', 'auto_limits', 'due', 'schedules', 'schedule_names', 'schedule_times',
    }
    local DECLARED = ':settings'

    -- One server may hold several queues; most calls are for the same queue as the call before.
    at_begin(function()
        if KEYS[1] == K.settings then return end
        prefix = string.sub(KEYS[1], 1, -(#DECLARED + 1))
        for _, name in ipairs(FIXED) do K[name] = prefix .. ':' .. name end
        K.pod_lease = prefix .. ':lease:pods'
    end)
end

local D = {
    event = function(id) return prefix .. ':event:' .. id end,
    message = function(id) return prefix .. ':message:' .. id end,
    meta = function(id) return prefix .. ':meta:' .. id end,
    result = function(id) return prefix .. ':result:' .. id end,
    ended = function(id) return prefix .. ':end:' .. id end,
    reply = function(caller) return prefix .. ':reply:' .. caller end,
    ready = function(lane) return prefix .. ':ready:' .. lane end,
    flow = function(lane, gates) return prefix .. ':flow:' .. lane .. ':' .. gates end,
    open = function(lane) return prefix .. ':open:' .. lane end,
    pending = function(lane) return lane == OWN_LANE and K.pending or prefix .. ':lane:' .. lane .. ':pending' end,
    active = function(lane) return lane == OWN_LANE and K.active or prefix .. ':lane:' .. lane .. ':active' end,
    users = function(lane) return lane == OWN_LANE and K.users or prefix .. ':lane:' .. lane .. ':users' end,
    times = function(lane) return prefix .. ':lane:' .. lane .. ':times' end,
    tags = function(lane, band) return prefix .. ':lane:' .. lane .. ':tags:' .. band end,
    idle_tags = function(lane, band) return prefix .. ':lane:' .. lane .. ':tags:' .. band .. ':idle' end,
    wake = function(lane) return prefix .. ':wake:' .. lane end,
    outbox = function(lane) return prefix .. ':lane:' .. lane .. ':outbox' end,
    members = function(lane) return prefix .. ':lane:' .. lane .. ':members' end,
    held = function(gate) return prefix .. ':gate:' .. gate .. ':held' end,
    gate_lanes = function(gate) return prefix .. ':gate:' .. gate .. ':lanes' end,
    kind_lanes = function(kind) return prefix .. ':gate:' .. kind .. ':closed-lanes' end,
    waiting = function(gate, lane) return prefix .. ':gate:' .. gate .. ':waiting:' .. lane end,
    closed = function(kind, lane) return prefix .. ':gate:' .. kind .. ':closed:' .. lane end,
    later = function(lane) return prefix .. ':later:' .. lane end,
    rate_time = function(gate) return prefix .. ':gate:' .. gate .. ':rate' end,
    default_limits = function() return prefix .. ':limits:defaults' end,
    pauses = function(name) return prefix .. ':pauses:' .. name end,
    action_pending = function(action) return prefix .. ':action:' .. action .. ':pending' end,
    action_stats = function(action) return prefix .. ':action:' .. action .. ':stats' end,
    unique = function(key) return prefix .. ':unique:' .. key end,
    session = function(digest) return prefix .. ':session:' .. digest end,
    sessions = function(whose) return prefix .. ':sessions:' .. whose end,
    login = function(digest) return prefix .. ':login:' .. digest end,
    slot_members = function(owner) return prefix .. ':slots:' .. owner end,
    slot_news = function(owner) return prefix .. ':slots:' .. owner .. ':news' end,
}
