{{/* The labels by which a component's pods are selected. Call: dict "root" $ "component" "proxy" */}}
{{- define "nncache.selector" -}}
app.kubernetes.io/name: nncache
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "nncache.labels" -}}
{{ include "nncache.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "nncache.name" -}}
{{ .root.Release.Name | trunc 40 | trimSuffix "-" }}-{{ .component }}
{{- end }}

{{- define "nncache.secret" -}}
{{- if .Values.secret.files }}{{ .Values.secret.name | default (printf "%s-secret" (.Release.Name | trunc 40 | trimSuffix "-")) }}{{ else }}{{ .Values.secret.name }}{{ end }}
{{- end }}

{{/* The scheme of the admin port: with TLS it takes no plain HTTP, and a probe would have each pod restarted. */}}
{{- define "nncache.scheme" -}}
{{ if regexMatch "(?m)^ *admin_tls_certificate *=" .Values.settings }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{/* A Deployment with its disruption budget. Call: dict "root" $ "component" "proxy" "values" .Values.proxy "admin" 9872 */}}
{{- define "nncache.deployment" -}}
{{- $root := .root }}
{{- $values := $root.Values }}
{{- $scheme := include "nncache.scheme" $root }}
{{- $secret := include "nncache.secret" $root }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "nncache.name" . }}
  labels: {{- include "nncache.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels: {{- include "nncache.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "nncache.labels" . | nindent 8 }}
      annotations:
        checksum/settings: {{ $values.settings | sha256sum }}
        {{- if not $values.podMonitor.enabled }}
        prometheus.io/scrape: "true"
        prometheus.io/scheme: {{ lower $scheme }}
        prometheus.io/port: {{ .admin | quote }}
        prometheus.io/path: /metrics
        {{- end }}
    spec:
      {{- with .values.terminationGracePeriodSeconds }}
      terminationGracePeriodSeconds: {{ . }}
      {{- end }}
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      {{- with $values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.topologyKeys }}
      topologySpreadConstraints:
        {{- range . }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "nncache.selector" $ | nindent 14 }}
        {{- end }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if $secret }}
      # nncache refuses a secret that others may read, and Kubernetes lets the group read what an fsGroup gives.
      initContainers:
        - name: secret
          image: {{ $values.image.repository }}:{{ $values.image.tag | default $root.Chart.AppVersion }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          command: [sh, -c, "install -m 400 /given/* /secret/"]
          resources:
            limits: {memory: 64Mi}
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
          volumeMounts:
            - {name: given, mountPath: /given, readOnly: true}
            - {name: secret, mountPath: /secret}
      {{- end }}
      containers:
        - name: nncache
          image: {{ $values.image.repository }}:{{ $values.image.tag | default $root.Chart.AppVersion }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          args:
            - {{ .component }}
            - --config=/etc/nncache/nncache.toml
            - --admin=0.0.0.0:{{ .admin }}
            {{- if eq .component "proxy" }}
            - --listen=0.0.0.0:9871
            - --lame-duck-s={{ .values.lameDuckSeconds }}
            {{- end }}
            {{- if $values.registry }}
            - --registry
            - --registry-host=$(POD_IP)
            {{- end }}
          env:
            - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
          ports:
            {{- if eq .component "proxy" }}
            - {name: webhdfs, containerPort: 9871}
            {{- end }}
            - {name: admin, containerPort: {{ .admin }}}
          {{- if eq .component "proxy" }}
          readinessProbe:
            httpGet: {path: /ready, port: admin, scheme: {{ $scheme }}}
            periodSeconds: 2
          {{- end }}
          # A publisher that stands by is not ready, and has to be there: it has no readiness probe.
          livenessProbe:
            httpGet: {path: /health, port: admin, scheme: {{ $scheme }}}
            periodSeconds: 10
            failureThreshold: 6
          resources: {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: settings, mountPath: /etc/nncache/nncache.toml, subPath: nncache.toml, readOnly: true}
            {{- if $secret }}
            - {name: secret, mountPath: /etc/nncache/secret, readOnly: true}
            {{- end }}
      volumes:
        - name: settings
          configMap: {name: {{ include "nncache.name" (dict "root" $root "component" "settings") }}}
        {{- if $secret }}
        - name: given
          secret: {secretName: {{ $secret }}, defaultMode: 0440}
        - name: secret
          emptyDir: {medium: Memory, sizeLimit: 1Mi}
        {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "nncache.name" . }}
  labels: {{- include "nncache.labels" . | nindent 4 }}
spec:
  {{- toYaml .values.podDisruptionBudget | nindent 2 }}
  selector:
    matchLabels: {{- include "nncache.selector" . | nindent 6 }}
{{- if $values.podMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: {{ include "nncache.name" . }}
  labels:
    {{- include "nncache.labels" . | nindent 4 }}
    {{- with $values.podMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels: {{- include "nncache.selector" . | nindent 6 }}
  podMetricsEndpoints:
    - port: admin
      path: /metrics
      scheme: {{ lower $scheme }}
      {{- if eq $scheme "HTTPS" }}
      tlsConfig: {insecureSkipVerify: true} # by its address, which no certificate names
      {{- end }}
      interval: {{ $values.podMonitor.interval }}
      honorLabels: true # nncache's label `namespace` is one of HDFS
{{- end }}
{{- end }}
