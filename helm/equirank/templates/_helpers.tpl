{{/* Name of every object of the release. */}}
{{- define "equirank.name" -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Labels of an object: (dict "root" $ "component" "api"). */}}
{{- define "equirank.labels" -}}
{{ include "equirank.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "equirank.selector" -}}
app.kubernetes.io/name: equirank
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Name, namespace and labels of an object: (dict "root" $ "component" "api"), optionally "name" and "annotations". */}}
{{- define "equirank.metadata" -}}
name: {{ .name | default (printf "%s-%s" (include "equirank.name" .root) .component) }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "equirank.labels" . | nindent 2 }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "equirank.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "equirank.keysSecret" -}}
{{ .Values.keys.existingSecret | default (printf "%s-keys" (include "equirank.name" .)) }}
{{- end }}

{{- define "equirank.claim" -}}
{{ .Values.checkpoints.volume.existingClaim | default (printf "%s-checkpoints" (include "equirank.name" .)) }}
{{- end }}

{{- define "equirank.head" -}}
{{ include "equirank.name" . }}-head-svc.{{ .Release.Namespace }}.svc:6379
{{- end }}

{{- define "equirank.rayToken" -}}
{{ .Values.ray.auth.existingSecret | default (include "equirank.name" .) }}
{{- end }}

{{- define "equirank.kafkaServers" -}}
{{- if .Values.demo.enabled }}{{ include "equirank.demoBrokers" (dict "root" $ "form" "%[2]s-%[1]d.%[2]s:9092") }}{{ else }}{{ required "kafka.bootstrapServers: name your brokers, or try values-demo.yaml" .Values.kafka.bootstrapServers }}{{ end }}
{{- end }}

{{/* The demo's brokers: (dict "root" $ "form" F), where F formats a broker's number and the name of their Service. */}}
{{- define "equirank.demoBrokers" -}}
{{- $service := printf "%s-kafka" (include "equirank.name" .root) }}
{{- $brokers := list }}
{{- range until (int .root.Values.demo.kafkaBrokers) }}{{ $brokers = append $brokers (printf $.form . $service) }}{{ end }}
{{- join "," $brokers }}
{{- end }}

{{/* Start command of each demo broker, which is also a controller. */}}
{{- define "equirank.demoBroker" -}}
{{- $kafka := printf "%s-kafka" (include "equirank.name" .) }}
{{- $brokers := int .Values.demo.kafkaBrokers }}
start: |
  set -eu
  cd /tmp
  cp /etc/kafka-demo/server.properties .
  echo "node.id=$NUMBER" >> server.properties
  echo "advertised.listeners=PLAINTEXT://{{ $kafka }}-$NUMBER.{{ $kafka }}:9092" >> server.properties
  /opt/kafka/bin/kafka-storage.sh format --ignore-formatted -t MkU3OEVBNTcwNTJENDM2Qk -c server.properties
  exec /opt/kafka/bin/kafka-server-start.sh server.properties
server.properties: |
  process.roles=broker,controller
  controller.quorum.voters={{ include "equirank.demoBrokers" (dict "root" $ "form" "%[1]d@%[2]s-%[1]d.%[2]s:9093") }}
  controller.listener.names=CONTROLLER
  listeners=PLAINTEXT://:9092,CONTROLLER://:9093
  listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
  log.dirs=/data/log
  offsets.topic.replication.factor={{ $brokers }}
  offsets.topic.num.partitions=1
  transaction.state.log.replication.factor={{ $brokers }}
  transaction.state.log.min.isr={{ ternary 2 1 (ge $brokers 3) }}
  group.initial.rebalance.delay.ms=0
  auto.create.topics.enable=false
  message.max.bytes=1100000
  log.cleaner.dedupe.buffer.size=8388608
{{- end }}

{{- define "equirank.redisHost" -}}
{{- if .Values.demo.enabled }}{{ include "equirank.name" . }}-redis{{ else }}{{ required "redis.host: name your Redis, or try values-demo.yaml" .Values.redis.host }}{{ end }}
{{- end }}

