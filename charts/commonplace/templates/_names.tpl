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

{{- /*
How the processes of the mesh get certificates: generated, certManager, existingSecret; nothing without TLS. A Secret that
is named wins, so that values of earlier releases keep their meaning. An upgrade of a mesh that runs without TLS leaves it
so unless mesh.tls.switch is set: pods of before and after would not understand each other. The answer is kept for the rest
of the rendering, so that the cluster is asked once.
*/ -}}
{{- define "commonplace.tlsMode" -}}
{{- $tls := .Values.mesh.tls -}}
{{- if not (hasKey $tls "resolved") -}}
{{- $mode := "" -}}
{{- if ne .Values.profile "mesh" -}}
{{- else if $tls.existingSecret -}}
{{- $mode = "existingSecret" -}}
{{- else if and $tls.mode (ne (toString $tls.mode) "off") -}}
{{- $mode = $tls.mode -}}
{{- if and .Release.IsUpgrade (not $tls.switch) -}}
{{- $mode = ternary "" $mode (eq (include "commonplace.tlsInstalled" .) "plain") -}}
{{- end -}}
{{- end -}}
{{- $_ := set $tls "resolved" $mode -}}
{{- end -}}
{{- $tls.resolved -}}
{{- end }}

{{- /* The Secret with the certificate of a process of the mesh; nothing without TLS. Takes root and component. */ -}}
{{- define "commonplace.tlsSecret" -}}
{{- $mode := include "commonplace.tlsMode" .root -}}
{{- if eq $mode "existingSecret" -}}
{{- .root.Values.mesh.tls.existingSecret | replace "{service}" .component -}}
{{- else if $mode -}}
{{- include "commonplace.fullname" .root }}-{{ .component }}-mesh-tls
{{- end -}}
{{- end }}

{{- /* The DNS name that each certificate carries, with `{service}` in it. */ -}}
{{- define "commonplace.tlsName" -}}
{{- $host := printf "%s-{service}.%s.svc.%s" (include "commonplace.fullname" .) .Release.Namespace .Values.clusterDomain -}}
{{- .Values.mesh.tls.name | default $host -}}
{{- end }}

{{- /* Whether the installed release runs a mesh without TLS (`plain`) or with it (`tls`); nothing where there is none. */ -}}
{{- define "commonplace.tlsInstalled" -}}
{{- $name := printf "%s-gateway" (include "commonplace.fullname" .) -}}
{{- $installed := lookup "apps/v1" "Deployment" .Release.Namespace $name -}}
{{- if $installed -}}
{{- $found := "plain" -}}
{{- range (first $installed.spec.template.spec.containers).env -}}
{{- if eq .name "COMMONPLACE_TLS_CERT" -}}{{- $found = "tls" -}}{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}
{{- end }}

{{- define "commonplace.httpUrl" -}}
http://{{ include "commonplace.fullname" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}:{{ .Values.service.port }}
{{- end }}

{{- /*
The Secret with the password of the first owner. Where a mesh is installed with a Secret that has none, one is generated
and kept: an upgrade finds it again, and makes none beside an owner that is there already. Without a cluster to look into,
as in `helm template`, nothing is generated.
*/ -}}
{{- define "commonplace.ownerSecret" -}}
{{- $v := .Values -}}
{{- $generated := printf "%s-owner" (include "commonplace.fullname" .) -}}
{{- $name := $v.secrets.existingSecret -}}
{{- if and (eq $v.profile "mesh") $v.bootstrap.enabled $name -}}
{{- $given := lookup "v1" "Secret" .Release.Namespace $name -}}
{{- if and $given (not (hasKey ($given.data | default dict) $v.secrets.keys.owner)) -}}
{{- if or .Release.IsInstall (lookup "v1" "Secret" .Release.Namespace $generated) -}}
{{- $name = $generated -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $name -}}
{{- end }}
