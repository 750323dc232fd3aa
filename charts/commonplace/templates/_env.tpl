{{- /* A number as digits: Helm reads numbers of files as floating point. */ -}}
{{- define "commonplace.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ printf "%.0f" . }}{{- else -}}{{ toString . }}{{- end -}}
{{- end }}

{{- define "commonplace.secretEnv" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end }}

{{- /*
Environment of a process. Takes root; reads and secrets (variables that it has); stores (whether it keeps records in
servers, and is told of events); records (whether it needs the records alone); env (of the values).
*/ -}}
{{- define "commonplace.env" -}}
{{- $v := .root.Values -}}
{{- $fullname := include "commonplace.fullname" .root -}}
{{- $address := printf "dns:///%s-{service}.%s.svc.%s:9090" $fullname .root.Release.Namespace $v.clusterDomain -}}
{{- $plain := dict
  "COMMONPLACE_HOST" "0.0.0.0"
  "COMMONPLACE_PORT" "8080"
  "COMMONPLACE_PUBLIC_URL" $v.publicUrl
  "COMMONPLACE_CONTENT_URL" $v.contentUrl
  "COMMONPLACE_INSECURE_HTTP" (ternary "1" "" $v.allowHttp)
  "COMMONPLACE_TRUSTED_PROXIES" (join "," $v.trustedProxies)
  "COMMONPLACE_LOG_LEVEL" $v.logLevel
  "COMMONPLACE_OTLP_URL" $v.telemetry.otlp.url
  "COMMONPLACE_TRACE_RATIO" (ternary (toString $v.telemetry.traceRatio) "" (ne $v.telemetry.otlp.url ""))
  "COMMONPLACE_ACCESS_LOG" (toString $v.telemetry.accessLog)
  "COMMONPLACE_METRICS_HOST" (ternary "0.0.0.0" "" $v.telemetry.metrics.enabled)
  "COMMONPLACE_METRICS_PORT" (ternary "9464" "" $v.telemetry.metrics.enabled)
  "COMMONPLACE_DATA_DIR" "/data"
  "COMMONPLACE_OWNER_EMAIL" $v.bootstrap.ownerEmail
-}}
{{- if eq $v.profile "mesh" -}}
{{- $_ := set $plain "COMMONPLACE_GRPC_PORT" "9090" -}}
{{- $_ := set $plain "COMMONPLACE_SERVICE_ADDRESS" $address -}}
{{- if include "commonplace.tlsMode" .root -}}
{{- $_ := set $plain "COMMONPLACE_TLS_CERT" "/tls/tls.crt" -}}
{{- $_ := set $plain "COMMONPLACE_TLS_KEY" "/tls/tls.key" -}}
{{- $_ := set $plain "COMMONPLACE_TLS_CA" "/tls/ca.crt" -}}
{{- $_ := set $plain "COMMONPLACE_TLS_NAME" (include "commonplace.tlsName" .root) -}}
{{- $_ := set $plain "COMMONPLACE_HEALTH_PORT" "9091" -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $plain }}
{{- if and $value (has $name $.reads) }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- $ours := $v.secrets.existingSecret -}}
{{- range $name, $key := dict
  "COMMONPLACE_MESH_KEY" (ternary $v.secrets.keys.mesh "" (eq $v.profile "mesh"))
  "COMMONPLACE_SECRET_KEY" $v.secrets.keys.identity
  "COMMONPLACE_SECRETS_KEY" $v.secrets.keys.encryption }}
{{- if and $ours $key (has $name $.secrets) }}
{{ include "commonplace.secretEnv" (dict "name" $name "secret" $ours "key" $key) }}
{{- end }}
{{- end }}
{{- if and $ours $v.secrets.keys.owner (has "COMMONPLACE_OWNER_PASSWORD" .secrets) }}
{{ include "commonplace.secretEnv" (dict "name" "COMMONPLACE_OWNER_PASSWORD" "secret" (include "commonplace.ownerSecret" .root) "key" $v.secrets.keys.owner "optional" true) }}
{{- end }}
{{- if and $v.telemetry.otlp.existingSecret (has "COMMONPLACE_OTLP_HEADERS" .secrets) }}
{{ include "commonplace.secretEnv" (dict "name" "COMMONPLACE_OTLP_HEADERS" "secret" $v.telemetry.otlp.existingSecret "key" $v.telemetry.otlp.key) }}
{{- end }}
{{- $servers := dict -}}
{{- if or .stores .records -}}
{{- $_ := set $servers "COMMONPLACE_MONGODB_URL" $v.mongodb -}}
{{- end -}}
{{- if .stores }}
{{- $_ := set $servers "COMMONPLACE_NATS_URL" $v.nats }}
- name: COMMONPLACE_NATS_REPLICAS
  value: {{ $v.nats.replicas | quote }}
{{- end }}
{{- range $name, $it := $servers }}
{{- if $it.existingSecret }}
{{ include "commonplace.secretEnv" (dict "name" $name "secret" $it.existingSecret "key" $it.key) }}
{{- else }}
- name: {{ $name }}
  value: {{ $it.url | quote }}
{{- end }}
{{- end }}
{{- if and $v.typesense.url (has "COMMONPLACE_TYPESENSE_URL" .reads) }}
- name: COMMONPLACE_TYPESENSE_URL
  value: {{ $v.typesense.url | quote }}
{{ include "commonplace.secretEnv" (dict "name" "COMMONPLACE_TYPESENSE_API_KEY" "secret" $v.typesense.existingSecret "key" $v.typesense.key) }}
{{- end }}
{{- if and $v.smtp.existingSecret (has "COMMONPLACE_SMTP_URL" .secrets) }}
{{ include "commonplace.secretEnv" (dict "name" "COMMONPLACE_SMTP_URL" "secret" $v.smtp.existingSecret "key" $v.smtp.key) }}
{{- with $v.smtp.from }}
- name: COMMONPLACE_MAIL_FROM
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- if and $v.s3.url (has "COMMONPLACE_S3_URL" .secrets) }}
- name: COMMONPLACE_S3_URL
  value: {{ $v.s3.url | quote }}
{{- with $v.s3.publicUrl }}
- name: COMMONPLACE_S3_PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
{{- with $v.s3.existingSecret }}
{{ include "commonplace.secretEnv" (dict "name" "AWS_ACCESS_KEY_ID" "secret" . "key" $v.s3.keys.id) }}
{{ include "commonplace.secretEnv" (dict "name" "AWS_SECRET_ACCESS_KEY" "secret" . "key" $v.s3.keys.secret) }}
{{- end }}
{{- end }}
{{- range $name, $value := .env }}
- name: {{ $name }}
  value: {{ include "commonplace.text" $value | quote }}
{{- end }}
{{- end }}
