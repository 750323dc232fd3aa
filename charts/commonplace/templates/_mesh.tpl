{{- /* What the code says of itself: mesh.yaml. */ -}}
{{- define "commonplace.facts" -}}
{{- .Files.Get "mesh.yaml" -}}
{{- end }}

{{- /*
A service as it is installed: `serviceDefaults` under its entry in `services`, with
  volume    whether it writes one: files without a bucket, search without Typesense
  replicas  one with a volume
Takes root, name and facts.
*/ -}}
{{- define "commonplace.service" -}}
{{- $own := index .root.Values.services .name | default dict -}}
{{- $service := mergeOverwrite (deepCopy .root.Values.serviceDefaults) (deepCopy $own) -}}
{{- $bucket := and (has "COMMONPLACE_S3_URL" .facts.secrets) .root.Values.s3.url -}}
{{- $index := and (has "COMMONPLACE_TYPESENSE_URL" .facts.settings) .root.Values.typesense.url -}}
{{- $volume := and .facts.folder (not $bucket) (not $index) -}}
{{- $_ := set $service "volume" (ternary true false (not (not $volume))) -}}
{{- if $volume -}}
{{- $_ := set $service "replicas" 1 -}}
{{- $_ := set $service.autoscaling "enabled" false -}}
{{- end -}}
{{- toYaml $service -}}
{{- end }}

