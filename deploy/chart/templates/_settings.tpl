{{/* The settings that are no secrets, beside those that the chart says itself. */}}
{{- define "writ.settings" -}}
{{- $secrets := list
    "DATABASE_URL" "STRIPE_SECRET_KEY" "STRIPE_WEBHOOK_SECRET" "TELEMETRY_DATABASE_URL"
    "WRIT_DRAFT_KEY" "WRIT_GOOGLE_CLIENT_SECRET" "WRIT_MASTER_KEY" "WRIT_METRICS_TOKEN"
    "WRIT_PROXY_TOKEN" "WRIT_SMTP_URL" "WRIT_TLS_KEY" "WRIT_WITNESS_TOKEN" "WRIT_WITNESS_URL" }}
{{- $own := list
    "WRIT_ENV" "WRIT_PUBLIC_URL" "WRIT_METRICS_LISTEN" "WRIT_LISTEN" "PORT" "WRIT_DATA_DIR"
    "WRIT_TLS_CERT" "WRIT_TLS_CERT_FILE" "WRIT_TLS_KEY_FILE" "WRIT_MASTER_KEY_FILE" "DATABASE_URL_FILE" }}
{{- range $name, $value := .Values.settings }}
{{- if has $name $secrets }}
{{- fail (printf "settings.%s is a secret: put it into the secret %s, and let settings.%s_FILE name its file in /run/secrets/writ" $name $.Values.secret.name $name) }}
{{- else if has $name $own }}
{{- fail (printf "settings.%s: the chart says it itself" $name) }}
{{- end }}
{{ $name }}: {{ $value | quote }}
{{- end }}
WRIT_ENV: production
WRIT_PUBLIC_URL: {{ .Values.publicUrl | quote }}
{{- if not (hasKey .Values.settings "WRIT_HOST_NAMES") }}
{{- $service := printf "%s.%s.svc" .Release.Name .Release.Namespace }}
WRIT_HOST_NAMES: {{ printf "%s,%s.cluster.local" $service $service | quote }}
{{- end }}
WRIT_METRICS_LISTEN: 0.0.0.0:9090
{{- end }}

{{/* What a probe says beside path and port: a server that speaks TLS is asked in TLS. */}}
{{- define "writ.scheme" -}}
{{ if .Values.tls.secretName }}, scheme: HTTPS{{ end }}
{{- end }}
