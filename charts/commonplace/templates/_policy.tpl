{{- /*
What may come to the pods of a component, and where they may go; without a component: nothing, for every pod. Takes
  serves    port, components that may call it, peers from elsewhere (all where neither is named)
  calls     services that it calls
  http      whether it calls the HTTP API
  stores    whether it keeps records in MongoDB and is told of events by NATS
  records   whether it needs MongoDB alone
  hook      annotations, where it has to be there before the release is
  typesense whether its index lies on Typesense
  s3        whether it uses the bucket
  smtp      whether it sends e-mail
  backup    whether it uses the bucket of backups
  internet  whether it calls hosts that users name
*/ -}}
{{- define "commonplace.policy" -}}
{{- $v := .root.Values -}}
{{- $policy := $v.networkPolicy -}}
{{- $otlp := and .serves $v.telemetry.otlp.url -}}
{{- $egress := or .calls .http .stores .records .typesense .s3 .smtp .backup .internet $otlp -}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "commonplace.fullname" .root }}-{{ .suffix }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "commonplace.labels" . | nindent 4 }}
  {{- with .hook }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  podSelector:
    matchLabels:
      {{- include "commonplace.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- with .serves }}
  ingress:
    - ports:
        - port: {{ .port }}
      {{- if or .peers (eq (int .port) 9090) }}
      from:
        {{- include "commonplace.peers" (dict "root" .root "components" .components) | trim | nindent 8 }}
        {{- with .peers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
    {{- if $v.telemetry.metrics.enabled }}
    - ports:
        - port: 9464
      {{- with $v.telemetry.metrics.clients }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
  {{- end }}
  {{- if $egress }}
  egress:
    - to:
        {{- toYaml $policy.dns.to | nindent 8 }}
      ports:
        - { port: 53, protocol: UDP }
        - { port: 53, protocol: TCP }
    {{- with .calls }}
    - to:
        {{- include "commonplace.peers" (dict "root" $.root "components" .) | trim | nindent 8 }}
      ports:
        - port: 9090
    {{- end }}
    {{- if .http }}
    - to:
        {{- include "commonplace.peers" (dict "root" .root "components" (list (ternary "gateway" "all" (eq $v.profile "mesh")))) | trim | nindent 8 }}
      ports:
        - port: 8080
    {{- end }}
    {{- if or .stores .records }}
    {{- include "commonplace.outside" $policy.mongodb | trim | nindent 4 }}
    {{- end }}
    {{- if .stores }}
    {{- include "commonplace.outside" $policy.nats | trim | nindent 4 }}
    {{- end }}
    {{- if .typesense }}
    {{- include "commonplace.outside" $policy.typesense | trim | nindent 4 }}
    {{- end }}
    {{- if $otlp }}
    {{- include "commonplace.outside" $policy.otlp | trim | nindent 4 }}
    {{- end }}
    {{- if .s3 }}
    {{- include "commonplace.outside" $policy.s3 | trim | nindent 4 }}
    {{- end }}
    {{- if .smtp }}
    {{- include "commonplace.outside" $policy.smtp | trim | nindent 4 }}
    {{- end }}
    {{- if .backup }}
    {{- include "commonplace.outside" $policy.backup | trim | nindent 4 }}
    {{- end }}
    {{- if .internet }}
    - to:
        - ipBlock:
            cidr: 0.0.0.0/0
            {{- with $policy.internet.except }}
            except:
              {{- toYaml . | nindent 14 }}
            {{- end }}
        - ipBlock:
            cidr: 2000::/3
            # Teredo and 6to4 hold addresses of IPv4.
            except: ['2001::/32', '2002::/16']
      ports:
        {{- include "commonplace.portList" $policy.internet.ports | trim | nindent 8 }}
    {{- with $policy.internet.to }}
    - to:
        {{- toYaml . | nindent 8 }}
    {{- end }}
    {{- end }}
  {{- end }}
{{- end }}

{{- define "commonplace.peers" -}}
{{- range .components }}
- podSelector:
    matchLabels:
      {{- include "commonplace.selector" (dict "root" $.root "component" .) | nindent 6 }}
{{- end }}
{{- end }}

{{- define "commonplace.portList" -}}
{{- range . }}
- port: {{ . }}
{{- end }}
{{- end }}

{{- define "commonplace.outside" -}}
- ports:
    {{- include "commonplace.portList" .ports | trim | nindent 4 }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
