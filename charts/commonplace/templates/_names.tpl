{{- define "commonplace.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "commonplace.fullname" -}}
{{- $name := include "commonplace.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- /* What the labels of pods are chosen by. Takes root and component; without a component all of the release. */ -}}
{{- define "commonplace.selector" -}}
app.kubernetes.io/name: {{ include "commonplace.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "commonplace.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "commonplace.selector" . }}
app.kubernetes.io/version: {{ .version | default .root.Values.image.tag | default .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: commonplace
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- /* The host of a URL, without its port. */ -}}
{{- define "commonplace.host" -}}
{{- (urlParse .).hostname -}}
{{- end }}

{{- /* The Secret with the certificate of a process of the mesh; nothing without TLS. Takes root and component. */ -}}
{{- define "commonplace.tlsSecret" -}}
{{- if eq .root.Values.profile "mesh" -}}
{{- .root.Values.mesh.tls.existingSecret | replace "{service}" .component -}}
{{- end -}}
{{- end }}

{{- define "commonplace.httpUrl" -}}
http://{{ include "commonplace.fullname" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}:{{ .Values.service.port }}
{{- end }}
