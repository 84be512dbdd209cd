#!/bin/sh
# Starts a server with an empty data folder, sends it 16 packed bodies at once that unpack to 60 MB each, four times, and
# prints how they were answered and the most memory that the server held. It needs curl, awk and Linux. Usage:
#   bench/peak-memory.sh [path of writd]
set -eu
writd=${1:-bin/writd}
dir=$(mktemp -d)
export WRIT_DATA_DIR="$dir/data" WRIT_LISTEN=127.0.0.1 PORT="${PORT:-18734}"
"$writd" serve >"$dir/log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$dir"' EXIT
url=http://127.0.0.1:$PORT
until curl -sf "$url/ready" >"$dir/ready"; do sleep 0.2; done
key=$(grep -o 'ak_[A-Za-z0-9_]*' "$WRIT_DATA_DIR/first-run.json" | head -n 1)
awk 'BEGIN {
	srand(1)
	for (i = 0; i < 40; i++) text = text "lorem ipsum "
	printf "{\"product\":\"p\",\"batches\":[{\"trace\":{\"id\":\"0190a0a0-0000-7000-8000-00000000000a\",\"name\":\"n\","
	printf "\"startTime\":\"2026-05-15T12:30:00Z\",\"status\":\"ok\"},\"spans\":["
	for (i = 0; i < 92000; i++) {
		if (i > 0) printf ","
		printf "{\"id\":\"0190a0a0-%04x-7000-8000-%012x\",\"kind\":\"tool_call\",\"name\":\"x\",", rand() * 65535, rand() * 4294967295
		printf "\"startTime\":\"2026-05-15T12:30:00Z\",\"status\":\"ok\",\"attributes\":{\"text\":\"%s\"}}", text
	}
	print "]}]}"
}' | gzip >"$dir/body.gz"
for round in 1 2 3 4; do
	senders=
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		curl -s -o /dev/null -w '%{http_code}\n' -H "X-API-Key: $key" -H 'Content-Type: application/json' \
			-H 'Content-Encoding: gzip' --data-binary "@$dir/body.gz" "$url/observability/spans" >>"$dir/codes" &
		senders="$senders $!"
	done
	wait $senders
done
sort "$dir/codes" | uniq -c
grep VmHWM "/proc/$server/status"