{{/* Options of kafka-python as a JSON object. The kubelet inserts the password. */}}
{{- define "equirank.kafkaOptions" -}}
{{- $kafka := .Values.kafka }}
{{- $options := deepCopy $kafka.options }}
{{- $protocol := ternary (ternary "SASL_SSL" "SSL" (ne $kafka.sasl.mechanism "")) (ternary "SASL_PLAINTEXT" "PLAINTEXT" (ne $kafka.sasl.mechanism "")) $kafka.tls.enabled }}
{{- if ne $protocol "PLAINTEXT" }}{{ $_ := set $options "security_protocol" $protocol }}{{ end }}
{{- with $kafka.tls.caSecret }}{{ $_ := set $options "ssl_cafile" (printf "/etc/equirank/kafka/%s" $kafka.tls.caKey) }}{{ end }}
{{- if $kafka.tls.clientSecret }}
{{- if not $kafka.tls.enabled }}{{ fail "kafka.tls.clientSecret needs kafka.tls.enabled=true" }}{{ end }}
{{- $_ := set $options "ssl_certfile" (printf "/etc/equirank/kafka-client/%s" $kafka.tls.clientCertificateKey) }}
{{- $_ := set $options "ssl_keyfile" (printf "/etc/equirank/kafka-client/%s" $kafka.tls.clientPrivateKeyKey) }}
{{- end }}
{{- if $kafka.sasl.mechanism }}
{{- $_ := set $options "sasl_mechanism" $kafka.sasl.mechanism }}
{{- $_ := set $options "sasl_plain_username" (required "kafka.sasl.username" $kafka.sasl.username) }}
{{- $_ := required "kafka.sasl.existingSecret: the Secret with the password" $kafka.sasl.existingSecret }}
{{- $_ := set $options "sasl_plain_password" "$(KAFKA_PASSWORD)" }}
{{- end }}
{{- toJson $options }}
{{- end }}

{{/* URL of Redis. The kubelet inserts the password. */}}
{{- define "equirank.redisUrl" -}}
{{- $redis := .Values.redis }}
{{- if $redis.username }}{{ $_ := required "redis.existingSecret: the Secret with the password of redis.username" $redis.existingSecret }}{{ end }}
{{- $user := ternary (printf "%s:$(REDIS_PASSWORD)@" $redis.username) "" (ne $redis.existingSecret "") }}
{{- $ca := ternary (printf "?ssl_ca_certs=/etc/equirank/redis/%s" $redis.tls.caKey) "" (ne $redis.tls.caSecret "") }}
{{- printf "%s://%s%s:%d/%d%s" (ternary "rediss" "redis" $redis.tls.enabled) $user (include "equirank.redisHost" .) (int $redis.port) (int $redis.database) $ca }}
{{- end }}

{{/* Passwords and the settings that contain them, for all processes that connect to the log or the store. */}}
{{- define "equirank.backendEnv" -}}
{{- with .Values.kafka.sasl.existingSecret }}
- {name: KAFKA_PASSWORD, valueFrom: {secretKeyRef: {name: {{ . }}, key: {{ $.Values.kafka.sasl.passwordKey }}}}}
{{- end }}
{{- with .Values.redis.existingSecret }}
- {name: REDIS_PASSWORD, valueFrom: {secretKeyRef: {name: {{ . }}, key: {{ $.Values.redis.passwordKey }}}}}
{{- end }}
- {name: EQUIRANK_KAFKA_OPTIONS, value: {{ include "equirank.kafkaOptions" . | quote }}}
- {name: EQUIRANK_REDIS, value: {{ include "equirank.redisUrl" . | quote }}}
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
{{- end }}

{{/* Settings without secrets, and the credentials of the object store. */}}
{{- define "equirank.envFrom" -}}
- configMapRef: {name: {{ include "equirank.name" . }}-settings}
{{- with .Values.checkpoints.environmentSecret }}
- secretRef: {name: {{ . }}}
{{- end }}
{{- end }}

{{- define "equirank.keysEnv" -}}
- {name: EQUIRANK_WRITE_KEYS, valueFrom: {secretKeyRef: {name: {{ include "equirank.keysSecret" . }}, key: write-keys}}}
- {name: EQUIRANK_ADMIN_KEYS, valueFrom: {secretKeyRef: {name: {{ include "equirank.keysSecret" . }}, key: admin-keys}}}
{{- end }}

