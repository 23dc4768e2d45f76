-- A leader's write carries its epoch and is refused once another was elected (D28); '' is a worker's own round.
local function is_fenced(epoch)
    if epoch == '' then return false end
    local leader = call('GET', K.leader)
    return not leader or string.match(leader, '^%d+') ~= epoch
end

-- A restored server may give an attempt number twice (F14). So a thread gives its grant's nonce, and calls about a pod
-- give `pod:` and its UID, which is compared once the pod is recorded; '' if the caller knows only the attempt.
local function is_holder(id, m, attempt, holder)
    if attempt ~= '' and attempt ~= m.attempt then return false end
    if holder == '' or holder == m.nonce then return true end
    local uid, pod_uid = string.match(holder, '^pod:(.*)$'), field(id, 'pod_uid')
    return uid and (not pod_uid or pod_uid == uid)
end
