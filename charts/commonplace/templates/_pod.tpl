{{- define "commonplace.image" -}}
{{- $image := .root.Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end -}}
{{ $image.repository }}-{{ .name }}:{{ .tag | default $image.tag | default .root.Chart.AppVersion }}
{{- with index $image.digests .name }}@{{ . }}{{ end -}}
{{- end }}

{{- /*
What Node runs in a container that serves, as a YAML list: the program, with a larger young generation. Takes the root. Empty
with `liveUpdate`, whose image starts the program itself.
*/ -}}
{{- define "commonplace.serveArgs" -}}
{{- ternary (list) (list "--max-semi-space-size=32" "main.mjs") .Values.liveUpdate | toYaml -}}
{{- end }}

{{- /*
A pod of one container, and of one that runs before it where there is something to be done first. Takes
  root, component  whose pod it is
  image            which service's image; tag, where it is another than the others'
  args             what Node runs; what the image says if empty
  env              list of variables, as text; envFromSecret
  ports, probes    as text
  resources        of the container
  claim            claim of the volume /data; `template` for one of the StatefulSet's own
  tls              Secret with its certificate for the mesh
  serves           whether calls have to be finished before it ends
  once             whether it ends by itself
  account          its service account, instead of the release's
  before           containers that run first, one after the other: name and args of each, and what else is not as with the
                   other container
  own              what the values of the service say: podAnnotations, nodeSelector, tolerations, affinity,
                   priorityClassName, tmpSize, extraEnv, extraVolumes, extraVolumeMounts
*/ -}}
{{- define "commonplace.pod" -}}
{{- $v := .root.Values -}}
{{- $own := .own | default dict -}}
{{- $annotations := mergeOverwrite (deepCopy $v.podAnnotations) ($own.podAnnotations | default dict) -}}
{{- with include "commonplace.checksum" . -}}
{{- $_ := set $annotations "checksum/config" . -}}
{{- end -}}
metadata:
  labels:
    {{- /* Without the chart's version: a pod is made anew when something of its own is another. */ -}}
    {{- include "commonplace.selector" . | nindent 4 }}
    app.kubernetes.io/version: {{ .tag | default $v.image.tag | default .root.Chart.AppVersion | quote }}
    {{- with $v.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ .account | default (include "commonplace.fullname" .root) }}
  automountServiceAccountToken: false
  # Variables of Services would look like settings: COMMONPLACE_PORT.
  enableServiceLinks: false
  {{- with $v.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with $own.priorityClassName | default $v.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $own.nodeSelector | default $v.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.tolerations | default $v.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.affinity | default $v.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .once }}
  restartPolicy: Never
  {{- else }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: {{ ternary $v.topologySpread.whenUnsatisfiable "ScheduleAnyway" (eq . "kubernetes.io/hostname") }}
      labelSelector:
        matchLabels:
          {{- include "commonplace.selector" (dict "root" $.root "component" $.component) | nindent 10 }}
      # A node that is being emptied is no place to spread to.
      nodeTaintsPolicy: Honor
      matchLabelKeys: [{{ ternary "controller-revision-hash" "pod-template-hash" (eq $v.profile "embedded") }}]
    {{- end }}
  {{- end }}
  # A process ends within 25 s of its signal, which comes 5 s later than the word to those who call it.
  terminationGracePeriodSeconds: {{ ternary 35 5 (not (not .serves)) }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .before }}
  initContainers:
    {{- range . }}
    - name: {{ .name }}
      {{- /* A copy, without what belongs to all of the chart: merging changes maps within. */ -}}
      {{- $as := mergeOverwrite (deepCopy (omit $ "root" "before")) . (dict "root" $.root) }}
      {{- include "commonplace.container" $as | trim | nindent 6 }}
    {{- end }}
  {{- end }}
  containers:
    - name: {{ .component }}
      {{- include "commonplace.container" . | trim | nindent 6 }}
      {{- with .ports }}
      ports:
        {{- . | trim | nindent 8 }}
      {{- end }}
      {{- with .probes }}
      {{- . | trim | nindent 6 }}
      {{- end }}
      {{- if .serves }}
      lifecycle:
        preStop:
          sleep:
            seconds: 5
      {{- end }}
  volumes:
    - name: tmp
      emptyDir:
        sizeLimit: {{ $own.tmpSize | default $v.serviceDefaults.tmpSize }}
    {{- if and .claim (ne .claim "template") }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .claim }}
    {{- end }}
    {{- with .tls }}
    # As a folder, so that what is renewed arrives.
    - name: tls
      secret:
        secretName: {{ . }}
        defaultMode: 0440
        items:
          - { key: tls.crt, path: tls.crt }
          - { key: tls.key, path: tls.key }
          - { key: ca.crt, path: ca.crt }
    {{- end }}
    {{- with $v.privateCA.existingSecret }}
    - name: private-ca
      secret:
        secretName: {{ . }}
        items:
          - { key: {{ $v.privateCA.key }}, path: ca.crt }
    {{- end }}
    {{- with $v.privateCA.existingConfigMap }}
    - name: private-ca
      configMap:
        name: {{ . }}
        items:
          - { key: {{ $v.privateCA.key }}, path: ca.crt }
    {{- end }}
    {{- with concat $v.extraVolumes ($own.extraVolumes | default list) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- /*
A checksum of the Secrets and ConfigMaps that a pod reads, so that an upgrade replaces pods whose Secrets have changed:
processes read them at start. Nothing where there is no cluster to look into, as in `helm template`.
*/ -}}
{{- define "commonplace.checksum" -}}
{{- $v := .root.Values -}}
{{- $secrets := list -}}
{{- range .env | fromYamlArray -}}
{{- $secrets = append $secrets (dig "valueFrom" "secretKeyRef" "name" "" .) -}}
{{- end -}}
{{- $secrets = append $secrets (.envFromSecret | default "") -}}
{{- $secrets = append $secrets $v.privateCA.existingSecret -}}
{{- $contents := list -}}
{{- range $secrets | uniq | sortAlpha -}}
{{- if . -}}
{{- with lookup "v1" "Secret" $.root.Release.Namespace . -}}
{{- $contents = append $contents (dict "name" .metadata.name "data" (.data | default dict)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $v.privateCA.existingConfigMap -}}
{{- with lookup "v1" "ConfigMap" $.root.Release.Namespace . -}}
{{- $contents = append $contents (dict "name" .metadata.name "data" (.data | default dict)) -}}
{{- end -}}
{{- end -}}
{{- if $contents -}}
{{- toJson $contents | sha256sum -}}
{{- end -}}
{{- end }}

{{- /* What the containers of a pod have in common. */ -}}
{{- define "commonplace.container" -}}
{{- $v := .root.Values -}}
{{- $own := .own | default dict -}}
image: {{ include "commonplace.image" (dict "root" .root "name" .image "tag" .tag) }}
imagePullPolicy: {{ $v.image.pullPolicy }}
{{- with .args }}
args:
  {{- toYaml . | nindent 2 }}
{{- end }}
env:
  {{- .env | trim | nindent 2 }}
  {{- if or $v.privateCA.existingSecret $v.privateCA.existingConfigMap }}
  - name: NODE_EXTRA_CA_CERTS
    value: /private-ca/ca.crt
  {{- end }}
  {{- with concat $v.extraEnv ($own.extraEnv | default list) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .envFromSecret }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: {{ not $v.liveUpdate }}
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if .claim }}
  - name: data
    mountPath: /data
  {{- end }}
  {{- if .tls }}
  - name: tls
    mountPath: /tls
    readOnly: true
  {{- end }}
  {{- if or $v.privateCA.existingSecret $v.privateCA.existingConfigMap }}
  - name: private-ca
    mountPath: /private-ca
    readOnly: true
  {{- end }}
  {{- with concat $v.extraVolumeMounts ($own.extraVolumeMounts | default list) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /*
Probes. Startup has two minutes, for a first look at the stores; readiness tells those who call; liveness asks the
process alone, and never what it depends on.
*/ -}}
{{- define "commonplace.probes.http" -}}
startupProbe:
  httpGet: { path: /health/live, port: http }
  periodSeconds: 2
  failureThreshold: 60
readinessProbe:
  httpGet: { path: /health/ready, port: http }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
livenessProbe:
  httpGet: { path: /health/live, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}

{{- define "commonplace.probes.grpc" -}}
{{- /* Probes have no certificate: with TLS, health has a port of its own. */ -}}
{{- $port := ternary 9090 9091 (empty (include "commonplace.tlsMode" .)) -}}
startupProbe:
  grpc: { port: {{ $port }}, service: live }
  periodSeconds: 2
  failureThreshold: 60
readinessProbe:
  grpc: { port: {{ $port }} }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
livenessProbe:
  grpc: { port: {{ $port }}, service: live }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}

{{- define "commonplace.ports.http" -}}
- name: http
  containerPort: 8080
{{- include "commonplace.ports.metrics" . }}
{{- end }}

{{- define "commonplace.ports.grpc" -}}
- name: grpc
  containerPort: 9090
{{- if include "commonplace.tlsMode" . }}
- name: health
  containerPort: 9091
{{- end }}
{{- include "commonplace.ports.metrics" . }}
{{- end }}

{{- define "commonplace.ports.metrics" -}}
{{- if .Values.telemetry.metrics.enabled }}
- name: metrics
  containerPort: 9464
{{- end }}
{{- end }}