{{/* The root file system is read-only, so processes write to /tmp only. */}}
{{- define "equirank.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if not .Values.checkpoints.url }}
- {name: checkpoints, mountPath: /checkpoints}
{{- end }}
{{- if .Values.kafka.tls.caSecret }}
- {name: kafka-ca, mountPath: /etc/equirank/kafka, readOnly: true}
{{- end }}
{{- if .Values.kafka.tls.clientSecret }}
- {name: kafka-client, mountPath: /etc/equirank/kafka-client, readOnly: true}
{{- end }}
{{- if .Values.redis.tls.caSecret }}
- {name: redis-ca, mountPath: /etc/equirank/redis, readOnly: true}
{{- end }}
{{- end }}

{{- define "equirank.volumes" -}}
- {name: tmp, emptyDir: {}}
{{- if not .Values.checkpoints.url }}
- {name: checkpoints, persistentVolumeClaim: {claimName: {{ include "equirank.claim" . }}}}
{{- end }}
{{- with .Values.kafka.tls.caSecret }}
- {name: kafka-ca, secret: {secretName: {{ . }}}}
{{- end }}
{{- with .Values.kafka.tls.clientSecret }}
- {name: kafka-client, secret: {secretName: {{ . }}}}
{{- end }}
{{- with .Values.redis.tls.caSecret }}
- {name: redis-ca, secret: {secretName: {{ . }}}}
{{- end }}
{{- end }}

{{/* Security context of the restricted pod security standard. */}}
{{- define "equirank.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.podSecurity.runAsUser }}
  runAsGroup: {{ .Values.podSecurity.runAsUser }}
  fsGroup: {{ .Values.podSecurity.fsGroup }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
# Environment variables that Kubernetes derives from Services would be read as settings.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "equirank.containerSecurity" -}}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end }}

{{/* Placement of pods: (dict "root" $ "values" .Values.api). */}}
{{- define "equirank.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Spread pods of a component over nodes: (dict "root" $ "component" "shards"). */}}
{{- define "equirank.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app.kubernetes.io/instance: {{ .root.Release.Name }}, app.kubernetes.io/component: {{ .component }}}}
{{- end }}

{{/* Settings without secrets. A change of them restarts engine and API. */}}
{{- define "equirank.settings" -}}
{{- range $name, $value := .Values.settings }}
{{- /* Helm reads numbers from files as float64, and would write 10000000 as 1e+07. */ -}}
{{- $whole := and (kindIs "float64" $value) (eq (toString (floor $value)) (toString $value)) }}
EQUIRANK_{{ upper $name }}: {{ if $whole }}{{ printf "%.0f" $value | quote }}{{ else if or (kindIs "slice" $value) (kindIs "map" $value) }}{{ toJson $value | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
EQUIRANK_KAFKA: {{ include "equirank.kafkaServers" . | quote }}
EQUIRANK_KAFKA_REPLICATION: {{ ternary .Values.demo.kafkaBrokers .Values.kafka.replication .Values.demo.enabled | quote }}
EQUIRANK_TOPIC_PREFIX: {{ .Values.kafka.topicPrefix | quote }}
EQUIRANK_PARTITIONS: {{ .Values.partitions | quote }}
EQUIRANK_SHARDS: {{ .Values.shards.count | quote }}
EQUIRANK_SOLVE_WORKERS: {{ mul .Values.solves.cpus .Values.solves.maxReplicas | quote }}
EQUIRANK_CHECKPOINTS: {{ .Values.checkpoints.url | default "file:///checkpoints" | quote }}
EQUIRANK_CHECKPOINTS_SHARED: {{ not .Values.checkpoints.url | quote }}
{{- end }}

{{/* "true" if Ray's autoscaler runs, else empty. */}}
{{- define "equirank.autoscaled" -}}
{{- if gt (int .Values.solves.maxReplicas) (int .Values.solves.minReplicas) }}true{{ end }}
{{- end }}

{{- define "equirank.shardPods" -}}
{{ add (ceil (divf .Values.shards.count .Values.shards.perPod)) .Values.shards.sparePods }}
{{- end }}
