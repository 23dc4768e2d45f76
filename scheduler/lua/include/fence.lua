-- A leader's write carries its epoch and is refused once another was elected (D28); '' is a worker's own round.
local function is_fenced(epoch)
    if epoch == '' then return false end
    local leader = call('GET', K.leader)
    return not leader or string.match(leader, '^%d+') ~= epoch
end
