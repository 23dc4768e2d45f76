{{/* Names, labels and the parts that several pods share. */}}

{{- define "bandmaster.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "bandmaster.selector" -}}
app.kubernetes.io/name: bandmaster
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bandmaster.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "bandmaster.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "bandmaster.image" -}}
{{- with .Values.image -}}
{{- $_ := required "image.repository: name the image that you have built and pushed, for instance registry.example/bandmaster: docs/kubernetes.md" .repository -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "bandmaster.executionsNamespace" -}}
{{- $name := .Values.executions.namespace | default (printf "%s-executions" .Release.Namespace) -}}
{{- if has $name (list "default" "kube-system" "kube-public" "kube-node-lease") -}}
{{- fail (printf "executions.namespace: %q is everyone's; use a namespace of its own" $name) -}}
{{- end -}}
{{- if eq $name .Release.Namespace -}}
{{- fail (printf "executions.namespace: %q is the release's own; whoever may create pods in a namespace may read its Secrets" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "bandmaster.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (printf "%s-worker" (include "bandmaster.name" .)) -}}
{{- else -}}
{{- required "serviceAccount.name: needed if serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "bandmaster.apiServiceAccount" -}}
{{- if .Values.api.serviceAccount.create -}}
{{- .Values.api.serviceAccount.name | default (printf "%s-api" (include "bandmaster.name" .)) -}}
{{- else -}}
{{- required "api.serviceAccount.name: needed if api.serviceAccount.create is false" .Values.api.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "bandmaster.redisSecret" -}}
{{- if .Values.redis.existingSecret -}}
{{- .Values.redis.existingSecret -}}
{{- else if .Values.redis.trial.enabled -}}
{{- printf "%s-redis" (include "bandmaster.name" .) -}}
{{- else -}}
{{- fail "redis.existingSecret: needed if redis.trial.enabled is false" -}}
{{- end -}}
{{- end -}}

{{/* The settings as variables: a list of texts is one text with commas, a table or a list of tables is JSON. */}}
{{- define "bandmaster.settings" -}}
{{- range $section, $settings := .Values.settings }}
{{- range $name, $value := $settings }}
{{- $text := toString $value }}
{{- if or (kindIs "map" $value) (and (kindIs "slice" $value) (kindIs "map" (first $value))) }}
{{- $text = toJson $value }}
{{- else if kindIs "slice" $value }}
{{- $text = join "," $value }}
{{- end }}
{{ printf "BANDMASTER_%s__%s" (upper $section) (upper $name) }}: {{ $text | quote }}
{{- end }}
{{- end }}
BANDMASTER_K8S__BACKEND: kubernetes
BANDMASTER_K8S__NAMESPACE: {{ include "bandmaster.executionsNamespace" . }}
BANDMASTER_K8S__INSTALLATION: {{ .Release.Name | quote }}
BANDMASTER_PATHS__VAR_DIR: /var/lib/bandmaster
BANDMASTER_PATHS__PULSE_DIR: /var/lib/bandmaster/pulse
{{- end -}}

{{- define "bandmaster.environment" -}}
envFrom:
  - configMapRef:
      name: {{ include "bandmaster.name" . }}-settings
env:
  - name: BANDMASTER_REDIS__URL
    valueFrom:
      secretKeyRef:
        name: {{ include "bandmaster.redisSecret" . }}
        key: url
{{- end -}}

{{/* The variable with the database's URL. Called with the Secret's name. */}}
{{- define "bandmaster.ledgerUrl" -}}
- name: BANDMASTER_LEDGER__URL
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: url
{{- end -}}

{{/* The variable with what signs notifications, if there is a Secret of it. Called with the Secret's name. */}}
{{- define "bandmaster.notifySecret" -}}
- name: BANDMASTER_NOTIFY__SECRET
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: secret
{{- end -}}

{{/* The variable with the key of programs' tokens, if there is a Secret of it. Called with the Secret's name. */}}
{{- define "bandmaster.itemsKey" -}}
- name: BANDMASTER_ITEMS__TOKEN_KEY
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: key
{{- end -}}

{{/* Who serves /metrics: the ledger, or, without one, the scheduler. */}}
{{- define "bandmaster.metricsComponent" -}}
{{- ternary "ledger" "scheduler" .Values.ledger.enabled -}}
{{- end -}}

{{/* Its variables and its port. Called with the context and the name of the setting of its port. */}}
{{- define "bandmaster.metricsEnvironment" -}}
{{- with .context.Values.metrics }}
- {name: BANDMASTER_METRICS__HOST, value: {{ .host | quote }}}
- {name: {{ $.variable }}, value: {{ .port | quote }}}
{{- end }}
{{- end -}}

{{- define "bandmaster.metricsPort" -}}
- {name: metrics, containerPort: {{ .Values.metrics.port }}, protocol: TCP}
{{- end -}}

{{/* The rule of its pods' NetworkPolicy. */}}
{{- define "bandmaster.metricsIngress" -}}
- {{ with .Values.networkPolicy.metrics.peers }}from:
    {{- toYaml . | nindent 4 }}
  {{ end }}ports:
    - {protocol: TCP, port: {{ .Values.metrics.port }}}
{{- end -}}

{{/* The security context that Pod Security's `restricted` profile requires, and a read-only root file system. */}}
{{- define "bandmaster.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "bandmaster.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* The probes, which probe.py explains. A start takes as long as the imports and the wait for the server. */}}
{{- define "bandmaster.probes" -}}
startupProbe:
  exec:
    command: [python3, -IS, /opt/bandmaster/probe.py, alive]
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  exec:
    command: [python3, -IS, /opt/bandmaster/probe.py, alive, {{ .Values.probes.staleSeconds | quote }}]
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  exec:
    command: [python3, -IS, /opt/bandmaster/probe.py, ready, {{ .Values.probes.staleSeconds | quote }}]
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
{{- end -}}

{{/* The placement of a component's pods. Called with the component's values, and its selector for an even spread. */}}
{{- define "bandmaster.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "bandmaster.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "bandmaster.selector" .context | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Egress of worker and API: Kubernetes' API server. */}}
{{- define "bandmaster.apiServerEgress" -}}
- to:
    {{- range .Values.networkPolicy.apiServer.cidrs }}
    - ipBlock: {cidr: {{ . | quote }}}
    {{- end }}
  ports:
    {{- range .Values.networkPolicy.apiServer.ports }}
    - {protocol: TCP, port: {{ . }}}
    {{- end }}
{{- end -}}

{{/* Egress that worker, scheduler, ledger and API share: DNS and the Redis server. */}}
{{- define "bandmaster.egress" -}}
{{- with .Values.networkPolicy.dns }}
- to:
    {{- toYaml . | nindent 4 }}
  ports:
    - {protocol: UDP, port: 53}
    - {protocol: TCP, port: 53}
{{- end }}
{{- if .Values.redis.trial.enabled }}
- to:
    - podSelector:
        matchLabels:
          {{- include "bandmaster.selector" . | nindent 10 }}
          app.kubernetes.io/component: redis
  ports:
    - {protocol: TCP, port: 6379}
{{- else }}
- {{ with .Values.networkPolicy.redis.peers }}to:
    {{- toYaml . | nindent 4 }}
  {{ end }}ports:
    - {protocol: TCP, port: {{ .Values.networkPolicy.redis.port }}}
{{- end }}
{{- end -}}