{{- /*
How many replicas a Deployment is given; nothing where only the autoscaler knows. With an autoscaler it is as many as run,
but no fewer than its least: leaving the number out would set it to 1 where it was fixed before, and an autoscaler leaves
alone what is scaled to 0. Without a cluster to look into, as in `helm template`, it is left out. Takes root, name, service.
*/ -}}
{{- define "commonplace.replicas" -}}
{{- $scaling := .service.autoscaling -}}
{{- if .root.Values.stopped -}}
0
{{- else if not $scaling.enabled -}}
{{- .service.replicas -}}
{{- else -}}
{{- $name := printf "%s-%s" (include "commonplace.fullname" .root) .name -}}
{{- with lookup "apps/v1" "Deployment" .root.Release.Namespace $name -}}
{{- max (int (dig "spec" "replicas" 0 .)) (int $scaling.minReplicas) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Everything that values can't mean, told at once. */ -}}
{{- define "commonplace.check" -}}
{{- $problems := list -}}
{{- $v := .Values -}}
{{- $facts := (include "commonplace.facts" . | fromYaml).services -}}
{{- $http := hasPrefix "http://" $v.publicUrl -}}
{{- $host := include "commonplace.host" $v.publicUrl -}}
{{- $loopback := or (eq $host "localhost") (hasPrefix "127." $host) (eq $host "[::1]") (eq $host "::1") -}}
{{- if and $http (not $loopback) (not $v.allowHttp) -}}
{{- $problems = append $problems "publicUrl is http and not on loopback: use https, or set allowHttp" -}}
{{- end -}}
{{- if and (or $v.ingress.enabled $v.gatewayApi.enabled) $loopback -}}
{{- $problems = append $problems "publicUrl is on loopback: an Ingress or HTTPRoute needs the host that clients use" -}}
{{- end -}}
{{- if and $v.gatewayApi.enabled (empty $v.gatewayApi.parentRefs) -}}
{{- $problems = append $problems "gatewayApi.parentRefs is empty: name the Gateway" -}}
{{- end -}}
{{- if and $v.s3.existingSecret (not $v.s3.url) -}}
{{- $problems = append $problems "s3.existingSecret is of no use without s3.url" -}}
{{- end -}}
{{- if ne (empty $v.typesense.url) (empty $v.typesense.existingSecret) -}}
{{- $problems = append $problems "typesense.url and typesense.existingSecret go together: set both or neither" -}}
{{- end -}}
{{- range list "mongodb" "nats" -}}
{{- $it := index $v . -}}
{{- if and $it.url $it.existingSecret -}}
{{- $problems = append $problems (printf "%s.url and %s.existingSecret are both set: choose one" . .) -}}
{{- end -}}
{{- if and (eq $v.profile "mesh") (not $it.url) (not $it.existingSecret) -}}
{{- $problems = append $problems (printf "a mesh needs %s.url, or %s.existingSecret with the whole URL" . .) -}}
{{- end -}}
{{- if and (eq $v.profile "embedded") (or $it.url $it.existingSecret) -}}
{{- $problems = append $problems (printf "profile embedded has no use for %s: set profile: mesh" .) -}}
{{- end -}}
{{- end -}}
{{- if and (eq $v.profile "mesh") (not $v.secrets.existingSecret) -}}
{{- $problems = append $problems "a mesh needs secrets.existingSecret: see docs/operations.md for how to make it" -}}
{{- end -}}
{{- if and (eq (toString $v.mesh.tls.mode) "existingSecret") (not $v.mesh.tls.existingSecret) (eq $v.profile "mesh") -}}
{{- $problems = append $problems "mesh.tls.mode existingSecret needs mesh.tls.existingSecret" -}}
{{- end -}}
{{- if and (eq $v.profile "mesh") .Release.IsUpgrade (not $v.mesh.tls.switch) -}}
{{- if and (empty (include "commonplace.tlsMode" .)) (eq (include "commonplace.tlsInstalled" .) "tls") -}}
{{- $problems = append $problems "TLS between the services would be turned off while they run: set mesh.tls.switch for this upgrade, which stops all pods before it starts new ones, or keep mesh.tls as it was" -}}
{{- end -}}
{{- end -}}
{{- if and $v.privateCA.existingSecret $v.privateCA.existingConfigMap -}}
{{- $problems = append $problems "privateCA.existingSecret and privateCA.existingConfigMap are both set: choose one" -}}
{{- end -}}
{{- if and (eq $v.profile "embedded") $v.mesh.tls.existingSecret -}}
{{- $problems = append $problems "profile embedded has no use for mesh.tls: it has no mesh" -}}
{{- end -}}
{{- range $name, $fact := $facts -}}
{{- $own := index $v.services $name | default dict -}}
{{- $service := include "commonplace.service" (dict "root" $ "name" $name "facts" $fact) | fromYaml -}}
{{- if and $service.volume (gt (int ($own.replicas | default 1)) 1) -}}
{{- $problems = append $problems (printf "services.%s.replicas is above 1, and it writes a volume of its own" $name) -}}
{{- end -}}
{{- if gt (int $service.autoscaling.minReplicas) (int $service.autoscaling.maxReplicas) -}}
{{- $problems = append $problems (printf "%s: autoscaling.minReplicas is above maxReplicas" $name) -}}
{{- end -}}
{{- if and $service.autoscaling.keda.enabled $service.autoscaling.metrics -}}
{{- $problems = append $problems (printf "%s: autoscaling.metrics are for a HorizontalPodAutoscaler: with KEDA use keda.triggers" $name) -}}
{{- end -}}
{{- end -}}
{{- with $v.backup -}}
{{- if and (eq $v.profile "mesh") (or .enabled .restore.from) -}}
{{- $problems = append $problems "backup is for profile embedded: a mesh is backed up by the tools of its servers, see docs/operations.md" -}}
{{- end -}}
{{- if and .bucket.existingSecret (not .bucket.url) -}}
{{- $problems = append $problems "backup.bucket.existingSecret is of no use without backup.bucket.url" -}}
{{- end -}}
{{- if and .enabled .bucket.url $v.s3.url (hasPrefix (first (splitList "?" $v.s3.url)) .bucket.url) -}}
{{- $problems = append $problems "backup.bucket.url lies within s3.url: backups and files need prefixes of their own" -}}
{{- end -}}
{{- end -}}
{{- if and $v.extraHosts (not $v.ingress.enabled) (not $v.gatewayApi.enabled) -}}
{{- $problems = append $problems "extraHosts is of no use without ingress.enabled or gatewayApi.enabled" -}}
{{- end -}}
{{- with $v.telemetry -}}
{{- if and .otlp.existingSecret (not .otlp.url) -}}
{{- $problems = append $problems "telemetry.otlp.existingSecret is of no use without telemetry.otlp.url" -}}
{{- end -}}
{{- if and .serviceMonitor.enabled (not .metrics.enabled) -}}
{{- $problems = append $problems "telemetry.serviceMonitor needs telemetry.metrics.enabled" -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "\n\nThe values can't be used:\n  - %s\n" (join "\n  - " $problems)) -}}
{{- end -}}
{{- end }}
