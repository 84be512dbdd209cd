{{/* The settings that are no secrets. The schema of values refuses secrets, and what the chart says itself. */}}
{{- define "writ.settings" -}}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
WRIT_ENV: production
WRIT_PUBLIC_URL: {{ .Values.publicUrl | quote }}
WRIT_METRICS_LISTEN: 0.0.0.0:9090
{{- end }}

{{/* What a probe says beside path and port: a server that speaks TLS is asked in TLS. */}}
{{- define "writ.scheme" -}}
{{ if .Values.tls.secretName }}, scheme: HTTPS{{ end }}
{{- end }}
