{{- define "tidegate.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 31 | trimSuffix "-" -}}
{{- end }}

{{/* Labels of everything; component and job, where there is one, in a dict. */}}
{{- define "tidegate.labels" -}}
{{ include "tidegate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tidegate.selector" -}}
app.kubernetes.io/name: tidegate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .job }}
tidegate.dev/job: {{ . }}
{{- end }}
{{- end }}

{{- define "tidegate.image" -}}
{{- $tag := default .default .image.tag -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ $tag }}
{{- end -}}
{{- end }}

{{/* What a job is: its own values over the defaults. */}}
{{- define "tidegate.job" -}}
{{ toYaml (mergeOverwrite (deepCopy .root.Values.defaults) .job) }}
{{- end }}

{{/* All that has a driver, by name: the jobs and, where there is one, the test's. */}}
{{- define "tidegate.runs" -}}
{{- $runs := dict -}}
{{- range $name, $given := .Values.jobs -}}
{{- $_ := set $runs $name (omit (include "tidegate.job" (dict "root" $ "job" $given) | fromYaml) "sql") -}}
{{- end -}}
{{- if include "tidegate.tested" . -}}
{{- $_ := set $runs "helm-test" .Values.defaults -}}
{{- end -}}
{{ toYaml $runs }}
{{- end }}

{{/* Whether a job's processes know each other by a secret, and encrypt: unless that is switched off. */}}
{{- define "tidegate.encrypted" -}}
{{- if ne (toString .encryption) "false" -}}
yes
{{- end -}}
{{- end }}

{{/* The secret that a job's driver and executors share. */}}
{{- define "tidegate.encryption.secret" -}}
{{- default (printf "%s-%s-spark" (include "tidegate.fullname" .root) .name) .job.encryptionSecret -}}
{{- end }}

{{- define "tidegate.encryption.volume" -}}
{{- if include "tidegate.encrypted" .job }}
- name: spark-secret
  secret:
    secretName: {{ include "tidegate.encryption.secret" . }}
    items: [{key: secret, path: secret}]
    defaultMode: 288  # 0440, as every reader of YAML understands it
{{- end }}
{{- end }}

{{- define "tidegate.encryption.mount" -}}
{{- if include "tidegate.encrypted" .job }}
- {name: spark-secret, mountPath: /etc/tidegate/spark, readOnly: true}
{{- end }}
{{- end }}

{{/* A directory that is gone with its pod, as large as its container may have on the disk. */}}
{{- define "tidegate.emptyDir" -}}
{{- with get (default dict .limits) "ephemeral-storage" -}}
{sizeLimit: {{ . }}}
{{- else -}}
{}
{{- end -}}
{{- end }}

{{- define "tidegate.kafka.servers" -}}
{{- if .Values.kafka.servers -}}
{{ .Values.kafka.servers }}
{{- else -}}
{{- $name := printf "%s-kafka" (include "tidegate.fullname" .) -}}
{{- $servers := list -}}
{{- range $number := until (int .Values.kafka.replicas) -}}
{{- $servers = append $servers (printf "%s-%d.%s.%s.svc:9092" $name $number $name $.Release.Namespace) -}}
{{- end -}}
{{ join "," $servers }}
{{- end -}}
{{- end }}

{{- define "tidegate.s3.endpoint" -}}
{{- if .Values.s3.endpoint -}}
{{ .Values.s3.endpoint }}
{{- else if .Values.minio.enabled -}}
http://{{ include "tidegate.fullname" . }}-minio.{{ .Release.Namespace }}.svc:9000
{{- end -}}
{{- end }}

{{- define "tidegate.s3.secret" -}}
{{- if .Values.s3.existingSecret -}}
{{ .Values.s3.existingSecret }}
{{- else if .Values.minio.enabled -}}
{{ default (printf "%s-minio" (include "tidegate.fullname" .)) .Values.minio.existingSecret }}
{{- end -}}
{{- end }}

{{- define "tidegate.checkpoint" -}}
{{- $base := .job.checkpoint -}}
{{- if and (not $base) .root.Values.minio.enabled -}}
{{- $base = printf "s3://%s/%s" .root.Values.minio.bucket .root.Release.Name -}}
{{- end -}}
{{ trimSuffix "/" $base }}/{{ .name }}
{{- end }}

{{/* The variables of driver and executors. */}}
{{- define "tidegate.env" -}}
{{- with include "tidegate.s3.endpoint" .root }}
- {name: AWS_ENDPOINT_URL, value: {{ . | quote }}}
{{- end }}
- {name: AWS_REGION, value: {{ .root.Values.s3.region | quote }}}
{{- with include "tidegate.s3.secret" .root }}
- name: AWS_ACCESS_KEY_ID
  valueFrom: {secretKeyRef: {name: {{ . }}, key: AWS_ACCESS_KEY_ID}}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: AWS_SECRET_ACCESS_KEY}}
{{- end }}
- {name: MALLOC_ARENA_MAX, value: "2"}
{{- with .job.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The restricted profile of Kubernetes' pod security standards. */}}
{{- define "tidegate.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "tidegate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "tidegate.pullSecrets" -}}
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}

{{/* Whether there is what `helm test` needs: a Kafka without passwords, and a place for a checkpoint. */}}
{{- define "tidegate.tested" -}}
{{- if and (or .Values.kafka.enabled .Values.kafka.servers) (or .Values.minio.enabled .Values.defaults.checkpoint) -}}
yes
{{- end -}}
{{- end }}
