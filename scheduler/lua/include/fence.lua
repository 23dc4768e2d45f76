-- Who may act. A leader's write carries its epoch and is refused once another was elected (D28); '' is a worker's own round.
local function is_fenced(epoch)
    if epoch == '' then return false end
    local leader = call('GET', K.leader)
    return not leader or string.match(leader, '^%d+') ~= epoch
end

-- A server that came back with older data gives the same attempt twice (F14). So a thread names its grant's nonce, and who
-- speaks for a pod `pod:` and its UID, which holds once a pod is noted; '' is for who knows the attempt alone.
local function is_holder(id, m, attempt, holder)
    if attempt ~= '' and attempt ~= m.attempt then return false end
    if holder == '' or holder == m.nonce then return true end
    local uid, pod_uid = string.match(holder, '^pod:(.*)$'), field(id, 'pod_uid')
    return uid and (not pod_uid or pod_uid == uid)
end
