{{/* The pod of executors, as Spark's template of it. */}}
{{- define "tidegate.executor" -}}
{{- $root := .root }}
{{- $job := .job }}
{{- $name := .name -}}
apiVersion: v1
kind: Pod
metadata:
  labels: {{- include "tidegate.labels" (dict "root" $root "component" "executor" "job" $name) | nindent 4 }}
    {{- with $job.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $job.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "tidegate.fullname" $root }}-executor
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext: {{- include "tidegate.podSecurity" 185 | nindent 4 }}
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets: {{- include "tidegate.pullSecrets" . | nindent 4 }}
  {{- end }}
  {{- with $job.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $job.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $job.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $job.spread }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: {{ $job.spread }}
      labelSelector:
        matchLabels: {{- include "tidegate.selector" (dict "root" $root "component" "executor" "job" $name) | nindent 10 }}
  {{- end }}
  containers:
    - name: executor
      securityContext: {{- include "tidegate.containerSecurity" . | nindent 8 }}
      env: {{- include "tidegate.env" (dict "root" $root "job" $job) | nindent 8 }}
      {{- with $job.executorResources }}
      resources: {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        {{- with $job.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - {name: tmp, emptyDir: {}}
    {{- with $job.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* How a driver is run, besides its SQL and its checkpoint. */}}
{{- define "tidegate.driver.args" -}}
{{- $root := .root }}
{{- $job := .job -}}
# By address: a DNS that is away must not keep a driver from starting.
- --master=k8s://https://$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)
- --set=tidegate.parallelism={{ mul $job.executors $job.executorCores }}
- --set=tidegate.metrics.address=:{{ $root.Values.metrics.port }}
- --set=spark.ui.enabled=true
- --set=spark.ui.port=4040
- --set=spark.ui.killEnabled=false
- --set=spark.executor.instances={{ $job.executors }}
- --set=spark.executor.cores={{ $job.executorCores }}
- --set=spark.executor.memory={{ $job.executorHeap }}
- --set=spark.executor.memoryOverhead={{ $job.executorOverhead }}
- --set=spark.driver.memory={{ $job.driverHeap }}
{{- with ($job.executorResources.requests).cpu }}
- --set=spark.kubernetes.executor.request.cores={{ . }}
{{- end }}
{{- with ($job.executorResources.limits).cpu }}
- --set=spark.kubernetes.executor.limit.cores={{ . }}
{{- end }}
- --set=spark.kubernetes.container.image.pullPolicy={{ $root.Values.image.pullPolicy }}
{{- range $key, $value := $job.settings }}
- {{ printf "--set=%s=%v" $key $value | quote }}
{{- end }}
{{- end }}

{{/* What a driver's pod tells it about itself. */}}
{{- define "tidegate.driver.env" -}}
{{- $root := .root }}
{{- $job := .job -}}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- name: TIDEGATE_IMAGE
  value: {{ include "tidegate.image" (dict "image" $root.Values.image "default" $root.Chart.AppVersion) }}
- {name: TIDEGATE_EXECUTOR_TEMPLATE, value: /etc/tidegate/pod/executor.yaml}
{{- include "tidegate.env" (dict "root" $root "job" $job) | nindent 0 }}
{{- end }}
