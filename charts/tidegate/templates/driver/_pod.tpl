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
  serviceAccountName: {{ include "tidegate.fullname" $root }}-{{ $name }}-executor
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
        # By this name Spark knows where its shuffles and RocksDB may be; its own would have no limit.
        - {name: spark-local-dir-1, mountPath: /var/data/spark}
        {{- include "tidegate.encryption.mount" . | nindent 8 }}
        {{- with $job.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - {name: tmp, emptyDir: {{ include "tidegate.emptyDir" $job.executorResources }}}
    - {name: spark-local-dir-1, emptyDir: {{ include "tidegate.emptyDir" $job.executorResources }}}
    {{- include "tidegate.encryption.volume" . | nindent 4 }}
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
{{- if include "tidegate.encrypted" $job }}
- --set=spark.authenticate=true
- --set=spark.authenticate.secret.file=/etc/tidegate/spark/secret
- --set=spark.network.crypto.enabled=true
- --set=spark.network.crypto.authEngineVersion=2
- --set=spark.network.crypto.cipher=AES/GCM/NoPadding
- --set=spark.network.crypto.saslFallback=false
- --set=spark.io.encryption.enabled=true
{{- end }}
- --set=spark.kubernetes.container.image.pullPolicy={{ $root.Values.image.pullPolicy }}
{{- range $key, $value := $job.settings }}
{{- /* YAML's numbers come as floats, and large ones would be written with an exponent. */}}
{{- $whole := and (kindIs "float64" $value) (eq (floor $value) $value) }}
- {{ printf "--set=%s=%v" $key (ternary (int64 $value) $value $whole) | quote }}
{{- end }}
{{- end }}

{{/* What a driver's pod tells it about itself. */}}
{{- define "tidegate.driver.env" -}}
{{- $root := .root }}
{{- $job := .job -}}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- name: TIDEGATE_IMAGE
  value: {{ include "tidegate.image" (dict "image" $root.Values.image "default" $root.Chart.AppVersion) }}
- {name: TIDEGATE_EXECUTOR_TEMPLATE, value: /etc/tidegate/pod/executor.yaml}
{{- include "tidegate.env" (dict "root" $root "job" $job) | nindent 0 }}
{{- with $job.driverEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What a driver mounts, besides its job: of its own, and with its executors. */}}
{{- define "tidegate.driver.mounts" -}}
- {name: pod, mountPath: /etc/tidegate/pod, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- include "tidegate.encryption.mount" . }}
{{- range concat (default list .job.volumeMounts) (default list .job.driverVolumeMounts) }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}

{{- define "tidegate.driver.volumes" -}}
- {name: tmp, emptyDir: {{ include "tidegate.emptyDir" .job.driverResources }}}
{{- include "tidegate.encryption.volume" . }}
{{- range concat (default list .job.volumes) (default list .job.driverVolumes) }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}

{{/* What the command line is given. */}}
{{- define "tidegate.driver.command" -}}
- run
- /etc/tidegate/job/job.sql
- --checkpoint={{ include "tidegate.checkpoint" (dict "root" .root "job" .job "name" .name) }}
{{ include "tidegate.driver.args" (dict "root" .root "job" .job) }}
{{- end }}

{{/* The pod of a driver, with or without arguments: an operator adds its own. */}}
{{- define "tidegate.driver.pod" -}}
{{- $root := .root }}
{{- $job := .job }}
{{- $name := .name }}
{{- $labels := dict "root" $root "component" "driver" "job" $name }}
{{- $full := printf "%s-%s" (include "tidegate.fullname" $root) $name -}}
metadata:
  labels: {{- include "tidegate.labels" $labels | nindent 4 }}
    {{- with $job.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ printf "%s%s" (tpl (default "" $job.sql) $root) (include "tidegate.executor" .) | sha256sum }}
    {{- with $job.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "tidegate.fullname" $root }}-{{ $name }}-driver
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $job.terminationGracePeriodSeconds }}
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
  {{- if and $root.Values.kafka.topics (or $root.Values.kafka.enabled $root.Values.kafka.servers) }}
  initContainers:
    - name: topics
      image: {{ include "tidegate.image" (dict "image" $root.Values.image "default" $root.Chart.AppVersion) }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      terminationMessagePolicy: FallbackToLogsOnError
      command: [/opt/tidegate/bin/python, /etc/tidegate/topics/topics.py]
      args:
        - {{ include "tidegate.kafka.servers" $root }}
        - {{ min 3 (ternary $root.Values.kafka.replicas 3 $root.Values.kafka.enabled) | quote }}
        {{- range $topic, $partitions := $root.Values.kafka.topics }}
        - {{ printf "%s=%v" $topic $partitions }}
        {{- end }}
      resources:
        requests: {cpu: 50m, memory: 64Mi}
        limits: {memory: 256Mi}
      securityContext: {{- include "tidegate.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - {name: topics, mountPath: /etc/tidegate/topics, readOnly: true}
  {{- end }}
  containers:
    - name: driver
      image: {{ include "tidegate.image" (dict "image" $root.Values.image "default" $root.Chart.AppVersion) }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      # What went wrong is the pod's status, too.
      terminationMessagePolicy: FallbackToLogsOnError
      {{- if .args }}
      args: {{- include "tidegate.driver.command" . | nindent 8 }}
      {{- end }}
      env: {{- include "tidegate.driver.env" (dict "root" $root "job" $job) | nindent 8 }}
      ports:
        - {name: metrics, containerPort: {{ $root.Values.metrics.port }}}
        - {name: driver, containerPort: 7078}
        - {name: blocks, containerPort: 7079}
        - {name: ui, containerPort: 4040}
      startupProbe:
        httpGet: {path: /healthz, port: metrics}
        periodSeconds: 2
        failureThreshold: 150
      readinessProbe:
        httpGet: {path: /readyz, port: metrics}
        periodSeconds: 5
        timeoutSeconds: 5
      livenessProbe:
        httpGet: {path: /healthz, port: metrics}
        periodSeconds: 20
        timeoutSeconds: 10
      {{- with $job.driverResources }}
      resources: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext: {{- include "tidegate.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - {name: job, mountPath: /etc/tidegate/job, readOnly: true}
        {{- include "tidegate.driver.mounts" . | nindent 8 }}
  volumes:
    - name: job
      configMap: {name: {{ default $full $job.existingConfigMap }}, items: [{key: job.sql, path: job.sql}]}
    - name: pod
      configMap: {name: {{ $full }}, items: [{key: executor.yaml, path: executor.yaml}]}
    {{- include "tidegate.driver.volumes" . | nindent 4 }}
    {{- if and $root.Values.kafka.topics (or $root.Values.kafka.enabled $root.Values.kafka.servers) }}
    - name: topics
      configMap: {name: {{ include "tidegate.fullname" $root }}-topics}
    {{- end }}
{{- end }}
