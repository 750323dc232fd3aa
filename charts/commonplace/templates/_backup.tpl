{{- /* Where backups are: a bucket, or the folder that their volume is mounted on. */ -}}
{{- define "commonplace.backupPlace" -}}
{{- .Values.backup.bucket.url | default "/backup" -}}
{{- end }}

{{- /* What a restore reads: that place, for its newest backup, or one backup in it. */ -}}
{{- define "commonplace.backupFrom" -}}
{{- $place := include "commonplace.backupPlace" . -}}
{{- $name := .Values.backup.restore.from -}}
{{- if eq $name "newest" -}}
{{- $place -}}
{{- else -}}
{{- $parts := splitn "?" 2 $place -}}
{{- printf "%s/%s" (trimSuffix "/" $parts._0) $name -}}{{- with $parts._1 }}?{{ . }}{{ end -}}
{{- end -}}
{{- end }}

{{- /* Environment of what backs up and restores: it needs no setting of the process but where its data are. */ -}}
{{- define "commonplace.backupEnv" -}}
- name: COMMONPLACE_DATA_DIR
  value: /data
{{- with .Values.s3.url }}
# The bytes of files are there, and not in the backup.
- name: COMMONPLACE_S3_URL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.backup.bucket }}
{{- if .existingSecret }}
{{ include "commonplace.secretEnv" (dict "name" "AWS_ACCESS_KEY_ID" "secret" .existingSecret "key" .keys.id) }}
{{ include "commonplace.secretEnv" (dict "name" "AWS_SECRET_ACCESS_KEY" "secret" .existingSecret "key" .keys.secret) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The volume for backups, in the form of values of a service; nothing where it is not needed, or they go to a bucket. */ -}}
{{- define "commonplace.backupVolume" -}}
{{- if and .needed (not .root.Values.backup.bucket.url) -}}
{{- $claim := .root.Values.backup.persistence.existingClaim | default (printf "%s-backup" (include "commonplace.fullname" .root)) -}}
extraVolumes:
  - name: backup
    persistentVolumeClaim:
      claimName: {{ $claim }}
extraVolumeMounts:
  - name: backup
    mountPath: /backup
{{- end -}}
{{- end }}
