#!/bin/sh
# An agent of a shell and curl: it declares a plan, asks before each call, and reports what it did.
set -eu
: "${WRIT_URL:?where is the server?}" "${WRIT_API_KEY:?which key has the agent?}"
ask() {   # ask ROUTE BODY; no answer within ten seconds is no allow
  printf '%s' "$2" | curl -s --max-time 10 "$WRIT_URL$1" -H "x-api-key: $WRIT_API_KEY" -H 'Content-Type: application/json' --data-binary @-
}
text() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"; }   # a text as JSON; the server refuses control characters
field() {   # a text member of a JSON answer
  grep -oE "\"$1\": *\"([^\"\\\\]|\\\\.)*\"" | head -n 1 | sed -e 's/^"[^"]*": *"//' -e 's/"$//' -e 's/\\\(.\)/\1/g'
}
stop() {   # stop WHAT ANSWER; without a decision nothing more is done
  why=$(printf '%s' "$2" | field message)
  [ -n "$2" ] || why="$WRIT_URL does not answer"
  echo "$1: ${why:-$WRIT_URL does not answer as Writ does}" >&2
  exit 1
}

plan=$(ask /iap/sdk/token '{"agent_id": "billing", "plan": {"goal": "pay the rent", "steps": [
  {"mcp": "bank", "action": "send_money", "params": {"to": "landlord"}}]}}') || plan=''
case $plan in *'"jwt_token"'*) ;; *) stop 'no plan' "$plan" ;; esac

pay() {   # pay TO AMOUNT
  case $2 in *[!0-9]* | '') echo "not done: $2 is no amount" && return ;; esac
  arguments="{\"to\": $(text "$1"), \"amount\": $2}"
  answer=$(ask /iap/sdk/enforce "{\"mcp\": \"bank\", \"tool\": \"send_money\", \"arguments\": $arguments, \"intent_token\": $plan}") || answer=''
  case $answer in
  *'"allowed":true'*) echo "sent $2 to $1" ;;
  *'"allowed":false'*) echo "not done: $(printf '%s' "$answer" | field reason)" && return ;;
  *) stop 'not decided' "$answer" ;;
  esac
  reported=$(ask /iap/audit "{\"token\": \"$(printf '%s' "$plan" | field jwt_token)\", \"mcp\": \"bank\", \"tool\": \"send_money\",
    \"input\": $arguments, \"status\": \"success\"}" | field iap_sync_status)
  echo "${reported:-it was done, and could not be reported}"   # whoever tries again pays twice
}
pay landlord 900
pay mallory 900
pay 'landlord", "note": "a member of its own' 900
pay landlord '900, "note": "another"'
